"""Prepare, check and describe a release. Standard library only: it runs before anything is installed.

The version is ``__version__`` of ``osm_gitops/__init__.py``. A release is that version, the changelog's first section
under a dated heading (``## 1.2.3 - 2026-01-31``), and a tag ``v1.2.3`` that an SSH key of a release manager signed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import uuid
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VERSION_FILE = ROOT / "osm_gitops" / "__init__.py"
CHANGELOG = ROOT / "CHANGELOG.md"
UNRELEASED = "Unreleased"
_VERSION_LINE = re.compile(r'^__version__ = "(.*)"$', re.MULTILINE)
_NUMBERS = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_RELEASE_HEADING = re.compile(r"(\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})")


class ReleaseError(Exception):
    """All reasons why a release cannot be made, one sentence each."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


def current_version() -> str:
    """The version that the package states."""
    found = _VERSION_LINE.findall(VERSION_FILE.read_text("utf-8"))
    if len(found) != 1:
        raise ReleaseError(f'{_shown(VERSION_FILE)}: expected one line `__version__ = "..."`, found {len(found)}')
    return str(found[0])


def first_section() -> tuple[str, str]:
    """The heading and the text of the changelog's first section; both are empty without one."""
    sections = re.split(r"^## (.*)\n", CHANGELOG.read_text("utf-8"), flags=re.MULTILINE)
    return (sections[1].strip(), sections[2].strip()) if len(sections) > 1 else ("", "")


def documents() -> list[Path]:
    """The texts that may name the current version: documents, and what `osm-gitops init` writes."""
    written = (path for path in (ROOT / "osm_gitops").rglob("*") if path.suffix in {".md", ".yaml", ".yml"})
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(written)]


def prepare(version: str, day: date) -> list[Path]:
    """Write the version and the dated heading; return the files that changed.

    Texts that name the current version in a command or a pin (``osm-gitops:1.2.3``, ``v1.2.3``) follow.
    """
    old = current_version()
    heading, text = first_section()
    problems = []
    if not _NUMBERS.fullmatch(version):
        problems.append(f"{version!r} is not a version: give three numbers, such as 1.2.3")
    elif _numbers(version) <= _numbers(old):
        problems.append(f"{version} is not above the current version {old}")
    if heading != UNRELEASED:
        problems.append(f"{_shown(CHANGELOG)}: the first section is {heading!r}; expected {UNRELEASED!r}")
    elif not text:
        problems.append(f"{_shown(CHANGELOG)}: the section {UNRELEASED!r} is empty: describe what users notice")
    if problems:
        raise ReleaseError(*problems)

    named = re.compile(rf"(?<=\bosm-gitops[ :]){re.escape(old)}\b|\bv{re.escape(old)}\b")
    after = {
        VERSION_FILE: _VERSION_LINE.sub(f'__version__ = "{version}"', _read(VERSION_FILE)),
        CHANGELOG: _read(CHANGELOG).replace(f"## {UNRELEASED}\n", f"## {version} - {day}\n", 1),
    }
    for document in documents():
        after[document] = named.sub(lambda found: found[0].replace(old, version), _read(document))
    changed = [path for path, text in after.items() if text != _read(path)]
    for path in changed:
        path.write_bytes(after[path].encode())
    return changed


def check(tag: str, signers: str, branch: str) -> list[str]:
    """Why the work tree is not the release that the tag names; empty if it is.

    ``signers`` are lines as ssh-keygen reads them (ALLOWED SIGNERS). They must come from outside of the tagged tree:
    whoever can push a tag could change a file in it.
    """
    version = current_version()
    problems = []
    if tag != f"v{version}":
        problems.append(f"the tag is {tag}, but the version is {version}: expected tag v{version}")
    heading, text = first_section()
    dated = _RELEASE_HEADING.fullmatch(heading)
    if not dated or dated[1] != version or not _is_date(dated[2]):
        problems.append(
            f"{_shown(CHANGELOG)}: the first section is {heading!r}; expected {version!r} with its date, "
            f"such as '{version} - 2026-01-31'"
        )
    elif not text:
        problems.append(f"{_shown(CHANGELOG)}: the section {heading!r} is empty")
    if changes := _git("status", "--porcelain").stdout:
        problems.append(f"the work tree differs from its commit: {', '.join(changes.splitlines())}")
    return [*problems, *_check_tag(tag, signers, branch)]


