"""What the internet of a lane has: archives of packages for each system, and the files that profiles download."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane.images import Image
from osm_gitops.commands.boot.lane.internet import Content
from osm_gitops.commands.boot.lane.packages import (
    Signer,
    apt_archive,
    containerd_deb,
    containerd_files,
    empty_deb,
)
from osm_gitops.commands.boot.lane.programs import CONTAINERD, CONTAINERD_1, Kubernetes, Programs
from osm_gitops.commands.boot.lane.rpms import INSTALLED, containerd_rpm, empty_rpm, red_hat_packages, yum_repository
from osm_gitops.commands.boot.lane.systems import RED_HAT, UBUNTU_ARCHIVES, RedHat

DOCKER: Final = "download.docker.com"
Files = Mapping[str, Content]
"""By path."""

_SUITES: Final = ("noble", "noble-updates", "noble-security")
_EMPTY: Final = ("ceph-common", "glusterfs-client", "software-properties-common")
"""What OSM's profile of Ubuntu installs besides, and joining does not need."""
_CRICTL: Final = (
    b"#!/bin/sh\n# A stand-in: the module of the real one cannot be had.\nexec ctr --connect-timeout 10s version\n"
)
_KUBERNETES: Final = re.compile(
    r"(dl\.k8s\.io)(/(?:release/)?(v[\w.+-]+)/bin/linux/(?P<architecture>\w+)/(kubelet|kubectl|kubeadm))"
)
_CNI: Final = re.compile(
    r"(github\.com)"
    r"(/containernetworking/plugins/releases/download/[^/]+/cni-plugins-linux-(?P<architecture>\w+)-[^/]+\.tgz)"
)
_CRI_TOOLS: Final = re.compile(
    r"(github\.com)"
    r"(/kubernetes-sigs/cri-tools/releases/download/[^/]+/crictl-[^/]+-linux-(?P<architecture>\w+)\.tar\.gz)"
)
_SUMS: Final = re.compile(r"\.sha(256|512)(sum)?$")


@dataclass(frozen=True, slots=True)
class Stock:
    """What the files of the web are made of, for machines of one architecture. ``containerd`` is a folder with the
    files of its packages."""

    kubectl: Path
    cni: Path
    crictl: Path
    containerd: Path
    architecture: str

    @classmethod
    def made(cls, folder: Path, node: Programs, kubectl: Path, image: Image) -> Stock:
        """Made in an empty folder, for machines of the image's architecture."""
        return cls(
            kubectl=kubectl,
            cni=_archive(folder / "cni.tgz", {each.name: each.read_bytes() for each in node.cni}),
            crictl=_archive(folder / "crictl.tgz", {"crictl": _CRICTL}),
            containerd=containerd_files(folder / "containerd-2", node, image.runc),
            architecture=image.architecture,
        )


def file_of(url: str, stock: Stock, kubernetes: Kubernetes) -> tuple[str, Files] | None:
    """The host and the files by path, with their checksums, that a download asks for; ``None`` if the lane has no such
    file. ``url`` may be that of a mirror, in which the host of the file is a part of the path."""
    address = _SUMS.sub("", url.partition("?")[0])
    found = _KUBERNETES.search(address) or _CNI.search(address) or _CRI_TOOLS.search(address)
    if found is None or found["architecture"] != stock.architecture:
        return None
    host, path = found[1], found[2]
    if found.re is _KUBERNETES:
        # OSM's profiles install kubeadm, which nothing of theirs calls: the content is that of kubectl.
        file = kubernetes.kubelet if found[5] == "kubelet" else stock.kubectl
        return (host, _with_sums(path, file)) if found[3] == kubernetes.version else None
    if found.re is _CNI:
        return host, _with_sums(path, stock.cni, named=True)
    return host, _with_sums(path, stock.crictl)


