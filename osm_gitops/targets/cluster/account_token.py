"""The token of a ServiceAccount, with which all machines join where one is named (osm-behaviour.md, "Bootstrap
token")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import SECRET, SERVICE_ACCOUNT
from osm_gitops.model.inputs import SecretFact, ServiceAccountFact
from osm_gitops.model.objects import Json, Origin
from osm_gitops.model.settings import shortest_token_life
from osm_gitops.model.span import spoken
from osm_gitops.plan.tokens import seconds_of

_LEGACY_TYPE = "kubernetes.io/service-account-token"
_FLAG = "--bootstrap-token-service-account-name"


@dataclass(frozen=True, slots=True)
class RequestedToken:
    """A token that the API server made for this run, and the times of its beginning and end."""

    text: str = field(repr=False)
    issued: int
    expires: int


class AccountToken:
    """The token that the first legacy Secret of the account holds, as OSM takes it, else one that is asked for."""

    def __init__(self, api: Api, account: tuple[str, str], now: int, life: timedelta, interval: timedelta) -> None:
        self._api, self._account, self._now = api, account, now
        self._life, self._interval = life, interval
        self._lock = Lock()
        self._requested: RequestedToken | None = None
        self._body = api.get(SERVICE_ACCOUNT, *account)
        self._legacy = next(self._legacy_secrets(), None)

    @property
    def legacy(self) -> str | None:
        """The token that lasts, where there is one. Raises InputError where there is no such account."""
        if self._body is None:
            what = f"ServiceAccount {'/'.join(self._account)} was not found in the worker cluster"
            raise InputError(
                [Problem(Code.ACCOUNT_NOT_FOUND, what, where=_FLAG, fix="Create it there, or name another one")]
            )
        return self._legacy.data["token"].decode(errors="replace") if self._legacy else None

    def request(self) -> RequestedToken:
        """A token for this run, the same however often it is asked for. Raises ClusterError."""
        with self._lock:
            if self._requested is None:
                text, end = self._api.token(*self._account, int(self._life.total_seconds()))
                self._requested = RequestedToken(text, self._now, seconds_of(end) or self._now)
            return self._requested

    def warnings(self) -> tuple[Problem, ...]:
        """That the API server gave a token for too short a time."""
        token = self._requested
        granted = timedelta(seconds=token.expires - token.issued) if token else self._life
        if granted >= shortest_token_life(self._interval):
            return ()
        what = (
            f"the API server lets tokens of ServiceAccount {'/'.join(self._account)} live {spoken(granted)} only, "
            f"so they end before they are renewed by runs that are {spoken(self._interval)} apart"
        )
        fix = "Run more often and say so with --interval, or let the API server grant a longer life"
        return (Problem(Code.TOKEN_LIFE_SHORTENED, what, where=_FLAG, fix=fix),)

    def facts(self) -> tuple[ServiceAccountFact, SecretFact] | None:
        """The account and its legacy Secret, as a source has them."""
        if self._legacy is None:
            return None
        return ServiceAccountFact(*self._account, (self._legacy.name,), self._legacy.origin), self._legacy

    def _legacy_secrets(self) -> Iterator[SecretFact]:
        namespace = self._account[0]
        for entry in (self._body or {}).get("secrets") or ():
            body = self._api.get(SECRET, namespace, entry["name"]) if entry.get("name") else None
            if body is not None and body.get("type") == _LEGACY_TYPE:
                secret = _secret(body, self._api.display)
                if secret.data.get("token"):  # else nobody has filled it in yet
                    yield secret


def _secret(body: dict[str, Json], display: str) -> SecretFact:
    metadata = body["metadata"]
    data = {key: decode_base64(value) or b"" for key, value in (body.get("data") or {}).items()}
    labels = metadata.get("labels") or {}
    return SecretFact(metadata["namespace"], metadata["name"], _LEGACY_TYPE, data, labels, Origin(display))
