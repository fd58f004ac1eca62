"""An entry is what was written, and nobody else can put one into the folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from osm_gitops.cache.folder import CacheFolder, open_folder

_SIZE = 1 << 10


def _opened(cache: Path) -> CacheFolder | None:
    return open_folder({"XDG_CACHE_HOME": str(cache)}, "kind", 1 << 20, _SIZE)


def _folder(cache: Path) -> CacheFolder:
    found = _opened(cache)
    assert found is not None
    return found


def test_an_entry_is_what_was_stored(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    folder.put("k", b"\0content\n")
    folder.put("empty", b"")
    assert (folder.get("k"), folder.get("empty"), folder.get("other")) == (b"\0content\n", b"", None)
    assert folder.path == tmp_path / "osm-gitops/kind"
    assert [path.stat().st_mode & 0o777 for path in (folder.path.parent, folder.path, folder.path / "k")] == [
        *(0o700, 0o700),
        0o600,
    ]


def test_the_folder_is_below_the_home_folder_where_no_other_is_named(tmp_path: Path) -> None:
    found = open_folder({"HOME": str(tmp_path)}, "kind", 1, 1)
    assert found is not None
    assert found.path == tmp_path / ".cache/osm-gitops/kind"


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _another(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"content", b"contend"))


def _other_seal(path: Path) -> None:
    path.write_bytes(bytes(32) + path.read_bytes()[32:])


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.parametrize(
    "damage",
    [
        *(_cut, _another, _other_seal, _link, _pipe),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes() + bytes(2 * _SIZE)),
        lambda path: path.chmod(0o620),
        lambda path: path.chmod(0o602),
    ],
)
def test_an_entry_that_is_not_as_it_was_written_is_missing(damage: Callable[[Path], None], tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    folder.put("k", b"content")
    damage(folder.path / "k")
    assert folder.get("k") is None


def test_an_entry_under_another_name_is_missing(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    folder.put("k", b"content")
    (folder.path / "k").rename(folder.path / "j")
    assert folder.get("j") is None


def test_what_is_too_large_is_not_stored(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    folder.put("k", bytes(_SIZE))
    folder.put("j", bytes(_SIZE + 1))
    assert [path.name for path in folder.path.iterdir()] == ["k"]


def test_a_folder_that_others_may_write_or_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    path = _folder(tmp_path).path
    for each in (path, path.parent):
        for mode in (0o770, 0o707):
            each.chmod(mode)
            assert _opened(tmp_path) is None
        each.chmod(0o700)
    assert _opened(tmp_path) is not None
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert _opened(tmp_path) is None


def test_what_belongs_to_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, user = _folder(tmp_path), os.geteuid()
    folder.put("k", b"content")
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert folder.get("k") is None
    assert _opened(tmp_path) is None


@pytest.mark.parametrize("named", ["relative", "FILE", "FILE/below", "a\0b", ""])
def test_where_there_can_be_no_folder_there_is_none(named: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert open_folder({"XDG_CACHE_HOME": named.replace("FILE", str(tmp_path / "file"))}, "kind", 1, 1) is None


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    folder.path.rmdir()
    folder.put("k", b"content")
    folder.trim()
    assert folder.get("k") is None


def test_the_oldest_entries_make_room_after_one_was_stored(tmp_path: Path) -> None:
    entry = 32 + 1
    folder = CacheFolder(tmp_path, 3 * entry, _SIZE)
    for number in range(5):
        folder.put(f"k{number}", b"x")
        os.utime(tmp_path / f"k{number}", (number, number))
    (tmp_path / "left.tmp").write_text("of a run that was interrupted")
    os.utime(tmp_path / "left.tmp", (0, 0))
    CacheFolder(tmp_path, 0, _SIZE).trim()  # it has stored nothing
    assert len(list(tmp_path.iterdir())) == 6
    folder.trim()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k2", "k3", "k4"]
