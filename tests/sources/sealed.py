"""Encrypted manifests: files that sops made, and the means to make more of them."""

from __future__ import annotations

from pathlib import Path

from osm_gitops.sops.document import encrypt
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents

MADE_BY_SOPS = Path(__file__).parent / "sops_files"
KEY_FILE = MADE_BY_SOPS / "age-key.txt"
RECIPIENT, KEY = (line.removeprefix("# public key: ") for line in KEY_FILE.read_text("utf-8").splitlines())
WITH_KEY = {"SOPS_AGE_KEY": KEY}
DATA = "^(data|stringData)$"


def sealed(text: str, encrypted_regex: str = DATA, *, mac_only_encrypted: bool = False) -> str:
    """A manifest of one document, encrypted for :data:`RECIPIENT`."""
    (document,) = load_documents(text, "t")
    rule = Rule((RECIPIENT,), Selection(encrypted_regex=encrypted_regex, mac_only_encrypted=mac_only_encrypted))
    return dump(encrypt(document.value, rule, now="2026-01-31T12:00:00Z"))
