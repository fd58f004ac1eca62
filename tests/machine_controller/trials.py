"""What happens to pools while runs go on, and which user-data their Machines got."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from time import sleep, time
from typing import Final

from tests.apiserver.after_osm import REVISION
from tests.machine_controller.runs import Runs
from tests.machine_controller.site import Instance, Site, until

POOLS: Final = tuple(f"pool-{number}" for number in range(5))
_PATIENCE: Final = 150  # seconds until a Machine without user-data counts as hung


@dataclass(frozen=True, slots=True)
class Result:
    """``took``: seconds from what somebody did to the user-data of the Machine that came of it.
    ``older``: Machines of superseded revisions that still wait."""

    name: str
    right: int
    wrong: Sequence[str]
    hung: Sequence[str]
    older: Sequence[str]
    took: Sequence[float]

    def row(self) -> str:
        times = (f"{median(self.took):.1f}", f"{max(self.took):.1f}") if self.took else ("", "")
        cells = (
            self.name,
            self.right + len(self.wrong),
            self.right,
            len(self.wrong),
            len(self.hung),
            len(self.older),
            *times,
        )
        return f"| {' | '.join(str(cell) for cell in cells)} |"


class Trials:
    """Trials in one site, each beginning with what the one before it left."""

    def __init__(self, site: Site, seed: int) -> None:
        self._site = site
        self._dice = Random(seed)
        self._runs = Runs(site.arguments, seed)
        self._number = 0
        self._kubelet = dict.fromkeys(POOLS, "")
        self._replicas = dict.fromkeys(POOLS, 1)
        # Since when a Machine of this pool is waited for, and of which template; empty: of any.
        self._due: list[tuple[float, str, str]] = []
        self.runs: list[Runs] = [self._runs]

    def all(self, word: str = "") -> list[Result]:
        """One after the other; of those whose name has a word."""
        self._runs.start()
        try:
            self._make("first")
            assert until(lambda: not self._missing(), _PATIENCE), "machine-controller does not work"
            results = [self._judged(name, act) for name, act in self._acts().items() if word in name]
            if POOLS[0] not in {each.pool for each in self._site.instances()}:
                self._judged("new pools", self._new)
            assert self._judged("to see that it is noticed: content of an older template", self._stale).wrong
            return results
        finally:
            self._runs.stop()

    def _acts(self) -> dict[str, Callable[[], None]]:
        return {
            "new pools": self._new,
            "taken over from OSM, a new template, one machine more": self._taken_over,
            "a new template": self._one_change,
            "two new templates within half a second, 4 times": self._two_changes,
            "back to the template before, then one machine more": self._back,
            "paused, a new template, one machine more, resumed": self._paused,
            "an annotation changed, one machine more": self._annotated,
            "a new version of the profile, one machine more": self._bumped,
            "deleted, and made again by the same name with another template": self._again,
            "new templates while some runs get kill -9, twice": self._killed,
            "a new template, and no run for 45 s": self._away,
            "the same with --no-nudge": self._unnudged,
        }

    def _judged(self, name: str, act: Callable[[], None]) -> Result:
        known = {each.uid for each in self._site.instances()}
        self._due.clear()
        act()
        until(lambda: not self._missing(), _PATIENCE)
        sleep(1)  # for what nobody waits for
        made = [each for each in self._site.instances() if each.uid not in known]
        wrong = [f"{each.machine} ({each.kubelet})" for each in made if not self._is_right(each)]
        took = [self._first(*due) - due[0] for due in self._due if self._first(*due)]
        result = Result(name, len(made) - len(wrong), wrong, self._missing(), self._site.waiting()[1], took)
        print(result.row(), flush=True)
        return result

    def _first(self, since: float, pool: str, kubelet: str) -> float:
        """When the first Machine got its user-data that is waited for; 0: none has."""
        found = (each for each in self._site.instances() if each.pool == pool and each.at > since)
        return min((each.at for each in found if kubelet in {"", each.kubelet}), default=0)

    def _missing(self) -> list[str]:
        unmet = [f"{pool} {kubelet}" for since, pool, kubelet in self._due if not self._first(since, pool, kubelet)]
        return unmet + self._site.waiting()[0]

    def _is_right(self, instance: Instance) -> bool:
        """Whether it has what is rendered for its template, with a profile that a run could know of."""
        profiles = self._site.profiles
        number = max(number for number, (since, _) in enumerate(profiles) if since <= instance.at)
        known = self._runs_since(profiles[number][0])
        allowed = profiles[number - (known is None or instance.at < known) if number else 0 : number + 1]
        wanted = {self._site.wanted(instance, script) for _, script in allowed}
        left, text = self._site.before.get(instance.pool, (0, ""))
        taken_over = self._runs_since(left)
        if text and (taken_over is None or instance.at < taken_over):
            wanted.add(text)
        return instance.userdata in wanted

    def _runs_since(self, moment: float) -> float | None:
        found = (runs.good_after(moment) for runs in self.runs)
        return min((each for each in found if each is not None), default=None)

    def _template(self) -> str:
        self._number += 1
        return f"1.34.{self._number}"

    def _roll(self, pool: str, kubelet: str, *, due: bool = True) -> None:
        self._site.roll(pool, kubelet)
        self._kubelet[pool] = kubelet
        if due:
            self._due.append((time(), pool, kubelet))

    def _scale_up(self, pool: str) -> None:
        self._replicas[pool] += 1
        self._due.append((time(), pool, ""))
        self._site.scale(pool, self._replicas[pool])

    def _make(self, pool: str) -> None:
        self._kubelet[pool] = self._template()
        self._replicas[pool] = 1
        self._due.append((time(), pool, self._kubelet[pool]))
        self._site.create(pool, self._kubelet[pool])

    def _some_time(self, most: float = 1.5) -> None:
        sleep(self._dice.uniform(0, most))

    def _new(self) -> None:
        for pool in POOLS:
            self._make(pool)
            self._some_time()

    def _one_change(self) -> None:
        for pool in POOLS:
            self._roll(pool, self._template())
            self._some_time()

    def _two_changes(self) -> None:
        for _ in range(4):
            for pool in POOLS:
                self._roll(pool, self._template(), due=False)
                self._some_time(0.5)
                self._roll(pool, self._template())
                self._some_time()
            until(lambda: not self._missing(), _PATIENCE)

    def _back(self) -> None:
        for pool in POOLS:
            before = self._kubelet[pool]
            self._roll(pool, self._template())
            self._some_time(3)
            self._roll(pool, before, due=False)
            self._some_time(0.5)
            self._scale_up(pool)
        self._due = [due for due in self._due if not due[2]]  # what was rolled back may never have had a Machine

    def _paused(self) -> None:
        # Pools whose rollout is over: else a machine more may be one of an older MachineSet.
        pools = [f"paused-{pool}" for pool in POOLS]
        for pool in pools:
            self._make(pool)
        until(lambda: not self._missing(), _PATIENCE)
        for pool in pools:
            self._site.merge(pool, {"spec": {"paused": True}})
            self._roll(pool, self._template(), due=False)
            self._scale_up(pool)
        until(lambda: not self._missing(), _PATIENCE)
        for pool in pools:
            self._site.merge(pool, {"spec": {"paused": False}})
            self._due.append((time(), pool, self._kubelet[pool]))

    def _annotated(self) -> None:
        for pool in POOLS:
            self._site.merge(pool, {"metadata": {"annotations": {"example.com/changed": str(time())}}})
            self._some_time()
            self._scale_up(pool)

    def _bumped(self) -> None:
        self._site.bump()
        for pool in POOLS:
            self._some_time(3)
            self._scale_up(pool)

    def _again(self) -> None:
        for pool in POOLS[:3]:
            self._site.delete(pool)
            assert until(lambda pool=pool: not self._site.has(pool), _PATIENCE), f"{pool} is still being deleted"
            self._site.collect_garbage()
            self._make(pool)

    def _killed(self) -> None:
        for _ in range(2):
            self._runs.kills = 0.5
            for pool in POOLS:
                self._roll(pool, self._template())
                self._some_time(2)
            sleep(4)
            self._runs.kills = 0
            until(lambda: not self._missing(), _PATIENCE)

    def _away(self, *more: str) -> None:
        self._pause_runs()
        for pool in POOLS:
            self._roll(pool, self._template())
        sleep(45)
        self._due = [(time(), pool, kubelet) for _, pool, kubelet in self._due]
        self._resume_runs(*more)

    def _unnudged(self) -> None:
        self._away("--no-nudge")

    def _taken_over(self) -> None:
        self._pause_runs()
        for pool in POOLS:
            name = f"osm-{pool}"
            self._make(name)
            assert until(lambda name=name: self._is_numbered(name), _PATIENCE), f"{name} got no revision"
            self._site.leave_to_osm(name)
        until(lambda: not self._missing(), _PATIENCE)
        self._resume_runs()
        for pool in POOLS:
            self._some_time(3)
            self._roll(f"osm-{pool}", self._template())
            self._some_time(0.3)
            self._scale_up(f"osm-{pool}")

    def _stale(self) -> None:
        """What this is to find: with no runs that repair it, the Secret of the present revision has old content."""
        self._pause_runs()
        self._site.spoil(POOLS[0], "1.34.1")
        self._scale_up(POOLS[0])

    def _is_numbered(self, pool: str) -> bool:
        found = {each["metadata"]["name"]: each["metadata"] for each in self._site.found("machinedeployments")}
        return REVISION in found[pool].get("annotations", {})

    def _pause_runs(self) -> None:
        self._runs.stop()

    def _resume_runs(self, *more: str) -> None:
        self._runs = Runs((*self._site.arguments, *more), len(self.runs))
        self.runs.append(self._runs)
        self._runs.start()
