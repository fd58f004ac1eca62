"""Fleets of user clusters: two seeds in one fleet file, and waves over user clusters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from osm_gitops.commands.boot.lane.binaries import Binaries
from osm_gitops.errors import Code
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import osm_in_kkp
from tests.apiserver.proxy import Proxy, drop
from tests.apiserver.server import running
from tests.cli.running import osm_gitops
from tests.faults import Expected, told
from tests.kkp.scene import ID, Scene, add_pool, fill_with_pool, secrets_of, user_cluster
from tests.kkp.seed import OSM_FLAGS, Seed, definitions, make_seed
from tests.kkp.test_runs import boot_script, is_fine

pytestmark = pytest.mark.exhaustive

_EU, _US = f"eu-{ID}", f"us-{ID}"


@pytest.fixture(scope="module")
def _other_server(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running("other-seed", tmp_path_factory.mktemp("other-seed"), binaries) as cluster:
        cluster.define(*definitions())
        cluster.remember()
        yield cluster


@pytest.fixture
def other(_other_server: Cluster) -> Iterator[Seed]:
    """Another seed."""
    yield make_seed(_other_server)
    _other_server.restore()


@pytest.fixture
def two(scene: Scene, other: Seed, management: Cluster, worker: Cluster) -> Scene:
    """A fleet file with two seeds, each with one user cluster of the same id."""
    user_cluster(scene.seed, management)
    user_cluster(other, worker)
    fill_with_pool(management)
    fill_with_pool(worker)
    _fleet(scene, other.server)
    return scene


def _fleet(scene: Scene, other: Cluster, to: str = "to: cluster", name: str = "us-{cluster}") -> None:
    other.kubeconfig(scene.folder.parent / "other.yaml")
    entry = {"seed": {"kubeconfig": "../other.yaml"}, "name": name}
    scene.fleet(to, more=f"- kkp: {json.dumps(entry)}\n  {to}\n", name="eu-{cluster}")


def test_every_command_works_on_the_clusters_of_both_seeds(
    two: Scene, other: Seed, management: Cluster, worker: Cluster
) -> None:
    plan, ran = two.plan()
    assert is_fine(ran)
    assert list(plan) == [_EU, _US]
    assert is_fine(two.run("apply"))
    assert secrets_of(management).keys() == secrets_of(worker).keys()
    assert len(secrets_of(worker)) == 3
    assert management.authority in boot_script(management)
    assert worker.authority in boot_script(worker)
    assert is_fine(two.run("refresh"))
    for command in ("status", "rollout", "report"):
        ran = two.run(command, "--output", "json")
        assert is_fine(ran), command
        assert [each["name"] for each in json.loads(ran.out)["clusters"]] == [_EU, _US], command
    ran = two.run("status", "--output", "json", "--cluster", "us-*")
    assert [each["name"] for each in json.loads(ran.out)["clusters"]] == [_US]
    for words in (("validate",), ("render", "--to", "-"), ("explain", "workers", "--cluster", _US)):
        assert two.run(*words).code == 0, words
    ran = two.run("doctor")
    assert "2 user clusters of KKP can be worked on" in ran.out
    assert two.run("uninstall", "--yes", "--cluster", _EU).code == 0
    # Switching is for the seed that has the cluster, although both have one of this id.
    ran = osm_gitops("kkp", "switch-off", _US, "--yes", "--fleet", str(two.folder / "osm-gitops.yaml"))
    assert is_fine(ran), ran.err
    replicas = [
        seed.server.client().get(seed.clusters[ID].path)["spec"].get("componentsOverride") for seed in (two.seed, other)
    ]
    assert replicas == [None, {"operatingSystemManager": {"replicas": 0}}]


def test_a_git_target_has_the_clusters_of_both_seeds(two: Scene, other: Seed) -> None:
    _fleet(two, other.server, "to: {git: {path: clusters}}")
    assert is_fine(two.run("apply"))
    assert {each.name for each in (two.folder / "clusters").iterdir()} == {_EU, _US}
    assert is_fine(two.plan()[1])


def test_the_same_name_from_both_seeds_is_an_error_of_the_second(two: Scene, other: Seed) -> None:
    _fleet(two, other.server, name="eu-{cluster}")
    plan, ran = two.plan()
    assert ran.code == 1
    assert list(plan) == [_EU]
    assert told(ran.err) == [Expected(Code.DUPLICATE_NAME, _EU, "kkp.name")]


def test_a_seed_that_does_not_answer_stops_only_its_own_clusters(
    two: Scene, other: Seed, management: Cluster, through: Callable[[Cluster], Proxy], patient: list[float]
) -> None:
    proxy = through(other.server)
    proxy.when(drop, times=None)
    _fleet(two, proxy.cluster)
    for command in ("apply", "refresh", "status"):
        ran = two.run(command)
        assert ran.code == 1
        assert told(ran.err) == [Expected(Code.API_SERVER_UNREACHABLE, "seed of", proxy.cluster.server)], command
    assert patient
    assert len(secrets_of(management)) == 3


def test_flags_that_would_make_one_seed_of_both_are_refused(two: Scene, worker: Cluster) -> None:
    for command in ("plan", "apply", "status"):
        ran = two.run(command, "--kubeconfig", str(two.folder.parent / "seed.yaml"))
        assert ran.code == 1
        assert told(ran.err) == [Expected(Code.OPTIONS_CONFLICT, "--kubeconfig", "2 seeds")], command
    assert secrets_of(worker) == {}


_OTHER_ID = "bcdefghijk"


def _in_waves(scene: Scene, image: str) -> None:
    waves = f"""\
waves:
- {{name: first, select: [{ID}]}}
- {{name: second, select: [{_OTHER_ID}], after: {{wave: first, soak: 0s}}}}
"""
    scene.fleet(entry=f"settings: {{pauseImage: {image}}}", more=waves)


def test_a_change_reaches_user_clusters_wave_by_wave(scene: Scene, management: Cluster, worker: Cluster) -> None:
    for server, name in ((management, ID), (worker, _OTHER_ID)):
        # With other arguments than were computed a cluster is not healthy.
        osm = osm_in_kkp(*OSM_FLAGS, namespace=f"cluster-{name}", replicas=0)
        user_cluster(scene.seed, server, name, osm=osm)
    loaded = fill_with_pool(management)
    fill_with_pool(worker)
    _in_waves(scene, "old")
    assert is_fine(scene.run("apply", "--promote", _OTHER_ID))
    _in_waves(scene, "new")
    plan, ran = scene.plan()
    assert is_fine(ran)
    assert [plan[name]["promotion"]["step"] for name in (ID, _OTHER_ID)] == ["newest", "waits"]
    # A new pool does not wait: it gets what its cluster has.
    assert is_fine(scene.run("apply"))
    assert ("echo new" in boot_script(management), "echo old" in boot_script(worker)) == (True, True)
    # The first wave is not healthy, as a pool of it has no configuration yet.
    add_pool(loaded, "more")
    plan, _ = scene.plan()
    assert plan[_OTHER_ID]["promotion"]["step"] == "waits"
    assert any(ID in reason for reason in plan[_OTHER_ID]["promotion"]["reasons"])
    # Once it is, the second one gets the change, with the next run.
    assert is_fine(scene.run("apply"))
    assert is_fine(scene.run("apply"))
    plan, _ = scene.plan()
    assert "echo new" in boot_script(worker), plan[_OTHER_ID]["promotion"]["reasons"]
    ran = scene.run("status", "--output", "json")
    assert [each["trouble"] for each in json.loads(ran.out)["clusters"]] == [False, False]
