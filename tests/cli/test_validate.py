"""``validate`` as people run it: what it finds, where, in which form, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from osm_gitops.errors import Code
from osm_gitops.lint.rules import rules
from osm_gitops.model.machine import KUBELET_CONFIG_PREFIX
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import file, pool, profile, secret, write_fleet, write_tree
from tests.cli.schemas import checked
from tests.faults import Expected, told
from tests.git.repos import git, new_repository
from tests.sources.sealed import sealed

_SETUP = "#!/bin/sh\necho {{ .KubeVersion }}\n"
_JINJA = {"osm-gitops.io/template": "jinja2/v1"}

Scene = Callable[[Path], object]


def found(*arguments: str) -> list[dict[str, Any]]:
    """The findings of a run in the current folder."""
    ran = osm_gitops("validate", *arguments, "-o", "json")
    assert not ran.err, ran.err
    findings: list[dict[str, Any]] = checked("findings", ran.out)["findings"]
    # Which programs are there is a matter of the machine.
    return [each for each in findings if not each["id"].endswith("-not-installed")]


def ids(*arguments: str) -> set[str]:
    return {each["id"] for each in found(*arguments)}


def osp(script: str = _SETUP, *, jinja: bool = False, annotations: Mapping[str, str] | None = None, **spec: Any) -> Any:
    """A profile whose provisioning half has one file, in block style so that its lines are lines of the manifest."""
    body = profile(provisioningConfig={"files": [file("/opt/bin/setup", script)]}, **spec)
    if jinja:
        script = "{{ SecretName }} {{ Token }} {{ ServerURL }}\n"
        body["spec"]["bootstrapConfig"] = {"files": [file("/opt/bin/bootstrap", script, 700)]}
    elif "bootstrapConfig" not in spec:
        body["spec"]["bootstrapConfig"]["files"][0]["permissions"] = 700
    body["metadata"]["annotations"] = {**(_JINJA if jinja else {}), **(annotations or {})}
    return body


def write(folder: Path, *objects: Mapping[str, Any]) -> Path:
    for body in objects:
        path = folder / f"{body['metadata']['name']}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.dump(body, Dumper=_Blocks, sort_keys=False, width=1000), "utf-8")
    return folder


class _Blocks(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Blocks.add_representer(str, _block)


def _line(path: Path, text: str) -> str:
    """``file:line`` of the first line that holds a text."""
    lines = path.read_text("utf-8").splitlines()
    return f"{path.name}:{next(number for number, line in enumerate(lines, start=1) if text in line)}"


_MISTAKES: Mapping[str, tuple[Any, str]] = {
    # rule: what is wrong, and what stands in the line that the finding names
    "template-syntax": (osp("#!/bin/sh\n{{ nonsense 1 }}\n"), "nonsense"),
    "template-fails": (osp('#!/bin/sh\n{{ if eq .KubeVersion "x" }}\n{{ "a" 1 }}\n{{ end }}\n'), '"a" 1'),
    "template-refused": (osp('#!/bin/sh\n{{ if eq .KubeVersion "x" }}\n{{ now }}\n{{ end }}\n'), "now"),
    "undefined-name": (osp("#!/bin/sh\n{% if false %}\n{{ KubeVersoin }}\n{% endif %}\n", jinja=True), "Versoin"),
    "unknown-field": (osp('#!/bin/sh\n{{ if eq .KubeVersion "x" }}\n{{ .RhelConfig.Nam }}\n{{ end }}\n'), "Nam }}"),
    "unknown-filter": (osp("#!/bin/sh\n{{ 1 if true else (1 | nope) }}\n", jinja=True), "nope"),
    "missing-template": (osp('#!/bin/sh\n{% if false %}\n{% include "part" %}\n{% endif %}\n', jinja=True), "part"),
    "rendering": (osp("#!/bin/sh\n\n{{ index .KubeletFeatureGates 1 }}\n"), "index"),
    "never-rendered": (osp('#!/bin/sh\n{{ fail "not for anybody" }}\n'), "spec:"),
    "user-data": (osp(bootstrapConfig={"files": [file("/opt/it's", "text")]}), "opt/it"),
    "profile-schema": (osp(osName="windows"), "osName"),
    "pool-schema": (pool() | {"spec": []}, "spec"),
}


@pytest.mark.parametrize("rule", _MISTAKES)
def test_a_mistake_is_found_at_its_line(rule: str, tmp_path: Path) -> None:
    body, text = _MISTAKES[rule]
    write(tmp_path, body)
    name = f"{body['metadata']['name']}.yaml"
    told = [each for each in found(name) if each["id"] == rule]
    assert [f"{each['file']}:{each['line']}" for each in told] == [_line(tmp_path / name, text)], told


def test_an_unused_template_is_found_where_it_stands(tmp_path: Path) -> None:
    body = osp()
    body["spec"]["provisioningConfig"]["templates"] = {"lost": "text\n"}
    write(tmp_path, body)
    (told,) = found("osp-a.yaml")
    assert (told["id"], f"osp-a.yaml:{told['line']}") == ("unused-template", _line(tmp_path / "osp-a.yaml", "lost"))


def _fleet_with(text: str) -> Scene:
    return lambda folder: (write_tree(folder / "tree", osp(), pool()), write_fleet(folder, text))


_TWICE = {f"{KUBELET_CONFIG_PREFIX}{more}/MaxPods": "1" for more in ("", "x")}
_TREE = "clusters: [{name: a, from: tree}]\n"
_SCENES: Mapping[str, Scene] = {
    "unreadable": lambda folder: (folder / "a.yaml").write_text("apiVersion: v1\nkind: {\n"),
    "fleet-file": _fleet_with("clusters: [{name: a, from: tree, nonsense: 1}]\n"),
    "setting": _fleet_with("clusters: [{name: a, from: tree, settings: {clusterDNS: nowhere}}]\n"),
    "source": lambda folder: write(folder, osp(supportedCloudProviders=[{"name": "packet"}, {"name": "hetzner"}])),
    "name": lambda folder: write_tree(folder, osp(), pool("Workers")),
    "passed-over": lambda folder: write(folder, pool()),
    "nothing-to-judge": lambda folder: (folder / "a.yaml").write_text("a: [\n"),
    "cluster": lambda folder: write_tree(
        folder,
        osp(),
        pool(),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-info", "namespace": "kube-public"},
         "data": {"kubeconfig": "clusters: []"}},
    ),
    "pool": lambda folder: write_tree(folder, osp(), pool(cloudProvider="aws")),
    "pool-refused": lambda folder: write_tree(
        folder, osp('#!/bin/sh\n{{ if semverCompare "<1.29" .KubeVersion }}{{ fail "too old" }}{{ end }}\n'),
        pool(kubelet="1.28.0", overwriteCloudConfig=""),
    ),
    "pool-warning": lambda folder: write_tree(
        folder, osp(), pool(annotations=_TWICE)
    ),
    "suppression-reason": lambda folder: write(folder, osp(annotations={"ignore.osm-gitops.io/rendering": " "})),
    "suppression-unknown": lambda folder: write(folder, osp(annotations={"ignore.osm-gitops.io/renderin": "why"})),
    "suppression-unused": lambda folder: write(folder, osp(annotations={"ignore.osm-gitops.io/rendering": "why"})),
}  # fmt: skip


@pytest.mark.parametrize("rule", _SCENES)
def test_what_is_wrong_around_templates_is_found(rule: str, tmp_path: Path) -> None:
    _SCENES[rule](tmp_path)
    arguments = () if (tmp_path / "osm-gitops.yaml").exists() else (".",)
    assert rule in ids(*arguments)


_COMPARED = {"version-not-raised", "version-went-back", "profile-vanished"}


def test_every_rule_of_the_core_has_a_mistake_that_gives_it() -> None:
    # Overlays have their own tests.
    assert {*_MISTAKES, *_SCENES, *_COMPARED, "unused-template", "overlay"} == {rule.id for rule in rules.RULES}


def test_sound_profiles_and_pools_pass(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", osp(), pool())
    write_fleet(tmp_path, _TREE)
    ran = osm_gitops("validate", "--severity", "warning")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "0 errors, 0 warnings, 0 notes. Checked: 1 profile, 1 pool, 18 combinations.\n"


def test_the_profile_of_one_folder_is_judged_with_the_pools_of_another_and_not_the_built_in_one_of_its_name(
    tmp_path: Path,
) -> None:
    write_tree(tmp_path / "pools", pool("ubuntu", profile="osp-ubuntu"))
    write_tree(tmp_path / "osps", profile("osp-ubuntu", script="{{ .Nonsense }}"))
    for order in (("pools", "osps"), ("osps", "pools")):
        assert "unknown-field" in ids(*order)


def test_a_finding_is_a_whole_sentence_also_where_the_problem_goes_on_behind_its_field(tmp_path: Path) -> None:
    body = osp(annotations={"osm-gitops.io/template": "mustache"})
    del body["spec"]["osVersion"]
    write(tmp_path, body)
    assert [each["message"] for each in found("osp-a.yaml", "--severity", "error")] == [
        "osm-gitops.io/template names a template language that this version does not support",
        "osVersion is missing",
    ]


def test_a_profile_may_refuse_what_it_is_not_for(tmp_path: Path) -> None:
    script = '#!/bin/sh\n{{ if semverCompare "<1.33" .KubeVersion }}{{ fail "too old" }}{{ end }}\n'
    write(tmp_path, osp(script))
    ran = osm_gitops("validate", "osp-a.yaml")
    assert ran.code == 0
    assert "refused by their profiles" in ran.out


def test_nothing_encrypted_is_opened_and_facts_of_a_cluster_need_not_be_there(tmp_path: Path) -> None:
    write(tmp_path / "tree", osp(), pool())
    other = yaml.safe_dump(secret("other", "kube-system", {"a": "b"}))
    (tmp_path / "tree" / "sealed.yaml").write_text(sealed(other), "utf-8")
    write_fleet(tmp_path, "clusters: [{name: a, from: {machineDeployments: tree, facts: cluster}}]\n")
    assert ids() == {"passed-over"}


def test_sources_that_are_clusters_are_passed_over_with_a_note(tmp_path: Path) -> None:
    write_fleet(tmp_path, "clusters: [{name: a, from: cluster}]\n")
    (told,) = found()
    assert (told["id"], told["severity"], told["object"]) == ("passed-over", "note", "cluster a")


def test_a_finding_says_in_which_combinations_it_was_seen(tmp_path: Path) -> None:
    write(tmp_path, osp("#!/bin/sh\n{{ if .HTTPProxy }}{{ index .KubeletFeatureGates 1 }}{{ end }}\n"))
    (told,) = (each for each in found("osp-a.yaml") if each["id"] == "rendering")
    assert told["seenIn"]
    assert all("HTTP proxy" in each or "all settings" in each for each in told["seenIn"])


def _ends(ran: Ran) -> tuple[int, bool]:
    return ran.code, "unused-template" in ran.out


def test_warnings_fail_only_where_that_is_asked_for_and_can_be_left_out(tmp_path: Path) -> None:
    body = osp()
    body["spec"]["provisioningConfig"]["templates"] = {"lost": "text\n"}
    write(tmp_path, body)
    assert _ends(osm_gitops("validate", "osp-a.yaml")) == (0, True)
    assert _ends(osm_gitops("validate", "osp-a.yaml", "--strict")) == (1, True)
    assert _ends(osm_gitops("validate", "osp-a.yaml", "--severity", "error")) == (0, False)
    body["metadata"]["annotations"] = {"ignore.osm-gitops.io/unused-template": "kept for later"}
    write(tmp_path, body)
    ran = osm_gitops("validate", "osp-a.yaml", "--strict")
    assert _ends(ran) == (0, False)
    assert "1 suppressed" in ran.out
    (told,) = found("osp-a.yaml")
    assert told["suppressed"] == "kept for later"


def test_a_pool_can_suppress_what_is_found_of_it(tmp_path: Path) -> None:
    write_tree(tmp_path, osp(), pool(annotations={**_TWICE, "ignore.osm-gitops.io/pool-warning": "known"}))
    (told,) = found(".")
    assert (told["id"], told["suppressed"]) == ("pool-warning", "known")


def _history(monkeypatch: pytest.MonkeyPatch, folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A repository whose last commit changes a profile that a pool uses."""
    monkeypatch.chdir(new_repository(folder))
    write_fleet(folder, _TREE)
    body = osp()
    write(folder / "tree", body, pool())
    _commit(folder)
    change(body)
    write(folder / "tree", body)
    _commit(folder)


