"""The main loop of a worker process: reads calls from standard input, and writes answers to standard output."""

from __future__ import annotations

import codecs
import gc
import importlib
import os
import sys
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from osm_gitops.errors import OsmGitopsError, UnexpectedError
from osm_gitops.workers.limits import allow_seconds, drop_rights, used_memory
from osm_gitops.workers.messages import (
    LENGTH,
    Answer,
    Broken,
    Done,
    Failed,
    Forget,
    OutOfMemory,
    Ready,
    Request,
    Start,
    frame,
    read_request,
)

_CODECS: Final = ("ascii", "idna", "latin-1", "punycode", "raw-unicode-escape", "unicode-escape", "utf-16", "utf-32")
"""Codecs that Python would import on first use."""
_input = 0
_output = 1
_WORN: Final = 2  # an answer reports when half of the memory was in use: the next call might not have enough


def main() -> NoReturn:
    """Answer requests until the input ends."""
    start = read_request(_read_frame())
    if not isinstance(start, Start):
        raise SystemExit(1)
    gc.set_threshold(50_000, 20, 50)  # as in the parent: many objects, few cycles
    gc.disable()  # what is imported stays
    if start.memory is None:
        _serve_freely(start.modules)
    for module in start.modules:
        importlib.import_module(module)
    for imported in list(sys.modules.values()):
        for later in getattr(imported, "IMPORTED_LATER", ()):
            importlib.import_module(later)
    for codec in _CODECS:
        codecs.lookup(codec)
    gc.freeze()
    gc.enable()
    drop_rights(start.memory)
    _write(frame(Ready(frozenset(sys.modules))))
    worn_from = used_memory() + start.memory // _WORN
    states: dict[int, Any] = {}
    late: list[str] = []
    sys.addaudithook(lambda event, arguments: late.append(str(arguments[0])) if event == "import" else None)
    while True:
        request = read_request(_read_frame())
        if isinstance(request, Forget):
            for each in request.series:
                states.pop(each, None)
            continue
        if not isinstance(request, Request):
            raise SystemExit(1)
        allow_seconds(request.seconds)
        answer = _answer(request, states, worn_from)
        if late:
            # The import failed, and the importer may have hidden this: a bug.
            answer = frame(Answer(Broken("an import that comes too late", late[0]), worn=True))
        _write(answer)


def _serve_freely(modules: Iterable[str]) -> NoReturn:
    """Answer requests with all rights of the parent, which sent content that it would work on itself."""
    global _input, _output
    # What is started here, or prints, must not touch the frames.
    _input, _output = os.dup(_input), os.dup(_output)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for module in modules:
        importlib.import_module(module)
    gc.freeze()
    gc.enable()
    states: dict[int, Any] = {}
    _write(frame(Ready(frozenset(sys.modules))))
    while True:
        request = read_request(_read_frame())
        if not isinstance(request, Request):
            raise SystemExit(1)
        _write(_answer(request, states, sys.maxsize))


def _answer(request: Request, states: dict[int, Any], worn_from: int) -> bytes:
    """The frame to send. A result must fit into memory twice."""
    try:
        outcome = _outcome(request, states)
        return frame(Answer(outcome, used_memory() > worn_from))
    except MemoryError:
        return frame(Answer(OutOfMemory(), worn=True))


def _outcome(request: Request, states: dict[int, Any]) -> Done | Failed | Broken:
    try:
        return Done(_called(request, states))
    except OsmGitopsError as failure:
        return Failed(type(failure).__name__, failure.problems)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the parent reports it as a bug
        bug = UnexpectedError.of(error)
        return Broken(bug.kind, bug.place)


def _called(request: Request, states: dict[int, Any]) -> Any:
    if request.makes:
        states[request.series] = request.function(*request.arguments)
        return None
    first = (states[request.series],) if request.series else ()
    return request.function(*first, *request.arguments)


def _read_frame() -> bytes:
    (length,) = LENGTH.unpack(_read(LENGTH.size))
    return _read(length)


def _read(size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = os.read(_input, min(size - len(data), 1 << 20))
        if not part:  # the parent has ended
            raise SystemExit(0)
        data += part
    return bytes(data)


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(_output, view) :]
