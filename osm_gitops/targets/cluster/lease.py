"""The lock of a live cluster: a Lease in the management cluster that a run holds while it writes.

Each management namespace has one Lease, since it belongs to one desired cluster: configurations are named after pools
only (osm-behaviour.md, "Object names"), and objects of ours that are not desired are deleted. So the lock does not
depend on the name of the cluster in a fleet file.

It needs the rights ``get``, ``create`` and ``update`` on leases.coordination.k8s.io in this namespace.
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
from osm_gitops.model.span import rfc3339_micro

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api

LEASE_NAME: Final = "osm-gitops"
_RACES: Final = 5
"""Attempts after which a conflict is an error, once the timeout has passed."""


def _clock() -> float:
    """Monotonic seconds, including time in which the machine was suspended if the system counts it."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The life of a Lease without renewal, in whole seconds, and clocks that tests replace.

    ``today`` is written to the Lease for people. It decides nothing, since clocks of machines differ.
    """

    duration: int = 60
    clock: Callable[[], float] = _clock
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
    today: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def interval(self) -> float:
        """Seconds between renewals."""
        return self.duration / 5

    @property
    def trusted(self) -> float:
        """Seconds after a renewal in which the holder may write: writes end before another run takes over."""
        return self.duration * 2 / 3

    def pause(self, tried: int) -> float:
        """Seconds to wait for the Lease of another run: exponential, with jitter."""
        return float(min(self.duration / 10, 0.5 * 2 ** min(tried, 8))) * (0.5 + self.chance() / 2)


PACE: Final = Pace()


def holder_name() -> str:
    """The identity of a holder: machine, process and a random part."""
    return f"{platform.node()}_{os.getpid()}_{secrets.token_hex(4)}"


@contextmanager
def lease(
    api: Api, namespace: str, *, holder: str, timeout: float, note: Callable[[str], None], pace: Pace = PACE
) -> Iterator[Held]:
    """Hold the Lease of ``namespace`` in the management cluster, and renew it in the background.

    Waits ``timeout`` seconds for another holder, then raises a ClusterError that names it.
    """
    taking = _Acquisition(api, namespace, holder, note, pace)
    try:
        taken = taking.take(timeout)
    except KeyboardInterrupt:
        taking.withdraw()
        raise
    held = Held(api, taken, taking.asked, holder, pace)
    renewing = threading.Thread(target=held.keep, name="lease", daemon=True)
    renewing.start()
    try:
        yield held
    finally:
        try:
            held.end(renewing, note)
        except KeyboardInterrupt:  # the request may have got no answer
            held.end(renewing, note)
            raise


class Held:
    """A Lease that this run holds. :meth:`check` is called before each write."""

    def __init__(self, api: Api, body: Mapping[str, Json], asked: float, holder: str, pace: Pace) -> None:
        self._api, self._body, self._holder, self._pace = api, body, holder, pace
        self._renewed = asked  # time of the request: the time of the server's answer is not known
        self._lost = ""
        self._ended = threading.Event()
        self._left: dict[str, str] = {}

    @property
    def namespace(self) -> str:
        """The management namespace, which has the Lease."""
        return str(self._body["metadata"]["namespace"])

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations of earlier runs."""
        return _annotations(self._body)

    def leave(self, annotations: Mapping[str, str]) -> None:
        """Annotate the Lease when it is released, which needs no extra write."""
        self._left |= annotations

    def check(self) -> None:
        """Raise LostLockError if another run may hold the Lease. Then this run must not write."""
        if not self._lost and self._pace.clock() - self._renewed > self._pace.trusted:
            self._lost = f"it could not be renewed for {self._pace.trusted:.0f} s"
        if self._lost:
            what = f"this run lost the lock: {self._lost}"
            fix = "It stopped writing. The next run does the rest"
            raise LostLockError([Problem(Code.LOCK_LOST, what, self._api.display, _about(self._body), fix=fix)], 409)

    def keep(self) -> None:
        """Renew the Lease until :meth:`end`."""
        while not self._lost and not self._ended.wait(self._pace.interval):
            self.renew()

    def renew(self) -> None:
        """Renew the Lease once. A failure is not an error yet: the next renewal may succeed."""
        asked = self._pace.clock()
        try:
            if self._write({"renewTime": rfc3339_micro(self._pace.today())}):
                self._renewed = asked
        except OsmGitopsError:  # the next renewal tries again, and check() detects when it is too late
            return

    def end(self, renewing: threading.Thread, note: Callable[[str], None]) -> None:
        """Release the Lease if it is still ours."""
        self._ended.set()
        renewing.join(self._pace.interval)
        if self._lost or renewing.is_alive():
            return
        try:
            self._write({"holderIdentity": "", "renewTime": rfc3339_micro(self._pace.today())}, self._left)
        except OsmGitopsError as failure:
            said = "; ".join(problem.sentence for problem in failure.problems)
            note(f"{said}. The Lease expires after {self._pace.duration} s.")

    def _write(self, spec: Mapping[str, Json], annotations: Mapping[str, str] | None = None) -> bool:
        """Change the Lease if it is ours; returns whether it is. Others may have changed other parts of it."""
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
            self._lost = f"the Lease is held by {_spec(found).get('holderIdentity') or 'no run'}"
        else:
            self._body = found
        return not self._lost


