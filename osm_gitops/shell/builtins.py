"""Builtins of the shell, simple text tools, and commands that run others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from osm_gitops.shell.state import DEEPEST, LONGEST, Place, State, clean, fields, is_known, joined, too_long, unknown
from osm_gitops.shell.words import replaced

if TYPE_CHECKING:
    from osm_gitops.shell.follow import Follower

_DIRECTIVE: Final = re.compile(r"%[sdqb]")
_COUNT: Final = re.compile(r"[0-9]{1,9}")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True, slots=True)
class Call:
    """A command with its words, the state before it, and its place."""

    words: tuple[str, ...]
    state: State
    place: Place
    line: int


Builtin = Callable[["Follower", Call], list[State]]

# Commands that run another command: their options with a value, and the number of words before that command.
_WRAPPERS: Final[Mapping[str, tuple[frozenset[str], int]]] = {
    "sudo": (frozenset({"-u", "-g", "-h", "-p", "-C", "-T", "--user", "--group"}), 0),
    "env": (frozenset({"-u", "-C", "--unset", "--chdir"}), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "exec": (frozenset({"-a"}), 0),
    "nohup": (frozenset(), 0),
    "time": (frozenset({"-f", "-o"}), 0),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "ionice": (frozenset({"-c", "-n", "-p"}), 0),
    "timeout": (frozenset({"-k", "-s", "--kill-after", "--signal"}), 1),
    "flock": (frozenset({"-w", "-E", "--timeout"}), 1),
    "chronic": (frozenset(), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "xargs": (frozenset({"-n", "-I", "-P", "-L", "-d", "-a", "-s"}), 0),
    "systemd-run": (frozenset({"-p", "--property", "--unit", "-u", "--slice", "-E", "--setenv"}), 0),
    "systemd-inhibit": (frozenset({"--what", "--who", "--why", "--mode"}), 0),
    "unshare": (frozenset(), 0),
}
_ASKING: Final = frozenset({"-v", "-V"})


def unwrapped(call: Call) -> Call | None:
    """The command that a wrapper such as ``sudo`` or ``timeout`` runs; ``None`` if it is not a wrapper."""
    name = call.words[0].rpartition("/")[2]
    if name not in _WRAPPERS or len(call.words) == 1:
        return None
    if name == "command" and call.words[1] in _ASKING:
        return None
    with_value, plain = _WRAPPERS[name]
    words = list(call.words[1:])
    while words and (words[0].startswith("-") or (name in {"env", "sudo"} and _ASSIGNMENT.match(words[0]))):
        option = words.pop(0)
        if option == "--":
            break
        if option in with_value and words:
            words.pop(0)
    rest = tuple(words[plain:])
    if name == "xargs":
        given = call.state.given
        read = (unknown("the words on standard input"),) if given is None else fields(given)
        rest = (*(rest or ("echo",)), *read)
    return replace(call, words=rest)


def _nothing(_follower: Follower, call: Call) -> list[State]:
    return [call.state.ended(ok=True)]


def _false(_follower: Follower, call: Call) -> list[State]:
    return [call.state.ended(ok=False)]


def _not_known(_follower: Follower, call: Call) -> list[State]:
    return [call.state.printed(unknown(f"$({' '.join(call.words)})")).ended(ok=None)]


def _echo(_follower: Follower, call: Call) -> list[State]:
    words = list(call.words[1:])
    end = "\n"
    while words and re.fullmatch(r"-[neE]+", words[0]):
        end = "" if "n" in words.pop(0) else end
    return [call.state.printed(joined((" ".join(words), end)))]


def _printf(_follower: Follower, call: Call) -> list[State]:
    words = [word for word in call.words[1:] if word != "--"]
    if words[:1] == ["-v"] and len(words) > 2:
        return [call.state.set(words[1], _formatted(words[2], words[3:])).ended(ok=True)]
    return [call.state.printed(_formatted(words[0], words[1:]) if words else "")]


def _formatted(form: str, words: list[str]) -> str:
    """Apply the format repeatedly until all words are used."""
    form = form.replace("\\n", "\n").replace("\\t", "\t")
    taken = len(_DIRECTIVE.findall(form))
    rounds = max(1, -(-len(words) // taken)) if taken else 1
    if rounds * len(form) + sum(map(len, words)) > LONGEST:
        return too_long()
    left = iter(words)
    text = "".join(_DIRECTIVE.sub(lambda _: next(left, ""), form) for _ in range(rounds))
    return text.replace("%%", "%")


def _cat(follower: Follower, call: Call) -> list[State]:
    paths = [word for word in call.words[1:] if not word.startswith("-")]
    if not paths:
        given = call.state.given
        return [call.state.printed(unknown("standard input") if given is None else given)]
    texts = [
        clean(follower.host.files[path]) if path in follower.host.files else unknown(f"$(cat {path})") for path in paths
    ]
    return [call.state.printed(joined(texts))]


def _tee(follower: Follower, call: Call) -> list[State]:
    given = unknown("standard input") if call.state.given is None else call.state.given
    for path in call.words[1:]:
        if not path.startswith("-"):
            follower.write(path, given, call.place, call.line)
    return [call.state.printed(given)]


def _tr(follower: Follower, call: Call) -> list[State]:
    given = call.state.given
    sides = call.words[1:]
    if given is None or not is_known(given):
        return _not_known(follower, call)
    if sides in {("[:upper:]", "[:lower:]"), ("A-Z", "a-z")}:
        return [call.state.printed(given.lower())]
    if sides in {("[:lower:]", "[:upper:]"), ("a-z", "A-Z")}:
        return [call.state.printed(given.upper())]
    return _not_known(follower, call)


_REPLACING: Final = re.compile(r"s(?P<cut>[/|#,])(?P<old>[\w.-]*)(?P=cut)(?P<new>[\w.-]*)(?P=cut)(?P<all>g?)")


def _sed(follower: Follower, call: Call) -> list[State]:
    """``sed s/x86_64/amd64/`` on known input; other scripts of sed give unknown output."""
    if any(word.startswith("-i") for word in call.words):
        return follower.external(call)
    scripts = [word for word in call.words[1:] if word not in {"-e", "-E", "-r"}]
    edits = [_REPLACING.fullmatch(each.strip()) for script in scripts for each in script.split(";")]
    given = call.state.given
    if given is None or not is_known(given) or not edits or not all(edits):
        return _not_known(follower, call)
    lines = given.split("\n")
    for edit in filter(None, edits):
        lines = [replaced(line, edit["old"], edit["new"], -1 if edit["all"] else 1) for line in lines]
        if sum(map(len, lines)) > LONGEST:
            return [call.state.printed(too_long())]
    return [call.state.printed("\n".join(lines))]


def _set(_follower: Follower, call: Call) -> list[State]:
    words = call.words[1:]
    if "--" in words:
        return [replace(call.state, arguments=words[words.index("--") + 1 :], status=True)]
    return [call.state.ended(ok=True)]


def _shift(_follower: Follower, call: Call) -> list[State]:
    count = int(call.words[1]) if len(call.words) > 1 and _COUNT.fullmatch(call.words[1]) else 1
    return [replace(call.state, arguments=call.state.arguments[count:], status=True)]


def _read(follower: Follower, call: Call) -> list[State]:
    """Input is not known, nor whether there is any."""
    state = call.state
    follower.spend(len(call.words) * (len(call.words) + state.size))
    for name in call.words[1:]:
        if not name.startswith("-"):
            state = state.set(name, unknown(f"${name}"))
    return [state.ended(ok=None)]


def _leave(flow: str) -> Builtin:
    def builtin(_follower: Follower, call: Call) -> list[State]:
        status = call.words[1] == "0" if len(call.words) > 1 and is_known(call.words[1]) else None
        return [replace(call.state, flow=flow, status=status)]

    return builtin


def _eval(follower: Follower, call: Call) -> list[State]:
    text = " ".join(call.words[1:])
    if not is_known(text):
        follower.give_up("eval runs an unknown text", call.place, call.line)
        return [call.state.ended(ok=None)]
    return follower.text(text, replace(call.place, depth=call.place.depth + 1, shift=call.line - 1), call.state)


def _source(follower: Follower, call: Call) -> list[State]:
    path = call.words[1] if len(call.words) > 1 else ""
    deeper = call.place.depth + 1
    if path in follower.host.files and deeper <= DEEPEST:
        follower.reached.add(path)
        return follower.text(follower.host.files[path], Place(path, deeper), call.state)
    state = call.state
    for name, value in follower.host.sourced.get(path, {}).items():
        state = state.set(name, value)
    return [state.ended(ok=None)]


def _shell(follower: Follower, call: Call) -> list[State]:
    """``bash -c TEXT``, ``sh FILE``, or a shell that runs its standard input."""
    words = list(call.words[1:])
    before = call.state
    inner = before.for_command()
    place = replace(call.place, depth=call.place.depth + 1, shift=call.line + call.place.shift - 1)
    if place.depth > DEEPEST:
        return [before.ended(ok=None)]
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option.endswith("c") and not option.startswith("--"):
            return _shell_text(follower, call, words, inner, place)
    if words and words[0] in follower.host.files:
        return follower.call(replace(call, words=tuple(words)))
    if not words and before.given is not None and is_known(before.given):
        return [replace(before, status=None) for _ in follower.text(before.given, place, inner)][:1]
    follower.give_up(
        f"{' '.join(call.words)} runs a script that is not in the files of the profile", call.place, call.line
    )
    return [before.ended(ok=None)]


def _shell_text(follower: Follower, call: Call, words: list[str], inner: State, place: Place) -> list[State]:
    if not words or not is_known(words[0]):
        follower.give_up("a shell runs an unknown text", call.place, call.line)
        return [call.state.ended(ok=None)]
    inner = replace(inner, arguments=tuple(words[2:]))
    ended = follower.text(words[0], place, inner)
    return [replace(call.state, status=None, out=each.out) for each in ended] or [call.state.ended(ok=None)]


BUILTINS: Final[Mapping[str, Builtin]] = {
    **dict.fromkeys(
        (":", "true", "cd", "pushd", "popd", "trap", "umask", "ulimit", "wait", "sleep", "shopt"), _nothing
    ),
    "false": _false,
    "command": _not_known,  # `command -v x`: the programs of the image are not known
    "type": _not_known,
    "hash": _not_known,
    "test": _not_known,
    "[": _not_known,
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "tee": _tee,
    "tr": _tr,
    "sed": _sed,
    "set": _set,
    "shift": _shift,
    "read": _read,
    "return": _leave("return"),
    "break": _leave("break"),
    "continue": _leave("continue"),
    "exit": _leave("exit"),
    "eval": _eval,
    ".": _source,
    "source": _source,
    **dict.fromkeys(("bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh"), _shell),
}
