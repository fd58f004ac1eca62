"""Debian's packages that judge what we render, unpacked into ``.tools/debian``: neither root, apt nor dpkg is needed.

``python -m tests.judges.debian`` fetches what is not there yet. A pinned version that the archive has no longer makes
way for the one that the release has now.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import re
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent.parent / ".tools" / "debian"
_MIRROR = "https://deb.debian.org/debian"
_SECONDS = 120


@dataclass(frozen=True)
class Package:
    """A package of a release; ``path`` and ``sha256`` are those of the pinned version in the archive."""

    name: str
    release: str
    path: str
    sha256: str

    @property
    def stamp(self) -> Path:
        return FOLDER / f"{self.sha256[:16]}-{self.name}.stamp"


@dataclass(frozen=True)
class Tool:
    """Packages that are unpacked into one folder."""

    folder: str
    packages: tuple[Package, ...]


_S = "pool/main/s/systemd"
TOOLS = (
    Tool(
        "cloud-init-22.4",
        (
            Package(
                "cloud-init",
                "bookworm",
                "pool/main/c/cloud-init/cloud-init_22.4.2-1+deb12u4_all.deb",
                "c18c9b1a999268413f215371ae6382f8705a437b2b24c049d6dbafcc111a1d09",
            ),
        ),
    ),
    Tool(
        "cloud-init-25.1",
        (
            Package(
                "cloud-init",
                "trixie",
                "pool/main/c/cloud-init/cloud-init_25.1.4-1+deb13u1_all.deb",
                "1b120a44110e7234c9cf9ccde78fb5d5ea1292c94ef0ca70d09a580f72980df3",
            ),
        ),
    ),
    Tool(
        "systemd-252",
        (
            Package(
                "systemd",
                "bookworm",
                f"{_S}/systemd_252.39-1~deb12u2_amd64.deb",
                "286f879c537bfba92e59d580c075ad20ab49020244c79634656850a306dd462b",
            ),
            Package(
                "libsystemd-shared",
                "bookworm",
                f"{_S}/libsystemd-shared_252.39-1~deb12u2_amd64.deb",
                "01458465c816b9eb63b92241869ddb46f332b8f498cf7a5979b84ec293cfdfda",
            ),
            Package(
                "libsystemd0",
                "bookworm",
                f"{_S}/libsystemd0_252.39-1~deb12u2_amd64.deb",
                "013c07514a9e4933b2d5c098018695a6aa42d085dbc483ce2c094a954c8a1b0a",
            ),
        ),
    ),
)
CLOUD_INITS = ("cloud-init-22.4", "cloud-init-25.1")


def cloud_init(folder: str, scratch: Path) -> list[str]:
    """The first words of a command line of an unpacked cloud-init, run by the Python of the tests."""
    modules = FOLDER / folder / "usr/lib/python3/dist-packages"
    assert (modules / "cloudinit").is_dir(), f"{modules} is missing: run `make test-all`, which fetches it"
    script = scratch / folder
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH={modules} exec {sys.executable} -W ignore -m cloudinit.cmd.main "$@"\n', "utf-8"
    )
    script.chmod(0o755)
    return [str(script)]


def systemd_path(scratch: Path) -> str:
    """A PATH with Debian's systemd-analyze before whatever this machine has."""
    root = FOLDER / "systemd-252"
    program = root / "usr/bin/systemd-analyze"
    assert program.is_file(), f"{program} is missing: run `make test-all`, which fetches it"
    libraries = root / "usr/lib/x86_64-linux-gnu"
    script = scratch / "systemd-analyze"
    script.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries}:{libraries}/systemd exec {program} "$@"\n', "utf-8")
    script.chmod(0o755)
    return f"{scratch}{os.pathsep}{os.environ['PATH']}"


def main() -> None:
    """Fetch and unpack what is missing."""
    for tool in TOOLS:
        for package in tool.packages:
            if not package.stamp.exists():
                _unpack(_deb(package), FOLDER / tool.folder)
                package.stamp.touch()


def _deb(package: Package) -> bytes:
    try:
        data, digest = _fetch(package.path), package.sha256
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        path, digest = _newest(package)
        data = _fetch(path)
    found = hashlib.sha256(data).hexdigest()
    assert found == digest, f"{package.name} of {package.release} has the SHA-256 {found}, not {digest}"
    return data


def _fetch(path: str) -> bytes:
    with urllib.request.urlopen(f"{_MIRROR}/{path.replace('+', '%2b')}", timeout=_SECONDS) as answer:
        data: bytes = answer.read()
    return data


def _newest(package: Package) -> tuple[str, str]:
    """Path and digest of what the release has now."""
    index = lzma.decompress(_fetch(f"dists/{package.release}/main/binary-amd64/Packages.xz")).decode()
    entry = re.search(rf"^Package: {re.escape(package.name)}\n(?:.+\n)*", index, re.MULTILINE)
    assert entry, f"{package.release} has no package {package.name}"
    fields = dict(re.findall(r"^(Filename|SHA256): (.*)$", entry[0], re.MULTILINE))
    return fields["Filename"], fields["SHA256"]


def _unpack(deb: bytes, folder: Path) -> None:
    (data,) = (content for name, content in _members(deb) if name.startswith("data.tar"))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extraction_filter = getattr(tarfile, "tar_filter", None)  # Pythons before 3.11.4 have none
        archive.extractall(folder)


def _members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of an ``ar`` archive: headers of 60 bytes, contents at even places."""
    position = len(b"!<arch>\n")
    while position < len(archive):
        header = archive[position : position + 60]
        name, size = header[:16].decode().strip().rstrip("/"), int(header[48:58])
        yield name, archive[position + 60 : position + 60 + size]
        position += 60 + size + size % 2


if __name__ == "__main__":
    main()
