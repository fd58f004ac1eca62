"""Config variables (osm-behaviour.md, "Config variables"), seen through providers that use them."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.faults import Expected, placed
from tests.render.resolve.cloudconfig.helpers import facts, in_config_map, in_secret, made, problems, text


def zone(value: Any, **known: Any) -> str:
    """What becomes of a plain text variable."""
    line = text("aws", {"availabilityZone": value}, facts(**known)).splitlines()[1]
    return line.removeprefix('Zone="').removesuffix('"')


def username(value: Any, **known: Any) -> str:
    """What becomes of a text variable that falls back to the environment."""
    line = text("openstack", {"username": value}, facts(**known)).splitlines()[2]
    return line.removeprefix('username    = "').removesuffix('"')


def path_trusted(value: Any, **known: Any) -> str:
    """What becomes of a boolean variable."""
    lines = text("openstack", {"trustDevicePath": value}, facts(**known)).splitlines()
    return next(line for line in lines if line.startswith("trust-device-path")).removeprefix("trust-device-path = ")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("z", "z"), ("", ""), (1, "1"), (1.5, "1.5"), (25.0, "25"), (True, "true"), (None, "null"), ([1, 2], "[1,2]"),
        ({"value": "v"}, "v"), ({"value": None}, ""), ({}, ""), ({"VALUE": "v"}, "v"),
    ],
)  # fmt: skip
def test_anything_that_is_no_object_becomes_text(value: Any, expected: str) -> None:
    assert zone(value) == expected


def test_a_null_that_becomes_text_is_warned_about() -> None:
    (warning,) = made("aws", {"vpcId": None}).warnings
    assert (warning.code, warning.field.endswith(".vpcId")) == (Code.CLOUD_SPEC_NULL, True)


@pytest.mark.parametrize("value", [["a"], [{"a": 1}], {"value": 1}, {"value": True}, {"secretKeyRef": "x"}])
def test_what_go_cannot_read_as_text_is_refused(value: Any) -> None:
    assert len(problems("aws", {"vpcId": value})) == 1


def test_a_secret_wins_over_a_config_map_and_that_over_the_value() -> None:
    known = {"secrets": {"k": b"secret"}, "config_map": {"k": "map"}}
    assert zone({"value": "v", **in_secret("k"), **in_config_map("k")}, **known) == "secret"
    assert zone({"value": "v", **in_config_map("k")}, **known) == "map"


@pytest.mark.parametrize("missing", ["namespace", "name", "key"])
def test_a_reference_that_is_not_complete_is_no_reference(missing: str) -> None:
    reference = {"namespace": "ns", "name": "s", "key": "k"}
    assert zone({"value": "v", "secretKeyRef": {**reference, missing: ""}}) == "v"
    del reference[missing]
    assert zone({"value": "v", "configMapKeyRef": reference, "secretKeyRef": None}) == "v"


def test_an_object_reference_may_hold_more() -> None:
    reference = {**in_secret("k")["secretKeyRef"], "apiVersion": "v1", "kind": "Secret", "uid": "u", "more": 1}
    assert zone({"secretKeyRef": reference}, secrets={"k": b"x"}) == "x"


def test_a_plain_variable_that_lies_nowhere_is_a_problem() -> None:
    spec = {"availabilityZone": in_secret("k"), "vpcId": in_config_map("k"), "subnetId": in_secret("x")}
    assert problems("aws", spec) == [
        Expected(Code.CLOUD_SPEC_REFERENCE, ".availabilityZone: ", "Secret ns/s"),
        Expected(Code.CLOUD_SPEC_REFERENCE, ".vpcId: ", "ConfigMap ns/c"),
        Expected(Code.CLOUD_SPEC_REFERENCE, ".subnetId: ", "Secret ns/s"),
    ]
    assert problems("aws", spec, facts({"k": b"1"}, {})) == [
        Expected(Code.CLOUD_SPEC_REFERENCE, ".vpcId: ", "ConfigMap ns/c", '"k"'),
        Expected(Code.CLOUD_SPEC_REFERENCE, ".subnetId: ", "Secret ns/s", '"x"'),
    ]


def test_a_variable_falls_back_to_the_environment_when_empty() -> None:
    environment = {"OS_USER_NAME": "env"}
    assert username("", environment=environment) == "env"
    assert username({}, environment=environment) == "env"
    assert username("u", environment=environment) == "u"
    assert username(in_secret("k"), secrets={"k": b""}, environment=environment) == "env"
    assert username("") == ""


def test_a_variable_that_lies_nowhere_falls_back_with_a_warning() -> None:
    assert username(in_secret("k"), environment={"OS_USER_NAME": "env"}) == "env"
    assert username(in_secret("k")) == ""
    (warning,) = made("openstack", {"username": in_secret("k")}).warnings
    assert warning == Expected(Code.CLOUD_SPEC_REFERENCE, "Secret ns/s")


def test_bytes_of_a_secret_that_are_no_utf8_are_kept() -> None:
    assert zone(in_secret("k"), secrets={"k": b"\xff"}) == "\udcff"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"), (False, "false"), (None, "false"), ({}, "false"), ({"value": True}, "true"),
        ({"value": None}, "false"), (in_secret("t"), "true"), (in_config_map("f"), "false"),
    ],
)  # fmt: skip
def test_a_boolean_variable_is_false_unless_set(value: Any, expected: str) -> None:
    assert path_trusted(value, secrets={"t": b"T"}, config_map={"f": "0"}) == expected


@pytest.mark.parametrize("value", ["true", 1, [], {"value": "true"}])
def test_a_boolean_variable_takes_no_text(value: Any) -> None:
    assert len(problems("openstack", {"trustDevicePath": value})) == 1


def test_a_boolean_in_a_secret_must_be_one_and_is_not_shown() -> None:
    (problem,) = problems("openstack", {"trustDevicePath": in_secret("k")}, facts({"k": b"hidden"}))
    assert placed([problem]) == [(Code.CLOUD_SPEC_REFERENCE, ".trustDevicePath")]
    assert "hidden" not in str(problem)
