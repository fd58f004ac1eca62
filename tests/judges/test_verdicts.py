"""Our checks against the readers that nodes have: what these refuse we refuse, and what boots has no finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from osm_gitops.lint.external.shell import Bash, Shellcheck
from osm_gitops.lint.external.systemd import SystemdAnalyze
from osm_gitops.lint.rules.boot_file import BootDocument, BootFile
from osm_gitops.lint.rules.cloud_config import user_data_files
from osm_gitops.lint.rules.systemd import is_unit_file, unit_of
from tests.conformance_data import case_names, outside_names
from tests.judges import asking
from tests.judges.debian import CLOUD_INITS, systemd_path
from tests.lint.rules import mutations
from tests.lint.rules.documents import MINORS, defaults, findings_of, recorded
from tests.lint.rules.test_mutations import KINDS

pytestmark = pytest.mark.oracle

Ask = Callable[[Sequence[str]], list[list[str]]]


def _cloud_init(release: str) -> Ask:
    return lambda texts: asking.cloud_configs(texts, release)


_NEWEST = CLOUD_INITS[-1]
_JUDGES: dict[str, Ask] = {
    "kubelet": asking.kubelet,
    "containerd": asking.containerd,
    "hosts": asking.hosts,
    "unit": asking.units,
    "cloud-config": _cloud_init(_NEWEST),
    "ignition": asking.ignition,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_tool_finds_those_mistakes_that_it_was_measured_to_find(kind: str) -> None:
    _, sound, every = KINDS[kind]

    verdicts = _JUDGES[kind]([sound, *(each.text for each in every)])

    assert verdicts[0] == []
    found = {each.name: bool(verdict) for each, verdict in zip(every, verdicts[1:], strict=True)}
    assert found == {each.name: each.by_tool for each in every}


def test_a_field_that_the_kubelet_does_not_know_is_ignored_and_the_rest_is_read() -> None:
    unknown = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPodz: 40\n"
    (alone, *_), both = asking.kubelet([unknown, f"{unknown}maxPods: -1\n"])
    assert alone.startswith("ignored: strict decoding error: unknown field")
    assert [each.startswith("ignored: ") for each in both] == [True, False]


def test_the_oldest_cloud_init_differs_from_the_newest_in_unknown_keys_alone() -> None:
    every = mutations.CLOUD_CONFIG_MUTATIONS

    verdicts = asking.cloud_configs([each.text for each in every], CLOUD_INITS[0])

    missed = {each.name for each, verdict in zip(every, verdicts, strict=True) if each.by_tool and not verdict}
    assert missed == {"top-level key"}


def _texts(documents: Sequence[BootDocument], pattern: str) -> dict[str, list[BootDocument]]:
    """Distinct texts of the files whose paths match, each with its documents."""
    found: dict[str, list[BootDocument]] = {}
    for document in documents:
        for file in document.texts:
            if re.fullmatch(pattern, file.path):
                found.setdefault(file.text, []).append(document)
    return found


def _documents(minors: tuple[int, ...]) -> tuple[BootDocument, ...]:
    return (*recorded((*case_names(), *outside_names())), *defaults(minors))


def _refused_by_tool_alone(texts: dict[str, list[BootDocument]], ask: Ask, ids: str) -> list[tuple[str, list[str]]]:
    """What the tool refuses without a finding of ours whose id matches: by document, with the tool's words."""
    verdicts = zip(texts.values(), ask(list(texts)), strict=True)
    refused = [(documents[0], verdict) for documents, verdict in verdicts if verdict]
    return [(document.pool, verdict) for document, verdict in refused if not _told(document, ids)]


def _told(document: BootDocument, ids: str) -> bool:
    return any(re.match(ids, finding.id) for finding in findings_of(document))


def test_what_the_kubelet_refuses_is_told() -> None:
    texts = _texts(_documents((36,)), "/etc/kubernetes/kubelet.conf")
    assert _refused_by_tool_alone(texts, asking.kubelet, "kubelet-") == []


