"""Google Compute Engine (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.faults import placed
from tests.render.resolve.cloudconfig.helpers import facts, in_secret, problems, text


def account(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


KEY = account('{"type": "service_account", "project_id": "my \\"proj\\"", "other": null}')


def test_every_line_is_written() -> None:
    spec = {
        "serviceAccount": KEY, "zone": "z", "network": "n", "subnetwork": "s", "multizone": True, "regional": False,
        "tags": ["a", 'b"'],
    }  # fmt: skip
    assert text("gce", spec) == (
        '[global]\nproject-id = "my \\"proj\\""\nlocal-zone = "z"\nnetwork-name = "n"\nsubnetwork-name = "s"\n'
        'multizone = true\nregional = false\nnode-tags = "a"\nnode-tags = "b\\""\n'
    )


def test_only_the_service_account_is_needed() -> None:
    expected = (
        '[global]\nproject-id = "my \\"proj\\""\nlocal-zone = ""\nnetwork-name = ""\nsubnetwork-name = ""\n'
        "multizone = false\nregional = false\n"
    )
    assert text("gce", {"serviceAccount": KEY}) == expected
    assert text("gce", {}, facts(environment={"GOOGLE_SERVICE_ACCOUNT": KEY})) == expected
    assert text("gce", {"serviceAccount": in_secret("k")}, facts({"k": KEY.encode()})) == expected


@pytest.mark.parametrize("key", ["{}", "null", '{"project_id": null}', '{"Project_ID": "x"}'])
def test_a_key_without_a_project_has_an_empty_one(key: str) -> None:
    assert text("gce", {"serviceAccount": account(key)}).splitlines()[1] == 'project-id = ""'


@pytest.mark.parametrize(
    "value",
    [
        "",
        "s3cret!",
        account('{"project_id": 1, "private_key": "s3cret"}'),
        account('["s3cret"]'),
        account('{"project_id": "s3cret"} x'),
        account("s3cret"),
    ],
)
def test_a_service_account_that_cannot_be_used_is_refused_and_not_shown(value: str) -> None:
    (problem,) = problems("gce", {"serviceAccount": value})
    assert placed([problem]) == [(Code.CLOUD_SPEC_VALUE, ".serviceAccount")]
    assert "s3cret" not in str(problem)


@pytest.mark.parametrize("tags", ["a", [1], {}])
def test_tags_are_a_list_of_strings(tags: Any) -> None:
    assert len(problems("gce", {"serviceAccount": KEY, "tags": tags})) == 1
