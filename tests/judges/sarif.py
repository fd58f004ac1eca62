"""The SARIF SDK's validator, which knows what GitHub's code scanning reads, unpacked into ``.tools/real``.

``python -m tests.judges.sarif`` fetches it from the npm registry if it is not there yet. It exists for x86-64 only.
"""

from __future__ import annotations

import base64
import hashlib
import io
import platform
import sys
import tarfile
import urllib.request
from pathlib import Path

_VERSION = "5.7.0"
_PACKAGE = "sarif-multitool-linux"
_URL = f"https://registry.npmjs.org/@microsoft/{_PACKAGE}/-/{_PACKAGE}-{_VERSION}.tgz"
_SHA512 = "NxUbpq6ISCWoTQ/NfOYEwEDKq1Heka/rMoJ5R5LMydcAZQX/X7g5mWHcgxDub+0M07LC96tZ5LZHvF1Qy3gjTA=="
_NEEDED = "Sarif.Multitool"
_SECONDS = 300

NAME = f"sarif-multitool-{_VERSION}"
"""The program's name in the folder of real tools."""


def runs_here() -> bool:
    return sys.platform == "linux" and platform.machine() == "x86_64"


def fetch(folder: Path) -> None:
    program = folder / NAME
    if program.exists() or not runs_here():
        return
    with urllib.request.urlopen(_URL, timeout=_SECONDS) as answer:
        packed = answer.read()
    found = base64.b64encode(hashlib.sha512(packed).digest()).decode()
    if found != _SHA512:
        sys.exit(f"{_URL} has the SHA-512 {found}, not {_SHA512}")
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        member = next(each for each in archive if Path(each.name).name == _NEEDED)
        content = archive.extractfile(member)
        assert content is not None
        part = program.with_suffix(".part")
        part.write_bytes(content.read())
    part.chmod(0o755)
    part.rename(program)


if __name__ == "__main__":
    fetch(Path(__file__).resolve().parents[2] / ".tools" / "real")
