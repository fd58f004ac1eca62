"""MachineDeployments as far as their boot configuration depends on them (osm-behaviour.md, "MachineDeployment")."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.faults import Expected, placed
from tests.sources.trees import MACHINE, MACHINE_REF, found, problems, read


def test_what_osm_reads_is_read_and_the_rest_left_alone(tmp_path: Path) -> None:
    text = MACHINE.replace(
        "  name: pool",
        "  name: pool\n  namespace: ns\n  deletionTimestamp: 2026-01-01T00:00:00Z\n"
        "  labels: {a: 1}\n  annotations: {b: c, d: ''}",
    )
    (machine,) = read(tmp_path, {"md.yaml": text}).machines
    assert (machine.name, machine.namespace, machine.kubelet, machine.deleting) == ("pool", "ns", "1.34.2", True)
    assert machine.annotations == {"b": "c", "d": ""}
    assert machine.provider_spec == {"cloudProvider": "aws"}
    assert machine.template["spec"]["versions"] == {"kubelet": "1.34.2"}
    assert machine.manifest.line_of("spec.template.spec.versions.kubelet") == "t/md.yaml:13"


def test_no_annotations_are_none_and_empty_ones_empty(tmp_path: Path) -> None:
    empty = MACHINE.replace("name: pool", "name: empty\n  annotations: {}")
    machines = read(tmp_path, {"md.yaml": f"{MACHINE}---\n{empty}"}).machines
    assert {machine.name: machine.annotations for machine in machines} == {"pool": None, "empty": {}}


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "field"),
    [
        (
            "1.34.2",
            "1.30",
            Code.WRONG_TYPE,
            "9",
            "spec.template.spec.versions.kubelet",
        ),
        ("        kubelet: 1.34.2", "        {}", Code.MISSING_KEY, "8", "spec.template.spec.versions.kubelet"),
        ("  name: pool", "  name: pool\n  annotations: {a: 1}", Code.WRONG_TYPE, "5", "metadata.annotations.a"),
        (
            "  name: pool",
            "  name: pool\n  annotations: [a]",
            Code.WRONG_TYPE,
            "5",
            "metadata.annotations",
        ),
        (
            "        value:\n          cloudProvider: aws",
            "        {}",
            Code.MISSING_KEY,
            "10",
            "spec.template.spec.providerSpec.value",
        ),
    ],
)
def test_a_wrong_field_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, code: Code, line: str, field: str
) -> None:
    inputs = read(tmp_path, {"md.yaml": MACHINE.replace(old, new, 1)})
    assert found(inputs) == [(code, f"t/md.yaml:{line}: {MACHINE_REF}: {field}")]
    assert (inputs.machines, list(inputs.broken)) == ((), [MACHINE_REF])


def test_all_problems_of_a_pool_are_named_at_once(tmp_path: Path) -> None:
    head = MACHINE.split("spec:")[0]
    inputs = read(tmp_path, {"md.yaml": f"{head}  annotations: {{a: 1}}\nspec: {{template: {{spec: {{}}}}}}\n"})
    assert [problem.field for problem in inputs.broken[MACHINE_REF]] == [
        "metadata.annotations.a",
        "spec.template.spec.versions",
        "spec.template.spec.providerSpec",
    ]
    assert [problem.field for problem in read(tmp_path, {"md.yaml": head}).broken[MACHINE_REF]] == ["spec"]


def test_pools_whose_objects_would_share_names_are_both_broken(tmp_path: Path) -> None:
    first = MACHINE.replace("name: pool", "name: x-y\n  namespace: z")
    second = MACHINE.replace("name: pool", "name: x\n  namespace: y-z")
    inputs = read(tmp_path, {"a.yaml": first, "b.yaml": second, "c.yaml": MACHINE})
    assert [machine.name for machine in inputs.machines] == ["pool"]
    x, xy = "MachineDeployment y-z/x", "MachineDeployment z/x-y"
    assert found(inputs) == [
        (Code.POOL_NAMES_CLASH, f"t/b.yaml:1: {x}: metadata.name"),
        (Code.POOL_NAMES_CLASH, f"t/a.yaml:1: {xy}: metadata.name"),
    ]
    first_told, second_told = problems(inputs)
    assert first_told == Expected(Code.POOL_NAMES_CLASH, "(x-y-z-…)", xy, "t/a.yaml:1")
    assert second_told == Expected(Code.POOL_NAMES_CLASH, "(x-y-z-…)", x, "t/b.yaml:1")


def test_pools_that_share_a_token_are_warned_of(tmp_path: Path) -> None:
    name = "p" * 60
    first = MACHINE.replace("name: pool", f"name: {name}\n  namespace: one")
    second = MACHINE.replace("name: pool", f"name: {name}\n  namespace: two")
    inputs = read(tmp_path, {"a.yaml": first, "b.yaml": second})
    assert (len(inputs.machines), problems(inputs)) == (2, [])
    assert inputs.warnings[0] == Expected(Code.POOLS_SHARE_SECRETS)


def test_names_that_the_api_server_refuses_are_a_warning(tmp_path: Path) -> None:
    inputs = read(tmp_path, {"a.yaml": MACHINE.replace("name: pool", "name: Pool")})
    assert [machine.name for machine in inputs.machines] == ["Pool"]
    assert placed(inputs.warnings[:1]) == [
        (Code.OBJECT_NAME_REFUSED, "t/a.yaml:4: MachineDeployment kube-system/Pool: metadata.name")
    ]
