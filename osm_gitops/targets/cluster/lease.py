"""One run at a time for each desired cluster: a Lease in the management cluster that a run holds while it writes.

There is one Lease in each management namespace, for a namespace belongs to one desired cluster: its configurations
are named after pools alone (osm-behaviour.md, "Object names"), and what of ours is there and not desired is deleted. So
no name of a cluster can get it wrong, run from whatever fleet file.

Rights that it takes, in that namespace: ``get``, ``create`` and ``update`` on leases.coordination.k8s.io.
"""

from __future__ import annotations

import os
import platform
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from osm_gitops.errors import ClusterError, Code, ConflictError, LostLockError, OsmGitopsError, Problem
from osm_gitops.kube.kinds import LEASE
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.objects import Json

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api

LEASE_NAME: Final = "osm-gitops"
_RACES: Final = 5
"""How often a Lease may be lost to a faster run when there is no more time."""


def _clock() -> float:
    """Seconds that also pass while a machine sleeps, where the system counts them."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a Lease lives without a word of its holder, in whole seconds, and ways to wait that tests replace.

    ``today`` is for people who read the Lease: nothing is decided by it, as clocks of machines differ.
    """

    duration: int = 60
    clock: Callable[[], float] = _clock
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
    today: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def interval(self) -> float:
        """Between renewals."""
        return self.duration / 5

    @property
    def trusted(self) -> float:
        """How long a holder believes in its last renewal: what it began to write is done before others take over."""
        return self.duration * 2 / 3

    def pause(self, tried: int) -> float:
        """Between looks at a Lease of another: longer each time, and never many runs at the same moment."""
        return float(min(self.duration / 10, 0.5 * 2 ** min(tried, 8))) * (0.5 + self.chance() / 2)


PACE: Final = Pace()


def holder_name() -> str:
    """Who holds a Lease: the machine, the process, and a part that no other run has."""
    return f"{platform.node()}_{os.getpid()}_{secrets.token_hex(4)}"


@contextmanager
def lease(
    api: Api, namespace: str, *, holder: str, timeout: float, note: Callable[[str], None], pace: Pace = PACE
) -> Iterator[Held]:
    """Hold the Lease of ``namespace`` in the management cluster, and renew it in the background until this ends.

    Waits ``timeout`` seconds for another holder. Raises ClusterError that names it where that is not enough.
    """
    taking = _Taking(api, namespace, holder, note, pace)
    held = Held(api, taking.take(timeout), taking.asked, holder, pace)
    renewing = threading.Thread(target=held.keep, name="lease", daemon=True)
    renewing.start()
    try:
        yield held
    finally:
        held.end(renewing, note)


class Held:
    """The Lease while a run has it. :meth:`check` is asked before every write."""

    def __init__(self, api: Api, body: Mapping[str, Json], asked: float, holder: str, pace: Pace) -> None:
        self._api, self._body, self._holder, self._pace = api, body, holder, pace
        self._renewed = asked  # when it was asked for: nobody knows how long ago the server said yes
        self._lost = ""
        self._ended = threading.Event()
        self._left: dict[str, str] = {}

    @property
    def namespace(self) -> str:
        """Where the Lease is: the management namespace."""
        return str(self._body["metadata"]["namespace"])

    @property
    def annotations(self) -> Mapping[str, str]:
        """What earlier runs left on the Lease."""
        return _annotations(self._body)

    def leave(self, annotations: Mapping[str, str]) -> None:
        """Annotate the Lease when it is given back, which costs no write of its own."""
        self._left |= annotations

    def check(self) -> None:
        """Raise LostLockError where another run may be at work by now; then this one may write no more."""
        if not self._lost and self._pace.clock() - self._renewed > self._pace.trusted:
            self._lost = f"it could not be renewed for {self._pace.trusted:.0f} s"
        if self._lost:
            what = f"this run lost the lock: {self._lost}"
            fix = "It stopped writing. What is missing the next run does"
            raise LostLockError([Problem(Code.LOCK_LOST, what, self._api.display, _about(self._body), fix=fix)], 409)

    def keep(self) -> None:
        """Renew until the end."""
        while not self._lost and not self._ended.wait(self._pace.interval):
            self.renew()

    def renew(self) -> None:
        """Say that this run is alive; where that fails another try may succeed while there is time."""
        asked = self._pace.clock()
        try:
            if self._write({"renewTime": _micro(self._pace.today())}):
                self._renewed = asked
        except OsmGitopsError:  # the next renewal tries again, and check() sees when it is too late
            return

    def end(self, renewing: threading.Thread, note: Callable[[str], None]) -> None:
        """Give the Lease back, if it is still ours."""
        self._ended.set()
        renewing.join(self._pace.interval)
        if self._lost or renewing.is_alive():
            return
        try:
            self._write({"holderIdentity": "", "renewTime": _micro(self._pace.today())}, self._left)
        except OsmGitopsError as failure:
            said = "; ".join(problem.sentence for problem in failure.problems)
            note(f"{said}. The Lease ends by itself after {self._pace.duration} s.")

    def _write(self, spec: Mapping[str, Json], annotations: Mapping[str, str] | None = None) -> bool:
        """Change the Lease as long as it is ours; whether it was. Somebody may have changed other parts of it."""
        for _ in range(3):
            try:
                self._body = self._api.replace(_changed(self._body, spec, annotations or {}))
            except ConflictError:
                if not self._is_ours_still():
                    return False
            else:
                return True
        return False

    def _is_ours_still(self) -> bool:
        metadata = self._body["metadata"]
        found = self._api.get(LEASE, metadata["namespace"], metadata["name"])
        if found is None or found["metadata"]["uid"] != metadata["uid"]:
            self._lost = "the Lease was deleted"
        elif _spec(found).get("holderIdentity") != self._holder:
            self._lost = f"the Lease went to {_spec(found).get('holderIdentity') or 'nobody'}"
        else:
            self._body = found
        return not self._lost


