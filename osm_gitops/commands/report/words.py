"""Cells of the report in words, the same in text and on the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from osm_gitops.commands.report.fleet import ClusterReport, FleetReport, State, Token
from osm_gitops.model.plan import Action
from osm_gitops.model.pool_facts import HalfSize, PoolFacts
from osm_gitops.model.span import spoken
from osm_gitops.report.visible import many

_DIGITS: Final = re.compile(r"(\d+)")
_FEW: Final = 3
_UNITS: Final = ((1 << 20, "MiB"), (1 << 10, "KiB"))
_FORMS: Final = {"gzip": " with gzip", "base64": " in base64", "raw": ""}
STATE_WORDS: Final = {
    State.FAILED: "cannot be rendered",
    State.PROBLEM: "with problems",
    State.WAITING: "waiting",
    State.CHANGES: "with changes",
    State.OK: "up to date",
}


def summary(fleet: FleetReport) -> str:
    """``3 clusters, 60 pools: 2 cannot be rendered, 58 up to date.``"""
    states = fleet.states()
    parts = ", ".join(f"{number:,} {STATE_WORDS[state]}" for state, number in states.items() if number)
    every = sum(states.values())
    pools = f"{every:,} pool{'' if every == 1 else 's'}"
    return f"{many(len(fleet.clusters), 'cluster')}, {pools}{f': {parts}' if parts else ''}."


def in_order(versions: Iterable[str]) -> list[str]:
    """Distinct versions in order, numbers by their value."""
    return sorted({version for version in versions if version}, key=_parts)


def _parts(version: str) -> tuple[tuple[int, int, str], ...]:
    parts = _DIGITS.split(version)
    return tuple((0, int(part[:20]), "") if part.isdecimal() else (1, 0, part) for part in parts)


def few(texts: Iterable[str]) -> str:
    """The first of some texts, and how many more there are."""
    found = list(texts)
    more = f" and {len(found) - _FEW} more" if len(found) > _FEW else ""
    return ", ".join(found[:_FEW]) + more


def kubelets_of(cluster: ClusterReport) -> str:
    """The version of all kubelets, or the oldest and the newest."""
    found = in_order(pool.facts.kubelet for pool in cluster.pools if pool.facts)
    return " – ".join(dict.fromkeys((found[0], found[-1]))) if found else ""


def profile_words(facts: PoolFacts) -> str:
    """The name and the version of a profile."""
    return f"{facts.profile.rpartition('/')[2]} {facts.profile_version}".strip()


def system_words(facts: PoolFacts) -> str:
    """``ubuntu on aws``"""
    return " on ".join(part for part in (facts.os, facts.provider) if part)


def size_words(size: HalfSize) -> str:
    """``39 %, 6.3 of 16 KiB``"""
    if size.limit is None:
        return f"{_amount(size.size, size.size)}, no limit"
    percent = f"{size.share * 100:.0f} %"
    number = _amount(size.size, size.limit).rpartition(" ")[0]
    return f"{percent}, {number} of {_amount(size.limit, size.limit)}"


def exact_size(size: HalfSize) -> str:
    """``bootstrap: 6,412 of 16,384 bytes with gzip (Amazon EC2: …)``"""
    most = f" of {size.limit:,}" if size.limit is not None else ""
    return f"{size.half}: {size.size:,}{most} bytes{_FORMS[size.counted]} ({size.note})"


def _amount(number: int, like: int) -> str:
    """A number of bytes in the unit that fits ``like``, with at most one decimal."""
    for unit, name in _UNITS:
        if like >= unit:
            return f"{number / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{number} B"


def token_words(token: Token, now: datetime) -> str:
    """``6 d 3 h``, ``expired``, or why no expiry is known."""
    if token.expires is None:
        return token.state
    return spoken(token.expires - now) if token.expires > now else "expired"


def actions_words(changes: Mapping[Action, int]) -> str:
    """``3 to update``"""
    return ", ".join(f"{number} to {action.value}" for action, number in changes.items())


def changes_words(cluster: ClusterReport) -> str:
    """What a plan would change: pools with changes, and objects that belong to none."""
    if not cluster.planned:
        return "not known"
    others = sum(cluster.others.values())
    parts = [many(cluster.changed, "pool")] if cluster.changed else []
    parts += [many(others, "other object")] if others else []
    return ", ".join(parts) or "none"
