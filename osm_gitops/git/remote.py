"""A remote of a repository (fetch one branch, push one branch, and why not), and a clone for one run.

A clone is one commit deep, of one branch, in a temporary folder that is removed afterwards. It is not partial: at this
depth every object that is fetched is checked out.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.address import Address, TokenFile, address_of
from osm_gitops.git.failures import failure, mask, refusal_of
from osm_gitops.git.process import NO_EXTRAS, CompletedProcess, Extras, Git, refuse_astray
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


CLONE_REMOTE = "origin"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NO_SUCH_REF = "not found in upstream"


@dataclass(frozen=True, slots=True)
class Clone:
    """A clone that lives as long as its run, and the address that it is from, as messages show it."""

    root: Path
    shown: str


@contextmanager
def temporary_clone(address: Address, ref: str = "", token: TokenFile | None = None) -> Iterator[Clone]:
    """Clone a branch, a tag or a commit (its whole id); without ``ref`` what the remote's HEAD names.

    The folder is removed at the end, whatever the end. :class:`TargetError` says why there is no clone.
    """
    if ref and not is_ref_name(ref):
        raise TargetError([Problem(Code.GIT_NAME, f'"{ref}" is no name of a branch, a tag or a commit', where="--ref")])
    refuse_astray(Path())
    with tempfile.TemporaryDirectory(prefix="osm-gitops-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve() / "repo"
        extras = token.extras(address) if token else NO_EXTRAS
        said = _clone(root, address, ref, extras)
        if said.status != 0 and _NO_SUCH_REF in said.error:
            _clone_commit(root, address, ref, token, extras)
        elif said.status != 0:
            raise _error(address, said, extras)
        yield Clone(root, address.shown)


def _clone(root: Path, address: Address, ref: str, extras: Extras, *options: str) -> CompletedProcess:
    # What stays in the background after a fetch would disturb the removal of the folder.
    quiet = Extras(("-c", "gc.auto=0", "-c", "maintenance.auto=false", *extras.options), extras.environment)
    chosen = (f"--branch={ref}",) if ref else ()
    # A hook's environment may lead elsewhere. Where the work tree is named, clone takes its last word for the .git.
    return Git(root.parent, place=(f"--work-tree={root}",), index=root / ".git" / "index").execute(
        [
            *("clone", "--quiet", "--depth=1", "--single-branch", "--no-tags", "--no-local"),
            *(f"--origin={CLONE_REMOTE}", "--config=gc.auto=0", "--config=maintenance.auto=false"),
            *(*options, *chosen),
            *("--", address.text, str(root / ".git")),
        ],
        extras=quiet,
    )


def _clone_commit(root: Path, address: Address, ref: str, token: TokenFile | None, extras: Extras) -> None:
    where = address.shown
    if not _COMMIT.fullmatch(ref):
        raise TargetError(
            [
                Problem(
                    Code.GIT_NAME,
                    f'there is no branch and no tag "{ref}"',
                    where=where,
                    fix="Of a commit give the whole id",
                )
            ]
        )
    said = _clone(root, address, "", extras, "--no-checkout")
    if said.status != 0:
        raise _error(address, said, extras)
    repository = Repository(root)
    Remote(repository, CLONE_REMOTE, token).fetch_commit(ref)
    repository.git.run("checkout", "--quiet", "--detach", "FETCH_HEAD")


def _error(address: Address, said: CompletedProcess, extras: Extras) -> TargetError:
    return TargetError([failure("clone", said.error, address.shown, extras.hidden)])
