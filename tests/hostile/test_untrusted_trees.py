"""Trees that strangers wrote: repositories with programs in their configuration, kubeconfigs, and paths that lead out.

A program of the tree leaves its environment in a file as a trace. Where a test says so, the same run that trusts the
tree shows that the attack would have worked.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, secret, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository, pin_git, write_hook
from tests.sources.sealed import KEY, sealed

_FLEET = "clusters:\n- {name: prod, from: pools, to: {git: {path: clusters}}, settings: {clusterDNS: 10.0.0.1}}\n"
_HIDDEN = "hidden-by-its-owner"
_SECRETS = {
    "SOPS_AGE_KEY": KEY,
    "OSM_GITOPS_DIGEST_KEY": "d1" * 32,
    "GITHUB_TOKEN": "ghs_0123456789abcdef",
    "AWS_SECRET_ACCESS_KEY": "aws-secret-0123456789",
    "HZ_TOKEN": "hetzner-0123456789",
    "SOME_API_KEY": "some-key-0123456789",
}


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pin_git(monkeypatch)
    for name in os.environ:
        if name.startswith(("OSM_GITOPS_", "SOPS_", "KUBE")):
            monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name, value in _SECRETS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config repository with a fleet of one cluster, committed twice."""
    root = new_repository(tmp_path / "tree")
    write_fleet(root, _FLEET)
    write_tree(root / "pools", profile(), pool())
    _commit(root)
    monkeypatch.chdir(root)
    return root


def _commit(root: Path) -> None:
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "more")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """What a program of the attacker leaves, if it ever runs."""
    return tmp_path / "trace"


@pytest.fixture
def program(tmp_path: Path, trace: Path) -> Path:
    """A program of the attacker."""
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\nenv >> {trace}\nexit 0\n")
    path.chmod(0o755)
    return path


# -- repositories --


