"""Write a new config repository: its files, and git's repository.

If one of its files exists, nothing is written. If one cannot be written, the others are removed again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from osm_gitops.config.fleet_keys import SCHEMA_FILE
from osm_gitops.errors import Code, InputError, Problem, TargetError, target_error
from osm_gitops.git.repository import Repository, find_work_tree, require_git, start_repository
from osm_gitops.sops.document import encrypt
from osm_gitops.sops.recipients import recipient_problem
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.sources.builtin import newest
from osm_gitops.targets.file_encryption import HIDDEN
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents

DEFAULT_BRANCH: Final = "main"
CREDENTIALS: Final = (
    r"(?i)^(cloudProviderSpec|operatingSystemSpec|overwriteCloudConfig"
    r"|kubectl\.kubernetes\.io/last-applied-configuration)$"
)
"""The fields of a MachineDeployment that can have credentials, as an ``encrypted_regex``."""
_FILES: Final[Mapping[str, str]] = {
    "fleet.yaml": "osm-gitops.yaml",
    "pool.yaml": "pools/__CLUSTER__/example.yaml",
    "profiles.md": "osps/README.md",
    "cluster-info.yaml": "facts/__CLUSTER__/cluster-info.yaml",
    "getter-token.yaml": "facts/__CLUSTER__/getter-token.yaml",
    "sops.yaml": ".sops.yaml",
    "gitattributes": ".gitattributes",
    "gitignore": ".gitignore",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
    "workflow.yml": ".github/workflows/osm-gitops.yml",
    "README.md": "README.md",
}
"""Path of each text in the repository."""
_ENCRYPTED: Final = "getter-token.yaml"
# Only prose: a repository that was created on a server already has one.
_OPTIONAL: Final = "README.md"
_ON_GITHUB: Final = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_REVISION: Final = re.compile(r"[\w./ -]{1,100}")
_PINNED: Final = re.compile(r"uses: OWNER/osm-gitops/(\S+)@COMMIT # .*")
_HOW_TO_PIN: Final = re.compile(r" Replace OWNER and COMMIT where they stand here:\n.*")
_WORKFLOW_BRANCH: Final = "branches: [main]"


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The content of a new config repository. ``texts`` are by file name; ``schema`` is the schema of fleet files.

    ``places`` are the paths of the texts to write, ``filled`` are further placeholders with their values.
    """

    texts: Mapping[str, str]
    schema: str
    cluster: str
    recipients: Sequence[str]
    now: str
    places: Mapping[str, str] = field(default_factory=lambda: _FILES)
    filled: Mapping[str, str] = field(default_factory=dict)

    def files(self, branch: str) -> dict[str, bytes]:
        """The files by their path in the repository. Raises InputError for unusable recipients."""
        recipients = checked_recipients(self.recipients)
        names = {
            "__CLUSTER_NAME__": yaml_scalar(self.cluster),
            "__CLUSTER__": self.cluster,
            "__BRANCH__": yaml_scalar(branch),
            "__PROFILES_VERSION__": newest(),
            "__HIDDEN__": HIDDEN,
            "__CREDENTIALS__": CREDENTIALS,
            "__RECIPIENTS__": ",\n".join(f"    {recipient}" for recipient in recipients),
            **self.filled,
        }
        files = {_filled(place, names): self._content(name, names) for name, place in self.places.items()}
        return files | {SCHEMA_FILE: self.schema.encode()}

    def _content(self, name: str, names: Mapping[str, str]) -> bytes:
        text = _filled(self.texts[name], names)
        if name == "workflow.yml":
            text = text.replace(_WORKFLOW_BRANCH, f"branches: [{names['__BRANCH__']}]")
        if name != _ENCRYPTED:
            return text.encode()
        rule = Rule(checked_recipients(self.recipients), Selection(encrypted_regex=HIDDEN), "--age-recipient")
        (document,) = load_documents(text, name)
        return dump(encrypt(document.value, rule, now=self.now)).encode()


