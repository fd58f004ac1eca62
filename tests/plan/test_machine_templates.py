"""Templates of MachineDeployments, and what machine-controller's webhook makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.plan.machines import digests_as_written, template_difference
from osm_gitops.render.resolve.pools import template_digest

_CONFIG = "spec.template.spec.providerSpec.value"


def _template(kubelet: str = "1.34.2", labels: Any = None, **config: Any) -> dict[str, Any]:
    value = {"cloudProvider": "openstack", "operatingSystem": "ubuntu"} | config
    spec = {"versions": {"kubelet": kubelet}, "providerSpec": {"value": value}}
    return {"metadata": {"labels": {"pool": "a"}}, "spec": spec | ({"metadata": {"labels": labels}} if labels else {})}


_ZEROS = {"distUpgradeOnBoot": False, "rhelSubscriptionManagerUser": "", "attachSubscription": False}
_IGNITION = {"disableAutoUpdate": False, "provisioningUtility": "ignition"}


@pytest.mark.parametrize(
    ("wanted", "live"),
    [
        (_template(), _template(operatingSystemSpec=_ZEROS)),
        (_template(operatingSystem="rhel", operatingSystemSpec={}), _template(operatingSystem="rhel")),
        (_template(operatingSystem="flatcar"), _template(operatingSystem="flatcar", operatingSystemSpec=_IGNITION)),
        (_template(operatingSystem="flatcar", operatingSystemSpec=_IGNITION), _template(operatingSystem="flatcar")),
        (_template(cloudProviderSpec={"region": "", "groups": []}), _template(cloudProviderSpec={"region": "eu"})),
        (_template(cloudProviderSpec={"flavor": "m1"}), _template(cloudProviderSpec={"flavor": "m1", "network": "x"})),
        (_template(cloudProviderSpec={"flavor": {"value": "m1"}}), _template(cloudProviderSpec={"flavor": "m1"})),
        (_template(sshPublicKeys=[]), _template(sshPublicKeys=None, caPublicKey="", network=None)),
        (_template("v1.34.2"), _template("1.34.2")),
        (_template(), _template(labels={"topology.kubernetes.io/zone": "a"})),
    ],
)
def test_what_the_webhook_adds_makes_no_other_template(wanted: Any, live: Any) -> None:
    assert template_difference(wanted, live) == ""


@pytest.mark.parametrize(
    ("wanted", "live", "field"),
    [
        (_template(), _template("1.35.0"), "spec.template.spec.versions.kubelet"),
        (_template(), _template(sshPublicKeys=["ssh-ed25519 AAAA"]), f"{_CONFIG}.sshPublicKeys"),
        (_template(), _template(network={"cidr": "10.0.0.0/8"}), f"{_CONFIG}.network"),
        (
            _template(operatingSystemSpec={"distUpgradeOnBoot": True}),
            _template(operatingSystemSpec=_ZEROS),
            f"{_CONFIG}.operatingSystemSpec.distUpgradeOnBoot",
        ),
        (
            _template(operatingSystem="flatcar"),
            _template(operatingSystem="flatcar", operatingSystemSpec={"provisioningUtility": "cloud-init"}),
            f"{_CONFIG}.operatingSystemSpec.provisioningUtility",
        ),
        (
            _template(cloudProviderSpec={"groups": ["a", "b"]}),
            _template(cloudProviderSpec={"groups": ["a", "c"]}),
            f"{_CONFIG}.cloudProviderSpec.groups[1]",
        ),
        (
            _template(cloudProviderSpec={"size": 1}),
            _template(cloudProviderSpec={"size": True}),
            "cloudProviderSpec.size",
        ),
        (_template(), {"metadata": {"labels": {"pool": "b"}}}, "spec.template.metadata.labels.pool"),
        (_template(), None, "spec.template.metadata.labels.pool"),
    ],
)
def test_the_field_is_named_that_differs(wanted: Any, live: Any, field: str) -> None:
    assert template_difference(wanted, live).endswith(field)


def test_a_template_is_known_without_the_default_and_with_a_v() -> None:
    live = _template(operatingSystem="flatcar", operatingSystemSpec=_IGNITION)
    for kubelet in ("1.34.2", "v1.34.2"):
        for spec in ({}, _IGNITION):
            written = _template(kubelet, operatingSystem="flatcar", operatingSystemSpec=spec)
            assert template_digest(written) in digests_as_written(live)
    cloud_init = _template(operatingSystem="flatcar", operatingSystemSpec={"provisioningUtility": "cloud-init"})
    assert template_digest(_template(operatingSystem="flatcar")) not in digests_as_written(cloud_init)


@pytest.mark.parametrize("template", [None, [], "text", {"spec": None}, {"spec": {"providerSpec": {"value": [1]}}}])
def test_whatever_is_in_the_place_of_a_template_is_compared(template: Any) -> None:
    assert template_difference(template, template) == ""
    assert template_digest(template) in digests_as_written(template)
