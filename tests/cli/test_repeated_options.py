"""Options that select may be repeated and take globs; an option that cannot be repeated is refused the second time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.cli.adopted import Adopted
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
from tests.faults import Expected, told

_FLEET = """\
clusters:
- {name: prod-eu, from: tree, to: {git: {path: clusters}}}
- {name: prod-us, from: tree, to: {git: {path: clusters}}}
- {name: dev, from: tree, to: {git: {path: clusters}}}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", profile(), *(pool(name) for name in ("cpu", "gpu-a", "gpu-b", "web")))
    return write_fleet(tmp_path, _FLEET)


def _plan(*more: str) -> dict[str, set[str]]:
    """The pools of a plan by cluster."""
    ran = osm_gitops("plan", "-o", "json", *more)
    assert ran.code == 0, ran.err
    clusters = json.loads(ran.out)["clusters"]
    return {each["name"]: {change["pool"]["name"] for change in each["changes"] if change["pool"]} for each in clusters}


def test_all_values_of_only_and_cluster_count(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fleet.exists()
    assert _plan("--cluster", "dev", "--only", "cpu", "--only", "gpu-*") == {"dev": {"cpu", "gpu-a", "gpu-b"}}
    assert set(_plan("--cluster", "dev", "--cluster", "prod-eu")) == {"dev", "prod-eu"}
    assert set(_plan("--cluster", "prod-*")) == {"prod-eu", "prod-us"}
    assert set(_plan("--cluster", "prod-*", "--cluster", "prod-eu")) == {"prod-eu", "prod-us"}
    monkeypatch.setenv("OSM_GITOPS_ONLY", "web cpu")
    monkeypatch.setenv("OSM_GITOPS_CLUSTER", "dev prod-us")
    assert _plan() == {"dev": {"cpu", "web"}, "prod-us": {"cpu", "web"}}


def test_a_value_that_selects_nothing_is_an_error_whatever_the_others_select(fleet: Path) -> None:
    assert fleet.exists()
    ran = osm_gitops("plan", "--cluster", "dev", "--cluster", "stage*", "--cluster", "test")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.CLUSTER_NOT_FOUND, "osm-gitops.yaml", "stage*", "prod-eu", "prod-us", "dev") in told(ran.err)
    assert Expected(Code.CLUSTER_NOT_FOUND, "test") in told(ran.err)
    ran = osm_gitops("plan", "--only", "web", "--only", "nope*")
    assert ran.code == 1
    assert Expected(Code.NO_POOL_MATCHES, "nope*") in told(ran.err)
    assert '"web"' not in ran.err


def test_render_and_status_select_alike(fleet: Path, adopted: Adopted) -> None:
    ran = osm_gitops(
        "render", "--to", "out", "--cluster", "dev", "--cluster", "prod-us", "--only", "cpu", "--only", "web"
    )
    assert ran.code == 0, ran.err
    made = fleet.parent.glob("out/*/management/operatingsystemconfigs/*.yaml")
    assert sorted(f"{path.parts[-4]} {path.stem}" for path in made) == [
        f"{cluster} {name}-kube-system-config" for cluster in ("dev", "prod-us") for name in ("cpu", "web")
    ]
    flags = ("--kubeconfig", str(adopted.osm.management.kubeconfig(adopted.folder / "kubeconfig")), "-o", "json")
    ran = osm_gitops("status", "--from", "cluster", *flags, "--only", "pool-00000", "--only", "*-00003")
    (cluster,) = json.loads(ran.out)["clusters"]
    assert [each["name"] for each in cluster["pools"]] == ["pool-00000", "pool-00003"]


def test_a_run_without_a_fleet_file_has_one_cluster(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    places = ("--from", "tree", "--to", "out")
    ran = osm_gitops("plan", *places, "--cluster", "a", "--cluster", "b")
    assert ran.code == 1
    assert Expected(Code.SEVERAL_CLUSTERS) in told(ran.err)
    assert osm_gitops("init", "new", "--cluster", "a", "--cluster", "b").code == 1
    assert not (tmp_path / "new").exists()
    assert osm_gitops("plan", *places, "--cluster", "prod-*").code == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("plan", "--max-delete", "1", "--max-delete", "2"), "--max-delete"),
        (("plan", "--from", "a", "--from=b"), "--from"),
        (("plan", "-o", "json", "--output", "text"), "--output"),
        (("apply", "-cluster-dns=10.0.0.1", "--cluster-dns", "10.0.0.2"), "--cluster-dns"),
        (("render", "--log-format", "json", "--log-format", "json"), "--log-format"),
        (("osp", "list", "--fleet", "a", "--fleet", "a"), "--fleet"),
        (("uninstall", "--context", "a", "--context", "b"), "--context"),
    ],
)
def test_what_cannot_be_repeated_is_refused(arguments: tuple[str, ...], named: str) -> None:
    ran = osm_gitops(*arguments)
    assert (ran.code, ran.out) == (1, "")
    assert f"{named} is given more than once, but has one value. Give it once." in ran.err


def test_a_flag_may_be_repeated_but_not_denied(fleet: Path) -> None:
    assert fleet.exists()
    assert osm_gitops("plan", "-v", "--verbose").code == 0
    ran = osm_gitops("apply", "--push", "--no-push")
    assert (ran.code, ran.out) == (1, "")
    assert "--push and --no-push are both given. Give one of them." in ran.err


def test_all_of_them_are_named_at_once() -> None:
    ran: Ran = osm_gitops("plan", "--to", "a", "--from", "b", "--to", "c", "--from", "d")
    assert "--to and --from are given more than once, but have one value each. Give each once." in ran.err


@pytest.mark.parametrize("words", [("--help", "--help"), ("osp", "--help", "--help"), ("plan", "--help", "--help")])
def test_a_flag_may_be_repeated_before_and_behind_a_command(words: tuple[str, ...]) -> None:
    assert osm_gitops(*words).code == 0
