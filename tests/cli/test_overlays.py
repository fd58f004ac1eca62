"""Overlays through the whole command line: real trees, git revisions, plans; what is wrong is told with its line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from osm_gitops.errors import Code
from osm_gitops.yaml.emit import dump
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import file, objects_of, pool, profile, write_fleet, write_tree
from tests.conformance_data import DATA
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_HEAD = "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\n"
_BOOTSTRAP = {"script": '#!/bin/sh\necho {{ .Values.mirror | default "none" }}\n'}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def overlay(name: str, text: str) -> Path:
    """An overlay in the current folder; the text's first line is the third of its file."""
    path = Path(name) / "overlay.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_HEAD + dedent(text), "utf-8")
    return path


def tree(*more: Any, **spec: Any) -> None:
    write_tree(Path("tree"), profile(**{**_BOOTSTRAP, **spec}), pool(), *more)


def _removing(path: str) -> str:
    piece = f"{{spec: {{provisioningConfig: {{files: [{{path: {path}, $delete: true}}]}}}}}}"
    return f"patches:\n- {{target: {{name: osp-a}}, merge: {piece}}}"


def commit_all(repository: Path, message: str) -> None:
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", message)


def render(*arguments: str) -> Ran:
    return osm_gitops("render", "--from", "tree", "--to", "-", *arguments)


def objects(*overlays: str) -> dict[tuple[str, str], dict[str, Any]]:
    ran = render(*(f"--overlay={each}" for each in overlays))
    assert (ran.code, ran.err) == (0, ""), ran.err
    return objects_of(ran.out)


def osp(found: dict[tuple[str, str], dict[str, Any]], name: str = "osp-a") -> dict[str, Any]:
    return found["OperatingSystemProfile", name]


def paths(spec: dict[str, Any], half: str = "provisioningConfig") -> list[str]:
    return [each["path"] for each in spec[half]["files"]]


def faults(*overlays: str) -> list[tuple[Code, str]]:
    ran = render(*(f"--overlay={each}" for each in overlays))
    assert ran.code == 1
    return told("\n".join(line for line in ran.err.splitlines() if line.startswith("Error: ")))


def errors(*overlays: str) -> list[str]:
    return [sentence for _, sentence in faults(*overlays)]


def test_settings_of_the_later_overlay_win_and_flag_and_environment_and_fleet_win_over_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree(script="{{ .PauseImage }} {{ .HTTPProxy }} {{ .InitialTaints }} {{ index .ClusterDNSIPs 0 }}\n")
    overlay("base", "settings: {pauseImage: base, nodeHTTPProxy: base, initialTaints: base, clusterDNS: 10.0.0.1}")
    overlay("top", "overlays: [../base]\nsettings: {pauseImage: top, nodeHTTPProxy: top, initialTaints: top}")
    write_fleet(
        Path(),
        "clusters:\n- {name: a, from: tree, overlays: [top], settings: {pauseImage: fleet, nodeHTTPProxy: fleet}}\n",
    )
    monkeypatch.setenv("OSM_GITOPS_PAUSE_IMAGE", "environment")
    ran = osm_gitops("render", "--to", "-")
    assert "environment fleet top 10.0.0.1" in ran.out
    assert "flag fleet top 10.0.0.1" in osm_gitops("render", "--to", "-", "--pause-image", "flag").out


def test_values_merge_deeply_and_null_takes_back_what_was_set() -> None:
    tree(script='{{ .Values.a | toJson }} {{ .Values.gone | default "gone" }}\n')
    overlay("base", "values: {a: {kept: 1, changed: 1, list: [1, 2]}, gone: x}")
    overlay("top", "overlays: [../base]\nvalues: {a: {changed: 2, list: [3]}, gone: null}")
    text = render("--overlay=top").out
    assert '{"changed":2,"kept":1,"list":[3]} gone' in text


def test_values_and_settings_may_be_made_of_values() -> None:
    tree(script="{{ .Values.url }} {{ .PauseImage }}\n")
    overlay(
        "a",
        """\
        settings: {pauseImage: '{{ value("host") }}/pause'}
        values: {url: "{{ Values.base }}/file", base: "https://{{ Values.host }}", host: mirror.example.com}
        """,
    )
    assert "https://mirror.example.com/file mirror.example.com/pause" in render("--overlay=a").out


