"""The checks against what is known to boot, and what is known not to: OSM's own output and the default profiles."""

from __future__ import annotations

import pytest

from tests.conformance_data import case_names, outside_names
from tests.lint.rules.documents import defaults, findings_of, recorded

# Profiles and settings of the recorded cases that are wrong on purpose, and what is wrong with them.
_WRONG = {
    "own-bash-traps": {"cloud-config-syntax", "template-left-over"},
    "own-double-render": {"template-left-over"},
    "own-modules": {"cloud-config-command", "cloud-config-write-files", "permissions"},
    "own-printing": {"template-left-over"},
    "own-units-ignition": {"ignition-mode", "systemd-exec-start", "systemd-unknown-key", "template-left-over"},
    "own-sprig-data": {"template-left-over"},
    "yaml-data-indent-digit": {"cloud-config-syntax"},
    "yaml-enable-yes": {"cloud-config-unknown-key", "systemd-exec-start", "systemd-syntax", "unit-without-install"},
    "yaml-flow": {"cloud-config-write-files", "permissions"},
    "yaml-mode-leading-zeros": {"cloud-config-write-files", "permissions"},
    "yaml-mode-octal-o": {"permissions"},
}
_WRONG_OUTSIDE = {
    "kubelet-gcage-rhel": {"kubelet-syntax", "template-left-over"},
    "kubelet-odd-flatcar": {"kubelet-syntax", "kubelet-value"},
    "setting-gates-ubuntu": {"kubelet-feature-gate", "kubelet-value"},
    "setting-insecure-mirror-flatcar": {"containerd-hosts"},
    "setting-insecure-mirror-ubuntu": {"containerd-hosts"},
    "setting-mirrors-flatcar": {"containerd-hosts"},
}


def test_of_what_osm_renders_only_what_is_wrong_on_purpose_is_told() -> None:
    assert _findings(case_names()) == _WRONG


@pytest.mark.conformance
def test_of_what_released_profiles_render_to_only_what_is_wrong_on_purpose_is_told() -> None:
    assert _findings(outside_names()) == _WRONG_OUTSIDE


def _findings(names: tuple[str, ...]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for document in recorded(names):
        # OSM lets everybody read the bootstrap script, which has a token; Amazon Linux 2 is below.
        ids = {finding.id for finding in findings_of(document)} - {"world-readable-secret", "containerd-too-old"}
        if ids:
            found[document.pool] = ids
    return found


@pytest.mark.conformance
def test_the_token_in_osms_bootstrap_script_is_told_where_everybody_may_read_it_and_its_value_is_not() -> None:
    (document,) = (each for each in recorded(outside_names()) if each.pool == "default-ubuntu-aws")

    secrets = [finding for finding in findings_of(document) if finding.id == "world-readable-secret"]

    assert [finding.where.partition(":")[0] for finding in secrets] == ["/opt/bin/bootstrap", "/opt/bin/setup"]
    assert all(finding.message.endswith("(755), which seems to contain a token") for finding in secrets)


def test_the_default_profiles_have_no_finding() -> None:
    assert [(each.pool, finding) for each in defaults() for finding in findings_of(each)] == []


@pytest.mark.conformance
def test_osms_profile_for_amazon_linux_2_installs_a_containerd_that_cannot_read_its_configuration() -> None:
    found = {
        each.pool: each.os
        for each in recorded(outside_names())
        if "containerd-too-old" in {one.id for one in findings_of(each)}
    }

    # So do profiles of older releases, under the OSM of today.
    assert {os for pool, os in found.items() if pool.startswith("default-")} == {"amzn2"}
    assert all(os == "amzn2" or pool.startswith("release-") for pool, os in found.items())