def _bait(folder: Path, program: Path) -> None:
    """A bare repository as plain files, whose ``main`` lacks its objects: a promisor remote has them, it says."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main")
    (folder / "profiles.yaml").write_text(yaml.safe_dump(profile()))
    blob = git(folder, "hash-object", "-w", "profiles.yaml")
    listed = f"100644 blob {blob}\tprofiles.yaml\n"
    tree = subprocess.run(
        ["git", "mktree"], cwd=folder, input=listed, check=True, capture_output=True, text=True
    ).stdout.strip()
    git(folder, "update-ref", "refs/heads/main", git(folder, "commit-tree", tree, "-m", "bait"))
    (folder / "objects" / tree[:2] / tree[2:]).unlink()
    _make_partial(folder / "config", program)


def _make_partial(config: Path, program: Path) -> None:
    config.write_text(
        f'{config.read_text()}[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\turl = .\n\tpromisor = true\n'
        f"\tpartialclonefilter = blob:none\n\tuploadpack = {program}\n".replace(
            "repositoryformatversion = 0", "repositoryformatversion = 1"
        )
    )


_READING = (
    ("plan",),
    ("plan", "--against", "HEAD"),
    ("plan", "--against", "HEAD", "--without-keys"),
    ("plan", "--untrusted"),
    ("report",),
    ("report", "--untrusted", "-o", "html"),
    ("validate",),
    ("validate", "--untrusted"),
    ("validate", "--against", "HEAD"),
    ("explain", "workers"),
    ("render", "--to", "-"),
    ("osp", "list"),
    ("osp", "show", "osp-a"),
    ("osp", "diff", "ev@main", "osp-a"),
    ("doctor",),
    ("doctor", "--untrusted"),
)


@pytest.mark.parametrize("command", _READING, ids=" ".join)
@pytest.mark.parametrize("place", ["profiles: ev@main", "profiles: ev/refs@main", "facts: ev@main"])
def test_a_bare_repository_that_was_committed_runs_nothing(
    tree: Path, trace: Path, program: Path, command: tuple[str, ...], place: str
) -> None:
    _bait(tree / "ev", program)
    write_fleet(
        tree, f"clusters:\n- {{name: prod, from: {{machineDeployments: pools, {place}}}, to: {{git: {{path: c}}}}}}\n"
    )
    _commit(tree)
    ran = osm_gitops(*command)
    assert not trace.exists()
    assert "repository inside of the" in ran.out + ran.err
    assert ran.code == 1


@pytest.mark.parametrize("more", [(), ("--untrusted",)], ids=str)
@pytest.mark.parametrize("command", [("plan",), ("osp", "list"), ("validate",)], ids=" ".join)
def test_a_partial_clone_is_read_as_far_as_it_goes_and_fetches_nothing(
    tree: Path, trace: Path, program: Path, command: tuple[str, ...], more: tuple[str, ...]
) -> None:
    (blob,) = [line.split()[2] for line in git(tree, "ls-tree", "-r", "HEAD").splitlines() if "Profile" in line]
    (tree / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    _make_partial(tree / ".git" / "config", program)
    ran = osm_gitops(*command, "--from", "pools@HEAD", *(("--to", "clusters") if command == ("plan",) else ()), *more)
    assert not trace.exists()
    assert ran.code == 1
    assert Code.FILE_UNREADABLE.value in ran.out + ran.err


@pytest.mark.parametrize("more", [(), ("--untrusted",)], ids=str)
def test_a_repository_in_an_archive_has_no_file_monitor_run(
    tree: Path, trace: Path, program: Path, more: tuple[str, ...]
) -> None:
    git(tree, "config", "core.fsmonitor", str(program))
    osm_gitops("plan", *more)
    assert not trace.exists()


@pytest.mark.parametrize("name", ["x", "x=y"])
def test_filters_that_a_repository_brings_are_not_run(tree: Path, trace: Path, program: Path, name: str) -> None:
    with (tree / ".git" / "config").open("a") as config:
        config.write(f'[filter "{name}"]\n\tclean = {program}\n')
    (tree / ".git" / "info" / "attributes").write_text(f"* filter={name}\n")
    (tree / "pools" / "OperatingSystemProfile-osp-a.yaml").touch()
    ran = osm_gitops("plan", "--against", "HEAD", "--untrusted")
    assert ran.code == 0, ran.err
    assert not trace.exists()
    assert Code.SOURCE_REVISION_UNKNOWN.value in ran.out + ran.err
    osm_gitops("plan", "--against", "HEAD")
    if name == "x":
        assert trace.exists()  # git would have run it


def test_filters_of_files_that_the_configuration_includes_are_seen_too(tree: Path, trace: Path, program: Path) -> None:
    (tree / "more").write_text(f'[filter "x"]\n\tclean = {program}\n')
    git(tree, "config", "include.path", "../more")
    (tree / ".gitattributes").write_text("* filter=x\n")
    assert osm_gitops("plan", "--against", "HEAD", "--untrusted").code == 0
    assert not trace.exists()


def test_a_work_tree_of_its_own_configuration_has_no_filter_run(tree: Path, trace: Path, program: Path) -> None:
    git(tree, "config", "extensions.worktreeConfig", "true")
    (tree / ".git" / "config.worktree").write_text(f'[filter "x"]\n\tclean = {program}\n')
    (tree / ".gitattributes").write_text("* filter=x\n")
    assert osm_gitops("plan", "--against", "HEAD", "--untrusted").code == 0
    assert not trace.exists()


def test_a_submodule_is_not_looked_into(tree: Path, trace: Path, program: Path) -> None:
    inner = new_repository(tree / "pools" / "sub")
    git(inner, "config", "core.fsmonitor", str(program))
    git(inner, "config", "filter.x.clean", str(program))
    (inner / ".git" / "info" / "attributes").write_text("* filter=x\n")
    git(tree, "-c", "advice.addEmbeddedRepo=false", "add", "pools/sub")
    git(tree, "commit", "--quiet", "--message", "sub")
    (inner / "README.md").touch()
    trace.unlink(missing_ok=True)
    assert osm_gitops("plan", "--against", "HEAD", "--untrusted").code == 0
    assert not trace.exists()


@pytest.mark.parametrize("hook", ["post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"])
def test_hooks_do_not_run_where_nothing_is_written(tree: Path, trace: Path, hook: str) -> None:
    write_hook(tree, hook, f"env >> {trace}")
    for command in (("plan",), ("plan", "--against", "HEAD", "--untrusted"), ("validate",), ("osp", "list")):
        osm_gitops(*command)
    assert not trace.exists()


@pytest.mark.parametrize("how", ["file", "link", "alternates", "commondir"])
def test_a_git_folder_that_leads_to_a_private_repository_is_refused(tree: Path, how: str) -> None:
    private = new_repository(tree.parent / "private")
    write_tree(private / "pools", profile(), pool(_HIDDEN))
    _commit(private)
    if how in {"file", "link"}:
        shutil.rmtree(tree / ".git")
    if how == "file":
        (tree / ".git").write_text(f"gitdir: {private}/.git\n")
    elif how == "link":
        (tree / ".git").symlink_to(private / ".git")
    elif how == "alternates":
        (tree / ".git/objects/info").mkdir(exist_ok=True)
        (tree / ".git/objects/info/alternates").write_text(f"{private}/.git/objects\n")
        (tree / ".git/refs/heads/main").write_text(git(private, "rev-parse", "HEAD"))
    else:
        (tree / ".git/commondir").write_text(f"{private}/.git\n")
        (tree / ".git/HEAD").write_text(git(private, "rev-parse", "HEAD"))
    write_fleet(tree, _FLEET.replace("from: pools", "from: pools@HEAD"))
    shown = osm_gitops("explain", _HIDDEN)
    assert _HIDDEN in shown.out  # the attack works on a tree that is trusted
    ran = osm_gitops("explain", _HIDDEN, "--untrusted")
    assert ran.code == 1
    assert "is not read in an untrusted run: " in ran.err


def test_another_repository_inside_of_the_tree_is_refused(tree: Path) -> None:
    inner = new_repository(tree / "inner")
    write_tree(inner, profile(), pool())
    _commit(inner)
    write_fleet(tree, _FLEET.replace("from: pools", "from: inner@main"))
    assert osm_gitops("explain", "workers").code == 0
    ran = osm_gitops("explain", "workers", "--untrusted")
    assert ran.code == 1
    assert Expected(Code.OUTSIDE_UNTRUSTED_TREE) in told(ran.err)


def test_a_linked_work_tree_that_git_made_is_read(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tree, "worktree", "add", "--quiet", "--detach", "../linked")
    monkeypatch.chdir(tree.parent / "linked")
    ran = osm_gitops("plan", "--against", "HEAD", "--untrusted")
    assert ran.code == 0, ran.err
    assert ran.out.endswith("No changes.\n")


# -- servers and kubeconfigs --


@contextmanager
def _listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield server


def _was_asked(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _kubeconfig(tree: Path, server: socket.socket, user: Mapping[str, object]) -> None:
    text = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{server.getsockname()[1]}"}}],
        "users": [{"name": "it", "user": user}],
    }
    (tree / "kubeconfig").write_text(yaml.safe_dump(text))


_LIVE = (
    "from: {machineDeployments: pools, facts: cluster}, to: {git: {path: clusters}}",
    "from: {machineDeployments: pools, profiles: cluster}, to: {git: {path: clusters}}",
    "from: cluster, to: {git: {path: clusters}}",
    "from: pools, to: cluster",
)
_UNTRUSTED = (
    ("plan", "--untrusted"),
    ("plan", "--against", "HEAD", "--without-keys"),
    ("report", "--untrusted"),
    ("explain", "workers", "--untrusted"),
    ("render", "--to", "-", "--untrusted"),
    ("osp", "list", "--untrusted"),
    ("validate", "--untrusted"),
    ("doctor", "--untrusted"),
)


@pytest.mark.parametrize("command", _UNTRUSTED, ids=" ".join)
@pytest.mark.parametrize("source", _LIVE)
def test_a_kubeconfig_of_the_tree_runs_nothing_and_asks_nobody(
    tree: Path, trace: Path, program: Path, command: tuple[str, ...], source: str
) -> None:
    plugin = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}
    with _listening() as server:
        _kubeconfig(tree, server, plugin)
        write_fleet(tree, f"clusters:\n- {{name: prod, {source}, management: {{kubeconfig: kubeconfig}}}}\n")
        _commit(tree)
        ran = osm_gitops(*command)
        assert not trace.exists()
        assert not _was_asked(server)
    asks = "cluster" in source.partition("to:")[0] or command in {("plan", "--untrusted"), ("report", "--untrusted")}
    if asks and command[0] != "validate":  # which passes over what is in clusters
        assert Code.SERVER_IN_UNTRUSTED_RUN.value in ran.out + ran.err
        assert ran.code == 1


def test_a_kubeconfig_of_the_tree_sends_no_file_of_ours(tree: Path) -> None:
    with _listening() as server:
        _kubeconfig(tree, server, {"tokenFile": "/proc/self/environ"})
        write_fleet(tree, f"clusters:\n- {{name: prod, {_LIVE[0]}, management: {{kubeconfig: kubeconfig}}}}\n")
        osm_gitops("plan", "--untrusted")
        assert not _was_asked(server)


def test_two_clusters_of_the_tree_are_not_even_looked_up(tree: Path) -> None:
    (tree / "kubeconfig").symlink_to("/nonexistent")
    one = "{name: %s, from: pools, to: cluster, management: {kubeconfig: /dev/stdin, context: %s}}"
    write_fleet(tree, f"clusters:\n- {one % ('a', 'a')}\n- {one % ('b', 'b')}\n")
    ran = osm_gitops("plan", "--untrusted")
    assert ran.err.count("an untrusted run must not access servers") == 2


# -- paths that lead out --


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A folder of the user's, beside the tree."""
    folder = tmp_path / "private"
    write_tree(folder, profile(_HIDDEN), profile(), pool(_HIDDEN, profile=_HIDDEN), pool())
    overlay = {
        "apiVersion": "osm-gitops.io/v1alpha1",
        "kind": "Overlay",
        "settings": {"pauseImage": f"{_HIDDEN}/pause"},
    }
    (folder / "overlay.yaml").write_text(yaml.safe_dump(overlay))
    return folder


