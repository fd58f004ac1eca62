"""Running git itself: in a pinned environment, of a known version, and with what it says as sentences."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from osm_gitops.bounded.files import shown_size
from osm_gitops.children import for_git
from osm_gitops.errors import Code, Problem, TargetError, target_error

if TYPE_CHECKING:
    import git


LONGEST_REASON = 600
REMOTE_VERBS = frozenset({"clone", "push", "fetch", "ls-remote"})
_USERINFO = re.compile(r"://[^\s@/]+@")
_REMOTE_SAID = re.compile(r"^remote: ?(.*?)\s*$", re.MULTILINE)
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class _Meaning:
    """The meaning of a message of git for the user."""

    words: re.Pattern[str]
    what: str
    fix: str


# The first match counts. Patterns are messages of git, ssh and curl in the C locale.
_LOCKED = _Meaning(
    re.compile(r"Unable to create '.*\.lock': File exists"),
    "another git is running in this repository, or one was killed and left its lock",
    "If no git is running in this repository, remove the named .lock file",
)
_REMOTE = (
    _Meaning(
        re.compile(r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED"),
        "ssh does not know the host key of the remote",
        "Check the key with the host's owner and add it to known_hosts. osm-gitops never disables this check",
    ),
    _Meaning(
        re.compile(
            r"Authentication failed|could not read (?:Username|Password)|Permission denied|terminal prompts disabled"
            r"|Invalid username or password|HTTP Basic: Access denied|(?:returned error:|HTTP) (?:401|403)"
        ),
        "the remote does not accept the credentials",
        "Give git a key, a credential helper, or a token with --git-token-file FILE, that has this right",
    ),
    _Meaning(
        re.compile(
            r"Could not resolve host|Connection (?:refused|timed out|reset)|Failed to connect|No route to host"
            r"|Network is unreachable|Operation timed out|SSL|certificate"
        ),
        "the remote cannot be reached",
        "Check the address and the network, then run again",
    ),
    _Meaning(
        re.compile(r"does not appear to be a git repository|[Rr]epository .*not found|not found: |does not exist"),
        "there is no repository at the remote's address, or it is hidden from these credentials",
        "Check the address and the credentials",
    ),
    # A refusal by the remote has a line for each ref.
    _Meaning(re.compile(r"failed to push some refs"), "a local pre-push hook refused it", "Fix what the hook reports"),
)
_COMMIT = (
    _Meaning(
        re.compile(
            r"gpg failed to sign|gpg\.format|user\.signing[kK]ey"
            r"|Couldn't load public key|ssh-keygen|unsupported value for gpg"
            r"|cannot run gpg|failed to write commit object"
        ),
        "the commit could not be signed",
        "Nothing was changed. Check git's gpg.format and user.signingkey and the key's agent, or use --no-sign",
    ),
    _Meaning(
        re.compile(r"Please tell me who you are|empty ident name|unable to auto-detect email"),
        "git has no author for the commit",
        "Nothing was changed. Set GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL, GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL, "
        "or git's user.name and user.email",
    ),
)


def failure(verb: str, said: str, where: str, hidden: Iterable[str] = ()) -> Problem:
    """The problem of a failed git command. ``hidden`` are secrets to mask in its output."""
    reason = cut("; ".join(line.strip() for line in mask(said, hidden).splitlines() if line.strip())).rstrip(".")
    known = _REMOTE if verb in REMOTE_VERBS else _COMMIT if verb == "commit" else ()
    for meaning in (_LOCKED, *known):
        if meaning.words.search(said):
            return Problem(
                Code.GIT_COMMAND_FAILED, f"git {verb} failed: {meaning.what}: {reason}", where=where, fix=meaning.fix
            )
    fix = ""
    if verb == "commit":
        fix = "A hook or git itself refused the commit; nothing was changed"
    elif verb in REMOTE_VERBS:
        fix = "Check the address and the credentials of the remote"
    return Problem(Code.GIT_COMMAND_FAILED, f"git {verb} failed: {reason or 'no reason given'}", where=where, fix=fix)


def refusal_of(said: str, hidden: Iterable[str] = ()) -> str:
    """The reason of a refused push, in one line: the remote's message, else git's."""
    words = [line for line in _REMOTE_SAID.findall(mask(said, hidden)) if line]
    return cut("; ".join(words))


def mask(text: str, hidden: Iterable[str] = ()) -> str:
    """``text`` without userinfo of addresses and without the ``hidden`` words."""
    for word in hidden:
        for form in (word, b64encode(word.encode()).decode().rstrip("=")):
            text = text.replace(form, _HIDDEN) if form else text
    return _USERINFO.sub("://", text)


def cut(text: str) -> str:
    """The end of a long text, where git and hooks print the cause."""
    return text.strip()[-LONGEST_REASON:]


# The newest option that we use is `git restore --pathspec-from-file`.
OLDEST_GIT = (2, 25)
REMOTE_SECONDS: Final = 600.0
"""For a command that accesses a remote, including hooks."""
MOST_OUT: Final = 256 << 20
"""Limit of a command's output in bytes."""
_MOST_ERRORS: Final = 1 << 20
_PIECE: Final = 1 << 16
_GRACE: Final = 5.0  # seconds for git to clean up
_INSTALL = f"Install git {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or newer, or correct PATH"
_SAFETY = (
    *("-c", "protocol.ext.allow=never", "-c", "core.quotePath=false", "-c", "advice.detachedHead=false"),
    # A repository that was committed into another one has a configuration, which may name programs.
    *("-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false", "-c", "core.pager=cat"),
)
# Commands that only read must not fetch (as a partial clone does, by a program that its configuration may name) and
# must
# not run hooks. git before 2.45 does not know the first variable.
_READING = ("-c", f"core.hooksPath={os.devnull}")
_READING_ENVIRONMENT = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_READERS = frozenset(
    {
        *("cat-file", "check-attr", "check-ignore", "config", "ls-files", "ls-tree", "rev-parse", "status"),
        *("symbolic-ref", "var", "version"),
    }
)
# With these variables git would write objects elsewhere, and the branch would point to missing objects.
_ASTRAY = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_SHALLOW_FILE")
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "LC_ALL": "C",  # its messages are parsed
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TRACE_REDACT": "1",  # traces of the user must not show credentials
}


