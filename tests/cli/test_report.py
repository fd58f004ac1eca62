"""``osm-gitops report``: the fleet for people and for programs, and nothing written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from osm_gitops.workers import messages
from osm_gitops.workers.messages import Encoded, Request
from tests.cli.adopted import Adopted
from tests.cli.running import osm_gitops
from tests.cli.scenes import file, pool, profile, write_fleet, write_tree
from tests.cli.schemas import checked
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_SECRET = "s3cret-0f-the-registry"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet of two clusters, committed and applied; ``one`` has two pools, ``two`` has one."""
    monkeypatch.setenv("OSM_GITOPS_DANGEROUSLY_PLAINTEXT_SECRETS", "true")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767323045")
    root = new_repository(tmp_path / "repository")
    monkeypatch.chdir(root)
    write_tree(root / "pools" / "one", profile(), pool("a"), pool("b", kubelet="1.33.9"))
    write_tree(root / "pools" / "two", profile(), pool("c"))
    _write_fleet(root, ("one", "two"))
    _commit(root, "Two clusters")
    assert osm_gitops("apply", "--yes").code == 0
    return root


def _write_fleet(root: Path, names: Sequence[str], more: str = "") -> None:
    entries = "".join(f"- {{name: {name}, from: pools/{name}, to: {{git: {{path: state}}}}}}\n" for name in names)
    write_fleet(root, f"clusters:\n{entries}{more}")


def _commit(root: Path, subject: str) -> str:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", subject)
    return git(root, "rev-parse", "HEAD").strip()


def _report(*more: str) -> dict[str, Any]:
    ran = osm_gitops("report", "-o", "json", *more)
    assert ran.code == 0, ran.err
    return checked("report", ran.out)


