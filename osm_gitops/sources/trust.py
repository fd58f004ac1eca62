"""Trust in the tree that a run reads. An untrusted run reads nothing outside of the tree.

A tree is a config repository or a folder of manifests. An author of a branch controls its fleet file, links and
overlays, so an untrusted run follows their paths only inside of the tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from osm_gitops.errors import Code, input_error, target_error

if TYPE_CHECKING:
    from osm_gitops.git.repository import Repository

FLAG: Final = "--untrusted"
_FIX: Final = f"Keep it in the tree, or, if you trust the tree, run without {FLAG} and --without-keys"


@dataclass(frozen=True, slots=True)
class Trust:
    """``roots`` are the real paths of folders and files that an untrusted run may read; empty for a trusted tree.
    ``repositories`` are the real roots of git repositories that it may read."""

    roots: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()

    @property
    def untrusted(self) -> bool:
        return bool(self.roots)

    def allows(self, path: Path | str) -> bool:
        """Whether a path (it need not exist) may be read."""
        return not self.roots or _inside(os.path.realpath(path), self.roots)

    def check(self, path: Path | str, shown: str, *, where: str = "", about: str = "") -> None:
        """Raise InputError if ``path``, named ``shown`` in the tree, must not be read."""
        if not self.allows(path):
            what = f"{shown} is outside of the tree, and an untrusted run must not read it"
            raise input_error(Code.OUTSIDE_UNTRUSTED_TREE, what, where=where, about=about, fix=_FIX)

    def repository(self, root: Path) -> Repository:
        """The repository at ``root``. Raises TargetError if it is refused."""
        from osm_gitops.git.repository import Repository  # noqa: PLC0415 - slow

        if self.roots and os.path.realpath(root) not in self.repositories:
            what = "is a repository inside of the tree, and an untrusted run reads only the repository of the tree"
            raise target_error(Code.OUTSIDE_UNTRUSTED_TREE, what, where=str(root), fix=_FIX)
        return Repository(root, untrusted=self.untrusted)


TRUSTED: Final = Trust()


def distrust(tree: Path, given: Iterable[Path] = ()) -> Trust:
    """What an untrusted run may read: the work tree that contains ``tree``, else the folder or file itself, and paths
    ``given`` by flags."""
    from osm_gitops.git.repository import find_repository  # noqa: PLC0415 - slow

    roots: list[str] = []
    repositories: list[str] = []
    for path in (tree, *given):
        lexical = os.path.normpath(path.absolute())
        if _inside(lexical, roots):
            continue  # the tree decides where it leads, so it is checked like other paths
        found = find_repository(path)
        if found is not None:
            repositories.append(os.path.realpath(found[0]))
        if found is not None and path == tree:
            roots += dict.fromkeys((os.path.normpath(found[0].absolute()), os.path.realpath(found[0])))
        else:
            roots.append(os.path.realpath(path))
    return Trust(tuple(dict.fromkeys(roots)), tuple(dict.fromkeys(repositories)))


def _inside(path: str, roots: Iterable[str]) -> bool:
    """Whether a path is in one of the folders, and not in a ``.git``, which may contain credentials."""
    for root in roots:
        if path == root:
            return True
        if path.startswith(root.rstrip(os.sep) + os.sep):
            return ".git" not in PurePath(path[len(root) :].lower()).parts
    return False
