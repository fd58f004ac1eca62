"""Names of a tree's pools and profiles for shell completion: fast, and without errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from osm_gitops.errors import InputError
from osm_gitops.sources.manifests import MACHINE, PROFILE, raw_objects
from osm_gitops.sources.walk import Folder, walk
from osm_gitops.yaml.kubernetes import load_documents

# A limit, since the user is waiting: names after this much YAML are not offered.
_MOST_BYTES: Final = 1 << 20


def pool_names(root: Path) -> Iterator[str]:
    """Names of MachineDeployments. Unreadable files are skipped."""
    return _names_of(root, MACHINE)


def profile_names(root: Path) -> Iterator[str]:
    """Names of OperatingSystemProfiles. Unreadable files are skipped."""
    return _names_of(root, PROFILE)


def _names_of(root: Path, kind: str) -> Iterator[str]:
    left, source = _MOST_BYTES, Folder(root, "")
    try:
        files = walk(source).files
    except InputError:
        return
    for path, _ in files:
        try:
            text = source.read(path)
        except OSError:
            continue
        if text is None or kind.encode() not in text:
            continue
        left -= len(text)
        if left < 0:
            return
        yield from _names(text, kind)


def _names(text: bytes, kind: str) -> Iterator[str]:
    try:
        documents = load_documents(text, "")
    except InputError:
        return
    for document in documents:
        for raw in raw_objects(document, ""):
            metadata = raw.body.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else None
            if raw.is_read and raw.kind.endswith(kind) and isinstance(name, str):
                yield name
