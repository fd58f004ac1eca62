"""What the image is built with and on: Debian's buildah, and a base of Debian's packages in place of Docker's Python.

``python -m tests.image.base`` installs what is missing with apt and makes the base, once for each recipe, in
``.tools/image``. Both need root, or a sudo that asks for no password. The base resembles ``python:3.13-slim``: the same
release of Debian, the same Python with pip, and no documentation, locales or bytecode.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from filelock import FileLock

FOLDER: Final = (Path(__file__).parent.parent.parent / ".tools" / "image").resolve()
_RUN: Final = FOLDER / "run"
_RELEASE: Final = "trixie"
_MIRROR: Final = "http://deb.debian.org/debian"
_PACKAGES: Final = "ca-certificates,netbase,python-is-python3,python3,python3-pip,tzdata"
_LEFT_OUT: Final = (
    *(f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("doc", "info", "locale", "man")),
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
)
_PYTHON: Final = (
    "rm $1/usr/lib/python3*/EXTERNALLY-MANAGED && find $1/usr/lib -name __pycache__ -prune -exec rm -r {} +"
)
_BUNDLE: Final = "/etc/ssl/certs/ca-certificates.crt"
_PATH: Final = "PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROGRAMS: Final = {"buildah": "buildah", "mmdebstrap": "mmdebstrap", "unshare": "util-linux"}


class MissingError(Exception):
    """Something that the image's tests need is missing; a sentence."""


def as_root() -> tuple[str, ...]:
    """What a command line of root begins with. Raises MissingError."""
    if os.geteuid() == 0:
        return ()
    sudo = shutil.which("sudo")
    if sudo and subprocess.run([sudo, "-n", "true"], capture_output=True, check=False).returncode == 0:
        return (sudo, "-n")
    raise MissingError("the image is built as root: run `make test-all` as root, or allow sudo without a password")


def buildah() -> tuple[str, ...]:
    """The first words of its command lines; its storage is our own. Raises MissingError."""
    driver = _driver()
    places = ("--root", f"{FOLDER}/storage-{driver}", "--runroot", str(_RUN))
    return (*as_root(), "buildah", *places, "--storage-driver", driver)


def base_image() -> str:
    """The name of the base's image, which bears the key of its recipe."""
    recipe = json.dumps([_RELEASE, _MIRROR, _PACKAGES, _LEFT_OUT, _PYTHON, _PATH, _own_certificates()])
    return f"localhost/osm-gitops-base:{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"


def check() -> None:
    """Raises MissingError where the base is not there, or nothing can be built on it."""
    as_root()
    for program in _PROGRAMS:
        if shutil.which(program) is None:
            raise MissingError(f"{program} is not installed: run `make test-all` as root on Debian or Ubuntu")
    if not output(*buildah(), "images", "--quiet", "--filter", f"reference={base_image()}").strip():
        raise MissingError(f"there is no {base_image()} in {FOLDER}: run `make test-all`, which makes it")


def make() -> None:
    """Install and make what is missing. Raises MissingError."""
    _install()
    if output(*buildah(), "images", "--quiet", "--filter", f"reference={base_image()}").strip():
        return
    archive = _folder() / "base.tar"
    print("making a base for the image of Debian's packages: some minutes, once", file=sys.stderr, flush=True)
    hooks = [_PYTHON, *([f"cp --dereference {_BUNDLE} $1{_BUNDLE}"] if _own_certificates() else [])]
    options = (*_LEFT_OUT, *(f"--customize-hook={hook}" for hook in hooks), f"--include={_PACKAGES}")
    output(*as_root(), "mmdebstrap", "--variant=minbase", "--format=tar", *options, _RELEASE, str(archive), _MIRROR)
    container = output(*buildah(), "from", "scratch").strip()
    output(*buildah(), "add", container, str(archive), "/")
    variables = [_PATH]
    if _own_certificates():
        variables += ["UV_SYSTEM_CERTS=1", f"SSL_CERT_FILE={_BUNDLE}", f"PIP_CERT={_BUNDLE}"]
    output(*buildah(), "config", *(word for each in variables for word in ("--env", each)), container)
    output(*buildah(), "commit", "--rm", container, base_image())
    output(*as_root(), "rm", str(archive))


def release() -> None:
    """Unmount and forget what a run that was killed left mounted, as a restart of the machine would."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines()]
    for folder in reversed([each for each in mounts if Path(each).is_relative_to(FOLDER)]):
        output(*as_root(), "umount", folder)
    output(*as_root(), "rm", "-rf", str(_RUN))


def output(*command: str) -> str:
    """What a command prints; AssertionError with its errors where it fails."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{' '.join(command)}:\n{ran.stdout[-2000:]}{ran.stderr[-4000:]}"
    return ran.stdout


def _install() -> None:
    missing = [package for program, package in _PROGRAMS.items() if shutil.which(program) is None]
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise MissingError(f"{' and '.join(missing)} are not installed, and there is no apt-get to install them with")
    apt = (*as_root(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet")
    output(*apt, "update")
    # Ubuntu's mmdebstrap checks Debian's archive by the keys of debian-archive-keyring.
    output(*apt, "install", "--yes", "--no-install-recommends", "debian-archive-keyring", *missing)


def _own_certificates() -> str:
    """The digest of this machine's certificates where it says that programs should trust these, else nothing."""
    if not os.environ.get("SSL_CERT_FILE"):
        return ""
    return hashlib.sha256(Path(_BUNDLE).read_bytes()).hexdigest()


@cache
def _driver() -> str:
    """``overlay`` where the file system takes one, which saves copies of whole roots, else ``vfs``."""
    with TemporaryDirectory(dir=_folder()) as trial:
        command = ("buildah", "--root", f"{trial}/root", "--runroot", f"{trial}/run", "--storage-driver", "overlay")
        ran = subprocess.run([*as_root(), *command, "info"], capture_output=True, check=False)
        subprocess.run([*as_root(), "rm", "-rf", f"{trial}/root", f"{trial}/run"], check=True)
    return "vfs" if ran.returncode else "overlay"


def _folder() -> Path:
    FOLDER.mkdir(parents=True, exist_ok=True)
    return FOLDER


def main() -> None:
    """Make it; where that is impossible, say why: the tests of the image will fail for the same reason."""
    try:
        as_root()
        with FileLock(_folder() / ".lock"):
            make()
    except MissingError as error:
        print(f"The image cannot be tested: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
