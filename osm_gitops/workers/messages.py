"""Messages of a worker: frames of pickled data in its pipes.

A worker trusts its parent. Its answers are not trusted, since an attacker may have taken it over: they can contain only
plain values and frozen records of this package.
"""

from __future__ import annotations

import importlib
import io
import pickle
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from functools import cache
from operator import attrgetter
from pathlib import PosixPath, PurePosixPath
from types import FunctionType
from typing import Any, Final

from osm_gitops.errors import OsmGitopsError

LENGTH: Final = struct.Struct(">Q")
"""The length of a frame, before its content."""

LARGEST_ANSWER: Final = 256 << 20
"""Limit of a frame in bytes."""

_PACKAGE: Final = __name__.partition(".")[0]
_PLAIN: Final = {
    (each.__module__, each.__qualname__): each
    for each in (date, datetime, timedelta, timezone, PurePosixPath, PosixPath)
}


@dataclass(frozen=True, slots=True)
class Start:
    """Import these modules, then drop all rights except ``memory`` additional bytes; with ``None`` keep all rights."""

    modules: tuple[str, ...]
    memory: int | None


@dataclass(frozen=True, slots=True)
class Named:
    """A function by its qualified name, for a caller that does not import the module. A worker gets the function."""

    module: str
    name: str

    def __call__(self, *arguments: Any) -> Any:
        return attrgetter(self.name)(importlib.import_module(self.module))(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return _function, (self.module, self.name)


def _function(module: str, name: str) -> Any:
    return attrgetter(name)(sys.modules[module])


@dataclass(frozen=True, slots=True)
class Request:
    """Call ``function`` with ``arguments`` within ``seconds`` of CPU time.

    The state ``series``, if set, is its first argument; with ``makes`` the result becomes that state.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    seconds: int
    series: int = 0
    makes: bool = False


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop these states. There is no answer."""

    series: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """A result."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The function raised ``kind``, an error of this package, with its problems."""

    kind: str
    problems: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The function exceeded its memory."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The function raised an unexpected error: its ``kind``, and the place in our code."""

    kind: str
    place: str


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has imported these modules and dropped its rights."""

    modules: frozenset[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """``worn``: the worker has used so much memory that a new one should take the next call."""

    outcome: Done | Failed | OutOfMemory | Broken
    worn: bool = False


@dataclass(frozen=True, slots=True)
class Encoded:
    """A request in its frame, and the modules needed to read it."""

    data: bytes
    modules: frozenset[str]
    seconds: int


def encode(request: Request) -> Encoded:
    """The frame of a request."""
    data, modules = _written(request)
    return Encoded(data, frozenset(modules), request.seconds)


def frame(message: Start | Forget | Ready | Answer) -> bytes:
    """The frame of any other message."""
    data, _ = _written(message)
    return data


def _written(message: object) -> tuple[bytes, set[str]]:
    """The frame of a message, and the modules needed to read it."""
    stream = io.BytesIO()
    stream.write(LENGTH.pack(0))  # its place
    writer = _Writer(stream)
    writer.dump(message)
    with stream.getbuffer() as written:
        LENGTH.pack_into(written, 0, len(written) - LENGTH.size)
    return stream.getvalue(), writer.modules


class _Writer(pickle.Pickler):
    """Notes the modules of written objects: a running worker cannot import them.

    A record is written as a call of its class. What dataclasses with slots define for pickle asks for the fields of the
    class each time, which took most of the time of small messages.
    """

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.modules: set[str] = set()

    def reducer_override(self, obj: Any, /) -> Any:
        """Called for each class, function and instance, but not for plain values, which are most of a message."""
        kind = type(obj)
        if kind is Named:
            self.modules.add(obj.module)
        module = obj.__module__ if kind is FunctionType or kind is type else kind.__module__
        self.modules.add(module)
        names = _constructor(kind)  # type: ignore[arg-type]  # mypy takes no class for hashable
        return NotImplemented if names is None else (kind, tuple([getattr(obj, name) for name in names]))


@cache
def _constructor(kind: type) -> tuple[str, ...] | None:
    """The fields of a frozen record that its class takes in this order and keeps as they are; ``None`` for others."""
    if not is_dataclass(kind) or not _is_record(kind) or hasattr(kind, "__post_init__"):
        return None
    state = kind.__getstate__
    if kind.__reduce__ is not object.__reduce__ or (
        state is not object.__getstate__ and state.__module__ != "dataclasses"
    ):
        return None
    found = fields(kind)
    return tuple(each.name for each in found) if all(each.init and not each.kw_only for each in found) else None


def read_request(data: bytes) -> Start | Request | Forget:
    """Read a frame's content in a worker, which trusts its parent."""
    message: Start | Request | Forget = pickle.loads(data)  # noqa: S301 - from the process that started this one
    return message


def read_answer(data: bytes, *, walled: bool = True) -> Answer | Ready | None:
    """Read a frame's content in the parent; ``None`` if it is not a valid answer. A worker that is not ``walled`` does
    the work of this process, and is trusted as much."""
    try:
        message = _Reader(io.BytesIO(data)).load() if walled else pickle.loads(data)  # noqa: S301
    except Exception:  # noqa: BLE001 - an attacker may have made it; any error means an invalid answer
        return None
    return message if isinstance(message, Answer | Ready) else None


class _Reader(pickle.Unpickler):
    """Builds plain values, and frozen records and enumerations of modules that this process has loaded."""

    def find_class(self, module: str, name: str, /) -> Any:
        plain = _PLAIN.get((module, name))
        if plain is not None:
            return plain
        if module.partition(".")[0] == _PACKAGE and module in sys.modules:
            found = getattr(sys.modules[module], name, None)
            if isinstance(found, type) and found.__module__ == module and _is_record(found):
                return found
        message = f"{module}.{name} cannot be in an answer"
        raise pickle.UnpicklingError(message)


def _is_record(found: type) -> bool:
    """A frozen dataclass, an enumeration, or a class with ``IS_DATA``."""
    if is_dataclass(found):
        return bool(found.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return issubclass(found, Enum) or bool(getattr(found, "IS_DATA", False))


def error_kinds() -> dict[str, type[OsmGitopsError]]:
    """The errors of this package by name. All are created from problems."""
    kinds = {}
    waiting: list[type[OsmGitopsError]] = [OsmGitopsError]
    while waiting:
        kind = waiting.pop()
        kinds[kind.__name__] = kind
        waiting.extend(kind.__subclasses__())
    return kinds
