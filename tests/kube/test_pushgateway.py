"""Metrics to a Pushgateway: a server that takes requests apart as the Pushgateway does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from osm_gitops.errors import ClusterError, Code
from osm_gitops.kube.pushgateway import Pushgateway
from osm_gitops.kube.transport import RetryPolicy
from tests.faults import Expected, refused
from tests.kube.inbox import Inbox, opened_inbox

_QUICK = RetryPolicy(tries=3, strange=2, sleep=lambda _: None)


@pytest.fixture
def gateway() -> Iterator[Inbox]:
    with opened_inbox() as inbox:
        yield inbox


def test_metrics_replace_those_of_their_group(gateway: Inbox) -> None:
    to = Pushgateway.at(f"http://{gateway.address}/prefix/")
    to.push("up 1\n", {"job": "osm-gitops", "cluster": "prod-eu.1"}, {})
    to.push("up 1\n", {"job": "osm-gitops", "cluster": "a/b"}, {}, whole=False)
    assert [(each.method, each.path, each.body) for each in gateway.sent] == [
        ("PUT", "/prefix/metrics/job/osm-gitops/cluster/prod-eu.1", b"up 1\n"),
        ("POST", "/prefix/metrics/job/osm-gitops/cluster@base64/YS9i", b"up 1\n"),
    ]
    assert not any("authorization" in each.headers for each in gateway.sent)


def test_a_password_in_the_address_is_sent_and_never_shown(gateway: Inbox) -> None:
    to = Pushgateway.at(f"http://me:p%40ss-word@{gateway.address}")
    to.push("up 1\n", {"job": "x"}, {})
    assert gateway.sent[0].headers["authorization"] == "Basic bWU6cEBzcy13b3Jk"
    gateway.statuses = [401]
    with refused(Expected(Code.METRICS_NOT_PUSHED, f"http://{gateway.address}", "401"), kind=ClusterError) as no:
        to.push("up 1\n", {"job": "x"}, {})
    for text in (repr(to), str(no.value)):
        assert "ss-word" not in text
        assert "bWU6" not in text


def test_an_empty_answer_without_a_length_is_enough(gateway: Inbox) -> None:
    gateway.measured = False
    Pushgateway.at(f"http://{gateway.address}").push("up 1\n", {"job": "x"}, {})
    assert len(gateway.sent) == 1


def test_a_gateway_that_is_busy_is_asked_again(gateway: Inbox) -> None:
    gateway.statuses = [503, 202]
    replace(Pushgateway.at(f"http://{gateway.address}"), retries=_QUICK).push("up 1\n", {"job": "x"}, {})
    assert len(gateway.sent) == 2


def test_a_redirection_is_not_followed(gateway: Inbox) -> None:
    gateway.statuses = [302]
    with refused(Expected(Code.METRICS_NOT_PUSHED, "302"), kind=ClusterError):
        Pushgateway.at(f"http://{gateway.address}").push("up 1\n", {"job": "x"}, {})


def test_one_that_is_not_there_is_a_sentence_without_the_password() -> None:
    with pytest.raises(ClusterError) as no:
        replace(Pushgateway.at("http://me:secret-word@127.0.0.1:1"), retries=_QUICK).push("up 1\n", {"job": "x"}, {})
    assert list(no.value.problems) == [Expected(Code.METRICS_NOT_PUSHED, "http://127.0.0.1:1")]
    assert "secret-word" not in str(no.value)
    assert no.value.__cause__ is None


@pytest.mark.parametrize("address", ["", "pushgateway:9091", "ftp://x", "http://", "http://x:y:z", "http://x/?a=b"])
def test_what_is_no_address_is_refused_and_not_repeated(address: str) -> None:
    with refused(Code.INVALID_OPTION):
        Pushgateway.at(address)