@dataclass(slots=True)
class _Taking:
    """The way to a Lease. Another holder is dead when it has said nothing for the life of its Lease while we looked:
    how long ago it says to have spoken depends on its clock (as Kubernetes' own leader election judges)."""

    api: Api
    namespace: str
    holder: str
    note: Callable[[str], None]
    pace: Pace
    asked: float = 0.0
    word: object = None
    heard: float = 0.0

    def take(self, timeout: float) -> Mapping[str, Json]:
        """The Lease, ours now. Raises ClusterError."""
        until = self.pace.clock() + timeout
        tried = 0
        while True:
            found = self.api.get(LEASE, self.namespace, LEASE_NAME)
            if self._is_free(found):
                taken = self._try(found)
                if taken is not None:
                    return taken
                self._bear(until, tried)
            elif found is not None:
                self._wait_for(found, until, told=tried > 0)
            self.pace.sleep(min(self.pace.pause(tried), max(0.0, until - self.pace.clock())))
            tried += 1

    def _bear(self, until: float, tried: int) -> None:
        """Others were faster, or the server says so for a reason of its own: not for ever. Raises ClusterError."""
        if tried >= _RACES and self.pace.clock() >= until:
            what = f"the Lease {self.namespace}/{LEASE_NAME} is free and cannot be taken (409, {tried + 1} times)"
            fix = "Run again; if that does not help, delete the Lease"
            raise ClusterError([Problem(Code.LOCK_NOT_TAKEN, what, self.api.display, fix=fix)], 409)

    def _is_free(self, found: Mapping[str, Json] | None) -> bool:
        spec = _spec(found or {})
        if spec.get("holderIdentity") in {None, "", self.holder}:
            return True
        word = (spec.get("holderIdentity"), spec.get("acquireTime"), spec.get("renewTime"))
        if word != self.word:
            self.word, self.heard = word, self.pace.clock()
        return self.pace.clock() - self.heard >= int(spec.get("leaseDurationSeconds") or self.pace.duration)

    def _try(self, found: Mapping[str, Json] | None) -> Mapping[str, Json] | None:
        """Take it; ``None`` where another was faster."""
        self.asked = self.pace.clock()
        now = _micro(self.pace.today())
        spec = {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.pace.duration,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": int(_spec(found or {}).get("leaseTransitions") or 0) + (found is not None),
        }
        try:
            if found is not None:
                return self.api.replace(_changed(found, spec, {}))
            return self.api.create(_changed(_new(self.namespace), spec, {}))
        except ClusterError as failure:
            if failure.status != 409:
                raise
            return None

    def _wait_for(self, found: Mapping[str, Json], until: float, *, told: bool) -> None:
        spec = _spec(found)
        who = f"another run of osm-gitops is at work: {spec['holderIdentity']}, since {spec.get('acquireTime')}"
        if self.pace.clock() >= until:
            life = spec.get("leaseDurationSeconds") or self.pace.duration
            what = f"{who}, last heard of at {spec.get('renewTime')}"
            fix = f"Run again when it has ended, or wait with --lock-timeout: if it was killed, {life}s are enough"
            raise ClusterError([Problem(Code.LOCK_NOT_TAKEN, what, self.api.display, _about(found), fix=fix)], 409)
        if not told:
            self.note(f"Waiting: {who}.")


def _new(namespace: str) -> dict[str, Json]:
    metadata = {"name": LEASE_NAME, "namespace": namespace, "labels": {MANAGED_BY_LABEL: MANAGED_BY}}
    return {"apiVersion": LEASE.api_version, "kind": LEASE.name, "metadata": metadata}


def _changed(body: Mapping[str, Json], spec: Mapping[str, Json], annotations: Mapping[str, str]) -> dict[str, Json]:
    """The same Lease with other contents; its resourceVersion makes sure that nobody was faster."""
    metadata = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
    if annotations:
        metadata["annotations"] = {**_annotations(body), **annotations}
    return {**body, "metadata": metadata, "spec": {**_spec(body), **spec}}


def _spec(body: Mapping[str, Json]) -> Mapping[str, Json]:
    return body.get("spec") or {}


def _annotations(body: Mapping[str, Json]) -> Mapping[str, str]:
    return body["metadata"].get("annotations") or {}


def _about(body: Mapping[str, Json]) -> str:
    return f"Lease {body['metadata']['namespace']}/{body['metadata']['name']}"


def _micro(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
