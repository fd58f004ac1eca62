"""Merging pieces of profiles: lists by their keys, deletions, and what every piece of the result says of its place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from osm_gitops.config.json_patch import PatchBudget, PlacedFields, WrongOperation, operate, places_of
from osm_gitops.config.patches import Merge
from osm_gitops.errors import Code
from osm_gitops.model.objects import Json, Manifest, ObjectRef, Origin
from osm_gitops.model.overlay import Spot
from osm_gitops.yaml.kubernetes import load_documents


def manifest(name: str, text: str) -> Manifest:
    (document,) = load_documents(text, name)
    return Manifest(ObjectRef("Thing", "", name), document.value, Origin(name, 1), document.lines)


def merged(base: str, piece: str) -> tuple[Json, list[str], dict[str, str]]:
    """The result, what was wrong, and the places of its fields."""
    first, second = manifest("base", base), manifest("piece", piece)
    value = copy.deepcopy(dict(first.body))
    places = places_of(value, Spot(first, ""))
    merge = Merge(lambda *_: None, PatchBudget())
    merge.mapping(value, places, second.body, places_of(second.body, Spot(second, "")), "")
    return value, [str(each) for each in merge.problems], {path: str(at) for path, at in PlacedFields(places).items()}


BASE = """\
osVersion: "24.04"
files:
- {path: /a, permissions: 644}
- path: /b
  content:
    inline:
      data: |
        one
        two
