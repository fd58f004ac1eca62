"""One mistake does not hide another one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.commands.validate.results import Scope
from osm_gitops.commands.validate.run import Verdict, validate
from osm_gitops.model.finding import Severity
from osm_gitops.model.profile import JINJA2_V1, TEMPLATE_ANNOTATION
from osm_gitops.model.settings import Settings
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder
from tests.cli.scenes import file, pool, profile, write_tree

KUBELET_CONF = "/etc/kubernetes/kubelet.conf"
_HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def verdict_on(folder: Path, files: Iterable[dict[str, Any]], **more: Any) -> Verdict:
    """What is found of a profile with these files."""
    return _verdict_on(write_tree(folder, profile(provisioningConfig={"files": list(files)}, **more)), Settings())


def _verdict_on(tree: Path, settings: Settings) -> Verdict:
    inputs = read_tree(Folder(tree, "tree"), management_namespace="kube-system", environment={})
    return validate([Scope("all", inputs, settings)], {"PATH": os.environ["PATH"]})


def test_a_mistake_with_one_annotation_does_not_hide_that_of_another(tmp_path: Path) -> None:
    text = (
        f"{_HEAD}{{{{ with .ImageMinimumGCAge }}}}imageMinimumGCAge: '2m\n{{{{ end }}}}"
        "{{ if .MaxPods }}maxPods: many\n{{ end }}"
    )

    found = verdict_on(tmp_path, [file(KUBELET_CONF, text, 600)]).findings

    assert {each.id for each in found} >= {"kubelet-syntax", "kubelet-type"}


@pytest.mark.exhaustive
def test_a_profile_that_reaches_a_limit_does_not_hide_the_mistakes_of_other_profiles_and_pools(tmp_path: Path) -> None:
    endless = "{{ range $i := until 30000 }}{{ range $j := until 30000 }}{{ if eq $i $j }}{{ end }}{{ end }}{{ end }}\n"
    tree = write_tree(
        tmp_path,
        profile("osp-endless", provisioningConfig={"files": [file("/opt/bin/loop", endless)]}),
        profile("osp-broken", provisioningConfig={"files": [file("opt/bin/b", "b\n")]}),
        pool("one", "osp-endless"),
        pool("two", "osp-broken", operatingSystem="windows"),
    )

    found = _verdict_on(tree, Settings(max_render_seconds=1, max_loop_steps=10**9)).findings

    told = {(each.id, each.about) for each in found if each.problem or each.id == "unclean-path"}
    assert told >= {
        ("rendering", "OperatingSystemProfile kube-system/osp-endless"),
        ("unclean-path", "OperatingSystemProfile kube-system/osp-broken, opt/bin/b"),
        ("rendering", "MachineDeployment kube-system/one"),
        ("pool", "MachineDeployment kube-system/two"),
    }


_FAILING = {
    "a syntax error": "echo {{ if }}",
    "an unknown field": "echo {{ .Nothing }}",
    "a version": '{{ if contains "1.31." .KubeVersion }}{{ index (list) 99 }}{{ end }}',
    "a template": '{{ template "part" . }}',
}
_FAILING_IN_JINJA = {
    "a syntax error": "echo {% if %}",
    "an unknown field": "echo {{ Nothing.x.y }}",
    "a version": "{% if KubeVersion.startswith('1.31.') %}{{ Nothing.x.y }}{% endif %}",
    "a template": "{% include 'part' %}",
}


@pytest.mark.parametrize("jinja", [False, True])
@pytest.mark.parametrize("kind", _FAILING)
def test_a_file_that_cannot_be_rendered_does_not_hide_mistakes_in_others(
    tmp_path: Path, kind: str, *, jinja: bool
) -> None:
    texts = _FAILING_IN_JINJA if jinja else _FAILING
    part = texts["an unknown field"] if kind == "a template" else "echo\n"
    call = "{% include 'part' %}" if jinja else '{{ template "part" . }}'
    files = [
        file("/opt/bin/failing", f"#!/bin/bash\n{texts[kind]}\n"),
        file("/opt/bin/open", "#!/bin/bash\nif true; then\n  echo\n"),
        file("opt/relative", "x\n"),
        file("/opt/bin/user", f"#!/bin/bash\nif true; then\n{call}\nfi\n"),
    ]
    body = profile(bootstrapConfig={}, provisioningConfig={"files": files, "templates": {"part": part}})
    if jinja:
        body["metadata"]["annotations"] = {TEMPLATE_ANNOTATION: JINJA2_V1}

    found = _verdict_on(write_tree(tmp_path, body), Settings()).findings

    failing = {each.about.partition(", ")[2] for each in found if each.severity is Severity.ERROR}
    # Without its part, the script of the user would have no command between then and fi.
    assert failing == {"part" if kind == "a template" else "/opt/bin/failing", "/opt/bin/open", "opt/relative"}


def test_a_file_that_fails_without_a_part_that_fails_is_no_mistake(tmp_path: Path) -> None:
    user = "{% from 'part' import greeting %}{{ greeting('x') }}\n"
    files = [file("/opt/bin/user", user), file("opt/relative", "x\n")]
    templates = {"part": "{% macro greeting(name) %}{{ name }{% endmacro %}"}
    body = profile(bootstrapConfig={}, provisioningConfig={"files": files, "templates": templates})
    body["metadata"]["annotations"] = {TEMPLATE_ANNOTATION: JINJA2_V1}

    found = _verdict_on(write_tree(tmp_path, body), Settings()).findings

    failing = {each.about.partition(", ")[2] for each in found if each.severity is Severity.ERROR}
    assert failing == {"part", "opt/relative"}
