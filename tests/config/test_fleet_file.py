"""The fleet file: every key, every refusal with its line."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest

from osm_gitops.config.fleet_file import find_fleet_file, read_fleet
from osm_gitops.config.spec import (
    ClusterSpec,
    LiveRef,
    LiveTarget,
    SourceRef,
    TargetSpec,
    TreeRef,
)
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.promotion import After
from osm_gitops.pipeline.load import load_settings
from tests.faults import Expected, placed, refused

_HEAD = "apiVersion: osm-gitops.io/v1alpha1\nkind: Fleet\n"


def _read(tmp_path: Path, text: str) -> tuple[ClusterSpec, ...]:
    file = tmp_path / "osm-gitops.yaml"
    file.write_text(_HEAD + dedent(text))
    return read_fleet(file, "osm-gitops.yaml").clusters


def _path(part: SourceRef) -> Path:
    assert isinstance(part, TreeRef)
    return part.path


def _folder(cluster: ClusterSpec) -> TargetSpec:
    assert isinstance(cluster.target, TargetSpec)
    return cluster.target


def _refused(tmp_path: Path, text: str) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as refused:
        _read(tmp_path, text)
    return refused.value.problems


def _problems(tmp_path: Path, text: str) -> list[tuple[Code, str]]:
    return placed(_refused(tmp_path, text))


def test_all_keys_of_a_cluster_are_read(tmp_path: Path) -> None:
    (cluster,) = _read(
        tmp_path,
        """\
        clusters:
        - name: prod-eu.1
          from: {machineDeployments: pools, profiles: osps/, facts: facts.yaml}
          settings: {clusterDNS: 10.96.0.10, nodeHTTPProxy: "http://proxy:3128"}
          to: {git: {path: clusters, branch: main, remote: upstream, push: true, sign: true}}
          management: {namespace: osm}
        """,
    )
    assert cluster.name == "prod-eu.1"
    source = cluster.source
    assert [_path(part) for part in source.parts] == [
        tmp_path / "pools",
        tmp_path / "osps",
        tmp_path / "facts.yaml",
    ]
    assert source.profiles.display == "osps/"
    target = _folder(cluster)
    assert (target.path, target.branch, target.remote) == (tmp_path / "clusters", "main", "upstream")
    assert (target.push, target.sign) == (True, True)
    settings = load_settings(cluster)
    assert settings.namespace == "osm"
    assert settings.http_proxy == "http://proxy:3128"
    assert list(settings.cluster_dns) == ["10.96.0.10"]


def test_profiles_and_facts_are_where_the_pools_are_unless_said(tmp_path: Path) -> None:
    short, long = _read(
        tmp_path, "clusters: [{name: a, from: tree}, {name: b, from: {machineDeployments: tree, profiles: osps}}]"
    )
    assert {short.source.machines, short.source.profiles, short.source.facts} == {short.source.machines}
    assert long.source.facts == long.source.machines
    assert _path(long.source.profiles) == tmp_path / "osps"
    assert short.target is None


def test_defaults_fill_what_a_cluster_leaves_out_and_settings_are_merged(tmp_path: Path) -> None:
    first, second = _read(
        tmp_path,
        """\
        defaults:
          from: tree
          settings: {clusterDNS: 10.0.0.1, pauseImage: pause:1}
          to: {git: {path: clusters, branch: main}}
          management: {namespace: shared}
        clusters:
        - name: a
        - name: b
          from: other
          settings: {clusterDNS: 10.0.0.2, namespace: own}
          to: {git: {path: elsewhere}}
        """,
    )
    assert _path(first.source.machines) == tmp_path / "tree"
    assert load_settings(first).pause_image == "pause:1"
    assert load_settings(first).namespace == "shared"
    assert _path(second.source.machines) == tmp_path / "other"
    assert load_settings(second).pause_image == "pause:1"
    assert list(load_settings(second).cluster_dns) == ["10.0.0.2"]
    assert (_folder(second).path, _folder(second).branch) == (tmp_path / "elsewhere", "")


def test_relative_files_in_settings_start_at_the_fleet_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    (cluster,) = _read(tmp_path, "clusters: [{name: a, from: tree, settings: {hostCABundle: ca.pem}}]")
    with pytest.raises(InputError) as missing:
        load_settings(cluster)
    assert str(tmp_path / "ca.pem") in str(missing.value)
    assert (
        Expected(Code.FILE_UNREADABLE, "osm-gitops.yaml:3", "clusters[0].settings.hostCABundle")
        in missing.value.problems
    )


def test_all_problems_of_a_fleet_are_told_with_their_lines(tmp_path: Path) -> None:
    assert _problems(
        tmp_path,
        """\
        cluster: []
        defaults: {setings: {}}
        clusters:
        - name: Prod
          from: {machineDeployment: x}
          settings:
            clusterDns: 10.0.0.1
            hatBundle: x
        - name: b
          from: [tree]
          to: {git: {path: 7, push: maybe, force: true}, hg: {}}
        - from: tree
          settings: 12
        - name: c
        - 7
        """,
    ) == [
        (Code.UNKNOWN_KEY, "osm-gitops.yaml:3: cluster"),
        (Code.UNKNOWN_KEY, "osm-gitops.yaml:4: defaults.setings"),
        (Code.INVALID_VALUE, "osm-gitops.yaml:6: clusters[0].name"),
        (Code.UNKNOWN_KEY, "osm-gitops.yaml:9: clusters[0].settings.clusterDns"),
        (Code.UNKNOWN_KEY, "osm-gitops.yaml:10: clusters[0].settings.hatBundle"),
        ((Code.UNKNOWN_KEY, "osm-gitops.yaml:7: clusters[0].from.machineDeployment")),
        (Code.MISSING_KEY, "osm-gitops.yaml:7: clusters[0].from"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:12: clusters[1].from"),
        (Code.UNKNOWN_KEY, "osm-gitops.yaml:13: clusters[1].to.hg"),
        ((Code.UNKNOWN_KEY, "osm-gitops.yaml:13: clusters[1].to.git.force")),
        (Code.WRONG_TYPE, "osm-gitops.yaml:13: clusters[1].to.git.path"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:13: clusters[1].to.git.push"),
        (Code.INVALID_VALUE, "osm-gitops.yaml:14: clusters[2].name"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:15: clusters[2].settings"),
        (Code.MISSING_KEY, "osm-gitops.yaml:16: clusters[3].from"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:17: clusters[4]"),
    ]


def test_each_part_may_be_a_tree_or_the_clusters(tmp_path: Path) -> None:
    whole, mixed, folder = _read(
        tmp_path,
        """\
        clusters:
        - {name: a, from: cluster, to: cluster}
        - {name: b, from: {machineDeployments: cluster, profiles: osps/, facts: cluster}}
        - {name: c, from: ./cluster}
        """,
    )
    assert set(whole.source.parts) == {LiveRef()}
    assert whole.target == LiveTarget()
    assert [part.display for part in mixed.source.parts] == ["cluster", "osps/", "cluster"]
    assert set(map(type, folder.source.parts)) == {TreeRef}
    assert [cluster.is_live for cluster in (whole, mixed, folder)] == [True, True, False]


def test_the_worker_cluster_is_the_management_cluster_unless_another_is_named(tmp_path: Path) -> None:
    one, context, both, neither = _read(
        tmp_path,
        """\
        defaults: {from: cluster}
        clusters:
        - {name: a, management: {kubeconfig: admin.conf, context: m}}
        - {name: b, management: {kubeconfig: admin.conf, context: m}, worker: {context: w}}
        - {name: c, management: {context: m}, worker: {kubeconfig: /etc/worker.conf}}
        - {name: d}
        """,
    )
    admin = str(tmp_path / "admin.conf")
    assert one.worker == one.management == ContextRef(admin, "m")
    assert (context.management, context.worker) == (ContextRef(admin, "m"), ContextRef(admin, "w"))
    assert (both.management, both.worker) == (ContextRef("", "m"), ContextRef("/etc/worker.conf", ""))
    assert neither.worker == neither.management == ContextRef()


def test_what_cannot_name_a_cluster_is_refused(tmp_path: Path) -> None:
    assert _problems(
        tmp_path,
        """
        clusters:
        - {name: a, from: cluster, management: {kubeconfig: ~/.kube/config}, worker: {context: 7}}
        - {name: b, from: cluster, management: {kubeconfig: ""}, to: clusters}
        """,
    ) == [
        ((Code.INVALID_VALUE, "osm-gitops.yaml:5: clusters[0].management.kubeconfig")),
        (Code.WRONG_TYPE, "osm-gitops.yaml:5: clusters[0].worker.context"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:6: clusters[1].management.kubeconfig"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:6: clusters[1].to"),
    ]


def test_unknown_keys_of_management_and_worker_are_told(tmp_path: Path) -> None:
    assert _problems(
        tmp_path, "clusters: [{name: a, from: tree, management: {namespaces: x}, worker: {namespace: y}}]"
    ) == [
        (Code.UNKNOWN_KEY, "osm-gitops.yaml:3: clusters[0].management.namespaces"),
        (Code.UNKNOWN_KEY, "osm-gitops.yaml:3: clusters[0].worker.namespace"),
    ]


def test_an_unknown_key_is_answered_with_the_one_that_was_meant_or_with_all(tmp_path: Path) -> None:
    text = "clusters: [{name: a, from: tree, management: {namespaces: x, zone: 1}, settings: {hatBundle: x}}]"
    assert list(_refused(tmp_path, text)) == [
        Expected(Code.UNKNOWN_KEY, '"hatBundle"', "hostCABundle?"),
        Expected(Code.UNKNOWN_KEY, '"namespaces"', " namespace?"),
        Expected(Code.UNKNOWN_KEY, '"zone"', "context, kubeconfig, namespace"),
    ]


def test_paths_that_can_be_none_are_refused(tmp_path: Path) -> None:
    assert _problems(
        tmp_path,
        r"""
        clusters:
        - {name: a, from: "", to: {git: {path: ""}}}
        - {name: b, from: "x\0", to: {git: {path: "x\0", branch: ""}}}
        - {name: c, from: {machineDeployments: "x\0"}}
        """,
    ) == [
        (Code.WRONG_TYPE, "osm-gitops.yaml:5: clusters[0].from"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:5: clusters[0].to.git.path"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:6: clusters[1].from"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:6: clusters[1].to.git.path"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:6: clusters[1].to.git.branch"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:7: clusters[2].from.machineDeployments"),
    ]


def test_two_clusters_of_one_name_are_refused(tmp_path: Path) -> None:
    assert _problems(tmp_path, "clusters:\n- {name: a, from: x}\n- {name: b, from: x}\n- {name: a, from: z}\n") == [
        (Code.DUPLICATE_NAME, "osm-gitops.yaml:6: clusters[2].name")
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", Expected(Code.NOT_ONE_DOCUMENT)),
        ("- a\n", Expected(Code.NOT_ONE_DOCUMENT)),
        ("apiVersion: a\n---\nkind: b\n", Expected(Code.NOT_ONE_DOCUMENT)),
        ("a: [\n", Expected(Code.YAML_SYNTAX, "osm-gitops.yaml:2")),
        (
            "apiVersion: osm-gitops.io/v1\nkind: Fleets\nclusters: []\n",
            Expected(Code.INVALID_VALUE, "osm-gitops.io/v1alpha1"),
        ),
        (_HEAD, Expected(Code.WRONG_TYPE)),
        (_HEAD + "clusters: {}\n", Expected(Code.WRONG_TYPE)),
        (_HEAD + "clusters: []\n", Expected(Code.WRONG_TYPE)),
        (_HEAD + "defaults: 3\nclusters: [{name: a, from: x}]\n", Expected(Code.WRONG_TYPE)),
    ],
)
def test_what_is_no_fleet_file_is_refused(tmp_path: Path, text: str, fault: Expected) -> None:
    file = tmp_path / "osm-gitops.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_fleet(file, "osm-gitops.yaml")
    assert fault in refused.value.problems


def test_a_missing_fleet_file_is_a_sentence(tmp_path: Path) -> None:
    with refused(Code.FILE_UNREADABLE):
        read_fleet(tmp_path / "none.yaml", "none.yaml")


def test_the_nearest_fleet_file_above_is_found(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "osm-gitops.yaml").touch()
    assert find_fleet_file(deep) == tmp_path / "osm-gitops.yaml"
    (tmp_path / "a" / "osm-gitops.yaml").touch()
    assert find_fleet_file(deep) == tmp_path / "a" / "osm-gitops.yaml"
    assert find_fleet_file(Path("/")) is None


def test_overlays_of_defaults_come_first_and_those_of_the_cluster_win(tmp_path: Path) -> None:
    first, second = _read(
        tmp_path,
        """\
        defaults: {overlays: ["builtin:proxy", overlays/all]}
        clusters:
        - {name: a, from: tree, overlays: [overlays/a, overlays/b@v1.2]}
        - {name: b, from: tree, overlays: null}
        """,
    )
    assert [each.display for each in first.overlays] == ["builtin:proxy", "overlays/all", "overlays/a", "overlays/b"]
    assert [each.revision for each in first.overlays] == ["", "", "", "v1.2"]
    assert first.overlays[2].path == tmp_path / "overlays" / "a"
    assert second.overlays == first.overlays[:2]


def test_overlays_are_a_list_of_texts(tmp_path: Path) -> None:
    text = "clusters:\n- {name: a, from: tree, overlays: one}\n- {name: b, from: tree, overlays: [one, 2, '']}\n"
    assert _problems(tmp_path, text) == [
        (Code.WRONG_TYPE, "osm-gitops.yaml:4: clusters[0].overlays"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:5: clusters[1].overlays[1]"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:5: clusters[1].overlays[2]"),
    ]


def test_machine_deployments_of_a_tree_may_be_applied(tmp_path: Path) -> None:
    text = """
        defaults: {to: cluster}
        clusters:
        - name: a
          from: {machineDeployments: {path: pools@main, apply: true}, facts: cluster}
        - {name: b, from: {machineDeployments: {path: pools}}}
        - {name: c, from: {machineDeployments: {path: cluster}}}
        """
    a, b, c = (cluster.source for cluster in _read(tmp_path, text))
    assert (a.machines, a.profiles, a.applies_machines) == (
        TreeRef(tmp_path / "pools", "pools", "main"),
        TreeRef(tmp_path / "pools", "pools", "main"),
        True,
    )
    assert (b.machines, b.applies_machines) == (TreeRef(tmp_path / "pools", "pools"), False)
    assert c.machines == LiveRef()


def test_machine_deployments_are_not_applied_from_the_cluster_nor_beside_git(tmp_path: Path) -> None:
    text = """
        defaults: {to: {git: {path: clusters}}}
        clusters:
        - name: a
          from: {machineDeployments: {path: pools, apply: true}}
        - name: b
          from:
            machineDeployments:
              path: cluster
              apply: true
          to: cluster
        - {name: c, from: {machineDeployments: {path: 7, apply: 7, force: true}}}
        """
    git, live, *wrong = _problems(tmp_path, text)
    assert git == (Code.APPLY_NEEDS_LIVE_TARGET, "osm-gitops.yaml:7: clusters[0].from.machineDeployments.apply")
    assert live == (Code.APPLY_NEEDS_LIVE_TARGET, "osm-gitops.yaml:12: clusters[1].from.machineDeployments.apply")
    at = "osm-gitops.yaml:14: clusters[2].from.machineDeployments"
    assert wrong == [
        (Code.UNKNOWN_KEY, f"{at}.force"),
        (Code.WRONG_TYPE, f"{at}.path"),
        (Code.WRONG_TYPE, f"{at}.apply"),
    ]


_FLEET_OF_THREE = """\
clusters:
- {name: canary, from: a}
- {name: prod-1, from: a}
- {name: prod-2, from: a}
waves:
"""


def test_waves_are_read_with_their_conditions(tmp_path: Path) -> None:
    waves = """\
