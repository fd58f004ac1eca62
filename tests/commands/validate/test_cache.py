"""What the cache gives is what a check finds, and nobody else can put anything into it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.cache.folder import CacheFolder
from osm_gitops.commands.validate import cache as cache_module
from osm_gitops.commands.validate import run as run_module
from osm_gitops.commands.validate import scope as scope_module
from osm_gitops.commands.validate.cache import Cache, open_cache
from osm_gitops.commands.validate.results import Counts, PartResult
from osm_gitops.errors import Code
from osm_gitops.lint.rules import rules
from osm_gitops.model.finding import Finding
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import GETTER_TOKEN, file, pool, profile, write_tree

_RESULT = PartResult(
    (
        Finding(rules.POOL, "it is", "a:1", "b", "c", "d", ("e", "f"), "g", Code.WORK_LIMIT, ("h",), ("i",), "j", 5),
        Finding(rules.OVERLAY.code("X1"), "it is not"),
    ),
    Counts(1, 2, 3, 4, 5, 6),
)
_MISTAKE = profile(provisioningConfig={"files": [file("/opt/bin/a", "#!/bin/sh\nif [ a\n"), file("etc/b", "c\n")]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the entries of a user with a home of its own."""
    monkeypatch.delenv("OSM_GITOPS_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/osm-gitops/validate"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Profiles and pools without any Secret."""
    written = write_tree(tmp_path / "tree", _MISTAKE, pool())
    for path in written.glob("Secret-*"):
        path.unlink()
    return written


def _no_worker(*_: Any, **__: Any) -> None:
    message = "a worker was started"
    raise AssertionError(message)


def _findings(ran: Ran) -> Any:
    return json.loads(ran.out)


def _validate(tree: Path, *arguments: str) -> Any:
    return _findings(osm_gitops("validate", str(tree), "-o", "json", *arguments))


def test_a_run_without_changes_finds_the_same_without_a_worker(
    folder: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = _validate(tree, "--no-cache")
    assert not folder.exists()
    cold = _validate(tree)
    monkeypatch.setattr(run_module, "Session", _no_worker)
    assert _validate(tree) == cold == without
    assert {"unclean-path", "passed-over"} & {each["id"] for each in cold["findings"]}
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder, *folder.iterdir())] == [
        *(0o700, 0o700),
        *(0o600 for _ in folder.iterdir()),
    ]


def _of_profile(tree: Path) -> None:
    path = tree / "OperatingSystemProfile-osp-a.yaml"
    path.write_text(path.read_text().replace("etc/b", "etc/c"))


def _of_lines(tree: Path) -> None:
    path = tree / "OperatingSystemProfile-osp-a.yaml"
    path.write_text(f"# one more line\n{path.read_text()}")


def _of_pool(tree: Path) -> None:
    path = tree / "MachineDeployment-workers.yaml"
    path.write_text(path.read_text().replace("ubuntu", "ubunt"))


@pytest.mark.parametrize("change", [_of_profile, _of_lines, _of_pool])
def test_a_change_is_found(change: Callable[[Path], None], folder: Path, tree: Path) -> None:
    before = _validate(tree)
    change(tree)
    after = _validate(tree)
    assert after != before
    assert after == _validate(tree, "--no-cache")
    assert folder.exists()


def test_the_key_depends_on_the_program_on_linters_and_on_each_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linters = tmp_path / "bin"
    linters.mkdir()
    (linters / "shellcheck").write_text("#!/bin/sh\necho 1.0\n")
    (linters / "shellcheck").chmod(0o755)
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": f"{linters}:{os.environ['PATH']}"}
    keys = [
        open_cache(environment).key("a", "b"),
        open_cache(environment).key("ab", ""),
        open_cache(environment).key(1),
    ]
    (linters / "shellcheck").write_text("#!/bin/sh\necho 1.1\n")
    keys.append(open_cache(environment).key("a", "b"))
    monkeypatch.setattr(cache_module, "program_digest", lambda *_: "another version")
    keys.append(open_cache(environment).key("a", "b"))
    assert len(set(keys)) == len(keys)
    assert open_cache(environment).key("a", "b") == keys[-1]


@pytest.mark.usefixtures("folder")
def test_what_is_stored_of_a_profile_does_not_depend_on_what_was_checked_with_it(tmp_path: Path) -> None:
    # Alone shellcheck gets only the longer of the two scripts of the second profile; the first one has the shorter.
    line = 'echo "$nowhere"\n'
    short, long = f"#!/bin/sh\n{line}", f"#!/bin/sh\n{{{{ if .HTTPProxy }}}}{line}{{{{ end }}}}{line}"
    first = profile("osp-a", provisioningConfig={"files": [file("/opt/bin/a", short)]})
    second = profile("osp-b", provisioningConfig={"files": [file("/opt/bin/a", long)]})
    tree = write_tree(tmp_path / "both", first, second)
    alone = tree / "OperatingSystemProfile-osp-b.yaml"

    both = _validate(tree)

    assert len([each for each in both["findings"] if each["id"] == "shellcheck-SC2154"]) == 2
    assert _validate(alone) == _validate(alone, "--no-cache")


def test_an_entry_is_what_was_stored(tmp_path: Path) -> None:
    cache = Cache(CacheFolder(tmp_path, 1 << 20, 1 << 20), {})
    cache.put("k", _RESULT)
    assert cache.get("k") == _RESULT
    assert cache.get("other") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"it is"', "5"),
        lambda text: text.replace('"severity": "error"', '"severity": "fatal"'),
        lambda text: text.replace('"findings"', '"found"'),
        lambda _: "[" * 100_000,
        lambda _: "no JSON",
    ],
)
def test_an_entry_that_is_no_result_is_missing(damage: Callable[[str], str], tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, 1 << 20, 1 << 20)
    cache = Cache(folder, {})
    cache.put("k", _RESULT)
    text = (folder.get("k") or b"").decode()
    assert damage(text) != text
    folder.put("k", damage(text).encode())
    assert cache.get("k") is None


def test_without_a_folder_nothing_is_stored_and_nothing_fails() -> None:
    cache = open_cache({"PATH": ""})
    cache.put(cache.key("a"), _RESULT)
    assert cache.get(cache.key("a")) is None
    cache.close()


def test_nothing_that_is_made_from_a_secret_is_stored(folder: Path, tmp_path: Path) -> None:
    printing = profile(bootstrapConfig={"files": [file("/opt/bin/a", "#!/bin/sh\nif [ {{ .Token }} {{ .Nope }}\n")]})
    tree = write_tree(tmp_path / "tree", printing, pool())
    result = PartResult((), Counts(), hidden=_RESULT.findings)
    Cache(CacheFolder(tmp_path, 1 << 20, 1 << 20), {}).put("hidden", result)

    _validate(tree)

    stored = [path.read_bytes().decode(errors="replace") for path in folder.iterdir()]
    assert len(stored) == 1  # of the profile: the rest of the cluster has Secrets
    assert not any(GETTER_TOKEN in text or "workers" in text for text in stored)
    assert not (tmp_path / "hidden").exists()


def test_a_profile_with_a_text_that_was_encrypted_is_not_stored(
    folder: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path_scopes = scope_module.path_scopes

    def sealed(*arguments: Any, **more: Any) -> Any:
        (scope,) = path_scopes(*arguments, **more)
        return (replace(scope, inputs=replace(scope.inputs, sensitive=frozenset({"if [ a"}))),)

    monkeypatch.setattr(scope_module, "path_scopes", sealed)
    assert _validate(tree)["findings"]
    assert [*folder.iterdir()] == []


def test_an_untrusted_tree_leaves_nothing(folder: Path, tree: Path) -> None:
    assert _validate(tree, "--untrusted")["findings"]
    assert not folder.exists()
