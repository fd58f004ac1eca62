"""``osm-gitops init --from kkp``: a repository for the user clusters of a seed, which can be planned at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.errors import Code
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import osm_in_kkp
from tests.cli.running import Ran, osm_gitops
from tests.faults import Expected, told
from tests.kkp.scene import fill_with_pool
from tests.kkp.seed import Seed

_ID, _OTHER = "abcdefghij", "bcdefghijk"


@pytest.fixture
def on_seed(seed: Seed, tmp_path: Path) -> Seed:
    """The seed, and a kubeconfig of it with which nothing but flags leads there."""
    seed.server.kubeconfig(tmp_path / "seed.yaml")
    return seed


def _init(*more: str) -> Ran:
    return osm_gitops("init", "nodes", "--from", "kkp", "--kubeconfig", "seed.yaml", *more)


def _fleet(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((root / "osm-gitops.yaml").read_text("utf-8"))
    return found


def test_what_is_written_finds_the_user_clusters_and_plans_them(
    on_seed: Seed, worker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_seed.scale(on_seed.user_cluster(_ID, worker), 0)
    fill_with_pool(worker)
    ran = _init()
    assert (ran.code, told(ran.err)) == (0, []), ran.err
    assert "Found 1 user cluster (1 ready).\n" in ran.err
    root = tmp_path / "nodes"
    (entry,) = _fleet(root)["clusters"]
    assert entry == {"kkp": {"seed": {}, "name": "{cluster}"}, "overlays": ["overlays/all"], "to": "cluster"}
    assert sorted(ran.out.splitlines()) == sorted(
        path.relative_to(tmp_path).as_posix()
        for path in root.rglob("*")
        if path.is_file() and ".git/" not in path.as_posix()
    )
    monkeypatch.chdir(root)
    ran = osm_gitops("plan", "--kubeconfig", str(tmp_path / "seed.yaml"), "--detailed-exitcode")
    assert (ran.code, told(ran.err)) == (2, []), ran.err
    assert osm_gitops("validate", "--kubeconfig", str(tmp_path / "seed.yaml"), "overlays").code == 0


def test_it_is_told_which_clusters_there_are_and_what_runs_would_do_otherwise(on_seed: Seed, worker: Cluster) -> None:
    different = osm_in_kkp("-namespace=kube-system", "-pause-image=other", namespace=f"cluster-{_ID}")
    on_seed.user_cluster(_ID, worker, osm=different)
    on_seed.user_cluster(_OTHER, worker, spec={"pause": True})
    on_seed.user_cluster("cdefghijkl", worker, status={"extendedHealth": {"etcd": "HealthStatusDown"}})
    on_seed.user_cluster("defghijklm", worker, status={"namespaceName": None})
    ran = _init()
    assert ran.code == 0, ran.err
    assert "Found 2 user clusters (1 paused, 1 ready).\n" in ran.err
    assert "defghijklm is left out: " in ran.err
    faults = told(ran.err)
    assert Expected(Code.KKP_SETTING_DIFFERS, _ID, "-pause-image") in faults
    assert Expected(Code.KKP_CLUSTER_UNHEALTHY, "cdefghijkl") in faults


@pytest.mark.usefixtures("on_seed")
def test_nothing_that_exists_is_changed(tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "osm-gitops.yaml").write_text("mine", "utf-8")
    ran = _init()
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.FILE_EXISTS, "osm-gitops.yaml")]
    assert [path.name for path in (tmp_path / "nodes").iterdir()] == ["osm-gitops.yaml"]


def test_a_cluster_that_is_no_seed_is_refused_and_nothing_is_written(worker: Cluster, tmp_path: Path) -> None:
    worker.kubeconfig(tmp_path / "seed.yaml")
    ran = _init()
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.NOT_A_SEED, worker.server)]
    assert not (tmp_path / "nodes").exists()


@pytest.mark.parametrize(
    "option", [("--osm-deployment", "a/b"), ("--with-pools",), ("--cluster", "prod"), ("--worker-context", "w")]
)
def test_options_for_one_cluster_are_refused(option: tuple[str, ...]) -> None:
    assert told(_init(*option).err) == [Expected(Code.OPTIONS_CONFLICT, option[0])]
