"""Releases: one version, a dated changelog, a signed tag, and every step of the release workflow but the uploads."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from referencing import Registry
from referencing.jsonschema import DRAFT7

from osm_gitops import __version__
from tests.actions.runner import load

ROOT = Path(__file__).resolve().parent.parent
WORKFLOW = load(ROOT / ".github" / "workflows" / "release.yml")
# CycloneDX's own schemas. Its validator checks each address by grammar, which takes minutes for an SBOM of this size.
SCHEMAS = Path(str(files("cyclonedx.schema") / "_res"))
# SHA-256 of the changelog's sections, heading line included.
_SECTIONS = {
    "0.2.0": "f3ebaac0438e7fd9d872d97f7046a02bcdec971fc20df09887cc922907f5c63a",
    "0.1.0": "6cca32152cdba0106e783c9adc16ac9dc967136f197d462240d1976f6ef906bf",
}
NEXT = "987.6.5"
TAG = f"v{NEXT}"
DAY = "2026-12-24"


# --- the repository as it is ---


def headings() -> list[str]:
    return re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)


def test_the_changelog_has_a_dated_section_for_each_release_newest_first() -> None:
    found = headings()
    released = found[1:] if found[0] == "Unreleased" else found
    versions = []
    for heading in released:
        version, _, day = heading.partition(" - ")
        date.fromisoformat(day)
        versions.append(tuple(int(part) for part in version.split(".")))
    assert versions == sorted(set(versions), reverse=True)
    assert ".".join(map(str, versions[0])) == __version__


def test_sections_of_releases_stay_as_they_were() -> None:
    """What came later belongs into ``Unreleased``: a section says what its version is. Add each release's digest."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = {body.partition(" ")[0]: body for body in text.split("\n## ")[1:]}
    digests = {version: hashlib.sha256(sections[version].strip().encode()).hexdigest() for version in _SECTIONS}
    assert digests == _SECTIONS


def texts(root: Path) -> list[Path]:
    """Everything that users read or `init` writes."""
    scaffold = [path for path in (root / "osm_gitops").rglob("*") if path.suffix in {".md", ".yaml", ".yml"}]
    assert scaffold
    return [root / "README.md", *(root / "docs").rglob("*.md"), *scaffold]


def test_the_version_is_stated_in_one_file_and_documents_name_that_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"] == {"path": "osm_gitops/__init__.py"}
    stated = re.compile(r"\bosm-gitops[ :@]v?(\d+\.\d+\.\d+)\b|\bOWNER/osm-gitops\S* .*?\bv(\d+\.\d+\.\d+)\b")
    for path in texts(ROOT):
        for found in stated.finditer(path.read_text("utf-8")):
            assert (found[1] or found[2]) == __version__, f"{path}: {found[0]}"


def test_only_steps_that_upload_are_left_out_and_each_says_so() -> None:
    for name, job in WORKFLOW["jobs"].items():
        for step in job.get("steps", []):
            text = step.get("uses", step.get("run", ""))
            publishes = re.search(r"pypi-publish|actions/attest@|gh release|\bpush\b", text) is not None
            assert step.get("name", "").startswith("Upload ") == publishes, (name, step)
    assert WORKFLOW["jobs"]["gate"]["uses"] == "./.github/workflows/ci.yml"
    # Nothing is published before the gate passed, the tag was checked and a reviewer approved.
    for job in ("attest", "image"):
        assert WORKFLOW["jobs"][job]["needs"] == ["gate", "build"]
        assert WORKFLOW["jobs"][job]["environment"] == "release"
    assert WORKFLOW["jobs"]["pypi"]["needs"] == ["attest", "image"]
    assert WORKFLOW["jobs"]["github"]["needs"] == "pypi"


# --- a release of a copy of the repository, with real keys and real git ---


def run(folder: Path, *command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "OSM_GITOPS_"))}
    config = {"GIT_CONFIG_GLOBAL": str(folder.parent / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        [str(each) for each in command],
        cwd=folder,
        env=kept | config | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def done(folder: Path, *command: str | Path) -> str:
    ran = run(folder, *command)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def key(folder: Path, name: str) -> Path:
    """A new SSH key; returns the private half."""
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path], check=True)
    return path


def allowed(private: Path) -> str:
    """A line of ALLOWED SIGNERS for a key."""
    return f'release@example.com namespaces="git" {private.with_suffix(".pub").read_text("utf-8")}'


