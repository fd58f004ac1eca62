"""Go's ``path`` and, the same on Linux but for the empty base, ``path/filepath`` (osm-behaviour.md, "Template
functions")."""

from __future__ import annotations

import posixpath
from typing import Final

from osm_gitops.gotemplate.functions.signature import GoFunction


def base(path: str) -> str:
    """``base``: the last element; ``.`` of nothing, ``/`` of slashes only."""
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"


def directory(path: str) -> str:
    """``dir``: all but the last element, cleaned."""
    head, slash, _ = path.rpartition("/")
    return clean(head + slash)


def clean(path: str) -> str:
    """``clean``: the shortest name of the same file, by words alone."""
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def extension(path: str) -> str:
    """``ext``: the last element from its last dot on."""
    _, dot, after = path.rpartition("/")[2].rpartition(".")
    return dot + after if dot else ""


def is_absolute(path: str) -> bool:
    return path.startswith("/")


FUNCTIONS: Final = tuple(
    GoFunction(name, "string", call, returns=returns)
    for names, call, returns in (
        (("base", "osBase"), base, "string"),
        (("dir", "osDir"), directory, "string"),
        (("clean", "osClean"), clean, "string"),
        (("ext", "osExt"), extension, "string"),
        (("isAbs", "osIsAbs"), is_absolute, "bool"),
    )
    for name in names
)
