"""Which user clusters of a seed a fleet file means, what they are called, and what may be done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from osm_gitops.config.fleet_file import parse_fleet
from osm_gitops.config.spec import ClusterSpec, LiveRef, LiveTarget, TreeRef, WhilePaused
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import ClusterError, Code, Problem
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.kkp import Discovery, discover, why_not_written
from osm_gitops.pipeline.load import load_settings
from osm_gitops.sources.kkp.records import Cluster, Datacenter, KubermaticConfiguration, Seed
from osm_gitops.sources.kkp.seed import SeedInventory
from osm_gitops.sources.trust import TRUSTED, distrust
from tests.faults import Expected, refused

UP: Final = dict.fromkeys(("apiserver", "controller", "etcd", "scheduler"), "HealthStatusUp")
READY: Final = Cluster(
    id="abc",
    datacenter="dc-1",
    labels={"project-id": "p1"},
    namespace="cluster-abc",
    health=UP,
    conditions={"ClusterInitialized": "True"},
    where="seed",
)
DATACENTERS: Final = {name: Datacenter(name=name) for name in ("dc-1", "dc-2")}


class Seeds(Connections):
    """Seeds that have these clusters, by the context of the seed; one that has none does not answer."""

    def __init__(self, seeds: Mapping[str, SeedInventory]) -> None:
        super().__init__({})
        self.seeds = seeds
        self.asked: list[ContextRef] = []

    def inventory(self, access: ContextRef) -> SeedInventory:
        self.asked.append(access)
        if access.context not in self.seeds:
            raise ClusterError([Problem(Code.API_SERVER_UNREACHABLE, "it does not answer", where="https://seed")])
        return self.seeds[access.context]


def inventory(*clusters: Cluster, broken: Mapping[str, tuple[Problem, ...]] | None = None) -> SeedInventory:
    seeds = (Seed(name="kubermatic", datacenters=DATACENTERS),)
    return SeedInventory(clusters, broken or {}, seeds, KubermaticConfiguration(name="kkp"), "https://seed")


def found(
    text: str, *clusters: Cluster, broken: Mapping[str, tuple[Problem, ...]] | None = None, **options: Any
) -> Discovery:
    """What a fleet file with these entries means on a seed with these clusters."""
    head = "apiVersion: osm-gitops.io/v1alpha1\nkind: Fleet\n"
    fleet = parse_fleet(f"{head}{text}".encode(), Path("/fleet"), "osm-gitops.yaml")
    seeds = options.pop("seeds", None) or Seeds({"": inventory(*clusters, broken=broken)})
    return discover(fleet, seeds, options.pop("access", UNNAMED), options.pop("trust", TRUSTED), **options)


def names(discovery: Discovery) -> list[str]:
    return [spec.name for spec in discovery.clusters]


def named(*ids: str, **more: Any) -> tuple[Cluster, ...]:
    return tuple(replace(READY, id=each, namespace=f"cluster-{each}", **more) for each in ids)


def test_all_clusters_of_a_seed_are_meant_in_order_of_their_names() -> None:
    assert names(found("clusters: [{kkp: {}}]", *named("zebra", "apple", "mango"))) == ["apple", "mango", "zebra"]


OTHERS: Final = (
    READY,
    replace(READY, id="other", labels={"project-id": "p2", "tier": "prod"}, datacenter="dc-2"),
    replace(READY, id="third", human_name="Prod EU", labels={"project-id": "p3", "tier": "dev"}),
)


@pytest.mark.parametrize(
    ("select", "ids"),
    [
        ("{}", ["abc", "other", "third"]),
        ("{project: p1}", ["abc"]),
        ("{project: [p1, 'p[2-9]']}", ["abc", "other", "third"]),
        ("{datacenter: dc-2}", ["other"]),
        ("{labels: {tier: prod}}", ["other"]),
        ("{labels: {tier: prod, project-id: p3}}", []),
        ("{names: abc}", ["abc"]),
        ("{names: ['Prod*', other]}", ["other", "third"]),
        ("{names: '*', datacenter: dc-1, project: 'p*', labels: {tier: dev}}", ["third"]),
    ],
)
def test_a_cluster_is_selected_if_it_fits_every_key(select: str, ids: Sequence[str]) -> None:
    assert names(found(f"clusters: [{{kkp: {{select: {select}}}}}]", *OTHERS)) == ids


def test_names_and_paths_are_made_from_ids_projects_and_datacenters() -> None:
    text = """\
