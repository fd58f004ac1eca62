"""One mistake is one finding, and two mistakes are two."""

from __future__ import annotations

from pathlib import Path

from osm_gitops.commands.validate.grouping import EVERY, grouped, merged, seen_in, without_consequences
from osm_gitops.commands.validate.suppressions import Suppression, Suppressions, suppress
from osm_gitops.lint.external.shell import BASH, SHELLCHECK
from osm_gitops.lint.rules import rules
from osm_gitops.lint.rules.cloud_config import HEADROOM, TOO_LARGE
from osm_gitops.lint.rules.files import PATH, TEMPLATE
from osm_gitops.lint.rules.kubelet import SYNTAX, UNKNOWN_FIELD
from osm_gitops.lint.rules.paths import DUPLICATE_PATH
from osm_gitops.model.finding import Finding, Severity
from osm_gitops.pipeline.synthetic import VARIANTS, Combination
from tests.cli.scenes import file
from tests.commands.validate.test_several_mistakes import verdict_on

_PROFILE = "OperatingSystemProfile kube-system/osp-a"


def _error(code: int, line: int, path: str = "/opt/a") -> Finding:
    rule = SHELLCHECK.code(f"SC{code}", Severity.ERROR)
    return Finding(rule, f"message {code}", f"a.yaml:{line}", f"{_PROFILE}, {path}", seen_in=("one",))


def test_findings_that_differ_in_their_pools_are_one() -> None:
    first, second = (Finding(PATH, "it is", "a.yaml:1", seen_in=(pool, "both")) for pool in ("a", "b"))
    assert merged([first, second]) == (Finding(PATH, "it is", "a.yaml:1", seen_in=("a", "both", "b")),)


def test_messages_that_differ_in_numbers_are_one_mistake_told_by_the_most_frequent() -> None:
    few = Finding(SYNTAX, "duplicate key in line 35", "a.yaml:1", _PROFILE, seen_in=("a",))
    many = Finding(SYNTAX, "duplicate key in line 1,036", "a.yaml:1", _PROFILE, seen_in=("b", "c"))
    (told,) = grouped([few, many])
    assert (told.message, told.seen_in, told.others) == (many.message, ("a", "b", "c"), ())


def test_a_line_that_several_files_include_is_one_mistake_of_all_of_them() -> None:
    found = [_error(1057, 9, path) for path in ("/opt/a", "/opt/b", "/opt/c")]
    (told,) = grouped(found)
    assert (told.about, told.others) == (f"{_PROFILE}, /opt/a", (f"{_PROFILE}, /opt/b", f"{_PROFILE}, /opt/c"))


def test_objects_in_one_line_and_other_words_and_other_lines_are_several_mistakes() -> None:
    found = [
        Finding(rules.POOL, "it has no kubelet version", "machines.json:1", "MachineDeployment kube-system/a"),
        Finding(rules.POOL, "it has no kubelet version", "machines.json:1", "MachineDeployment kube-system/b"),
        Finding(UNKNOWN_FIELD, "the kubelet does not know a", "a.yaml:1", f"{_PROFILE}, /a"),
        Finding(UNKNOWN_FIELD, "the kubelet does not know b", "a.yaml:1", f"{_PROFILE}, /a"),
        Finding(UNKNOWN_FIELD, "the kubelet does not know b", "a.yaml:2", f"{_PROFILE}, /a"),
        Finding(UNKNOWN_FIELD, "the kubelet does not know b", "a.yaml:2", f"{_PROFILE}, /a", suppressed="why not"),
    ]
    assert [*grouped(found)] == found


def test_a_script_that_cannot_be_parsed_is_told_by_its_cause() -> None:
    end = Finding(BASH, "bash cannot read it", "a.yaml:74", f"{_PROFILE}, /opt/a", seen_in=("one", "two"))
    other = _error(2034, 3)
    (cause, left) = without_consequences(
        [end, _error(1072, 74), _error(1073, 16), _error(1047, 74), _error(1046, 16), other]
    )
    assert (cause.id, left) == ("shellcheck-SC1046", other)
    assert {*cause.consequences} == {"bash-syntax", *(f"shellcheck-SC{code}" for code in (1047, 1072, 1073))}


