"""What is inside objects: files by path, from configurations and from user-data alike."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from osm_gitops.model.plan import TextChange
from osm_gitops.plan.content import changed_texts
from tests.conformance_data import accepted, cases, load_case
from tests.plan.objects import cloud_config, config, secret


def _secret(text: str | bytes, key: str = "cloud-config", half: str = "provisioning") -> dict[str, Any]:
    raw = text if isinstance(text, bytes) else text.encode()
    return {**secret("a", half, "").body, "data": {key: b64encode(raw).decode()}}


def test_a_configuration_and_its_secret_show_the_same_file_change() -> None:
    expected = (TextChange("provisioning /opt/bin/setup", "old\n", "new\n"),)
    assert changed_texts(config("a", "old\n").body, config("a", "new\n").body) == expected
    assert (
        changed_texts(secret("a", "provisioning", "old\n").body, secret("a", "provisioning", "new\n").body) == expected
    )


def test_equal_bodies_have_no_texts() -> None:
    assert changed_texts(config("a", "x\n").body, config("a", "x\n").body) == ()


def test_a_moved_file_is_gone_and_new_and_in_the_list() -> None:
    changes = changed_texts(_secret(cloud_config("x\n", "/a")), _secret(cloud_config("x\n", "/b")))
    assert [(change.name, change.before, change.after) for change in changes] == [
        ("provisioning /b", None, "x\n"),
        ("provisioning list of files", "0755 /a (b64)\n", "0755 /b (b64)\n"),
        ("provisioning /a", "x\n", None),
    ]


def test_white_space_of_the_layout_shows_too() -> None:
    text = cloud_config("x\n")
    (change,) = changed_texts(_secret(text), _secret(text.replace("write_files:", "write_files: ")))
    assert change.before != change.after


def test_bytes_that_are_no_text_are_not_shown() -> None:
    (change,) = changed_texts(_secret(b"\xff\x00top", "other"), _secret(b"\xff\x01top", "other"))
    assert "top" not in str(change)
    assert change.before != change.after


def test_kubectls_copy_of_an_object_is_not_shown() -> None:
    body = secret("a", "bootstrap", "x\n").body
    copy = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"data": "top-secret"})}
    marked = {**body, "metadata": {**body["metadata"], "annotations": copy}}
    assert "top-secret" not in str(changed_texts(body, marked))


def test_other_user_data_is_shown_whole() -> None:
    assert changed_texts(_secret("#!/bin/sh\na\n"), _secret("#!/bin/sh\nb\n")) == (
        TextChange("data cloud-config", "#!/bin/sh\na\n", "#!/bin/sh\nb\n"),
    )


def test_a_profile_shows_files_and_templates_by_name() -> None:
    def profile(text: str) -> dict[str, Any]:
        runtime = {"name": "containerd", "files": [], "templates": {"inner": text}}
        return {
            "kind": "OperatingSystemProfile",
            "spec": {"bootstrapConfig": {"templates": {"t": text}, "supportedContainerRuntimes": [runtime]}},
        }

    names = [change.name for change in changed_texts(profile("a"), profile("b"))]
    assert names == ["bootstrap template t", "bootstrap containerd template inner"]


def _files(half: dict[str, Any]) -> dict[str, str]:
    return {file["path"]: file["content"]["inline"]["data"] for file in half.get("files", [])}


@pytest.mark.parametrize("name", cases(accepted))
def test_user_data_of_osm_gives_back_the_files_of_the_configuration(name: str) -> None:
    objects = {each["name"]: each for each in load_case(name)["expected"]["objects"]}
    (osc,) = (each for each in objects.values() if each["kind"] == "OperatingSystemConfig")
    for half in ("bootstrap", "provisioning"):
        text = objects[osc["name"].removesuffix("-config") + f"-{half}-config"]["data"]["cloud-config"]
        inside = changed_texts(None, _secret(text, half=half))
        found = {each.name.removeprefix(f"{half} "): each.after or "" for each in inside}
        for path, content in _files(osc["spec"].get(f"{half}Config", {})).items():
            # Ignition drops and adds line breaks at the ends and common indentation (osm-behaviour.md, "Ignition
            # user-data").
            if text.startswith("{"):
                assert found[path].split() == content.split(), path
            else:
                assert found[path] == content, path
