"""The files of a tree that may hold manifests, each once, in the order of their names."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from osm_gitops.errors import Problem, input_error

_SUFFIXES: Final = (".yaml", ".yml", ".json")


@dataclass(slots=True)
class Walk:
    """What a walk through a tree found; ``files`` are (path to open, path to show)."""

    files: list[tuple[Path, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def walk(root: Path, display: str) -> Walk:
    """The files below ``root``, or ``root`` itself where it is a file.

    Hidden names are left out. Links are followed inside of the tree only, and what is
    reached twice is read once. Raises InputError where there is nothing at ``root``.
    """
    found = Walk()
    try:
        real = root.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise input_error(f"the source cannot be read: {_reason(error)}", where=display) from None
    if real.is_dir():
        _Walker(real, found).folder(real, display)
    elif real.is_file():
        found.files.append((real, display))
    else:
        raise input_error("the source is neither a folder nor a file", where=display)
    return found


class _Walker:
    def __init__(self, root: Path, found: Walk) -> None:
        self.root = root
        self.found = found
        self.seen = {root}

    def folder(self, path: Path, shown: str) -> None:
        try:
            with os.scandir(path) as entries:
                names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
        except OSError as error:
            self.problem(shown, error)
            return
        for name in names:
            self.entry(path / name, f"{shown.rstrip('/')}/{name}" if shown else name)

    def entry(self, path: Path, shown: str) -> None:
        shown = shown.encode("utf-8", "backslashreplace").decode()
        wanted = path.name.lower().endswith(_SUFFIXES)
        try:
            real = path.resolve(strict=True)
            mode = real.stat().st_mode
        except (OSError, RuntimeError) as error:
            if wanted:
                self.problem(shown, error)
            return
        if not (stat.S_ISDIR(mode) or wanted):
            return
        if not real.is_relative_to(self.root):
            self.found.notes.append(f"{shown}: a link that leads out of the source is not followed")
        elif real in self.seen:
            self.found.notes.append(f"{shown}: a link to what is read already")
        elif stat.S_ISDIR(mode):
            self.seen.add(real)
            self.folder(real, shown)
        elif stat.S_ISREG(mode):
            self.seen.add(real)
            self.found.files.append((real, shown))
        else:
            self.found.notes.append(f"{shown}: no regular file")

    def problem(self, shown: str, error: Exception) -> None:
        self.found.problems.append(Problem(f"cannot be read: {_reason(error)}", where=shown))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "its links lead in a circle"
