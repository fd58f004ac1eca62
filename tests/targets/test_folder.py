"""The layout of a desired state in a folder, read back and written."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, Desired, DesiredObject, Side
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, View
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.report.excerpts import draft
from osm_gitops.sops.keys import new_identity
from osm_gitops.targets.current import read_folder
from osm_gitops.targets.file_encryption import NO_ENCRYPTION, FileEncryption
from osm_gitops.targets.files import FileChanges, path_of, place_files, stage_files
from osm_gitops.targets.folder import FolderTarget, render_to, stream
from osm_gitops.targets.target import plan_for
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_manifest
from tests.faults import Expected, refused
from tests.plan.objects import LABELS, desired, pool

_SECRET = "prod/worker/secrets/a-kube-system-bootstrap-config.yaml"


def _files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def _profile(name: str = "osp-a") -> DesiredObject:
    ref = ObjectRef("OperatingSystemProfile", "kube-system", name)
    metadata = {"name": name, "namespace": "kube-system", "labels": dict(LABELS)}
    return DesiredObject(ref, Side.MANAGEMENT, {"kind": ref.kind, "metadata": metadata, "spec": {}})


def _changes(root: Path, wanted: Desired, options: PlanOptions) -> FileChanges:
    return FolderTarget(root, NO_ENCRYPTION).changes(plan_for(FolderTarget(root, NO_ENCRYPTION), wanted, options))


def _apply(root: Path, wanted: Desired, options: PlanOptions = PlanOptions()) -> None:  # noqa: B008 (frozen)
    place_files(root, stage_files(root, _changes(root, wanted, options)))


def test_the_layout_is_that_of_the_design(tmp_path: Path) -> None:
    wanted = desired({"a": "x\n"})
    render_to(tmp_path, replace(wanted, objects=(*wanted.objects, _profile())), NO_ENCRYPTION)
    assert _files(tmp_path) == [
        "prod/management/kustomization.yaml",
        "prod/management/operatingsystemconfigs/a-kube-system-config.yaml",
        "prod/management/operatingsystemprofiles/kube-system/osp-a.yaml",
        "prod/worker/kustomization.yaml",
        "prod/worker/secrets/a-kube-system-bootstrap-config.yaml",
        "prod/worker/secrets/a-kube-system-provisioning-config.yaml",
    ]
    assert (tmp_path / "prod/management/kustomization.yaml").read_text() == (
        "# Written by osm-gitops; changes are overwritten.\n"
        "apiVersion: kustomize.config.k8s.io/v1beta1\n"
        "kind: Kustomization\n"
        "resources:\n"
        "- operatingsystemconfigs/a-kube-system-config.yaml\n"
        "- operatingsystemprofiles/kube-system/osp-a.yaml\n"
    )


def test_both_kustomizations_exist_even_when_empty(tmp_path: Path) -> None:
    render_to(tmp_path, Desired("prod", ()), NO_ENCRYPTION)
    assert _files(tmp_path) == ["prod/management/kustomization.yaml", "prod/worker/kustomization.yaml"]
    assert (tmp_path / "prod/worker/kustomization.yaml").read_text().endswith("resources: []\n")


def test_what_was_written_is_unchanged(tmp_path: Path) -> None:
    wanted = desired({"a": "x\n", "b": "y\n"})
    render_to(tmp_path, wanted, NO_ENCRYPTION)
    assert read_folder(tmp_path, wanted, NO_ENCRYPTION).identical == frozenset(each.ref for each in wanted.objects)
    assert not plan_for(FolderTarget(tmp_path, NO_ENCRYPTION), wanted, PlanOptions()).has_changes


def test_another_spelling_of_the_same_content_is_left_alone(tmp_path: Path) -> None:
    wanted = desired({"a": "x\n"})
    render_to(tmp_path, wanted, NO_ENCRYPTION)
    file = tmp_path / _SECRET
    file.write_text(f"# a comment\n---\n{file.read_text()}")
    before = file.read_bytes()
    _apply(tmp_path, wanted)
    assert file.read_bytes() == before


def test_an_edited_file_is_healed(tmp_path: Path) -> None:
    wanted = desired({"a": "x\n"})
    render_to(tmp_path, wanted, NO_ENCRYPTION)
    good = (tmp_path / _SECRET).read_text()
    unreadable = ("{", "{}{}", "a: [\n", "a: \x00\n", "- a\n", "a: 1\na: 2\n", "a: 1\n---\nb: 2\n", "sops: 1\n", "")
    for broken in (good.replace("Opaque", "Other"), "a: 1\n", *unreadable):
        (tmp_path / _SECRET).write_text(broken)
        plan = plan_for(FolderTarget(tmp_path, NO_ENCRYPTION), wanted, PlanOptions())
        (change,) = plan.effective
        assert change.reason.startswith("the existing object could not be read: ") == (broken in unreadable), broken
        _apply(tmp_path, wanted)
        assert (tmp_path / _SECRET).read_text() == good


_ODD: tuple[Any, ...] = ("x", 3, None, True, [], ["a"], [[]], [{"b": None}], {}, {"a": "b"})
_MARK = f"# {MANAGED_BY_LABEL}: {MANAGED_BY}\n"


@pytest.mark.parametrize("kind", ["OperatingSystemConfig", "Secret"])
@pytest.mark.parametrize("sealed", [False, True], ids=["plain", "sealed"])
def test_a_file_of_any_shape_is_compared_and_healed(tmp_path: Path, kind: str, sealed: bool) -> None:
    key, recipient = new_identity()
    encryption = FileEncryption({"SOPS_AGE_KEY": key}, (recipient,)) if sealed else NO_ENCRYPTION
    wanted, other = desired({"a": "x\n"}), desired({"b": "x\n"})
    render_to(tmp_path, wanted, encryption)
    target = FolderTarget(tmp_path, encryption)
    ours, stray = (
        tmp_path / path_of("prod", next(each.ref for each in state.objects if each.ref.kind == kind))
        for state in (wanted, other)
    )
    for text in map(_MARK.__add__, _odd_texts(load_manifest(ours.read_bytes(), "ours"))):
        ours.write_text(text)
        stray.write_text(text)
        plan = plan_for(target, wanted, PlanOptions())
        assert draft(plan, View(together=True)).groups or not plan.effective
        target.deliver(plan)
        assert not [change for change in plan_for(target, wanted, PlanOptions()).effective if change.ref.kind == kind]


def _odd_texts(body: Any) -> Iterator[str]:
    """The body with each of its values replaced."""
    yield from map(dump, (*_ODD, {"metadata": "x"}, {"metadata": {"annotations": "x"}}))
    for path in _paths(body):
        for odd in _ODD:
            changed = copy.deepcopy(body)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = odd
            yield dump(changed)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in members:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def test_a_lost_kustomization_is_written_again(tmp_path: Path) -> None:
    wanted = desired({"a": "x\n"})
    render_to(tmp_path, wanted, NO_ENCRYPTION)
    (tmp_path / "prod/worker/kustomization.yaml").unlink()
    assert plan_for(FolderTarget(tmp_path, NO_ENCRYPTION), wanted, PlanOptions()).layout == (
        "prod/worker/kustomization.yaml",
    )
    _apply(tmp_path, wanted)
    assert not plan_for(FolderTarget(tmp_path, NO_ENCRYPTION), wanted, PlanOptions()).has_changes


def test_stale_files_of_ours_go_and_all_others_stay(tmp_path: Path) -> None:
    render_to(tmp_path, desired({"a": "x\n", "b": "x\n"}), NO_ENCRYPTION)
    foreign = ["note.txt", "prod/README.md", "prod/worker/secrets/mine.yaml", "staging/x.yaml"]
    for name in foreign:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("kind: Secret\nmetadata: {name: mine}\n")
    render_to(tmp_path, desired({"a": "x\n"}), NO_ENCRYPTION)
    assert not [name for name in _files(tmp_path) if "/b-" in name]
    assert set(foreign) <= set(_files(tmp_path))
    assert "mine.yaml" not in (tmp_path / "prod/worker/kustomization.yaml").read_text()
    warnings = plan_for(FolderTarget(tmp_path, NO_ENCRYPTION), desired({"a": "x\n"}), PlanOptions()).warnings
    assert warnings[0] == Expected(Code.FILES_OF_OTHERS, "prod/README.md", "prod/worker/secrets/mine.yaml")


def test_files_of_failed_pools_stay_and_stay_listed(tmp_path: Path) -> None:
    render_to(tmp_path, desired({"a": "x\n", "b": "x\n"}), NO_ENCRYPTION)
    before = _files(tmp_path), (tmp_path / "prod/worker/kustomization.yaml").read_text()
    render_to(
        tmp_path,
        replace(desired({"a": "x\n"}), failed={pool("b"): (Problem(Code.INVALID_VALUE, "broken"),)}),
        NO_ENCRYPTION,
    )
    assert (_files(tmp_path), (tmp_path / "prod/worker/kustomization.yaml").read_text()) == before


def test_an_unreadable_file_of_ours_forbids_deletion_and_stays_listed(tmp_path: Path) -> None:
    render_to(tmp_path, desired({"a": "x\n", "b": "x\n"}), NO_ENCRYPTION)
    broken = tmp_path / "prod/worker/secrets/b-kube-system-bootstrap-config.yaml"
    broken.write_text(broken.read_text() + "{")
    plan = plan_for(FolderTarget(tmp_path, NO_ENCRYPTION), desired({"a": "x\n"}), PlanOptions())
    assert not plan.count()[Action.DELETE]
    assert len(plan.not_deleted) == 2
    _apply(tmp_path, desired({"a": "x\n"}))
    assert broken.name in (tmp_path / "prod/worker/kustomization.yaml").read_text()


def test_files_with_secrets_are_private(tmp_path: Path) -> None:
    wanted = desired({"a": "x\n"})
    render_to(tmp_path, replace(wanted, objects=(*wanted.objects, _profile())), NO_ENCRYPTION)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*.yaml")}
    assert modes["a-kube-system-config.yaml"] == modes["a-kube-system-bootstrap-config.yaml"] == 0o600
    assert modes["osp-a.yaml"] & 0o400


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "important.txt").write_text("x")
    with refused(Code.TARGET_OF_OTHERS, kind=TargetError):
        render_to(tmp_path, desired({"a": "x\n"}), NO_ENCRYPTION)
    assert _files(tmp_path) == ["important.txt"]


def test_the_first_render_can_be_killed_and_done_again(tmp_path: Path) -> None:
    (tmp_path / "prod/management").mkdir(parents=True)
    (tmp_path / "prod/management/kustomization.yaml").write_text(
        "# Written by osm-gitops; changes are overwritten.\nresources: []\n"
    )
    (tmp_path / "prod/management/.osm-gitops-abc.tmp").write_text("half")
    wanted = desired({"a": "x\n"})
    render_to(tmp_path, wanted, NO_ENCRYPTION)
    assert not plan_for(FolderTarget(tmp_path, NO_ENCRYPTION), wanted, PlanOptions()).has_changes
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_link_in_the_owned_path_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "out" / "prod").mkdir(parents=True)
    (tmp_path / "out" / "prod" / "worker").symlink_to(elsewhere)
    with refused(Code.TARGET_SYMLINK, kind=TargetError):
        plan_for(FolderTarget(tmp_path / "out", NO_ENCRYPTION), desired({"a": "x\n"}), PlanOptions())


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    render_to(tmp_path, desired({"a": "x\n"}), NO_ENCRYPTION)
    (tmp_path / _SECRET).unlink()
    (tmp_path / _SECRET).symlink_to("/etc/hostname")
    with refused(Code.FILE_UNREADABLE, kind=TargetError):
        plan_for(FolderTarget(tmp_path, NO_ENCRYPTION), desired({"a": "x\n"}), PlanOptions())


@pytest.mark.parametrize("name", ["../x", "a/b", "", "..", "a\x00b", "a\nb", "x" * 300])
def test_names_that_are_no_file_names_are_refused(name: str) -> None:
    with pytest.raises(TargetError):
        path_of(name, ObjectRef("Secret", "ns", "a"))
    if name not in {"", ".."}:
        with pytest.raises(TargetError):
            path_of("prod", ObjectRef("Secret", "ns", name))


def test_a_name_of_dots_stays_inside_its_folder() -> None:
    assert path_of("prod", ObjectRef("Secret", "ns", "..")) == PurePosixPath("prod/worker/secrets/...yaml")


def test_two_objects_in_one_file_are_refused(tmp_path: Path) -> None:
    wanted = desired({"a": "x\n"})
    other = replace(wanted.objects[1], ref=replace(wanted.objects[1].ref, namespace="other"))
    with refused(Code.FILES_COLLIDE, kind=TargetError):
        plan_for(
            FolderTarget(tmp_path, NO_ENCRYPTION), replace(wanted, objects=(*wanted.objects, other)), PlanOptions()
        )


def test_a_stream_is_one_text_of_all_documents() -> None:
    text = "".join(stream(desired({"a": "x\n"}).objects))
    assert text.count("---\n") == 3
    assert text.endswith("\n")


def test_each_content_is_made_once_and_a_failure_leaves_no_file(tmp_path: Path) -> None:
    made: list[str] = []

    def content(name: str) -> bytes:
        made.append(name)
        return f"{name}\n".encode()

    write = {PurePosixPath("prod/a"): partial(content, "a"), PurePosixPath("prod/b"): partial(content, "b")}
    place_files(tmp_path, stage_files(tmp_path, FileChanges(write)))
    assert made == ["a", "b"]
    (tmp_path / "file").write_text("in the way")
    with refused(Code.FILE_UNWRITABLE, kind=TargetError):
        stage_files(tmp_path, FileChanges({**write, PurePosixPath("file/c"): partial(content, "c")}))
    assert _files(tmp_path) == ["file", "prod/a", "prod/b"]
