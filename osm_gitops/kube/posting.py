"""One request with a body to a server that is no API server: a webhook, a Pushgateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from osm_gitops.errors import ClusterError, InputError
from osm_gitops.kube.connections import Server, proxy_for
from osm_gitops.kube.credentials import Credentials, Identity
from osm_gitops.kube.transport import RetryPolicy, Transport
from osm_gitops.kube.wire import Call

RETRIES: Final = RetryPolicy(connect=5.0, read=10.0, total=30.0, tries=3, strange=2)
"""A run must not wait long for them: 30 seconds in all."""


class UnansweredError(Exception):
    """There is no answer. ``why`` is the reason, without the address."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def post(
    url: str, call: Call, environment: Mapping[str, str], retries: RetryPolicy = RETRIES, authorization: str = ""
) -> int:
    """The status of the answer at ``url``, to which the path of ``call`` is added. A redirection is not followed.

    Nothing else of the answer is read: some such servers do not say how long it is.

    ``environment`` names the proxy. Raises UnansweredError, and ClusterError if the proxy cannot be used.
    """
    try:
        proxy, no_proxy = proxy_for(url, environment)
        server = Server(url, b"", "", insecure=False, proxy=proxy, no_proxy=no_proxy)
        identity = Identity((("Authorization", authorization),) if authorization else ())
        transport = Transport(server, Credentials(lambda: (identity, None)), retries, "")
        try:
            return transport.send(replace(call, most=0)).status
        finally:
            transport.close()
    except ClusterError as failure:
        # The sentence begins with method and path, which may be secret.
        raise UnansweredError(failure.problems[0].what.partition("failed, ")[2] or "no answer") from None
    except InputError as failure:  # of the proxy
        raise ClusterError(failure.problems) from None
