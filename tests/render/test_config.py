"""A configuration: files in OSM's order, templates' precedence, places of faults (osm-behaviour.md,
"OperatingSystemConfig" and "Two renderings")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code, InputError
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.model.profile import File, OperatingSystemConfig
from osm_gitops.model.settings import Settings
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.pools import PoolRenderer
from osm_gitops.render.resolve.cluster_info import resolve_cluster
from osm_gitops.render.resolve.pools import resolve_pool
from tests.cli.scenes import pool, profile
from tests.render.middle import inputs_of, renderer, resolved


def _file(path: str, text: str, **more: Any) -> dict[str, Any]:
    return {"path": path, "content": {"inline": {"data": text}}, **more}


def _config(
    folder: Path, half: dict[str, Any], settings: Settings | None = None, **config: Any
) -> OperatingSystemConfig:
    inputs = inputs_of(folder, profile(provisioningConfig=half), pool(**config))
    return renderer(inputs, settings).config(resolved(inputs, settings))


def _own(config: OperatingSystemConfig) -> list[File]:
    return [file for file in config.provisioning.files if not file.path.startswith("/etc/containerd/certs.d/")]


def _texts(config: OperatingSystemConfig) -> dict[str, str]:
    """The profile's own files."""
    return {file.path: file.content for file in _own(config)}


def test_pools_share_the_files_that_are_the_same_for_them(tmp_path: Path) -> None:
    half = {"files": [_file("/a", "1"), _file("/b", "{{ .PauseImage }}"), _file("/c", "{{ .SecretName }}")]}
    inputs = inputs_of(tmp_path, profile(provisioningConfig=half), pool("one"), pool("two"))
    cluster = resolve_cluster(Settings(), inputs.facts)
    both = PoolRenderer(Engine(ROOT_TYPES), cluster)
    first, second = (_own(both.config(resolve_pool(machine, inputs, cluster))) for machine in inputs.machines)
    assert [one is two for one, two in zip(first, second, strict=True)] == [True, True, False]
    assert [file.content for file in second] == ["1", "", "two-kube-system-provisioning-config"]


def test_files_come_as_the_profiles_then_the_runtimes_then_the_registries(tmp_path: Path) -> None:
    half = {
        "files": [_file("/z", "1"), _file("/a", "2")],
        "supportedContainerRuntimes": [
            {"name": "containerd", "files": [_file("/m", "3")]},
            {"name": "containerd", "files": [_file("/second", "no")]},
        ],
    }
    config = _config(tmp_path, half, Settings(insecure_registries=("r.example.com",)))
    assert [file.path for file in config.provisioning.files] == [
        "/z",
        "/a",
        "/m",
        "/etc/containerd/certs.d/docker.io/hosts.toml",
        "/etc/containerd/certs.d/r.example.com/hosts.toml",
    ]


def test_a_runtimes_template_gives_way_to_the_profiles(tmp_path: Path) -> None:
    half = {
        "files": [_file("/x", '{{ template "a" }}{{ template "b" }}')],
        "templates": {"a": "own"},
        "supportedContainerRuntimes": [{"name": "containerd", "files": [], "templates": {"a": "not", "b": "more"}}],
    }
    assert _texts(_config(tmp_path, half)) == {"/x": "\nown\nmore"}  # OSM puts a line break before each template


def test_permissions_are_644_unless_said(tmp_path: Path) -> None:
    config = _config(
        tmp_path, {"files": [_file("/x", ""), _file("/y", "", permissions=600), _file("/z", "", permissions=0)]}
    )
    assert [file.permissions for file in _own(config)] == [644, 600, 644]


def test_units_and_modules_are_not_rendered(tmp_path: Path) -> None:
    half = {"files": [_file("/x", "")], "modules": {"runcmd": ["echo {{ .Token }}"]}}
    modules = _config(tmp_path, half).provisioning.modules
    assert modules is not None
    assert list(modules.runcmd) == ["echo {{ .Token }}"]


def test_invalid_bytes_come_back_as_a_server_stores_them(tmp_path: Path) -> None:
    half = {"files": [_file("/x", '{{ "/w==" | b64dec }}é')]}
    assert _texts(_config(tmp_path, half)) == {"/x": "\ufffdé"}


def test_the_keys_of_a_pool_are_in_both_halves(tmp_path: Path) -> None:
    config = _config(tmp_path, {"files": [_file("/x", "")]}, sshPublicKeys=["ssh-a", "ssh-b"])
    assert list(config.bootstrap.ssh_keys) == list(config.provisioning.ssh_keys) == ["ssh-a", "ssh-b"]


def _problem_of(folder: Path, text: str) -> str:
    inputs = inputs_of(folder, pool())
    (folder / "tree/osp.yaml").write_text(text)
    inputs = inputs_of(folder, pool())
    with pytest.raises(InputError) as failure:
        renderer(inputs).render(resolved(inputs))
    (problem,) = failure.value.problems
    return str(problem)


_HEAD = """\
apiVersion: operatingsystemmanager.k8c.io/v1alpha1
kind: OperatingSystemProfile
metadata: {name: osp-a}
spec:
  osName: ubuntu
  osVersion: "24.04"
  version: v1.0.0
  supportedCloudProviders: [{name: hetzner}]
  bootstrapConfig: {}
  provisioningConfig:
"""


_FILE = """\
    files:
    - path: /x
      content:
        inline:
          data: """
_BLOCK = "a\n            {{ if }}\n"
_TEMPLATE = """\
    templates:
      t: |
        a
        b
        {{ .Nothing }}
    files: [{path: /x, content: {inline: {data: '{{ template "t" . }}'}}}]
"""
_OF_RUNTIME = """\
    supportedContainerRuntimes:
    - name: containerd
      files:
      - path: /x
        content:
          inline:
            data: |
              {{ if }}
"""


@pytest.mark.parametrize(
    ("half", "line"),
    [
        (f"{_FILE}|\n            {_BLOCK}", 17),
        (f"{_FILE}|2-\n\n            {{{{ if }}}}\n", 17),
        (f'{_FILE}"a\\n{{{{ if }}}}"\n', 15),
        (f"{_FILE}>\n            {_BLOCK}", 15),
        (_TEMPLATE, 15),
        (_OF_RUNTIME, 18),
    ],
    ids=["block", "block with an indicator", "quoted", "folded", "template", "of a runtime"],
)
def test_a_fault_is_placed_in_the_manifest(half: str, line: int, tmp_path: Path) -> None:
    told = _problem_of(tmp_path, _HEAD + half)
    assert told.startswith(f"tree/osp.yaml:{line}: OperatingSystemProfile kube-system/osp-a, "), told
    assert told.endswith(f" [{Code.TEMPLATE_FAILED.value}]")
