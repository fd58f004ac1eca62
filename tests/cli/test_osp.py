"""``osm-gitops osp``: profiles converted, listed and shown."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from osm_gitops.errors import Code
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile
from tests.faults import Expected, told

DEMO = Path(__file__).resolve().parents[2] / "overlays" / "demo"

_PROFILE = """\
# Ours since 2024.
apiVersion: operatingsystemmanager.k8c.io/v1alpha1
kind: OperatingSystemProfile
metadata:
  name: osp-a   # the name that pools say
spec:
  osName: ubuntu
  osVersion: 24.04.1
  version: v1.0.0
  supportedCloudProviders: [{name: hetzner}]
  bootstrapConfig:
    templates:
      proxy: |-
        {{- /* Only behind a proxy. */}}
        {{- with .HTTPProxy }}
        export https_proxy={{ . }}
        {{- end }}
        umask 077

    files:
      -   path: /opt/bin/bootstrap
          content:
            inline:
              data: |
                #!/bin/sh
                {{- define "curl" }}curl --retry {{ . }}{{ end }}
                {{- template "proxy" . }}
                {{ template "curl" 3 }} {{ .ServerURL }}
  # What comes second.
  provisioningConfig:
    files:
      - {path: /v, content: {inline: {data: "{{ .KubeVersion | trimPrefix \\"v\\" }}"}}}
---
kind: ConfigMap
apiVersion: v1
metadata: {name: other}
data: {a: "{{ .NotOurs }}"}
"""
_CONVERTED = """\
# Ours since 2024.
apiVersion: operatingsystemmanager.k8c.io/v1alpha1
kind: OperatingSystemProfile
metadata:
  name: osp-a   # the name that pools say
  annotations:
    osm-gitops.io/template: jinja2/v1
