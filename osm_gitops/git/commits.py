"""Commits: what lies between two of them and who made them, and what a new one needs: git itself, an author, a
signing key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from osm_gitops.git.process import Git


@dataclass(frozen=True, slots=True)
class Divergence:
    """How many commits a branch is ahead of and behind its remote counterpart."""

    ahead: int
    behind: int


class History:
    """The commits of one repository, as far as it has them: a shallow one lacks the older."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def divergence(self, ref: str) -> Divergence:
        """How HEAD and a full ref name have moved apart."""
        ahead, behind = self._git.run("rev-list", "--left-right", "--count", f"HEAD...{ref}", "--").split()
        return Divergence(int(ahead), int(behind))

    def merge_base(self, one: str, other: str) -> str | None:
        """The youngest commit that two commits share; ``None`` where none is known."""
        return self._git.attempt("merge-base", one, other)

    def contains(self, newer: str, older: str) -> bool:
        """Whether ``older`` is ``newer`` or one of its ancestors."""
        return self._git.attempt("merge-base", "--is-ancestor", older, newer) is not None

    def paths_between(self, older: str, newer: str) -> tuple[str, ...]:
        """Paths that differ between two commits."""
        out = self._git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", older, newer, "--")
        return tuple(path for path in out.split("\0") if path)

    def foreign_commits(self, older: str, newer: str, trailer: str) -> tuple[str, ...]:
        """Commits of ``newer`` that ``older`` does not have and that lack our trailer, youngest first."""
        return tuple(commit for commit, ours in self._commits(older, newer, trailer) if not ours)

    def own_top(self, older: str, newer: str, trailer: str) -> tuple[str, ...]:
        """The commits with our trailer that lie on top of ``newer`` and that ``older`` does not have."""
        top = []
        for commit, ours in self._commits(older, newer, trailer):
            if not ours:
                break
            top.append(commit)
        return tuple(top)

    def marks(self, newer: str, known: Iterable[str], trailer: str) -> tuple[tuple[str, str], ...]:
        """The commits of ``newer`` that none of ``known`` has, youngest first, each with the value of a trailer."""
        return self._log(trailer, "--topo-order", newer, *(f"^{commit}" for commit in known))

    def mark(self, commit: str, trailer: str) -> str:
        """The value of a trailer of one commit; empty where it has none."""
        return self._log(trailer, "--max-count=1", commit)[0][1]

    def _commits(self, older: str, newer: str, trailer: str) -> list[tuple[str, bool]]:
        return [(commit, bool(value)) for commit, value in self.marks(newer, (older,), trailer)]

    def _log(self, trailer: str, *what: str) -> tuple[tuple[str, str], ...]:
        form = f"--format=%H %(trailers:key={trailer},valueonly,unfold,separator=%x20)"
        # Users may have git verify signatures in each log; what it finds would stand between the commits.
        said = self._git.run("log", "--no-show-signature", form, *what, "--")
        lines = (line.partition(" ") for line in said.splitlines())
        return tuple((commit, value.strip()) for commit, _, value in lines)


_DATE = re.compile(r" \d+ [+-]\d{4}$")
_PROGRAMS = {"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}


@dataclass(frozen=True, slots=True)
class Signing:
    """How git signs: ``form`` is ``openpgp``, ``x509`` or ``ssh``, ``program`` makes the signature.

    ``key`` is empty where git's configuration names none; for ``ssh`` it is the key itself or the file of it.
    """

    form: str
    program: str
    key: str

    @property
    def key_file(self) -> Path | None:
        """The file of an SSH key; ``None`` for a key that an agent holds, and for other forms."""
        if self.form != "ssh" or not self.key or self.key.startswith(("ssh-", "ecdsa-", "sk-", "key::")):
            return None
        return Path(self.key)


class Committing:
    """git as it is set up for commits in a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises TargetError where git cannot be run or is too old."""
        self._git = Git(folder)

    def version(self) -> str:
        """As git tells it: ``2.47.1``, with its maker's additions."""
        return self._git.run("version").removeprefix("git version ").strip()

    def person(self, role: str) -> str | None:
        """``Name <mail>`` of the ``AUTHOR`` or ``COMMITTER``; ``None`` where git would refuse to commit without one."""
        said = self._git.execute(["var", f"GIT_{role}_IDENT"])
        return _DATE.sub("", said.out.strip()) if said.status == 0 else None

    def signing(self) -> Signing:
        """How a signature would be made here."""
        form = self._value("gpg.format") or "openpgp"
        program = self._value(f"gpg.{form}.program") or (self._value("gpg.program") if form == "openpgp" else "")
        key = self._git.attempt("config", "--type=path", "--get", "user.signingkey") or ""
        if form == "ssh" and not key and self._value("gpg.ssh.defaultKeyCommand"):
            key = "key::"
        return Signing(form, program or _PROGRAMS.get(form, form), key)

    def signs(self) -> bool:
        """Whether git's configuration asks to sign every commit."""
        return self._git.attempt("config", "--type=bool", "--get", "commit.gpgsign") == "true"

    def alters_line_ends(self, path: str) -> bool:
        """Whether a checkout would write other line ends into a file than were committed."""
        if self._value("core.autocrlf") != "true":
            return False
        return self._git.run("check-attr", "-z", "text", "--", path).split("\0")[2:3] != ["unset"]

    def _value(self, name: str) -> str:
        return self._git.attempt("config", "--get", name) or ""
