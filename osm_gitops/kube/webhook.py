"""Send a JSON text to a webhook. Its address is a secret: no error and no log repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from osm_gitops.errors import ClusterError, Code, InputError, Problem, input_error
from osm_gitops.kube.connections import Server, proxy_for
from osm_gitops.kube.credentials import Credentials, Identity
from osm_gitops.kube.transport import Call, RetryPolicy, Transport

_RETRIES: Final = RetryPolicy(connect=5.0, read=10.0, total=30.0, tries=3, strange=2)
_LARGEST: Final = 1 << 20
_WHERE: Final = "webhook"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook at ``url``."""

    url: str = field(repr=False)
    retries: RetryPolicy = _RETRIES

    @classmethod
    def at(cls, address: str, where: str) -> Webhook:
        """Raises InputError, which does not repeat the address."""
        try:
            parts = urlsplit(address)
            _ = parts.port
        except ValueError:
            parts = urlsplit("")
        strange = not address.isascii() or not address.isprintable() or " " in address
        if strange or parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
            what = "is not the address of a webhook, such as https://hooks.example.com/…"
            raise input_error(Code.INVALID_OPTION, what, where=where)
        return cls(address)

    def send(self, body: bytes, environment: Mapping[str, str]) -> None:
        """Post a JSON text. Raises ClusterError."""
        proxy, no_proxy = proxy_for(self.url, environment)
        # The whole address counts as that of the server: requests are named by their path in errors.
        server = Server(self.url, b"", "", insecure=False, proxy=proxy, no_proxy=no_proxy)
        transport = Transport(server, Credentials(lambda: (Identity(), None)), self.retries, _WHERE)
        try:
            answer = transport.send(Call("POST", "", body=body, most=_LARGEST))
        except ClusterError as failure:
            why = failure.problems[0].what.partition("failed, ")[2] or "no answer"
            raise _failure(why, "Check the address and the network") from None
        except InputError as failure:  # of the proxy
            raise ClusterError(failure.problems) from None
        finally:
            transport.close()
        if not 200 <= answer.status < 300:
            raise _failure(f"it refused the message ({answer.status})", "Check its address and the format")


def _failure(what: str, fix: str) -> ClusterError:
    return ClusterError([Problem(Code.WEBHOOK_NOT_NOTIFIED, f"it was not notified: {what}", where=_WHERE, fix=fix)])
