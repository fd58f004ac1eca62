from __future__ import annotations

import json
from typing import Any

import pytest

from osm_gitops.errors import Code, InputError
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.containerd import Credential, registry_credentials
from tests.faults import Expected, refused
from tests.render.resolve.facts import facts, secret

SETTINGS = Settings(registry_credentials_secret=("kube-system", "creds"))
DOCKER = "kubernetes.io/dockerconfigjson"


def _docker(document: Any) -> dict[str, str]:
    return {".dockerconfigjson": document if isinstance(document, str) else json.dumps(document)}


def _read(data: dict[str, str], kind: str = "Opaque") -> dict[str, Credential]:
    credentials, warnings = registry_credentials(SETTINGS, facts(secret("creds", data, kind=kind)))
    assert warnings == ()
    return dict(credentials)


def test_without_the_setting_there_are_none() -> None:
    assert registry_credentials(Settings(), facts()) == ({}, ())


def test_a_docker_config_is_read_by_host_and_unknown_keys_are_ignored() -> None:
    auths = {
        "https://index.docker.io/v1/": {"username": "u", "password": "p", "email": "x@y"},
        "gcr.io:5000": {"auth": "a", "identitytoken": "t"},
        "quay.io": {},
        "ghcr.io": None,
    }
    assert _read(_docker({"auths": auths, "other": 1}), DOCKER) == {
        "index.docker.io": Credential("u", "p"),
        "gcr.io:5000": Credential(auth="a", identitytoken="t"),
        "quay.io": Credential(),
        "ghcr.io": Credential(),
    }


def test_keys_match_without_regard_to_case_and_null_leaves_a_field_empty() -> None:
    document = {"AUTHS": {"r": {"UserName": "u", "password": None}}}
    assert _read(_docker(document), DOCKER) == {"r": Credential("u")}


@pytest.mark.parametrize("document", [{}, {"auths": None}, {"auths": {}}, "null"])
def test_a_docker_config_may_be_empty(document: Any) -> None:
    assert _read(_docker(document), DOCKER) == {}


def test_any_other_secret_has_a_registry_per_key() -> None:
    assert _read({"gcr.io": '{"username": "u"}', "quay.io": "{}"}) == {
        "gcr.io": Credential("u"),
        "quay.io": Credential(),
    }


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (_docker(""), DOCKER),
        ({}, DOCKER),
        (_docker('{"auths": {}} hunter2'), DOCKER),
        (_docker('{"auths": ["hunter2"]}'), DOCKER),
        (_docker('["hunter2"]'), DOCKER),
        (_docker('{"auths": {"r": "hunter2"}}'), DOCKER),
        (_docker('{"auths": {"r": {"password": 1e999, "username": ["hunter2"]}}}'), DOCKER),
        ({"r": "hunter2"}, "Opaque"),
        ({"r": '{"password": 20202}'}, "Opaque"),
        ({"r": ""}, "Opaque"),
    ],
)
def test_what_cannot_be_read_is_refused_without_its_value(data: dict[str, str], kind: str) -> None:
    with pytest.raises(InputError) as refusal:
        registry_credentials(SETTINGS, facts(secret("creds", data, kind=kind)))
    text = str(refusal.value)
    assert text.startswith("facts.yaml:1: Secret kube-system/creds: data[")
    assert not any(value in text for value in ("hunter2", "20202", "1e999"))


def test_all_problems_of_the_secret_come_at_once() -> None:
    with pytest.raises(InputError) as refusal:
        registry_credentials(SETTINGS, facts(secret("creds", {"a": "x", "b": '{"auth": 1, "username": 2}'})))
    assert len(refusal.value.problems) == 3


def test_an_absent_secret_is_refused() -> None:
    with refused(Code.REGISTRY_CREDENTIALS_MISSING):
        registry_credentials(SETTINGS, facts())


def test_of_two_keys_with_one_host_the_last_in_order_counts_with_a_warning() -> None:
    auths = {"https://r.io/v2": {"auth": "2"}, "https://r.io/v1": {"auth": "1"}, "r.io": {"auth": "3"}}
    credentials, warnings = registry_credentials(
        SETTINGS, facts(secret("creds", _docker({"auths": auths}), kind=DOCKER))
    )
    assert credentials == {"r.io": Credential(auth="3")}
    assert list(warnings) == [
        Expected(Code.REGISTRY_HOST_TWICE, '"https://r.io/v1"', '"https://r.io/v2"'),
        Expected(Code.REGISTRY_HOST_TWICE, '"https://r.io/v2"', '"r.io"'),
    ]
