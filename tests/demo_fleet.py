"""The fleet of the demo, and its key, which everybody has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from osm_gitops.sops.document import decrypt
from osm_gitops.sops.keys import find_keys
from osm_gitops.yaml.kubernetes import load_documents

DEMO = Path(__file__).resolve().parent.parent / "overlays" / "demo"
DEMO_KEY = {"SOPS_AGE_KEY_FILE": str(DEMO / "age.key")}


def opened(text: str) -> list[dict[str, Any]]:
    """The documents of an encrypted file of the demo."""
    return decrypt([document.value for document in load_documents(text.encode(), "")], find_keys(DEMO_KEY))
