"""Questions about commits: what lies between two of them, and whose they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
