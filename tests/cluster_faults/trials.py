"""Faults during a run, one at a time, and the result: for the tests and for docs/explanation/reliability.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.process import BaseProcess
from random import Random
from threading import Lock
from time import perf_counter
from typing import Any, Final

from tests.apiserver.after_osm import REVISION
from tests.apiserver.proxy import Fault, Forward, Proxy, Reply, Request, answer, cut, drop, during, lose, text
from tests.cli.running import Ran
from tests.cluster_faults.meddling import MEDDLING
from tests.cluster_faults.scene import POOLS, Scene
from tests.cluster_faults.victim import kill, run_apart

FAULTS: Final[Mapping[str, Fault]] = {
    "429": answer(429),
    "429, Retry-After: 3": answer(429, retry_after="3"),
    "500": answer(500),
    "502 of a gateway, in HTML": text(502, "<html>bad gateway</html>"),
    "503": answer(503),
    "503, Retry-After: 3": answer(503, retry_after="3"),
    "504": answer(504),
    "dropped before it was carried out": drop,
    "dropped after it was carried out": lose,
    "answer cut after 5 bytes": cut(5),
    "answer cut after 60 bytes": cut(60),
    "answer cut 10 bytes before its end": cut(-10),
}
"""What a run gets over by itself."""

REFUSALS: Final[Mapping[str, Fault]] = {
    "403, for good": answer(403),
    "409, for good": answer(409),
    "410, for good": answer(410),
    "503, for good": answer(503),
    "dropped, for good": drop,
    "carried out and dropped, for good": lose,
}
"""What a run cannot get over: it says so, and the next one finishes."""

_OURS: Final = "k8c.io/machine-deployment-revision"
_NAMES: Final = re.compile(rf"({'|'.join(POOLS)})(?=-|$)|bootstrap-token-\w+")


Kind = tuple[Proxy, str, str]
"""A proxy, a method and the pattern of a path."""


@dataclass(frozen=True, slots=True)
class Trial:
    """``wrong`` says what is not as after a run to which nothing happened; ``lost`` are objects that are missing.

    ``code`` is how the run ended that it happened to, ``runs`` how many it took until all was well.
    """

    name: str
    code: int
    runs: int
    seconds: float
    lost: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


@dataclass(slots=True)
class Trials:
    """Trials in one scene, each of which begins anew. ``wanted`` is what a run leaves to which nothing happened."""

    scene: Scene
    wanted: Mapping[str, Any] = field(init=False)
    requests: Sequence[tuple[Proxy, Request]] = field(init=False)
    others: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scene.set_out()
        ran = self.scene.run("--concurrency", "1")
        assert ran.code == 0, ran.err
        self.wanted = self.scene.state()
        self.requests = [(door, request) for door in self.scene.doors for request in door.seen]

    def kinds(self) -> Sequence[Kind]:
        """The requests of a run, without the names of pools: proxy, method and pattern of the path."""
        found = ((door, request.method, _NAMES.sub("*", request.path)) for door, request in self.requests)
        return [*dict.fromkeys(found)]

    @property
    def writes(self) -> int:
        return sum(request.is_write for _, request in self.requests)

    def faulty(self, name: str, fault: Fault, kind: Kind, times: int | None = 1) -> Trial:
        """A run in which the first requests of a kind have a fault; None: all of them."""
        door, method, pattern = kind
        self._begin()
        seen = _of_kind(method, pattern)
        door.when(fault, fits=seen, times=times)
        return self._judged(f"{name}: {method} {pattern}", self.scene.run)

    def hail(self, name: str, fault: Fault) -> Trial:
        """A run in which the first request of every kind has a fault."""
        self._begin()
        for door, method, pattern in self.kinds():
            door.when(fault, fits=_of_kind(method, pattern))
        return self._judged(f"{name}: every kind of request", self.scene.run)

    def storm(self, seed: int) -> Trial:
        """A run in which every fifth request has a fault, by chance."""
        self._begin()
        dice, lock = Random(seed), Lock()
        faults = [*FAULTS.values()]

        def struck(request: Request, forward: Forward) -> Reply:
            with lock:
                fault = faults[dice.randrange(len(faults))] if dice.random() < 0.2 else None
            return fault(request, forward) if fault else forward()

        for door in self.scene.doors:
            door.when(struck, times=None)
        return self._judged(f"storm {seed}", self.scene.run)

    def killed(self, number: int, *, done: bool, concurrency: int = 1) -> Trial | None:
        """A run that is killed at its nth write: before the server gets it, or ``done``. None: it has no such write."""
        self._begin()
        met: list[BaseProcess] = []
        numbers, lock = count(1), Lock()

        def is_last(request: Request) -> bool:
            if not request.is_write:
                return False
            with lock:
                return next(numbers) == number

        def end(_request: Request, forward: Forward) -> Reply:
            if done:
                forward()
            kill(met[0])
            return Reply(0, b"", 0)

        for door in self.scene.doors:
            door.when(end, fits=is_last)
        arguments = (*self.scene.arguments, "--concurrency", str(concurrency))
        name = f"killed {'after' if done else 'before'} write {number}, {concurrency} at a time"
        trial = self._judged(name, lambda: Ran(run_apart(arguments, met.append), "", ""))
        return trial if trial.code else None

    def meanwhile(self, name: str, number: int) -> Trial:
        """A run in the middle of which, just before its nth request, somebody does something."""
        meddling, wanted = MEDDLING[name], self._after(name)
        self._begin()
        numbers, lock = count(1), Lock()

        def is_it(_request: Request) -> bool:
            with lock:
                return next(numbers) == number

        for door in self.scene.doors:
            door.when(during(lambda: meddling.act(self.scene)), fits=is_it)
        return self._judged(f"{name}, at request {number}", self.scene.run, wanted, meddling.follow)

    def _after(self, name: str) -> Mapping[str, Any]:
        """What a run leaves where this was done before it began."""
        if name not in self.others:
            meddling = MEDDLING[name]
            self._begin()
            meddling.act(self.scene)
            meddling.follow(self.scene)
            ran = self.scene.run()
            assert ran.code == 0, ran.err
            self.others[name] = self.scene.state()
        return self.others[name]

    def _begin(self) -> None:
        self.scene.again()
        self.scene.set_out()

    def _judged(
        self,
        name: str,
        run: Callable[[], Ran],
        wanted: Mapping[str, Any] | None = None,
        follow: Callable[[Scene], None] = lambda _scene: None,
    ) -> Trial:
        """What a run left, at once and after the next one."""
        wanted = self.wanted if wanted is None else wanted
        began = perf_counter()
        ran = run()
        for door in self.scene.doors:
            door.rest()
            door.clear()
        wrong = [*in_between(self.scene.state(), wanted)]
        follow(self.scene)
        runs = 1
        while runs < 4 and self.scene.state() != wanted:
            self.scene.expire_lease()
            runs += 1
            again = self.scene.run()
            if again.code:
                wrong.append(f"the next run fails: {again.err}")
        state = self.scene.state()
        wrong += [f"{key} is not as it should be" for key in state if state[key] != wanted.get(key)]
        lost = tuple(sorted(wanted.keys() - state.keys()))
        return Trial(name, ran.code, runs, perf_counter() - began, lost, tuple(wrong))


def _of_kind(method: str, pattern: str) -> Callable[[Request], bool]:
    return lambda request: request.method == method and _NAMES.sub("*", request.path) == pattern


def in_between(state: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """What may not be so at any moment, not even when a run has been killed.

    A bootstrap Secret that machines take, being of the revision of their pool, beside anything that is not of that
    template; and anything missing of a pool of which nothing had to be replaced.
    """
    for pool in POOLS:
        parts = (
            f"operatingsystemconfigs/{pool}-kube-system-config",
            f"secrets/{pool}-kube-system-provisioning-config",
            f"secrets/{pool}-kube-system-bootstrap-config",
        )
        machine, later = (found.get(f"machinedeployments/{pool}") for found in (state, wanted))
        if machine is None or later is None:
            continue
        gate = state.get(parts[2])
        is_taken = gate is not None and _revision(gate, _OURS) == _revision(machine, REVISION)
        if is_taken and _is_of(machine, later):
            yield from (f"{part} is old, and machines take it" for part in parts if state.get(part) != wanted[part])
        if pool in {"same", "changed"}:
            yield from (f"{part} was missing for a time" for part in parts if part not in state)


def _is_of(machine: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Whether machine-controller has made a MachineSet of what the pool is to be in the end."""
    same_template = machine["spec"]["template"] == later["spec"]["template"]
    return bool(same_template and _revision(machine, REVISION) == _revision(later, REVISION))


def _revision(item: Mapping[str, Any], annotation: str) -> str:
    return str((item["metadata"].get("annotations") or {}).get(annotation, ""))