def test_a_profile_is_patched_in_both_halves_and_gets_a_version_of_its_own() -> None:
    tree()
    overlay(
        "overlays/prod-eu",
        """\
        patches:
        - target: {name: "osp-*", osName: ubuntu}
          merge:
            metadata: {annotations: {team: nodes}}
            spec:
              bootstrapConfig:
                files:
                - {path: /etc/new, permissions: 600, content: {inline: {data: "new {{ .KubeVersion }}\\n"}}}
                templates: {greeting: "hello"}
              provisioningConfig:
                files:
                - {path: /opt/bin/setup, $delete: true}
                - {path: /etc/script, content: {file: script.sh}}
        """,
    )
    Path("overlays/prod-eu/script.sh").write_text("#!/bin/sh\n{{ .KubeVersion }}\n", "utf-8")
    plain, patched = osp(objects()), osp(objects("overlays/prod-eu"))
    spec = patched["spec"]
    assert paths(spec, "bootstrapConfig") == ["/opt/bin/bootstrap", "/etc/new"]
    assert paths(spec) == ["/etc/script"]
    assert spec["provisioningConfig"]["files"][0]["content"] == {"inline": {"data": "#!/bin/sh\n{{ .KubeVersion }}\n"}}
    assert spec["bootstrapConfig"]["templates"] == {"greeting": "hello"}
    assert re.fullmatch(r"v1\.0\.0\+prod-eu\.[0-9a-f]{12}", spec["version"])
    assert re.fullmatch("[0-9a-f]{64}", patched["metadata"]["annotations"]["osm-gitops.io/overlay-base"])
    assert patched["metadata"]["annotations"]["team"] == "nodes"
    assert plain["spec"]["version"] == "v1.0.0"
    config = objects("overlays/prod-eu")["OperatingSystemConfig", "workers-kube-system-config"]
    assert "new v1.34.2\n" in json.dumps(config).replace("\\n", "\n")
    assert config["metadata"]["annotations"]["k8c.io/osp-version"] == spec["version"]


def test_the_version_follows_the_result_and_what_was_patched_is_not_patched_again() -> None:
    tree()
    overlay("a", 'patches:\n- {target: {name: osp-a}, merge: {spec: {osVersion: "25"}}}')
    first = osp(objects("a"))
    assert osp(objects("a")) == first
    overlay("a", 'patches:\n- {target: {name: osp-a}, merge: {spec: {osVersion: "26"}}}')
    second = osp(objects("a"))
    assert second["spec"]["version"] != first["spec"]["version"]
    del first["metadata"]["labels"]
    write_tree(Path("tree"), first, pool())
    assert osp(objects("a"))["spec"] == first["spec"]


def test_json_6902_does_its_operations_in_their_order() -> None:
    tree()
    overlay("a", "patches:\n- {target: {name: osp-a}, json6902: patch.json}")
    operations = [
        {"op": "test", "path": "/spec/osName", "value": "ubuntu"},
        {"op": "replace", "path": "/spec/osVersion", "value": "26.04"},
        {"op": "add", "path": "/spec/provisioningConfig/files/0", "value": file("/etc/first", "{{ .KubeVersion }}")},
        {"op": "copy", "from": "/spec/provisioningConfig/files/1", "path": "/spec/bootstrapConfig/files/-"},
        {"op": "remove", "path": "/spec/provisioningConfig/files/1"},
    ]
    Path("a/patch.json").write_text(json.dumps(operations), "utf-8")
    spec = osp(objects("a"))["spec"]
    assert spec["osVersion"] == "26.04"
    assert (paths(spec), paths(spec, "bootstrapConfig")) == (["/etc/first"], ["/opt/bin/bootstrap", "/opt/bin/setup"])


def test_a_fault_in_a_patched_template_is_told_at_its_line_in_the_overlay_or_in_the_profile() -> None:
    tree(templates={"x": "{{ .Nope }}"})
    overlay(
        "a",
        """\
        patches:
        - target: {name: osp-a}
          merge:
            spec:
              provisioningConfig:
                files:
                - path: /opt/bin/setup
                  content:
                    inline:
                      data: |
                        one
                        {{ .Wrong }}
                - path: /etc/other
                  content: {file: other}
                - path: /etc/one-line
                  content: {inline: {data: "{{ .Line }}"}}
        """,
    )
    Path("a/other").write_text("one\ntwo\n{{ .Other }}\n", "utf-8")
    (wrong, other, line) = sorted(each for each in errors("a") if "can't evaluate" in each)[:3]
    assert wrong.startswith("a/other:3: ")
    assert other.startswith("a/overlay.yaml:14: ")
    assert line.startswith("a/overlay.yaml:18: ")


def test_lines_of_the_profile_itself_stay_true_behind_a_removed_file() -> None:
    files = [file("/a", "x"), file("/b", "{{ .Wrong }}")]
    tree(provisioningConfig={"files": files})
    text = Path("tree/OperatingSystemProfile-osp-a.yaml").read_text("utf-8").splitlines()
    line = next(number for number, each in enumerate(text, start=1) if "Wrong" in each)
    overlay(
        "a",
        _removing("/a"),
    )
    assert any(each.startswith(f"tree/OperatingSystemProfile-osp-a.yaml:{line}: ") for each in errors("a"))


