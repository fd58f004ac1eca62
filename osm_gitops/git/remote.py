"""A remote of a repository: fetching one branch, pushing one branch, and why not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.address import address_of
from osm_gitops.git.credentials import TokenFile
from osm_gitops.git.failures import mask, refusal_of
from osm_gitops.git.process import NO_EXTRAS, CompletedProcess, Extras, Git
from osm_gitops.git.repository import Repository

# What git takes in no name of a ref, or only where it would mean something else here.
_IN_NO_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|^[-+./]|[./]$|^@?$")
# Someone else's push came first, or is under way.
_MOVED = re.compile(
    r"\[(?:remote )?rejected\].*\((?:fetch first|non-fast-forward|stale info|cannot lock ref.*|failed to update ref"
    r"|incorrect old value provided|reference already exists)\)"
)
_REFUSED = re.compile(r"\[remote rejected\] \((.*)\)")
_NO_SUCH_BRANCH = re.compile(r"couldn't find remote ref", re.IGNORECASE)
_DEEPEN_BY = (50, 500)


def is_ref_name(text: str) -> bool:
    """Whether git takes a text for the name of a branch, a tag or a remote, and for nothing else."""
    return not _IN_NO_NAME.search(text)


class PushOutcome(Enum):
    """``MOVED``: the remote branch is not what was last seen of it; fetch and plan again.

    ``KEPT``: there was nothing to push.
    """

    PUSHED = "pushed"
    KEPT = "kept"
    MOVED = "moved"


class RefusedPushError(TargetError):
    """The remote got the commits and refused them: a hook, a protected branch. Trying again is in vain."""


class Remote:
    """One remote by its name in the repository's configuration."""

    def __init__(self, repository: Repository, name: str, token: TokenFile | None = None) -> None:
        self.name = name
        self._repository = repository
        self._git: Git = repository.git
        self._token = token

    def exists(self) -> bool:
        return self.name in self._git.run("remote").split()

    def ref(self, branch: str) -> str:
        """Where what was last seen of a branch is kept."""
        return f"refs/remotes/{self.name}/{branch}"

    def seen(self, branch: str) -> str | None:
        """The commit that was last seen at a branch."""
        return self._repository.revision(self.ref(branch))

    def fetch(self, branch: str, *, depth: int | None = None) -> str | None:
        """Fetch one branch; its commit, or ``None`` where the remote has no such branch."""
        self.refuse_options(branch)
        options = () if depth is None else (f"--depth={depth}",)
        said = self._fetch(*options, branches=(branch,))
        if said.status == 0:
            return self.seen(branch)
        if _NO_SUCH_BRANCH.search(said.error):
            return None
        raise self._git.error(["fetch"], said.error, self._extras())

    def remember(self, branch: str, commit: str | None) -> None:
        """Remember ``commit`` as what was last seen of a branch (``None``: that there is no such branch)."""
        if commit is not None:
            self._git.run("update-ref", self.ref(branch), commit)
        elif self.seen(branch) is not None:
            self._git.run("update-ref", "-d", self.ref(branch))

    def fetch_commit(self, commit: str) -> None:
        """Fetch one commit without its past into ``FETCH_HEAD``; the remote must give commits by their ids."""
        self._git.run("fetch", "--quiet", "--no-tags", "--depth=1", "--", self.name, commit, extras=self._extras())

    def deepen(self, branches: Sequence[str], one: str, other: str) -> str | None:
        """The commit that two commits of some branches share.

        In a shallow repository as much of the branches' past is fetched as that takes.
        """
        history = self._repository.history
        for step in (*(f"--deepen={count}" for count in _DEEPEN_BY), "--unshallow"):
            base = history.merge_base(one, other)
            if base is not None or not self._repository.is_shallow():
                return base
            said = self._fetch(step, branches=branches)
            if said.status != 0:
                raise self._git.error(["fetch"], said.error, self._extras())
        return history.merge_base(one, other)

    def push(self, branch: str, commit: str, *, expected: str | None) -> PushOutcome:
        """Push a commit to a branch that still is where ``expected`` says (``None``: it does not exist yet).

        This is a compare-and-swap. A push without a lease would bring back a branch that was deleted,
        or commits that somebody took out of it, since it only asks for a fast-forward.
        """
        self.refuse_options(branch)
        extras = self._extras(push=True)
        full = f"refs/heads/{branch}"
        said = self._git.execute(
            ["push", "--porcelain", f"--force-with-lease={full}:{expected or ''}", "--", self.name, f"{commit}:{full}"],
            extras=extras,
        )
        if said.status == 0:
            self.remember(branch, commit)
            return PushOutcome.PUSHED
        if _MOVED.search(said.all):
            return PushOutcome.MOVED
        refused = _REFUSED.search(said.all)
        if refused:
            reason = refusal_of(said.error, extras.hidden)
            words = f"{mask(refused[1], extras.hidden)}{f': {reason}' if reason else ''}"
            raise RefusedPushError(
                [
                    Problem(
                        Code.PUSH_REFUSED,
                        f"{self.name} refused the push to {branch}: {words}",
                        where=str(self._repository.root),
                    )
                ]
            )
        raise self._git.error(["push"], said.all, extras)

    def refuse_options(self, branch: str = "") -> None:
        """Refuse what git would take for an option, a program or a second ref."""
        for kind, text in (("remote", self.name), ("branch", branch or "main")):
            if not is_ref_name(text):
                where = str(self._repository.root)
                raise TargetError([Problem(Code.GIT_NAME, f'"{text}" is no name of a git {kind}', where=where)])

    # -- inside --

    def _fetch(self, *options: str, branches: Iterable[str]) -> CompletedProcess:
        refspecs = [f"+refs/heads/{branch}:{self.ref(branch)}" for branch in branches]
        return self._git.execute(
            ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *options, "--", self.name, *refspecs],
            extras=self._extras(),
        )

    def _extras(self, *, push: bool = False) -> Extras:
        """The token for where the remote is, read anew each time."""
        if self._token is None:
            return NO_EXTRAS
        command = ("remote", "get-url", "--push", self.name) if push else ("ls-remote", "--get-url", self.name)
        return self._token.extras(address_of(self._git.run(*command).strip()))
