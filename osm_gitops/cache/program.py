"""The digest of this program, on which all entries of a cache depend."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from osm_gitops import __version__
from osm_gitops.cache.digest import digest_of

_PACKAGE: Final = Path(__file__).parents[1]
_SUFFIXES: Final = {".py", ".toml", ".so", ".pyd"}


@lru_cache(maxsize=4)
def program_digest(parts: tuple[str, ...], libraries: tuple[str, ...]) -> str:
    """The digest of the version, Python, and the files below ``parts`` of the package and in these ``libraries``.

    Files instead of the libraries' versions: what tells versions takes as long to import as a cache saves.
    """
    files = [*(each for part in parts for each in _below(_PACKAGE / part)), *_of_libraries(libraries)]
    digests = [(path.name, sha256(path.read_bytes()).hexdigest()) for path in files]
    return digest_of(__version__, sys.version, sys.implementation.cache_tag, digests)


def _of_libraries(names: tuple[str, ...]) -> Iterator[Path]:
    for name in names:
        found = find_spec(name)
        for place in (found.submodule_search_locations or ()) if found else ():
            yield from _below(Path(place))


def _below(path: Path) -> list[Path]:
    """The files of code; none in an archive, for which the version counts."""
    if path.is_file():
        return [path]
    return sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES)
