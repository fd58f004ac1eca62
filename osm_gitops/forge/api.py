"""Requests to the REST API of a forge: JSON, retries, and errors as sentences without the token."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.errors import ClusterError, Code, ForgeError, Problem, input_error
from osm_gitops.kube.connections import Server, proxy_for
from osm_gitops.kube.credentials import Credentials, Identity
from osm_gitops.kube.transport import RetryPolicy, Transport
from osm_gitops.kube.wire import Call

Json = Any

RETRIES: Final = RetryPolicy(read=30.0, total=120.0, tries=5)
_LARGEST: Final = 16 << 20
"""Limit in bytes of an answer. A page of 100 pull requests of 64 kB has 7 MB."""
_PAGES: Final = 100
_CITED: Final = 200
_GIVE_ONE: Final = "Give a token with --forge-token-file or OSM_GITOPS_FORGE_TOKEN"


@dataclass(frozen=True, slots=True)
class Access:
    """How an API is reached: ``token`` returns the token, and again when it was refused; ``environment`` names the
    proxy."""

    token: Callable[[], str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    retries: RetryPolicy = RETRIES


class Api:
    """The API at ``url`` of the forge ``name``. ``scheme`` is the word before the token in its header."""

    def __init__(
        self, url: str, access: Access, *, name: str, scheme: str = "Bearer", headers: Mapping[str, str] | None = None
    ) -> None:
        proxy, no_proxy = proxy_for(url, access.environment)
        self._where = f"{name} {url}"
        self._accept = (headers or {}).get("Accept", "application/json")
        self._secret = ""
        more = tuple((key, value) for key, value in (headers or {}).items() if key != "Accept")

        def make() -> tuple[Identity, datetime | None]:
            self._secret = _sendable(access.token())
            return Identity((("Authorization", f"{scheme} {self._secret}"), *more)), None

        server = Server(url, b"", "", insecure=False, proxy=proxy, no_proxy=no_proxy)
        self._transport = Transport(server, Credentials(make), access.retries, self._where)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def get(self, path: str, **query: str) -> Json:
        return self.send("GET", path, query=query)

    def pages(self, path: str, size: str = "per_page", most: int = 100, **query: str) -> Iterator[Json]:
        """The entries of all pages of a list; ``size`` is the name of the parameter that limits a page.

        GitHub and GitLab (``per_page``) fill all pages but the last. Gitea makes them smaller if it is configured so:
        its last one is an empty one, or equal to the one before for a list that has no pages.
        """
        before: Json = None
        for page in range(1, _PAGES + 1):
            found = self.get(path, **query, **{size: str(most), "page": str(page)})
            if not isinstance(found, list):
                raise self._strange(f"GET {path}", "a list")
            if not found or found == before:
                return
            yield from (each for each in found if isinstance(each, dict))
            if size == "per_page" and len(found) < most:
                return
            before = found

    def send(
        self, method: str, path: str, body: Json = None, *, query: Mapping[str, str] | None = None, allow: int = 0
    ) -> Json:
        """The JSON of an answer; ``None`` if it has none, or has the status ``allow``. Raises ForgeError."""
        data = None if body is None else json.dumps(body).encode()
        call = Call(method, path, query or {}, data, accept=self._accept, most=_LARGEST)
        try:
            answer = self._transport.send(call)
        except ClusterError as failure:
            raise ForgeError(map(_unreached, failure.problems)) from None
        request = f"{method} {path}"
        if answer.status == allow:
            return None
        if not 200 <= answer.status < 300:
            raise self._refusal(request, answer.status, answer.data)
        if not answer.data or answer.status == 204:
            return None
        try:
            return parse_json(answer.data)
        except ValueError:
            raise self._strange(request, "JSON") from None

    def refused(self, request: str, message: str) -> ForgeError:
        """A refusal that is in the body of a successful answer."""
        what = f"{request} was refused: {self._cited(message)}"
        return ForgeError([Problem(Code.FORGE_REFUSED, what, where=self._where)], 422)

    def _refusal(self, request: str, status: int, data: bytes) -> ForgeError:
        said = self._message(data)
        if status == 401:
            problem = Problem(Code.FORGE_TOKEN, f"the token is not accepted (401{said})", fix=_GIVE_ONE)
        elif status == 403:
            fix = "Check the scopes of the token, whether its account may write there, and the limits of the forge"
            problem = Problem(Code.FORGE_REFUSED, f"{request} is forbidden (403{said})", fix=fix)
        elif status == 404:
            fix = "Check the remote's address. Forges also answer so if the token may not see the repository"
            problem = Problem(Code.FORGE_REFUSED, f"{request}: not found (404)", fix=fix)
        elif 300 <= status < 400:
            what = f"{request}: the answer is a redirection ({status}), which is not followed with a token"
            fix = "If the repository or the forge moved, correct the address of the remote, or --forge-api"
            problem = Problem(Code.NOT_A_FORGE, what, fix=fix)
        elif status == 429:
            problem = Problem(Code.FORGE_REFUSED, f"{request}: too many requests (429)", fix="Run again later")
        elif status >= 500:
            problem = Problem(Code.FORGE_UNREACHABLE, f"{request}: the server failed ({status})", fix="Run again later")
        else:
            problem = Problem(Code.FORGE_REFUSED, f"{request} was refused ({status}{said})")
        return ForgeError([problem.at(where=self._where)], status)

    def _strange(self, request: str, wanted: str) -> ForgeError:
        what = f"{request}: the answer is not {wanted}"
        fix = "Check --forge and --forge-api: this is not the API of that forge"
        return ForgeError([Problem(Code.NOT_A_FORGE, what, where=self._where, fix=fix)])

    def _message(self, data: bytes) -> str:
        try:
            body = parse_json(data)
        except ValueError:
            return ""
        if not isinstance(body, dict):
            return ""
        texts = [*_texts(body.get("message") or body.get("error")), *_texts(body.get("errors"))]
        said = self._cited("; ".join(dict.fromkeys(texts)))
        return f": {said}" if said else ""

    def _cited(self, text: str) -> str:
        text = " ".join(text.split())
        masked = text.replace(self._secret, "***") if self._secret else text
        return masked if len(masked) <= _CITED else f"{masked[:_CITED]}…"


def _unreached(problem: Problem) -> Problem:
    """A problem of ``kube``, whose advice is about API servers."""
    if problem.code is not Code.API_SERVER_UNREACHABLE:
        return problem  # of the token
    fix = "Check the address of the remote or --forge-api, the network and the proxy"
    return replace(problem, code=Code.FORGE_UNREACHABLE, fix=fix)


def segment(text: str) -> str:
    """A text as one segment of a path."""
    return quote(text, safe="")


def _texts(value: Json) -> Iterator[str]:
    """The texts of a message: GitLab sends one, a list, or a mapping of lists by field; GitHub a list of mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for key in ("message", "code") if {"message", "code"} & value.keys() else value:
            yield from _texts(value.get(key))


def _sendable(token: str) -> str:
    """A token as part of a header. Raises InputError, which does not repeat it."""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise input_error(Code.FORGE_TOKEN, "the token contains blanks or characters that no token has", fix=_GIVE_ONE)
    return token
