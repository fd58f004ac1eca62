"""Files of somebody else's making: whatever is in them, checks end, soon, and say something or nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.lint.rules.boot_file import BootFile, Remark, closest_match
from osm_gitops.lint.rules.catalogue import FILE_CHECKS
from osm_gitops.lint.rules.cloud_config import cloud_config_remarks
from osm_gitops.lint.rules.ignition import ignition_remarks
from osm_gitops.lint.rules.kubelet import kubelet_remarks
from osm_gitops.yaml.kubernetes import load_documents
from tests.lint.rules import mutations

PATHS = (
    *("/opt/bin/a", "/etc/systemd/system/a.service", "/etc/systemd/system/a.timer.d/b.conf", "/etc/netplan/a.yaml"),
    *("/etc/containerd/config.toml", "/etc/containerd/certs.d/a/hosts.toml", "/etc/sysctl.d/a.conf", "/etc/a.json"),
    *("/etc/apt/sources.list.d/a.sources", "/etc/apt/sources.list", "/etc/environment", "/etc/crictl.yaml"),
)
_MANY = 200_000
_LONG = {
    "one word": "a" * _MANY,
    "digits": "1" * _MANY + "x",
    "a time": "[Service]\nRestartSec=" + "1" * _MANY + "x\n",
    "blanks": " " * _MANY,
    "lines": "\n" * _MANY,
    "backslashes": "[Service]\nExecStart=/a " + "\\\n" * 20_000,
    "base64": "YWJj" * (_MANY // 4),
    "tokens": "token: " * 30_000,
    "URLs": "://a:" * 40_000,
    "braces": "{{ " * 60_000,
    "a number": "version = " + "9" * 10_000 + "\n",
    "nested": "a = " + "[" * 10_000,
    "nested YAML": "network: " + "[" * 10_000,
    "a key": "[Service]\n" + "k" * _MANY + "=v\n",
    "surrogates": "a \udc80 b\n",
}


def _remarks(text: str) -> list[Remark]:
    files = [BootFile(path, text, 644, "bootstrap") for path in PATHS]
    found = [remark for file in files for check in FILE_CHECKS for remark in check(file)]
    found += kubelet_remarks(text, 36)
    found += cloud_config_remarks(f"#cloud-config\n{text}")
    return [*found, *ignition_remarks(text)]


@pytest.mark.parametrize("text", _LONG.values(), ids=_LONG)
def test_long_and_odd_texts_are_looked_at_in_time_that_grows_with_them(text: str) -> None:
    lines = max(text.count("\n") + 2, 1)
    assert all(1 <= remark.line <= lines for remark in _remarks(text))


@given(st.text(max_size=200))
def test_any_text_is_looked_at(text: str) -> None:
    _remarks(text)


_TEXTS = (mutations.KUBELET, mutations.CONTAINERD, mutations.HOSTS, mutations.UNIT, mutations.CLOUD_CONFIG)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)
)


@given(st.sampled_from(_TEXTS), st.integers(0, 600), st.integers(0, 30), st.text(max_size=5))
def test_a_sound_text_with_anything_anywhere_is_looked_at(text: str, start: int, length: int, new: str) -> None:
    _remarks(text[:start] + new + text[start + length :])


@given(st.data(), _JSON)
def test_a_sound_ignition_config_with_any_value_in_any_place_is_looked_at(data: st.DataObject, value: object) -> None:
    config = json.loads(mutations.ignition_text())
    parent, key = config, data.draw(st.sampled_from(sorted(config)))
    while isinstance(parent[key], dict | list) and parent[key] and data.draw(st.booleans()):
        parent = parent[key]
        key = data.draw(st.sampled_from(sorted(parent) if isinstance(parent, dict) else range(len(parent))))
    parent[key] = value
    list(ignition_remarks(json.dumps(config)))


@pytest.mark.parametrize("value", ["[]", "[[]]", "{}", "true", "1.5", "''", "1979-05-27", "[{}]"])
@pytest.mark.parametrize("line", range(14))
def test_any_value_in_any_line_of_toml_is_looked_at(line: int, value: str) -> None:
    for text in (mutations.CONTAINERD, mutations.HOSTS):
        lines = text.splitlines()
        if line < len(lines) and "=" in lines[line]:
            lines[line] = f"{lines[line].partition('=')[0]}= {value}"
            _remarks("\n".join(lines))


@given(st.data(), _JSON)
def test_a_sound_kubelet_or_cloud_config_with_any_value_in_any_place_is_looked_at(
    data: st.DataObject, value: object
) -> None:
    text = data.draw(st.sampled_from([mutations.KUBELET, mutations.CLOUD_CONFIG]))
    (document,) = load_documents(text, "")
    parent, key = document.value, data.draw(st.sampled_from(sorted(document.value)))
    while isinstance(parent[key], dict | list) and parent[key] and data.draw(st.booleans()):
        parent = parent[key]
        key = data.draw(st.sampled_from(sorted(parent) if isinstance(parent, dict) else range(len(parent))))
    parent[key] = value
    kubelet_remarks(json.dumps(document.value), 36)
    cloud_config_remarks(f"#cloud-config\n{json.dumps(document.value)}")


def test_a_name_is_told_from_typos_of_its_length_only() -> None:
    known = frozenset({"RestartSec", "Restart"})
    assert closest_match("RestartSecs", known) == "RestartSec"
    assert closest_match("restartsec", known) == "RestartSec"
    assert closest_match("Restart" * 50, known) == ""
