"""Remotes of a repository (fetch or push one branch), and temporary clones.

A clone has one commit of one branch, in a temporary folder that is removed afterwards. It is not partial: at this depth
all fetched objects are checked out. A run that needs the history fetches it (:meth:`Remote.complete`).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from osm_gitops.errors import Code, Problem, TargetError, target_error
from osm_gitops.git.address import Address, TokenFile, address_of
from osm_gitops.git.process import NO_EXTRAS, CompletedProcess, Extras, Git, failure, mask, refusal_of, refuse_astray
from osm_gitops.git.repository import Repository

# Invalid in ref names, or with another meaning in a command.
_IN_NO_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|^[-+./]|[./]$|^@?$")
# Another push came first, or is running.
_MOVED = re.compile(
    r"\[(?:remote )?rejected\].*\((?:fetch first|non-fast-forward|stale info|cannot lock ref.*|failed to update ref"
    r"|incorrect old value provided|reference already exists)\)"
)
_REFUSED = re.compile(r"\[remote rejected\] \((.*)\)")
_NO_SUCH_BRANCH = re.compile(r"couldn't find remote ref", re.IGNORECASE)
_DEEPEN_BY = (50, 500)


def is_ref_name(text: str) -> bool:
    """Whether a text is a valid name of a branch, a tag or a remote, and nothing else for git."""
    return not _IN_NO_NAME.search(text)


class PushOutcome(Enum):
    """``MOVED``: the remote branch has changed since the last fetch; fetch and plan again. ``KEPT``: nothing to
    push."""

    PUSHED = "pushed"
    KEPT = "kept"
    MOVED = "moved"


class RefusedPushError(TargetError):
    """The remote refused the commits: by a hook, or a protected branch. A retry is useless."""


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
        """The remote-tracking ref of a branch."""
        return f"refs/remotes/{self.name}/{branch}"

    def seen(self, branch: str) -> str | None:
        """The commit of a branch at the last fetch."""
        return self._repository.revision(self.ref(branch))

    def fetch(self, branch: str, *, depth: int | None = None) -> str | None:
        """Fetch one branch; returns its commit, or ``None`` if the remote does not have it."""
        self.refuse_options(branch)
        options = () if depth is None else (f"--depth={depth}",)
        said = self._fetch(*options, branches=(branch,))
        if said.status == 0:
            return self.seen(branch)
        if _NO_SUCH_BRANCH.search(said.error):
            return None
        raise self._git.error(["fetch"], said.error, self._extras())

    def remember(self, branch: str, commit: str | None) -> None:
        """Set the remote-tracking ref of a branch (``None``: delete it)."""
        if commit is not None:
            self._git.run("update-ref", self.ref(branch), commit)
        elif self.seen(branch) is not None:
            self._git.run("update-ref", "-d", self.ref(branch))

    def fetch_commit(self, commit: str) -> None:
        """Fetch one commit without history into ``FETCH_HEAD``. The remote must allow fetching by id."""
        self._git.run("fetch", "--quiet", "--no-tags", "--depth=1", "--", self.name, commit, extras=self._extras())

    def deepen(self, branches: Sequence[str], one: str, other: str) -> str | None:
        """The common ancestor of two commits. In a shallow repository, fetches more history of ``branches`` as
        needed."""
        history = self._repository.history
        for step in (*(f"--deepen={count}" for count in _DEEPEN_BY), "--unshallow"):
            base = history.merge_base(one, other)
            if base is not None or not self._repository.is_shallow():
                return base
            said = self._fetch(step, branches=branches)
            if said.status != 0:
                raise self._git.error(["fetch"], said.error, self._extras())
        return history.merge_base(one, other)

    def complete(self) -> None:
        """Fetch the whole history of what a shallow clone has."""
        if self._repository.is_shallow():
            command = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--unshallow", "--", self.name)
            self._git.run(*command, extras=self._extras())

    def address(self) -> Address:
        """Where it is, as git resolves it, for pushes."""
        return address_of(self._git.run("remote", "get-url", "--push", self.name).strip())

    def push(self, branch: str, commit: str | None, *, expected: str | None) -> PushOutcome:
        """Push a commit to a branch that is at ``expected`` (``None``: it does not exist). No commit deletes it.

        This is a compare-and-swap. A push without a lease only needs a fast-forward, so it would restore a deleted
        branch, or commits that were removed from it.
        """
        self.refuse_options(branch)
        extras = self._extras(push=True)
        full = f"refs/heads/{branch}"
        said = self._git.execute(
            [
                *("push", "--porcelain", f"--force-with-lease={full}:{expected or ''}"),
                *("--", self.name, f"{commit or ''}:{full}"),
            ],
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
        """Raise TargetError for names that git would take for an option, a program or a second ref."""
        for kind, text in (("remote", self.name), ("branch", branch or "main")):
            if not is_ref_name(text):
                where = str(self._repository.root)
                raise target_error(Code.GIT_NAME, f'"{text}" is not a valid name of a git {kind}', where=where)

    def _fetch(self, *options: str, branches: Iterable[str]) -> CompletedProcess:
        refspecs = [f"+refs/heads/{branch}:{self.ref(branch)}" for branch in branches]
        return self._git.execute(
            ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *options, "--", self.name, *refspecs],
            extras=self._extras(),
        )

    def _extras(self, *, push: bool = False) -> Extras:
        """The token for the remote's address, read each time."""
        if self._token is None:
            return NO_EXTRAS
        command = ("remote", "get-url", "--push", self.name) if push else ("ls-remote", "--get-url", self.name)
        return self._token.extras(address_of(self._git.run(*command).strip()))


