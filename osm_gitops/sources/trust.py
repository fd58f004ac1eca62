"""Whether a run trusts the tree that it reads. Where it does not, it reads nothing that lies outside of it.

A tree is a config repository, or a folder of manifests: whoever may push a branch of it writes its fleet file, its
links and its overlays. So of what these name, only what lies in the tree itself is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from osm_gitops.errors import Code, Problem, TargetError, input_error
from osm_gitops.git.repository import Repository, find_repository

FLAG: Final = "--untrusted"
_FIX: Final = f"Keep it in the tree, or, if you trust the tree, run without {FLAG} and --without-keys"


@dataclass(frozen=True, slots=True)
class Trust:
    """``roots`` are the real paths of folders and files that an untrusted run may read; without any, the tree is
    trusted. ``repositories`` are the real roots of those git repositories that it may read."""

    roots: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()

    @property
    def untrusted(self) -> bool:
        return bool(self.roots)

    def allows(self, path: Path | str) -> bool:
        """Whether a path, which need not be there, may be read."""
        return not self.roots or _inside(os.path.realpath(path), self.roots)

    def check(self, path: Path | str, shown: str, *, where: str = "", about: str = "") -> None:
        """Raises InputError where ``path``, which the tree calls ``shown``, may not be read."""
        if not self.allows(path):
            what = f"{shown} leads out of the tree, and an untrusted run reads nothing there"
            raise input_error(Code.OUTSIDE_UNTRUSTED_TREE, what, where=where, about=about, fix=_FIX)

    def repository(self, root: Path) -> Repository:
        """The repository at ``root``. Raises TargetError for one that is refused."""
        if self.roots and os.path.realpath(root) not in self.repositories:
            what = "is a repository inside of the tree, and an untrusted run reads none but the tree's own"
            raise TargetError([Problem(Code.OUTSIDE_UNTRUSTED_TREE, what, where=str(root), fix=_FIX)])
        return Repository(root, untrusted=self.untrusted)


TRUSTED: Final = Trust()


def distrust(tree: Path, given: Iterable[Path] = ()) -> Trust:
    """What an untrusted run may read: the work tree that ``tree`` is in, else that folder or file itself; and what
    flags name elsewhere."""
    roots: list[str] = []
    repositories: list[str] = []
    for path in (tree, *given):
        lexical = os.path.normpath(path.absolute())
        if _inside(lexical, roots):
            continue  # where it really leads is for the tree to say, so it is checked as everything else
        found = find_repository(path)
        if found is not None:
            repositories.append(os.path.realpath(found[0]))
        if found is not None and path == tree:
            roots += dict.fromkeys((os.path.normpath(found[0].absolute()), os.path.realpath(found[0])))
        else:
            roots.append(os.path.realpath(path))
    return Trust(tuple(dict.fromkeys(roots)), tuple(dict.fromkeys(repositories)))


def _inside(path: str, roots: Iterable[str]) -> bool:
    """Whether a path lies in one of the folders, and not in a repository's own files: those may hold credentials."""
    for root in roots:
        if path == root:
            return True
        if path.startswith(root.rstrip(os.sep) + os.sep):
            return ".git" not in PurePath(path[len(root) :].lower()).parts
    return False
