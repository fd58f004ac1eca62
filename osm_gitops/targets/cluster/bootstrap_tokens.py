"""Secrets of a worker cluster that machines join with: bootstrap tokens (osm-behaviour.md, "Bootstrap token"), the
token of a configured ServiceAccount, and kubeconfigs of kubelets, of which only metadata are read (osm-behaviour.md,
"Kubelet kubeconfig Secret").
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from typing import Final

from osm_gitops.errors import ClusterError, Code, Problem, input_error
from osm_gitops.gocompat.basetext import decode_base64, encode_base64
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import SECRET, SERVICE_ACCOUNT
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.inputs import SecretFact, ServiceAccountFact
from osm_gitops.model.machine import KUBECONFIG_SUFFIX, kubelet_kubeconfig_name
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, Origin
from osm_gitops.model.settings import shortest_token_life
from osm_gitops.model.span import spoken
from osm_gitops.plan.tokens import (
    ALPHABET,
    TOKEN_GROUP,
    TOKEN_PREFIX,
    TOKEN_TYPE,
    BootstrapToken,
    Due,
    TokenNeed,
    read_bootstrap_token,
    seconds_of,
    timestamp,
    token_need,
)
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL, NAMESPACE
from osm_gitops.targets.cluster.applied import DIGEST, applied_body, as_sole_owner, is_as_applied, others_own_content

_ATTEMPTS: Final = 4


class BootstrapTokens:
    """The tokens of all pools, by key (osm-behaviour.md, "Object names"). Several threads may use it, each for other
    keys."""

    def __init__(self, api: Api, now: int, life: timedelta) -> None:
        self._api, self._now, self._life = api, now, life
        self._found: dict[str, list[BootstrapToken]] = {}

    def read(self) -> None:
        """Read all tokens with one list. Raises ClusterError."""
        for token in self._list(NAME_LABEL):
            self._found.setdefault(token.key, []).append(token)

    def need(self, key: str) -> TokenNeed:
        """What is due. Raises InputError if there are several tokens, and a person must choose."""
        return token_need(key, self._found.get(key, ()), self._now, self._life)

    def bring(self, key: str) -> str:
        """Create or extend the pool's token if that is due, and return it.

        Reads again if others (OSM, the token cleaner) created, extended or removed it meanwhile. Raises ClusterError
        and InputError.
        """
        return self._bring(key, _ATTEMPTS)

    def keys(self) -> set[str]:
        """Keys that have a token of ours."""
        return {key for key in self._found if self.ours(key)}

    def ours(self, key: str) -> list[BootstrapToken]:
        """Tokens of a pool with our label."""
        return [token for token in self._found.get(key, ()) if token.ours]

    def end(self, key: str) -> int | None:
        """When the pool's token expires, in Unix seconds; ``None`` if it has none."""
        return max((token.expires for token in self._found.get(key, ())), default=None)

    def delete(self, key: str) -> None:
        """Delete the token of a deleted pool, if it has our label. Raises ClusterError."""
        for token in self.ours(key):
            self._api.delete(SECRET, NAMESPACE, token.name, uid=token.uid)

    def _bring(self, key: str, attempts: int) -> str:
        need = self.need(key)
        try:
            token = self._met(key, need)
        except ClusterError as failure:
            if failure.status not in {404, 409} or attempts == 1:
                raise
            self._found[key] = self._list(f"{NAME_LABEL}={key}")
            return self._bring(key, attempts - 1)
        self._found[key] = [token]
        return token.text

    def _met(self, key: str, need: TokenNeed) -> BootstrapToken:
        if need.token is None:
            return self._new(key)
        return need.token if need.due is Due.NOTHING else self._extended(need.token)

    def _list(self, selector: str) -> list[BootstrapToken]:
        return self._api.list(SECRET, read_bootstrap_token, NAMESPACE, labels=selector)

    def _new(self, key: str) -> BootstrapToken:
        token_id, token_secret = (_random(length) for length in (6, 16))
        body = self._body(key, token_id, token_secret)
        metadata = self._api.create(body, metadata_only=True)["metadata"]
        return read_bootstrap_token({**body, "metadata": metadata})

    def _extended(self, token: BootstrapToken) -> BootstrapToken:
        metadata = {
            "uid": token.uid,
            "resourceVersion": token.resource_version,
            "labels": {MANAGED_BY_LABEL: MANAGED_BY},
        }
        data = {"expiration": _encoded(timestamp(max(token.expires, self._end())))}
        patch = {"metadata": metadata, "data": data}
        return read_bootstrap_token(self._api.merge(SECRET, NAMESPACE, token.name, patch, metadata_only=False))

    def _end(self) -> int:
        return self._now + int(self._life.total_seconds())

    def _body(self, key: str, token_id: str, token_secret: str) -> dict[str, Json]:
        data = {
            "description": f"bootstrap token for {key}",
            "token-id": token_id,
            "token-secret": token_secret,
            "expiration": timestamp(self._end()),
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": TOKEN_GROUP,
        }
        labels = {NAME_LABEL: key, MANAGED_BY_LABEL: MANAGED_BY}
        return {
            "apiVersion": SECRET.api_version,
            "kind": SECRET.name,
            "metadata": {"name": TOKEN_PREFIX + token_id, "namespace": NAMESPACE, "labels": labels},
            "type": TOKEN_TYPE,
            "data": {name: _encoded(text) for name, text in data.items()},
        }


