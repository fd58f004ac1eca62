"""Edits of the boot documents of default profiles, which plant mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from osm_gitops.lint.rules.boot_file import BootDocument, BootFile, Half
from osm_gitops.model.profile import Modules
from tests.lint.rules.documents import defaults

Edit = Callable[[BootDocument], BootDocument]


@dataclass(frozen=True)
class Planted:
    """A mistake in the default profile of ``os``; ``id`` is the rule that finds it, ``at`` the path where."""

    os: str
    name: str
    edit: Edit
    id: str
    at: str = ""

    def __str__(self) -> str:
        return f"{self.os}: {self.name}"


@cache
def base(os: str) -> BootDocument:
    """A document without a finding."""
    name = {"flatcar-cloud-init": "osp-flatcar-cloud-init"}.get(os, f"osp-{os}")
    return next(each for each in defaults() if each.pool.split()[0] == name)


def text(path: str, old: str, new: str, half: Half | None = None) -> Edit:
    """An edit of the text of a file, unit or drop-in."""

    def changed(file: BootFile) -> BootFile:
        if file.path != path or (half and file.half != half):
            return file
        assert old in file.text, (old, path)
        return replace(file, text=file.text.replace(old, new, 1))

    def edit(document: BootDocument) -> BootDocument:
        files = tuple(map(changed, document.files))
        units = tuple(
            replace(unit, content=unit.content and changed(unit.content), drop_ins=tuple(map(changed, unit.drop_ins)))
            for unit in document.units
        )
        edited = replace(document, files=files, units=units)
        assert edited != document, path
        return edited

    return edit


def files(change: Callable[[BootFile], BootFile | None]) -> Edit:
    """An edit of each file; ``None`` removes it."""

    def edit(document: BootDocument) -> BootDocument:
        kept = tuple(file for each in document.files if (file := change(each)) is not None)
        assert kept != document.files
        return replace(document, files=kept)

    return edit


def removed(path: str, half: Half | None = None) -> Edit:
    return files(lambda file: None if file.path == path and half in {None, file.half} else file)


def renamed(path: str, new: str) -> Edit:
    return files(
        lambda file: replace(file, path=new, place=lambda line: f"{new}:{line}") if file.path == path else file
    )


def moved(path: str, half: Half) -> Edit:
    return files(lambda file: replace(file, half=half) if file.path == path else file)


def mode(path: str, permissions: int) -> Edit:
    return files(lambda file: replace(file, permissions=permissions) if file.path == path else file)


def added(path: str, content: str, permissions: int = 755, half: Half = "provisioning") -> Edit:
    file = BootFile(path, content, permissions, half, lambda line: f"{path}:{line}")
    return lambda document: replace(document, files=(*document.files, file))


def unit(name: str, **changes: bool) -> Edit:
    def edit(document: BootDocument) -> BootDocument:
        assert any(each.name == name for each in document.units)
        units = tuple(replace(each, **changes) if each.name == name else each for each in document.units)  # type: ignore[arg-type]
        return replace(document, units=units)

    return edit


def runcmd(*commands: str, bootcmd: tuple[str, ...] = ()) -> Edit:
    """An edit of the commands of cloud-init in the bootstrap half."""
    return lambda document: replace(
        document, modules={**document.modules, "bootstrap": Modules(runcmd=commands, bootcmd=bootcmd)}
    )


def both(*edits: Edit) -> Edit:
    def edit(document: BootDocument) -> BootDocument:
        for each in edits:
            document = each(document)
        return document

    return edit


STARTING: Final = (
    "systemctl daemon-reload",
    "systemctl enable bootstrap.service",
    "systemctl restart --no-block bootstrap.service",
)
SETUP: Final = "/opt/bin/setup"
BOOTSTRAP: Final = "/opt/bin/bootstrap"
KUBELET: Final = "/etc/systemd/system/kubelet.service"
SETUP_UNIT: Final = "/etc/systemd/system/setup.service"
BOOTSTRAP_UNIT: Final = "/etc/systemd/system/bootstrap.service"
UPDATE: Final = "systemctl daemon-reload\n"


def setup(line: str) -> Edit:
    """A line before the end of the setup script."""
    return text(SETUP, UPDATE, f"{line}\n{UPDATE}")