@dataclass(slots=True)
class _Acquisition:
    """Acquires a Lease. Another holder counts as dead if its Lease does not change for its duration while we watch. The
    times in the Lease are not compared with our clock, as in Kubernetes' leader election."""

    api: Api
    namespace: str
    holder: str
    note: Callable[[str], None]
    pace: Pace
    asked: float = 0.0
    word: object = None
    heard: float = 0.0

    def take(self, timeout: float) -> Mapping[str, Json]:
        """Acquire the Lease. Raises ClusterError."""
        until = self.pace.clock() + timeout
        tried = 0
        while True:
            found = self.api.get(LEASE, self.namespace, LEASE_NAME)
            if self._is_free(found):
                taken = self._try(found)
                if taken is not None:
                    return taken
                self._refuse_races(until, tried)
            elif found is not None:
                self._wait_for(found, until, noted=tried > 0)
            self.pace.sleep(min(self.pace.pause(tried), max(0.0, until - self.pace.clock())))
            tried += 1

    def withdraw(self) -> None:
        """After an interruption: release the Lease if a request acquired it whose answer was not read."""
        try:
            found = self.api.get(LEASE, self.namespace, LEASE_NAME)
            if found is not None and _spec(found).get("holderIdentity") == self.holder:
                self.api.replace(_changed(found, {"holderIdentity": ""}, {}))
        except OsmGitopsError as failure:
            self.note("; ".join(problem.sentence for problem in failure.problems))

    def _refuse_races(self, until: float, tried: int) -> None:
        """Raise ClusterError after too many conflicts."""
        if tried >= _RACES and self.pace.clock() >= until:
            what = f"the Lease {self.namespace}/{LEASE_NAME} is free, but acquiring it failed {tried + 1} times (409)"
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
        """Acquire the Lease; ``None`` if another run was first."""
        self.asked = self.pace.clock()
        now = rfc3339_micro(self.pace.today())
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

    def _wait_for(self, found: Mapping[str, Json], until: float, *, noted: bool) -> None:
        spec = _spec(found)
        who = f"another run of osm-gitops is active: {spec['holderIdentity']}, since {spec.get('acquireTime')}"
        if self.pace.clock() >= until:
            life = spec.get("leaseDurationSeconds") or self.pace.duration
            what = f"{who}, last renewed at {spec.get('renewTime')}"
            fix = f"Run again when it has ended, or wait with --lock-timeout: if it was killed, {life}s is enough"
            raise ClusterError([Problem(Code.LOCK_NOT_TAKEN, what, self.api.display, _about(found), fix=fix)], 409)
        if not noted:
            self.note(f"Waiting: {who}.")


def _new(namespace: str) -> dict[str, Json]:
    metadata = {"name": LEASE_NAME, "namespace": namespace, "labels": {MANAGED_BY_LABEL: MANAGED_BY}}
    return {"apiVersion": LEASE.api_version, "kind": LEASE.name, "metadata": metadata}


def _changed(body: Mapping[str, Json], spec: Mapping[str, Json], annotations: Mapping[str, str]) -> dict[str, Json]:
    """The Lease with other contents. Its resourceVersion makes the API server refuse a concurrent change."""
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