- {name: first, select: [canary]}
- name: second
  select: ["prod-*"]
  after: {wave: first, soak: 90m, waiting: 10m, machines: 2}
  hold: the freeze of December
"""
    clusters = {each.name: each.wave for each in _read(tmp_path, _FLEET_OF_THREE + waves)}
    first, second = clusters["canary"], clusters["prod-1"]
    assert first is not None
    assert (first.name, first.after, first.hold) == ("first", None, "")
    assert second is not None
    assert second is clusters["prod-2"]
    assert second.after == After(wave="first", soak=timedelta(minutes=90), waiting=timedelta(minutes=10), machines=2)
    assert second.hold == "the freeze of December"


def test_a_wave_soaks_a_day_and_must_be_healthy_unless_said(tmp_path: Path) -> None:
    waves = "- {name: one, select: [canary]}\n- {name: two, select: [prod-1], after: {wave: one}}\n"
    clusters = {each.name: each.wave for each in _read(tmp_path, _FLEET_OF_THREE + waves)}
    wave = clusters["prod-1"]
    assert wave is not None
    assert wave.after == After(wave="one", soak=timedelta(hours=24), healthy=True, waiting=timedelta(minutes=30))
    assert clusters["prod-2"] is None


def test_all_problems_of_waves_are_told_with_their_lines(tmp_path: Path) -> None:
    waves = """\
