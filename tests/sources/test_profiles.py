"""Profiles as the API server would take or refuse them (osm-behaviour.md, "Kinds and shared types" and
"OperatingSystemProfile" and "Webhooks")."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.errors import Code
from osm_gitops.model.profile import ContainerRuntime, DropIn, File, Modules, OperatingSystemProfile, Unit
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder
from tests.conformance_data import OUTSIDE
from tests.faults import Expected, placed
from tests.sources.trees import PROFILE, PROFILE_REF, found, problems, read

FULL = """\
apiVersion: operatingsystemmanager.k8c.io/v1alpha1
kind: OperatingSystemProfile
metadata: {name: osp-a, namespace: kube-system, annotations: {osm-gitops.io/template: jinja2/v1}}
spec:
  osName: flatcar
  osVersion: 2022-04-01
  version: v1.11.2-rc.1+build.5
  provisioningUtility: ignition
  supportedCloudProviders: [{name: aws}, {name: openstack, spec: {any: [thing]}}]
  bootstrapConfig:
    templates: {t: "a"}
    units:
    - {name: a.service, enable: yes, mask: off, content: "[Unit]", dropIns: [{name: b.conf, content: c}]}
    - name: b.service
    files:
    - {path: /a, permissions: 755, content: {inline: {encoding: b64, data: x}}}
    - {path: /b, permissions: 0600, content: {inline: {data: ""}}}
    modules:
      bootcmd: [a]
      runcmd: [b, c]
      rh_subscription: {user: me}
      yum_repos: {epel: {baseurl: u}}
      yum_repo_dir: /etc/yum
  provisioningConfig:
    modules: {}
    supportedContainerRuntimes:
    - {name: docker, files: []}
    - name: containerd
      files:
      - {path: /c, content: {inline: {data: c}}}
      templates: {r: z}
