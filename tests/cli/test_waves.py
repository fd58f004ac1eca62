"""Changes of profiles, overlays and settings reach clusters wave by wave, in real repositories."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
from tests.conformance_data import DATA
from tests.faults import Expected, told
from tests.git.repos import git, new_repository, pin_git

_PLAINTEXT = "--dangerously-plaintext-secrets"
_LONG_AGO = "2020-01-01T00:00:00Z"
_LATER = "2020-03-01T00:00:00Z"
_YEARS = "876000h"  # longer than any test
_FLEET = """\
defaults: {{profilesVersion: v2.1.0, overlays: [overlays/all], to: {{git: {{path: desired}}}}}}
clusters:
- {{name: canary, from: {{machineDeployments: clusters/canary, profiles: osps}}}}
- {{name: prod-1, from: {{machineDeployments: clusters/prod-1, profiles: osps}}, settings: {{hostCABundle: ca.pem}}}}
- {{name: prod-2, from: {{machineDeployments: clusters/prod-2, profiles: osps}}}}
- {{name: free, from: {{machineDeployments: clusters/free, profiles: osps}}}}
waves:
- {{name: first, select: [canary]}}
- {{name: second, select: ["prod-*"], after: {{wave: first, soak: {soak}, healthy: false}}}}
"""
_OVERLAY = "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\n"
_DNS = ("osm-gitops.yaml", "{profilesVersion: v2", "{settings: {clusterDNS: 10.96.0.99}, profilesVersion: v2")
_CLUSTERS = ("canary", "prod-1", "prod-2", "free")


def _script(number: int) -> str:
    return f"#!/bin/sh\n: {number}\n: {{{{ .HostCACert }}}}\n"


class Waves:
    """A repository with a fleet in two waves, and its desired state."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.monkeypatch = monkeypatch

    def dated(self, date: str) -> None:
        """Commits have this date from here on; without one, that of the clock."""
        for name in ("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"):
            if date:
                self.monkeypatch.setenv(name, date)
            else:
                self.monkeypatch.delenv(name, raising=False)

    def commit(self, message: str, date: str = "") -> str:
        """Commit everything; without a ``date`` now."""
        self.dated(date)
        git(self.root, "add", ".")
        git(self.root, "commit", "--quiet", "-m", message)
        self.dated("")
        return git(self.root, "rev-parse", "HEAD")

    def change_profile(self, number: int, date: str = "") -> str:
        write_tree(self.root / "osps", profile(script=_script(number)))
        return self.commit(f"profile {number}", date)

    def change_fleet(self, old: str, new: str) -> None:
        path = self.root / "osm-gitops.yaml"
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")
        self.commit("fleet")

    def change_soak(self, soak: str) -> None:
        self.change_fleet(f"soak: {_YEARS}", f"soak: {soak}")

    def steps(self, *more: str) -> dict[str, str]:
        """The step of each cluster that a plan shows."""
        return {name: each["promotion"]["step"] for name, each in self.plan(*more).items() if each["promotion"]}

    def apply(self, *more: str, date: str = "") -> Ran:
        self.dated(date)
        ran = osm_gitops("apply", "--yes", _PLAINTEXT, *more)
        self.dated("")
        return ran

    def plan(self, *more: str) -> dict[str, Any]:
        """The clusters of a plan by name."""
        ran = osm_gitops("plan", _PLAINTEXT, "--output", "json", *more)
        assert ran.out, ran.err
        return {each["name"]: each for each in json.loads(ran.out)["clusters"]}

    def has(self) -> dict[str, int]:
        """The number of the profile that each cluster was rendered from."""
        found = {}
        for cluster in _CLUSTERS:
            texts = [
                path.read_text("utf-8")
                for path in sorted(self.root.glob(f"desired/{cluster}/management/operatingsystemconfigs/*.yaml"))
            ]
            numbers = {number for number in range(10) for text in texts if f": {number}\n" in text}
            found[cluster] = next(iter(numbers)) if len(numbers) == 1 else -1
        return found


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in which all clusters have profile 0 for a long time."""
    folder = tmp_path_factory.mktemp("waves")
    with pytest.MonkeyPatch.context() as monkeypatch:
        pin_git(monkeypatch)
        root = new_repository(folder / "fleet")
        write_fleet(root, _FLEET.format(soak=_YEARS))
        for name in _CLUSTERS:
            write_tree(root / "clusters" / name, pool("a"))
        (root / "overlays" / "all").mkdir(parents=True)
        (root / "overlays/all/overlay.yaml").write_text(_OVERLAY, "utf-8")
        (root / "ca.pem").write_text((DATA / "ca.pem").read_text("utf-8"), "utf-8")
        monkeypatch.chdir(root)
        fleet = Waves(root, monkeypatch)
        fleet.change_profile(0, _LONG_AGO)
        ran = fleet.apply("--promote", "prod-*", date=_LONG_AGO)
        assert ran.code == 0, ran.err
        assert fleet.has() == dict.fromkeys(_CLUSTERS, 0)
    return root


@pytest.fixture
def waves(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Waves:
    """All clusters have profile 0 for a long time."""
    root = shutil.copytree(prepared, tmp_path / "fleet", symlinks=True)
    monkeypatch.chdir(root)
    return Waves(root, monkeypatch)


def test_a_change_of_a_profile_reaches_a_wave_when_the_wave_before_had_it_long_enough(waves: Waves) -> None:
    commit = waves.change_profile(1, _LATER)
    assert waves.apply(date=_LATER).code == 0
    assert waves.has() == {"canary": 1, "prod-1": 0, "prod-2": 0, "free": 1}
    plan = waves.plan()
    promotion = plan["prod-1"]["promotion"]
    assert plan["prod-1"]["changes"] == []
    assert (promotion["step"], promotion["newest"]) == ("waits", git(waves.root, "rev-parse", "HEAD"))
    assert (promotion["after"], promotion["since"]) == ("first", _LATER)
    assert plan["canary"]["promotion"]["step"] == "newest"
    assert plan["free"]["promotion"] is None
    assert commit != promotion["commit"]
    waves.change_soak("24h")
    assert waves.plan()["prod-1"]["changes"] != []
    assert waves.apply().code == 0
    assert waves.has() == dict.fromkeys(_CLUSTERS, 1)
    assert not any(each["changes"] for each in waves.plan().values())


def test_pools_and_certificates_never_wait_and_are_rendered_with_what_the_cluster_has(waves: Waves) -> None:
    waves.change_profile(1)
    assert waves.apply().code == 0
    write_tree(waves.root / "clusters/prod-1", pool("a", kubelet="1.35.0"), pool("new"))
    (waves.root / "ca.pem").write_text("# rotated\n" + (DATA / "ca.pem").read_text("utf-8"), "utf-8")
    waves.commit("pools")
    ran = waves.apply()
    assert ran.code == 0, ran.err
    assert waves.has() == {"canary": 1, "prod-1": 0, "prod-2": 0, "free": 1}
    config = waves.root / "desired/prod-1/management/operatingsystemconfigs"
    assert sorted(path.name for path in config.iterdir()) == [
        "a-kube-system-config.yaml",
        "new-kube-system-config.yaml",
    ]
    assert "1.35.0" in (config / "a-kube-system-config.yaml").read_text("utf-8")
    for path in config.iterdir():
        assert "# rotated" in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("overlays/all/overlay.yaml", _OVERLAY, f"{_OVERLAY}settings: {{pauseImage: registry.example.com/pause:9}}\n"),
        pytest.param(*_DNS, marks=pytest.mark.exhaustive),
        pytest.param("osm-gitops.yaml", "overlays: [overlays/all]", "overlays: []", marks=pytest.mark.exhaustive),
        ("osm-gitops.yaml", "profilesVersion: v2.1.0", "profilesVersion: v2.0.0"),
    ],
)
def test_changes_of_overlays_settings_and_defaults_wait_too(waves: Waves, path: str, old: str, new: str) -> None:
    text = (waves.root / path).read_text("utf-8")
    assert old in text
    (waves.root / path).write_text(text.replace(old, new), "utf-8")
    waves.commit("shared")
    assert waves.steps() == {"canary": "newest", "prod-1": "waits", "prod-2": "waits"}


def test_a_change_that_alters_nothing_in_the_first_wave_soaks_from_its_own_commit(waves: Waves) -> None:
    write_tree(waves.root / "osps", profile("osp-b", script=_script(5)))
    waves.commit("another profile", _LATER)
    plan = waves.plan()
    assert (plan["canary"]["changes"], plan["prod-1"]["promotion"]["since"]) == ([], _LATER)
    # Where nothing changes, no commit is made, and nothing is waited for once the soak is over.
    waves.change_soak("24h")
    assert waves.steps() == {"canary": "newest", "prod-1": "newest", "prod-2": "newest"}


def test_what_waits_is_the_same_for_some_clusters_and_for_those_that_changed(waves: Waves) -> None:
    before = git(waves.root, "rev-parse", "HEAD")
    waves.change_profile(1, _LATER)
    applied = waves.apply("--cluster", "canary", date=_LATER)
    assert applied.code == 0, applied.err
    whole = waves.plan()
    alone = waves.plan("--cluster", "prod-2")
    assert alone == {"prod-2": whole["prod-2"]}
    changed = waves.plan("--changed-since", before)
    assert changed["prod-2"] == whole["prod-2"]
    # The change is older than the revision, and due now: the soak is over.
    waves.change_soak("24h")
    assert waves.steps("--changed-since", "HEAD") == {"prod-1": "newest", "prod-2": "newest"}
    assert waves.apply("--changed-since", "HEAD").code == 0
    assert waves.has()["prod-1"] == 1
    assert waves.steps("--changed-since", "HEAD") == {}


def test_promote_gives_a_cluster_the_newest_and_the_plan_says_so(waves: Waves) -> None:
    waves.change_profile(1)
    ran = osm_gitops("plan", _PLAINTEXT, "--promote", "prod-1", "--out", "plan.json")
    assert "Promoted: it gets the newest shared inputs" in ran.out
    assert "Waits: its shared inputs are those of commit" in ran.out
    assert ran.code == 0, ran.err
    applied = osm_gitops("apply", _PLAINTEXT, "plan.json")
    assert applied.code == 0, applied.err
    assert waves.has() == {"canary": 1, "prod-1": 1, "prod-2": 0, "free": 1}
    # It stays there, also when there is something newer.
    waves.change_profile(2)
    assert waves.apply().code == 0
    assert waves.has() == {"canary": 2, "prod-1": 1, "prod-2": 0, "free": 2}
    unknown = osm_gitops("plan", _PLAINTEXT, "--promote", "stage-*")
    assert told(unknown.err) == [Expected(Code.CLUSTER_NOT_FOUND, "stage-*")]


@pytest.mark.exhaustive
def test_a_held_wave_waits_with_the_reason_of_the_fleet_file(waves: Waves) -> None:
    waves.change_fleet("select: [canary]", "select: [canary], hold: the freeze of December")
    waves.change_profile(1)
    plan = waves.plan()
    assert plan["canary"]["promotion"]["reasons"] == ["the fleet file holds the wave: the freeze of December"]
    assert waves.apply().code == 0
    assert waves.has() == {"canary": 0, "prod-1": 0, "prod-2": 0, "free": 1}


@pytest.mark.exhaustive
def test_a_reverted_change_is_not_waited_for(waves: Waves) -> None:
    waves.change_profile(1)
    assert waves.apply().code == 0
    waves.change_profile(0)
    assert waves.steps() == {"canary": "newest", "prod-1": "newest", "prod-2": "newest"}
    assert waves.apply().code == 0
    assert waves.has() == dict.fromkeys(_CLUSTERS, 0)


def test_uncommitted_changes_stay_in_the_first_wave_and_prove_nothing(waves: Waves) -> None:
    waves.change_soak("0s")
    assert waves.apply().code == 0
    write_tree(waves.root / "osps", profile(script=_script(1)))
    assert waves.apply().code == 0
    assert waves.has() == {"canary": 1, "prod-1": 0, "prod-2": 0, "free": 1}
    message = git(waves.root, "log", "-1", "--format=%B", "--", "desired/canary")
    assert "Osm-Gitops-Inputs" not in message
    waves.commit("profile")
    assert waves.apply().code == 0
    assert waves.has() == dict.fromkeys(_CLUSTERS, 1)


def test_a_pool_that_cannot_be_rendered_stops_the_next_wave(waves: Waves) -> None:
    waves.change_soak("0s")
    write_tree(waves.root / "clusters/canary", pool("broken", "osp-missing"))
    waves.change_profile(1)
    assert waves.apply().code == 1
    assert waves.has() == {"canary": 1, "prod-1": 0, "prod-2": 0, "free": 1}
    assert "broken" in waves.plan()["prod-1"]["promotion"]["reasons"][0]
    (waves.root / "clusters/canary/MachineDeployment-broken.yaml").unlink()
    waves.commit("without it")
    assert waves.apply().code == 0
    assert waves.has() == dict.fromkeys(_CLUSTERS, 1)


def test_a_wave_of_which_nothing_is_known_is_refused_and_another_cluster_of_it_shows_the_way(waves: Waves) -> None:
    git(waves.root, "checkout", "--quiet", "--orphan", "anew")
    waves.commit("all in one")
    waves.change_profile(1)
    ran = waves.apply()
    assert ran.code == 1
    assert told(ran.err) == [
        Expected(Code.WAVE_REVISION_UNKNOWN, "prod-1", "second", "--promote prod-1"),
        Expected(Code.WAVE_REVISION_UNKNOWN, "prod-2", "second"),
    ]
    assert waves.has() == {"canary": 1, "prod-1": 0, "prod-2": 0, "free": 1}
    assert waves.apply("--promote", "prod-1").code == 1  # of the other nothing is known yet
    assert waves.has() == {"canary": 1, "prod-1": 1, "prod-2": 0, "free": 1}
    assert waves.apply().code == 0
    assert waves.has() == dict.fromkeys(_CLUSTERS, 1)


@pytest.mark.exhaustive
def test_a_merge_counts_from_its_own_time_and_squashed_messages_are_read(waves: Waves) -> None:
    waves.change_profile(1, _LATER)
    ran = waves.apply("--branch", "update", "--cluster", "canary", date=_LATER)
    assert ran.code == 0, ran.err
    assert waves.plan()["prod-1"]["promotion"]["since"] is None
    git(waves.root, "branch", "squashed")
    waves.dated("2020-04-01T00:00:00Z")
    git(waves.root, "merge", "--quiet", "--no-ff", "-m", "merge", "update")
    assert waves.plan()["prod-1"]["promotion"]["since"] == "2020-04-01T00:00:00Z"
    git(waves.root, "checkout", "--quiet", "squashed")
    git(waves.root, "merge", "--quiet", "--squash", "update")
    waves.dated("2020-05-01T00:00:00Z")
    message = git(waves.root, "log", "-1", "--format=%B", "update")
    git(waves.root, "commit", "--quiet", "-m", f"Update (#7)\n\n* {message}\n\nCo-authored-by: Somebody <a@b.c>")
    assert waves.plan()["prod-1"]["promotion"]["since"] == "2020-05-01T00:00:00Z"


def test_a_temporary_clone_gets_the_history_that_waves_need(waves: Waves, tmp_path: Path) -> None:
    waves.change_fleet("{git: {path: desired}}", "{git: {path: desired, branch: main, push: true}}")
    waves.change_profile(1)
    git(tmp_path, "clone", "--quiet", "--bare", str(waves.root), "remote.git")
    ran = waves.apply("--repo", f"file://{tmp_path / 'remote.git'}")
    assert ran.code == 0, ran.err
    git(waves.root, "pull", "--quiet", str(tmp_path / "remote.git"), "main")
    assert waves.has() == {"canary": 1, "prod-1": 0, "prod-2": 0, "free": 1}
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{tmp_path / 'remote.git'}", "shallow")
    waves.change_profile(2)
    waves.monkeypatch.chdir(shallow)
    assert waves.steps() == {"canary": "newest", "prod-1": "unknown", "prod-2": "unknown"}


def test_an_untrusted_plan_shows_what_waits(waves: Waves) -> None:
    waves.change_profile(1, _LATER)
    assert waves.apply(date=_LATER).code == 0
    assert waves.steps("--untrusted") == {"canary": "newest", "prod-1": "waits", "prod-2": "waits"}
    waves.change_soak("24h")
    assert waves.steps("--untrusted")["prod-1"] == "newest"
    waves.change_fleet(", healthy: false", "")
    (reason,) = waves.plan("--untrusted")["prod-1"]["promotion"]["reasons"]
    assert "untrusted" in reason


@pytest.mark.exhaustive
def test_a_commit_of_a_fleet_without_waves_says_which_revision_a_cluster_has(waves: Waves) -> None:
    text = (waves.root / "osm-gitops.yaml").read_text("utf-8")
    write = (waves.root / "osm-gitops.yaml").write_text
    write(text.partition("waves:")[0], "utf-8")
    waves.change_profile(1)
    assert waves.apply().code == 0
    write(text, "utf-8")
    waves.change_profile(2)
    assert waves.apply().code == 0
    assert waves.has() == {"canary": 2, "prod-1": 1, "prod-2": 1, "free": 2}


@pytest.mark.exhaustive
def test_what_waves_cannot_hold_is_a_warning_and_a_fleet_without_history_an_error(waves: Waves, tmp_path: Path) -> None:
    waves.change_fleet("profilesVersion: v2.1.0, ", "")
    warnings = waves.plan()["prod-1"]["warnings"]
    assert Code.NOT_HELD_BY_WAVES.value in {each["code"] for each in warnings}
    shutil.copytree(waves.root, tmp_path / "plain", ignore=shutil.ignore_patterns(".git"))
    ran = osm_gitops("plan", _PLAINTEXT, "--fleet", str(tmp_path / "plain/osm-gitops.yaml"))
    assert told(ran.err) == [Expected(Code.WAVES_NEED_HISTORY, "osm-gitops.yaml")]


def test_connections_are_passed_over_only_if_no_wave_asks_clusters(waves: Waves) -> None:
    passed_over = "--context is ignored"
    assert passed_over in osm_gitops("plan", _PLAINTEXT, "--context", "x").err
    waves.change_fleet("healthy: false", "healthy: true")
    assert passed_over not in osm_gitops("plan", _PLAINTEXT, "--context", "x").err


@pytest.mark.usefixtures("waves")
@pytest.mark.parametrize("command", ["status", "rollout"])
def test_commands_that_compare_clusters_use_connections_with_waves_and_git_targets(command: str) -> None:
    ran = osm_gitops(command, "--cluster", "canary", "--kubeconfig", "none", "--context", "x")
    assert ran.code == 1
    assert "ignored" not in ran.err


@pytest.mark.parametrize(
    ("more", "place"),
    [
        (("--against", "HEAD"), "--promote"),
        (("--cluster", "canary"), "--promote"),
        (("--from", "clusters/prod-1", "--to", "out"), "--promote prod-1"),
    ],
)
@pytest.mark.usefixtures("waves")
def test_a_promotion_that_would_have_no_effect_is_refused(more: tuple[str, ...], place: str) -> None:
    ran = osm_gitops("plan", "--promote", "prod-1", *more)
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.OPTIONS_CONFLICT, place)]


def test_a_promotion_in_a_fleet_without_waves_is_refused(waves: Waves) -> None:
    path = waves.root / "osm-gitops.yaml"
    path.write_text(path.read_text("utf-8").partition("waves:")[0], "utf-8")
    ran = osm_gitops("apply", "--yes", "--promote", "prod-1")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.OPTIONS_CONFLICT, "--promote", "no waves")]