clusters:
- kkp: {name: "{datacenter}.{project}.{cluster}"}
  from: {machineDeployments: "pools/{project}/{cluster}", profiles: cluster, facts: "facts/{datacenter}@main"}
  overlays: [base, "overlays/{cluster}", "builtin:proxy"]
"""
    (spec,) = found(text, READY).clusters
    assert spec.name == "dc-1.p1.abc"
    machines, profiles, facts = spec.source.parts
    assert machines == TreeRef(Path("/fleet/pools/p1/abc"), "")
    assert isinstance(profiles, LiveRef)
    assert facts == TreeRef(Path("/fleet/facts/dc-1"), "", "main")
    assert [each.display for each in spec.overlays] == ["base", "overlays/abc", "builtin:proxy"]
    assert spec.overlays[1].path == Path("/fleet/overlays/abc")


def test_defaults_the_entry_and_overrides_of_a_cluster_are_stacked() -> None:
    text = """\
defaults:
  settings: {pauseImage: default, clusterDNS: 10.0.0.1, interval: 20m}
  overlays: [first]
  management: {kubeconfig: other.yaml}
  to: {git: {path: clusters}}
clusters:
- kkp: {}
  settings: {pauseImage: entry, clusterDNS: 10.0.0.2}
  overlays: [second]
  overrides:
    abc:
      settings: {pauseImage: own}
      overlays: [third]
      to: cluster
    unheard-of: {}