@dataclass(frozen=True, slots=True)
class CompletedProcess:
    """The result of one git command."""

    status: int
    out: str
    error: str

    @property
    def all(self) -> str:
        return f"{self.out}\n{self.error}"


@dataclass(frozen=True, slots=True)
class Extras:
    """Additions to one command: options before its verb, environment, and words to hide in errors."""

    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = field(default=(), repr=False)


NO_EXTRAS = Extras()


class Git:
    """git in one folder. ``place`` are options that name the repository, ``index`` its index."""

    def __init__(self, folder: Path, *, place: tuple[str, ...] = (), index: Path | None = None) -> None:
        self.folder = folder
        self.place = place
        self._index = index
        self._git = _library(folder)

    def run(self, *command: str, index: Path | None = None, stdin: bytes = b"", extras: Extras = NO_EXTRAS) -> str:
        """The output of git. Raises TargetError if it fails."""
        said = self.execute(command, index=index, stdin=stdin, extras=extras)
        if said.status != 0:
            raise self.error(command, said.error or said.out, extras)
        return said.out

    def attempt(self, *command: str) -> str | None:
        """The output of git, stripped; ``None`` for exit code 1 (no)."""
        said = self.execute(command)
        if said.status == 0:
            return said.out.strip()
        if said.status == 1 or (said.status == 128 and command[0] == "rev-parse"):
            return None
        raise self.error(command, said.error)

    def execute(
        self, command: Sequence[str], *, index: Path | None = None, stdin: bytes = b"", extras: Extras = NO_EXTRAS
    ) -> CompletedProcess:
        """Run git and return its result with any exit code. An interruption ends git too."""
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
        """Wait until git has closed its pipes. Raises TargetError for too much output or too long a time."""
        until = None if seconds is None else monotonic() + seconds
        for reader in readers:
            reader.join(None if until is None else max(0.0, until - monotonic()))
            if reader.is_alive():
                fix = "Check the address, the network between here and there, and hooks that run with it"
                raise target_error(
                    Code.GIT_LIMIT, f"git {verb} did not end within {seconds:g} s", where=str(self.folder), fix=fix
                )
            if len(out) > MOST_OUT:
                what = f"git {verb} printed more than {shown_size(MOST_OUT)}"
                raise target_error(
                    Code.GIT_LIMIT, what, where=str(self.folder), fix="Check the repository, and the remote"
                )

    def pipe(self, *command: str) -> Any:
        """A running git command, with pipes for its input, output and errors."""
        options, environment = _surroundings(command)
        return self._git.execute(
            ["git", *options, *self.place, *command], istream=subprocess.PIPE, as_process=True, env=environment
        )

    def error(self, command: Sequence[str], said: str, extras: Extras = NO_EXTRAS) -> TargetError:
        """The error of a failed command."""
        return TargetError([failure(_verb(command), said, str(self.folder), extras.hidden)])


