"""The image, built by `make image`, and run: as a user without rights, from a read-only root, without a network."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from osm_gitops import __version__
from tests.demo_fleet import DEMO
from tests.image.base import FOLDER, as_root, base_image, buildah, check, output, release
from tests.image.container import Container, remove, start

pytestmark = pytest.mark.oracle

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGE = "localhost/osm-gitops-tested"
CONTEXT = "localhost/osm-gitops-tested-context"
IDENTITY = {
    f"GIT_{who}_{what}": text
    for who in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "demo"), ("EMAIL", "demo@example.com"))
}
KEY = {"SOPS_AGE_KEY_FILE": "/repo/age.key"}
_MEGABYTE = 1_000_000
_MOST = 150 * _MEGABYTE
"""What the image may have above its base; it was 290 MB."""


def make_image(name: str, *options: str) -> None:
    ran = subprocess.run(
        [
            "make",
            "image",
            f"BUILDER={' '.join(buildah())}",
            f"BUILD_OPTIONS={' '.join(('--isolation', 'chroot', '--layers', '--pull-never', *options))}",
            f"IMAGE={name}",
            f"BASE={base_image()}",
        ],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{ran.stdout[-4000:]}{ran.stderr[-4000:]}"


@pytest.fixture(scope="module")
def _built() -> Iterator[None]:
    """Both images. Layers of what has not changed are kept; nobody else uses this storage meanwhile."""
    check()
    with FileLock(FOLDER / ".lock"):
        release()
        output(*buildah(), "rm", "--all")
        make_image(CONTEXT, "--target", "program")
        make_image(IMAGE)
        output(*buildah(), "rmi", "--prune")
        yield


@pytest.fixture(scope="module")
def container(_built: None) -> Iterator[Container]:
    made = start(IMAGE)
    yield made
    remove(made)


@pytest.fixture
def repo(tmp_path: Path, container: Container) -> Iterator[Path]:
    """The demo's fleet in a repository of the image's user."""
    folder = tmp_path / "repo"
    shutil.copytree(DEMO, folder)
    output(*as_root(), "chown", "--recursive", container.config["User"], str(folder))
    for command in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "."),
        ("commit", "--quiet", "--message", "Demo fleet"),
    ):
        ran = container.execute(folder, "git", *command, **IDENTITY)
        assert ran.returncode == 0, ran.stderr
    yield folder
    output(*as_root(), "chown", "--recursive", f"{os.getuid()}:{os.getgid()}", str(folder))  # pytest removes it


def test_the_image_tells_its_version(container: Container, repo: Path) -> None:
    ran = container.run(repo, "--version")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"osm-gitops {__version__}\n", "")


def test_its_user_has_no_rights_and_writes_nowhere_but_in_the_repo_and_tmp(container: Container, repo: Path) -> None:
    script = 'id -u; id -g; grep -h ^Cap /proc/self/status; for each; do touch "$each/x" && echo "$each"; done'
    folders = ("/", "/etc", "/opt/osm-gitops", "/home/osm-gitops", "/var/tmp", "/repo", "/tmp")
    ran = container.execute(repo, "sh", "-c", script, "sh", *folders)
    user, group, *more = ran.stdout.split("\n")[:-1]
    assert (user, group) == ("65532", "65532")
    assert more[-2:] == ["/repo", "/tmp"]
    assert {line.split()[0]: int(line.split()[1], 16) for line in more[:-2]}.items() >= {
        "CapInh:": 0,
        "CapPrm:": 0,
        "CapEff:": 0,
    }.items()
    # Not for want of rights alone: this folder is the user's own.
    assert "'/home/osm-gitops/x': Read-only file system" in ran.stderr


def test_the_demo_is_rendered_planned_and_applied_in_it(container: Container, repo: Path) -> None:
    """Templates are rendered by worker processes, which start from the read-only root as well."""
    rendered = container.run(repo, "render", "--to", "/tmp/rendered", **KEY)
    assert rendered.returncode == 0, rendered.stderr
    planned = container.run(repo, "plan", **KEY)
    assert planned.returncode == 0, planned.stderr
    assert "Plan: 29 to create" in planned.stdout
    applied = container.run(repo, "apply", "--yes", "--no-push", **KEY, **IDENTITY)
    assert applied.returncode == 0, applied.stderr
    assert container.execute(repo, "git", "log", "--format=%s").stdout.splitlines() == [
        "osm-gitops: dev: 4 created, 0 updated, 0 deleted",
        "osm-gitops: edge-lab: 9 created, 0 updated, 0 deleted",
        "osm-gitops: prod-eu: 16 created, 0 updated, 0 deleted",
        "Demo fleet",
    ]
    secrets = [path.read_text("utf-8") for path in repo.glob("clusters/*/worker/secrets/*-bootstrap-config.yaml")]
    assert len(secrets) == 7
    assert all("BEGIN AGE ENCRYPTED FILE" in text for text in secrets)


def test_a_repo_of_another_user_is_planned(container: Container, repo: Path) -> None:
    output(*as_root(), "chown", "--recursive", "0:0", str(repo))
    ran = container.run(repo, "plan", **KEY)
    assert ran.returncode == 0, ran.stderr
    assert "Plan: 29 to create" in ran.stdout


def test_validate_has_its_shellcheck(container: Container, repo: Path) -> None:
    flaw = r"s|^\( *\)rm /run/provisioning.json$|&\n\1for unused in 1 2; do date; done|"
    assert container.execute(repo, "sed", "--in-place", flaw, "osps/demo-ubuntu.yaml").returncode == 0
    ran = container.run(repo, "validate", "osps", "-o", "json")
    rules = {finding["id"] for finding in json.loads(ran.stdout)["findings"]}
    assert "shellcheck-SC2034" in rules
    assert "shellcheck-not-installed" not in rules


def test_everything_that_the_program_imports_anywhere_is_there(container: Container, repo: Path) -> None:
    """Also what is imported only once it is needed, such as the kubernetes client."""
    modules = sorted({name for path in (ROOT / "osm_gitops").rglob("*.py") for name in imported(path)})
    assert {"kubernetes.client.rest", "cryptography.hazmat.primitives.ciphers.aead", "re2", "tree_sitter_bash"} <= {
        *modules
    }
    script = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    ran = container.execute(repo, "python", "-I", "-c", script, *modules)
    assert ran.returncode == 0, ran.stderr


def test_what_is_left_out_of_the_kubernetes_client_is_used_by_nothing_else(container: Container) -> None:
    (client,) = (path for path in files(container, "opt") if path.endswith("/kubernetes/client/__init__.py"))
    packages = f"{container.root}/opt/{client.removesuffix('/kubernetes/client/__init__.py')}"
    assert not [path for path in files(container, "opt") if "/kubernetes/aio/" in path]
    left_out = r"(aiohttp|aiohttp_retry|kubernetes\.aio|multidict|yarl)"
    pattern = rf"^\s*(from|import) {left_out}\b"
    search = subprocess.run(
        [*as_root(), "grep", "--recursive", "--extended-regexp", "--include=*.py", pattern, packages],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (search.returncode, search.stdout, search.stderr) == (1, "", "")


def files(container: Container, folder: str) -> set[str]:
    """The paths of the files below a folder of its root."""
    places = (f"{container.root}/{folder}", "-type", "f")
    return set(output(*as_root(), "find", *places, "-printf", r"%P\n").splitlines())


def imported(path: Path) -> Iterator[str]:
    """The names in import statements of a module, wherever they are."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module


