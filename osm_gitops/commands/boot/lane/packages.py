"""Archives of packages as the internet has them: signed, in the layout that apt asks for."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane.needs import output
from osm_gitops.commands.boot.lane.programs import CONTAINERD, Programs

_UNIT: Final = """\
[Unit]
Description=containerd container runtime
After=network.target local-fs.target

[Service]
ExecStartPre=-/sbin/modprobe overlay
ExecStart=/usr/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
"""

_NAME: Final = "archives of the lane"


@dataclass(frozen=True, slots=True)
class Signer:
    """A key that was made for these archives."""

    home: Path

    @classmethod
    def made(cls, home: Path) -> Signer:
        home.mkdir(mode=0o700)
        made = cls(home)
        made._gpg("--passphrase", "", "--quick-generate-key", _NAME, "rsa2048", "sign", "never")
        return made

    def close(self) -> None:
        """End the agent that gpg started."""
        output("gpgconf", "--kill", "gpg-agent", GNUPGHOME=str(self.home))

    def public_key(self) -> bytes:
        """In the armour in which Docker publishes its key."""
        return self._gpg("--armor", "--export").encode()

    def keyring(self) -> bytes:
        """As packages of keys have it."""
        path = self.home / "keyring.gpg"
        self._gpg("--output", str(path), "--export")
        return path.read_bytes()

    def clear_signed(self, text: str) -> bytes:
        source = self.home / "text"
        source.write_text(text, "utf-8")
        return self._gpg("--clearsign", "--output", "-", str(source)).encode()

    def sign_rpm(self, package: Path) -> None:
        macros = (f"_gpg_name {_NAME}", f"__gpg {shutil.which('gpg')}")
        defined = [word for macro in macros for word in ("--define", macro)]
        output("rpmsign", *defined, "--addsign", str(package), GNUPGHOME=str(self.home))

    def _gpg(self, *arguments: str) -> str:
        return output(
            "gpg", "--batch", "--yes", "--quiet", "--pinentry-mode", "loopback", *arguments, GNUPGHOME=str(self.home)
        )


def containerd_files(root: Path, programs: Programs, runc: Path) -> Path:
    """The files of Docker's package of containerd, at the same places; other systems have them there, too."""
    binaries, units = root / "usr/bin", root / "usr/lib/systemd/system"
    for each in (binaries, units, root / "etc/containerd"):
        each.mkdir(parents=True)
    for name in ("containerd", "containerd-shim-runc-v2", "ctr"):
        shutil.copy(programs[name], binaries)
    unpacked = root.with_name("runc")
    output("dpkg-deb", "--extract", str(runc), str(unpacked))
    shutil.copy(unpacked / "usr/sbin/runc", binaries)
    shutil.rmtree(unpacked)
    (units / "containerd.service").write_text(_UNIT, "utf-8")
    (root / "etc/containerd/config.toml").write_text('disabled_plugins = ["cri"]\n', "utf-8")
    return root


def containerd_deb(folder: Path, name: str, files: Path, architecture: str) -> Path:
    """A package of containerd: ``containerd.io`` is Docker's, ``containerd`` Ubuntu's."""
    root = folder / name
    shutil.copytree(files, root)
    control = root / "DEBIAN"
    control.mkdir()
    (control / "conffiles").write_text("/etc/containerd/config.toml\n", "utf-8")
    (control / "control").write_text(
        f"Package: {name}\nVersion: {CONTAINERD}-1~ubuntu.24.04~noble\nArchitecture: {architecture}\n"
        "Depends: libc6, libseccomp2\nConflicts: containerd, containerd.io, runc\nReplaces: containerd, runc\n"
        "Maintainer: the lane <lane@example.com>\nDescription: containerd, of the lane\n",
        "utf-8",
    )
    script = control / "postinst"
    script.write_text(
        "#!/bin/sh\nset -e\nsystemctl daemon-reload\nsystemctl enable --now containerd.service\n", "utf-8"
    )
    script.chmod(0o755)
    archive = folder / f"{name}_{CONTAINERD}-1_{architecture}.deb"
    output("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", str(root), str(archive))
    return archive


def empty_deb(folder: Path, name: str) -> Path:
    """A package that has nothing but its name."""
    control = folder / name / "DEBIAN" / "control"
    control.parent.mkdir(parents=True)
    control.write_text(
        f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: the lane <lane@example.com>\n"
        "Description: of the lane, and empty\n",
        "utf-8",
    )
    archive = folder / f"{name}_1.0_all.deb"
    output("dpkg-deb", "--root-owner-group", "--build", str(folder / name), str(archive))
    return archive


def apt_archive(
    debs: Iterable[Path], suites: Iterable[str], components: Iterable[str], signer: Signer, architecture: str
) -> Mapping[str, bytes | Path]:
    """Files by path: the packages are in the first suite's first component, and all other parts are empty."""
    files: dict[str, bytes | Path] = {}
    entries = []
    for deb in sorted(debs):
        path = f"pool/{deb.name}"
        files[f"/{path}"] = deb
        digest = hashlib.sha256(deb.read_bytes()).hexdigest()
        control = output("dpkg-deb", "--field", str(deb)).rstrip("\n")
        entries.append(f"{control}\nFilename: {path}\nSize: {deb.stat().st_size}\nSHA256: {digest}\n")
    index = "\n".join(entries)
    parts = list(components)
    for suite in suites:
        sums = []
        for component in parts:
            for part in (architecture, "all"):
                text = index.encode() if part == architecture else b""
                for name, content in (("Packages", text), ("Packages.gz", gzip.compress(text, mtime=0))):
                    place = f"{component}/binary-{part}/{name}"
                    files[f"/dists/{suite}/{place}"] = content
                    sums.append(f" {hashlib.sha256(content).hexdigest()} {len(content)} {place}")
            index = ""
        release = (
            f"Origin: lane\nLabel: lane\nSuite: {suite}\nCodename: {suite}\nDate: Sat, 01 Jan 2022 00:00:00 UTC\n"
            f"Architectures: {architecture}\nComponents: {' '.join(parts)}\nSHA256:\n" + "\n".join(sums) + "\n"
        )
        files[f"/dists/{suite}/InRelease"] = signer.clear_signed(release)
    return files
