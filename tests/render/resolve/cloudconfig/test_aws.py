"""AWS (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

from tests.render.resolve.cloudconfig.helpers import text


def test_four_lines_with_escaped_values() -> None:
    spec = {"availabilityZone": 'a"b\\c', "vpcId": "vpc\n1", "subnetId": "s"}
    assert text("aws", spec) == '[global]\nZone="a\\"b\\\\c"\nVPC="vpc\n1"\nSubnetID="s"\n'


def test_nothing_given_is_empty() -> None:
    assert text("aws", {}) == '[global]\nZone=""\nVPC=""\nSubnetID=""\n'