- {name: one, select: [canary], after: {wave: three}}
- {name: two, select: [canary, "stage-*"], after: {wave: onee, soak: a day}}
- {name: three, select: ["prod-*"], after: {wave: one, soak: 1h}}
- {name: three, select: [], colour: red}
- {name: four, select: [prod-1], after: {soak: 1h}, hold: true}
- {name: five, select: [prod-2], after: {wave: five, healthy: false, machines: 1}}
"""
    assert set(_problems(tmp_path, _FLEET_OF_THREE + waves)) == {
        (Code.WAVE_CIRCLE, "osm-gitops.yaml:8: waves[0].after.wave"),
        (Code.CLUSTER_IN_TWO_WAVES, "osm-gitops.yaml:9: waves[1].select[0]"),
        (Code.WAVE_MATCHES_NOTHING, "osm-gitops.yaml:9: waves[1].select[1]"),
        (Code.UNKNOWN_WAVE, "osm-gitops.yaml:9: waves[1].after.wave"),
        (Code.INVALID_VALUE, "osm-gitops.yaml:9: waves[1].after.soak"),
        (Code.WAVE_CIRCLE, "osm-gitops.yaml:10: waves[2].after.wave"),
        (Code.DUPLICATE_NAME, "osm-gitops.yaml:11: waves[3].name"),
        (Code.UNKNOWN_KEY, "osm-gitops.yaml:11: waves[3].colour"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:11: waves[3].select"),
        (Code.MISSING_KEY, "osm-gitops.yaml:12: waves[4].after.wave"),
        (Code.CLUSTER_IN_TWO_WAVES, "osm-gitops.yaml:12: waves[4].select[0]"),
        (Code.WRONG_TYPE, "osm-gitops.yaml:12: waves[4].hold"),
        (Code.INVALID_VALUE, "osm-gitops.yaml:13: waves[5].after.machines"),
        (Code.CLUSTER_IN_TWO_WAVES, "osm-gitops.yaml:13: waves[5].select[0]"),
        (Code.WAVE_CIRCLE, "osm-gitops.yaml:13: waves[5].after.wave"),
    }


def test_what_waves_select_is_named(tmp_path: Path) -> None:
    waves = """\
- {name: one, select: [canary]}
- {name: two, select: ["*a*", "stage-*"], after: {wave: onee}}
"""
    assert [*_refused(tmp_path, _FLEET_OF_THREE + waves)] == [
        Expected(Code.UNKNOWN_WAVE, "osm-gitops.yaml:9", "onee", "Did you mean one?"),
        Expected(Code.CLUSTER_IN_TWO_WAVES, "osm-gitops.yaml:9", "waves[1].select[0]", "canary", "one"),
        Expected(Code.WAVE_MATCHES_NOTHING, "osm-gitops.yaml:9", "waves[1].select[1]", "stage-*"),
    ]