"""


def profile(tmp_path: Path, text: str) -> OperatingSystemProfile:
    inputs = read(tmp_path, {"osp.yaml": text})
    assert problems(inputs) == []
    return inputs.profiles["kube-system", "osp-a"]


def test_every_field_is_read(tmp_path: Path) -> None:
    full = profile(tmp_path, FULL)
    assert (full.os_name, full.os_version, full.version) == ("flatcar", "2022-04-01", "v1.11.2-rc.1+build.5")
    assert (full.providers, full.provisioning_utility, full.jinja) == (("aws", "openstack"), "ignition", True)
    assert full.bootstrap.templates == {"t": "a"}
    assert full.bootstrap.units == (
        Unit("a.service", enable=True, mask=False, content="[Unit]", drop_ins=(DropIn("b.conf", "c"),)),
        Unit("b.service"),
    )
    assert full.bootstrap.files == (File("/a", "x", 755, "b64"), File("/b", "", 384))
    assert full.bootstrap.modules == Modules(("a",), {"user": "me"}, ("b", "c"), {"epel": {"baseurl": "u"}}, "/etc/yum")
    assert full.provisioning.modules == Modules()
    assert full.provisioning.runtimes == (
        ContainerRuntime("docker"),
        ContainerRuntime("containerd", (File("/c", "c", 644),), {"r": "z"}),
    )


def test_what_is_left_out_gets_the_defaults_of_the_crd(tmp_path: Path) -> None:
    small = profile(tmp_path, PROFILE)
    assert small.provisioning_utility == "cloud-init"
    assert small.provisioning.files[0].permissions == 644
    assert (small.jinja, small.bootstrap.modules, small.bootstrap.files) == (False, None, ())
    assert (small.namespace, str(small.manifest.origin)) == ("kube-system", "t/osp.yaml:1")


CONFIG = "spec.provisioningConfig"
FILE = f"{CONFIG}.files[0]"
RUNTIMES = "    supportedContainerRuntimes: [{name: crio, files: []}]\n    files:"


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "code"),
    [
        ("ubuntu", "ubunto", 6, "spec.osName", Code.INVALID_VALUE),
        ("ubuntu", "5", 6, "spec.osName", Code.WRONG_TYPE),
        ('"24.04"', "24.04", 7, "spec.osVersion", Code.WRONG_TYPE),
        ("v1.0.0", "1.0.0", 8, "spec.version", Code.INVALID_VALUE),
        ("v1.0.0", "v1.0.0.1", 8, "spec.version", Code.INVALID_VALUE),
        ("v1.0.0", '"v1.0.0\\n"', 8, "spec.version", Code.INVALID_VALUE),
        ("v1.0.0", "v01.0.0", 8, "spec.version", Code.INVALID_VALUE),
        (
            "name: aws",
            "name: AWS",
            10,
            "spec.supportedCloudProviders[0].name",
            Code.INVALID_VALUE,
        ),
        ("- name: aws", "- aws", 10, "spec.supportedCloudProviders[0]", Code.WRONG_TYPE),
        ("bootstrapConfig: {}", "bootstrapConfig: []", 11, "spec.bootstrapConfig", Code.WRONG_TYPE),
        ("  bootstrapConfig: {}\n", "", 5, "spec.bootstrapConfig", Code.MISSING_KEY),
        ("      content:\n        inline:\n          data: x\n", "", 14, f"{FILE}.content", Code.MISSING_KEY),
        (
            "        inline:\n          data: x",
            "        {}",
            15,
            f"{FILE}.content",
            Code.MISSING_KEY,
        ),
        ("data: x", "data: 0644", 17, f"{FILE}.content.inline.data", Code.WRONG_TYPE),
        ("data: x", "date: x", 16, f"{FILE}.content.inline.data", Code.MISSING_KEY),
        ("path: /a", "path: /a\n      permissions: yes", 15, f"{FILE}.permissions", Code.WRONG_TYPE),
        ("path: /a", "path: /a\n      permissions: '644'", 15, f"{FILE}.permissions", Code.WRONG_TYPE),
        ("path: /a", "path: /a\n      permissions: 6.5", 15, f"{FILE}.permissions", Code.INVALID_VALUE),
        (
            "path: /a",
            "path: /a\n      permissions: 2147483648",
            15,
            f"{FILE}.permissions",
            Code.INVALID_VALUE,
        ),
        ("    files:", "    templates: {a: 1}\n    files:", 13, f"{CONFIG}.templates.a", Code.WRONG_TYPE),
        ("    files:", "    modules: {runcmd: [1]}\n    files:", 13, f"{CONFIG}.modules.runcmd[0]", Code.WRONG_TYPE),
        ("    files:", RUNTIMES, 13, f"{CONFIG}.supportedContainerRuntimes[0].name", Code.INVALID_VALUE),
        (
            "    files:",
            "    units: [{name: a.service, enable: 'true'}]\n    files:",
            13,
            f"{CONFIG}.units[0].enable",
            Code.WRONG_TYPE,
        ),
        (
            "  osVersion:",
            "  provisioningUtility: ''\n  osVersion:",
            7,
            "spec.provisioningUtility",
            Code.INVALID_VALUE,
        ),
        (
            "  name: osp-a",
            "  name: osp-a\n  annotations: {osm-gitops.io/template: jinja2/v2}",
            5,
            "metadata.annotations.osm-gitops.io/template",
            Code.UNKNOWN_TEMPLATE_LANGUAGE,
        ),
    ],
)
def test_a_wrong_field_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, field: str, code: Code
) -> None:
    inputs = read(tmp_path, {"osp.yaml": PROFILE.replace(old, new, 1)})
    assert found(inputs) == [(code, f"t/osp.yaml:{line}: {PROFILE_REF}: {field}")]
    assert (inputs.profiles, list(inputs.broken)) == ({}, [PROFILE_REF])


def test_all_problems_of_a_profile_are_named_at_once(tmp_path: Path) -> None:
    inputs = read(tmp_path, {"osp.yaml": PROFILE.split("spec:")[0] + "spec: {osName: 1}\n"})
    assert [problem.field for problem in inputs.broken[PROFILE_REF]] == [
        f"spec.{name}"
        for name in (
            "osName",
            "osVersion",
            "version",
            "supportedCloudProviders",
            "bootstrapConfig",
            "provisioningConfig",
        )
    ]


@pytest.mark.parametrize("version", ["v0.0.1", "xv1.2.3", "release v10.20.30-a.b+c", "v1.0.0-0a", "v1.0.0--"])
def test_the_version_pattern_is_anchored_at_the_end_only(tmp_path: Path, version: str) -> None:
    assert profile(tmp_path, PROFILE.replace("v1.0.0", version)).version == version


def test_unknown_fields_are_warned_of_with_what_was_meant(tmp_path: Path) -> None:
    inputs = read(tmp_path, {"osp.yaml": PROFILE.replace("    - path: /a", "    - path: /a\n      permission: 755")})
    (warning,) = inputs.warnings
    assert placed([warning]) == [
        (Code.UNKNOWN_FIELD, f"t/osp.yaml:15: {PROFILE_REF}: spec.provisioningConfig.files[0].permission")
    ]
    assert "permissions" in warning.fix
    assert inputs.profiles["kube-system", "osp-a"].provisioning.files[0].permissions == 644


@pytest.mark.conformance
@pytest.mark.parametrize("version", ["v1.6.9", "v1.7.6", "v1.8.0", "v1.9.1", "v1.10.7", "v1.11.2"])
def test_every_profile_that_osm_released_is_read(version: str) -> None:
    inputs = read_tree(
        Folder(OUTSIDE / "profiles" / version, "profiles"), management_namespace="kube-system", environment={}
    )
    assert (len(inputs.profiles), problems(inputs)) == (6, [])
    assert all("no longer knows equinixmetal" in str(warning) for warning in inputs.warnings)


def test_units_of_other_systems_than_flatcar_are_rendered_with_a_warning(tmp_path: Path) -> None:
    inputs = read(tmp_path, {"osp.yaml": PROFILE.replace("    files:", "    units: [{name: a.service}]\n    files:")})
    assert inputs.profiles["kube-system", "osp-a"].provisioning.units == (Unit("a.service"),)
    assert inputs.warnings[0] == Expected(Code.API_SERVER_REFUSES, "ubuntu")


def test_null_is_an_absent_field_and_an_empty_text(tmp_path: Path) -> None:
    text = PROFILE.replace("data: x", "data:").replace("path: /a", "path: /a\n      permissions: ~")
    inputs = read(tmp_path, {"osp.yaml": text})
    assert inputs.profiles["kube-system", "osp-a"].provisioning.files == (File("/a", "", 644),)
    assert inputs.warnings[0] == Expected(Code.API_SERVER_REFUSES)