def test_a_cluster_gets_only_the_profiles_that_an_overlay_names() -> None:
    tree(profile("osp-b"), pool("others", profile="osp-b"))
    overlay("a", "profiles: [osp-a]")
    ran = render("--overlay=a")
    assert ran.code == 1
    assert Expected(
        Code.PROFILE_LEFT_OUT, "OperatingSystemProfile", "kube-system/osp-b", "a/overlay.yaml:3", "kube-system/osp-a"
    ) in told(ran.err)
    assert {name for kind, name in objects_of(ran.out) if kind == "OperatingSystemConfig"} == {
        "workers-kube-system-config"
    }


def test_everything_that_is_wrong_in_overlays_is_told_at_once_with_its_line() -> None:
    tree()
    overlay(
        "a",
        """\
        overlays: [../missing, "builtin:no-such", 7]
        settings: {clusterDns: 10.0.0.1}
        vaules: {a: 1}
        values: {big: 99999999999999999999}
        patches:
        - {target: {name: osp-a, os: ubuntu}, merge: {spec: {}}}
        - {target: {name: osp-a}, merge: {spec: {version: v2.0.0}}, json6902: []}
        - {target: {osName: windows}, merge: {sepc: {}}}
        - {target: {name: osp-a}, json6902: [{op: put, path: /a}, {op: add, path: spec}, {op: move, path: /a}, 7]}
        - {target: {name: osp-a}, merge: ../../etc/passwd}
        - {target: {name: osp-a}, merge: no-such.yaml}
        """,
    )
    about = "Overlay a"
    assert errors("a") == [
        f'a/overlay.yaml:5: {about}: vaules: "vaules" is not a known key. Did you mean values?',
        f'a/overlay.yaml:4: {about}: settings.clusterDns: "clusterDns" is not a setting. Did you mean clusterDNS?',
        f"a/overlay.yaml:6: {about}: values.big: is a number of more than 64 bits. Put it in quotes",
        f'a/overlay.yaml:8: {about}: patches[0].target.os: "os" is not a known key. Known are name, osName',
        f"a/overlay.yaml:9: {about}: patches[1]: must have either merge or json6902",
        f"a/overlay.yaml:10: {about}: patches[2].target.name: is missing",
        *(each for each in errors("a") if "patches[2].target.osName" in each),
        f'a/overlay.yaml:10: {about}: patches[2].merge.sepc: "sepc" is not a known key. Did you mean spec?',
        (
            f"a/overlay.yaml:10: {about}: patches[2].merge: changes nothing: it has neither spec nor metadata. "
            "Write the changes below spec"
        ),
        (
            f"a/overlay.yaml:11: {about}: patches[3].json6902[0]: has no known op. "
            "op is one of: add, remove, replace, move, copy, test"
        ),
        f"a/overlay.yaml:11: {about}: patches[3].json6902[1]: add needs value",
        f"a/overlay.yaml:11: {about}: patches[3].json6902[1]: path must be a path such as /spec/osVersion",
        f"a/overlay.yaml:11: {about}: patches[3].json6902[2]: move needs from",
        f"a/overlay.yaml:11: {about}: patches[3].json6902[3]: must be an operation, not a number",
        *(each for each in errors("a") if "passwd" in each),
        f"a/overlay.yaml:13: {about}: file no-such.yaml not found in its folder: No such file or directory",
        f"a/overlay.yaml:3: {about}: overlays[2]: must name an overlay, not a number",
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "patches:\n- {target: {name: osp-c}, merge: {spec: {osVersion: x}}}",
            (
                'a/overlay.yaml:4: overlay a: this patch matches no profile: there is none for "osp-c". '
                "Did you mean osp-a?"
            ),
        ),
        ("profiles: [osp-a, osp-z]", 'a/overlay.yaml:3: cluster default: profiles: no profile matches "osp-z"'),
        (
            "values: {mirrors: x}",
            (
                "a/overlay.yaml:3: cluster default: values.mirrors: no profile reads the value mirrors. "
                "Did you mean mirror?"
            ),
        ),
        ('values: {mirror: "{{ Values.x }}"}', "a/overlay.yaml:3: values.mirror: the value x is not set. Set it under"),
        (
            'values: {mirror: "{{ Values.b }}", b: "{{ Values.mirror }}"}',
            "a/overlay.yaml:3: values.mirror: depends on b, in a cycle. Write one of them as a plain text",
        ),
        ("settings: {clusterDNS: nonsense}", 'a/overlay.yaml:3 settings.clusterDNS: "nonsense" is not an IP address'),
        (
            "patches:\n- {target: {name: osp-a}, merge: {spec: {provisioningConfig: {fiels: []}}}}",
            (
                "a/overlay.yaml:4: OperatingSystemProfile kube-system/osp-a: spec.provisioningConfig.fiels: "
                "is not a field of this kind"
            ),
        ),
        (
            _removing("/x"),
            (
                "a/overlay.yaml:4: OperatingSystemProfile kube-system/osp-a: spec.provisioningConfig.files[path=/x]: "
                'no entry with path "/x" to delete'
            ),
        ),
        (
            "patches:\n- {target: {name: osp-a}, merge: {spec: {bootstrapConfig: {templates: {x: {$delete: true}}}}}}",
            "a/overlay.yaml:4: OperatingSystemProfile kube-system/osp-a: spec.bootstrapConfig.templates.x",
        ),
        (
            "patches:\n- {target: {name: osp-a}, json6902: [{op: remove, path: /spec/units}]}",
            "a/overlay.yaml:4: OperatingSystemProfile kube-system/osp-a: there is nothing at /spec/units to remove",
        ),
        (
            "patches:\n- {target: {name: osp-a}, json6902: [{op: test, path: /spec/osName, value: rhel}]}",
            "a/overlay.yaml:4: OperatingSystemProfile kube-system/osp-a: the value at /spec/osName is not",
        ),
        (
            "patches:\n- {target: {name: osp-a}, json6902: [{op: replace, path: /metadata/name, value: x}]}",
            "a/overlay.yaml:4: OperatingSystemProfile kube-system/osp-a: /metadata/name cannot be changed by a patch",
        ),
        (
            "patches:\n- {target: {name: osp-a}, merge: {spec: {osName: null}}}",
            "a/overlay.yaml:4: OperatingSystemProfile kube-system/osp-a: spec.osName: is null. Write {$delete: true}",
        ),
    ],
)
def test_what_an_overlay_says_must_be_for_something(text: str, error: str) -> None:
    tree()
    overlay("a", text)
    assert any(each.startswith(error) for each in errors("a")), errors("a")


