"""Tokens with which machines join: what is due, and why (osm-behaviour.md, "Bootstrap token" and "Kubelet kubeconfig
Secret"; design.md, "Tokens"). The time is given.

Times are whole seconds since 1970 UTC, as the Secrets hold no more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import lru_cache
from typing import Final

from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.times import NANOSECONDS, parse_time
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.objects import Json
from osm_gitops.model.span import rfc3339, spoken
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL, NAMESPACE

TOKEN_TYPE: Final = "bootstrap.kubernetes.io/token"  # noqa: S105 - the type of Secret that API servers take tokens from
TOKEN_PREFIX: Final = "bootstrap-token-"  # noqa: S105 - and how its name begins
TOKEN_GROUP: Final = "system:bootstrappers:machine-controller:default-node-token"  # noqa: S105 - who brings one is this
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The characters of a new token (osm-behaviour.md, "Bootstrap token")."""

_RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_ID: Final = re.compile(r"[a-z0-9]{6}")
_SECRET: Final = re.compile(r"[a-z0-9]{16}")


class Due(Enum):
    """What has to happen to a token."""

    NOTHING = "nothing"
    EXTEND = "extend"
    NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapToken:
    """A bootstrap token as its Secret in ``kube-system`` has it.

    ``key`` is the pool that its label names, ``text`` the token itself, ``expires`` the time of its end, ``ours``
    whether it has our label, ``fault`` why no machine can join with it.
    """

    name: str
    key: str
    uid: str
    resource_version: str
    text: str = field(repr=False)
    expires: int
    ours: bool
    fault: Problem | None = None


@dataclass(frozen=True, slots=True)
class TokenNeed:
    """What is due, why as a clause, and the token that is there: machines may know it, so it stays even when it has
    expired (osm-behaviour.md, "Bootstrap token")."""

    due: Due
    reason: str = ""
    token: BootstrapToken | None = None


def read_bootstrap_token(body: Mapping[str, Json]) -> BootstrapToken:
    """A Secret that is labelled as a pool's token, as the API gives it."""
    metadata, labels = body["metadata"], body["metadata"].get("labels") or {}
    data = {
        key: (decode_base64(value) or b"").decode(errors="replace") for key, value in (body.get("data") or {}).items()
    }
    expires = seconds_of(data.get("expiration", ""))
    return BootstrapToken(
        name=metadata["name"],
        key=labels.get(NAME_LABEL, ""),
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        text=f"{data.get('token-id', '')}.{data.get('token-secret', '')}",
        expires=expires or 0,
        ours=labels.get(MANAGED_BY_LABEL) == MANAGED_BY,
        fault=_fault(metadata["name"], str(body.get("type")), data, timed=expires is not None),
    )


def token_need(key: str, found: Sequence[BootstrapToken], now: int, life: timedelta) -> TokenNeed:
    """What is due for the pool of a key, of which these tokens are there.

    Raises InputError where they are several, or the one is none that machines can join with.
    """
    if len(found) > 1:
        names = ", ".join(sorted(token.name for token in found))
        what = (
            f"there are {len(found)} bootstrap tokens with label {NAME_LABEL}={key} in namespace {NAMESPACE}: {names}"
        )
        raise input_error(Code.SEVERAL_BOOTSTRAP_TOKENS, what, fix="Delete all but one of these Secrets")
    if not found:
        return TokenNeed(Due.NEW, "there is no token yet")
    token = found[0]
    if token.fault is not None:
        raise InputError([token.fault])
    left = timedelta(seconds=token.expires - now)
    if left <= timedelta():
        return TokenNeed(Due.EXTEND, f"the token expired {spoken(-left)} ago", token)
    if not token.ours:
        return TokenNeed(Due.EXTEND, f"another's token taken over, {spoken(left)} left", token)
    if left * 2 < life:
        return TokenNeed(Due.EXTEND, f"{spoken(left)} of {spoken(life)} left", token)
    return TokenNeed(Due.NOTHING, token=token)


def account_token_need(issued: int | None, expires: int | None, now: int) -> TokenNeed:
    """What is due for a token of a ServiceAccount, issued and expiring then; servers may give less than was asked."""
    if issued is None or expires is None:
        return TokenNeed(Due.NEW, "it is not known when its token expires")
    left, life = timedelta(seconds=expires - now), timedelta(seconds=expires - issued)
    if left <= timedelta():
        return TokenNeed(Due.NEW, f"its token expired {spoken(-left)} ago")
    if left * 2 < life:
        return TokenNeed(Due.NEW, f"{spoken(left)} of {spoken(life)} left")
    return TokenNeed(Due.NOTHING)


@lru_cache(maxsize=1024)  # a run writes many Secrets in the same second
def seconds_of(text: str) -> int | None:
    """An RFC 3339 time, cut to seconds; ``None`` where it is none."""
    try:
        return parse_time(_RFC3339, text).nanoseconds // NANOSECONDS
    except GoError:
        return None


def timestamp(seconds: int) -> str:
    """RFC 3339 in UTC."""
    return rfc3339(datetime.fromtimestamp(seconds, UTC))


def _fault(name: str, kind: str, data: Mapping[str, str], *, timed: bool) -> Problem | None:
    """Why an API server takes no token from this Secret, or why it could not be renewed."""
    token_id, wrong = data.get("token-id", ""), ""
    if kind != TOKEN_TYPE:
        wrong = f"its type is not {TOKEN_TYPE}"
    elif not (_ID.fullmatch(token_id) and _SECRET.fullmatch(data.get("token-secret", ""))):
        wrong = "its token-id and token-secret are not 6 and 16 small letters and digits"
    elif name != TOKEN_PREFIX + token_id:
        wrong = "its name is not bootstrap-token- and its token-id"
    elif data.get("usage-bootstrap-authentication") != "true":
        wrong = "its usage-bootstrap-authentication is not true"
    elif not timed:
        wrong = "its expiration is no RFC 3339 time"
    if not wrong:
        return None
    what = f"no machine can join with this bootstrap token, or nobody can renew it: {wrong}"
    return Problem(
        Code.BOOTSTRAP_TOKEN_INVALID,
        what,
        about=f"Secret {NAMESPACE}/{name}",
        fix="Delete the Secret to get a new token",
    )
