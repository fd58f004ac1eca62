"""Running git itself: in a pinned environment, of a known version, and with what it says as sentences."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from osm_gitops.bounded.files import shown_size
from osm_gitops.children import for_git
from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.failures import REMOTE_VERBS, failure

if TYPE_CHECKING:
    import git

# `git restore --pathspec-from-file` is the youngest of what we use.
OLDEST_GIT = (2, 25)
REMOTE_SECONDS: Final = 600.0
"""For a command that talks to a remote, with the hooks that run with it."""
MOST_OUT: Final = 256 << 20
"""Bytes that a command may print: lists of paths, of refs, of commits."""
_MOST_ERRORS: Final = 1 << 20
_PIECE: Final = 1 << 16
_GRACE: Final = 5.0  # seconds to remove what is half made
_INSTALL = f"Install git {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or newer, or mend PATH"
_SAFETY = (
    *("-c", "protocol.ext.allow=never", "-c", "core.quotePath=false", "-c", "advice.detachedHead=false"),
    # A repository that somebody committed into another one has a configuration of its own, which names programs.
    *("-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false", "-c", "core.pager=cat"),
)
# What only reads fetches nothing (a partial clone would, by a program that its configuration may name) and runs no
# hook. The variables are of different age: git before 2.45 does not know the first.
_READING = ("-c", f"core.hooksPath={os.devnull}")
_READING_ENVIRONMENT = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_READERS = frozenset(
    {
        *("cat-file", "check-attr", "check-ignore", "config", "ls-files", "ls-tree", "rev-parse", "status"),
        *("symbolic-ref", "var", "version"),
    }
)
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
class CompletedProcess:
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
    ) -> CompletedProcess:
        """Run git to its end, however it ends. Who is interrupted ends git too."""
        chosen = index or self._index
        options, environment = _surroundings(command)
        if chosen:
            environment["GIT_INDEX_FILE"] = str(chosen)
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            process = self._git.execute(
                ["git", *options, *extras.options, *self.place, *command],
                istream=given,
                as_process=True,
                env=environment | dict(extras.environment),
            )
            verb = _verb(command)
            child: Any = process.proc
            out, error = bytearray(), bytearray()
            readers = (
                threading.Thread(target=_read, args=(os.dup(child.stdout.fileno()), out, MOST_OUT), daemon=True),
                threading.Thread(target=_read_end, args=(os.dup(child.stderr.fileno()), error), daemon=True),
            )
            try:
                for reader in readers:
                    reader.start()
                self._wait(verb, readers, out, REMOTE_SECONDS if verb in REMOTE_VERBS else None)
                status: int = child.wait()
            except BaseException:
                _end(child)
                raise
            process.stdout.close()
            process.stderr.close()
        return CompletedProcess(status, os.fsdecode(bytes(out)), os.fsdecode(bytes(error)))

    def _wait(self, verb: str, readers: Sequence[threading.Thread], out: bytearray, seconds: float | None) -> None:
        """Wait until git has closed its pipes. Raises TargetError where it says too much, or nothing for too long."""
        until = None if seconds is None else monotonic() + seconds
        for reader in readers:
            reader.join(None if until is None else max(0.0, until - monotonic()))
            if reader.is_alive():
                fix = "Check the address, the network between here and there, and hooks that run with it"
                raise TargetError(
                    [Problem(Code.GIT_LIMIT, f"git {verb} did not end within {seconds:g} s", str(self.folder), fix=fix)]
                )
            if len(out) > MOST_OUT:
                what = f"git {verb} printed more than {shown_size(MOST_OUT)}"
                raise TargetError(
                    [Problem(Code.GIT_LIMIT, what, str(self.folder), fix="Check the repository, and the remote")]
                )

    def pipe(self, *command: str) -> Any:
        """A running git command, with pipes for its input, output and errors."""
        options, environment = _surroundings(command)
        return self._git.execute(
            ["git", *options, *self.place, *command], istream=subprocess.PIPE, as_process=True, env=environment
        )

    def error(self, command: Sequence[str], said: str, extras: Extras = NO_EXTRAS) -> TargetError:
        """A failed command as a sentence."""
        return TargetError([failure(_verb(command), said, str(self.folder), extras.hidden)])


def _surroundings(command: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Options before the verb, and the environment. GitPython hands on all variables of this process, so those that
    git is not to see are emptied."""
    reads = _verb(command) in _READERS
    kept = for_git(os.environ, reads_only=reads)
    environment = dict.fromkeys(os.environ, "") | kept | _ENVIRONMENT
    if reads:
        return (*_SAFETY, *_READING), environment | _READING_ENVIRONMENT
    return _SAFETY, environment


def refuse_astray(folder: Path) -> None:
    """Refuse to write where the environment, as git sets it for some hooks, has objects written elsewhere."""
    astray = [name for name in _ASTRAY if name in os.environ]
    if astray:
        what = f"the environment leads what git writes elsewhere ({', '.join(astray)})"
        fix = f"Run it without: env {' '.join(f'-u {name}' for name in astray)} osm-gitops …"
        raise TargetError([Problem(Code.GIT_ENVIRONMENT, what, where=str(folder), fix=fix)])


def _verb(command: Sequence[str]) -> str:
    return next((word for word in command if not word.startswith("-")), "")


def _read(pipe: int, into: bytearray, most: int) -> None:
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while len(into) <= most and (piece := file.read(_PIECE)):
            into += piece


def _read_end(pipe: int, into: bytearray) -> None:
    """The end of what git says of its trouble, where it says what counts; a remote may say what it likes before."""
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            into += piece
            del into[:-_MOST_ERRORS]


def _end(process: Any) -> None:
    """End git. Its children (ssh, a hook) may live on and hold its pipes: waiting for those could last for ever."""
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    process.stderr.close()


def _library(folder: Path) -> git.Git:
    # Imported here: it takes longer than all else that a run without git needs.
    try:
        found: git.Git = import_module("git").Git(folder)
    except ImportError as missing:
        raise TargetError(
            [Problem(Code.GIT_UNUSABLE, "git cannot be run", where=str(folder), fix=_INSTALL)]
        ) from missing
    version = _version(os.environ.get("PATH", ""))
    if version < OLDEST_GIT:
        raise TargetError([Problem(Code.GIT_UNUSABLE, f"git {'.'.join(map(str, version))} is too old", fix=_INSTALL)])
    return found


@cache
def _version(_path: str) -> tuple[int, ...]:
    """The version of git, asked for once a process (and search path)."""
    library = import_module("git")
    try:
        version: tuple[int, ...] = library.Git().version_info
    except (OSError, library.GitCommandNotFound) as fault:
        raise TargetError([Problem(Code.GIT_UNUSABLE, "git cannot be run", fix=_INSTALL)]) from fault
    except library.GitError as fault:
        raise TargetError([Problem(Code.GIT_UNUSABLE, "git does not tell its version", fix=_INSTALL)]) from fault
    return version