def test_a_loop_of_overlays_is_named() -> None:
    tree()
    overlay("a", "overlays: [../b]")
    overlay("b", "overlays: [../c]")
    overlay("c", "overlays: [../b]")
    ((code, sentence),) = faults("a")
    assert code is Code.OVERLAY_CIRCLE
    assert sentence.startswith("c/overlay.yaml:3: ")
    assert sentence.endswith(": b → c → b")


def test_an_overlay_that_several_build_on_is_applied_once_and_first() -> None:
    tree(script="{{ .PauseImage }}\n")
    overlay("base", "settings: {pauseImage: base}\npatches:\n- {target: {name: osp-a}, merge: {spec: {osVersion: b}}}")
    overlay("a", "overlays: [../base]\nsettings: {pauseImage: a}")
    overlay("b", "overlays: [../base]")
    found = objects("a", "b")
    assert "a\n" in json.dumps(found["OperatingSystemConfig", "workers-kube-system-config"]).replace("\\n", "\n")
    assert osp(found)["spec"]["version"].startswith("v1.0.0+base.")


def test_a_plan_says_which_fields_two_overlays_fight_over_and_none_where_one_builds_on_the_other() -> None:
    tree()
    body = "settings: {{pauseImage: {0}}}\nvalues: {{mirror: {0}}}\npatches:\n"
    patch = "- {{target: {{name: osp-a}}, merge: {{spec: {{osVersion: {0}}}}}}}\n"
    overlay("a", (body + patch).format("a"))
    overlay("b", (body + patch).format("b"))
    ran = osm_gitops("plan", "--from", "tree", "--to", "state", "--overlay", "a", "--overlay", "b")
    assert ran.code == 0
    shown = " ".join(ran.out.split())
    for line, at in ((3, "settings.pauseImage"), (4, "values.mirror"), (6, "spec.osVersion")):
        assert f"b/overlay.yaml:{line}: " in shown
        assert f"{at}: overlays a (a/overlay.yaml:{line}) and b set this differently" in shown
    assert "b is used, because it comes later" in shown
    operation = "- {{target: {{name: osp-a}}, json6902: [{{op: replace, path: /spec/osVersion, value: {0}}}]}}\n"
    overlay("b", ("patches:\n" + operation).format("b"))
    arguments = ("plan", "--from", "tree", "--to", "state", "--overlay", "a", "--overlay", "b")
    shown = " ".join(osm_gitops(*arguments).out.split())
    assert "b/overlay.yaml:4: OperatingSystemProfile kube-system/osp-a: spec.osVersion: overlays a (a/over" in shown
    overlay("b", ("patches:\n" + operation).format("a"))
    assert "differently" not in osm_gitops(*arguments).out
    overlay("b", ("overlays: [../a]\n" + body + patch).format("b"))
    assert "differently" not in osm_gitops("plan", "--from", "tree", "--to", "state", "--overlay", "b").out