def test_its_git_speaks_https_and_ssh(container: Container, repo: Path) -> None:
    """As far as one gets without a network: to the connection that is refused."""
    https = container.execute(repo, "git", "ls-remote", "https://127.0.0.1:1/x")
    assert "Failed to connect to 127.0.0.1" in https.stderr
    ssh = container.execute(repo, "git", "ls-remote", "ssh://127.0.0.1:1/x")
    assert "ssh: connect to host 127.0.0.1 port 1" in ssh.stderr
    signs = container.execute(repo, "sh", "-c", "command -v ssh-keygen")
    assert signs.stdout == "/usr/bin/ssh-keygen\n"


def test_apt_and_scanners_find_its_packages_in_order(container: Container, repo: Path) -> None:
    listed = container.execute(repo, "dpkg-query", "--show", "--showformat", "${db:Status-Abbrev}${Package}\n")
    assert {"ii git", "ii openssh-client"} <= set(listed.stdout.splitlines())
    assert {line[:3] for line in listed.stdout.splitlines()} == {"ii "}
    quiet = ("--option", "Debug::NoLocking=1", "--option", "Dir::Cache=/tmp")
    assert container.execute(repo, "apt-get", "check", *quiet).returncode == 0


@pytest.mark.usefixtures("_built")
def test_it_is_small(tmp_path: Path) -> None:
    """The layers above the base's, as a registry would unpack them."""
    output(*buildah(), "push", "--quiet", "--disable-compression", IMAGE, f"dir:{tmp_path}/image")
    output(*as_root(), "chmod", "--recursive", "a+rX", f"{tmp_path}/image")
    layers = [
        layer["size"] for layer in json.loads((tmp_path / "image" / "manifest.json").read_text("utf-8"))["layers"]
    ]
    output(*as_root(), "rm", "-r", f"{tmp_path}/image")
    base = json.loads(output(*buildah(), "inspect", "--type", "image", base_image()))
    count = len(base["OCIv1"]["rootfs"]["diff_ids"])
    above = layers[count:]
    assert count == 1
    assert sum(above) <= _MOST, f"{[round(size / _MEGABYTE, 1) for size in above]} MB"
    # A new version of the program is two small layers, its own and that of bytecode.
    assert len(above) == 5
    assert sum(above[-2:]) < 20 * _MEGABYTE