def _pools(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {pool["name"]: pool for cluster in report["clusters"] for pool in cluster["pools"]}


def test_versions_sizes_and_states_of_a_fleet_that_is_up_to_date(repository: Path) -> None:
    report = _report()
    assert report["at"] == "2026-01-02T03:04:05Z"
    assert report["states"] == {"failed": 0, "problem": 0, "waiting": 0, "changes": 0, "ok": 3}
    assert [(each["name"], each["state"], each["planned"]) for each in report["clusters"]] == [
        ("one", "ok", True),
        ("two", "ok", True),
    ]
    facts = _pools(report)["b"]["facts"]
    sizes = {size["half"]: size for size in facts.pop("userData")}
    assert facts == {
        "os": "ubuntu",
        "provider": "hetzner",
        "kubelet": "1.33.9",
        "profile": "kube-system/osp-a",
        "profileVersion": "v1.0.0",
    }
    explained = checked("explanation", osm_gitops("explain", "b", "-o", "json").out)["rendering"]["userData"]
    for each in explained:
        size = sizes[each["half"]]
        assert (size["bytes"], size["limit"]) == (each[each["counted"]], each["limit"])
    assert _pools(report)["b"]["live"] is None
    assert git(repository, "status", "--porcelain") == ""


def test_drift_is_what_a_plan_would_change(repository: Path) -> None:
    write_tree(repository / "pools" / "one", pool("a", kubelet="1.35.0"), pool("new"), pool("lost", "missing"))
    (repository / "pools" / "two" / "MachineDeployment-c.yaml").unlink()
    ran = osm_gitops("report", "-o", "json")
    assert ran.code == 0
    report = checked("report", ran.out)
    pools = _pools(report)
    assert {name: pool["state"] for name, pool in pools.items()} == {
        "a": "changes",
        "b": "ok",
        "c": "changes",
        "lost": "failed",
        "new": "changes",
    }
    assert pools["a"]["changes"] == {"create": 0, "update": 3, "replace": 0, "delete": 0}
    assert any("changed: provisioning /opt/bin/setup" in reason for reason in pools["a"]["reasons"])
    assert pools["new"]["changes"]["create"] == 3
    assert (pools["c"]["changes"]["delete"], pools["c"]["facts"]) == (3, None)
    assert [problem["code"] for problem in pools["lost"]["problems"]] == [Code.PROFILE_NOT_FOUND.value]
    assert pools["lost"]["facts"]["userData"] == []
    assert report["clusters"][1]["problems"], "apply would refuse to delete all pools"
    text = osm_gitops("report").out
    assert "one" in text
    assert "5 pools: 1 cannot be rendered, 3 with changes, 1 up to date." in text
    page = osm_gitops("report", "-o", "html").out
    assert "5 pools: 1 cannot be rendered, 3 with changes, 1 up to date." in page


def test_the_last_changes_are_the_commits_that_touch_inputs_with_what_they_changed(repository: Path) -> None:
    (repository / "README").write_text("no input\n")
    _commit(repository, "No input")
    more: dict[str, Any] = {"provisioningConfig": {"files": [file("/opt/bin/setup", "#!/bin/sh\necho changed\n")]}}
    write_tree(repository / "pools" / "one", profile(version="v1.1.0", **more))
    changed = _commit(repository, "Another script")
    _write_fleet(
        repository,
        ("one",),
        "- {name: two, from: pools/two, to: {git: {path: state}}, settings: {nodeHTTPProxy: 'http://p:1'}}\n",
    )
    proxied = _commit(repository, "A proxy for two")
    history = _report()["history"]
    assert [(each["commit"], each["subject"], each["clusters"]) for each in history[:2]] == [
        (proxied, "A proxy for two", ["two"]),
        (changed, "Another script", ["one"]),
    ]
    assert [each["subject"] for each in history[2:]] == ["Two clusters"]
    changes = [each for each in history[1]["changes"] if each["object"]["kind"] == "OperatingSystemConfig"]
    assert [each["pools"] for each in changes] == [["kube-system/a"], ["kube-system/b"]]
    (diff,) = [diff for diff in changes[0]["diffs"] if diff["name"] == "provisioning /opt/bin/setup"]
    assert "+echo changed" in diff["lines"]
    page = osm_gitops("report", "-o", "html").out
    assert '<span class="new">+echo changed</span>' in page
    assert len(_report("--history", "1")["history"]) == 1
    none = _report("--history", "0")
    assert (none["history"], none["noHistory"]) == ([], "")
    assert [each["clusters"] for each in _report("--cluster", "two")["history"]] == [["two"], ["two"]]


def test_secrets_of_earlier_commits_are_masked_as_those_of_today(repository: Path) -> None:
    script = f"#!/bin/sh\nlogin {_SECRET} {{{{ .Token }}}}\n"
    write_tree(repository / "pools" / "one", profile(script=script), token=_SECRET)
    _commit(repository, "A secret")
    write_tree(repository / "pools" / "one", profile(script="#!/bin/sh\nlogin nobody\n"), token="another-token-0123")
    _commit(repository, "No secret")
    for form in ("text", "json", "html"):
        said = osm_gitops("report", "-o", form)
        assert said.code == 0
        assert _SECRET not in said.out + said.err
        assert "another-token-0123" not in said.out + said.err
    assert "login nobody" in osm_gitops("report", "-o", "json").out


def test_no_earlier_revision_is_decrypted(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = repository.parent / "asked"
    program = repository.parent / "keys"
    program.write_text(f"#!/bin/sh\necho >> {asked}\nexit 1\n")
    program.chmod(0o755)
    sealed = (Path(__file__).parent.parent.parent / "overlays" / "demo").rglob("*.yaml")
    (text, *_) = [each.read_text() for each in sealed if "sops:" in each.read_text() and "Secret" in each.read_text()]
    (repository / "pools" / "one" / "sealed.yaml").write_text(text)
    _commit(repository, "A sealed file")
    (repository / "pools" / "one" / "sealed.yaml").unlink()
    _commit(repository, "No sealed file")
    monkeypatch.setenv("SOPS_AGE_KEY_CMD", str(program))
    assert [each["subject"] for each in _report()["history"][:2]] == ["No sealed file", "A sealed file"]
    assert not asked.exists()


def test_sources_outside_of_git_have_no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path / "tree", profile(), pool("a"))
    report = _report("--from", "tree", "--to", "state", "--cluster", "x")
    assert report["history"] == []
    assert report["noHistory"]
    assert _pools(report)["a"]["changes"]["create"] == 3


def test_a_cluster_that_cannot_be_planned_stops_no_other(repository: Path) -> None:
    _write_fleet(repository, ("one", "missing"))
    ran = osm_gitops("report", "-o", "json")
    assert ran.code == 1
    report = checked("report", ran.out)
    assert [(each["name"], each["planned"], each["state"]) for each in report["clusters"]] == [
        ("one", True, "ok"),
        ("missing", False, "failed"),
    ]
    assert [problem["code"] for problem in report["problems"]] == [Code.SOURCE_NOT_FOUND.value]


@pytest.mark.usefixtures("repository")
def test_an_untrusted_run_asks_no_cluster() -> None:
    ran = osm_gitops("report", "--live", "--untrusted")
    assert told(ran.err) == [Expected(Code.OPTIONS_CONFLICT, "--live")]
    assert osm_gitops("report", "--untrusted", "-o", "html").code == 0


@pytest.mark.usefixtures("repository")
def test_a_glob_that_matches_no_pool_is_named() -> None:
    ran = osm_gitops("report", "--only", "nothing-*")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.NO_POOL_MATCHES, "--only")]
    assert list(_pools(_report("--only", "b*"))) == ["b"]