@pytest.mark.parametrize(
    "patch",
    [
        "merge: {spec: {provisioningConfig: {files: [{path: /opt/bin/setup, $delete: true}]}}}",
        "json6902: [{op: remove, path: /spec/provisioningConfig/files/0}]",
        "json6902: [{op: replace, path: /spec/provisioningConfig, value: {files: []}}]",
    ],
)
def test_an_overlay_that_takes_away_what_another_one_changed_inside_is_told(patch: str) -> None:
    tree()
    piece = "files: [{path: /opt/bin/setup, permissions: 493, content: {inline: {data: changed}}}]"
    overlay("a", f"patches:\n- {{target: {{name: osp-a}}, merge: {{spec: {{provisioningConfig: {{{piece}}}}}}}}}")
    overlay("b", f"patches:\n- target: {{name: osp-a}}\n  {patch}")
    shown = " ".join(
        osm_gitops("plan", "--from", "tree", "--to", "state", "--overlay", "a", "--overlay", "b").out.split()
    )
    assert shown.count("overlays a (a/overlay.yaml:4) and b set this differently") == 1


def test_overlays_are_read_at_a_git_revision_with_all_that_they_name(here: Path) -> None:
    repository = new_repository(here / "repo")
    overlay("repo/base", "values: {mirror: then}\nsettings: {hostCABundle: ca.pem}")
    certificate = (DATA / "ca.pem").read_text("utf-8")
    Path("repo/base/ca.pem").write_text(certificate, "utf-8")
    patches = "overlays: [../base]\npatches:\n- {target: {name: osp-a}, merge: piece.yaml}"
    overlay("repo/top", patches)
    Path("repo/top/piece.yaml").write_text('spec: {osVersion: "then"}\n', "utf-8")
    tree(script="{{ .Values.mirror }} {{ .HostCACert }}\n")
    commit_all(repository, "then")
    git(repository, "tag", "v1")
    for path in ("base/overlay.yaml", "base/ca.pem", "top/overlay.yaml", "top/piece.yaml"):
        (repository / path).unlink()
    found = objects("repo/top@v1")
    assert osp(found)["spec"]["osVersion"] == "then"
    text = json.dumps(found["OperatingSystemConfig", "workers-kube-system-config"])
    assert "then -----BEGIN CERTIFICATE" in text
    (error,) = errors("repo/top")
    assert error.startswith("repo/top: ")


def test_a_plan_against_a_revision_takes_the_overlays_of_that_revision(here: Path) -> None:
    repository = new_repository(here / "repo")
    write_tree(repository / "tree", profile(**_BOOTSTRAP), pool())
    overlay("repo/overlays/a", "values: {mirror: before}")
    write_fleet(repository, "clusters:\n- {name: a, from: tree, overlays: [overlays/a], to: {git: {path: state}}}\n")
    commit_all(repository, "before")
    arguments = ("plan", "--fleet", "repo/osm-gitops.yaml", "--against", "HEAD")
    assert "No changes" in osm_gitops(*arguments).out
    overlay("repo/overlays/a", "values: {mirror: after}")
    shown = osm_gitops(*arguments).out
    assert "before" in shown
    assert "after" in shown


def test_osp_show_shows_what_overlays_make_of_a_profile() -> None:
    tree()
    overlay("a", 'patches:\n- {target: {name: osp-a}, merge: {spec: {osVersion: "26.04"}}}')
    shown = osm_gitops("osp", "show", "osp-a", "--from", "tree", "--overlay", "a")
    assert shown.code == 0
    assert "osVersion: '26.04'" in shown.out.replace('"', "'")
    assert "version: v1.0.0+a." in shown.out


def test_explain_names_the_overlay_and_line_of_settings_and_values() -> None:
    tree(script='{% set x = value("mirror", "none") %}{{ x }} {{ PauseImage }}\n')
    text = Path("tree/OperatingSystemProfile-osp-a.yaml").read_text("utf-8")
    jinja = "metadata:\n  annotations: {osm-gitops.io/template: jinja2/v1}\n"
    Path("tree/OperatingSystemProfile-osp-a.yaml").write_text(text.replace("metadata:\n", jinja), "utf-8")
    provisioning = "[{path: /x, content: {inline: {data: x}}}]"
    patch = (
        f"patches:\n- target: {{name: osp-a}}\n  merge: {{spec: {{provisioningConfig: {{files: {provisioning}}}}}}}\n"
    )
    remove = "- target: {name: osp-a}\n  json6902: [{op: remove, path: /spec/provisioningConfig/files/0}]\n"
    overlay("a", f"settings:\n  pauseImage: mine\nvalues:\n  mirror: here\n{patch}{remove}")
    shown = osm_gitops("explain", "workers", "--from", "tree", "--overlay", "a")
    assert (shown.code, shown.err) == (0, "")
    assert "a/overlay.yaml:4 settings.pauseImage" in shown.out
    assert "a/overlay.yaml:6" in shown.out