def test_its_labels_say_what_it_is_and_from_which_commit(container: Container) -> None:
    labels = {name.removeprefix("org.opencontainers.image."): text for name, text in container.config["Labels"].items()}
    assert {"title": "osm-gitops", "licenses": "Apache-2.0", "version": __version__}.items() <= labels.items()
    assert labels["base.name"] == base_image()
    assert "base.digest" not in labels  # that of the Dockerfile is not this base's
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if git.returncode == 0:
        assert labels["revision"].removesuffix("-dirty") == git.stdout.strip()
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S+", labels["created"])


def test_nothing_enters_the_build_but_what_the_dockerignore_lets_through(container: Container) -> None:
    """The stage that copies all of the context, compared with the files of the checkout."""
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    inside = start(CONTEXT)
    try:
        found = files(inside, "src")
    finally:
        remove(inside)
    wanted = {
        path.relative_to(ROOT).as_posix()
        for name in allowed
        for path in [ROOT / name, *(ROOT / name).rglob("*")]
        if path.is_file() and not any(part == "__pycache__" or part.endswith("_cache") for part in path.parts)
    }
    assert found == wanted
    modules = {path for path in wanted if path.startswith("osm_gitops/") and path.endswith(".py")}
    installed = {path.partition("/site-packages/")[2] for path in files(container, "opt") if path.endswith(".py")}
    assert {path for path in installed if path.startswith("osm_gitops/")} == modules


def test_it_has_python_of_the_version_that_the_dockerfile_names(container: Container, repo: Path) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    named = re.search(r"^FROM docker\.io/library/python:(3\.\d+)-slim@", dockerfile, re.MULTILINE)
    assert named is not None
    assert container.execute(repo, "python", "--version").stdout.startswith(f"Python {named[1]}.")
