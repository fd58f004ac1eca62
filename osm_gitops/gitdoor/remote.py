"""A remote of a repository: fetching one branch, pushing one branch, and why not."""

from __future__ import annotations

import re
from enum import Enum

from osm_gitops.errors import Problem, TargetError
from osm_gitops.gitdoor.address import address_of
from osm_gitops.gitdoor.credentials import TokenFile
from osm_gitops.gitdoor.failures import mask, refusal_of
from osm_gitops.gitdoor.process import NO_EXTRAS, Extras, Git, Said
from osm_gitops.gitdoor.repository import Repository

_NO_OPTION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@-]*")
# Someone else's push came first, or is under way.
_MOVED = re.compile(
    r"\[(?:remote )?rejected\].*\((?:fetch first|non-fast-forward|stale info|cannot lock ref.*|failed to update ref"
    r"|incorrect old value provided|reference already exists)\)"
)
_REFUSED = re.compile(r"\[remote rejected\] \((.*)\)")
_NO_SUCH_BRANCH = re.compile(r"couldn't find remote ref", re.IGNORECASE)
_DEEPEN_BY = (50, 500)


class PushOutcome(Enum):
    """``MOVED``: the remote branch is not what was last seen of it; fetch and plan again."""

    PUSHED = "pushed"
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

    def default_branch(self) -> str | None:
        """The branch that the remote's HEAD names; ``None`` where it names none."""
        self.refuse_options()
        out = self._git.run("ls-remote", "--symref", "--", self.name, "HEAD", extras=self._extras())
        found = re.search(r"^ref: refs/heads/(\S+)\tHEAD$", out, re.MULTILINE)
        return found[1] if found else None

    def fetch(self, branch: str, *, depth: int | None = None) -> str | None:
        """Fetch one branch; its commit, or ``None`` where the remote has no such branch."""
        self.refuse_options(branch)
        options = () if depth is None else (f"--depth={depth}",)
        said = self._fetch(*options, branch=branch)
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

    def deepen(self, branch: str, *commits: str) -> str | None:
        """The commit that two commits share, with as much of the past fetched as that takes in a shallow repository."""
        history = self._repository.history
        for step in (*(f"--deepen={count}" for count in _DEEPEN_BY), "--unshallow"):
            base = history.merge_base(*commits)
            if base is not None or not self._repository.is_shallow():
                return base
            said = self._fetch(step, branch=branch)
            if said.status != 0:
                raise self._git.error(["fetch"], said.error, self._extras())
        return history.merge_base(*commits)

    def push(self, branch: str, *, expected: str | None) -> PushOutcome:
        """Push HEAD to a branch that still is where ``expected`` says (``None``: it does not exist yet).

        This is a compare-and-swap. A push without a lease would bring back a branch that was deleted,
        or commits that somebody took out of it, since it only asks for a fast-forward.
        """
        self.refuse_options(branch)
        extras = self._extras(push=True)
        full = f"refs/heads/{branch}"
        said = self._git.execute(
            ["push", "--porcelain", f"--force-with-lease={full}:{expected or ''}", "--", self.name, f"HEAD:{full}"],
            extras=extras,
        )
        if said.status == 0:
            self.remember(branch, self._repository.head())
            return PushOutcome.PUSHED
        if _MOVED.search(said.all):
            return PushOutcome.MOVED
        refused = _REFUSED.search(said.all)
        if refused:
            reason = refusal_of(said.error, extras.hidden)
            words = f"{mask(refused[1], extras.hidden)}{f': {reason}' if reason else ''}"
            raise RefusedPushError(
                [Problem(f"{self.name} refused the push to {branch}: {words}", where=str(self._repository.root))]
            )
        raise self._git.error(["push"], said.all, extras)

    def refuse_options(self, branch: str = "") -> None:
        """Refuse what git would take for an option, a program or a second ref."""
        for kind, text in (("remote", self.name), ("branch", branch or "main")):
            if not _NO_OPTION.fullmatch(text) or ".." in text or "@{" in text or text.endswith((".lock", "/", ".")):
                where = str(self._repository.root)
                raise TargetError([Problem(f'"{text}" is no name of a git {kind}', where=where)])

    # -- inside --

    def _fetch(self, *options: str, branch: str) -> Said:
        refspec = f"+refs/heads/{branch}:{self.ref(branch)}"
        return self._git.execute(
            ["fetch", "--quiet", "--no-tags", *options, "--", self.name, refspec], extras=self._extras()
        )

    def _extras(self, *, push: bool = False) -> Extras:
        """The token for where the remote is, read anew each time."""
        if self._token is None:
            return NO_EXTRAS
        command = ("remote", "get-url", "--push", self.name) if push else ("ls-remote", "--get-url", self.name)
        return self._token.extras(address_of(self._git.run(*command).strip()))