def sign(clone: Path, private: Path, tag: str = TAG) -> None:
    done(clone, "git", "-c", "gpg.format=ssh", "-c", f"user.signingKey={private}", "tag", "-f", "-s", "-m", tag, tag)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A clone of this repository with one change since the last release, prepared for the next one; the private key."""
    folder = tmp_path_factory.mktemp("release")
    (folder / "gitconfig").write_text("[user]\n\tname = Release Manager\n\temail = release@example.com\n")
    left_out = shutil.ignore_patterns(".git", ".venv", ".tools", ".demo", "dist", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, folder / "work", ignore=left_out, symlinks=True)
    work = folder / "work"
    changelog = (work / "CHANGELOG.md").read_text("utf-8")
    if headings()[0] == "Unreleased":
        changelog = changelog.replace(changelog.partition("## Unreleased\n")[2].partition("\n## ")[0], "\n")
        changelog = changelog.replace("## Unreleased\n", "")
    (work / "CHANGELOG.md").write_text(
        changelog.replace("# Changelog\n", "# Changelog\n\n## Unreleased\n\n- Pools sing.\n", 1), "utf-8"
    )
    done(folder, "git", "init", "--quiet", "--initial-branch", "main", "work")
    done(work, "python3", ".ci/release.py", "prepare", NEXT, "--date", DAY)
    done(work, "git", "add", "--all")
    done(work, "git", "commit", "--quiet", "-m", f"Release {NEXT}")
    done(folder, "git", "init", "--quiet", "--bare", "--initial-branch", "main", "origin.git")
    done(work, "git", "push", "--quiet", folder / "origin.git", "main")
    return folder / "origin.git", key(folder, "manager")


@pytest.fixture
def clone(prepared: tuple[Path, Path], tmp_path: Path) -> Path:
    (tmp_path / "gitconfig").write_bytes((prepared[0].parent / "gitconfig").read_bytes())
    done(tmp_path, "git", "clone", "--quiet", prepared[0], "clone")
    return tmp_path / "clone"


def problems(clone: Path, signers: str) -> list[str]:
    ran = run(clone, "python3", ".ci/release.py", "check", TAG, RELEASE_SIGNERS=signers)
    assert ran.returncode == (1 if ran.stderr else 0)
    assert "Traceback" not in ran.stderr
    return [line.removeprefix("error: ") for line in ran.stderr.splitlines()]


def commit(clone: Path, path: str, old: str, new: str) -> None:
    text = (clone / path).read_text("utf-8")
    assert old in text
    (clone / path).write_text(text.replace(old, new, 1), "utf-8")
    done(clone, "git", "commit", "--quiet", "--all", "-m", "Change")
    done(clone, "git", "update-ref", "refs/remotes/origin/main", "HEAD")


def test_prepare_writes_the_version_everywhere_and_dates_the_changelog(clone: Path) -> None:
    assert f'__version__ = "{NEXT}"\n' in (clone / "osm_gitops" / "__init__.py").read_text("utf-8")
    assert f"# Changelog\n\n## {NEXT} - {DAY}\n\n- Pools sing.\n" in (clone / "CHANGELOG.md").read_text("utf-8")
    assert f"\nosm-gitops {NEXT}\n" in (clone / "README.md").read_text("utf-8")
    named = re.compile(rf"\bosm-gitops[ :]{re.escape(__version__)}\b|\bv{re.escape(__version__)}\b")
    assert [path for path in texts(clone) if named.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("1.2", "'1.2' is not a version: give three numbers, such as 1.2.3"),
        ("0.0.9", f"0.0.9 is not above the current version {NEXT}"),
    ],
)
def test_prepare_refuses_a_version_that_cannot_follow_and_a_changelog_without_changes(
    clone: Path, version: str, problem: str
) -> None:
    ran = run(clone, "python3", ".ci/release.py", "prepare", version)
    assert (ran.returncode, ran.stdout) == (1, "")
    section = f"error: CHANGELOG.md: the first section is '{NEXT} - {DAY}'; expected 'Unreleased'"
    assert ran.stderr.splitlines() == [f"error: {problem}", section]
    assert done(clone, "git", "status", "--porcelain") == ""


def test_a_release_that_agrees_passes(clone: Path, prepared: tuple[Path, Path]) -> None:
    sign(clone, prepared[1])
    assert problems(clone, allowed(prepared[1])) == []


def test_a_tag_without_the_signature_of_a_release_manager_is_refused(
    clone: Path, prepared: tuple[Path, Path], tmp_path: Path
) -> None:
    done(clone, "git", "tag", TAG)
    (lightweight,) = problems(clone, allowed(prepared[1]))
    assert lightweight.startswith(f"{TAG} is not a signed tag here")
    done(clone, "git", "tag", "-f", "-a", "-m", TAG, TAG)
    (unsigned,) = problems(clone, allowed(prepared[1]))
    assert unsigned.startswith(f"{TAG} has no SSH signature")
    sign(clone, key(tmp_path, "stranger"))
    (foreign,) = problems(clone, allowed(prepared[1]))
    assert foreign.startswith(f"the signature of {TAG} is not from RELEASE_SIGNERS")
    (empty,) = problems(clone, "")
    assert empty.startswith("RELEASE_SIGNERS is empty")


def test_a_tag_that_was_altered_after_it_was_signed_is_refused(clone: Path, prepared: tuple[Path, Path]) -> None:
    sign(clone, prepared[1])
    altered = done(clone, "git", "cat-file", "tag", TAG).replace("Release Manager", "Release manager")
    (clone.parent / "tag").write_text(altered)
    made = done(clone, "git", "hash-object", "-t", "tag", "-w", clone.parent / "tag").strip()
    done(clone, "git", "update-ref", f"refs/tags/{TAG}", made)
    (problem,) = problems(clone, allowed(prepared[1]))
    assert problem.startswith(f"the signature of {TAG} is not from RELEASE_SIGNERS")


def test_a_signed_tag_under_another_name_is_refused(clone: Path, prepared: tuple[Path, Path]) -> None:
    sign(clone, prepared[1], "v1.0.0")
    done(clone, "git", "update-ref", f"refs/tags/{TAG}", "refs/tags/v1.0.0")
    assert problems(clone, allowed(prepared[1])) == [f"the tag object of {TAG} was signed for another name"]


def test_a_tag_of_a_commit_that_is_not_on_the_main_branch_is_refused(clone: Path, prepared: tuple[Path, Path]) -> None:
    done(clone, "git", "commit", "--quiet", "--allow-empty", "-m", "Not reviewed")
    sign(clone, prepared[1])
    assert problems(clone, allowed(prepared[1])) == [f"the commit of {TAG} is not on origin/main: release from there"]
    done(clone, "git", "checkout", "--quiet", "HEAD^")
    (other, _) = problems(clone, allowed(prepared[1]))
    assert other == f"{TAG} names another commit than the one that is checked out"


@pytest.mark.parametrize(
    ("path", "old", "new", "problem"),
    [
        (
            "osm_gitops/__init__.py",
            NEXT,
            "987.6.4",
            f"the tag is {TAG}, but the version is 987.6.4: expected",
        ),
        (
            "CHANGELOG.md",
            f" - {DAY}",
            "",
            f"CHANGELOG.md: the first section is '{NEXT}'; expected",
        ),
        ("CHANGELOG.md", DAY, "2026-13-01", f"CHANGELOG.md: the first section is '{NEXT} - 2026-13-01'; expected"),
        ("CHANGELOG.md", NEXT, "Unreleased", "CHANGELOG.md: the first section is 'Unreleased - "),
        ("CHANGELOG.md", "- Pools sing.\n", "", f"CHANGELOG.md: the section '{NEXT} - {DAY}' is empty"),
    ],
)
def test_version_tag_and_changelog_must_agree(
    clone: Path, prepared: tuple[Path, Path], path: str, old: str, new: str, problem: str
) -> None:
    commit(clone, path, old, new)
    sign(clone, prepared[1])
    assert problems(clone, allowed(prepared[1]))[0].startswith(problem)


def test_a_changed_work_tree_is_not_released(clone: Path, prepared: tuple[Path, Path]) -> None:
    sign(clone, prepared[1])
    (clone / "osm_gitops" / "extra.py").write_text("")
    (problem,) = problems(clone, allowed(prepared[1]))
    assert problem == "the work tree differs from its commit: ?? osm_gitops/extra.py"


# --- the workflow ---


class Runner:
    """The jobs of the release workflow, each in a folder of its own, with the artifacts that they hand on."""

    def __init__(self, folder: Path, origin: Path, values: dict[str, str]) -> None:
        self.folder = folder
        self.origin = origin
        self.values = dict(values)
        self.log = ""
        self.uploads: list[tuple[str, dict[str, str]]] = []
        folder.mkdir(exist_ok=True)
        (folder / "gitconfig").write_bytes((origin.parent / "gitconfig").read_bytes())

    def job(self, name: str) -> Path:
        """Run a job's steps in order; an upload is noted instead. Returns the job's folder."""
        workspace = self.folder / name
        workspace.mkdir()
        for step in WORKFLOW["jobs"][name]["steps"]:
            if "run" in step:
                self._run(workspace, step)
            else:
                self._use(workspace, step["uses"].partition("@")[0], step["with"])
        return workspace

    def _run(self, workspace: Path, step: dict[str, Any]) -> None:
        environment = {name: self._text(value) for name, value in step.get("env", {}).items()}
        if step.get("name", "").startswith("Upload "):
            self.uploads.append((step["run"].split(maxsplit=1)[0], environment))
            return
        # The environment that runs the tests serves; test_packaging.py installs from the lock file.
        tools = {
            "PATH": f"{self.folder / 'bin'}:{ROOT / '.tools' / 'bin'}:{os.environ['PATH']}",
            "UV_PROJECT_ENVIRONMENT": sys.prefix,
            "UV_NO_SYNC": "1",
        }
        outputs = self.folder / "outputs"
        outputs.write_text("", "utf-8")
        shell = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"])
        environment |= {"GITHUB_OUTPUT": str(outputs)}
        ran = run(workspace / step.get("working-directory", "."), *shell, **tools, **environment)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        self.log += ran.stdout
        for line in outputs.read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value

    def _use(self, workspace: Path, action: str, given: dict[str, Any]) -> None:
        if action == "actions/checkout":
            done(self.folder, "git", "clone", "--quiet", self.origin, workspace)
            done(workspace, "git", "checkout", "--quiet", f"refs/tags/{TAG}")
            (workspace / ".venv").mkdir()
            (workspace / ".venv" / ".ready").touch()  # so that make installs nothing
        elif action == "actions/upload-artifact":
            shutil.copytree(workspace / given["path"], self.folder / "artifacts" / given["name"])
        elif action == "actions/download-artifact":
            shutil.copytree(self.folder / "artifacts" / given["name"], workspace / given["path"])
        elif action in {"actions/attest", "pypa/gh-action-pypi-publish"}:
            self.uploads.append((action, {name: self._text(str(value)) for name, value in given.items()}))
        else:
            assert action == "actions/setup-python"

    def _text(self, template: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.values[found[1]], template)


@pytest.fixture(scope="module")
def released(prepared: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Runner:
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "gitconfig").write_bytes((prepared[0].parent / "gitconfig").read_bytes())
    done(folder, "git", "clone", "--quiet", prepared[0], "manager")
    sign(folder / "manager", prepared[1])
    done(folder / "manager", "git", "push", "--quiet", "origin", TAG)
    values = {
        "github.ref_name": TAG,
        "github.repository": "Example/osm-gitops",
        "github.token": "a-token",
        "vars.RELEASE_SIGNERS": allowed(prepared[1]),
    }
    return Runner(folder, prepared[0], values)


@pytest.fixture(scope="module")
def dist(released: Runner) -> Path:
    return released.job("build") / "dist"


def test_the_build_job_checks_the_tag_and_makes_all_files(dist: Path) -> None:
    packages = {f"osm_gitops-{NEXT}-py3-none-any.whl", f"osm_gitops-{NEXT}.tar.gz"}
    assert {path.name for path in dist.iterdir()} == {*packages, "osm-gitops.cdx.json", "SHA256SUMS"}
    metadata = f"osm_gitops-{NEXT}.dist-info/METADATA"
    with zipfile.ZipFile(dist / f"osm_gitops-{NEXT}-py3-none-any.whl") as wheel:
        assert f"\nVersion: {NEXT}\n" in wheel.read(metadata).decode()
    with tarfile.open(dist / f"osm_gitops-{NEXT}.tar.gz") as archive:
        assert f"osm_gitops-{NEXT}/osm_gitops/__init__.py" in archive.getnames()


def test_the_checksums_name_every_file(dist: Path) -> None:
    lines = (dist / "SHA256SUMS").read_text("utf-8").splitlines()
    assert {name: digest for digest, name in (line.split("  ") for line in lines)} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in dist.iterdir() if path.name != "SHA256SUMS"
    }


def test_the_sbom_is_cyclonedx_and_lists_what_the_lock_file_installs(dist: Path) -> None:
    bill = json.loads((dist / "osm-gitops.cdx.json").read_text("utf-8"))
    schemas = {
        f"http://cyclonedx.org/schema/{path.name}": json.loads(path.read_bytes()) for path in SCHEMAS.glob("*.json")
    }
    registry: Registry[Any] = Registry().with_resources(
        (uri, DRAFT7.create_resource(each)) for uri, each in schemas.items()
    )
    schema = schemas["http://cyclonedx.org/schema/bom-1.5.SNAPSHOT.schema.json"]
    assert list(Draft7Validator(schema, registry=registry).iter_errors(bill)) == []
    component = bill["metadata"]["component"]
    assert (component["name"], component["version"], component["type"]) == ("osm-gitops", NEXT, "application")
    locked = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]
    (project,) = (package for package in locked if package["name"] == "osm-gitops")
    by_name = {package["name"]: package for package in locked}
    extras = [entry for entries in project["optional-dependencies"].values() for entry in entries]
    waiting = [entry["name"] for entry in [*project["dependencies"], *extras]]
    installed: set[str] = set()
    while waiting:
        if (name := waiting.pop()) not in installed:
            installed.add(name)
            waiting += [entry["name"] for entry in by_name[name].get("dependencies", [])]
    assert {(each["name"], each["version"]) for each in bill["components"]} == {
        (name, by_name[name]["version"]) for name in installed
    }
    assert "pytest" not in installed


def test_the_same_commit_gives_the_same_bytes(dist: Path, released: Runner) -> None:
    before = (dist / "SHA256SUMS").read_bytes()
    again = Runner(released.folder / "again", released.origin, released.values)
    assert (again.job("build") / "dist" / "SHA256SUMS").read_bytes() == before


@pytest.mark.usefixtures("dist")
def test_attestations_name_files_that_there_are(released: Runner) -> None:
    workspace = released.job("attest")
    (provenance, sbom) = (given for action, given in released.uploads if action == "actions/attest")
    assert (workspace / provenance["subject-checksums"]).is_file()
    assert (workspace / sbom["sbom-path"]).is_file()
    assert [path.suffix for path in workspace.glob(sbom["subject-path"])] == [".whl"]


def test_the_image_is_built_for_the_registry_and_attested_by_its_digest(released: Runner, tmp_path: Path) -> None:
    """tests/image builds it for real; here docker prints what it is told."""
    runner = Runner(tmp_path, released.origin, released.values | {"steps.upload.outputs.digest": "sha256:1234"})
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "docker").write_text('#!/bin/sh\necho "docker $*"\ncat >/dev/null\n', "utf-8")
    (tmp_path / "bin" / "docker").chmod(0o755)
    runner.job("image")
    assert f"docker build --tag ghcr.io/example/osm-gitops:{NEXT} " in runner.log
    assert f" --label org.opencontainers.image.version={NEXT} " in runner.log
    (push, environment), (_, attested) = runner.uploads
    assert (push, environment["NAME"]) == ("docker", "ghcr.io/example/osm-gitops")
    assert attested["subject-name"] == "ghcr.io/example/osm-gitops"
    assert attested["subject-digest"] == "sha256:1234"


@pytest.mark.usefixtures("dist")
def test_pypi_gets_the_packages_alone_and_no_token(released: Runner) -> None:
    workspace = released.job("pypi")
    (given,) = (given for action, given in released.uploads if action == "pypa/gh-action-pypi-publish")
    assert given.keys() == {"packages-dir"}
    assert sorted(path.name for path in (workspace / given["packages-dir"]).iterdir()) == [
        f"osm_gitops-{NEXT}-py3-none-any.whl",
        f"osm_gitops-{NEXT}.tar.gz",
    ]


@pytest.mark.usefixtures("dist")
def test_the_release_page_has_the_changelogs_section(released: Runner) -> None:
    assert (released.job("github") / "notes.md").read_text("utf-8") == "- Pools sing.\n"
    (environment,) = (given for action, given in released.uploads if action == "gh")
    assert environment == {"TAG": TAG, "GH_TOKEN": "a-token", "GH_REPO": "Example/osm-gitops"}


@pytest.mark.usefixtures("dist")
def test_a_file_that_changes_on_its_way_to_a_job_stops_that_job(released: Runner, tmp_path: Path) -> None:
    runner = Runner(tmp_path, released.origin, released.values)
    shutil.copytree(released.folder / "artifacts", tmp_path / "artifacts")
    (wheel,) = (tmp_path / "artifacts" / "dist").glob("*.whl")
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    with pytest.raises(AssertionError, match="whl: FAILED"):
        runner.job("pypi")
    assert runner.uploads == []