def test_the_ready_made_overlays_need_one_address_each_and_no_other_host_is_left() -> None:
    write_tree(Path("tree"), pool("ubuntu", profile="osp-ubuntu"))
    overlay(
        "site",
        """\
        overlays: ["builtin:air-gapped", "builtin:proxy"]
        values: {airGap: {mirror: "https://mirror.example.com/"}, proxy: {url: "http://proxy:3128", direct: ".corp"}}
        """,
    )
    found = objects("site")
    config = found["OperatingSystemConfig", "ubuntu-kube-system-config"]
    files = [file for half in ("bootstrapConfig", "provisioningConfig") for file in config["spec"][half]["files"]]
    text = "\n".join(each["content"]["inline"]["data"] for each in files)
    hosts = set(re.findall(r"https?://([a-z0-9][a-z0-9.-]+[.][a-z]+)", text))
    documentation, last_resort = "kubernetes.io", "registry-1.docker.io"  # containerd's, where a mirror has nothing
    assert hosts <= {"mirror.example.com", "api.example.com", documentation, last_resort}
    assert "https://mirror.example.com/dl.k8s.io" in text
    assert "https://mirror.example.com//" not in text
    assert "http://proxy:3128" in text
    assert ",169.254.0.0/16,.corp" in text


@pytest.mark.parametrize(("name", "value"), [("air-gapped", "airGap.mirror"), ("proxy", "proxy.url")])
def test_a_ready_made_overlay_alone_says_what_to_set(name: str, value: str) -> None:
    tree()
    found = errors(f"builtin:{name}")
    assert found
    for error in found:
        assert error.startswith(f"builtin:{name}/overlay.yaml:")
        assert f"the value {value} is not set. Set it under `values` of an overlay" in error


def test_a_built_in_overlay_that_is_not_there_is_told_with_those_that_are() -> None:
    tree()
    assert errors("builtin:../demo") == [
        'builtin:../demo: built-in overlay "../demo" not found. Available: air-gapped, proxy'
    ]
    assert errors("builtin:proxi") == ['builtin:proxi: built-in overlay "proxi" not found. Did you mean proxy?']


def test_a_saved_plan_keeps_its_overlays() -> None:
    new_repository(Path("repo"))
    tree()
    overlay("a", 'patches:\n- {target: {name: osp-a}, merge: {spec: {osVersion: "26"}}}')
    arguments = ("--from", "tree", "--to", "repo/state", "--overlay", "a")
    assert osm_gitops("plan", *arguments, "--out", "plan.json", "--dangerously-plaintext-secrets").code == 0
    ran = osm_gitops("apply", "plan.json", "--dangerously-plaintext-secrets", "--yes")
    assert (ran.code, ran.err.count("Error")) == (0, 0), ran.err
    text = Path("repo/state/default/management/operatingsystemprofiles/kube-system/osp-a.yaml").read_text("utf-8")
    assert "v1.0.0+a." in text
    assert "a" in git(Path("repo"), "log", "-1", "--format=%B")


@pytest.mark.parametrize("key", ["annotations", "labels"])
def test_annotations_and_labels_stay_mappings(key: str) -> None:
    tree()
    overlay("a", f"patches:\n- target: {{name: osp-a}}\n  json6902: [{{op: add, path: /metadata/{key}, value: 1}}]")
    about = "OperatingSystemProfile kube-system/osp-a"
    assert (Code.PATCH_DOES_NOT_APPLY, f"a/overlay.yaml:5: {about}") in [
        (code, ": ".join(sentence.split(": ")[:2])) for code, sentence in faults("a")
    ]


def test_an_empty_map_takes_no_value_away_and_a_text_takes_the_place_of_a_map() -> None:
    tree(script="{{ .Values.a | toJson }} {{ .Values.b | toJson }} {{ .Values.c | toJson }}\n")
    overlay("base", "values: {a: {x: 1}, b: {x: {y: 1}}, c: text}")
    overlay("top", "overlays: [../base]\nvalues: {a: {}, b: text, c: {z: 1}}")
    assert '{"x":1} "text" {"z":1}' in render("--overlay=top").out


def test_thousands_of_values_are_read_quickly_and_thousands_of_texts_refused() -> None:
    tree(script="{{ .Values | len }}\n")
    overlay("a", "values:\n" + "".join(f"  key{number}: {number}\n" for number in range(5_000)))
    overlay("b", "values:\n" + "".join(f"  key{number}: x\n" for number in range(5_000)))
    ran = render("--overlay=a", "--overlay=b")
    assert "5000\n" in ran.out
    assert ran.code == 0
    overlay("c", "values:\n" + "".join(f"  key{number}: '{{{{ Values.x }}}}'\n" for number in range(5_000)))
    ((code, sentence),) = faults("c")
    assert code is Code.OVERLAY_TOO_LARGE
    assert sentence.startswith("c/overlay.yaml:4: more than 500 texts")


