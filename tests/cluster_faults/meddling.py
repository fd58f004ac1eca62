"""What people and machine-controller do while a run is under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.cluster_faults.scene import Scene


@dataclass(frozen=True, slots=True)
class Meddling:
    """``act`` comes in the middle of a run, ``follow`` after it; then one more run is to make all well."""

    act: Callable[[Scene], None]
    follow: Callable[[Scene], None] = lambda _scene: None


def _update(scene: Scene) -> None:
    scene.change("same", "1.36.0", "2")
    scene.catch_up("same")


def _slow_update(scene: Scene) -> None:
    """The template first; machine-controller comes to it after the run."""
    scene.change("same", "1.36.0")


def _numbered(scene: Scene) -> None:
    scene.change("same", "1.36.0", "2")
    scene.catch_up("same")


def _roll_back(scene: Scene) -> None:
    """The template of revision 1 again, as revision 3: machine-controller takes up the old MachineSet."""
    scene.change("changed", "1.34.2", "3")
    scene.renumber("changed-1", "3")


def _pause(scene: Scene) -> None:
    scene.merge("changed", {"spec": {"paused": True}})


def _resume(scene: Scene) -> None:
    scene.merge("changed", {"spec": {"paused": None}})


def _delete(scene: Scene) -> None:
    scene.delete("same")


def _delete_another(scene: Scene) -> None:
    scene.delete("new")


def _come_back(scene: Scene) -> None:
    """As soon as the old one is gone, and with it all that it left."""
    for _ in range(2):
        if scene.find("same") is not None:
            assert scene.run().code == 0
    assert scene.find("same") is None
    left = [key for key in scene.state() if "same-kube-system" in key or "kube-system-same" in key]
    assert left == [], "a pool of the same name would meet them"
    scene.collect_machine_set("same-1")
    scene.pool("same", kubelet="1.36.0")


MEDDLING: Final = {
    "a pool is updated": Meddling(_update),
    "a pool is updated, and numbered after the run": Meddling(_slow_update, _numbered),
    "a pool is rolled back": Meddling(_roll_back),
    "a pool is paused, and resumed after the run": Meddling(_pause, _resume),
    "a pool is deleted": Meddling(_delete),
    "a pool that has nothing yet is deleted": Meddling(_delete_another),
    "a pool is deleted, and comes back": Meddling(_delete, _come_back),
}