def _of_cluster(adopted: Adopted) -> tuple[str, ...]:
    kubeconfig = str(adopted.osm.management.kubeconfig(adopted.folder / "kubeconfig"))
    settings = ("--external-cloud-provider", "--kubernetes-ca-bundle", str(adopted.folder / "ca.pem"))
    return ("--from", "cluster", "--kubeconfig", kubeconfig, *settings)


def test_a_cluster_that_is_its_own_target_is_read_once_with_machines_and_tokens(
    adopted: Adopted, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert adopted.run("apply").code == 0
    asked: Counter[str] = Counter()

    def encode(request: Request) -> Encoded:
        asked[getattr(request.function, "name", repr(request.function))] += 1
        return messages.encode(request)

    monkeypatch.setattr("osm_gitops.workers.calls.encode", encode)
    report = _report(*_of_cluster(adopted), "--to", "cluster")
    pools = adopted.osm.pools()
    assert asked["render_pool"] == len(pools)
    (cluster,) = report["clusters"]
    assert [pool["name"] for pool in cluster["pools"]] == list(pools)
    assert cluster["lastRun"].endswith("succeeded")
    assert report["noHistory"] == "the sources are not in a git repository"
    for each in cluster["pools"]:
        assert each["live"]["machines"] == 0
        assert each["live"]["token"]["secondsLeft"] > 0
        assert (each["state"], each["facts"]["userData"][0]["half"]) == ("ok", "bootstrap")
    page = osm_gitops("report", *_of_cluster(adopted), "--to", "cluster", "-o", "html").out
    assert ">Machines</th>" in page
    assert '"key":"token"' in page


def test_clusters_behind_git_are_read_where_that_is_asked_for(adopted: Adopted) -> None:
    source = (*_of_cluster(adopted), "--to", "state", "--dangerously-plaintext-secrets")
    assert {pool["live"] is None for pool in _pools(_report(*source)).values()} == {True}
    report = _report(*source, "--live")
    assert {pool["live"]["machines"] for pool in _pools(report).values()} == {0}
    assert {pool["changes"]["create"] for pool in _pools(report).values()} == {3}
    text = osm_gitops("report", *source, "--live").out
    assert "MACHINES  TOKEN" in text
    assert "expired" in text
