"""Overlays that multiply what they are given, nest it, or are only many: applied, or refused in a few sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.scenes import facts, pool, profile
from tests.hostile.cases import cases
from tests.hostile.walled import Outcome, walled_cli

_MOST_TOLD: Final = 30_000
_HEAD: Final = {"apiVersion": "osm-gitops.io/v1alpha1", "kind": "Overlay"}
_TARGET: Final = {"name": "osp-*"}
_TEMPLATES: Final = "/spec/provisioningConfig/templates"


def _operations(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"patches": [{"target": _TARGET, "json6902": list(operations)}]}


def _add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def _copy(source: str, path: str) -> dict[str, Any]:
    return {"op": "copy", "from": source, "path": path}


def _merge(spec: Any, times: int = 1) -> dict[str, Any]:
    return {"patches": [{"target": _TARGET, "merge": {"spec": spec}}] * times}


def _files(names: range, **more: Any) -> dict[str, Any]:
    files = [{"path": f"/f{each}", "content": {"inline": {"data": "x"}}, **more} for each in names]
    return {"provisioningConfig": {"files": files}}


def _deep(depth: int, inner: Any, key: str = "k") -> Any:
    for _ in range(depth):
        inner = {key: inner}
    return inner


def _values(text: str) -> dict[str, Any]:
    return {"values": {f"v{each}": text for each in range(400)}}


def _twice() -> dict[str, Any]:
    """Values that are each made of the one before, twice."""
    made = {f"v{each}": f"{{{{ Values.v{each - 1} }}}}{{{{ Values.v{each - 1} }}}}" for each in range(1, 400)}
    return {"values": {"v0": "x" * 1000, **made}}


_AND_FELL: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "thirty copies": lambda: _operations(
        _add(_TEMPLATES, {"a": "x"}), *[_copy(_TEMPLATES, f"{_TEMPLATES}/c{each}") for each in range(30)]
    ),
    "files copied in lists": lambda: _operations(
        *[_copy("/spec/provisioningConfig/files", "/spec/provisioningConfig/files/-")] * 30
    ),
    "a megabyte copied 2,000 times": lambda: _operations(
        _add(_TEMPLATES, {"a": "x" * (1 << 20)}), *[_copy(f"{_TEMPLATES}/a", f"{_TEMPLATES}/c{n}") for n in range(2000)]
    ),
    "3,000 maps in each other": lambda: _operations(
        _add(_TEMPLATES, {}), *[_add(_TEMPLATES + "/a" * each, {}) for each in range(1, 3000)]
    ),
    "50,000 files, twice": lambda: _merge(_files(range(50_000)), 2),
    "many values below long keys": lambda: _merge({"x": _deep(60, list(range(50_000)), "k" * 10_000)}),
    "values twice each other": _twice,
    "a chain of 500 values": lambda: {
        "values": {"v0": "x", **{f"v{each}": f"{{{{ Values.v{each - 1} }}}}" for each in range(1, 500)}}
    },
    "100,000 texts in a setting": lambda: {"settings": {"nodeContainerdRegistryMirrors": ["{{ 1 }}"] * 100_000}},
    "100,000 values that nothing reads": lambda: {"values": {f"v{each}": each for each in range(100_000)}},
    "100,000 wrong keys": lambda: {f"k{each}": 1 for each in range(100_000)},
}  # fmt: skip

_AND_HELD: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "100,000 operations": lambda: _operations(*[_add("/spec/osVersion", "1")] * 100_000),
    "100,000 moves": lambda: _operations(
        *[{"op": "move", "from": "/spec/osVersion", "path": "/spec/osVersion"}] * 100_000
    ),
    "100,000 tests": lambda: _operations(*[{"op": "test", "path": "/spec/osVersion", "value": "1"}] * 100_000),
    "a pointer of a megabyte": lambda: _operations(_add("/spec" + "/a" * 500_000, 1)),
    "an index of many digits": lambda: _operations(_add("/spec/provisioningConfig/files/" + "9" * 100_000, 1)),
    "removals that fail": lambda: _operations(*[{"op": "remove", "path": "/spec/nothing"}] * 100_000),
    "100,000 patches for nothing": lambda: {
        "patches": [{"target": {"name": f"none-{each}"}, "merge": {"spec": {"a": 1}}} for each in range(100_000)]
    },
    "20,000 patches": lambda: _merge({"osVersion": "1"}, 20_000),
    "globs of stars": lambda: {
        "patches": [{"target": {"name": "*a" * 2000}, "merge": {"spec": {"osVersion": "1"}}}] * 50
    },
    "50,000 files that stand twice": lambda: _merge({"provisioningConfig": {"files": [{"path": "/f"}] * 50_000}}),
    "50,000 deletions": lambda: _merge(
        {"provisioningConfig": {"files": [{"path": f"/f{each}", "$delete": True} for each in range(50_000)]}}
    ),
    "deletions in each other": lambda: _merge({"x": _deep(90, {"$delete": True})}),
    "a deep list": lambda: _merge({"x": _deep(90, 1)}),
    "50,000 entries without a name": lambda: _merge({"provisioningConfig": {"files": [{}] * 50_000}}),
    "1,000,000 numbers": lambda: _merge({"x": list(range(1_000_000))}),
    "100,000 profiles": lambda: {"profiles": [f"osp-{each}" for each in range(100_000)]},
    "values in a circle": lambda: _values("".join(f"{{{{ Values.v{each} }}}}" for each in range(400))),
    "400 values of loops": lambda: _values("{% for a in range(9999) %}{{ range(9999)|join }}{% endfor %}"),
    "a text of 100,000 values": lambda: {
        "values": {"v0": "x", "v1": "{{ Values.v0 }}" * 100_000},
    },
    "values below long keys": lambda: {"values": _deep(60, {f"k{each}": each for each in range(20_000)}, "k" * 10_000)},
    "a value of a megabyte": lambda: {"values": {"v": "x" * (4 << 20)}},
    "50,000 wrong settings": lambda: {"settings": {f"s{each}": each for each in range(50_000)}},
}  # fmt: skip


_QUICK: Final = ("files copied in lists", "a chain of 500 values")


def _render(folder: Path, *overlays: dict[str, Any], **files: str) -> Outcome:
    tree = folder / "tree"
    tree.mkdir()
    objects = [profile("osp-good"), pool("good", profile="osp-good"), *facts()]
    (tree / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    flags = []
    for number, overlay in enumerate(overlays):
        path = folder / f"overlay{number}"
        path.mkdir()
        (path / "overlay.yaml").write_text(json.dumps({**_HEAD, **overlay}))
        for name, text in files.items():
            (path / name).write_text(text)
        flags += ["--overlay", str(path)]
    return walled_cli("render", "--from", str(tree), "--to", "-", *flags)


def _holds(outcome: Outcome) -> None:
    assert outcome.faults == []
    assert outcome.code == 1
    assert len(outcome.err) < _MOST_TOLD, outcome.err[:5000]


@pytest.mark.parametrize("kind", cases(_AND_FELL, _QUICK))
def test_an_overlay_that_took_all_is_refused(kind: str, tmp_path: Path) -> None:
    _holds(_render(tmp_path, _AND_FELL[kind]()))


@pytest.mark.oracle
@pytest.mark.parametrize("kind", _AND_HELD)
def test_a_large_overlay_is_refused_or_applied(kind: str, tmp_path: Path) -> None:
    outcome = _render(tmp_path, _AND_HELD[kind]())
    assert outcome.faults == []
    assert len(outcome.err) < _MOST_TOLD, outcome.err[:5000]


@pytest.mark.oracle
def test_overlays_that_replace_each_others_values_are_applied(tmp_path: Path) -> None:
    first = {"values": {f"v{each}": {"x": 1} for each in range(20_000)}}
    second = {"values": {f"v{each}": 1 for each in range(20_000)}}
    _holds(_render(tmp_path, first, second))


@pytest.mark.oracle
def test_a_file_that_10_000_patches_name_is_refused(tmp_path: Path) -> None:
    patches = [{"target": _TARGET, "merge": "piece"}] * 10_000
    _holds(_render(tmp_path, {"patches": patches}, piece=json.dumps({"spec": _files(range(1000))})))


def test_the_sentence_names_overlay_patch_and_profile(tmp_path: Path) -> None:
    outcome = _render(tmp_path, _AND_FELL["thirty copies"]())
    overlay = f"{tmp_path}/overlay0"
    assert (
        f"Error: {overlay}/overlay.yaml:1: OperatingSystemProfile kube-system/osp-good: a patch of overlay {overlay} "
        "exceeds a limit: all patches together write more than 16 MiB into this profile"
    ) in outcome.err.splitlines()[0]


def test_a_patch_of_a_megabyte_is_applied(tmp_path: Path) -> None:
    outcome = _render(tmp_path, _merge({"provisioningConfig": {"templates": {"t": "x" * (1 << 20)}}}))
    assert (outcome.code, outcome.faults) == (0, []), outcome.err[:2000]
