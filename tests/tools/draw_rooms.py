"""Draw the rooms of the package from its imports: ``python -m tests.tools.draw_rooms`` prints a Mermaid chart."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "osm_gitops"


def imports_of_rooms() -> dict[str, set[str]]:
    """Room → the rooms that its modules import, wherever the import is. A module of the top level is a room."""
    rooms = {path.stem for path in PACKAGE.glob("*.py")} | {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    rooms -= {"__init__", "__main__"}
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room not in rooms:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("osm_gitops."):
                found[room].add((node.module or "").split(".")[1])
    return {room: (used & rooms) - {room} for room, used in found.items()}


def drawn(imports: Mapping[str, set[str]]) -> str:
    """The chart without the arrows that follow from others."""
    lines = ["flowchart TD"]
    for room in sorted(imports):
        lines += [f"  {room} --> {used}" for used in sorted(imports[room] - _beyond(room, imports))]
    return "\n".join(lines) + "\n"


def _beyond(room: str, imports: Mapping[str, set[str]]) -> set[str]:
    """What is reached from ``room`` by two arrows or more."""
    found: set[str] = set()
    waiting = [further for used in imports[room] for further in imports[used]]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += imports[each]
    return found


if __name__ == "__main__":
    print(drawn(imports_of_rooms()), end="")
