"""Source trees that the real sops encrypts, as people do it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from osm_gitops.sops.keys import KeySearch
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, secret, write_tree
from tests.real_tools import real_tool
from tests.sources.sealed import KEY, KEY_FILE, RECIPIENT
from tests.sources.trees import problems, read

pytestmark = pytest.mark.oracle

_RENDER = ("render", "--from", "tree", "--to", "-", "--node-registry-credentials-secret", "kube-system/registries")


@pytest.fixture(autouse=True)
def _only_this_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*(name for name in os.environ if name.startswith("SOPS_")), "XDG_CONFIG_HOME"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(KEY_FILE))
    monkeypatch.chdir(tmp_path)


def _sops(*arguments: str | Path) -> None:
    subprocess.run([real_tool("sops"), *arguments], check=True)


def _encrypt(path: Path, *options: str) -> None:
    _sops("encrypt", "--in-place", "--age", RECIPIENT, *options, path)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    registries = secret("registries", "kube-system", {"a.example.com": '{"username": "u-1", "password": "p-1"}'})
    spec = {"token": "hcloud-1", "number": 5, "flag": True, "size": 1.5, "list": ["a", {"b": None}], "empty": ""}
    return write_tree(tmp_path / "tree", profile(), pool("a", cloudProviderSpec=spec), registries)


@pytest.mark.parametrize(
    "options",
    [
        ("--encrypted-regex", "^(data|stringData)$"),
        ("--encrypted-regex", "^(data|stringData|value)$"),
        ("--unencrypted-regex", "^(apiVersion|kind|metadata)$"),
        ("--encrypted-suffix", "ata"),
        ("--unencrypted-suffix", "_readable"),
        (),
    ],
)
def test_a_tree_that_sops_encrypts_renders_as_before(tree: Path, options: tuple[str, ...]) -> None:
    plain = osm_gitops(*_RENDER)
    assert plain.code == 0, plain.err
    for path in tree.iterdir():
        _encrypt(path, *options)
    assert osm_gitops(*_RENDER) == plain


def test_all_documents_of_one_file_with_comments_render_as_before(tree: Path) -> None:
    texts = [path.read_text().replace("metadata:", "# why\nmetadata:") for path in sorted(tree.iterdir())]
    for path in tree.iterdir():
        path.unlink()
    one = tree / "all.yaml"
    one.write_text("---\n".join(texts))
    plain = osm_gitops(*_RENDER)
    assert plain.code == 0, plain.err
    _encrypt(one, "--encrypted-regex", "^(data|stringData|spec)$")
    assert osm_gitops(*_RENDER) == plain


def test_lists_with_comments_render_as_before(tree: Path) -> None:
    bodies = [yaml.safe_load(path.read_text()) for path in sorted(tree.iterdir())]
    for path in tree.iterdir():
        path.unlink()
    text = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
        "# one more\n- " + yaml.safe_dump(body).replace("\n", "\n  ").rstrip() + "\n" for body in bodies
    )
    (tree / "list.yaml").write_text(text)
    plain = osm_gitops(*_RENDER)
    assert plain.code == 0, plain.err
    _encrypt(tree / "list.yaml", "--encrypted-regex", "^items$")
    assert osm_gitops(*_RENDER) == plain


def test_json_renders_as_before(tree: Path) -> None:
    for path in [*tree.iterdir()]:
        path.with_suffix(".json").write_text(json.dumps(yaml.safe_load(path.read_text())))
        path.unlink()
    plain = osm_gitops(*_RENDER)
    assert plain.code == 0, plain.err
    for path in tree.iterdir():
        _encrypt(path, "--encrypted-regex", "^(data|stringData|value)$")
    assert osm_gitops(*_RENDER) == plain


def test_without_keys_everything_that_sops_encrypts_has_a_stand_in(tree: Path) -> None:
    for path in tree.iterdir():
        _encrypt(path, "--encrypted-regex", "^(data|stringData|value)$")
    inputs = read(tree, {}, keys=KeySearch({}, without_keys=True))
    assert problems(inputs) == []
    assert "ENC[" not in str(inputs)


def test_what_sops_edits_is_read_with_its_new_value(tree: Path) -> None:
    path = tree / "Secret-cloud-init-getter-token.yaml"
    _encrypt(path, "--encrypted-regex", "^stringData$")
    _sops("set", path, '["stringData"]["token"]', '"another-token"')
    ran = osm_gitops(*_RENDER)
    assert (ran.code, "another-token" in ran.out) == (0, True)


def test_the_key_may_be_given_as_its_text(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = osm_gitops(*_RENDER)
    _encrypt(tree / "Secret-registries.yaml", "--encrypted-regex", "^stringData$")
    monkeypatch.delenv("SOPS_AGE_KEY_FILE")
    assert osm_gitops(*_RENDER).code == 1
    monkeypatch.setenv("SOPS_AGE_KEY", KEY)
    assert osm_gitops(*_RENDER) == plain