CLONE_REMOTE = "origin"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NO_SUCH_REF = "not found in upstream"


@dataclass(frozen=True, slots=True)
class Clone:
    """A temporary clone, and its address for messages."""

    root: Path
    shown: str


@contextmanager
def temporary_clone(address: Address, ref: str = "", token: TokenFile | None = None) -> Iterator[Clone]:
    """Clone a branch, a tag or a commit (full id); without ``ref`` the remote's HEAD. The folder is always removed.

    Raises TargetError.
    """
    if ref and not is_ref_name(ref):
        raise target_error(Code.GIT_NAME, f'"{ref}" is not a valid name of a branch, a tag or a commit', where="--ref")
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


def remote_head(address: Address, ref: str = "", token: TokenFile | None = None) -> str:
    """The commit of a branch or a tag of a remote, without ``ref`` of its HEAD; empty if there is no such ref. Fetches
    nothing. Raises TargetError."""
    refuse_astray(Path())
    extras = token.extras(address) if token else NO_EXTRAS
    names = [f"refs/heads/{ref}", f"refs/tags/{ref}"] if ref else ["HEAD"]
    with tempfile.TemporaryDirectory(
        prefix="osm-gitops-"
    ) as folder:  # in no repository, whose configuration would count
        said = Git(Path(folder)).execute(["ls-remote", "--quiet", "--", address.text, *names], extras=extras)
    if said.status != 0:
        raise TargetError([failure("ls-remote", said.error, address.shown, extras.hidden)])
    found = {name: commit for commit, _, name in (line.partition("\t") for line in said.out.splitlines())}
    return next((found[name] for name in names if name in found), "")


def _clone(root: Path, address: Address, ref: str, extras: Extras, *options: str) -> CompletedProcess:
    # Background maintenance after a fetch would disturb the removal of the folder.
    quiet = Extras(("-c", "gc.auto=0", "-c", "maintenance.auto=false", *extras.options), extras.environment)
    chosen = (f"--branch={ref}",) if ref else ()
    # Variables of hooks may name other folders. With a named work tree, clone uses its last argument as the .git.
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
        raise target_error(
            Code.GIT_NAME, f'there is no branch or tag "{ref}"', where=where, fix="Use the full id of a commit"
        )
    said = _clone(root, address, "", extras, "--no-checkout")
    if said.status != 0:
        raise _error(address, said, extras)
    repository = Repository(root)
    Remote(repository, CLONE_REMOTE, token).fetch_commit(ref)
    repository.git.run("checkout", "--quiet", "--detach", "FETCH_HEAD")


def _error(address: Address, said: CompletedProcess, extras: Extras) -> TargetError:
    return TargetError([failure("clone", said.error, address.shown, extras.hidden)])
