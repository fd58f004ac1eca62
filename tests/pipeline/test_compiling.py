"""What is kept of compiled profiles from run to run: the same results as without, and nothing that is secret."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.gotemplate.engine import Engine
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline import compiling
from osm_gitops.pipeline.compiling import CompiledTexts
from osm_gitops.pipeline.pool_worker import ClusterRenderer
from osm_gitops.pipeline.rendered import RenderOptions
from osm_gitops.workers.calls import end_idle
from tests.cli.running import osm_gitops
from tests.cli.scenes import file, pool, profile, write_fleet, write_tree
from tests.render.middle import inputs_of

_JINJA = {"osm-gitops.io/template": "jinja2/v1"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the entries of a user of its own."""
    monkeypatch.delenv("OSM_GITOPS_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    end_idle()
    return tmp_path / "cache/osm-gitops/profiles"


def _texts(tmp_path: Path) -> CompiledTexts:
    return CompiledTexts({"XDG_CACHE_HOME": str(tmp_path / "cache")})


def _entries(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} if folder.exists() else {}


def _refuse(*_: Any, **__: Any) -> None:
    message = "compiled"
    raise AssertionError(message)


def _native(name: str = "osp-a") -> dict[str, Any]:
    found = profile(
        name,
        bootstrapConfig={
            "templates": {"part": "{{ KubeVersion }}!\n"},
            "files": [file("/opt/bin/a", "#!/bin/sh\n{% include 'part' %}\n{{ Token }}\n")],
        },
        provisioningConfig={"files": [file("/opt/bin/b", "#!/bin/sh\necho {{ KubeVersion }}\n")]},
    )
    found["metadata"]["annotations"] = _JINJA
    return found


_TWICE = profile(
    bootstrapConfig={
        "templates": {"one": '{{ "{{ .KubeVersion }}" }}', "two": "{{ .KubeVersion }}"},
        "files": [file("/opt/bin/a", '#!/bin/sh\necho {{ template "one" . }} {{ template "two" }} {{ .Token }}\n')],
    }
)


@pytest.mark.parametrize("body", [profile(), _native(), _TWICE], ids=["go", "jinja2", "results with actions"])
def test_a_run_gives_the_same_bytes_from_what_an_earlier_one_compiled(
    body: Mapping[str, Any], folder: Path, tmp_path: Path
) -> None:
    tree = write_tree(tmp_path / "tree", body, pool(), pool("other"))
    plain = osm_gitops("render", "--from", str(tree), "--to", "-", "--no-cache")
    assert plain.code == 0
    assert not folder.exists()
    first = osm_gitops("render", "--from", str(tree), "--to", "-")
    stored = _entries(folder)
    end_idle()
    again = osm_gitops("render", "--from", str(tree), "--to", "-")
    assert plain == first == again
    assert stored
    assert _entries(folder) == stored


@pytest.mark.parametrize("body", [profile(), _native()], ids=["go", "jinja2"])
def test_what_is_known_is_not_compiled(
    body: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = inputs_of(tmp_path, body, pool())
    (machine,) = inputs.machines
    wanted = ClusterRenderer(inputs, Settings()).render(machine)
    known = _texts(tmp_path).of(inputs.profiles.values(), Settings(), ())
    monkeypatch.setattr(compiling, "_compiled", lambda missing, _: iter(()) if not missing else _refuse())
    monkeypatch.setattr(Engine, "code", _refuse)
    # Other limits: an engine of its own, which has compiled nothing.
    with pytest.raises(AssertionError, match="compiled"):
        ClusterRenderer(inputs, Settings(max_output_bytes=1 << 22)).render(machine)
    assert _texts(tmp_path).of(inputs.profiles.values(), Settings(), ()) == known
    other, options = Settings(max_output_bytes=1 << 23), RenderOptions(compiled=known)
    assert ClusterRenderer(inputs, other, options).render(machine) == wanted


def test_a_text_is_compiled_once_for_all_profiles_and_stored_if_it_can_be(folder: Path, tmp_path: Path) -> None:
    broken = profile(
        "osp-c", provisioningConfig={"files": [file("/a", "{{ nope }}"), file("/b", "{{ .KubeVersion }}")]}
    )
    inputs = inputs_of(tmp_path, profile("osp-a"), profile("osp-b"), broken)
    known = _texts(tmp_path).of(inputs.profiles.values(), Settings(), ())
    assert sorted(each.name for each in known) == ["/b", "/opt/bin/bootstrap", "/opt/bin/setup"]
    assert len(_entries(folder)) == 2  # the first two profiles have the same texts
    again = _texts(tmp_path)
    assert again.of(inputs.profiles.values(), Settings(), ()) == known
    shutil.rmtree(folder)
    assert again.of(inputs.profiles.values(), Settings(), ()) == known
    assert _entries(folder) == {}


def test_a_fault_has_its_place_whether_or_not_the_text_is_known(folder: Path, tmp_path: Path) -> None:
    failing = profile(
        provisioningConfig={"files": [file("/a", "#!/bin/sh\n\n{{ .KubeVersion }}\n{{ index .Nope 1 }}\n")]}
    )
    late = profile(
        "osp-b",
        provisioningConfig={"files": [file("/a", '#!/bin/sh\n\n{{ .KubeVersion }}\n{{ semverCompare "x" "y" }}\n')]},
    )
    tree = write_tree(tmp_path / "tree", failing, pool(), late, pool("late", "osp-b"))
    runs = []
    for flags in (("--no-cache",), (), ()):
        end_idle()
        runs.append(osm_gitops("render", "--from", str(tree), "--to", "-", *flags))
    assert runs[0].code == 1
    assert "OperatingSystemProfile-osp-b.yaml" in runs[0].err
    assert runs[0] == runs[1] == runs[2]
    assert len(_entries(folder)) == 2


def test_each_part_of_the_key_makes_another_entry(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = inputs_of(tmp_path, profile())

    def stored(settings: Settings) -> int:
        _texts(tmp_path).of(inputs.profiles.values(), settings, ())
        return len(_entries(folder))

    assert stored(Settings()) == stored(Settings(max_render_seconds=60)) == 1
    assert stored(Settings(max_output_bytes=1 << 21)) == 2
    assert stored(Settings(max_loop_steps=5)) == 3
    assert stored(Settings(max_template_depth=5)) == 4
    monkeypatch.setattr(compiling, "program_digest", lambda *_: "another version")
    assert stored(Settings()) == 5
    inputs = inputs_of(tmp_path, profile(script="#!/bin/sh\n# other\n{{ .Token }}\n"))
    assert stored(Settings()) == 6


def test_nothing_that_was_encrypted_in_the_source_is_stored(folder: Path, tmp_path: Path) -> None:
    inputs = inputs_of(tmp_path, profile(script="#!/bin/sh\n# word-of-a-secret\n{{ .Token }}\n"))
    assert _texts(tmp_path).of(inputs.profiles.values(), Settings(), {"word-of-a-secret"}) == {}
    assert _entries(folder) == {}
    assert _texts(tmp_path).of(_sealed(inputs), Settings(), ()) == {}
    assert _entries(folder) == {}


def _sealed(inputs: Inputs) -> list[Any]:
    return [replace(each, manifest=replace(each.manifest, sealed=True)) for each in inputs.profiles.values()]


def test_no_part_of_a_secret_is_in_an_entry(folder: Path, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool(), token="word-of-a-secret")
    assert osm_gitops("render", "--from", str(tree), "--to", str(tmp_path / "out")).code == 0
    stored = [path.read_bytes() for path in folder.iterdir()]
    assert len(stored) == 1
    assert any(b"Authorization: Bearer" in each for each in stored)
    assert not any(b"word-of-a-secret" in each for each in stored)


def test_an_untrusted_tree_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool())
    assert osm_gitops("render", "--from", str(tree), "--to", "-", "--untrusted").code == 0
    assert not folder.exists()


def test_a_damaged_entry_is_compiled_and_stored_again(folder: Path, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool())
    first = osm_gitops("render", "--from", str(tree), "--to", "-")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for path in before:
        path.write_bytes(before[path][:-1] + b"?")
    end_idle()
    assert osm_gitops("render", "--from", str(tree), "--to", "-") == first
    assert before.keys() == set(folder.iterdir())
    assert all(path.read_bytes()[-1:] != b"?" for path in before)


def test_a_folder_that_others_can_write_is_left_alone(folder: Path, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool())
    first = osm_gitops("render", "--from", str(tree), "--to", "-")
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    folder.chmod(0o777)
    assert osm_gitops("render", "--from", str(tree), "--to", "-") == first
    assert _entries(folder) == {}


def test_a_profile_that_compiles_for_too_long_holds_no_other(folder: Path, tmp_path: Path) -> None:
    endless = profile("osp-b", script="#!/bin/sh\n" + "{{ if .Token }}" * 3_000 + "{{ end }}" * 3_000)
    tree = write_tree(tmp_path / "tree", endless, profile(), pool(), pool("deep", "osp-b"))
    ran = [osm_gitops("render", "--from", str(tree), "--to", "-", *flags) for flags in (("--no-cache",), ())]
    assert ran[0].code == 1
    assert "workers-kube-system-bootstrap-config" in ran[0].out
    assert ran[0] == ran[1]
    assert len(_entries(folder)) == 2


def test_clusters_share_what_was_compiled_whatever_ran_before(folder: Path, tmp_path: Path) -> None:
    # What the second cluster adds is compiled in another worker than what rendered the first one.
    own = profile("osp-b", script="#!/bin/sh\n# of the second cluster\n{{ .Token }}\n")
    for name, bodies in {"a": [profile(), pool()], "b": [profile(), own, pool(), pool("own", "osp-b")]}.items():
        write_tree(tmp_path / name, *bodies)
    clusters = [{"name": name, "from": name} for name in "ab"]
    write_fleet(tmp_path, f"clusters: {json.dumps(clusters)}\n")
    fleet = ("render", "--fleet", str(tmp_path / "osm-gitops.yaml"), "--to", "-")
    plain = osm_gitops(*fleet, "--no-cache")
    assert plain.code == 0, plain.err
    assert osm_gitops(*fleet) == plain
    stored = _entries(folder)
    assert len(stored) == 2
    end_idle()
    assert osm_gitops(*fleet) == plain
    assert _entries(folder) == stored


def test_profiles_that_are_used_again_are_not_read_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "_KEPT", 2)
    bodies = [profile(name, script=f"#!/bin/sh\n# {name}\n{{{{ .Token }}}}\n") for name in ("osp-a", "osp-b", "osp-c")]
    first, second, third = inputs_of(tmp_path, *bodies).profiles.values()
    texts = _texts(tmp_path)
    for each in (first, second, first, third, first):
        assert texts.of([each], Settings(), ())
    shutil.rmtree(folder)
    monkeypatch.setattr(compiling, "_compiled", lambda missing, _: iter([[None, None]] * len(missing)))
    assert [len(texts.of([each], Settings(), ())) for each in (first, third, second)] == [2, 2, 0]
