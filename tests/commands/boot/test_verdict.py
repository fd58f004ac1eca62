"""What a boot came to, in words, as an error, and as JSON that its schema describes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from osm_gitops.commands.boot.report import boot_json, boot_schema, boot_text
from osm_gitops.commands.boot.verdict import NOT_SHOWN, UNITS, Boot, BootedPool, Step, look_at, problems
from osm_gitops.errors import Code
from osm_gitops.model.objects import ObjectRef
from osm_gitops.report.mask import Masker
from tests.faults import Expected

POOL = BootedPool(
    cluster="prod",
    pool=ObjectRef("MachineDeployment", "kube-system", "workers"),
    os="ubuntu",
    provider="hetzner",
    kubelet="v1.33.4",
    sources="v1.33.13",
    server="https://api.example.com:6443",
)
ALL = {step: float(number) for number, step in enumerate(Step, 1)}
NODE: dict[str, Any] = {
    "metadata": {"name": "workers-boot", "labels": {"pool": "workers", "a": "b"}},
    "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
    "status": {"nodeInfo": {"kubeletVersion": "v1.33.4", "containerRuntimeVersion": "containerd://2.2.9"}},
}


def until(step: Step, **more: Any) -> Boot:
    """A boot that reached all steps before this one."""
    reached = {each: second for each, second in ALL.items() if second < ALL[step]}
    return Boot(POOL, 600.0, reached, **more)


JOINED = Boot(POOL, 34.2, ALL, NODE)


def test_a_machine_that_joined_is_no_problem_and_there_is_nothing_to_look_at() -> None:
    assert JOINED.joined
    assert problems(JOINED) == []
    assert list(look_at(JOINED)) == []


@pytest.mark.parametrize("step", Step)
def test_each_step_that_is_not_reached_is_an_error_and_says_what_to_look_at(step: Step) -> None:
    boot = until(step)
    assert boot.lacks is step
    assert problems(boot) == [Expected(Code.NODE_NOT_JOINED, POOL.pool, "600 s")]
    assert len(list(look_at(boot))) == 1
    assert UNITS[step]


def test_what_was_asked_for_in_vain_comes_first() -> None:
    log = {
        "setup": (
            "E: Unable to locate package htop",
            "No match for argument: nmap",
            "E: Unable to locate package htop",
        ),
    }
    boot = until(Step.KUBELET, missing=("files.example.com/agent",), unknown=("other.example.com",), log=log)
    unknown, missing, packages, units = look_at(boot)
    assert "other.example.com" in unknown
    assert "files.example.com/agent" in missing
    assert "--file" in missing
    assert packages.endswith("Try --package htop --package nmap")
    assert "setup.service" in units


def test_a_refused_secret_is_named_with_its_status_only_where_it_is_what_lacks() -> None:
    assert "403" in next(look_at(until(Step.SECRET, refused=(403,))))
    assert "403" not in "".join(look_at(until(Step.KUBELET, refused=(403,))))


def test_units_that_failed_on_a_machine_that_joined_are_an_error() -> None:
    boot = replace(JOINED, failed_units=("health-monitor@kubelet",))
    assert problems(boot) == [Expected(Code.NODE_NOT_WELL, POOL.pool, "health-monitor@kubelet")]


def test_a_machine_that_ended_is_told_from_one_that_took_too_long() -> None:
    (ended,) = problems(replace(until(Step.NODE), ended=True))
    (late,) = problems(until(Step.NODE))
    assert ended.what != late.what


def test_the_text_has_each_step_with_its_time_the_node_and_what_is_not_shown() -> None:
    text = boot_text(JOINED, Masker())
    assert "kubelet v1.33.4, built from v1.33.13" in text
    assert [line.split()[0] for line in text.splitlines() if " s  " in line] == [
        f"{second}.0" for second in range(1, 9)
    ]
    assert "a=b:NoSchedule" in text
    assert all(f"  {each}\n" in text for each in NOT_SHOWN)
    assert "What to look at" not in text
    failed = boot_text(until(Step.KUBELET, log={"setup": ("boom",)}), Masker())
    assert failed.count("not reached") == 5
    assert "The last lines of setup\n  boom\n" in failed


@pytest.mark.parametrize("boot", [JOINED, *map(until, Step)], ids=lambda boot: boot.lacks and boot.lacks.value)
def test_the_json_is_what_its_schema_says(boot: Boot) -> None:
    document = json.loads(boot_json(boot, Masker()))
    Draft202012Validator(boot_schema()).validate(document)
    assert document["joined"] is boot.joined
    assert [each["seconds"] for each in document["steps"]] == [boot.reached.get(step) for step in Step]


def test_secrets_are_masked_in_both() -> None:
    boot = until(Step.KUBELET, log={"setup": ("curl --user me:hunter2secret",)}, missing=("h/hunter2secret",))
    for write in (boot_text, boot_json):
        assert "hunter2secret" in write(boot, Masker())
        assert "hunter2secret" not in write(boot, Masker(["hunter2secret"]))
