"""What is delivered: wheel, source archive, image, and a pipeline that runs what the gate runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops import __version__
from tests.demo_fleet import DEMO_KEY

ROOT = Path(__file__).resolve().parent.parent


def uv(*arguments: str) -> str:
    """Run the uv that the Makefile uses."""
    candidates = (os.environ.get("UV"), shutil.which("uv"), str(ROOT / ".tools" / "bin" / "uv"))
    program = next(each for each in candidates if each and Path(each).exists())
    kept = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    ran = subprocess.run([program, *arguments], cwd=ROOT, env=kept, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    uv("build", "--quiet", "--out-dir", str(folder))
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh virtual environment with the wheel and what it depends on, nothing else; its programs."""
    folder = tmp_path_factory.mktemp("installed")
    uv("venv", "--quiet", "--python", sys.executable, str(folder))
    requirements = folder / "requirements.txt"
    requirements.write_text(uv("export", "--quiet", "--frozen", "--no-dev", "--no-emit-project"), "utf-8")
    python = str(folder / "bin" / "python")
    uv("pip", "install", "--quiet", "--python", python, "--require-hashes", "--requirement", str(requirements))
    uv("pip", "install", "--quiet", "--python", python, "--no-deps", str(built[0]))
    return folder / "bin"


def data_files() -> list[str]:
    """What the package takes along that lies beside it in a checkout."""
    folders = (ROOT / "osps", *(overlay.parent for overlay in (ROOT / "overlays").glob("*/overlay.yaml")))
    return [path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*") if path.is_file()]


def run(*arguments: str | Path, cwd: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OSM_GITOPS_", "PYTHON"))}
    ran = subprocess.run(
        [str(each) for each in arguments], cwd=cwd, env=kept | DEMO_KEY, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_wheel_holds_the_package_its_types_its_data_its_licence_and_nothing_else(built: tuple[Path, Path]) -> None:
    names = set(zipfile.ZipFile(built[0]).namelist())
    info = f"osm_gitops-{__version__}.dist-info"
    assert {"osm_gitops/py.typed", f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"} <= names
    package = [path for path in (ROOT / "osm_gitops").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    data = {f"osm_gitops/{name}" for name in data_files()}
    assert {name for name in names if not name.startswith(f"{info}/")} == data | {
        path.relative_to(ROOT).as_posix() for path in package
    }


def test_the_source_archive_holds_what_the_wheel_is_built_from_and_the_demo(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    wanted = {*data_files(), "pyproject.toml", "README.md", "LICENSE", "osm_gitops/__init__.py", "overlays/demo/run.sh"}
    assert wanted <= names
    unwanted = [
        name for name in names if re.search(r"(^|/)(\.venv|\.tools|\.demo|\.[a-z]+_cache|__pycache__)(/|$)", name)
    ]
    assert unwanted == []


def test_what_is_installed_tells_its_version_and_renders(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "osm-gitops", "--version", cwd=tmp_path) == f"osm-gitops {__version__}\n"
    assert run(installed / "python", "-m", "osm_gitops", "--version", cwd=tmp_path) == f"osm-gitops {__version__}\n"
    shutil.copytree(ROOT / "overlays" / "demo", tmp_path / "fleet")
    run(installed / "osm-gitops", "render", "--to", tmp_path / "rendered", cwd=tmp_path / "fleet")
    assert len(list((tmp_path / "rendered").glob("*/worker/secrets/*-bootstrap-config.yaml"))) == 7


def test_what_is_installed_brings_the_built_in_profiles(installed: Path, tmp_path: Path) -> None:
    listed = json.loads(run(installed / "osm-gitops", "osp", "list", "-o", "json", cwd=tmp_path))
    sources = [Path(name) for name in data_files() if name.startswith("osps/") and name.endswith(".yaml")]
    newest = max(path.parent.name for path in sources if path.parent.name != "parts")
    assert {profile["where"].rpartition(":")[0] for profile in listed["profiles"]} == {
        f"builtin:{path.stem}@{newest}" for path in sources if path.parent.name == newest
    }
    shown = run(installed / "osm-gitops", "osp", "show", "osp-ubuntu", cwd=tmp_path)
    assert yaml.safe_load(shown)["spec"]["version"] == newest


def test_what_is_installed_brings_the_overlays(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "overlay.yaml").write_text(
        "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\noverlays: [builtin:air-gapped, builtin:proxy]\n"
        "values: {airGap: {mirror: https://mirror}, proxy: {url: http://proxy}}\n"
    )
    shown = run(installed / "osm-gitops", "osp", "show", "osp-ubuntu", "--overlay", "overlay.yaml", cwd=tmp_path)
    assert yaml.safe_load(shown)["kind"] == "OperatingSystemProfile"


def test_what_is_installed_needs_no_place_to_write_but_the_target(installed: Path, tmp_path: Path) -> None:
    """As in a container with a read-only root: no home, no bytecode, only the temporary folder."""
    shutil.copytree(ROOT / "overlays" / "demo", tmp_path / "fleet")
    (tmp_path / "tmp").mkdir()
    before = sorted(path for path in (tmp_path / "fleet").rglob("*"))
    ran = subprocess.run(
        [str(installed / "osm-gitops"), "plan"],
        cwd=tmp_path / "fleet",
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "TMPDIR": str(tmp_path / "tmp"),
            "PYTHONDONTWRITEBYTECODE": "1",
            **DEMO_KEY,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Plan: 29 to create" in ran.stdout
    assert sorted(path for path in (tmp_path / "fleet").rglob("*")) == before
    assert list((tmp_path / "tmp").iterdir()) == []


# --- the image: what can be said of it without building it ---


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def test_the_image_is_on_one_base_pinned_by_digest_and_runs_without_rights() -> None:
    found = instructions()
    bases = [rest.split(" AS ")[0] for word, rest in found if word == "FROM"]
    stages = {rest.split(" AS ")[1] for word, rest in found if word == "FROM" and " AS " in rest}
    # The virtual environment of the first stage points to the Python of the last.
    (base,) = set(bases) - stages
    assert re.fullmatch(r"docker\.io/library/python:3\.1[1-9]-slim@sha256:[0-9a-f]{64}", base)
    assert bases[-1] == base
    users = [rest for word, rest in found if word == "USER"]
    assert users == ["65532:65532"]
    assert found[-1] == ("ENTRYPOINT", '["osm-gitops"]')


def test_what_the_wheel_is_built_from_is_let_into_the_image_and_nothing_else() -> None:
    """tests/image looks at what that comes to."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", "uv.lock", "README.md", "LICENSE", *build["packages"], *build["force-include"]}
    assert next(line for line in lines if line and not line.startswith(("#", "!"))) == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == needed
    assert all((ROOT / name).exists() for name in needed)
    assert [rest for word, rest in instructions() if word == "COPY" and "--from" not in rest] == [
        "pyproject.toml uv.lock ./",
        ". .",
    ]


def make_image(folder: Path, programs: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """`make image` on a machine that has these builders: scripts that answer `info` and print what they are told."""
    for name in ("bash", "sh", "make", "sed", "sort", "git", "dirname", "cat"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    for name, script in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        (folder / name).chmod(0o755)
    return subprocess.run(
        [str(folder / "make"), "image", *arguments],
        cwd=ROOT,
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


_WORKS = '[ "$1" = info ] && exit; echo "$0 $*"; cat'


def test_the_image_is_built_with_the_first_builder_that_works(tmp_path: Path) -> None:
    ran = make_image(tmp_path, {"docker": "exit 1", "podman": _WORKS, "buildah": _WORKS})
    assert ran.returncode == 0, ran.stderr
    command, _, dockerfile = ran.stdout.partition("\n")
    assert command.startswith(f"{tmp_path}/podman build --tag osm-gitops --label ")
    assert command.endswith(" --file - .")
    assert dockerfile == (ROOT / "Dockerfile").read_text("utf-8")
    assert f" --label org.opencontainers.image.version={__version__} " in command
    pinned = re.search(r"^FROM (docker\.io/library/python:\S+)@(sha256:\w+)", dockerfile, re.MULTILINE)
    assert pinned is not None
    assert f" --label org.opencontainers.image.base.name={pinned[1]} " in command
    assert f" --label org.opencontainers.image.base.digest={pinned[2]} " in command


def test_the_image_is_built_on_another_base_if_one_is_named(tmp_path: Path) -> None:
    ran = make_image(tmp_path, {"docker": _WORKS}, "BASE=mirror.example.com/python:3.13-slim", "IMAGE=registry/ours:1")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"{tmp_path}/docker build --tag registry/ours:1 ")
    assert "image.base.name=mirror.example.com/python:3.13-slim " in ran.stdout
    assert "image.base.digest" not in ran.stdout
    assert "docker.io" not in ran.stdout
    assert len(re.findall(r"^FROM mirror\.example\.com/python:3\.13-slim( AS .*)?$", ran.stdout, re.MULTILINE)) == 3


def test_without_a_builder_make_image_says_what_to_install(tmp_path: Path) -> None:
    ran = make_image(tmp_path, {"docker": "exit 1"})
    assert ran.returncode != 0
    assert "none of docker, podman and buildah works here: install one of them, or start docker's daemon" in ran.stderr


def test_the_image_builds_with_the_makefiles_uv() -> None:
    makefile = re.search(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    image = re.search(r"uv==(\S+)", (ROOT / "Dockerfile").read_text("utf-8"))
    assert makefile is not None
    assert image is not None
    assert makefile[1] == image[1]


def test_the_image_brings_what_a_run_calls() -> None:
    installs = next(rest for word, rest in instructions() if word == "RUN" and "safe.directory" in rest)
    assert {"git", "openssh-client"} <= set(installs.split())
    # A mounted repo belongs to another user: git must be told that this is fine.
    assert "git config --system --add safe.directory '*'" in installs


# --- the pipeline ---


def test_the_workflow_runs_the_gate_with_few_rights_and_pinned_actions() -> None:
    workflow: dict[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    namespaces = "sudo sysctl --write kernel.apparmor_restrict_unprivileged_userns=0"
    assert [step["run"] for step in steps if "run" in step] == [namespaces, ".ci/run", "make test", "make coverage"]
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step)
    assert all(step["with"]["persist-credentials"] is False for step in steps if "checkout" in step.get("uses", ""))


def test_the_tests_run_on_every_python_that_is_supported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    stated = re.findall(r"Python :: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    assert project["requires-python"] == f">={stated[0]}"
    (made,) = re.findall(r"^PYTHONS := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert made.split() == stated
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]
    (gate,) = (step["with"]["python-version"] for step in jobs["ci"]["steps"] if "setup-python" in step.get("uses", ""))
    assert [gate, *jobs["python"]["strategy"]["matrix"]["python"]] == stated
    assert jobs["python"]["env"] == {"UV_PYTHON": "${{ matrix.python }}"}  # else uv takes the first that it finds


def test_the_gate_runs_lint_and_the_readmes_test_command() -> None:
    gate = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert {"make lint", "make docs", "make test", "make test-all", "make test-conformance"} <= set(gate)
    assert "$ make test\n" in (ROOT / "README.md").read_text("utf-8")


def test_no_target_needs_more_than_every_machine_has(tmp_path: Path) -> None:
    """Targets are read with a path that has the tools of every machine and nothing else."""
    for name in ("bash", "sh", "make", "python3", "git"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    for target in ("demo", "test", "test-all", "test-pythons", "coverage", "lint", "docs", "bench", "dist"):
        ran = subprocess.run(
            [str(tmp_path / "make"), "--dry-run", target],
            cwd=ROOT,
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert ".tools/bin/uv run --frozen" in ran.stdout  # and it gets its own uv


def test_the_first_target_says_that_it_sets_up(tmp_path: Path) -> None:
    """Packages come without a word of uv's; the next target has nothing to set up."""
    for name in ("Makefile", "pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    programs = tmp_path / "bin"
    (tmp_path / ".venv").mkdir()
    programs.mkdir()
    (programs / "uv").write_text("#!/bin/sh\necho called >&2\n", "utf-8")
    (programs / "uv").chmod(0o755)
    said = [
        subprocess.run(
            ["make", "--silent", "setup"],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for _ in range(2)
    ]
    assert re.fullmatch(r"Setting up Python packages in \.venv, [^\n]*\ncalled\n", said[0])
    assert said[1] == ""


def test_the_lock_file_is_what_pyproject_asks_for() -> None:
    uv("lock", "--check", "--offline")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"
