"""The files of overlays, in folders, in git revisions, and built in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path, PurePath
from posixpath import normpath
from typing import Final

from osm_gitops.config.overlay_keys import OVERLAY_FILE
from osm_gitops.errors import Code, InputError, did_you_mean, input_error
from osm_gitops.model.objects import BUILT_IN
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.sources.builtin import data_folder
from osm_gitops.sources.trust import TRUSTED, Trust
from osm_gitops.sources.walk import Folder, Kind, SourceFiles

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*")
_LARGEST: Final = 16 << 20


def overlay_ref(base: Path, text: str) -> OverlayRef:
    """Parse ``PATH``, ``PATH@REVISION`` or ``builtin:NAME``; an existing path takes precedence."""
    if text.startswith(BUILT_IN):
        return OverlayRef(data_folder("overlays") / text.removeprefix(BUILT_IN), text, built_in=True)
    path, at, revision = text.rpartition("@")
    if not (at and revision) or os.path.lexists(base / text):
        return OverlayRef(base / text, text)
    return OverlayRef(base / path, path, revision)


def base_ref(ref: OverlayRef, text: str) -> OverlayRef:
    """A base overlay that the overlay at ``ref`` names: relative to it, and by default at the same revision."""
    if text.startswith(BUILT_IN):
        return overlay_ref(Path(), text)
    folder = ref.path.parent if ref.path.name.endswith((".yaml", ".yml")) else ref.path
    found = overlay_ref(folder, text)
    named = text.rpartition("@")[0] if found.revision else text
    shown = os.path.normpath(named) if named.startswith("/") else normpath(f"{_folder_shown(ref)}/{named}")
    return OverlayRef(Path(os.path.normpath(found.path)), shown, found.revision or ref.revision)


def _folder_shown(ref: OverlayRef) -> str:
    return ref.display.rpartition("/")[0] or "." if ref.display.endswith((".yaml", ".yml")) else ref.display


def builtin_overlays() -> tuple[str, ...]:
    """The names of the built-in overlays."""
    folder = data_folder("overlays")
    found = folder.iterdir() if folder.is_dir() else ()
    return tuple(sorted(each.name for each in found if (each / OVERLAY_FILE).is_file()))


@contextmanager
def opened(ref: OverlayRef, trust: Trust = TRUSTED) -> Iterator[OverlayFiles]:
    """Open the files of an overlay. Raises InputError if there is none, or it may not be read."""
    if not ref.built_in:
        trust.check(ref.path, ref.display)
    if ref.built_in:
        _check_name(ref)
    opening: AbstractContextManager[SourceFiles] = nullcontext(Folder(ref.path, ref.display))
    if ref.revision:
        from osm_gitops.sources.revision import open_revision  # noqa: PLC0415 - slow

        opening = open_revision(ref.path, ref.revision, ref.display, trust)
    with opening as files:
        found = _overlay_files(files, ref)
        if not (ref.built_in or ref.revision):
            trust.check(Path(found.file), found.shown)  # may be a link
        yield found


def is_there(ref: OverlayRef, trust: Trust = TRUSTED) -> bool:
    """Whether an overlay exists, valid or not."""
    try:
        with opened(ref, trust):
            return True
    except InputError:
        return False


def _check_name(ref: OverlayRef) -> None:
    name = ref.display.removeprefix(BUILT_IN)
    known = builtin_overlays()
    if not _NAME.fullmatch(name) or name not in known:
        raise input_error(
            Code.OVERLAY_NOT_FOUND,
            f'built-in overlay "{name}" not found',
            where=ref.display,
            fix=did_you_mean(name, known, f"Available: {', '.join(known)}"),
        )


class OverlayFiles:
    """The files of one overlay: ``file`` is ``overlay.yaml``, ``folder`` its folder."""

    def __init__(self, files: SourceFiles, ref: OverlayRef, file: PurePath) -> None:
        self._files = files
        self.ref = ref
        self.file = file
        self.folder = file.parent
        inside = ref.display.endswith((".yaml", ".yml"))
        self._shown = _folder_shown(ref)
        self.name = file.stem if inside and file.name != OVERLAY_FILE else (self.folder.name or "overlay")

    @property
    def shown(self) -> str:
        """The overlay's file as shown in problems."""
        return self.show(self.file.name)

    def show(self, name: str) -> str:
        """A file in the overlay's folder as shown in problems."""
        folder = "" if self._shown == "." else f"{self._shown.rstrip('/')}/"
        return f"{folder}{name}{self._files.suffix}".encode("utf-8", "backslashreplace").decode()

    def text(self) -> bytes:
        """The content of ``overlay.yaml``. Raises InputError."""
        return self._read(self.file, self.shown)

    def beside(self, name: str) -> bytes:
        """The content of a file in the overlay's folder. Raises InputError if it is missing or outside of the
        folder."""
        shown = self.show(name)
        try:
            real, kind = self._files.locate(self.folder / name)
            top, _ = self._files.locate(self.folder)
        except (OSError, RuntimeError, ValueError) as error:
            what = f"file {name} not found in its folder: {_reason(error)}"
            raise input_error(Code.OVERLAY_FILE_NOT_FOUND, what) from None
        if kind is Kind.OUTSIDE or not real.is_relative_to(top):
            raise input_error(
                Code.OVERLAY_FILE_NOT_FOUND,
                f"{name} is outside of the overlay's folder",
                fix="Move the file into that folder",
            )
        if kind is not Kind.FILE:
            raise input_error(Code.OVERLAY_FILE_NOT_FOUND, f"{name} is not a file")
        return self._read(real, shown)

    def _read(self, file: PurePath, shown: str) -> bytes:
        try:
            text = self._files.read(file)
        except OSError as error:
            raise input_error(Code.FILE_UNREADABLE, f"cannot be read: {_reason(error)}", where=shown) from None
        if text is None or len(text) > _LARGEST:
            raise input_error(Code.FILE_TOO_LARGE, f"is larger than {_LARGEST >> 20} MiB", where=shown)
        return text


def _overlay_files(files: SourceFiles, ref: OverlayRef) -> OverlayFiles:
    shown = f"{ref.display}{files.suffix}"
    try:
        real, kind = files.locate(files.root)
        if kind is Kind.FOLDER:
            real, kind = files.locate(real / OVERLAY_FILE)
    except (OSError, RuntimeError) as error:
        raise input_error(
            Code.OVERLAY_NOT_FOUND,
            f"overlay not found: {_reason(error)}",
            where=shown,
            fix=f"An overlay is a folder with {OVERLAY_FILE}",
        ) from None
    if kind is not Kind.FILE:
        raise input_error(
            Code.OVERLAY_NOT_FOUND, "is not an overlay", where=shown, fix=f"An overlay is a folder with {OVERLAY_FILE}"
        )
    return OverlayFiles(files, ref, real)


def _reason(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return str(strerror) if strerror else "invalid path"