def _commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "change")


def _script(body: dict[str, Any], version: str) -> None:
    body["spec"]["provisioningConfig"]["files"][0]["content"]["inline"]["data"] += "true\n"
    body["spec"]["version"] = version


def _renamed(body: dict[str, Any]) -> None:
    Path("tree/osp-a.yaml").unlink()
    body["metadata"]["name"] = "osp-b"


@pytest.mark.parametrize(
    ("version", "expected"),
    [("v1.0.0", ["version-not-raised"]), ("v0.9.0", ["version-went-back"]), ("v1.0.1", [])],
)
@pytest.mark.parametrize("arguments", [(), ("tree",)])
def test_a_changed_spec_needs_a_new_version(
    version: str, expected: list[str], arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _history(monkeypatch, tmp_path / "repo", lambda body: _script(body, version))
    told = [each for each in found(*arguments, "--against", "HEAD^") if each["id"] != "passed-over"]
    assert [each["id"] for each in told] == expected
    assert all(f"osp-a.yaml:{each['line']}" == _line(Path("tree/osp-a.yaml"), "version:") for each in told)
    assert all(("(" in each["message"]) == (each["id"] == "version-not-raised") for each in told)


def test_a_profile_that_vanishes_while_a_pool_names_it_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _history(monkeypatch, tmp_path / "repo", _renamed)
    assert "profile-vanished" in ids("--against", "HEAD^")


def test_a_revision_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _history(monkeypatch, tmp_path / "repo", lambda body: _script(body, "v2.0.0"))
    for arguments in ((), ("tree",)):
        ran = osm_gitops("validate", *arguments, "--against", "nowhere")
        assert (ran.code, ran.out) == (1, "")
        assert Expected(Code.REVISION_NOT_FOUND, "nowhere") in told(ran.err)


def test_trees_that_say_different_things_of_a_profile_are_both_judged(tmp_path: Path) -> None:
    write(tmp_path / "one", osp())
    write(tmp_path / "two", osp("#!/bin/sh\n{{ nonsense 1 }}\n"))
    told = [each for each in found("one", "two") if each["severity"] == "error"]
    assert {(each["id"], each["file"]) for each in told} == {("template-syntax", "two/osp-a.yaml")}


def test_a_folder_of_several_clusters_is_judged_with_the_facts_of_none(tmp_path: Path) -> None:
    for cluster in ("one", "two"):
        write_tree(tmp_path / cluster)
    write(tmp_path, osp(), pool())
    told = [each for each in found(".") if "several clusters" in each.get("fix", "")]
    assert {(each["id"], each["file"].split("/")[0]) for each in told} == {("passed-over", "one")}
    assert osm_gitops("validate", ".").code == 0


def _mends_folder(folder: Path) -> None:
    write(folder / "tree", osp(), pool())


def _mends_fleet_file(folder: Path) -> None:
    write_fleet(folder, _TREE)


@pytest.mark.parametrize(
    ("before", "mend", "arguments"),
    [
        (_TREE, _mends_folder, ()),
        (_TREE, _mends_folder, ("tree",)),
        (f"{_TREE}nonsense: 1\n", _mends_fleet_file, ()),
    ],
    ids=["a folder of a cluster", "a folder by its name", "the fleet file"],
)
def test_a_change_that_brings_what_was_missing_or_mends_it_passes(
    before: str,
    mend: Callable[[Path], None],
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "repo"
    monkeypatch.chdir(new_repository(folder))
    write_fleet(folder, before)
    if mend is _mends_fleet_file:
        _mends_folder(folder)
    _commit(folder)
    mend(folder)
    _commit(folder)
    ran = osm_gitops("validate", *arguments, "--against", "HEAD^")
    assert (ran.code, ran.err) == (0, "")
    assert "note passed-over: not all is compared with HEAD^: " in ran.out


def test_a_path_that_is_not_there_is_an_error() -> None:
    ran = osm_gitops("validate", "nowhere.yaml")
    assert (ran.code, ran.out, ran.err) == (1, "", "Error: nowhere.yaml: no such file or folder [OG1011]\n")


# how findings are written


@pytest.fixture
def mistaken(tmp_path: Path) -> Path:
    """A tree with an error and a warning that is suppressed, in a file with a name that every form must escape."""
    body = osp("#!/bin/sh\n{{ nonsense 1 }}\n")
    other = osp(annotations={"ignore.osm-gitops.io/unused-template": "50% of <it> & more"})
    other["metadata"]["name"] = "osp-b"
    other["spec"]["provisioningConfig"]["templates"] = {"lost": "text\n"}
    folder = tmp_path / "a,b:c & 50%"
    return write(folder, body, other)


def test_text_is_a_paragraph_a_finding(mistaken: Path) -> None:
    ran = osm_gitops("validate", mistaken.name, "--severity", "warning")
    head, of, fix, empty, summary = ran.out.splitlines()
    place = _line(mistaken / "osp-a.yaml", "nonsense")
    assert head.startswith(f"{mistaken.name}/{place}: error template-syntax: function 'nonsense' is not defined")
    assert of.startswith("  of OperatingSystemProfile kube-system/osp-a, /opt/bin/setup")
    assert (ran.code, fix[:2], empty) == (1, "  ", "")
    assert summary.startswith("1 error, 0 warnings, 0 notes, 1 suppressed. Checked: 2 profiles, 0 pools, ")


def test_sarif_has_what_code_scanning_reads(mistaken: Path) -> None:
    (run,) = json.loads(osm_gitops("validate", mistaken.name, "--severity", "warning", "-o", "sarif").out)["runs"]
    results = {each["ruleId"]: each for each in run["results"]}
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [each["ruleId"] for each in run["results"]]
    location = results["template-syntax"]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "a%2Cb%3Ac%20%26%2050%25/osp-a.yaml"
    assert location["region"]["startLine"] == int(_line(mistaken / "osp-a.yaml", "nonsense").split(":")[1])
    assert results["unused-template"]["suppressions"] == [{"kind": "inSource", "justification": "50% of <it> & more"}]


def test_junit_fails_for_errors_and_skips_what_is_suppressed(mistaken: Path) -> None:
    suite = ET.fromstring(osm_gitops("validate", mistaken.name, "--severity", "warning", "-o", "junit").out)
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    failed, skipped = suite
    assert failed.get("file") == f"{mistaken.name}/osp-a.yaml"
    assert [each.tag for each in (*failed, *skipped)] == ["failure", "skipped"]
    assert skipped[0].get("message") == "50% of <it> & more"


def test_with_strict_junit_fails_for_warnings_too(mistaken: Path) -> None:
    other = osp()
    other["metadata"]["name"] = "osp-c"
    other["spec"]["provisioningConfig"]["templates"] = {"lost": "text\n"}
    write(mistaken, other)
    command = ("validate", mistaken.name, "--severity", "warning", "-o", "junit")
    assert [ET.fromstring(osm_gitops(*command, *more).out).get("failures") for more in ((), ("--strict",))] == [
        "1",
        "2",
    ]


def test_every_result_in_sarif_has_a_place_and_every_rule_its_texts(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (run,) = json.loads(osm_gitops("validate", "empty", "-o", "sarif").out)["runs"]
    assert "nothing-to-judge" in {each["ruleId"] for each in run["results"]}
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert (place["artifactLocation"]["uri"], place["region"]) == ("empty", {"startLine": 1})
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["fullDescription"]["text"].endswith(".")
        assert rule["id"] in rule["help"]["text"]
        assert rule["helpUri"].endswith(f"/reference/lint-rules/#{rule['id']}")


def test_annotations_of_github_are_escaped(mistaken: Path) -> None:
    (line,) = osm_gitops("validate", mistaken.name, "--severity", "warning", "-o", "github").out.splitlines()
    number = _line(mistaken / "osp-a.yaml", "nonsense").split(":")[1]
    head = f"::error file=a%2Cb%3Ac & 50%25/osp-a.yaml,line={number},title=template-syntax::function 'nonsense'"
    assert line.startswith(head)


def test_findings_in_built_in_profiles_are_not_placed_in_files_of_the_repository(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool())
    values = (
        "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\nprofiles: [osp-amzn2]\nvalues: {packages: {extra: 5}}\n"
    )
    (tmp_path / "site").mkdir()
    (tmp_path / "site/overlay.yaml").write_text(values, "utf-8")
    wanted = ("validate", str(tmp_path / "tree"), "--overlay", str(tmp_path / "site"), "--severity", "error")
    place = "builtin:parts/packages-yum.sh@v2.1.0"
    assert f"\n{place}:" in "\n" + osm_gitops(*wanted).out
    found = next(
        each for each in json.loads(osm_gitops(*wanted, "-o", "json").out)["findings"] if each.get("file") == place
    )
    results = json.loads(osm_gitops(*wanted, "-o", "sarif").out)["runs"][0]["results"]
    uris = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in results}
    assert "builtin%3Aparts/packages-yum.sh%40v2.1.0" in uris  # a colon would make it a URI of another scheme
    lines = osm_gitops(*wanted, "-o", "github").out.splitlines()
    assert any(line.startswith(f"::error title={found['id']}::{place}:{found['line']}: ") for line in lines)


def test_a_pool_that_its_profile_refuses_is_told_at_the_pool_with_the_reason(tmp_path: Path) -> None:
    write_tree(tmp_path, pool(profile="osp-amzn2", kubelet="1.37.0", cloudProvider="aws", operatingSystem="amzn2"))
    (found,) = json.loads(osm_gitops("validate", ".", "--severity", "error", "-o", "json").out)["findings"]
    assert (found["id"], found["file"]) == ("pool-refused", "MachineDeployment-workers.yaml")
    assert "builtin:osp-amzn2@v2.1.0:" in found["message"]


def test_no_secret_is_in_any_form_of_output(tmp_path: Path) -> None:
    body = osp('#!/bin/sh\n{{ index .KubeletFeatureGates "abcdef-very-secret" }}{{ fail "abcdef-very-secret" }}\n')
    write_tree(tmp_path, body, pool(), token="abcdef-very-secret")
    for form in ("text", "json", "sarif", "junit", "github"):
        ran = osm_gitops("validate", ".", "-o", form)
        assert ran.code == 1
        assert "very-secret" not in ran.out + ran.err
