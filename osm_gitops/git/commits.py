"""Commits: the history between two of them, what a new one needs (author, signing key), and their files."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from osm_gitops.bounded.files import shown_size
from osm_gitops.git.process import Git


@dataclass(frozen=True, slots=True)
class Divergence:
    """Numbers of commits that a branch is ahead of and behind its remote counterpart."""

    ahead: int
    behind: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit with its date (``YYYY-MM-DD``), the first line of its message, and its first parent, if there is one."""

    identity: str
    date: str
    subject: str
    author: str = ""
    parent: str = ""


_GRAPH: Final = ("--topo-order", "--no-show-signature", "--format=%H %ct %P")


class History:
    """The commits of one repository. A shallow one lacks older commits."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def newest(self, paths: Iterable[str]) -> Commit | None:
        """The newest commit of HEAD that changed one of ``paths``; ``None`` if none did, or none is known."""
        return next(iter(self._changing(paths, "--max-count=1")), None)

    def last(self, paths: Iterable[str], count: int) -> tuple[Commit, ...]:
        """The last commits of HEAD that changed one of ``paths``, newest first. A merge counts as one commit, with what
        it changed in the branch that it was merged into."""
        return self._changing(paths, "--first-parent", f"--max-count={count}")

    def _changing(self, paths: Iterable[str], *options: str) -> tuple[Commit, ...]:
        form = "--format=%H%x00%cs%x00%s%x00%an%x00%P"
        command = ("log", "--no-show-signature", *options, form, "HEAD", "--", *paths)
        said = self._git.execute(("--literal-pathspecs", *command))
        rows = (line.split("\0") for line in said.out.split("\n") if line and not said.status)
        return tuple(
            Commit(identity, date, subject, author, parents.partition(" ")[0])
            for identity, date, subject, author, parents in rows
        )

    def divergence(self, ref: str) -> Divergence:
        """The divergence of HEAD from a full ref name."""
        ahead, behind = self._git.run("rev-list", "--left-right", "--count", f"HEAD...{ref}", "--").split()
        return Divergence(int(ahead), int(behind))

    def merge_base(self, one: str, other: str) -> str | None:
        """The latest common ancestor of two commits; ``None`` if none is known."""
        return self._git.attempt("merge-base", one, other)

    def contains(self, newer: str, older: str) -> bool:
        """Whether ``older`` is ``newer`` or one of its ancestors."""
        return self._git.attempt("merge-base", "--is-ancestor", older, newer) is not None

    def paths_between(self, older: str, newer: str) -> tuple[str, ...]:
        """Paths that differ between two commits."""
        out = self._git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", older, newer, "--")
        return tuple(path for path in out.split("\0") if path)

    def foreign_commits(self, older: str, newer: str, trailer: str) -> tuple[str, ...]:
        """Commits of ``newer`` without our trailer that ``older`` does not have, latest first."""
        return tuple(commit for commit, ours in self._commits(older, newer, trailer) if not ours)

    def own_top(self, older: str, newer: str, trailer: str) -> tuple[str, ...]:
        """The topmost commits of ``newer`` with our trailer that ``older`` does not have."""
        top = []
        for commit, ours in self._commits(older, newer, trailer):
            if not ours:
                break
            top.append(commit)
        return tuple(top)

    def marks(self, newer: str, known: Iterable[str], trailer: str) -> tuple[tuple[str, str], ...]:
        """The commits of ``newer`` that none of ``known`` has, latest first, each with its value of the trailer."""
        return self._log(trailer, "--topo-order", newer, *(f"^{commit}" for commit in known))

    def mark(self, commit: str, trailer: str) -> str:
        """The value of a trailer of one commit, or an empty text."""
        return self._log(trailer, "--max-count=1", commit)[0][1]

    def changes_of(self, commit: str, paths: Iterable[str]) -> Iterator[tuple[str, datetime]]:
        """The commits in the first-parent history of ``commit`` that changed one of ``paths``, latest first, each with
        its time. A merge is one commit, with the time of the merge."""
        form = ("--first-parent", "-m", "--no-show-signature", "--format=%H %ct", "--no-patch")
        out = self._git.run("--literal-pathspecs", "log", *form, commit, "--", *paths)
        for line in out.splitlines():
            identity, _, time = line.partition(" ")
            yield identity, datetime.fromtimestamp(int(time), UTC)

    def arrivals(self) -> dict[str, datetime]:
        """When each commit of HEAD became a part of its branch: the time of the first-parent commit that brought it.
        Latest commits first."""
        lines = [line.split(" ") for line in self._git.run("log", *_GRAPH, "HEAD", "--").splitlines()]
        parents = {identity: each for identity, _, *each in lines}
        times = {identity: datetime.fromtimestamp(int(time), UTC) for identity, time, *_ in lines}
        branch = []
        here: str | None = lines[0][0] if lines else None
        while here is not None and here in parents:
            branch.append(here)
            here = next(iter(parents[here]), None)
        found: dict[str, datetime] = {}
        for arrival in reversed(branch):
            waiting = [arrival]
            while waiting:
                commit = waiting.pop()
                if commit in parents and commit not in found:
                    found[commit] = times[arrival]
                    waiting += parents[commit]
        return {identity: found[identity] for identity in parents if identity in found}

    def messages(self, word: str) -> dict[str, str]:
        """The messages of HEAD's commits with a line that has ``word``."""
        out = self._git.run("log", "--no-show-signature", "--fixed-strings", f"--grep={word}", "--format=%H%n%B%x00")
        entries = (entry.lstrip("\n").partition("\n") for entry in out.split("\0"))
        return {identity: message for identity, _, message in entries if identity}

    def _commits(self, older: str, newer: str, trailer: str) -> list[tuple[str, bool]]:
        return [(commit, bool(value)) for commit, value in self.marks(newer, (older,), trailer)]

    def _log(self, trailer: str, *what: str) -> tuple[tuple[str, str], ...]:
        form = f"--format=%H %(trailers:key={trailer},valueonly,unfold,separator=%x20)"
        # Users may configure log.showSignature, whose output would be mixed with the commits.
        said = self._git.run("log", "--no-show-signature", form, *what, "--")
        lines = (line.partition(" ") for line in said.splitlines())
        return tuple((commit, value.strip()) for commit, _, value in lines)