spec:
  osName: ubuntu
  osVersion: 24.04.1
  version: v1.0.0
  supportedCloudProviders: [{name: hetzner}]
  bootstrapConfig:
    templates:
      proxy: |

        {# Only behind a proxy. #}
        {% if HTTPProxy %}
        export https_proxy={{ HTTPProxy }}
        {% endif %}
        umask 077

    files:
      -   path: /opt/bin/bootstrap
          content:
            inline:
              data: |
                {% macro curl(dot) %}
                curl --retry {{ dot | go_text }}{% endmacro %}
                #!/bin/sh
                {% include "proxy" %}
                {{ curl(3) }} {{ ServerURL }}
  # What comes second.
  provisioningConfig:
    files:
      - {path: /v, content: {inline: {data: "{{ KubeVersion | trimPrefix(\\"v\\") }}"}}}
---
kind: ConfigMap
apiVersion: v1
metadata: {name: other}
data: {a: "{{ .NotOurs }}"}
"""


def test_a_converted_profile_reads_as_if_somebody_had_written_it(tmp_path: Path) -> None:
    (tmp_path / "osp.yaml").write_text(_PROFILE, "utf-8")
    ran = osm_gitops("osp", "convert", "osp.yaml")
    assert ran.out == _CONVERTED
    assert (ran.code, ran.err) == (0, "")
    assert (tmp_path / "osp.yaml").read_text("utf-8") == _PROFILE


def test_converting_again_changes_nothing_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "osp.yaml").write_text(_CONVERTED, "utf-8")
    ran = osm_gitops("osp", "convert", "osp.yaml")
    assert (ran.code, ran.out) == (0, _CONVERTED)
    assert ran.err == "OperatingSystemProfile kube-system/osp-a is already Jinja2: not changed.\n"


def test_stdin_lists_and_json_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [pool(), profile(), profile("osp-b")]})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ran = osm_gitops("osp", "convert", "-")
    assert (ran.code, ran.err) == (0, "")
    items = json.loads(ran.out)["items"]
    assert items[0] == pool()
    for body in items[1:]:
        assert body["metadata"]["annotations"] == {"osm-gitops.io/template": "jinja2/v1"}
        text = body["spec"]["provisioningConfig"]["files"][0]["content"]["inline"]["data"]
        assert text == "#!/bin/sh\necho {{ KubeVersion }}\n"


def test_a_profile_of_kkp_is_taken(tmp_path: Path) -> None:
    body = profile() | {"kind": "CustomOperatingSystemProfile"}
    (tmp_path / "osp.json").write_text(json.dumps(body), "utf-8")
    ran = osm_gitops("osp", "convert", "osp.json")
    assert json.loads(ran.out)["kind"] == "CustomOperatingSystemProfile"
    assert "{{ KubeVersion }}" in ran.out


def test_all_that_is_wrong_is_told_with_its_line_and_nothing_is_printed(tmp_path: Path) -> None:
    broken = _PROFILE.replace("with .HTTPProxy", "with .HTTPProxy | nope").replace(". }}{{ end }}", ". }}")
    (tmp_path / "osp.yaml").write_text(broken, "utf-8")
    ran = osm_gitops("osp", "convert", "osp.yaml")
    assert (ran.code, ran.out) == (1, "")
    first, second = ran.err.splitlines()
    assert first.startswith("Error: osp.yaml:15: OperatingSystemProfile kube-system/osp-a, proxy: function 'nope'")
    assert second.startswith("Error: osp.yaml:29: OperatingSystemProfile kube-system/osp-a, /opt/bin/bootstrap: ")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: [", Expected(Code.YAML_SYNTAX, "osp.yaml:2")),
        ("", Expected(Code.NO_PROFILE_IN_FILE, "osp.yaml", "OperatingSystemProfile")),
        ("kind: ConfigMap\napiVersion: v1\n", Expected(Code.NO_PROFILE_IN_FILE, "osp.yaml", "OperatingSystemProfile")),
        (_PROFILE.replace("version: v1.0.0", "version: one"), Expected(Code.INVALID_VALUE)),
        (_PROFILE.replace("kind: Oper", "kind: Opr"), Expected(Code.OBJECT_NOT_IDENTIFIED, "OperatingSystemProfile?")),
        (
            _PROFILE.replace("  name: osp-a", "  nam: osp-a"),
            Expected(Code.OBJECT_NOT_IDENTIFIED, "metadata.name"),
        ),
        (
            _PROFILE.replace("spec:\n", "sops: {mac: x}\nspec:\n", 1),
            Expected(Code.ALREADY_ENCRYPTED, "SOPS"),
        ),
        (
            _PROFILE.replace("  name: osp-a", "  name: a\n  annotations: {osm-gitops.io/template: go}"),
            Expected(Code.UNKNOWN_TEMPLATE_LANGUAGE),
        ),
    ],
)
def test_a_file_that_cannot_be_converted_is_refused_with_a_sentence(tmp_path: Path, text: str, fault: Expected) -> None:
    (tmp_path / "osp.yaml").write_text(text, "utf-8")
    ran = osm_gitops("osp", "convert", "osp.yaml")
    assert fault in told(ran.err)
    assert (ran.code, ran.out) == (1, "")


def test_a_text_that_an_alias_shares_with_something_else_is_not_changed(tmp_path: Path) -> None:
    text = _PROFILE.replace("data: |", "data: &t |").replace('a: "{{ .NotOurs }}"', "a: x")
    text = text.replace("      - {path: /v", "      - {path: /w, content: {inline: {data: *t}}}\n      - {path: /v")
    (tmp_path / "osp.yaml").write_text(text, "utf-8")
    ran = osm_gitops("osp", "convert", "osp.yaml")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.YAML_EDIT_FAILED, "<<") in told(ran.err)


def test_what_is_refused_when_it_runs_is_a_warning(tmp_path: Path) -> None:
    text = _PROFILE.replace("umask 077", 'umask {{ now | date "2006" }}')
    (tmp_path / "osp.yaml").write_text(text, "utf-8")
    ran = osm_gitops("osp", "convert", "osp.yaml")
    assert ran.code == 0
    assert ran.err.startswith("Warning: osp.yaml:18: OperatingSystemProfile kube-system/osp-a, proxy: it calls now, ")


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_a_file_that_is_none_is_an_error(name: str) -> None:
    ran = osm_gitops("osp", "convert", name)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"Error: {name}: ")


def test_the_demo_renders_to_the_same_bytes_with_its_profiles_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(DEMO, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(DEMO / "age.key"))
    before = _rendered()
    for path in sorted(Path("osps").iterdir()):
        ran = osm_gitops("osp", "convert", str(path))
        assert ran.code == 0
        path.write_text(ran.out, "utf-8")
        assert yaml.safe_load(ran.out)["metadata"]["annotations"] == {"osm-gitops.io/template": "jinja2/v1"}
    assert _rendered() == before
    assert len(before) > 10


def _rendered() -> dict[str, object]:
    """What the fleet renders to, without the profiles themselves."""
    ran = osm_gitops("render", "--to", "-")
    assert ran.code == 0, ran.err
    bodies = yaml.load_all(ran.out, yaml.CSafeLoader)
    return {
        f"{body['kind']} {body['metadata']['name']}": body
        for body in bodies
        if body["kind"] != "OperatingSystemProfile"
    }