units:
- {name: x.service, enable: true, dropIns: [{name: d, content: old}]}
templates: {greeting: hello, other: text}
modules: {runcmd: [a, b]}
"""


@pytest.mark.parametrize(
    ("piece", "part", "expected"),
    [
        ("{osVersion: '26.04', new: {deep: [1]}}", "new", {"deep": [1]}),
        ("{files: [{path: /a, permissions: 600}]}", "files.0", {"path": "/a", "permissions": 600}),
        ("{files: [{path: /z}, {path: /a, $delete: true}]}", "files.1", {"path": "/z"}),
        ("{files: [{path: /b, content: {inline: {data: x}}}]}", "files.1.content.inline.data", "x"),
        (
            "{units: [{name: x.service, enable: false, dropIns: [{name: d, content: new}, {name: e}]}]}",
            "units.0",
            {"name": "x.service", "enable": False, "dropIns": [{"name": "d", "content": "new"}, {"name": "e"}]},
        ),
        ("{templates: {greeting: {$delete: true}, third: x}}", "templates", {"other": "text", "third": "x"}),
        ("{modules: {runcmd: [c]}}", "modules.runcmd", ["c"]),
        ("{modules: {$delete: true}}", "osVersion", "24.04"),
        (
            "{supportedContainerRuntimes: [{name: containerd, files: []}]}",
            "supportedContainerRuntimes",
            [{"name": "containerd", "files": []}],
        ),
    ],
)
def test_a_piece_is_merged(piece: str, part: str, expected: Any) -> None:
    value, problems, _ = merged(BASE, piece)
    assert problems == []
    for step in part.split("."):
        value = value[int(step)] if step.isdecimal() else value[step]
    assert value == expected


@pytest.mark.parametrize(
    ("piece", "problem"),
    [
        ("{templates: {nope: {$delete: true}}}", "piece:1: templates.nope: there is nothing to delete here"),
        ("{files: [{path: /c, $delete: true}]}", 'files[path=/c]: no entry with path "/c" to delete'),
        ("{files: [{path: /a, $delete: false}]}", "files[path=/a]: $delete must be true, not a boolean"),
        ("{files: [{path: /a, permissions: 1, $delete: true}]}", "$delete must not have other fields"),
        ("{files: [{permissions: 1}]}", "files[0]: must be an entry with the key path"),
        ("{files: [7]}", "files[0]: must be an entry with the key path"),
        ("{files: [{path: /a}, {path: /a}]}", 'path "/a" is twice in this patch'),
        ("{osVersion: null}", "osVersion: is null. Write {$delete: true} to remove it"),
        ("{$patch: replace}", "$patch: $patch does not belong here"),
        ("{new: {deep: {$delete: true}}}", "new.deep.$delete: there is nothing to delete here"),
        ("{modules: {runcmd: [{$delete: true}]}}", "modules.runcmd[0].$delete: there is nothing to delete here"),
    ],
)
def test_what_cannot_be_merged_is_told(piece: str, problem: str) -> None:
    _, problems, _ = merged(BASE, piece)
    assert problems
    assert all(problem in each for each in problems)


def test_a_key_that_the_profile_has_twice_is_not_guessed_at() -> None:
    _, problems, _ = merged("files: [{path: /a}, {path: /a}]", "files: [{path: /a, permissions: 1}]")
    (problem,) = problems
    assert problem.startswith("piece:1: files[path=/a]: ")
    assert problem.endswith(f"[{Code.PATCH_DOES_NOT_APPLY.value}]")


def test_every_field_knows_the_file_and_line_it_came_from() -> None:
    piece = "files:\n- {path: /a, $delete: true}\n- path: /new\n  content: {inline: {data: x}}\nosVersion: x\n"
    _, problems, places = merged(BASE, piece)
    assert problems == []
    assert places["osVersion"] == "piece:5"
    assert places["files"] == "base:2"
    assert places["files[0].content.inline.data"] == "base:7"
    assert places["files[0].content.inline.data|"] == "base:8"
    assert places["files[1]"] == "piece:3"
    assert places["files[1].content.inline"] == "piece:4"


OPERATIONS: list[dict[str, Json]] = [
    {"op": "move", "from": "/files/1", "path": "/files/0"},
    {"op": "copy", "from": "/units/0", "path": "/units/-"},
    {"op": "add", "path": "/files/0/content/inline/encoding", "value": "b64"},
    {"op": "replace", "path": "/templates", "value": {"a/b": "x"}},
    {"op": "remove", "path": "/templates/a~1b"},
]


def test_places_move_with_what_json_patch_moves() -> None:
    base, patch = manifest("base", BASE), manifest("patch", "ops: [1, 2, 3, 4, 5]")
    value = copy.deepcopy(dict(base.body))
    places = places_of(value, Spot(base, ""))
    for index, operation in enumerate(OPERATIONS):
        operate(value, places, operation, Spot(patch, f"ops[{index}]"))
    assert [file["path"] for file in value["files"]] == ["/b", "/a"]
    assert value["templates"] == {}
    fields = PlacedFields(places)
    assert str(fields["files[0].content.inline.data|"]) == "base:8"
    assert str(fields["files[1].path"]) == "base:3"
    assert str(fields["units[1].name"]) == "base:11"


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/nope"},
        {"op": "replace", "path": "/files/9", "value": 1},
        {"op": "add", "path": "/files/x", "value": 1},
        {"op": "add", "path": "/files/9", "value": 1},
        {"op": "add", "path": "/osVersion/x", "value": 1},
        {"op": "move", "from": "/files", "path": "/files/0"},
        {"op": "copy", "from": "/nope", "path": "/x"},
        {"op": "test", "path": "/osVersion", "value": "secret"},
        {"op": "test", "path": "/nope/deep", "value": 1},
    ],
)
def test_an_operation_that_cannot_be_done_is_a_sentence_without_values_and_changes_nothing(
    operation: dict[str, Json],
) -> None:
    base = manifest("base", BASE)
    value = copy.deepcopy(dict(base.body))
    places = places_of(value, Spot(base, ""))
    with pytest.raises(WrongOperation) as refused:
        operate(value, places, operation, Spot(base, ""))
    assert "24.04" not in str(refused.value)
    assert "secret" not in str(refused.value)
    assert value == base.body
    assert dict(PlacedFields(places)) == dict(PlacedFields(places_of(value, Spot(base, ""))))
