"""Which files a shell command writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from osm_gitops.shell.simple_commands import SimpleCommand
from osm_gitops.shell.state import is_known, known_length, unknown, unknown_parts

_FILE_OPTIONS: Final = {
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "gpg": ("-o", "--output"),
    "openssl": ("-out",),
    "sort": ("-o", "--output"),
    "oras": ("-o", "--output"),
}
_FOLDER_OPTIONS: Final = {
    "tar": ("-C", "--directory"),
    "bsdtar": ("-C", "--directory"),
    "unzip": ("-d",),
    "wget": ("-P", "--directory-prefix"),
    "curl": ("--output-dir",),
    **dict.fromkeys(("cp", "mv", "ln", "install"), ("-t", "--target-directory")),
}
_COPYING: Final = frozenset({"cp", "mv", "ln", "install", "rsync", "scp"})
_UNPACKING: Final = frozenset({"tar", "bsdtar", "unzip"})
_TOUCHING: Final = frozenset({"touch", "tee", "truncate", "fallocate"})
_REMOTE_NAME: Final = re.compile(r"-[a-zA-Z]*O[a-zA-Z]*|--remote-name(-all)?")
_ARGUMENT: Final = re.compile(r"\$(?:[@*]|\{?[1-9]\}?|PWD)")
_UNKNOWN: Final = re.compile("\ue000[^\ue001]*\ue001")
# What is in the archives that every node gets.
_ARCHIVES: Final = {
    "crictl": ("crictl", "critest"),
    "cni-plugins": (
        *("bandwidth", "bridge", "dhcp", "dummy", "firewall", "host-device", "host-local", "ipvlan", "loopback"),
        *("macvlan", "portmap", "ptp", "sbr", "static", "tap", "tuning", "vlan", "vrf"),
    ),
}


@lru_cache(maxsize=8_192)
def made_paths(command: SimpleCommand) -> tuple[str, ...]:
    """The paths that a command writes. A file from an archive whose content is not known has an unknown name."""
    return tuple(_made_paths(command))


def _made_paths(command: SimpleCommand) -> Iterator[str]:
    name, words = command.name, command.words[1:]
    operands = [word for word in words if not word.startswith("-")]
    for path in (
        *command.writes,
        *(each for option in _FILE_OPTIONS.get(name, ()) for each in option_values(words, option)),
    ):
        yield _absolute(path, command)
    folders = [
        _absolute(path, command) for option in _FOLDER_OPTIONS.get(name, ()) for path in option_values(words, option)
    ]
    if name in _UNPACKING:
        yield from (
            f"{folder.rstrip('/')}/{each}" for folder in folders or [command.folder] for each in _unpacked(words)
        )
    elif name in _COPYING and operands:
        target = folders[0] if folders else _absolute(operands[-1], command)
        yield target
        for source in operands if folders else operands[:-1]:
            named = _UNKNOWN.sub("\ue000", source.rstrip("/")).rpartition("/")[2]
            yield f"{target.rstrip('/')}/{named.replace(chr(0xE000), unknown('name'))}"
    elif name in _TOUCHING:
        yield from (_absolute(word, command) for word in operands)
    elif name in {"curl", "wget"}:
        by_url = name == "wget" or any(_REMOTE_NAME.fullmatch(word) for word in words)
        has_file = any(True for option in _FILE_OPTIONS[name] for _ in option_values(words, option))
        for folder in (folders or [command.folder]) if by_url and not has_file else ():
            yield from (f"{folder.rstrip('/')}/{word.rpartition('/')[2]}" for word in operands if "://" in word)
    elif name == "dd":
        yield from (word.removeprefix("of=") for word in operands if word.startswith("of="))
    elif name == "git" and "clone" in words:
        yield _absolute(operands[-1], command) + "/" + unknown("what is cloned")


def _unpacked(words: Iterable[str]) -> Iterator[str]:
    """The names of what ``tar`` or ``unzip`` unpacks."""
    operands = [word for word in words if not word.startswith("-")]
    archive = next((word for word in operands if re.search(r"\.(?:t|zip)", word)), "")
    known = next((names for stem, names in _ARCHIVES.items() if stem in archive), None)
    if known is not None:
        yield from known
        return
    # Neither old options such as xvf, nor the archive, folders and numbers.
    named = [word for word in operands[1:] if re.fullmatch(r"[A-Za-z][\w.-]*(?:/[\w.-]+)*", word) and word != archive]
    yield from (word.rpartition("/")[2] for word in named)
    if not named or any("strip" in word or "wildcards" in word for word in words):
        yield unknown("what the archive contains")


def option_values(words: Iterable[str], option: str) -> Iterator[str]:
    """The values of an option: ``-o a``, ``-o/a``, ``-Lfo a``, ``--output a``, ``--output=a``."""
    following = False
    for word in words:
        if following:
            yield word
            following = False
        elif option.startswith("--"):
            following = word == option
            if word.startswith(f"{option}="):
                yield word.removeprefix(f"{option}=")
        elif re.fullmatch(rf"-[a-zA-Z#]*{re.escape(option[1:])}", word):
            following = True
        elif word.startswith((f"{option}/", f"{option}\ue000")):
            yield word.removeprefix(option)


def _absolute(path: str, command: SimpleCommand) -> str:
    return path if path.startswith("/") or not is_known(path[:1]) else f"{command.folder}/{path}"


@lru_cache(maxsize=2048)
def known_parts(path: str) -> tuple[str, ...]:
    """The parts of a path around its unknown ones; empty if it has none, or only unknown parts of no interest."""
    unknown_of = unknown_parts(path)
    # A temporary file is not a path that is known elsewhere; of a script's own arguments its callers tell.
    alone = known_length(path) < 2 and all(map(_ARGUMENT.fullmatch, unknown_of))
    if not unknown_of or alone or any("mktemp" in part for part in unknown_of):
        return ()
    return tuple(_UNKNOWN.split(path))


def may_be(path: str, parts: tuple[str, ...]) -> bool:
    """Whether a path has these parts in order, with anything between them."""
    first, *between, last = parts
    if not (path.startswith(first) and path.endswith(last) and len(path) >= len(first) + len(last)):
        return False
    at, end = len(first), len(path) - len(last)
    for part in between:
        found = path.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
