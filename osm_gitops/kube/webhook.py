"""Send a JSON text to a webhook. Its address is a secret: no error and no log repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from osm_gitops.errors import ClusterError, Code, Problem, input_error
from osm_gitops.kube.posting import RETRIES, UnansweredError, post
from osm_gitops.kube.transport import RetryPolicy
from osm_gitops.kube.wire import Call

_WHERE: Final = "webhook"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook at ``url``."""

    url: str = field(repr=False)
    retries: RetryPolicy = RETRIES

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
        try:
            # The whole address counts as that of the server: requests are named by their path in errors.
            status = post(self.url, Call("POST", "", body=body), environment, self.retries)
        except UnansweredError as unanswered:
            raise _failure(unanswered.why, "Check the address and the network") from None
        if not 200 <= status < 300:
            raise _failure(f"it refused the message ({status})", "Check its address and the format")


def _failure(what: str, fix: str) -> ClusterError:
    return ClusterError([Problem(Code.WEBHOOK_NOT_NOTIFIED, f"it was not notified: {what}", where=_WHERE, fix=fix)])