def test_what_is_seen_without_its_cause_or_elsewhere_or_is_more_severe_stays() -> None:
    left_over = Finding(TEMPLATE, "a Go struct", "a.yaml:5", f"{_PROFILE}, /k", seen_in=("a", "b"))
    of_it = Finding(SYNTAX, "no YAML", "a.yaml:5", f"{_PROFILE}, /k", seen_in=("b",))
    without = Finding(SYNTAX, "no YAML at all", "a.yaml:5", f"{_PROFILE}, /k", seen_in=("b", "c"))
    elsewhere = Finding(SYNTAX, "no YAML", "a.yaml:6", f"{_PROFILE}, /k", seen_in=("b",))
    note = Finding(HEADROOM, "nearly full", "a.yaml:1", _PROFILE, group="bootstrap")
    error = Finding(TOO_LARGE, "too large", "a.yaml:2", _PROFILE, group="bootstrap")

    told = [*without_consequences([left_over, of_it, without, elsewhere, note, error])]

    assert [each.id for each in told] == [TEMPLATE.id, SYNTAX.id, SYNTAX.id, TOO_LARGE.id]
    assert (told[0].consequences, told[3].consequences) == ((SYNTAX.id,), (HEADROOM.id,))


def test_a_suppression_of_what_follows_is_used() -> None:
    cause = Finding(SHELLCHECK.code("SC1046"), "no fi", "a.yaml:5", f"{_PROFILE}, /a", consequences=("bash-syntax",))
    suppressions = Suppressions({Suppression(_PROFILE, "bash-syntax", "a reason", "a.yaml:1"): None})
    assert [*suppress([cause], suppressions)] == [cause]


def _combinations(*providers: str) -> dict[str, Combination]:
    proxy, mirrors = (each for each in VARIANTS if each.name in ("an HTTP proxy", "registry mirrors"))
    every = [
        Combination(provider, version, variants, "and ".join(each.name for each in variants))
        for provider in providers
        for version in ("v1.31.4", "v1.36.4")
        for variants in ((), (proxy,), (mirrors,), (proxy, mirrors))
    ]
    return {str(each): each for each in every}


def test_combinations_are_named_by_what_they_share() -> None:
    known = _combinations("aws", "hetzner")
    of_aws = [label for label in known if label.startswith("aws")]
    proxied = [label for label in known if "proxy" in label]
    assert seen_in(["MachineDeployment kube-system/a of cluster c", *known], known) == (
        "MachineDeployment kube-system/a of cluster c",
        EVERY,
    )
    assert seen_in(of_aws, known) == (f"{EVERY} with aws",)
    assert seen_in([*of_aws, *proxied], known) == (f"{EVERY} with aws", f"{EVERY} with an HTTP proxy")
    assert seen_in(known.keys() - proxied, known) == (f"{EVERY} without proxy",)
    assert seen_in(["aws, Kubernetes 1.36.4"], known) == ("aws, Kubernetes 1.36.4",)
    assert seen_in((), known) == ()


def test_a_path_that_is_there_twice_is_one_finding(tmp_path: Path) -> None:
    config, unit = "version = 3\n", "runtime-endpoint: unix:///run/containerd/containerd.sock\n"
    path = "/etc/containerd/config.toml"

    found = verdict_on(tmp_path, [file(path, config, 600), file(path, unit, 600)]).findings

    told = [(each.id, each.seen_in) for each in found if path in each.about]
    assert told == [(DUPLICATE_PATH.id, (EVERY,))]


def test_user_data_that_is_too_large_is_one_finding_for_all_providers(tmp_path: Path) -> None:
    # What cannot be compressed, and is more with a longer version of Kubernetes.
    large = "".join(f"{number * 2654435761 % 2**32:08x}" for number in range(6_000))
    half = {"files": [file("/opt/large", f"{large} {{{{ .KubeVersion }}}} {{{{ .HTTPProxy }}}}", 600)]}
    providers = [{"name": name} for name in ("aws", "hetzner", "openstack", "azure")]

    found = verdict_on(tmp_path, [], bootstrapConfig=half, supportedCloudProviders=providers).findings

    (told,) = (each for each in found if each.rule in (TOO_LARGE, HEADROOM))
    assert told.id == TOO_LARGE.id
    assert f"{EVERY} with aws" in told.seen_in
    assert f"{EVERY} with hetzner" in told.seen_in