def _leaks(ran: Ran) -> bool:
    return _HIDDEN in ran.out + ran.err


_LEADING_OUT = {
    "above": "from: ../private",
    "absolute": "from: {private}",
    "a link": "from: linked",
    "a link in a folder": "from: folder/linked",
    "profiles": "from: {{machineDeployments: pools, profiles: ../private}}",
    "a file": "from: {{machineDeployments: pools, profiles: ../private/OperatingSystemProfile-osp-a.yaml}}",
}


@pytest.mark.parametrize("place", _LEADING_OUT.values(), ids=_LEADING_OUT)
@pytest.mark.parametrize("command", [("osp", "list"), ("plan",), ("validate", "-o", "json")], ids=" ".join)
def test_sources_outside_of_the_tree_are_not_read(
    tree: Path, private: Path, place: str, command: tuple[str, ...]
) -> None:
    (tree / "linked").symlink_to(private)
    (tree / "folder").mkdir()
    (tree / "folder" / "linked").symlink_to("../../private")
    source = place.format(private=private)
    write_fleet(tree, f"clusters:\n- {{name: prod, {source}, to: {{git: {{path: clusters}}}}}}\n")
    if command[0] == "osp" and "osp-a" not in place:
        assert _leaks(osm_gitops(*command))  # the attack works on a tree that is trusted
    ran = osm_gitops(*command, "--untrusted")
    assert not _leaks(ran)
    assert Code.OUTSIDE_UNTRUSTED_TREE.value in ran.out + ran.err
    assert ran.code == 1


