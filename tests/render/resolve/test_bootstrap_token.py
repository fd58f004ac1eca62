from __future__ import annotations

import pytest

from osm_gitops.errors import Code
from osm_gitops.model.inputs import SecretFact, ServiceAccountFact
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.bootstrap_token import getter_token, token_index
from tests.faults import Expected, refused
from tests.render.resolve.facts import ORIGIN, facts, machine, secret

SERVICE_ACCOUNT = Settings(bootstrap_token_service_account=("osm", "robot"))
TOKEN_TYPE = "kubernetes.io/service-account-token"


def _token(label: str, name: str = "bootstrap-token-abcdef", **changed: str) -> SecretFact:
    data = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "expiration": "2020-01-01T00:00:00Z", **changed}
    return secret(name, data, labels={"machinedeployment.k8s.io/name": label})


def test_a_token_is_found_by_its_label_also_when_it_has_expired() -> None:
    index = token_index(Settings(), facts(_token("kube-system-other", "x"), _token("kube-system-workers")))
    assert index.token(machine()) == "abcdef.0123456789abcdef"


def test_a_pool_without_a_token_has_none() -> None:
    elsewhere = secret("x", {}, namespace="default", labels={"machinedeployment.k8s.io/name": "kube-system-workers"})
    assert token_index(Settings(), facts(elsewhere, _token("kube-system-other"))).token(machine()) is None


def test_a_long_name_stands_alone_in_the_label() -> None:
    name = "n" * 60
    index = token_index(Settings(), facts(_token(name)))
    assert index.token(machine(name)) == "abcdef.0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("n" * 64, [" 63 "]),
        ("größe", ['"öß"']),
        ("ö" * 64, ['"ö"', " 63 "]),
        ("-workers-" * 6, [""]),
    ],
)
def test_a_name_that_is_no_label_is_refused_with_what_is_wrong_in_it(name: str, parts: list[str]) -> None:
    with refused(*[Code.BOOTSTRAP_TOKEN_LABEL] * len(parts)) as caught:
        token_index(Settings(), facts()).token(machine(name))
    assert all(part in str(problem) for part, problem in zip(parts, caught.value.problems, strict=True))


def test_several_tokens_are_refused_by_name() -> None:
    index = token_index(Settings(), facts(_token("kube-system-workers", "b"), _token("kube-system-workers", "a")))
    with refused(Expected(Code.SEVERAL_BOOTSTRAP_TOKENS, "2")):
        index.token(machine())


@pytest.mark.parametrize("expiration", ["", "tomorrow", "2020-02-30T00:00:00Z"])
def test_an_expiration_that_cannot_be_read_is_refused_without_the_token(expiration: str) -> None:
    index = token_index(Settings(), facts(_token("kube-system-workers", expiration=expiration)))
    with refused(Code.BOOTSTRAP_TOKEN_INVALID) as refusal:
        index.token(machine())
    assert "0123456789abcdef" not in str(refusal.value)


@pytest.mark.parametrize("expiration", ["2030-01-31T00:00:00Z", "2030-01-31T5:00:00,5+24:60"])
def test_expirations_are_those_that_go_reads(expiration: str) -> None:
    index = token_index(Settings(), facts(_token("kube-system-workers", expiration=expiration)))
    assert index.token(machine()) is not None


def test_a_service_account_gives_its_first_token_secret_to_every_pool() -> None:
    account = ServiceAccountFact("osm", "robot", ("gone", "pull", "first", "second"), ORIGIN)
    secrets = (
        secret("pull", {"token": "no"}, namespace="osm"),
        secret("first", {"token": "sa-token"}, namespace="osm", kind=TOKEN_TYPE),
        secret("second", {"token": "other"}, namespace="osm", kind=TOKEN_TYPE),
    )
    index = token_index(SERVICE_ACCOUNT, facts(*secrets, _token("kube-system-workers"), service_accounts=(account,)))
    assert index.token(machine()) == "sa-token"


def test_without_a_token_of_the_service_account_there_is_none() -> None:
    account = ServiceAccountFact("osm", "robot", ("pull", "empty"), ORIGIN)
    empty = secret("empty", {}, namespace="osm", kind=TOKEN_TYPE)
    for found in (facts(), facts(service_accounts=(account,)), facts(empty, service_accounts=(account,))):
        assert token_index(SERVICE_ACCOUNT, found).token(machine()) is None


def test_the_getter_token_is_not_trimmed() -> None:
    found = facts(secret("cloud-init-getter-token", {"token": b"t\xff\n"}, namespace="cloud-init-settings"))
    assert getter_token(found) == "t\ufffd\n"


@pytest.mark.parametrize("data", [None, {}, {"token": ""}])
def test_a_missing_getter_token_is_refused(data: dict[str, str] | None) -> None:
    secrets = [] if data is None else [secret("cloud-init-getter-token", data, namespace="cloud-init-settings")]
    with refused(Expected(Code.BOOTSTRAP_TOKEN_MISSING, "cloud-init-settings/cloud-init-getter-token")):
        getter_token(facts(*secrets))
