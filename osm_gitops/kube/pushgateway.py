"""Metrics to a Pushgateway: one request, with limits, and no word of credentials in what is said of it."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event
from time import monotonic
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from osm_gitops.errors import ClusterError, Code, Problem, input_error
from osm_gitops.kube.exchange import Exchange, LostError, exchanging
from osm_gitops.kube.pool import Server, open_pool, proxy_for

_TEXT_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"
_CONNECT: Final = 5.0  # seconds
_ANSWER: Final = 10.0
_TOTAL: Final = 30.0


@dataclass(frozen=True, slots=True)
class Pushgateway:
    """Where metrics go: ``url`` without userinfo, which ``authorization`` was made of."""

    url: str
    authorization: str = field(default="", repr=False)

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
                Code.INVALID_OPTION, "is no address such as http://pushgateway.monitoring:9091", where="--pushgateway"
            )
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        userinfo = parts.netloc.rpartition("@")[0]
        basic = f"Basic {b64encode(unquote(userinfo).encode()).decode()}" if userinfo else ""
        return cls(f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}", basic)

    def push(self, text: str, group: Mapping[str, str], environment: Mapping[str, str], *, whole: bool = True) -> None:
        """Put metrics into the group with these labels, the first of which is ``job``.

        ``whole`` replaces all that the group has; else metrics stay that the text does not name. Raises ClusterError.
        """
        import urllib3  # noqa: PLC0415 - slow

        proxy, no_proxy = proxy_for(self.url, environment)
        pool = open_pool(Server(self.url, b"", "", insecure=False, proxy=proxy, no_proxy=no_proxy))
        headers = {"Content-Type": _TEXT_FORMAT}
        if self.authorization:
            headers["Authorization"] = self.authorization
        try:
            with exchanging(Exchange(monotonic, monotonic() + _TOTAL, _ANSWER, 0, Event())):
                answer = pool.request(
                    "PUT" if whole else "POST",
                    f"{self.url}/metrics{''.join(_segment(*label) for label in group.items())}",
                    body=text.encode(),
                    headers=headers,
                    timeout=urllib3.Timeout(connect=_CONNECT, read=_ANSWER),
                    retries=urllib3.Retry(1, redirect=False),
                    redirect=False,
                    preload_content=False,
                )
                answer.close()  # its status says all
        except LostError as lost:
            raise self._failure(lost.what, "Check that the address is that of a Pushgateway") from None
        except (urllib3.exceptions.HTTPError, OSError):
            # What the libraries write of it may hold the password of a proxy.
            raise self._failure(
                "it gave no answer", "Check the address, and the network between here and there"
            ) from None
        finally:
            pool.clear()
        if not 200 <= answer.status < 300:
            raise self._failure(f"it refused the metrics ({answer.status})", "Look into its log")

    def _failure(self, what: str, fix: str) -> ClusterError:
        return ClusterError([Problem(Code.METRICS_NOT_PUSHED, what, where=f"Pushgateway {self.url}", fix=fix)])


def _segment(name: str, value: str) -> str:
    """A label in the path; a value that a path cannot hold goes in base64, as the Pushgateway has it."""
    if not value or "/" in value:
        return f"/{name}@base64/{urlsafe_b64encode(value.encode()).decode() or '='}"
    return f"/{name}/{quote(value, safe='')}"
