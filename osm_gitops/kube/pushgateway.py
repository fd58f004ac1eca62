"""Push metrics to a Pushgateway: one request, with limits, and no credentials in error messages."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from osm_gitops.errors import ClusterError, Code, Problem, input_error
from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.kube.posting import RETRIES, UnansweredError, post
from osm_gitops.kube.transport import RetryPolicy
from osm_gitops.kube.wire import Call

_TEXT_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Pushgateway:
    """A Pushgateway: ``url`` without userinfo, and ``authorization`` made of the userinfo."""

    url: str
    authorization: str = field(default="", repr=False)
    retries: RetryPolicy = RETRIES

    @classmethod
    def at(cls, address: str) -> Pushgateway:
        """Raises InputError, which does not repeat the address."""
        try:
            parts = urlsplit(address)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            parts, port = urlsplit(""), ""
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise input_error(
                Code.INVALID_OPTION,
                "is not an address such as http://pushgateway.monitoring:9091",
                where="--pushgateway",
            )
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        userinfo = parts.netloc.rpartition("@")[0]
        basic = f"Basic {encode_base64(unquote(userinfo).encode())}" if userinfo else ""
        return cls(f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}", basic)

    def push(self, text: str, group: Mapping[str, str], environment: Mapping[str, str], *, whole: bool = True) -> None:
        """Push metrics to the group with these labels, the first of which is ``job``. Raises ClusterError.

        ``whole`` replaces all metrics of the group, otherwise metrics that the text does not name are kept.
        """
        path = f"/metrics{''.join(_segment(*label) for label in group.items())}"
        call = Call("PUT" if whole else "POST", path, body=text.encode(), content_type=_TEXT_FORMAT)
        try:
            status = post(self.url, call, environment, self.retries, self.authorization)
        except UnansweredError as unanswered:
            fix = "Check the address and the network, and that it is that of a Pushgateway"
            raise self._failure(unanswered.why, fix) from None
        if not 200 <= status < 300:
            raise self._failure(f"it refused the metrics ({status})", "Check its log")

    def _failure(self, what: str, fix: str) -> ClusterError:
        return ClusterError([Problem(Code.METRICS_NOT_PUSHED, what, where=f"Pushgateway {self.url}", fix=fix)])


def _segment(name: str, value: str) -> str:
    """A label in the path. Values with special characters are base64, as the Pushgateway defines."""
    if not value or "/" in value:
        return f"/{name}@base64/{urlsafe_b64encode(value.encode()).decode() or '='}"
    return f"/{name}/{quote(value, safe='')}"