def test_what_containerd_refuses_is_told() -> None:
    texts = _texts(_documents(tuple(MINORS)), "/etc/containerd/config.toml")
    assert _refused_by_tool_alone(texts, asking.containerd, "containerd-|toml-") == []


def test_what_containerd_refuses_of_hosts_is_told() -> None:
    texts = _texts(_documents((36,)), "/etc/containerd/certs.d/.*")
    assert _refused_by_tool_alone(texts, asking.hosts, "containerd-|toml-") == []


def test_what_systemd_refuses_is_told() -> None:
    by_name: dict[str, dict[str, list[BootDocument]]] = {}
    for document in _documents(tuple(MINORS)):
        for file in document.texts:
            if is_unit_file(file.path) and not unit_of(file.path)[1]:
                by_name.setdefault(unit_of(file.path)[0], {}).setdefault(file.text, []).append(document)
    for name, texts in by_name.items():
        assert _refused_by_tool_alone(texts, lambda all_, name=name: asking.units(all_, name), "systemd-") == []  # type: ignore[misc]


def _unit(name: str, text: str) -> BootFile:
    return BootFile(f"/etc/systemd/system/{name}", text, 644, "bootstrap")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[Service]\nExecStart=crictl rmi --prune\n", []),
        ("[Unit]\nRequires=mnt-data.mount backup.timer\n[Service]\nExecStart=/bin/a\n", []),
        ("[Unit]\nRequires=amazon-ssm-agent.service\n[Service]\nExecStart=/bin/a\n", []),
        ("[Unit]\nRequires=contianerd.service\n[Service]\nExecStart=/bin/a\n", ["systemd-analyze"]),
    ],
    ids=["a program by its name", "units of the profile", "a unit that a package brings", "a unit by a wrong name"],
)
def test_what_nodes_have_is_not_missed_on_the_machine_that_validates(
    text: str, told: list[str], tmp_path: Path
) -> None:
    beside = (
        _unit("mnt-data.mount", "[Mount]\nWhat=/dev/vdb\nWhere=/mnt/data\n"),
        _unit("backup.timer", "[Timer]\nOnCalendar=daily\n"),
        _unit("backup.service", "[Service]\nExecStart=/bin/a\n"),
    )
    found = SystemdAnalyze({"PATH": systemd_path(tmp_path)}).check([_unit("a.service", text), *beside])
    assert [remark.rule.id for _, remark in found] == told


def _user_data(documents: Sequence[BootDocument], utility: str) -> dict[str, list[BootDocument]]:
    found: dict[str, list[BootDocument]] = {}
    for document in documents:
        for data in document.user_data.values() if document.utility == utility else ():
            if data:
                found.setdefault(data.decode(), []).append(document)
    return found


def test_what_ignition_refuses_is_told() -> None:
    texts = _user_data(_documents(tuple(MINORS)), "ignition")
    assert _refused_by_tool_alone(texts, asking.ignition, "ignition-|systemd-|unit-") == []


@pytest.mark.parametrize("release", CLOUD_INITS)
def test_what_cloud_init_refuses_is_told(release: str) -> None:
    documents = [each for each in _documents(tuple(MINORS)) if each.os != "flatcar"]
    texts = _user_data(documents, "cloud-init")
    assert _refused_by_tool_alone(texts, lambda all_: asking.many_cloud_configs(all_, release), "cloud-config-") == []


def test_every_default_profile_passes_every_check_and_checker_for_each_provider_and_kubernetes_minor(
    tmp_path: Path,
) -> None:
    documents = defaults(tuple(MINORS))
    environment = {"PATH": systemd_path(tmp_path)}
    files = {(file.path, file.text): file for document in documents for file in document.texts}

    assert [(each.pool, finding) for each in documents for finding in findings_of(each)] == []
    for checker in (Shellcheck(environment), Bash(environment), SystemdAnalyze(environment)):
        assert checker.missing() is None
        assert [(file.path, remark) for file, remark in checker.check(list(files.values()))] == []
    user_data = [file for document in documents for file in user_data_files(document)]
    for release in CLOUD_INITS:
        assert set(map(tuple, asking.many_cloud_configs(sorted({file.text for file in user_data}), release))) == {()}
