"""Secrets in plain text do not get into git unasked (design.md, "Encryption in git")."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.repository import Repository, find_work_tree
from osm_gitops.targets.file_encryption import FileEncryption
from osm_gitops.targets.files import secret_places

_PLAINTEXT = (
    "configurations and Secrets hold tokens, registry passwords and cloud credentials, "
    "which git would keep in plain text for ever"
)
_PLAINTEXT_FIX = (
    "Encrypt them: name recipients with --age-recipient, or in a .sops.yaml (osm-gitops init writes one). For a "
    "repository that only people with access to these secrets can read, there is --dangerously-plaintext-secrets"
)


def refuse_plaintext(folder: Path, clusters: Iterable[str], sealing: FileEncryption) -> None:
    """Refuse to write secrets of clusters into a git work tree in plain text (design.md, "Encryption in git").

    Outside of a work tree nothing is refused.
    """
    folder = Path(os.path.normpath(folder.absolute()))
    root = find_work_tree(folder)
    places = [place for cluster in clusters for place in secret_places(cluster)]
    if root is None or all(sealing.rule(folder / path) for path in places):
        return
    raise TargetError(
        [
            Problem(
                Code.PLAIN_SECRETS_IN_GIT,
                f"is in the git work tree {root}: {_PLAINTEXT}",
                where=str(folder),
                fix=_PLAINTEXT_FIX,
            )
        ]
    )


def is_kept_by_git(folder: Path, clusters: Iterable[str]) -> bool:
    """Whether secrets of clusters that are written into a folder can get into git: some would not be ignored there."""
    folder = Path(os.path.normpath(folder.absolute()))
    root = find_work_tree(folder)
    if root is None:
        return False
    inside = folder.relative_to(root)
    places = {(inside / path).as_posix() for cluster in clusters for path in secret_places(cluster)}
    return Repository(root).ignored(places) != places
