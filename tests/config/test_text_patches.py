"""Edits of a text of a profile, and copies of one: what they make, where each line comes from, and what is refused."""

from __future__ import annotations

import copy
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.config.json_patch import PatchBudget, PatchLimitError, PlacedFields, places_of
from osm_gitops.config.overlays import read_overlays
from osm_gitops.config.patches import Merge
from osm_gitops.config.text_patches import WrongEdit, edit_text, text_digest
from osm_gitops.errors import Code, Problem
from osm_gitops.model.objects import Manifest, ObjectRef, Origin
from osm_gitops.model.overlay import EDITS, Overlay, OverlayRef, Spot, TextEdit
from osm_gitops.yaml.kubernetes import load_documents
from tests.faults import Expected, refused

BASE = """\
spec:
  provisioningConfig:
    templates:
      script: |
        one
        two
        three
      line: one line
    files:
    - path: /etc/script
      content:
        inline:
          data: |
            one
            two
    units:
    - name: a.service
      content: |
        [Service]
        ExecStart=/bin/a
      dropIns:
      - name: 10-a.conf
        content: |
          [Service]
          User=a
"""
SCRIPT = "spec.provisioningConfig.templates.script"


def overlay(folder: Path, templates: str = "", half: str = "") -> Overlay:
    """An overlay with one patch; the first line of ``templates`` or ``half`` is line 8 or 7 of its file."""
    text = dedent(
        """\
        apiVersion: osm-gitops.io/v1alpha1
        kind: Overlay
        patches:
        - target: {name: "*"}
          merge:
            spec:
        """
    )
    text += "      provisioningConfig:\n" + indent(dedent(half), " " * 8)
    if templates:
        text += "        templates:\n" + indent(dedent(templates), " " * 10)
    folder.mkdir(exist_ok=True)
    (folder / "overlay.yaml").write_text(text, "utf-8")
    (found,) = read_overlays([OverlayRef(folder, "mine")])
    return found


def patched(*overlays: Overlay) -> tuple[Any, dict[str, str], Manifest, Merge]:
    """The half, the places, the manifest with the places, and the merge."""
    (document,) = load_documents(BASE, "base.yaml")
    manifest = Manifest(ObjectRef("P", "", "p"), document.value, Origin("base.yaml", 1), document.lines)
    body = copy.deepcopy(dict(manifest.body))
    places = places_of(body, Spot(manifest, ""))
    merge = Merge(lambda *_: None, PatchBudget())
    for patch in (patch for each in overlays for patch in each.patches):
        assert patch.merge is not None
        merge.mapping(body, places, patch.merge, places_of(patch.merge, patch.spot), "")
    fields = PlacedFields(places)
    whole = Manifest(manifest.ref, body, manifest.origin, {}, elsewhere=fields)
    return body["spec"]["provisioningConfig"], {key: str(at) for key, at in fields.items()}, whole, merge


def test_edits_change_lines_and_every_line_keeps_its_place(tmp_path: Path) -> None:
    mine = overlay(
        tmp_path,
        """\
        script:
          edit:
          - insertBefore: one
            text: "zero\\n"
          - replace: two
            with: |
              2
              2½
          - insertAfter: three
            text: |
              four
              five
        """,
    )
    half, _, manifest, merge = patched(mine)
    assert merge.problems == []
    assert half["templates"]["script"] == "zero\none\n2\n2½\n\nthree\nfour\nfive\n"
    assert [manifest.line_in(SCRIPT, line) for line in range(1, 9)] == [
        "mine/overlay.yaml:12",
        "base.yaml:5",
        "mine/overlay.yaml:15",
        "mine/overlay.yaml:16",
        "base.yaml:6",
        "base.yaml:7",
        "mine/overlay.yaml:19",
        "mine/overlay.yaml:20",
    ]


def test_files_units_and_drop_ins_are_edited_like_templates(tmp_path: Path) -> None:
    mine = overlay(
        tmp_path,
        half="""\
        files:
        - {path: /etc/script, content: {edit: [{replace: "two\\n", with: ""}]}}
        units:
        - name: a.service
          content: {edit: [{insertAfter: "[Service]", text: Type=oneshot}]}
          dropIns:
          - {name: 10-a.conf, content: {edit: [{replace: "User=a", with: "User=b"}]}}
        """,
        templates='line: {edit: [{insertAfter: "one", text: "more"}]}\n',
    )
    half, places, _, merge = patched(mine)
    assert merge.problems == []
    assert half["files"][0]["content"] == {"inline": {"data": "one\n"}}
    assert half["units"][0]["content"] == "[Service]\nType=oneshot\nExecStart=/bin/a\n"
    assert half["units"][0]["dropIns"] == [{"name": "10-a.conf", "content": "[Service]\nUser=b\n"}]
    assert half["templates"]["line"] == "one line\nmore"
    assert "spec.provisioningConfig.templates.line|" not in places


def test_overlays_edit_one_after_the_other(tmp_path: Path) -> None:
    first = overlay(tmp_path / "a", "script: {edit: [{replace: two, with: second}]}")
    second = overlay(tmp_path / "b", "script: {edit: [{insertAfter: second, text: third}]}")
    half, _, manifest, merge = patched(first, second)
    assert (half["templates"]["script"], merge.problems) == ("one\nsecond\nthird\nthree\n", [])
    assert [manifest.line_in(SCRIPT, line) for line in (1, 4)] == ["base.yaml:5", "base.yaml:7"]


