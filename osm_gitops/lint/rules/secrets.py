"""Find values of secrets in files that every user of a node can read, by the value and not by words around it.

Pools are rendered with made-up secrets, so a file with one of them has the secret of every real pool, whatever the file
is called and however a template encoded it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.lint.rules.boot_file import BootDocument, Remark, line_of, to_finding
from osm_gitops.lint.rules.boot_model import is_shell_script
from osm_gitops.lint.rules.files import SECRET, check_secrets, everyone_reads
from osm_gitops.lint.rules.made_paths import made_paths
from osm_gitops.lint.rules.written_texts import written_text
from osm_gitops.model.finding import Finding
from osm_gitops.shell.simple_commands import simple_commands
from osm_gitops.shell.state import is_known

_SHORTEST: Final = 6
"""Shorter values are found in any text."""


def check_secret_values(document: BootDocument) -> Iterator[Finding]:
    """Check each file that every user can read. What its words give away is told already."""
    for file in document.texts if document.secrets else ():
        if not everyone_reads(file):
            continue
        line = _line(file.text, document.secrets)
        if line and not any(check_secrets(file)):
            message = f"every user can read the file ({file.permissions}), which has a value that came from a secret"
            fix = "Set permissions to 600, or 700 for a script"
            if file.path.startswith("/etc/systemd/system/"):
                fix = "Put it into a file with permissions 600, and name that as EnvironmentFile"
            yield to_finding(document, file, Remark(SECRET, message, line, fix))


def check_written_secrets(document: BootDocument) -> Iterator[Finding]:
    """Check the files with secrets that scripts write: others may read them, unless the script says otherwise."""
    scripts = (file for file in document.files if is_shell_script(file) and not everyone_reads(file))
    for file in scripts if document.secrets else ():
        if not _line(file.text, document.secrets) or _restricts(file.text):
            continue
        for command in simple_commands(file.text).commands:
            text, paths = written_text(command), made_paths(command)
            if not text or not paths or not is_known(paths[0]) or paths[0].startswith("/dev/"):
                continue
            # Every program reads the proxy's URL, with its password, from such a file.
            lines = (line for line in text.splitlines() if "proxy" not in line.lower())
            if _line("\n".join(lines), document.secrets):
                message = f"every user can read {paths[0]}, to which the script writes a value that came from a secret"
                remark = Remark(SECRET, message, command.line, "Run umask 077 before it")
                yield to_finding(document, file, remark)


_RESTRICTS: Final = re.compile(
    r"\b(?:umask[ \t]+0?[0-7]?[0-7]7|chmod[ \t]+(?:0?[0-7][0-7]0|[ugo]*o?[-=]|go[-=])|install[ \t]+.*-m)"
)


@lru_cache(maxsize=1_024)
def _restricts(script: str) -> bool:
    return _RESTRICTS.search(script) is not None


# The same file is in many documents.
@lru_cache(maxsize=4096)
def _line(text: str, secrets: frozenset[str]) -> int:
    """The first line with a secret, or 0."""
    found = [at for form in _all_forms(secrets) if (at := text.find(form)) >= 0]
    return line_of(text, min(found)) if found else 0


@lru_cache(maxsize=16)
def _all_forms(secrets: frozenset[str]) -> frozenset[str]:
    return frozenset(form for secret in secrets if len(secret) >= _SHORTEST for form in forms(secret))


def forms(secret: str) -> Iterator[str]:
    """How templates print a text: as it is, quoted for JSON or a URL, in hexadecimal, and in base64 with other text."""
    data = secret.encode()
    yield from (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), data.hex())
    for skipped in range(3):
        encoded = encode_base64(bytes(skipped) + data).rstrip("=")
        # The first and the last characters depend on what is beside the text.
        start = (0, 2, 3)[skipped]
        end = len(encoded) if (skipped + len(data)) % 3 == 0 else len(encoded) - 1
        if end - start >= _SHORTEST:
            yield encoded[start:end]
