"""Finding and running other people's programs: with a bound in time and number, and nothing of ours in their sight."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from osm_gitops.children import plain_path

Item = TypeVar("Item")
Answer = TypeVar("Answer")

SECONDS: Final = 120.0
_SIDE_BY_SIDE: Final = 4
# What a program gets to see of the environment: no token, and no setting that changes its words.
_PLAIN: Final = {"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1"}


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program answered; ``code`` is ``None`` where it took longer than it may, or could not be started."""

    code: int | None
    output: str
    errors: str


def find_program(name: str, environment: Mapping[str, str]) -> str | None:
    """The program on the PATH of ``environment``, or beside the Python that runs us, where extras install theirs."""
    beside = str(Path(sys.executable).parent)
    return shutil.which(name, path=plain_path(environment)) or shutil.which(name, path=beside)


def run(words: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float = SECONDS) -> Ran:
    """Run a program in ``folder``, which is its home and its place for temporary files as well."""
    plain = {**_PLAIN, "PATH": plain_path(environment), "HOME": str(folder), "TMPDIR": str(folder)}
    try:
        ran = subprocess.run(  # noqa: S603 -- words of ours and names of our own files
            words,
            cwd=folder,
            env=plain,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return Ran(None, "", "")
    return Ran(ran.returncode, ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace"))


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that nobody else may look into, and that is gone afterwards."""
    with TemporaryDirectory(prefix="osm-gitops-validate-") as folder:
        yield Path(folder)


def side_by_side(work: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
    """The answers to all items in their order, a few at a time."""
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(_SIDE_BY_SIDE, os.cpu_count() or 1, len(items))) as pool:
        return list(pool.map(work, items))


def batches(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """The items, ``size`` at a time."""
    return [items[start : start + size] for start in range(0, len(items), size)]