def _check_tag(tag: str, signers: str, branch: str) -> list[str]:
    """Why the tag must not be trusted."""
    reference = f"refs/tags/{tag}"
    if _git("cat-file", "-t", reference).stdout.strip() != "tag":
        return [f"{tag} is not a signed tag here: create it with `git tag --sign`, and fetch it with its tag object"]
    problems = []
    content = _git("cat-file", "tag", reference).stdout
    header = content.partition("\n\n")[0].splitlines()
    if f"tag {tag}" not in header:  # a signed tag can be pushed under the name of another one
        problems.append(f"the tag object of {tag} was signed for another name")
    if _git("rev-parse", f"{reference}^{{commit}}").stdout != _git("rev-parse", "HEAD").stdout:
        problems.append(f"{tag} names another commit than the one that is checked out")
    if _git("merge-base", "--is-ancestor", f"{reference}^{{commit}}", branch).returncode != 0:
        problems.append(f"the commit of {tag} is not on {branch}: release from there")
    if not signers.strip():
        problems.append("RELEASE_SIGNERS is empty: set it to the public keys of the release managers (ssh-keygen(1))")
    elif "-----BEGIN SSH SIGNATURE-----" not in content:
        problems.append(f"{tag} has no SSH signature: sign it with `git -c gpg.format=ssh tag --sign`")
    else:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".allowed-signers") as file:
            file.write(signers.rstrip("\n") + "\n")
            file.flush()
            verified = _git("-c", f"gpg.ssh.allowedSignersFile={file.name}", "verify-tag", reference)
        if verified.returncode != 0:
            problems.append(f"the signature of {tag} is not from RELEASE_SIGNERS: {' '.join(verified.stderr.split())}")
    return problems


def describe_parts(exported: str, built: datetime) -> str:
    """What `uv export --format cyclonedx1.5` prints, completed by the release itself; the same bytes each time."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    bill: dict[str, Any] = json.loads(exported)
    del bill["serialNumber"]
    bill["metadata"]["timestamp"] = built.strftime("%Y-%m-%dT%H:%M:%SZ")
    bill["metadata"]["component"] |= {
        "type": "application",
        "version": current_version(),
        "purl": f"pkg:pypi/{project['name']}@{current_version()}",
        "licenses": [{"license": {"id": project["license"]}}],
    }
    name = json.dumps(bill, sort_keys=True)
    return json.dumps({**bill, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, name)}"}, indent=2) + "\n"


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def _read(path: Path) -> str:
    return path.read_bytes().decode()  # line endings as they are


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def main() -> int:
    """Run one command; problems go to stderr, all of them, and give exit code 1."""
    parser = argparse.ArgumentParser(prog="release.py", description="Prepare, check and describe a release.")
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = commands.add_parser("prepare", help="write the version and the changelog's dated heading")
    preparing.add_argument("version")
    preparing.add_argument("--date", type=date.fromisoformat, default=datetime.now(UTC).date(), help="default: today")
    checking = commands.add_parser("check", help="compare version, changelog, tag and signature (RELEASE_SIGNERS)")
    checking.add_argument("tag")
    checking.add_argument("--branch", default="origin/main", help="where releases are made (default: %(default)s)")
    commands.add_parser("notes", help="print the changelog's first section")
    commands.add_parser("sbom", help="complete uv's CycloneDX export, stdin to stdout (SOURCE_DATE_EPOCH)")
    given = parser.parse_args()
    try:
        if given.command == "prepare":
            for path in prepare(given.version, given.date):
                print(f"changed {_shown(path)}")
            print(f"next: commit, then `git tag --sign v{given.version}` and `git push origin v{given.version}`")
        elif given.command == "check":
            if problems := check(given.tag, os.environ.get("RELEASE_SIGNERS", ""), given.branch):
                raise ReleaseError(*problems)
            print(f"{given.tag}: version, changelog, commit and signature agree")
        elif given.command == "notes":
            print(first_section()[1])
        else:
            built = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
            print(describe_parts(sys.stdin.read(), built), end="")
    except ReleaseError as error:
        for problem in error.problems:
            print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
