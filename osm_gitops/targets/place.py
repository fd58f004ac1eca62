"""Where commits go, as a run asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from osm_gitops.git.credentials import TokenFile


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlace:
    """A folder in a work tree, the branch that must be checked out (empty: any), and a remote.

    ``own_branch`` takes the commits in place of the branch that is checked out. ``clusters`` are those
    that this place is for. ``sign`` is as git's configuration says unless told. ``cloned`` is a work
    tree that was made for this run.
    """

    folder: Path
    branch: str = ""
    own_branch: str = ""
    remote: str = "origin"
    push: bool = False
    clusters: tuple[str, ...] = ()
    plaintext_secrets: bool = False
    sign: bool | None = None
    token: TokenFile | None = None
    cloned: bool = False
