"""The rules of docs/explanation/architecture.md that import-linter does not check, and that its tables are true."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.tools.draw_rooms import drawn, imports_of_rooms

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "osm_gitops"
MAP = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))

PURE = ("gocompat", "gotemplate", "shell", "model", "render", "plan", "lint/rules", "downloads", "report")
# Modules through which files, time, chance, processes and the network are reached.
IMPURE = {
    *("asyncio", "glob", "io", "multiprocessing", "os", "random", "secrets", "shutil", "signal", "socket"),
    *("subprocess", "tempfile", "threading", "time", "urllib.request", "uuid"),
}
DOORS: dict[str, str | tuple[str, ...]] = {
    "jinja2": "gotemplate",
    "jsonpatch": "config/json_patch.py",
    "yaml": ("yaml", "gocompat/yaml3_reader.py"),
    "git": "git",
    "tree_sitter": "shell",
    "tree_sitter_bash": "shell",
    "cryptography": ("sops", "report/certificates.py", "commands/boot/lane"),
    "pyrage": "sops",
    "kubernetes": "kube",
    "urllib3": "kube",
    "httptools": "kube/wire.py",
    "filelock": ("targets", "commands/boot/lane"),
    "typer": ("cli", "commands"),
    "click": "cli",
    "re2": "gocompat/regex.py",
    "pybase64": "gocompat/basetext.py",
    "orjson": "yaml/compact_json.py",
}


def modules(*rooms: str) -> list[Path]:
    return sorted(path for room in rooms for path in (PACKAGE / room).rglob("*.py"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


@cache
def imported(path: Path) -> frozenset[str]:
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


@cache
def called(path: Path) -> frozenset[str]:
    return frozenset(ast.unparse(node.func) for node in nodes(path) if isinstance(node, ast.Call))


@pytest.mark.parametrize(("library", "door"), DOORS.items())
def test_an_outside_library_is_imported_in_one_place(library: str, door: str | tuple[str, ...]) -> None:
    doors = (door,) if isinstance(door, str) else door
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules(".")
        for name in imported(path)
        if name.split(".", 1)[0] == library
    }
    assert [user for user in sorted(users) if not f"{user}/".startswith(tuple(f"{each}/" for each in doors))] == []


def test_coverage_is_measured_of_the_pure_rooms() -> None:
    (measured,) = re.findall(r"^PURE := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert tuple(measured.split()) == PURE
    assert all((ROOT / "tests" / room).is_dir() for room in PURE)


@pytest.mark.parametrize("path", modules(*PURE), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_the_middle_is_pure(path: Path) -> None:
    assert IMPURE.isdisjoint(imported(path))
    assert {"open", "input", "print", "exec", "eval", "__import__"}.isdisjoint(called(path))
    assert not any(name.endswith((".now", ".utcnow", ".today", ".read_text", ".write_text")) for name in called(path))


def test_every_room_says_what_belongs_there_and_is_on_the_map() -> None:
    for room in ROOMS:
        text = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text("utf-8"))) or ""
        law = " ".join(text.split())
        assert "Belongs here:" in law
        assert "May not come in:" in law
    table = MAP.split("\n## The rooms\n", 1)[1].split("\n## ", 1)[0]
    shown = {
        name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`([\w.]+)`", row)
    }
    assert shown == {*ROOMS, "errors.py", "children.py", "context_ref.py"}


def test_the_picture_of_the_rooms_is_drawn_from_the_imports() -> None:
    (picture,) = re.findall(r"^```mermaid\n(.*?)^```$", MAP, re.MULTILINE | re.DOTALL)
    assert picture == drawn(imports_of_rooms())


def test_the_places_that_the_map_names_are_there() -> None:
    for name in re.findall(r"`((?:\w+/)+[\w.]*)`", MAP):
        below = ROOT if name.startswith(("docs/", "tests/", "osm_gitops/")) else PACKAGE
        assert (below / name).exists(), name


def test_only_the_command_line_prints_and_ends_the_process() -> None:
    for path in modules(*(room for room in ROOMS if room not in {"cli", "commands"})):
        assert {"print", "input", "sys.exit", "exit", "quit"}.isdisjoint(called(path)), path
        assert not re.search(r"\bsys\.(stdout|stderr|stdin|argv)\b", path.read_text("utf-8")), path