_DATE = re.compile(r" \d+ [+-]\d{4}$")
_PROGRAMS = {"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}


@dataclass(frozen=True, slots=True)
class Signing:
    """git's configuration of signatures: ``form`` is ``openpgp``, ``x509`` or ``ssh``, ``program`` signs.

    ``key`` may be empty; for ``ssh`` it is a key or a file.
    """

    form: str
    program: str
    key: str

    @property
    def key_file(self) -> Path | None:
        """The file of an SSH key; ``None`` for a key of an agent, and for other forms."""
        if self.form != "ssh" or not self.key or self.key.startswith(("ssh-", "ecdsa-", "sk-", "key::")):
            return None
        return Path(self.key)


class Committing:
    """git's configuration for commits in a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises TargetError if git cannot be run or is too old."""
        self._git = Git(folder)

    def version(self) -> str:
        """The version of git: ``2.47.1``, with additions of its distributor."""
        return self._git.run("version").removeprefix("git version ").strip()

    def person(self, role: str) -> str | None:
        """``Name <mail>`` of the ``AUTHOR`` or ``COMMITTER``; ``None`` if git would refuse to commit."""
        said = self._git.execute(["var", f"GIT_{role}_IDENT"])
        return _DATE.sub("", said.out.strip()) if said.status == 0 else None

    def signing(self) -> Signing:
        """The configuration of signatures."""
        form = self._value("gpg.format") or "openpgp"
        program = self._value(f"gpg.{form}.program") or (self._value("gpg.program") if form == "openpgp" else "")
        key = self._git.attempt("config", "--type=path", "--get", "user.signingkey") or ""
        if form == "ssh" and not key and self._value("gpg.ssh.defaultKeyCommand"):
            key = "key::"
        return Signing(form, program or _PROGRAMS.get(form, form), key)

    def signs(self) -> bool:
        """Whether git's configuration signs each commit."""
        return self._git.attempt("config", "--type=bool", "--get", "commit.gpgsign") == "true"

    def alters_line_ends(self, path: str) -> bool:
        """Whether a checkout would change the line endings of a file."""
        if self._value("core.autocrlf") != "true":
            return False
        return self._git.run("check-attr", "-z", "text", "--", path).split("\0")[2:3] != ["unset"]

    def _value(self, name: str) -> str:
        return self._git.attempt("config", "--get", name) or ""


_FOLDER: Final = 0o040000
_LINK: Final = 0o120000
_SUBMODULE: Final = 0o160000
_LARGEST_FOLDER: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a folder in a commit: git's mode, and the id of the object."""

    mode: int
    id: str

    @classmethod
    def of_folder(cls, identity: str) -> Self:
        return cls(_FOLDER, identity)

    @property
    def is_folder(self) -> bool:
        return self.mode == _FOLDER

    @property
    def is_link(self) -> bool:
        return self.mode == _LINK

    @property
    def is_submodule(self) -> bool:
        return self.mode == _SUBMODULE


class ObjectReader:
    """Reads objects by id through one ``git cat-file --batch``, which ends with this context.

    ``start`` starts the command with pipes for input, output and errors. Raises OSError for missing objects (damaged
    repository, partial clone without its remote).
    """

    def __init__(self, start: Callable[[], Any]) -> None:
        self._start = start
        self._process = start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            pipe.close()
        self._process.proc.wait()  # it ends when its input is closed

    def folder(self, identity: str) -> dict[str, Entry]:
        """The entries of a tree."""
        size = self._ask(identity)
        if size > _LARGEST_FOLDER:
            self._again()
            raise OSError(errno.EFBIG, f"the folder has more than {shown_size(_LARGEST_FOLDER)} of entries")
        text = self._take(size)
        width = len(identity) // 2
        found: dict[str, Entry] = {}
        at = 0
        while at < len(text):  # "MODE NAME\0" and the id in bytes
            space = text.index(b" ", at)
            end = text.index(b"\0", space) + 1
            name = os.fsdecode(text[space + 1 : end - 1])
            found[name] = Entry(int(text[at:space], 8), text[end : end + width].hex())
            at = end + width
        return found

    def file(self, identity: str, limit: int) -> bytes | None:
        """The bytes of a blob; ``None`` if it is larger than ``limit``."""
        size = self._ask(identity)
        if size <= limit:
            return self._take(size)
        self._again()
        return None

    def _again(self) -> None:
        """Restart git rather than reading its output: a few bytes in a repository may expand to terabytes."""
        self._process.proc.kill()
        self._close()
        self._process = self._start()

    def _ask(self, identity: str) -> int:
        """Request an object; returns its size."""
        self._process.stdin.write(f"{identity}\n".encode())
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        if len(answer) != 3:
            raise OSError(errno.EIO, f"the repository lacks the object {identity}")
        return int(answer[2])

    def _take(self, size: int) -> bytes:
        text: bytes = self._process.stdout.read(size)
        self._process.stdout.read(1)  # the line break after an object
        return text
