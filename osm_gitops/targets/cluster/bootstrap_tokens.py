"""Bootstrap tokens as Secrets in ``kube-system`` of a worker cluster (osm-behaviour.md, "Bootstrap token")."""

from __future__ import annotations

import secrets
from base64 import b64encode
from datetime import timedelta
from typing import Final

from osm_gitops.errors import ClusterError
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import SECRET
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.objects import Json
from osm_gitops.plan.tokens import (
    ALPHABET,
    TOKEN_GROUP,
    TOKEN_PREFIX,
    TOKEN_TYPE,
    BootstrapToken,
    Due,
    TokenNeed,
    read_bootstrap_token,
    timestamp,
    token_need,
)
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL, NAMESPACE

_ATTEMPTS: Final = 4


class BootstrapTokens:
    """The tokens of all pools, by key (osm-behaviour.md, "Object names"). Keys are worked on side by side, each by one
    thread."""

    def __init__(self, api: Api, now: int, life: timedelta) -> None:
        self._api, self._now, self._life = api, now, life
        self._found: dict[str, list[BootstrapToken]] = {}

    def read(self) -> None:
        """Take what is there: one list. Raises ClusterError."""
        for token in self._list(NAME_LABEL):
            self._found.setdefault(token.key, []).append(token)

    def need(self, key: str) -> TokenNeed:
        """What is due. Raises InputError where only a person can tell which token is right."""
        return token_need(key, self._found.get(key, ()), self._now, self._life)

    def bring(self, key: str) -> str:
        """Make or extend the pool's token where that is due; the token.

        Raises ClusterError, and InputError as :meth:`need` does. Whoever else makes, extends or removes tokens (OSM,
        the token cleaner) may do so meanwhile: then it is looked at again.
        """
        return self._bring(key, _ATTEMPTS)

    def keys(self) -> set[str]:
        """Those of the pools that have a token of ours."""
        return {key for key in self._found if self.ours(key)}

    def ours(self, key: str) -> list[BootstrapToken]:
        """The tokens of a pool that bear our label."""
        return [token for token in self._found.get(key, ()) if token.ours]

    def end(self, key: str) -> int | None:
        """When the pool's token ends, in seconds since 1970; ``None`` where it has none."""
        return max((token.expires for token in self._found.get(key, ())), default=None)

    def delete(self, key: str) -> None:
        """Remove the token of a pool that is gone, if it bears our label. Raises ClusterError."""
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
        return read_bootstrap_token(self._api.create(self._body(key, token_id, token_secret)))

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
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