@pytest.mark.parametrize("how", ["above", "absolute", "link", "linked file", "base"])
def test_overlays_outside_of_the_tree_are_not_read(tree: Path, private: Path, how: str) -> None:
    named = {"above": "../private", "absolute": str(private), "link": "linked"}.get(how, "mine")
    (tree / "linked").symlink_to(private)
    (tree / "mine").mkdir()
    if how == "linked file":
        (tree / "mine" / "overlay.yaml").symlink_to(private / "overlay.yaml")
    else:
        base = "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\noverlays: [../../private]\n"
        (tree / "mine" / "overlay.yaml").write_text(base)
    write_fleet(
        tree, f"clusters:\n- {{name: prod, from: pools, overlays: [{named}], to: {{git: {{path: clusters}}}}}}\n"
    )
    assert _leaks(osm_gitops("explain", "workers"))
    for command in (("explain", "workers"), ("plan",), ("report",), ("validate",), ("osp", "show", "osp-a")):
        ran = osm_gitops(*command, "--untrusted")
        assert not _leaks(ran)
        assert Code.OUTSIDE_UNTRUSTED_TREE.value in ran.out + ran.err
        assert ran.code == 1


@pytest.mark.parametrize("name", ["../bundle.pem", "link.pem", ".git/config"])
def test_files_that_settings_name_outside_of_the_tree_are_not_read(tree: Path, name: str) -> None:
    (tree.parent / "bundle.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (tree / "link.pem").symlink_to("../bundle.pem")
    write_fleet(tree, _FLEET.replace("clusterDNS: 10.0.0.1", f"hostCABundle: {name}"))
    ran = osm_gitops("plan", "--untrusted")
    assert Expected(Code.FILE_UNREADABLE, name) in told(ran.err)
    assert ran.code == 1


def test_credentials_in_the_git_folder_are_not_read(tree: Path) -> None:
    (tree / ".git" / "config").write_text(f"kind: {_HIDDEN}: x\n")
    write_fleet(tree, _FLEET.replace("from: pools", "from: .git/config"))
    assert Expected(Code.OUTSIDE_UNTRUSTED_TREE) in told(osm_gitops("plan", "--untrusted").err)


def test_a_fleet_file_that_is_a_link_is_not_read(tree: Path) -> None:
    (tree.parent / "secret.yaml").write_text(f"apiVersion: {_HIDDEN}\n{_HIDDEN}: 1\n")
    (tree / "osm-gitops.yaml").unlink()
    (tree / "osm-gitops.yaml").symlink_to("../secret.yaml")
    assert _leaks(osm_gitops("plan"))
    for command in ("plan", "validate", "doctor"):
        ran = osm_gitops(command, "--untrusted")
        assert not _leaks(ran)
        assert ran.code == 1


@pytest.mark.parametrize("path", ["../private", "linked"])
def test_a_target_outside_of_the_tree_is_not_read(tree: Path, private: Path, path: str) -> None:
    (tree / "linked").symlink_to(private)
    write_fleet(tree, _FLEET.replace("path: clusters", f"path: {path}"))
    ran = osm_gitops("plan", "--untrusted")
    assert ran.code == 1
    assert Expected(Code.OUTSIDE_UNTRUSTED_TREE, path) in told(ran.err)


def test_creation_rules_that_are_a_link_are_not_read(tree: Path) -> None:
    (tree.parent / "rules.yaml").write_text(f"creation_rules: [{{path_regex: '(', age: {_HIDDEN}}}]\n")
    (tree / ".sops.yaml").symlink_to("../rules.yaml")
    ran = osm_gitops("plan", "--untrusted")
    assert ran.code == 1
    assert Expected(Code.LINK_LEADS_OUT) in told(ran.err)


# -- what the environment holds --


def _shows_secrets(trace: Path) -> list[str]:
    text = trace.read_text()
    return [name for name, value in _SECRETS.items() if value in text]


def test_git_and_its_hooks_see_no_key(tree: Path, trace: Path) -> None:
    write_hook(tree, "pre-commit", f"env >> {trace}")
    ran = osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets")
    assert ran.code == 0, ran.err
    assert _shows_secrets(trace) == []
    assert f"GIT_AUTHOR_NAME={os.environ['GIT_AUTHOR_NAME']}" in trace.read_text()


def test_a_credential_plugin_sees_its_cloud_alone(
    tree: Path, trace: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "prod")
    plugin = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}
    with _listening() as server:
        _kubeconfig(tree, server, plugin)
        write_fleet(tree, f"clusters:\n- {{name: prod, {_LIVE[0]}, management: {{kubeconfig: kubeconfig}}}}\n")
        osm_gitops("plan")
    assert _shows_secrets(trace) == ["AWS_SECRET_ACCESS_KEY"]  # as kubectl would hand it on
    assert "AWS_PROFILE=prod" in trace.read_text()
    assert "KUBERNETES_EXEC_INFO=" in trace.read_text()