def _random(length: int) -> str:
    """One random number: each one asked for is a system call, in which the thread gives up the interpreter's lock."""
    number, text = secrets.randbelow(len(ALPHABET) ** length), ""
    for _ in range(length):
        number, place = divmod(number, len(ALPHABET))
        text += ALPHABET[place]
    return text


def _encoded(text: str) -> str:
    return encode_base64(text.encode())


_LEGACY_TYPE = "kubernetes.io/service-account-token"
_FLAG = "--bootstrap-token-service-account-name"


@dataclass(frozen=True, slots=True)
class RequestedToken:
    """A token that the API server issued for this run, and its times."""

    text: str = field(repr=False)
    issued: int
    expires: int


class AccountToken:
    """The token of the account's first legacy Secret, which OSM uses, else a requested token."""

    def __init__(self, api: Api, account: tuple[str, str], now: int, life: timedelta, interval: timedelta) -> None:
        self._api, self._account, self._now = api, account, now
        self._life, self._interval = life, interval
        self._lock = Lock()
        self._requested: RequestedToken | None = None
        self._body = api.get(SERVICE_ACCOUNT, *account)
        self._legacy = next(self._legacy_secrets(), None)

    @property
    def legacy(self) -> str | None:
        """The token that does not expire, if any. Raises InputError if the account does not exist."""
        if self._body is None:
            what = f"ServiceAccount {'/'.join(self._account)} was not found in the worker cluster"
            raise input_error(Code.ACCOUNT_NOT_FOUND, what, where=_FLAG, fix="Create it there, or name another one")
        return self._legacy.data["token"].decode(errors="replace") if self._legacy else None

    def request(self) -> RequestedToken:
        """Request a token once per run. Raises ClusterError."""
        with self._lock:
            if self._requested is None:
                text, end = self._api.token(*self._account, int(self._life.total_seconds()))
                self._requested = RequestedToken(text, self._now, seconds_of(end) or self._now)
            return self._requested

    def warnings(self) -> tuple[Problem, ...]:
        """Warn if the API server shortened the life of the token too much."""
        token = self._requested
        granted = timedelta(seconds=token.expires - token.issued) if token else self._life
        if granted >= shortest_token_life(self._interval):
            return ()
        what = (
            f"the API server limits tokens of ServiceAccount {'/'.join(self._account)} to {spoken(granted)}, "
            f"so they expire before runs that are {spoken(self._interval)} apart renew them"
        )
        fix = "Run more often and set --interval, or let the API server grant a longer life"
        return (Problem(Code.TOKEN_LIFE_SHORTENED, what, where=_FLAG, fix=fix),)

    def facts(self) -> tuple[ServiceAccountFact, SecretFact] | None:
        """The account and its legacy Secret as facts."""
        if self._legacy is None:
            return None
        return ServiceAccountFact(*self._account, (self._legacy.name,), self._legacy.origin), self._legacy

    def _legacy_secrets(self) -> Iterator[SecretFact]:
        namespace = self._account[0]
        for entry in (self._body or {}).get("secrets") or ():
            body = self._api.get(SECRET, namespace, entry["name"]) if entry.get("name") else None
            if body is not None and body.get("type") == _LEGACY_TYPE:
                secret = _secret(body, self._api.display)
                if secret.data.get("token"):  # else it is not filled in yet
                    yield secret


def _secret(body: dict[str, Json], display: str) -> SecretFact:
    metadata = body["metadata"]
    data = {key: decode_base64(value) or b"" for key, value in (body.get("data") or {}).items()}
    labels = metadata.get("labels") or {}
    return SecretFact(metadata["namespace"], metadata["name"], _LEGACY_TYPE, data, labels, Origin(display))