@pytest.mark.parametrize(
    "templates",
    [
        "script: {edit: [{replace: nowhere, with: x}]}",
        "script: {edit: [{replace: o, with: x}]}",
        "script: {edit: [{replace: one, with: x}, {insertAfter: one, text: z}]}",
        "other: {edit: [{replace: one, with: x}]}",
        "other: {file: copy, baseDigest: '000000000000'}",
    ],
)
def test_an_edit_without_its_text_does_not_apply_and_is_told_at_its_line(tmp_path: Path, templates: str) -> None:
    (tmp_path / "copy").write_text("x\n", "utf-8")
    half, _, _, merge = patched(overlay(tmp_path, templates))
    (problem,) = merge.problems
    assert (problem.code, problem.where) == (Code.PATCH_DOES_NOT_APPLY, "mine/overlay.yaml:9")
    assert half["templates"]["script"] == "one\ntwo\nthree\n"


def test_a_copy_is_compared_with_what_it_was_made_from(tmp_path: Path) -> None:
    (tmp_path / "copy").write_text("one\nmine\n", "utf-8")

    def warnings(digest: str) -> list[Problem]:
        half, places, _, merge = patched(overlay(tmp_path, f"script: {{file: copy, baseDigest: '{digest}'}}"))
        assert (half["templates"]["script"], merge.problems) == ("one\nmine\n", [])
        assert places[f"{SCRIPT}|"] == "mine/copy:1"
        return merge.warnings

    assert warnings(text_digest("one\ntwo\nthree\n")) == []
    (outdated,) = warnings("0" * 12)
    assert (outdated.code, outdated.where) == (Code.OVERLAY_COPY_OUTDATED, "mine/overlay.yaml:9")
    assert text_digest("one\ntwo\nthree\n") in outdated.fix


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("{edit: []}", Code.WRONG_TYPE),
        ("{edit: text}", Code.WRONG_TYPE),
        ("{edit: [text]}", Code.WRONG_TYPE),
        ("{edit: [{replace: a}]}", Code.PATCH_INVALID),
        ("{edit: [{replace: a, text: b}]}", Code.PATCH_INVALID),
        ("{edit: [{replace: a, with: b, text: c}]}", Code.PATCH_INVALID),
        ("{edit: [{replace: a, insertAfter: b, text: c}]}", Code.PATCH_INVALID),
        ("{edit: [{replace: '', with: b}]}", Code.PATCH_INVALID),
        ("{edit: [{replace: 7, with: b}]}", Code.WRONG_TYPE),
        ("{edit: [{replace: a, with: b}], file: copy}", Code.UNKNOWN_KEY),
        ("{file: copy, baseDigest: ABC}", Code.INVALID_VALUE),
        ("{file: copy, digest: ABC}", Code.UNKNOWN_KEY),
    ],
)
def test_what_is_no_edit_and_no_copy_is_refused_at_its_line(tmp_path: Path, value: str, code: Code) -> None:
    (tmp_path / "copy").write_text("x\n", "utf-8")
    with refused(Expected(code, "mine/overlay.yaml:9")):
        overlay(tmp_path, f"script: {value}\n")


def test_edits_write_within_the_limit_of_all_patches(tmp_path: Path) -> None:
    mine = overlay(tmp_path, f"script: {{edit: [{{replace: one, with: {'x' * (1 << 20)}}}]}}")
    many = [overlay(tmp_path / str(number), "script: {edit: [{insertBefore: two, text: a}]}") for number in range(20)]
    with pytest.raises(PatchLimitError):
        patched(mine, *many)


_LINES = st.lists(st.sampled_from(["a", "b", "c", "", "a b"]), min_size=1, max_size=6).map("\n".join)


@given(
    text=_LINES, found=st.sampled_from(["a", "b", "c\n", "\nb", "a b"]), new=_LINES, operation=st.sampled_from([*EDITS])
)
def test_an_edit_changes_what_it_names_and_nothing_else(text: str, found: str, new: str, operation: str) -> None:
    own = Manifest(ObjectRef("Overlay", "", "o"), {}, Origin("o", 1), {f"e.{EDITS[operation]}|": 100})
    base = Manifest(ObjectRef("P", "", "p"), {}, Origin("p", 1), {"t|": 1})
    edit = TextEdit(operation, found, new, Spot(own, "e"))
    if text.count(found) != 1:
        with pytest.raises(WrongEdit):
            edit_text(text, Spot(base, "t"), [edit], Spot(own, "e"))
        return
    changed, place = edit_text(text, Spot(base, "t"), [edit], Spot(own, "e"))
    if operation == "replace":
        assert changed == text.replace(found, new)
    else:
        added = new.removesuffix("\n") + "\n"
        lines = (text + "\n").split("\n")
        at = text[: text.index(found)].count("\n")
        at += (found.rstrip("\n").count("\n") + 1) if operation == "insertAfter" else 0
        assert changed + "\n" == "\n".join(lines[:at]) + ("\n" if at else "") + added + "\n".join(lines[at:])
    first = place.first_line
    assert first is not None
    old = text.split("\n")
    for number, line in enumerate(changed.split("\n"), start=1):
        path, _, where = first.line_below(number).partition(":")
        if path == "p":  # A line of the profile is that line, or what an edit within it left of it.
            assert old[int(where) - 1] == line or operation == "replace"