def test_linters_see_no_key_and_lie_in_no_relative_folder(
    tree: Path, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for folder in (tree, tmp_path / "bin"):
        (folder / "shellcheck").write_text(
            f"#!/bin/sh\nenv >> {trace}\npwd >> {trace}\necho {folder.name} >> {trace}\n"
        )
        (folder / "shellcheck").chmod(0o755)
    monkeypatch.setenv("PATH", f".{os.pathsep}{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    osm_gitops("validate")
    assert _shows_secrets(trace) == []
    assert "\nbin\n" in trace.read_text()
    assert "\ntree\n" not in trace.read_text()


def test_keys_are_not_used_for_an_untrusted_tree(
    tree: Path, trace: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY_CMD", str(program))
    token = yaml.safe_dump(secret("cloud-init-getter-token", "cloud-init-settings", {"token": "t0ken-of-prod"}))
    (tree / "pools" / "Secret-cloud-init-getter-token.yaml").write_text(sealed(token))
    _commit(tree)
    assert "t0ken-of-prod" in osm_gitops("render", "--to", "-").out
    trace.unlink()
    commands = (("plan",), ("report",), ("render", "--to", "-"), ("explain", "workers"), ("doctor",), ("validate",))
    for command in commands:
        ran = osm_gitops(*command, "--untrusted")
        assert "t0ken-of-prod" not in ran.out + ran.err
    assert not trace.exists()
    assert osm_gitops("plan", "--against", "HEAD", "--untrusted").out.endswith("No changes.\n")


# -- what the tree may allow itself, and which commands take the flag --


def test_bounds_that_the_tree_raises_do_not_count(tree: Path) -> None:
    (tree / "mine").mkdir()
    raised = "maxTemplateDepth: 100000, maxRenderSeconds: 100000, maxRenderMemory: 100000"
    overlay = f"apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\nsettings: {{{raised}}}\n"
    (tree / "mine" / "overlay.yaml").write_text(overlay)
    write_fleet(tree, _FLEET.replace("clusterDNS: 10.0.0.1", "maxOutputBytes: 999999999, maxLoopSteps: 5").replace(
        "from: pools,", "from: pools, overlays: [mine],"
    ))  # fmt: skip
    trusted = osm_gitops("explain", "workers", "-o", "json")
    assert "999999999" in trusted.out
    ran = osm_gitops("plan", "--untrusted")
    assert Expected(Code.LIMIT_NOT_RAISED, "max-output-bytes") in told(ran.out + ran.err)
    for name in ("max-template-depth", "max-render-seconds", "max-render-memory"):
        assert Expected(Code.LIMIT_NOT_RAISED, name) in told(ran.out + ran.err)
    assert "max-loop-steps" not in ran.out + ran.err  # it is lowered
    shown = osm_gitops("explain", "workers", "-o", "json", "--untrusted", "--max-output-bytes", "888888888")
    assert "999999999" not in shown.out
    assert "888888888" in shown.out


@pytest.mark.parametrize("command", ["apply", "refresh", "rekey", "uninstall", "status", "install", "init"])
def test_commands_that_trust_the_tree_refuse_the_flag_and_its_variable(
    tree: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(tree.rglob("*"))
    assert f"--untrusted: {command} " in osm_gitops(command, "--untrusted").err
    monkeypatch.setenv("OSM_GITOPS_UNTRUSTED", "true")
    ran = osm_gitops(command)
    assert ran.code == 1
    assert Expected(Code.COMMAND_TRUSTS_TREE) in told(ran.err)
    assert sorted(tree.rglob("*")) == before


@pytest.mark.usefixtures("tree")
def test_contents_of_files_that_touch_secrets_are_not_shown() -> None:
    """Whoever writes the templates reads the reports."""
    sentence = "contents not shown: the file is made from secrets"
    for form in ("text", "json", "markdown", "html"):
        assert sentence not in osm_gitops("plan", "--verbose", "--output", form).out
        assert sentence in osm_gitops("plan", "--untrusted", "--verbose", "--output", form).out
    for text, public in ((("--file", "/opt/bin/bootstrap"), "#!/bin/sh"), (("--user-data", "bootstrap"), "/opt/bin")):
        assert public in osm_gitops("explain", "workers", *text).out
        hidden = osm_gitops("explain", "workers", "--untrusted", *text).out
        assert "contents not shown" in hidden
        assert public not in hidden


def test_a_tree_without_git_is_read_too(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    ran = osm_gitops("explain", "workers", "--untrusted")
    assert ran.code == 0, ran.err


def test_what_a_person_names_elsewhere_is_read(tree: Path, private: Path) -> None:
    assert tree.is_dir()
    assert _leaks(osm_gitops("osp", "list", "--untrusted", "--profiles-from", str(private)))
    assert _leaks(osm_gitops("explain", "workers", "--untrusted", "--overlay", str(private)))
    assert _leaks(osm_gitops("osp", "list", "--untrusted", "--from", str(private)))