COMPONENT_LABEL: Final = "app.kubernetes.io/component"
COMPONENT: Final = "kubelet-bootstrap"
TOKEN_ISSUED: Final = "osm-gitops.io/token-issued"  # noqa: S105 - annotations with the times
TOKEN_EXPIRES: Final = "osm-gitops.io/token-expires"  # noqa: S105 - of a requested token
NO_KUBECONFIG: Final = f"{COMPONENT_LABEL}!={COMPONENT}"
"""Selects all Secrets except kubeconfigs, which are read elsewhere."""

_SELECTOR: Final = f"{MANAGED_BY_LABEL}={MANAGED_BY},{COMPONENT_LABEL}={COMPONENT}"


@dataclass(frozen=True, slots=True)
class LiveKubeconfig:
    """The metadata of a kubeconfig Secret.

    ``digest`` is that of the applied text; ``unchanged``: the Secret certainly still has this text. ``issued`` and
    ``expires`` are those of a requested token. ``ours``: it has our labels.
    """

    uid: str
    digest: str
    unchanged: bool
    ours: bool
    issued: int | None = None
    expires: int | None = None


def digest_of(text: str) -> bytes:
    """The digest of a kubeconfig."""
    return hashlib.sha256(text.encode()).digest()


def read_kubeconfigs(api: Api, keys: Iterable[str], digest: Callable[[str], bytes | None]) -> dict[str, LiveKubeconfig]:
    """Read our kubeconfigs by key, and those of others for ``keys`` without one of ours. Takes only lists.

    ``digest`` returns the digest that the kubeconfig of a key should have, or ``None`` if that is not known.
    """

    def keep(body: Mapping[str, Json]) -> tuple[str, LiveKubeconfig] | None:
        name = body["metadata"]["name"]
        if not name.endswith(KUBECONFIG_SUFFIX):
            return None
        key = name.removesuffix(KUBECONFIG_SUFFIX)
        return key, _live(body["metadata"], digest(key))

    found = dict(api.list(SECRET, keep, CLOUD_INIT_NAMESPACE, labels=_SELECTOR, metadata_only=True))
    lacking = {key for key in keys if key not in found}
    if lacking:  # OSM's have no labels
        others = api.list(SECRET, keep, CLOUD_INIT_NAMESPACE, metadata_only=True)
        found |= {key: live for key, live in others if key in lacking}
    return found


def write_kubeconfig(api: Api, key: str, text: str, digest: bytes, requested: RequestedToken | None = None) -> None:
    """Create or update a pool's kubeconfig Secret. Raises ClusterError.

    Fields of others are taken over: only this run knows the token.
    """
    body = applied_body(_body(key, text, dict(_times(requested))), digest)
    answer = api.apply(body, force=True)
    if answer is not None and others_own_content(answer["metadata"]):
        # OSM owns the same text: then metadata could not prove that it is unchanged.
        patch = {"metadata": as_sole_owner(answer["metadata"])}
        api.merge(SECRET, CLOUD_INIT_NAMESPACE, answer["metadata"]["name"], patch)


def delete_kubeconfig(api: Api, key: str, uid: str) -> None:
    """Delete the kubeconfig Secret of a deleted pool. Raises ClusterError."""
    api.delete(SECRET, CLOUD_INIT_NAMESPACE, kubelet_kubeconfig_name(key), uid=uid)


def _live(metadata: Mapping[str, Json], digest: bytes | None) -> LiveKubeconfig:
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return LiveKubeconfig(
        uid=metadata["uid"],
        digest=annotations.get(DIGEST, "").partition("-")[0],
        unchanged=digest is not None and is_as_applied(metadata, digest),
        ours=labels.get(MANAGED_BY_LABEL) == MANAGED_BY and labels.get(COMPONENT_LABEL) == COMPONENT,
        issued=seconds_of(annotations.get(TOKEN_ISSUED, "")),
        expires=seconds_of(annotations.get(TOKEN_EXPIRES, "")),
    )


def _times(requested: RequestedToken | None) -> Iterator[tuple[str, str]]:
    if requested is not None:
        yield TOKEN_ISSUED, timestamp(requested.issued)
        yield TOKEN_EXPIRES, timestamp(requested.expires)


def _body(key: str, text: str, annotations: Mapping[str, str]) -> dict[str, Json]:
    return {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.name,
        "metadata": {
            "name": kubelet_kubeconfig_name(key),
            "namespace": CLOUD_INIT_NAMESPACE,
            "labels": {MANAGED_BY_LABEL: MANAGED_BY, COMPONENT_LABEL: COMPONENT},
            "annotations": dict(annotations),
        },
        "data": {"kubeconfig": encode_base64(text.encode())},
    }
