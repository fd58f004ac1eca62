"""Running git itself: in a pinned environment, of a known version, and with what it says as sentences."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from osm_gitops.errors import Problem, TargetError
from osm_gitops.gitdoor.failures import failure

if TYPE_CHECKING:
    import git

# `git restore --pathspec-from-file` is the youngest of what we use.
OLDEST_GIT = (2, 25)
_INSTALL = f"Install git {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or newer, or mend PATH"
_SAFETY = ("-c", "protocol.ext.allow=never", "-c", "core.quotePath=false", "-c", "advice.detachedHead=false")
# With these the branch could come to point to what its repository lacks.
_ASTRAY = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_SHALLOW_FILE")
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "LC_ALL": "C",  # its sentences are read
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TRACE_REDACT": "1",  # traces that the user turned on never show credentials
}


@dataclass(frozen=True, slots=True)
class Said:
    """How one git command ended."""

    status: int
    out: str
    error: str

    @property
    def all(self) -> str:
        return f"{self.out}\n{self.error}"


@dataclass(frozen=True, slots=True)
class Extras:
    """What one command gets beyond the usual: options before its verb, environment, words to hide in errors."""

    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = field(default=(), repr=False)


NO_EXTRAS = Extras()


class Git:
    """git in one folder. ``place`` are the options that name the repository, ``index`` its index."""

    def __init__(self, folder: Path, *, place: tuple[str, ...] = (), index: Path | None = None) -> None:
        self.folder = folder
        self.place = place
        self._index = index
        self._git = _library(folder)

    def run(self, *command: str, index: Path | None = None, stdin: bytes = b"", extras: Extras = NO_EXTRAS) -> str:
        """What git prints; :class:`TargetError` where it fails."""
        said = self.execute(command, index=index, stdin=stdin, extras=extras)
        if said.status != 0:
            raise self.error(command, said.error or said.out, extras)
        return said.out

    def attempt(self, *command: str) -> str | None:
        """What git says, without line breaks around it; ``None`` where it answers no (exit code 1)."""
        said = self.execute(command)
        if said.status == 0:
            return said.out.strip()
        if said.status == 1 or (said.status == 128 and command[0] == "rev-parse"):
            return None
        raise self.error(command, said.error)

    def execute(
        self, command: Sequence[str], *, index: Path | None = None, stdin: bytes = b"", extras: Extras = NO_EXTRAS
    ) -> Said:
        """Run git to its end, however it ends. Who is interrupted ends git too."""
        chosen = index or self._index
        environment = _ENVIRONMENT | ({"GIT_INDEX_FILE": str(chosen)} if chosen else {})
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            process = self._git.execute(
                ["git", *_SAFETY, *extras.options, *self.place, *command],
                istream=given,
                as_process=True,
                env=environment | dict(extras.environment),
            )
            try:
                out, error = process.communicate()
            except BaseException:
                _end(process.proc)
                raise
        return Said(process.returncode, os.fsdecode(out), os.fsdecode(error))

    def pipe(self, *command: str) -> Any:
        """A running git command, with pipes for its input, output and errors."""
        return self._git.execute(
            ["git", *_SAFETY, *self.place, *command], istream=subprocess.PIPE, as_process=True, env=_ENVIRONMENT
        )

    def error(self, command: Sequence[str], said: str, extras: Extras = NO_EXTRAS) -> TargetError:
        """A failed command as a sentence."""
        verb = next((word for word in command if not word.startswith("-")), "")
        return TargetError([failure(verb, said, str(self.folder), extras.hidden)])


def refuse_astray(folder: Path) -> None:
    """Refuse to write where the environment, as git sets it for some hooks, has objects written elsewhere."""
    astray = [name for name in _ASTRAY if name in os.environ]
    if astray:
        what = f"the environment leads what git writes elsewhere ({', '.join(astray)})"
        fix = f"Run it without: env {' '.join(f'-u {name}' for name in astray)} osm-gitops …"
        raise TargetError([Problem(what, where=str(folder), fix=fix)])


def _end(process: Any) -> None:
    """End git. Its children (ssh, a hook) may live on and hold its pipes: waiting for those could last for ever."""
    process.terminate()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def _library(folder: Path) -> git.Git:
    # Imported here: it takes longer than all else that a run without git needs.
    try:
        found: git.Git = import_module("git").Git(folder)
    except ImportError as missing:
        raise TargetError([Problem("git cannot be run", where=str(folder), fix=_INSTALL)]) from missing
    version = _version(os.environ.get("PATH", ""))
    if version < OLDEST_GIT:
        raise TargetError([Problem(f"git {'.'.join(map(str, version))} is too old", fix=_INSTALL)])
    return found


@cache
def _version(_path: str) -> tuple[int, ...]:
    """The version of git, asked for once a process (and search path)."""
    library = import_module("git")
    try:
        version: tuple[int, ...] = library.Git().version_info
    except (OSError, library.GitCommandNotFound) as fault:
        raise TargetError([Problem("git cannot be run", fix=_INSTALL)]) from fault
    except library.GitError as fault:
        raise TargetError([Problem("git does not tell its version", fix=_INSTALL)]) from fault
    return version