def test_osp_diff_shows_what_overlays_change_in_a_profile() -> None:
    tree()
    overlay("a", 'patches:\n- {target: {name: osp-a}, merge: {spec: {osVersion: "26.04"}}}')
    shown = osm_gitops("osp", "diff", "osp-a", "--from", "tree", "--overlay", "a")
    assert (shown.code, shown.err) == (0, "")
    assert "26.04" in shown.out
    assert "+a." in shown.out
    refused = osm_gitops("osp", "diff", "osp-a", "--from", "tree")
    assert (refused.code, refused.out) == (1, "")
    assert Expected(Code.MISSING_ARGUMENT) in told(refused.err)


def test_osp_diff_shows_what_an_overlay_does_that_the_cluster_has() -> None:
    tree()
    for name, content in (("a", "one"), ("b", "two")):
        files = f"{{files: [{{path: /etc/{name}, content: {{inline: {{data: {content}}}}}}}]}}"
        above = "overlays: [../a]\n" if name == "b" else ""
        patch = f"{{target: {{name: osp-a}}, merge: {{spec: {{provisioningConfig: {files}}}}}}}"
        overlay(name, f"{above}patches:\n- {patch}\n")

    def changed(active: str, *given: str) -> set[str]:
        write_fleet(Path(), f"clusters:\n- {{name: one, from: tree, overlays: [{active}]}}\n")
        ran = osm_gitops("osp", "diff", "osp-a", *(f"--overlay={each}" for each in given), "--output", "json")
        assert (ran.code, ran.err) == (0, "")
        return {each["name"] for each in json.loads(ran.out)["changes"] if "/etc/" in each["name"]}

    assert changed("a", "a") == {"provisioning /etc/a"}
    assert changed("b", "b") == {"provisioning /etc/b", "provisioning /etc/a"}
    assert changed("b", "a") == {"provisioning /etc/a"}
    assert changed("a", "b") == {"provisioning /etc/b"}
    assert changed("a, b", "./a/") == {"provisioning /etc/a"}


def test_an_edited_text_is_told_at_the_line_where_it_comes_from() -> None:
    tree()
    text = dump(profile(script="#!/bin/sh\necho one\necho {{ .Wrong }}\n"))
    Path("tree/OperatingSystemProfile-osp-a.yaml").write_text(text, "utf-8")
    line = next(number for number, each in enumerate(text.splitlines(), start=1) if "Wrong" in each)
    overlay(
        "a",
        """\
        patches:
        - target: {name: osp-a}
          merge:
            spec:
              bootstrapConfig:
                files:
                - path: /opt/bin/bootstrap
                  content:
                    edit:
                    - insertAfter: echo one
                      text: |
                        echo two
                        echo {{ .Other }}
        """,
    )
    assert errors("a")[0].startswith("a/overlay.yaml:15: ")
    path = Path("a/overlay.yaml")
    path.write_text(path.read_text("utf-8").replace("{{ .Other }}", "three"), "utf-8")
    assert errors("a")[0].startswith(f"tree/OperatingSystemProfile-osp-a.yaml:{line}: ")


def test_a_plan_warns_of_a_copy_whose_original_has_changed() -> None:
    tree(provisioningConfig={"files": [file("/x", "x")], "templates": {"x": "old"}})
    overlay(
        "a",
        """\
        patches:
        - target: {name: osp-a}
          merge: {spec: {provisioningConfig: {templates: {x: {file: copy, baseDigest: "000000000000"}}}}}
        """,
    )
    Path("a/copy").write_text("new", "utf-8")

    def warnings() -> list[str]:
        ran = osm_gitops("plan", "--from", "tree", "--to", "desired", "--overlay", "a")
        assert ran.code in {0, 2}
        return [sentence for code, sentence in told(ran.err + ran.out) if code is Code.OVERLAY_COPY_OUTDATED]

    (warning,) = warnings()
    digest = re.search(r'baseDigest: "([0-9a-f]{12})"', warning)
    assert digest is not None
    path = Path("a/overlay.yaml")
    path.write_text(path.read_text("utf-8").replace("0" * 12, digest[1]), "utf-8")
    assert warnings() == []


