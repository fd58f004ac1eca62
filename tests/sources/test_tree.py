"""A folder of manifests as a frozen cluster (design.md, "Terms" and "Sources and targets of a command")."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osm_gitops.errors import Code
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder
from osm_gitops.yaml.emit import dump
from tests.apiserver.after_osm import RECORDED
from tests.conformance_data import case_names, load_case
from tests.faults import Expected, placed, refused
from tests.sources.trees import MACHINE, MACHINE_REF, PROFILE, PROFILE_REF, found, manifest, problems, read

JSON_MACHINE = '{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment", "metadata": {"name": "z"}}'
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: ns}\n"


def test_files_of_every_depth_and_kind_are_read_in_order(tmp_path: Path) -> None:
    inputs = read(
        tmp_path,
        {
            "b/deep/er/osp.yml": PROFILE,
            "a.json": JSON_MACHINE,
            "c.yaml": f"{MACHINE}---\n{MACHINE.replace('pool', 'b')}",
            "README.md": "kind: MachineDeployment",
            ".hidden/x.yaml": "a: [",
            ".sops.yaml": "a: [",
        },
    )
    assert [str(machine.manifest.origin) for machine in inputs.machines] == ["t/c.yaml:14", "t/c.yaml:1"]
    assert found(inputs) == [(Code.MISSING_KEY, "t/a.json:1: MachineDeployment kube-system/z: spec")]
    assert str(inputs.profiles["kube-system", "osp-a"].manifest.origin) == "t/b/deep/er/osp.yml:1"
    assert (inputs.unreadable, inputs.sources) == ((), ("t",))


def test_a_single_file_is_a_tree(tmp_path: Path) -> None:
    path = tmp_path / "only.yaml"
    path.write_text(MACHINE)
    inputs = read_tree(Folder(path, str(path)), management_namespace="x", environment={})
    assert [str(machine.manifest.origin) for machine in inputs.machines] == [f"{path}:1"]


def test_there_must_be_something(tmp_path: Path) -> None:
    with refused(Code.SOURCE_NOT_FOUND):
        read_tree(Folder(tmp_path / "a", "nowhere"), management_namespace="x", environment={})


def test_a_missing_namespace_is_filled_in(tmp_path: Path) -> None:
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    for name, text in {"a": PROFILE, "b": MACHINE, "c": config_map}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    inputs = read_tree(Folder(tmp_path, "t"), management_namespace="mgmt", environment={})
    assert list(inputs.profiles) == [("mgmt", "osp-a")]
    assert inputs.machines[0].namespace == "kube-system"
    assert list(inputs.facts.config_maps) == [("default", "c")]


@pytest.mark.parametrize(("namespace", "found"), [("", "mgmt"), ("kubermatic", "mgmt"), ("other", "other")])
def test_a_custom_profile_of_kkp_is_a_profile(tmp_path: Path, namespace: str, found: str) -> None:
    text = PROFILE.replace("kind: ", "kind: Custom").replace("name: osp-a", f"name: osp-a\n  namespace: '{namespace}'")
    (tmp_path / "a.yaml").write_text(text)
    inputs = read_tree(Folder(tmp_path, "t"), management_namespace="mgmt", environment={})
    assert list(inputs.profiles) == [(found, "osp-a")]
    assert inputs.profiles[found, "osp-a"].manifest.body["kind"] == "OperatingSystemProfile"


def test_lists_are_unpacked_however_deep(tmp_path: Path) -> None:
    inputs = read(
        tmp_path,
        {
            "a.yaml": dump(
                {"apiVersion": "v1", "kind": "List", "items": [_typed_list(), {"kind": "List", "items": []}]}
            ),
            "b.yaml": "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: s}\n  stringData: {a: b}\n",
        },
    )
    assert [machine.name for machine in inputs.machines] == ["one", "two"]
    assert inputs.facts.secrets["default", "s"].origin.line == 4
    assert problems(inputs) == []


def _typed_list() -> object:
    spec = {"template": {"spec": {"versions": {"kubelet": "1.34.2"}, "providerSpec": {"value": {}}}}}
    items = [{"metadata": {"name": name}, "spec": spec} for name in ("two", "one")]
    return {"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeploymentList", "items": items}


def test_facts_are_found_by_namespace_and_name(tmp_path: Path) -> None:
    text = manifest("""
        apiVersion: v1
        kind: Secret
        type: t
        metadata: {name: s, namespace: ns, labels: {l: v}}
        data: {a: YQ==, b: "Yg==\\n", c: /w==, e: ~}
        stringData: {b: override, d: text}
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: c, namespace: ns}
        data: {k: v}
        ---
        apiVersion: v1
        kind: ServiceAccount
        metadata: {name: sa, namespace: ns}
        secrets: [{name: x}, {name: z}]
        """)
    facts = read(tmp_path, {"a.yaml": text}).facts
    secret = facts.secrets["ns", "s"]
    assert secret.data == {"a": b"a", "b": b"override", "c": b"\xff", "d": b"text", "e": b""}
    assert (secret.type, secret.labels) == ("t", {"l": "v"})
    assert facts.config_maps["ns", "c"].data == {"k": "v"}
    assert facts.service_accounts["ns", "sa"].secrets == ("x", "z")


def test_the_slices_of_the_api_servers_are_sorted_by_name(tmp_path: Path) -> None:
    def endpoints(name: str, namespace: str = "default", service: str = "kubernetes") -> str:
        return dump(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": name, "namespace": namespace, "labels": {"kubernetes.io/service-name": service}},
            }
        )

    texts = [endpoints("b"), endpoints("a"), endpoints("c", "other"), endpoints("d", "default", "dns")]
    facts = read(tmp_path, {"a.yaml": "---\n".join(texts)}).facts
    assert [body["metadata"]["name"] for body in facts.endpoint_slices] == ["a", "b"]


def test_broken_base64_is_named_by_its_key_and_never_shown(tmp_path: Path) -> None:
    inputs = read(tmp_path, {"a.yaml": SECRET + "data:\n  good: YQ==\n  bad: hunter2!\n"})
    assert found(inputs) == [(Code.INVALID_VALUE, "t/a.yaml:6: Secret ns/s: data.bad")]
    assert "hunter2" not in str(problems(inputs))
    assert inputs.facts.secrets == {}


def test_only_credential_variables_of_the_environment_are_kept(tmp_path: Path) -> None:
    environment = {"OS_PASSWORD": "p", "OS_PASS": "x", "HOME": "/", "POD_NAMESPACE": ""}
    inputs = read_tree(Folder(tmp_path, "t"), management_namespace="x", environment=environment)
    assert inputs.facts.environment == {"OS_PASSWORD": "p", "POD_NAMESPACE": ""}


def test_an_object_that_stands_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    inputs = read(
        tmp_path, {"a.yaml": MACHINE, "b.yaml": f"{PROFILE}---\n{MACHINE}", "c.yaml": PROFILE, "d.yaml": SECRET}
    )
    assert (inputs.machines, inputs.profiles) == ((), {})
    assert found(inputs) == [
        (Code.DUPLICATE_OBJECT, f"t/a.yaml:1: {MACHINE_REF}"),
        (Code.DUPLICATE_OBJECT, f"t/b.yaml:1: {PROFILE_REF}"),
    ]
    machines, profiles = problems(inputs)
    assert machines == Expected(Code.DUPLICATE_OBJECT, "t/a.yaml:1", "t/b.yaml:19")
    assert profiles == Expected(Code.DUPLICATE_OBJECT, "t/b.yaml:1", "t/c.yaml:1")


def test_what_we_wrote_gives_way_to_its_original(tmp_path: Path) -> None:
    ours = PROFILE.replace("name: osp-a", f"name: osp-a\n  labels: {{{MANAGED_BY_LABEL}: {MANAGED_BY}}}")
    inputs = read(tmp_path, {"a/out.yaml": ours, "b/in.yaml": PROFILE})
    assert str(inputs.profiles["kube-system", "osp-a"].manifest.origin) == "t/b/in.yaml:1"
    assert "its original is t/b/in.yaml:1" in inputs.notes[0]
    assert problems(inputs) == []


def test_files_that_are_no_manifests_are_passed_over_with_a_reason(tmp_path: Path) -> None:
    inputs = read(
        tmp_path,
        {
            "kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a]\n",
            "values.yaml": "replicas: 3\n",
            "tasks.yaml": "- name: kind of\n  x: {{ jinja }}\n",
            "osm-gitops.yaml": "apiVersion: osm-gitops.io/v1alpha1\nkind: Fleet\nclusters: []\n",
            "chart/Chart.yaml": "apiVersion: v2\nname: x\n",
            "chart/templates/a.yaml": MACHINE.replace("1.34.2", "{{ .Values.version }}"),
            "chart/templates/sub/b.yaml": "{{- if .Values.x }}\n" + MACHINE + "{{- end }}\n",
            "chart/templates/c.yaml": MACHINE.replace("name: pool", 'name: "{{ .Release.Name }}-pool"'),
        },
    )
    assert (problems(inputs), inputs.machines, inputs.warnings) == ([], (), ())
    assert inputs.notes == (
        "t/chart/Chart.yaml: holds no Kubernetes objects",
        "t/chart/templates/a.yaml: a Helm template; render the chart to have its objects read",
        "t/chart/templates/c.yaml:1: a Helm template; render the chart to have it read",
        "t/chart/templates/sub/b.yaml: a Helm template; render the chart to have its objects read",
        "t/tasks.yaml: neither YAML nor, without apiVersion and kind, a manifest",
        "t/values.yaml: holds no Kubernetes objects",
        "1 of kind Fleet ignored",
        "1 of kind Kustomization ignored",
    )


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        (MACHINE.replace("1.34.2", "{{ .Values.x }}"), Code.YAML_VALUE, "t/a.yaml:9"),
        (MACHINE + "\tx: 1\n", Code.YAML_SYNTAX, "t/a.yaml:13"),
        (MACHINE.replace("spec:", "<<<<<<< HEAD\nspec:", 1), Code.YAML_SYNTAX, "t/a.yaml:5"),
        (MACHINE.replace("name: pool", "name: pool\n  name: pool"), Code.DUPLICATE_KEY, "t/a.yaml:5"),
        (MACHINE.encode("utf-16"), Code.TEXT_ENCODING, "t/a.yaml"),
        (MACHINE.encode() + b"\xff", Code.TEXT_ENCODING, "t/a.yaml:13"),
        (
            MACHINE.replace("  name: pool\n", "  x: y\n"),
            Code.OBJECT_NOT_IDENTIFIED,
            "t/a.yaml:3: this MachineDeployment: metadata.name",
        ),
        (
            MACHINE.replace("name: pool", "name: 5"),
            Code.OBJECT_NOT_IDENTIFIED,
            "t/a.yaml:4: this MachineDeployment: metadata.name",
        ),
        (
            MACHINE.replace("  name: pool", "- a"),
            Code.OBJECT_NOT_IDENTIFIED,
            "t/a.yaml:3: this MachineDeployment: metadata",
        ),
        (MACHINE.split("\n", 1)[1], Code.OBJECT_NOT_IDENTIFIED, "t/a.yaml:1: this MachineDeployment: apiVersion"),
        (
            MACHINE.replace("v1alpha1", "v1alpha"),
            Code.OBJECT_NOT_IDENTIFIED,
            "t/a.yaml:1: this MachineDeployment: apiVersion",
        ),
        (
            MACHINE.replace("Deployment", "Deploymnt"),
            Code.OBJECT_NOT_IDENTIFIED,
            "t/a.yaml:2: this MachineDeploymnt: kind",
        ),
        (SECRET + "sops: x\n", Code.SOPS_DAMAGED, "t/a.yaml:1: Secret ns/s: sops"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_a_problem(tmp_path: Path, text: str | bytes, code: Code, place: str) -> None:
    inputs = read(tmp_path, {"a.yaml": text, "b.yaml": PROFILE})
    assert placed(inputs.unreadable) == [(code, place)]
    assert list(inputs.profiles) == [("kube-system", "osp-a")]


def test_a_broken_file_of_many_lines_costs_no_more_than_its_length(tmp_path: Path) -> None:
    inputs = read(tmp_path, {"a.yaml": "kind: x\napiVersion: [\n" + " \n" * 300_000})
    assert [problem.where for problem in inputs.unreadable] == ["t/a.yaml:300003"]


def test_our_own_encrypted_objects_are_passed_over(tmp_path: Path) -> None:
    text = SECRET.replace("namespace: ns", f"namespace: ns, labels: {{{MANAGED_BY_LABEL}: {MANAGED_BY}}}")
    inputs = read(tmp_path, {"a.yaml": text + "sops: {mac: x}\n"})
    assert (inputs.unreadable, inputs.facts.secrets) == ((), {})
    assert inputs.notes == ("1 of kind Secret, encrypted and written by osm-gitops, ignored",)


def test_plain_secrets_in_git_are_warned_of_once(tmp_path: Path) -> None:
    text = SECRET + "stringData: {a: some-value}\n"
    names = ["s", *(f"t{number:02}" for number in range(12))]
    files = {f"{name}.yaml": text.replace("name: s", f"name: {name}") for name in names}
    assert read(tmp_path, files).warnings == ()
    (warning,) = read(tmp_path, files, in_git=True).warnings
    assert placed([warning]) == [(Code.SECRET_IN_PLAIN_TEXT, "t/s.yaml:1: Secret ns/s")]
    named = ", ".join(f"t/t{number:02}.yaml:1" for number in range(10))
    assert (named in warning.what, "t/t10.yaml" in warning.what) == (True, False)


def test_a_secret_without_a_value_needs_no_encryption(tmp_path: Path) -> None:
    files = {"a.yaml": SECRET, "b.yaml": SECRET.replace("name: s", "name: t") + "data: {a: ''}\n"}
    assert read(tmp_path, files, in_git=True).warnings == ()


def test_links_are_followed_inside_of_the_tree_only_and_once(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "..data").mkdir(parents=True)
    (root / "..data" / "md.yaml").write_text(MACHINE)
    (root / "md.yaml").symlink_to("..data/md.yaml")
    (root / "sub").mkdir()
    (root / "sub" / "loop").symlink_to(root)
    (root / "sub" / "again.yaml").symlink_to("../md.yaml")
    (root / "sub" / "circle.yaml").symlink_to("circle.yaml")
    (root / "gone.yaml").symlink_to("nowhere")
    (tmp_path / "outside.yaml").write_text(PROFILE)
    (root / "out.yaml").symlink_to(tmp_path / "outside.yaml")
    os.mkfifo(root / "pipe.yaml")
    inputs = read(root, {})
    assert [str(machine.manifest.origin) for machine in inputs.machines] == ["t/md.yaml:1"]
    assert inputs.profiles == {}
    assert [problem.where for problem in inputs.unreadable] == ["t/gone.yaml", "t/sub/circle.yaml"]
    assert inputs.notes == (
        "t/out.yaml: a link that leads out of the source is not followed",
        "t/pipe.yaml: not a regular file",
        "t/sub/again.yaml: a link to what is read already",
        "t/sub/loop: a link to what is read already",
    )


def test_a_large_tree_is_read_whole(tmp_path: Path) -> None:
    for start in range(0, 2000, 100):
        texts = [MACHINE.replace("name: pool", f"name: pool-{number:04}") for number in range(start, start + 100)]
        (tmp_path / f"{start:04}.yaml").write_text("---\n".join(texts))
    inputs = read(tmp_path, {})
    assert [machine.name for machine in inputs.machines] == [f"pool-{number:04}" for number in range(2000)]


@pytest.mark.parametrize("name", [name for name in case_names() if name.startswith("yaml-")])
def test_manifests_of_conformance_are_read_or_refused_as_osm_did(tmp_path: Path, name: str) -> None:
    case = load_case(name)
    inputs = read(tmp_path, {"a.yaml": case["manifests"]})
    error = case["expected"].get("osm_error", "")
    by_the_loader = error.startswith(("error converting YAML", "json: cannot unmarshal", "md: json: cannot unmarshal"))
    assert bool(problems(inputs)) == by_the_loader, problems(inputs)


def test_a_dump_of_a_cluster_is_a_tree() -> None:
    inputs = read_tree(Folder(RECORDED, "dump"), management_namespace="kube-system", environment={})
    assert (len(inputs.machines), len(inputs.profiles), problems(inputs)) == (5, 6, [])
    assert ("cloud-init-settings", "cloud-init-getter-token") in inputs.facts.secrets


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_file_is_read_or_named(tmp_path: Path, tail: str | bytes) -> None:
    text = tail if isinstance(tail, bytes) else tail.encode("utf-8", "surrogatepass")
    inputs = read(tmp_path, {"a.yaml": b"apiVersion: v1\nkind: Secret\n" + text})
    assert all(str(problem).startswith("t/a.yaml") for problem in inputs.unreadable)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
SPEC_KEYS = ["osName", "version", "supportedCloudProviders", "bootstrapConfig", "template", "files", "units", "modules"]
SPEC_KEYS += [
    "templates",
    "supportedContainerRuntimes",
    "content",
    "inline",
    "data",
    "spec",
    "versions",
    "providerSpec",
]
SPECS = st.recursive(
    JSON,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(SPEC_KEYS), inner, max_size=5),
    max_leaves=15,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(st.sampled_from([PROFILE, MACHINE, SECRET]), SPECS, JSON)
def test_any_object_is_taken_or_named(tmp_path: Path, base: str, spec: object, metadata: object) -> None:
    head = dict(line.split(": ") for line in base.splitlines()[:2])
    inputs = read(
        tmp_path,
        {
            "a.yaml": dump({**head, "metadata": {"name": "x"}, "spec": spec, "data": spec}),
            "b.yaml": dump({**head, "metadata": metadata, "spec": spec, "items": spec}),
        },
    )
    assert all(problem.where.startswith("t/") for problem in problems(inputs))


def test_a_tree_knows_no_server_by_whose_certificates_it_could_be_trusted(tmp_path: Path) -> None:
    assert read(tmp_path, {"a.yaml": MACHINE}).facts.certificate_authority is None