"""
    own, other = found(text, *named("abc", "other")).clusters
    values = [{each.name: each.value for each in spec.settings} for spec in (own, other)]
    assert values == [
        {"pause-image": "own", "cluster-dns": "10.0.0.2", "interval": "20m"},
        {"pause-image": "entry", "cluster-dns": "10.0.0.2", "interval": "20m"},
    ]
    overlays = [[overlay.display for overlay in spec.overlays] for spec in (own, other)]
    assert overlays == [["first", "second", "third"], ["first", "second"]]
    assert isinstance(own.target, LiveTarget)
    assert not isinstance(other.target, LiveTarget)
    assert (own.management, own.worker) == (UNNAMED, UNNAMED)


def test_objects_are_read_from_the_cluster_unless_the_fleet_file_says_otherwise() -> None:
    (spec,) = found("clusters: [{kkp: {}}]", READY).clusters
    assert spec.source.parts == (LiveRef(), LiveRef(), LiveRef())
    (spec,) = found("defaults: {from: tree}\nclusters: [{kkp: {}}]", READY).clusters
    assert spec.source.machines == TreeRef(Path("/fleet/tree"), "")


def test_a_cluster_has_the_settings_of_kkp_and_the_seed_of_its_entry() -> None:
    (spec,) = found("clusters: [{kkp: {address: internal, whilePaused: renew}}]", READY).clusters
    assert spec.kkp is not None
    assert {each.name for each in spec.kkp.settings} == {"namespace", "cluster-dns"}
    assert (spec.kkp.cluster, spec.kkp.datacenter) == (READY, DATACENTERS["dc-1"])
    assert (spec.kkp.address.value, spec.kkp.while_paused) == ("internal", WhilePaused.RENEW)


def test_flags_name_the_seed_before_the_fleet_file() -> None:
    seeds = Seeds({"flag": inventory(READY)})
    text = "clusters: [{kkp: {seed: {kubeconfig: seed.yaml, context: entry}}}]"
    (spec,) = found(text, seeds=seeds, access=ContextRef(context="flag")).clusters
    assert seeds.asked == [ContextRef("/fleet/seed.yaml", "flag")]
    assert spec.kkp is not None
    assert spec.kkp.seed == ContextRef("/fleet/seed.yaml", "flag")


def test_a_seed_that_does_not_answer_stops_only_its_own_clusters() -> None:
    text = "clusters: [{kkp: {seed: {context: a}}}, {kkp: {seed: {context: b}}}]"
    lost, there = found(text, seeds=Seeds({"b": inventory(READY)})).clusters
    assert lost.is_seed
    assert list(lost.problems) == [Expected(Code.API_SERVER_UNREACHABLE, "https://seed", "seed of osm-gitops.yaml:3")]
    assert (there.name, there.problems) == ("abc", ())


def test_an_untrusted_tree_reaches_no_seed() -> None:
    seeds = Seeds({"": inventory(READY)})
    (spec,) = found("clusters: [{kkp: {}}]", seeds=seeds, trust=distrust(Path("/fleet"))).clusters
    assert [each.code for each in spec.problems] == [Code.SERVER_IN_UNTRUSTED_RUN]
    assert seeds.asked == []


def test_a_seed_without_a_selected_cluster_is_an_error_where_that_could_delete() -> None:
    text = "clusters: [{kkp: {select: {names: nobody}}}]"
    assert found(text, READY).clusters == ()
    assert found(text, READY, allow_empty=True).clusters == ()
    (seed,) = found(text, READY, allow_empty=False).clusters
    assert list(seed.problems) == [Expected(Code.KKP_NO_CLUSTER, "osm-gitops.yaml:3", "https://seed", "--allow-empty")]
    (seed,) = found(text, allow_empty=False).clusters
    assert [each.code for each in seed.problems] == [Code.KKP_NO_CLUSTER]


def test_clusters_that_are_all_left_out_are_no_empty_seed() -> None:
    creating = replace(READY, namespace="")
    discovery = found("clusters: [{kkp: {}}]", creating, allow_empty=False)
    assert discovery.clusters == ()
    assert list(discovery.left_out) == ["abc"]


def test_a_cluster_of_a_datacenter_that_no_seed_has_stops_only_itself() -> None:
    lost = replace(READY, id="lost", datacenter="dc-9")
    own, other = found("clusters: [{kkp: {}}]", READY, lost).clusters
    assert own.problems == ()
    assert list(other.problems) == [Expected(Code.KKP_DATACENTER_UNKNOWN, "cluster lost", "dc-9")]


def test_a_cluster_whose_settings_cannot_be_computed_stops_only_itself() -> None:
    bad = replace(READY, id="bad", node_local_dns=False)
    own, other = found("clusters: [{kkp: {}}]", READY, bad).clusters
    assert own.problems == ()
    assert list(other.problems) == [Expected(Code.MISSING_KEY, "Cluster bad", "cidrBlocks")]


def test_a_setting_of_kkp_that_is_not_supported_is_named_with_its_field() -> None:
    (spec,) = found("clusters: [{kkp: {}}]", replace(READY, container_runtime="docker")).clusters
    with refused(Expected(Code.INVALID_VALUE, "Cluster abc: spec.containerRuntime", "docker")):
        load_settings(spec)


def test_a_cluster_with_fields_of_another_type_stops_only_itself() -> None:
    problem = Problem(Code.WRONG_TYPE, "must be a text", where="seed", about="Cluster odd")
    own, other = found("clusters: [{kkp: {}}]", READY, broken={"odd": (problem,)}).clusters
    assert (own.name, own.problems) == ("abc", ())
    assert (other.name, other.problems) == ("odd", (problem,))


def test_two_clusters_never_have_one_name() -> None:
    text = "clusters: [{name: abc, from: tree}, {kkp: {}}, {kkp: {seed: {context: b}}}]"
    seeds = Seeds({"": inventory(*named("abc", "other")), "b": inventory(*named("other", "third"))})
    discovery = found(text, seeds=seeds)
    assert names(discovery) == ["abc", "other", "other", "third"]
    assert [[each.code for each in spec.problems] for spec in discovery.clusters] == [
        [Code.DUPLICATE_NAME],
        [],
        [Code.DUPLICATE_NAME],
        [],
    ]


def test_a_name_that_is_no_name_stops_only_its_cluster() -> None:
    odd = replace(READY, id="odd", labels={"project-id": "A B"})
    own, other = found('clusters: [{kkp: {name: "{project}-{cluster}"}}]', odd, READY).clusters
    assert [each.code for each in own.problems] == [Code.INVALID_VALUE]
    assert (other.name, other.problems) == ("p1-abc", ())


@pytest.mark.parametrize(
    ("labels", "entry"),
    [
        ({}, 'name: "{project}-{cluster}"'),
        ({"project-id": ".."}, '}, from: "pools/{project}/{cluster}", settings: {'),
        ({"project-id": "a/b"}, '}, overlays: ["overlays/{project}"], settings: {'),
    ],
)
def test_a_value_that_no_path_may_have_stops_only_its_cluster(labels: Mapping[str, str], entry: str) -> None:
    (spec,) = found(f"clusters: [{{kkp: {{{entry}}}}}]", replace(READY, labels=labels)).clusters
    assert list(spec.problems) == [Expected(Code.INVALID_VALUE, "osm-gitops.yaml:3", "{project}")]
    (spec,) = found("clusters: [{kkp: {}, from: 'pools/{cluster}'}]", replace(READY, labels=labels)).clusters
    assert spec.problems == ()


PAUSED: Final = replace(READY, paused=True, pause_reason="moving")
DELETING: Final = replace(READY, deleting="2026-01-01T00:00:00Z")
TO_GIT: Final = "to: {git: {path: clusters}}"


@pytest.mark.parametrize(
    ("cluster", "paused", "live", "git"),
    [
        (READY, "plan", True, True),
        (PAUSED, "plan", False, False),
        (PAUSED, "renew", True, False),
        (PAUSED, "write", True, True),
        (DELETING, "plan", True, False),
        (DELETING, "write", True, False),
    ],
)
def test_whether_a_run_may_write_follows_from_the_state_and_the_target(
    cluster: Cluster, paused: str, live: bool, git: bool
) -> None:
    def spec(to: str) -> ClusterSpec:
        (made,) = found(f"clusters: [{{kkp: {{whilePaused: {paused}}}, {to}}}]", cluster).clusters
        return made

    assert (not why_not_written(spec("to: cluster")), not why_not_written(spec(TO_GIT))) == (live, git)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- kkp: {sed: {}}", Expected(Code.UNKNOWN_KEY, "osm-gitops.yaml:4", "clusters[0].kkp.sed", "seed")),
        (
            "- kkp:\n    seed: {contxt: a}",
            Expected(Code.UNKNOWN_KEY, "osm-gitops.yaml:5", "kkp.seed.contxt", "context"),
        ),
        ("- kkp:\n    select:\n      name: a", Expected(Code.UNKNOWN_KEY, "osm-gitops.yaml:6", "select.name", "names")),
        ("- kkp: {select: {names: 7}}", Expected(Code.WRONG_TYPE, "osm-gitops.yaml:4", "select.names")),
        ("- kkp: {select: {labels: {a: 7}}}", Expected(Code.WRONG_TYPE, "osm-gitops.yaml:4", "select.labels")),
        ("- kkp: {name: all}", Expected(Code.INVALID_VALUE, "osm-gitops.yaml:4", "kkp.name", "{cluster}")),
        ("- kkp: {address: outside}", Expected(Code.INVALID_VALUE, "osm-gitops.yaml:4", "external")),
        ("- kkp: {profiles: 3}", Expected(Code.WRONG_TYPE, "osm-gitops.yaml:4", "clusters[0].kkp.profiles")),
        ("- kkp: {whilePaused: go}", Expected(Code.INVALID_VALUE, "osm-gitops.yaml:4", "renew")),
        ("- kkp: {}\n  name: a", Expected(Code.UNKNOWN_KEY, "osm-gitops.yaml:5", "clusters[0].name")),
        ("- kkp: {}\n  management: {}", Expected(Code.UNKNOWN_KEY, "osm-gitops.yaml:5", "clusters[0].management")),
        ("- kkp: {}\n  overrides:\n    abc: {nam: a}", Expected(Code.UNKNOWN_KEY, "osm-gitops.yaml:6", "abc.nam")),
        (
            "- kkp: {}\n  overrides:\n    abc:\n      settings: {pauseImag: a}",
            Expected(Code.UNKNOWN_KEY, "osm-gitops.yaml:7", "pauseImage"),
        ),
        ("- kkp: nothing", Expected(Code.WRONG_TYPE, "osm-gitops.yaml:4", "clusters[0].kkp")),
    ],
)
def test_mistakes_in_an_entry_are_named_with_their_line(text: str, fault: Expected) -> None:
    with refused(fault):
        found(f"clusters:\n{text}\n", READY)


def test_a_mistake_in_the_defaults_is_reported_once() -> None:
    text = (
        "defaults:\n  settings: {nope: 1}\nclusters:\n- kkp: {}\n  overrides: {a: {}, b: {}}\n- name: x\n  from: tree\n"
    )
    with refused(Expected(Code.UNKNOWN_KEY, "osm-gitops.yaml:4", "nope")):
        found(text, READY)
