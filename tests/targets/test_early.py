"""Pools that are compared while others are rendered: the plan is the one that is made of all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from osm_gitops.errors import Code, TargetError
from osm_gitops.model.desired import Desired
from osm_gitops.model.plan import ClusterPlan, View
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.report.excerpts import as_shown, draft, without_bodies
from osm_gitops.sops.keys import new_identity
from osm_gitops.targets.current import FolderComparison
from osm_gitops.targets.file_encryption import NO_ENCRYPTION, FileEncryption
from osm_gitops.targets.folder import FolderTarget, render_to
from osm_gitops.targets.target import plan_for
from tests.faults import refused
from tests.plan.objects import desired, pool_objects

_VIEWS = (View(), View(together=True), View(whole=True), View(context=0))
_DIGEST_KEY = {"OSM_GITOPS_DIGEST_KEY": "0123456789abcdef0123456789abcdef"}
_OLD = {"a": "x\nkept\n", "b": "x\nkept\n", "c": "same\n", "gone": "y\n"}
_NEW = {"new": "x\n", "c": "same\n", "b": "z\nkept\n", "a": "z\nkept\n"}
_SECRET = "prod/worker/secrets/a-kube-system-bootstrap-config.yaml"


def _late(root: Path, wanted: Desired, encryption: FileEncryption) -> ClusterPlan:
    return plan_for(FolderTarget(root, encryption), wanted, PlanOptions())


def _early(root: Path, wanted: Desired, encryption: FileEncryption) -> ClusterPlan:
    early = FolderComparison(root, wanted.cluster, encryption, partial(as_shown, views=_VIEWS, known={}))
    for pool in wanted.pools:
        early.take([each for each in wanted.objects if each.pool == pool])
    return plan_for(FolderTarget(root, encryption), wanted, PlanOptions(), early=early)


def _nothing(_root: Path) -> None:
    """Leave the files as they are."""


def _garbage(root: Path) -> None:
    (root / _SECRET).write_text("a: [\n")


def _missing(root: Path) -> None:
    (root / _SECRET).unlink()


def _as_json(root: Path) -> None:
    (root / _SECRET).write_text('{"kind": "Secret"}\n')


@pytest.mark.parametrize("edit", [_nothing, _garbage, _missing, _as_json])
@pytest.mark.parametrize("reader", ["plain", "with a key", "with a digest key"])
def test_the_plan_is_the_same(tmp_path: Path, edit: Callable[[Path], None], reader: str) -> None:
    key, recipient = new_identity()
    written = FileEncryption({"SOPS_AGE_KEY": key, **_DIGEST_KEY}, (recipient,))
    encryption: Mapping[str, tuple[FileEncryption, FileEncryption]] = {
        "plain": (NO_ENCRYPTION, NO_ENCRYPTION),
        "with a key": (written, written),
        "with a digest key": (written, FileEncryption(_DIGEST_KEY, (recipient,))),
    }
    writer, opener = encryption[reader]
    render_to(tmp_path, desired(_OLD), writer)
    edit(tmp_path)
    late, early = (plan(tmp_path, desired(_NEW), opener) for plan in (_late, _early))
    assert without_bodies(early) == without_bodies(late)
    assert [each.digest for each in early.changes] == [each.digest for each in late.changes]
    for view in _VIEWS:
        assert draft(early, view) == draft(late, view)


def test_what_pools_have_in_common_is_kept_once(tmp_path: Path) -> None:
    render_to(tmp_path, desired(_OLD), NO_ENCRYPTION)
    changes = {each.ref.name: each for each in _early(tmp_path, desired(_NEW), NO_ENCRYPTION).effective}
    one, other = (changes[f"{name}-kube-system-provisioning-config"] for name in "ab")
    assert one.shown is not None
    assert one.shown is other.shown
    assert not one.texts
    assert one.before is None


def test_warnings_name_files_in_the_order_of_the_objects(tmp_path: Path) -> None:
    key, recipient = new_identity()
    _, another = new_identity()
    wanted = desired(_OLD)
    render_to(tmp_path, wanted, FileEncryption({"SOPS_AGE_KEY": key}, (recipient,)))
    encryption = FileEncryption({"SOPS_AGE_KEY": key}, (recipient, another))
    backwards = replace(wanted, pools=wanted.pools[::-1])
    assert _early(tmp_path, backwards, encryption).warnings == _late(tmp_path, wanted, encryption).warnings != ()


@pytest.mark.parametrize("plan", [_late, _early])
def test_files_that_cannot_be_compared_are_refused(
    tmp_path: Path, plan: Callable[[Path, Desired, FileEncryption], ClusterPlan]
) -> None:
    key, recipient = new_identity()
    render_to(tmp_path, desired(_OLD), FileEncryption({"SOPS_AGE_KEY": key}, (recipient,)))
    with refused(Code.FILES_NOT_COMPARABLE, kind=TargetError):
        plan(tmp_path, desired(_NEW), FileEncryption({}, (recipient,)))


@pytest.mark.parametrize("plan", [_late, _early])
def test_links_are_refused_and_not_followed(
    tmp_path: Path, plan: Callable[[Path, Desired, FileEncryption], ClusterPlan]
) -> None:
    render_to(tmp_path / "out", desired(_OLD), NO_ENCRYPTION)
    (tmp_path / "out" / "prod").rename(tmp_path / "elsewhere")
    (tmp_path / "out" / "prod").symlink_to(tmp_path / "elsewhere")
    with refused(Code.TARGET_SYMLINK, kind=TargetError):
        plan(tmp_path / "out", desired(_NEW), NO_ENCRYPTION)


def test_a_file_that_is_refused_is_named_once(tmp_path: Path) -> None:
    render_to(tmp_path, desired(_OLD), NO_ENCRYPTION)
    (tmp_path / _SECRET).unlink()
    (tmp_path / _SECRET).symlink_to("/etc/hostname")
    early = FolderComparison(tmp_path, "prod", NO_ENCRYPTION, lambda change: change)
    early.take(pool_objects("a", "z\n"))
    early.take(pool_objects("b", "z\n"))
    with refused(Code.FILE_UNREADABLE, kind=TargetError):
        early.read(desired(_NEW))
