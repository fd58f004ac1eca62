"""Repositories that are not what they seem: those that lie inside of another one, or lead out of their folder.

Whoever may push a branch can commit a bare repository as plain files, with a configuration that names programs; git
itself knows the danger as ``safe.bareRepository``. A ``.git`` cannot be committed, but it can be in an archive.
"""

from __future__ import annotations

from pathlib import Path

from osm_gitops.errors import Code, Problem, TargetError

_LONGEST_LINK = 4096


def refuse_embedded(root: Path, git_dir: Path) -> None:
    """Refuse a bare repository inside of a work tree. Raises TargetError."""
    if git_dir != root.absolute():
        return
    for place in dict.fromkeys((root.absolute(), root.resolve())):
        outer = next((folder for folder in place.parents if (folder / ".git").exists()), None)
        if outer is not None:
            raise TargetError(
                [
                    Problem(
                        Code.NESTED_REPOSITORY,
                        f"is a bare repository inside of the git work tree {outer}, so its configuration may have "
                        "come with a commit",
                        where=str(root),
                        fix="Move it out of the work tree, or name a revision of the outer repository",
                    )
                ]
            )


def refuse_borrowed(root: Path, git_dir: Path) -> None:
    """Refuse a repository that has its objects or its configuration elsewhere, unless git itself made a linked work
    tree of it. Raises TargetError."""
    entry = root / ".git"
    if entry.is_symlink() or (entry.is_file() and not _points_back(git_dir, entry)):
        raise _refused(root, "its .git leads to a repository elsewhere that does not know this folder")
    for folder in dict.fromkeys((git_dir, git_dir.parent.parent if _is_linked(git_dir) else git_dir)):
        for part in (folder / "objects", folder / "refs", folder / "config"):
            if part.is_symlink():
                raise _refused(root, f"{part} is a symbolic link")
        for name in ("alternates", "http-alternates"):
            if (folder / "objects" / "info" / name).exists():
                raise _refused(root, f"it takes objects from other repositories ({folder / 'objects' / 'info' / name})")
    if not _is_linked(git_dir) and (git_dir / "commondir").exists():
        raise _refused(root, f"it shares its objects with another repository ({git_dir / 'commondir'})")


def _is_linked(git_dir: Path) -> bool:
    return git_dir.parent.name == "worktrees"


def _points_back(git_dir: Path, entry: Path) -> bool:
    """Whether the repository knows of the linked work tree that says it belongs to it."""
    try:
        with (git_dir / "gitdir").open(encoding="utf-8") as file:
            known = file.read(_LONGEST_LINK).strip()
    except (OSError, UnicodeDecodeError):
        return False
    return Path(known).resolve() == entry.resolve()


def _refused(root: Path, what: str) -> TargetError:
    return TargetError(
        [
            Problem(
                Code.NESTED_REPOSITORY,
                f"is not read in an untrusted run: {what}",
                where=str(root),
                fix="Make a clone of its own of it",
            )
        ]
    )