def _with_sums(path: str, file: Path, *, named: bool = False) -> dict[str, Content]:
    """A file, and its checksums as they are published beside it: alone, or with the name of the file behind."""
    data = file.read_bytes()
    files: dict[str, Content] = {path: file}
    for kind in ("sha256", "sha512"):
        digest = hashlib.new(kind, data).hexdigest()
        line = f"{digest}  {path.rpartition('/')[2]}\n"
        files |= {f"{path}.{kind}": (line if named else digest).encode(), f"{path}.{kind}sum": line.encode()}
    return files


def ubuntu_web(
    folder: Path, stock: Stock, image: Image, signer: Signer, more: Iterable[str] = ()
) -> Mapping[str, Files]:
    """The archive of Ubuntu and that of Docker, by host. ``more`` are packages without content."""
    architecture = stock.architecture
    deb = containerd_deb(folder, "containerd.io", stock.containerd, architecture)
    docker = apt_archive([deb], ["noble"], ["stable"], signer, architecture)
    debs = sorted(image.packages.glob("*.deb"))
    real = {deb.name.partition("_")[0] for deb in debs}
    others = [empty_deb(folder, name) for name in dict.fromkeys((*_EMPTY, *more)) if name not in real]
    debs += [containerd_deb(folder, "containerd", stock.containerd, architecture), *others]
    ubuntu = apt_archive(debs, _SUITES, ("main", "restricted", "universe"), signer, architecture)
    host, place = UBUNTU_ARCHIVES[architecture]
    return {
        host: {f"{place}{path}": content for path, content in ubuntu.items()},
        DOCKER: {
            **{f"/linux/ubuntu{path}": content for path, content in docker.items()},
            "/linux/ubuntu/gpg": signer.public_key(),
        },
    }


@dataclass(frozen=True, slots=True)
class RedHatPackages:
    """Packages that profiles of Red Hat's family install, made once for all of its systems."""

    folder: Path
    packages: tuple[Path, ...]
    containerd: Path
    containerd_1: Path

    @classmethod
    def made(
        cls, folder: Path, stock: Stock, older: Programs, image: Image, signer: Signer, more: Iterable[str] = ()
    ) -> RedHatPackages:
        """In a folder that is not there yet. ``older`` is containerd of Amazon Linux 2, ``more`` are packages without
        content."""
        folder.mkdir()
        runc = image.runc
        containerd_1 = containerd_files(folder / "containerd-1", older, runc)
        new = (each for each in image.new_packages() if each != runc)
        packages = (
            *red_hat_packages(folder, new, signer),
            *(empty_rpm(folder, name, signer) for name in dict.fromkeys(more) if name not in INSTALLED),
        )
        newer = containerd_rpm(folder, "containerd.io", CONTAINERD, stock.containerd, signer)
        oldest = containerd_rpm(folder, "containerd", CONTAINERD_1, containerd_1, signer)
        return cls(folder, packages, newer, oldest)

    def web(self, name: str, signer: Signer) -> Mapping[str, Files]:
        """The repositories of a system, and Docker's, by host."""
        system = RED_HAT[name]
        contents: Mapping[str, Iterable[Path]] = {"BaseOS": (), "AppStream": self.packages}
        if name == "amzn2":
            contents = {"core": self.packages, "extras": (self.containerd_1,)}
        docker = yum_repository(self.folder / f"{name}-docker", [self.containerd])
        return {
            system.host: {
                path: file
                for repository, packages in contents.items()
                for path, file in self.repository(system, repository, packages).items()
            },
            DOCKER: {
                **{f"/linux/rhel/9/x86_64/stable{path}": content for path, content in docker.items()},
                "/linux/rhel/gpg": signer.public_key(),
            },
        }

    def repository(self, system: RedHat, name: str, packages: Iterable[Path], folder: str = "") -> Mapping[str, Path]:
        """A repository of a system with these packages; ``folder`` is its name on the host if it has another."""
        made = yum_repository(self.folder / f"{system.key}-{folder or name}", packages)
        place = system.repository(folder or name, system.release, "x86_64")
        return {f"{place}{path}": file for path, file in made.items()}


def _archive(path: Path, files: Mapping[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755
            archive.addfile(entry, io.BytesIO(data))
    return path
