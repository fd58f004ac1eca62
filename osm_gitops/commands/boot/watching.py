"""Watch a machine boot: its journal, what it asks the API server for, and its Node."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic, sleep, time
from typing import Any, Final

from osm_gitops.commands.boot.lane.control_plane import ControlPlane
from osm_gitops.commands.boot.lane.machine import Machine
from osm_gitops.commands.boot.lane.needs import output
from osm_gitops.commands.boot.verdict import UNITS, Boot, BootedPool, Step

_PAUSE: Final = 1.0
_SETTLES: Final = 90.0
"""Seconds that the units of a machine which has joined may still take."""
_LINES: Final = 15
"""Of the log of a unit that are kept for the report."""
_SHOWN: Final = ("bootstrap", "setup")
"""Units whose lines are shown while they come: both stages."""
_ENDS: Final = ("running", "degraded")
_STARTS: Final = {"bootstrap": Step.FIRST_STAGE, "setup": Step.SECOND_STAGE, "kubelet": Step.KUBELET}
"""Steps that begin when systemd starts a unit."""
_STARTING: Final = frozenset({"7d4958e842da4a758f6c1cdc7b36dcc5", "39f53479d3a045ac8e11786248231fbf"})
"""systemd's ids of its messages that a unit is starting, or has started (systemd.journal-fields)."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What a boot is about: the machine, its control plane, and the name of its provisioning Secret."""

    booted: BootedPool
    machine: Machine
    plane: ControlPlane
    secret: str


@dataclass
class BootWatch:
    """Looks at a machine that was switched on. ``tell`` shows a line at once."""

    watched: Watched
    tell: Callable[[str], None]
    reached: dict[Step, float] = field(default_factory=dict)
    node: Mapping[str, Any] | None = None
    _began: float = field(default_factory=time)
    _cursor: str = ""
    _refused: dict[int, None] = field(default_factory=dict)
    _log: dict[str, list[str]] = field(default_factory=dict)
    _audited: int = 0

    def run(self, seconds: float) -> Boot:
        """Watch until the machine has joined and its units have settled, has ended, or the time is over."""
        while self._seconds < seconds and self.watched.machine.runs and Step.REPORTED not in self.reached:
            sleep(_PAUSE)
            self._look()
        joined = Step.REPORTED in self.reached
        failed = self._failed_units() if joined else ()
        self._read_journal()
        net = self.watched.machine.net
        units = failed if joined else UNITS[next(step for step in Step if step not in self.reached)]
        return Boot(
            booted=self.watched.booted,
            seconds=self._seconds,
            reached=dict(self.reached),
            node=self.node,
            failed_units=failed,
            missing=tuple(dict.fromkeys(f"{host}{path}" for host, path, status in net.asked if status == 404)),
            unknown=tuple(sorted(net.refused)),
            refused=tuple(self._refused),
            log={unit: tuple(self._log[unit]) for unit in units if unit in self._log},
            ended=not self.watched.machine.runs,
        )

    @property
    def _seconds(self) -> float:
        return time() - self._began

    def _reach(self, step: Step, moment: float | None = None) -> None:
        """Note that a step was reached, at a moment (seconds since 1970) or now."""
        self.reached.setdefault(step, self._seconds if moment is None else max(0.0, moment - self._began))

    def _look(self) -> None:
        self._read_journal()
        self._read_audit()
        if Step.KUBELET not in self.reached:
            return
        # In this order: a Node that is there has had its certificate when requests are read.
        nodes = self.watched.plane.get("nodes")["items"]
        for request in self.watched.plane.get("csr")["items"]:
            self._reach(Step.REQUEST)
            if (request.get("status") or {}).get("certificate"):
                self._reach(Step.CERTIFICATE)
        for node in nodes:
            self.node = node
            self._reach(Step.NODE)
            if (node.get("status") or {}).get("nodeInfo", {}).get("kubeletVersion"):
                self._reach(Step.REPORTED)

    def _read_journal(self) -> None:
        for moment, unit, line in self._entries():
            kept = self._log.setdefault(unit, [])
            kept.append(line)
            del kept[:-_LINES]
            if unit in _SHOWN:
                self.tell(f"{moment - self._began:6.1f} s  {unit}: {line}")

    def _entries(self) -> Iterator[tuple[float, str, str]]:
        """New lines of the journal: moment, unit without its type, and text."""
        folder = self.watched.machine.path("/var/log/journal")
        if not any(folder.glob("*/*.journal")):
            return
        after = (f"--after-cursor={self._cursor}",) if self._cursor else ()
        text = output("journalctl", "--quiet", "--output=json", f"--directory={folder}", *after)
        for entry in map(json.loads, text.splitlines()):
            self._cursor = entry["__CURSOR"]
            moment = int(entry["__REALTIME_TIMESTAMP"]) / 1e6
            started = str(entry.get("UNIT", "")).removesuffix(".service")
            if started in _STARTS and entry.get("MESSAGE_ID") in _STARTING:
                self._reach(_STARTS[started], moment)
            unit, message = str(entry.get("_SYSTEMD_UNIT", "")), entry.get("MESSAGE")
            if isinstance(message, list):  # bytes that are not text
                message = bytes(message).decode("utf-8", "replace")
            if isinstance(message, str) and unit.endswith(".service"):
                yield moment, unit.removesuffix(".service"), message

    def _read_audit(self) -> None:
        """What the machine's own account was answered when it asked for its Secret."""
        with self.watched.plane.audit.open("rb") as log:
            log.seek(self._audited)
            lines = log.readlines()
        for line in lines:
            if not line.endswith(b"\n"):
                break
            self._audited += len(line)
            event = json.loads(line)
            if (event.get("objectRef") or {}).get("name") != self.watched.secret:
                continue
            status = (event.get("responseStatus") or {}).get("code", 0)
            if status == 200:
                self._reach(Step.SECRET, datetime.fromisoformat(event["stageTimestamp"]).timestamp())
            elif status:
                self._refused[status] = None

    def _failed_units(self) -> tuple[str, ...]:
        """Those that have failed when the machine has settled; its first state may be early."""
        machine, end = self.watched.machine, monotonic() + _SETTLES
        while monotonic() < end and machine.run("systemctl", "is-system-running").stdout.strip() not in _ENDS:
            sleep(_PAUSE)
            self._read_journal()
        listed = machine.run("systemctl", "--failed", "--plain", "--no-legend").stdout
        return tuple(line.split()[0].removesuffix(".service") for line in listed.splitlines() if line.strip())
