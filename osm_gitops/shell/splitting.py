"""Which variables of a script may have a value of several words, so that they need quotes?"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from osm_gitops.shell.statements import MOST_NESTED
from osm_gitops.shell.syntax import Node, is_deeper, parse, text_of

_DEEPEST: Final = 12
# The output of these commands is one word, whatever their arguments are.
_ONE_WORD: Final = frozenset(
    {"arch", "hostname", "id", "nproc", "uname", "whoami", "wc", "seq", "mktemp", "date", "blkid", "tty", "uuidgen"}
)
_SAME_AS_ARGUMENT: Final = frozenset({"basename", "dirname", "realpath", "readlink", "echo", "printf"})
_WORD_FILES: Final = re.compile(r"/etc/(?:machine-name|machine-id|hostname)|/proc/sys/\S+|/sys/\S+")
_PRINTS_FIELD: Final = re.compile(r"print *\$\{?(?:[0-9]+|NF)\}?(?![,\w ]*\$)")
_SELECTS_FIELD: Final = re.compile(r"-[a-z]*f *[0-9]+|-d")
# Variables that programs and /etc/os-release set to one word.
_SET_ELSEWHERE: Final = frozenset(
    {
        *("HOME", "USER", "LOGNAME", "HOSTNAME", "PWD", "SHELL", "UID", "EUID", "PPID", "SECONDS", "RANDOM", "LINENO"),
        *("ID", "VERSION_ID", "VERSION_CODENAME", "UBUNTU_CODENAME", "PLATFORM_ID", "FLATCAR_BOARD"),
        *("OSTYPE", "HOSTTYPE", "MACHTYPE", "TMPDIR", "LANG", "MAINPID", "NOTIFY_SOCKET"),
    }
)
# Lists and options are without quotes on purpose.
_LISTS: Final = re.compile(
    r"(?i).*(?:opts?|options?|args?|arguments?|flags?|params?|parameters|cmd|command|sudo|packages|pkgs|modules|units|"
    r"services|files|list|names|hosts|nodes|devices|disks|images|paths|dirs|ips|addresses|ports|labels|taints|mounts|"
    r"words|items)"
)
_EXPANSION: Final = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*|[0-9]+)")
_HARMLESS: Final = frozenset({"echo", "exit", "return", "sleep", "kill", "wait", "shift", "break", "continue", "seq"})


@dataclass(slots=True)
class _Script:
    """What is assigned to each variable; ``None`` stands for a value that is not in the script. ``commands`` are the
    commands that use a variable without quotes, by line and variable."""

    values: dict[str, list[Node | None]] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)
    commands: dict[tuple[int, str], set[str]] = field(default_factory=dict)
    _known: dict[str, bool] = field(default_factory=dict)
    _printing: dict[str, bool] = field(default_factory=dict)

    def read(self, root: Node) -> None:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            name = node.child_by_field_name("name")
            if node.type == "variable_assignment" and name is not None:
                self.values.setdefault(text_of(name), []).append(node.child_by_field_name("value") or node)
            elif node.type == "for_statement" and (variable := node.child_by_field_name("variable")) is not None:
                values = node.children_by_field_name("value")
                self.values.setdefault(text_of(variable), []).extend(values or [None])
            elif node.type == "function_definition" and name is not None:
                body = node.child_by_field_name("body")
                if body is not None:
                    self.functions[text_of(name)] = body
            elif (
                node.type == "command" and node.children and text_of(node.children[0]) in {"read", "mapfile", "getopts"}
            ):
                for child in node.children[1:]:
                    self.values.setdefault(text_of(child), []).append(None)
            elif node.type in {"simple_expansion", "expansion"}:
                match = _EXPANSION.match(text_of(node).strip())
                if match is not None and (command := _command_of(node)):
                    self.commands.setdefault((node.start_point.row + 1, match[1]), set()).add(command)
            waiting += node.children

    def one_word(self, name: str, depth: int = 0) -> bool:
        """Whether all values of a variable are one word, or words that the script itself writes."""
        if depth > _DEEPEST or name.isdecimal() or name in {"@", "*"}:
            return False
        if name in _SET_ELSEWHERE or not re.match("[A-Za-z_]", name):
            return True
        if name not in self._known:
            self._known[name] = False  # a variable that is made of itself has another value before
            values = self.values.get(name, [None])
            self._known[name] = all(value is not None and self.is_word(value, depth + 1) for value in values)
        return self._known[name]

    def is_word(self, node: Node, depth: int) -> bool:
        """Whether a value is one word."""
        if depth > _DEEPEST:
            return False
        match node.type:
            case "string" | "concatenation" | "translated_string":
                return all(self.is_word(child, depth + 1) for child in node.children if child.is_named)
            case "simple_expansion" | "expansion":
                names = re.findall(r"\$\{?#?!?([A-Za-z_]\w*|[0-9]+|[@*?#$!-])", text_of(node))
                return text_of(node).startswith("${#") or all(self.one_word(name, depth + 1) for name in names)
            case "command_substitution":
                inner = [child for child in node.children if child.is_named]
                return bool(inner) and self.prints_word(inner[-1], depth + 1)
            case "array":
                return False
            case _:  # a literal, with blanks on purpose; arithmetic; nothing
                return True

    def prints_word(self, node: Node, depth: int) -> bool:
        """Whether the output of a statement is one word."""
        inner = [child for child in node.children if child.is_named]
        if depth > _DEEPEST or not inner:
            return False
        match node.type:
            case "pipeline":
                return self.prints_word(inner[-1], depth + 1) or self._prints_line(inner, depth)
            case "list":
                ends = [child for child in inner if text_of(child) not in {"true", ":"}]
                return all(self.prints_word(child, depth + 1) for child in ends)
            case "redirected_statement":
                body = node.child_by_field_name("body")
                removes = body is not None and text_of(body).startswith("tr -d")
                reads_word = _WORD_FILES.search(text_of(node)) is not None
                return removes or reads_word or (body is not None and self.prints_word(body, depth + 1))
            case "compound_statement" | "program" | "do_group":
                return self.prints_word(inner[-1], depth + 1)
            case "command":
                return self._command_prints_word(inner, depth)
            case _:
                return False

    def _prints_line(self, stages: list[Node], depth: int) -> bool:
        """``… | head -n 1`` of what prints one word, and the like."""
        filters = {"head", "tail", "tr", "sort", "uniq", "xargs", "sed"}
        names = [text_of(stage.children[0]) if stage.children else "" for stage in stages]
        return len(stages) > 1 and names[-1] in filters and self.prints_word(stages[-2], depth + 1)

    def _command_prints_word(self, parts: list[Node], depth: int) -> bool:
        name, words = text_of(parts[0]), [text_of(part) for part in parts[1:]]
        text = " ".join(words)
        if name in self.functions:
            if name not in self._printing:
                self._printing[name] = False
                self._printing[name] = self.prints_word(self.functions[name], depth + 1)
            return self._printing[name]
        if name in {"awk", "gawk", "mawk"}:
            return _PRINTS_FIELD.search(text) is not None and text.count("print") == 1
        if name == "grep":
            return any(re.fullmatch("-[a-zA-Z]*[oc][a-zA-Z]*", word) for word in words)
        if name == "cut":
            return _SELECTS_FIELD.search(text) is not None
        if name in {"cat", "head"}:
            return _WORD_FILES.search(text) is not None
        if name in {"dpkg", "rpm", "lsb_release", "systemctl", "stat", "getconf"}:
            return True
        if name == "tr":
            return "-d" in words and ("space" in text or " " in text)
        if name in _SAME_AS_ARGUMENT:
            plain = [part for part in parts[1:] if not text_of(part).startswith("-")]
            return len(plain) <= 2 and all(self.is_word(part, depth + 1) for part in plain)
        return name.rpartition("/")[2] in _ONE_WORD


@lru_cache(maxsize=64)
def _script(text: str) -> _Script | None:
    root = parse(text)
    if is_deeper(root, MOST_NESTED):
        return None
    script = _Script()
    script.read(root)
    return script


def splits(text: str, line: int, expansion: str) -> str:
    """The name of the variable in an unquoted ``expansion`` of this line, if its value may break its command into more
    words than it has; else an empty text."""
    match = _EXPANSION.match(expansion)
    script = _script(text) if match else None
    if match is None or script is None:
        return ""
    name = match[1]
    if _LISTS.fullmatch(name) or script.one_word(name):
        return ""
    commands = script.commands.get((line, name), set())
    return name if any(each not in _HARMLESS and not each.startswith("$") for each in commands) else ""


def _command_of(node: Node) -> str:
    """The command that an expansion is a word of: ``[`` for a test, ``>`` for the target of a redirection; an empty
    text if it is in quotes, or the value of a variable."""
    each: Node | None = node.parent
    while each is not None:
        if each.type in {"string", "variable_assignment", "heredoc_body", "herestring_redirect"}:
            return ""
        if each.type == "test_command":
            return "[" if text_of(each).startswith("[ ") else ""
        if each.type == "file_redirect":
            return ">"
        if each.type == "command":
            named = each.child_by_field_name("name")
            return text_of(named) if named is not None else ""
        each = each.parent
    return ""