def _surroundings(command: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Options before the verb, and the environment. GitPython passes all variables of this process, so unwanted ones
    are set to an empty text."""
    reads = _verb(command) in _READERS
    kept = for_git(os.environ, reads_only=reads)
    environment = dict.fromkeys(os.environ, "") | kept | _ENVIRONMENT
    if reads:
        return (*_SAFETY, *_READING), environment | _READING_ENVIRONMENT
    return _SAFETY, environment


def refuse_astray(folder: Path) -> None:
    """Raise TargetError if variables, which git sets for some hooks, redirect writes to another place."""
    astray = [name for name in _ASTRAY if name in os.environ]
    if astray:
        what = f"environment variables redirect git's writes to another place ({', '.join(astray)})"
        fix = f"Run it without: env {' '.join(f'-u {name}' for name in astray)} osm-gitops …"
        raise target_error(Code.GIT_ENVIRONMENT, what, where=str(folder), fix=fix)


def _verb(command: Sequence[str]) -> str:
    return next((word for word in command if not word.startswith("-")), "")


def _read(pipe: int, into: bytearray, most: int) -> None:
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while len(into) <= most and (piece := file.read(_PIECE)):
            into += piece


def _read_end(pipe: int, into: bytearray) -> None:
    """Read the end of git's error output, which has the cause; a remote may print anything before."""
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            into += piece
            del into[:-_MOST_ERRORS]


def _end(process: Any) -> None:
    """End git. Do not wait for its pipes: children (ssh, a hook) may keep them open."""
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    process.stderr.close()


def _library(folder: Path) -> git.Git:
    # Imported late: runs without git need not wait for it.
    try:
        found: git.Git = import_module("git").Git(folder)
    except ImportError as missing:
        raise target_error(Code.GIT_UNUSABLE, "git cannot be run", where=str(folder), fix=_INSTALL) from missing
    version = _version(os.environ.get("PATH", ""))
    if version < OLDEST_GIT:
        raise target_error(Code.GIT_UNUSABLE, f"git {'.'.join(map(str, version))} is too old", fix=_INSTALL)
    return found


@cache
def _version(_path: str) -> tuple[int, ...]:
    """The version of git, read once per process and search path."""
    library = import_module("git")
    try:
        version: tuple[int, ...] = library.Git().version_info
    except (OSError, library.GitCommandNotFound) as fault:
        raise target_error(Code.GIT_UNUSABLE, "git cannot be run", fix=_INSTALL) from fault
    except library.GitError as fault:
        raise target_error(Code.GIT_UNUSABLE, "git does not print its version", fix=_INSTALL) from fault
    return version