def checked_recipients(recipients: Sequence[str]) -> tuple[str, ...]:
    """Remove duplicates, and comments of SSH keys, which may contain a separator of .sops.yaml.

    Raises InputError for unusable recipients.
    """
    plain = tuple(dict.fromkeys(" ".join(recipient.split()[:2]) for recipient in recipients))
    problems = [problem for recipient in plain if (problem := recipient_problem(recipient))]
    if problems:
        raise InputError(problem.at(where="--age-recipient") for problem in problems)
    return plain


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of the repository."""

    root: Path
    branch: str
    is_repository: bool


def place_of(root: Path) -> Place:
    """Inspect a folder, which need not exist. Raises TargetError if it is inside of a work tree, or without git."""
    work_tree = find_work_tree(root)
    if work_tree is None:
        require_git()
        return Place(root, DEFAULT_BRANCH, is_repository=False)
    if work_tree.resolve() != root.resolve():
        raise target_error(
            Code.NOT_AT_THE_ROOT,
            f"is inside of the git work tree {work_tree}, but workflows work only at its root",
            where=str(root),
            fix=f"Run osm-gitops init {work_tree}, or run git init {root} first for a separate repository",
        )
    return Place(root, Repository(work_tree).branch() or DEFAULT_BRANCH, is_repository=True)


def free_files(place: Place, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files to write: all except an optional one that exists. Raises TargetError that names all others that
    exist."""
    chosen = {path: content for path, content in files.items() if path != _OPTIONAL or _is_free(place.root / path)}
    problems = list(_obstacles(place.root, chosen))
    if problems:
        raise TargetError(problems)
    return chosen


def write_files(place: Place, files: Mapping[str, bytes]) -> None:
    """Write all files and make the repository if there is none; on failure, remove what was written and raise."""
    done = _Writing(place.root)
    try:
        for path, content in files.items():
            done.write(path, content)
        if not place.is_repository:
            start_repository(place.root, place.branch)
    except BaseException:  # an interrupt too
        done.undo()
        raise


def pinned_workflow(text: str, direct_url: str) -> str:
    """The workflow with the repository and the commit that this program was installed from, if they are known.

    ``direct_url`` is what installers record (PEP 610), or empty. A release does not know its commit, so without a
    record the placeholders stay.
    """
    try:
        noted = json.loads(direct_url)
        address, vcs = noted["url"], noted["vcs_info"]
        commit, named = vcs["commit_id"], vcs.get("requested_revision") or "the default branch"
    except (ValueError, TypeError, KeyError, AttributeError):
        return text
    found = _ON_GITHUB.fullmatch(str(address))
    if found is None or not _COMMIT.fullmatch(str(commit)) or not _REVISION.fullmatch(str(named)):
        return text
    return _PINNED.sub(lambda line: f"uses: {found[1]}/{line[1]}@{commit} # {named}", _HOW_TO_PIN.sub("", text))


def refuse_key_in(root: Path, path: Path) -> None:
    """Refuse a key file inside of the repository. Raises TargetError."""
    if not path.resolve().is_relative_to(root.resolve()):
        return
    raise target_error(
        Code.KEY_IN_REPOSITORY,
        "the new private key would be inside of the repository",
        where=str(path),
        fix="Choose another folder, or make a key with age-keygen and pass its public key as --age-recipient",
    )


def yaml_scalar(text: str) -> str:
    """A name as a YAML scalar, also inside of brackets."""
    return json.dumps(text) if set(text) & set(",[]{}") else dump(text).rstrip("\n")


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(name, value)
    return text


def _is_free(path: Path) -> bool:
    return not os.path.lexists(path)


def _obstacles(root: Path, files: Mapping[str, bytes]) -> Iterator[Problem]:
    folders: set[Path] = set()
    for path in files:
        if not _is_free(root / path):
            yield Problem(
                Code.FILE_EXISTS,
                "exists, and init overwrites nothing",
                where=str(root / path),
                fix="Move it away, or run init in an empty folder and copy what you need",
            )
        # The user chose the root and the folders above it, so links there are fine.
        folders.update(folder for folder in (root / path).parents if folder.is_relative_to(root) and folder != root)
    folders.add(root)
    for folder in sorted(folders):
        if not _is_free(folder) and (not folder.is_dir() or (folder != root and folder.is_symlink())):
            yield Problem(
                Code.FILE_EXISTS, "is not a folder, and init needs one here", where=str(folder), fix="Move it away"
            )


class _Writing:
    """Records the files and folders that it makes, to remove them again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: list[Path] = []
        self._folders: list[Path] = []

    def write(self, path: str, content: bytes) -> None:
        file = self._root / path
        for folder in reversed([file.parent, *file.parent.parents]):
            if _is_free(folder):
                folder.mkdir()
                self._folders.append(folder)
        with file.open("xb") as opened:
            self._files.append(file)
            opened.write(content)

    def undo(self) -> None:
        for file in self._files:
            with suppress(OSError):
                file.unlink()
        for folder in reversed(self._folders):
            with suppress(OSError):
                folder.rmdir()
