"""What can be read of a YAML mapping that is not YAML as a whole: one mistake must not hide the others in a file."""

from __future__ import annotations

import re
from typing import Final

from osm_gitops.errors import InputError
from osm_gitops.yaml.kubernetes import Document, load_documents

_BLOCK: Final = re.compile(r"^(?=[^\s#\-}\]])", re.MULTILINE)
_KEY: Final = re.compile(r"""["']?([\w.-]+)["']?[ \t]*:""")
_LARGEST: Final = 1 << 18


def readable_part(text: str) -> tuple[Document, frozenset[str]] | None:
    """The mapping without the top-level keys that cannot be read, or that are there before, with its lines; and the
    names of these keys. ``None`` if no key can be read, or one has no name."""
    if len(text) > _LARGEST:
        return None
    kept: list[str] = []
    known: set[str] = set()
    left_out: set[str] = set()
    for block in _BLOCK.split(text):
        key = _KEY.match(block)
        is_comment = not block.strip() or block.lstrip().startswith("#")
        if key is None and not is_comment:
            return None
        if key is not None and (key[1] in known or not _is_readable(block)):
            left_out.add(key[1])
            kept.append("\n" * block.count("\n"))
        else:
            known |= {key[1]} if key else set()
            kept.append(block)
    try:
        documents = load_documents("".join(kept), "")
    except InputError:
        return None
    is_mapping = len(documents) == 1 and isinstance(documents[0].value, dict)
    return (documents[0], frozenset(left_out)) if is_mapping else None


def _is_readable(block: str) -> bool:
    try:
        return len(load_documents(block, "")) == 1
    except InputError:
        return False
