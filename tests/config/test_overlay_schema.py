"""The JSON schema of overlays says yes where the reader does, and no where it does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from osm_gitops.config.overlay_keys import (
    COPIED_TEXT,
    EDITED_TEXT,
    METADATA,
    OPERATION,
    PATCH,
    PATCH_TARGET,
    PROFILE_PIECE,
    TEXT_EDIT,
    TOP,
    Keys,
    overlay_schema,
)
from osm_gitops.config.overlays import read_overlays
from osm_gitops.errors import InputError
from osm_gitops.model.overlay import OverlayRef

ROOT = Path(__file__).resolve().parents[2]
_VALIDATOR = Draft202012Validator(overlay_schema())
_HEAD = {"apiVersion": "osm-gitops.io/v1alpha1", "kind": "Overlay"}
_VALUES: tuple[Any, ...] = ("text", "", True, 7, None, [], ["text"], [7], {}, {"a": "b"}, {"spec": {"a": 1}}, "/spec/x")


def _reader_takes(folder: Path, overlay: Mapping[str, Any]) -> bool:
    (folder / "overlay.yaml").write_text(yaml.safe_dump(overlay), "utf-8")
    try:
        read_overlays([OverlayRef(folder, "a")])
    except InputError:
        return False
    return True


def test_the_overlays_of_documents_and_those_that_are_shipped_are_valid() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    fence = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    fences = [text for page in pages for text in fence.findall(page.read_text("utf-8"))]
    texts = [text for text in fences if "\nkind: Overlay\n" in text]
    texts += [path.read_text("utf-8") for path in (ROOT / "overlays").rglob("overlay.yaml")]
    assert len(texts) >= 6
    for text in texts:
        assert list(_VALIDATOR.iter_errors(yaml.safe_load(text))) == []


def _patch(**keys: Any) -> dict[str, Any]:
    return _HEAD | {"patches": [{"target": {"name": "a"}, "merge": {"spec": {"a": 1}}} | keys]}


def _operation(key: str, value: Any) -> dict[str, Any]:
    whole = {"op": "copy", "path": "/a", "from": "/b", "value": 1} | {key: value}
    return _HEAD | {"patches": [{"target": {"name": "a"}, "json6902": [whole]}]}


def _text(place: str, text: Any) -> dict[str, Any]:
    halves = {
        "template": {"templates": {"a": text}},
        "file": {"files": [{"path": "/a", "content": text}]},
        "unit": {"units": [{"name": "a", "content": text}]},
        "drop-in": {"units": [{"name": "a", "dropIns": [{"name": "a", "content": text}]}]},
        "runtime": {"supportedContainerRuntimes": [{"name": "a", "templates": {"a": text}}]},
    }
    return _patch(merge={"spec": {"bootstrapConfig": halves[place]}})


def _edit(key: str, value: Any) -> dict[str, Any]:
    whole = {"insertAfter": "a", "text": "b"} if key in {"insertAfter", "text"} else {"replace": "a", "with": "b"}
    return _text("template", {"edit": [whole | {key: value}]})


_LEVELS: tuple[tuple[Keys, Any], ...] = (
    (
        {key: value for key, value in TOP.items() if key not in {"overlays", "patches"}},
        lambda key, value: _HEAD | {key: value},
    ),
    ({"target": PATCH["target"]}, lambda key, value: _patch(**{key: value})),
    (PATCH_TARGET, lambda key, value: _patch(target={"name": "a"} | {key: value})),
    (PROFILE_PIECE, lambda key, value: _patch(merge={"spec": {"a": 1}} | {key: value})),
    (METADATA, lambda key, value: _patch(merge={"metadata": {key: value}})),
    (OPERATION, _operation),
    (
        {"baseDigest": COPIED_TEXT["baseDigest"]},
        lambda key, value: _text("file", {"file": "overlay.yaml"} | {key: value}),
    ),
    (EDITED_TEXT, lambda key, value: _text("unit", {"edit": [{"replace": "a", "with": "b"}]} | {key: value})),
    (TEXT_EDIT, _edit),
)


@pytest.mark.parametrize(("keys", "placed"), _LEVELS)
def test_schema_and_reader_agree_on_every_key_and_what_it_may_hold(tmp_path: Path, keys: Keys, placed: Any) -> None:
    for key in (*keys, "surprise"):
        for value in _VALUES:
            overlay = placed(key, value)
            assert _VALIDATOR.is_valid(overlay) == _reader_takes(tmp_path, overlay), (key, value)


@pytest.mark.parametrize("place", ["template", "file", "unit", "drop-in", "runtime"])
def test_a_text_may_be_edited_or_copied_wherever_a_profile_has_one(tmp_path: Path, place: str) -> None:
    for text, fits in (
        ({"edit": [{"replace": "a", "with": ""}]}, True),
        ({"file": "overlay.yaml", "baseDigest": "0123456789ab"}, True),
        ({"edit": [{"replace": "a", "text": ""}]}, False),
        ({"file": "overlay.yaml", "baseDigest": "0123"}, False),
    ):
        overlay = _text(place, text)
        assert (_VALIDATOR.is_valid(overlay), _reader_takes(tmp_path, overlay)) == (fits, fits), text
