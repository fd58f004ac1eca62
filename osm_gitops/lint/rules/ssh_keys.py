"""Public keys as they stand in authorized_keys."""

from __future__ import annotations

import re
from typing import Final

from osm_gitops.model.finding import Rule, Severity

SSH_KEY: Final = Rule("ssh-key", Severity.WARNING, "an SSH key is none that sshd takes")
_KINDS: Final = re.compile(
    r"(ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)"
    r"(?:-cert-v01@openssh\.com)?[ \t]+(\S+)"
)


def key_fault(text: str) -> str:
    """Why sshd passes over a line (``is no …``); empty where it does not. Options may stand before the key."""
    return "" if _KINDS.search(text) else "is no public key of a kind that sshd knows"
