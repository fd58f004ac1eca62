"""The interface of forges: what a run asks of a pull request and its comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from osm_gitops.forge.api import Access
from osm_gitops.forge.place import ForgeKind, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request (at GitLab a merge request) from one branch of a repository to another of the same.

    ``commit`` is the newest of its branch. ``title`` is without the ``draft`` prefix of forges that mark drafts so.
    ``reviewers`` were asked for a review; ``merges``: it is merged as soon as it may be. ``key`` is the forge's other
    name of it, if any.
    """

    number: int
    url: str
    title: str
    body: str
    commit: str
    is_open: bool
    is_merged: bool
    draft: str = ""
    labels: frozenset[str] = frozenset()
    reviewers: frozenset[str] = frozenset()
    merges: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a pull request should be: from branch ``head``, whose newest commit is ``commit``, to branch ``base``.

    A reviewer with a slash is a team, ``org/team``. ``auto_merge`` is empty, or how to merge: merge, squash, rebase.
    """

    head: str
    base: str
    commit: str
    title: str
    body: str
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    draft: bool = False
    auto_merge: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a pull request. ``author`` is empty for a deleted account."""

    identity: int
    author: str
    body: str = field(repr=False)


class Forge(Protocol):
    """One repository at a forge. All methods raise ForgeError."""

    name: str
    longest: int
    """Limit of a body, in characters."""

    def close(self) -> None:
        """Close the connections."""

    def find(self, head: str, base: str) -> PullRequest | None:
        """The open pull request between two branches of the repository, else the newest one, or ``None``.

        Branches of forks never count, whatever their names are.
        """

    def open(self, proposal: Proposal) -> PullRequest:
        """Open a pull request with title, body and draft state."""

    def edit(self, request: PullRequest, title: str, body: str) -> None: ...

    def shut(self, request: PullRequest) -> None:
        """Close a pull request without merging it."""

    def label(self, request: PullRequest, labels: Iterable[str]) -> None:
        """Add labels."""

    def reviewed_by(self, request: PullRequest) -> frozenset[str]:
        """The accounts that have reviewed it, if they are no longer among its reviewers."""

    def ask(self, request: PullRequest, reviewers: Iterable[str]) -> None:
        """Ask for reviews."""

    def merge_when_ready(self, request: PullRequest, how: str) -> bool:
        """Merge it as soon as its checks allow; returns ``False`` if the forge takes that only later."""

    def account(self) -> str:
        """The name of the token's account."""

    def comments(self, number: int) -> Iterator[Comment]:
        """All comments of a pull request, oldest first."""

    def comment(self, number: int, body: str) -> None: ...

    def edit_comment(self, number: int, comment: Comment, body: str) -> None: ...

    def remove_comment(self, number: int, comment: Comment) -> None: ...


def forge_at(place: Place, access: Access) -> Forge:
    """The forge of a place."""
    match place.kind:
        case ForgeKind.GITHUB:
            from osm_gitops.forge.github import GitHub  # noqa: PLC0415 - it imports this module

            return GitHub(place, access)
        case ForgeKind.GITLAB:
            from osm_gitops.forge.gitlab import GitLab  # noqa: PLC0415 - it imports this module

            return GitLab(place, access)
        case ForgeKind.GITEA | ForgeKind.FORGEJO:
            from osm_gitops.forge.gitea import Gitea  # noqa: PLC0415 - it imports this module

            return Gitea(place, access)
