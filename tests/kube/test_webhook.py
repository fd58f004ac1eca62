"""A message to a webhook, whose address is a secret."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from osm_gitops.errors import ClusterError, Code
from osm_gitops.kube.transport import RetryPolicy
from osm_gitops.kube.webhook import Webhook
from tests.faults import Expected, refused
from tests.kube.inbox import Inbox, opened_inbox

_SECRET = "T0/secret-path"


@pytest.fixture
def hook() -> Iterator[Inbox]:
    with opened_inbox() as inbox:
        yield inbox


def _address(hook: Inbox) -> str:
    return f"http://{hook.address}/{_SECRET}?key=secret-query"


_QUICK = RetryPolicy(tries=3, strange=2, sleep=lambda _: None)


def test_a_message_goes_to_the_whole_address(hook: Inbox) -> None:
    hook.statuses = [429, 204]
    Webhook(_address(hook), _QUICK).send(b'{"text": "x"}', {})
    sent = [(each.path, each.headers["content-type"], each.body) for each in hook.sent]
    assert sent == [(f"/{_SECRET}?key=secret-query", "application/json", b'{"text": "x"}')] * 2


def test_an_empty_answer_without_a_length_is_enough(hook: Inbox) -> None:
    hook.measured = False
    Webhook(_address(hook), _QUICK).send(b"{}", {})
    assert len(hook.sent) == 1


@pytest.mark.parametrize("status", [302, 400, 404, 500])
def test_a_refusal_is_a_sentence_without_the_address(hook: Inbox, status: int) -> None:
    hook.statuses = [status]
    with refused(Expected(Code.WEBHOOK_NOT_NOTIFIED, status), kind=ClusterError) as no:
        Webhook(_address(hook), _QUICK).send(b"{}", {})
    assert "secret" not in str(no.value)
    assert "secret" not in repr(Webhook(_address(hook)))


def test_one_that_is_not_there_is_a_sentence_without_the_address() -> None:
    with refused(Expected(Code.WEBHOOK_NOT_NOTIFIED, "refused"), kind=ClusterError) as no:
        Webhook("http://127.0.0.1:1/secret-path", _QUICK).send(b"{}", {})
    assert "secret-path" not in str(no.value)


_NO_ADDRESSES = [
    *("", "hooks.example.com/secret", "ftp://x/secret"),
    *("https://me:secret@x/", "http://x:secret/", "http://x/ secret"),
]


@pytest.mark.parametrize("address", _NO_ADDRESSES)
def test_what_is_no_address_is_refused_and_not_repeated(address: str) -> None:
    with refused(Expected(Code.INVALID_OPTION, "OSM_GITOPS_NOTIFY_URL")) as no:
        Webhook.at(address, "OSM_GITOPS_NOTIFY_URL")
    assert "secret" not in str(no.value)