def test_a_patched_built_in_profile_is_still_told_as_built_in() -> None:
    write_tree(Path("tree"), pool("ubuntu", profile="osp-ubuntu"))
    overlay("a", 'patches:\n- {target: {name: "osp-*", osName: ubuntu}, merge: {spec: {osVersion: "26.04"}}}')
    listed = json.loads(osm_gitops("osp", "list", "--from", "tree", "--overlay", "a", "-o", "json").out)
    found = {each["name"]: each for each in listed["profiles"]}
    assert found["osp-ubuntu"]["version"].startswith("v2.1.0+a.")
    assert found["osp-rhel"]["version"] == "v2.1.0"
    assert all(each["builtIn"] for each in found.values())
    planned = osm_gitops("plan", "--from", "tree", "--to", "state", "--overlay", "a").out
    assert "osp-ubuntu: new profile, built-in v2.1.0, patched\n" in planned
    assert "26.04" in osm_gitops("osp", "show", "osp-ubuntu", "--overlay", "a").out


def test_validate_reads_the_overlays_among_the_files_that_it_is_given() -> None:
    overlay("overlays/right", "settings: {pauseImage: a}")
    overlay("overlays/wrong", "overlays: [../right, ../gone]\nvaluess: {}")
    ran = osm_gitops("validate", "overlays", "-o", "json")
    found = [each for each in json.loads(ran.out)["findings"] if each["id"] == "overlay"]
    assert ran.code == 1
    assert [(each["file"], each["line"]) for each in found] == [("overlays/wrong/overlay.yaml", 4)]
    assert osm_gitops("validate", "overlays/right/overlay.yaml").code == 0
    overlay("overlays/wrong", "overlays: [../right, ../gone]")
    ran = osm_gitops("validate", "overlays", "-o", "json")
    (found,) = (each for each in json.loads(ran.out)["findings"] if each["id"] == "overlay")
    assert (found["file"], found["line"]) == ("overlays/wrong/overlay.yaml", 3)
    assert found["message"].startswith("overlay overlays/gone: overlay not found")


def test_an_overlay_that_was_not_there_yet_is_tried_against_a_revision(here: Path) -> None:
    repository = new_repository(here / "repo")
    write_tree(repository / "tree", profile(**_BOOTSTRAP), pool())
    write_fleet(repository, "clusters:\n- {name: a, from: tree, to: {git: {path: state}}}\n")
    commit_all(repository, "before")
    overlay("repo/new", "values: {mirror: tried}")
    for source in (("--from", "repo/tree", "--to", "repo/state"), ("--fleet", "repo/osm-gitops.yaml")):
        shown = osm_gitops("plan", *source, "--against", "HEAD", "--overlay", "repo/new")
        assert shown.code == 0, shown.err
        assert "-echo none\n        +echo tried" in shown.out
        assert "0 to create, 2 to update" in shown.out


def test_a_built_in_profile_of_a_version_is_shown_and_compared_with_overlays() -> None:
    overlay("a", 'patches:\n- {target: {name: osp-ubuntu}, merge: {spec: {osVersion: "26.04"}}}')
    for command in ("show", "diff"):
        ran = osm_gitops("osp", command, "osp-ubuntu@v2.1.0", "--overlay", "a")
        assert (ran.code, ran.err) == (0, "")
        assert "26.04" in ran.out
        assert "v2.1.0+a." in ran.out
    idle = osm_gitops("osp", "show", "osp-rhel@v2.1.0", "--overlay", "a")
    assert (idle.code, idle.err) == (0, "")
    assert "version: v2.1.0\n" in idle.out


def test_validate_leaves_open_what_profiles_that_are_in_a_cluster_need_of_an_overlay() -> None:
    write_tree(Path("tree"), pool("live", profile="osp-live"), pool("out", profile="osp-out"))
    write_fleet(
        Path(),
        "clusters:\n- {name: a, from: {machineDeployments: tree, profiles: cluster}, overlays: [ov]}\n",
    )
    overlay(
        "ov", f"values: {{mine: a}}\nprofiles: [osp-live, osp-ubuntu]\n{_removing('/x').replace('osp-a', 'osp-l*')}"
    )
    ran = osm_gitops("validate", "-o", "json")
    assert ran.code == 0, ran.out
    told = [each["message"] for each in json.loads(ran.out)["findings"] if each["id"] == "passed-over"]
    assert "its profiles are only in the cluster, which validate does not read" in told
    assert "its profile kube-system/osp-live is not among the files given, so it was not rendered" in told


def test_a_value_that_a_built_in_profile_cannot_use_is_told_as_a_value() -> None:
    write_tree(Path("tree"), pool("ubuntu", profile="osp-ubuntu"))
    for value, end in (
        ("{downloads: {kubernetes: [a]}}", "correct the setting or value that it reads there"),
        ("{downloads: a}", "Make downloads a mapping under `values` of the overlay that sets it"),
    ):
        overlay("a", f"values: {value}")
        ((code, sentence),) = faults("a")
        assert code is Code.TEMPLATE_FAILED
        assert sentence.startswith("builtin:parts/binaries.sh@v2.1.0:")
        assert sentence.endswith(end)
