"""Packages and repositories of Red Hat's family as the internet has them: signed, in the layout that dnf asks for.

Their content is Debian's, as the rest of the machine is: all files are in one package, which the others require.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane.needs import output
from osm_gitops.commands.boot.lane.packages import Signer

INSTALLED: Final = (
    *("ca-certificates", "cifs-utils", "conntrack-tools", "e2fsprogs", "ebtables", "ethtool", "ipvsadm", "iptables"),
    *("jq", "kmod", "lvm2", "nfs-utils", "socat", "tar", "util-linux", "xfsprogs"),
)
"""What the profiles install."""
_FILES: Final = "files-of-debian"
_MERGED: Final = ("bin", "sbin", "lib")
"""Folders that are links into ``/usr``."""
_SPEC: Final = """\
Name: {name}
Version: {version}
Release: 1.el9
Summary: of the lane
License: none
AutoReqProv: no
{requires}
%global debug_package %{{nil}}
%global __os_install_post %{{nil}}
%global _build_id_links none
%global _binary_payload w1.gzdio
%description
Of the lane.
%install
mkdir -p %{{buildroot}}
cp -a {root}/. %{{buildroot}}/
%files {files}
"""


def red_hat_packages(folder: Path, debs: Iterable[Path], signer: Signer) -> list[Path]:
    """What the profiles install; the files are those of packages of Debian."""
    root = folder / _FILES
    for deb in debs:
        output("dpkg-deb", "--extract", str(deb), str(root))
    for name in _MERGED:
        if (root / name).is_dir():
            shutil.copytree(root / name, root / "usr" / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(root / name)
    for name in ("iptables", "ip6tables"):  # Debian makes these links when it configures its package
        for suffix in ("", "-save", "-restore"):
            (root / "usr" / "sbin" / f"{name}{suffix}").symlink_to("xtables-nft-multi")
    files = _rpm(folder, _FILES, "1.0", signer, root)
    return [files, *(_rpm(folder, name, "1.0", signer, requires=[_FILES]) for name in INSTALLED)]


def containerd_rpm(folder: Path, name: str, version: str, files: Path, signer: Signer) -> Path:
    """A package of containerd: Docker's or Amazon's."""
    return _rpm(folder, name, version, signer, files)


def empty_rpm(folder: Path, name: str, signer: Signer) -> Path:
    """A package that has nothing but its name."""
    return _rpm(folder, name, "1.0", signer)


def yum_repository(folder: Path, packages: Iterable[Path]) -> Mapping[str, Path]:
    """The files of a repository by path."""
    folder.mkdir()
    for package in packages:
        shutil.copy(package, folder)
    output("createrepo_c", "--quiet", "--no-database", str(folder))
    return {f"/{path.relative_to(folder)}": path for path in sorted(folder.rglob("*")) if path.is_file()}


def _rpm(
    folder: Path, name: str, version: str, signer: Signer, root: Path | None = None, requires: Sequence[str] = ()
) -> Path:
    if root is None:
        root = folder / f"{name}-{version}"
        root.mkdir()
    files = sorted(path for path in root.rglob("*") if path.is_symlink() or not path.is_dir())
    paths = [f"/{path.relative_to(root)}" for path in files]
    # What a profile has written is kept, as packages of the family do it.
    kept = {path: "%config(noreplace) " for path in paths if path.startswith("/etc/")}
    lines = (f'{kept.get(path, "")}"{path}"\n' for path in paths)
    listed = Path(f"{root}.list")
    listed.write_text("".join(lines), "utf-8")
    spec = Path(f"{root}.spec")
    needs = "\n".join(f"Requires: {each}" for each in requires)
    text = _SPEC.format(name=name, version=version, root=root, requires=needs, files=f"-f {listed}" if files else "")
    spec.write_text(text, "utf-8")
    output("rpmbuild", "-bb", "--quiet", "--define", f"_topdir {folder / 'rpmbuild'}", "--target=x86_64", str(spec))
    package = folder / "rpmbuild" / "RPMS" / "x86_64" / f"{name}-{version}-1.el9.x86_64.rpm"
    signer.sign_rpm(package)
    return package
