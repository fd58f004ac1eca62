"""Run all measures and print them as a table: ``make bench``."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from osm_gitops.config.spec import ClusterSpec, SourceSpec, TreeRef
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.load import load_inputs
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.pools import PoolRenderer
from osm_gitops.render.resolve.cluster_info import resolve_cluster
from osm_gitops.render.resolve.pools import resolve_pool
from osm_gitops.sops.document import decrypt, encrypt
from osm_gitops.sops.keys import find_keys, new_identity
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.targets.file_encryption import HIDDEN
from osm_gitops.targets.files import SECRET_KINDS
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents
from tests.bench import clusters, shapes, shards, validation
from tests.bench.fleets import CHANGE, PROFILES, write_fleet
from tests.bench.usage import Row, Usage, forget, unit, usage

_ROUNDS = 5
_MACHINES = 1_800
_WARM = 60
_SETTINGS = Settings(external_cloud_provider=True)


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed programs run
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores; the unit is {unit() * 1000:.1f} ms of CPU\n")
    print("| measure | value | units | asked for |\n|---|---|---|---|")
    for name, value, units, wanted in measures():
        print(f"| {name} | {value} | {units} | {wanted} |", flush=True)


def measures() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        yield from _rendering(folder)
        yield from _start_up(folder)
        for count in (1_000, 10_000):
            yield from _planning(folder, count)
        yield from _files(folder / "target-1000")
        yield from shapes.measures(folder)
        yield from validation.measures(folder)
        yield from shards.measures()
        yield from clusters.measures(1_000)


def _rendering(folder: Path) -> Iterator[Row]:
    """OSC and both Secrets in memory, per second of one core; compilation and serialisation excluded."""
    yield _rate_row("MDs/s, six profiles, every field distinct", _rate(folder / "distinct", distinct=True), "5,000")
    for profile in PROFILES[:2]:
        rate = _rate(folder / f"distinct-{profile[0]}", distinct=True, profiles=(profile,))
        yield _rate_row(f"MDs/s, {profile[0]}, every field distinct", rate)
    yield _rate_row("MDs/s, fleet that differs in names only", _rate(folder / "names", distinct=False))


def _rate_row(name: str, rate: float, wanted: str = "") -> Row:
    """A rate, and how many there are in a unit."""
    return name, f"{rate:,.0f}", f"{rate * unit():,.1f} in one", wanted


def _rate(folder: Path, *, distinct: bool, profiles: tuple[tuple[str, str, str], ...] = PROFILES) -> float:
    tree = TreeRef(write_fleet(folder, _MACHINES, distinct=distinct, profiles=profiles), "bench")
    spec = ClusterSpec("bench", SourceSpec(tree, tree, tree), (), None)
    inputs = load_inputs(spec, _SETTINGS, {})
    cluster = resolve_cluster(_SETTINGS, inputs.facts)
    renderer = PoolRenderer(Engine(ROOT_TYPES), cluster)
    warm, rest = inputs.machines[:_WARM], inputs.machines[_WARM:]

    def render(machines: Sequence[MachineDeployment]) -> None:
        for machine in machines:
            pool = resolve_pool(machine, inputs, cluster)
            renderer.user_data(pool, renderer.config(pool))

    render(warm)
    # Every round must meet machines that it has not seen, or its caches would answer.
    size = len(rest) // _ROUNDS
    rates = []
    for start in range(0, size * _ROUNDS, size):
        part = rest[start : start + size]
        started = process_time()  # a busy machine must not count as slow rendering
        render(part)
        rates.append(size / (process_time() - started))
    return statistics.median(rates)


def _start_up(folder: Path) -> Iterator[Row]:
    one = write_fleet(folder / "one", 1, distinct=True, profiles=PROFILES[:1])
    yield _median("--version").row("start of --version")
    yield _median("plan", "--help").row("plan --help", "0.25 s CPU")
    asked = {"_OSM_GITOPS_COMPLETE": "complete_bash", "COMP_WORDS": "osm-gitops plan --o", "COMP_CWORD": "2"}
    os.environ |= asked
    yield _median().row("completion of an option", "0.12 s CPU")
    for name in asked:
        del os.environ[name]
    yield _median("render", "--from", str(one), "--to", "-").row("render of one MD")


def _planning(folder: Path, count: int) -> Iterator[Row]:
    fleet = f"{count:,} MDs"
    tree = write_fleet(folder / f"fleet-{count}", count, distinct=False, profiles=PROFILES)
    arguments = ("--from", str(tree), "--to", str(folder / f"target-{count}"), "--external-cloud-provider")
    small = count == 1_000
    forget()
    yield usage("plan", *arguments).row(f"plan of {fleet}, cold")
    yield usage("render", *arguments).row(f"render of {fleet} into a folder", "2 s CPU" if small else "")
    yield usage("plan", *arguments).row(f"plan of {fleet}, unchanged", "1.5 s CPU" if small else "")
    for output in ("text", "json", "markdown", "html")[: 4 if small else 2]:
        wanted = "3 s CPU" if small else "20 s, 250 MB"
        yield usage("plan", *arguments, *CHANGE, "--output", output).row(
            f"plan of {fleet}, all changed, {output}", wanted
        )
    yield from _encrypted(folder, tree, fleet, "8 s CPU" if small else "")


def _encrypted(folder: Path, tree: Path, fleet: str, wanted: str) -> Iterator[Row]:
    """Into git with encryption: written, unchanged, changed, and with digests that do not fit, so that all is
    decrypted."""
    key, recipient = new_identity()
    os.environ["SOPS_AGE_KEY"] = key
    target = folder / f"encrypted-{fleet}"
    target.mkdir()
    subprocess.run(["git", "init", "--quiet", target], check=True)
    place = ("--from", str(tree), "--to", str(target / "clusters"), "--external-cloud-provider")
    arguments = (*place, "--age-recipient", recipient)
    yield usage("apply", "--yes", *arguments).row(f"apply of {fleet} into git, encrypted")
    yield usage("plan", *arguments).row(f"plan of {fleet}, encrypted and unchanged")
    yield usage("apply", "--yes", *arguments, *CHANGE).row(f"apply of {fleet}, encrypted, all changed", wanted)
    for path in target.rglob("*.yaml"):
        path.write_bytes(path.read_bytes().replace(b" digest ", b" digest 0"))
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    subprocess.run(
        ["git", "-C", target, *identity, "commit", "--all", "--quiet", "--message=other digests"], check=True
    )
    yield usage("plan", *arguments, *CHANGE).row(f"plan of {fleet}, all of them decrypted")


def _files(rendered: Path) -> Iterator[Row]:
    """A fifth of the OSCs and Secrets of 1,000 MDs, per second of one core, in memory."""
    bodies = (_body(path.read_bytes()) for path in sorted(rendered.rglob("*.yaml")))
    plain = [body for body in bodies if body["kind"] in SECRET_KINDS][::5]
    (key, first), *others = (new_identity() for _ in range(5))
    keyring = find_keys({"SOPS_AGE_KEY": key})
    one, five = (
        partial(encrypt, rule=Rule((first, *more), Selection(encrypted_regex=HIDDEN)), now="2026-01-31T12:00:00Z")
        for more in ((), (recipient for _, recipient in others))
    )
    sealed = [one(body) for body in plain]
    texts = [dump(body).encode() for body in sealed]
    for name, work, things in (
        ("decrypted", lambda body: decrypt([body], keyring), sealed),
        ("parsed", _body, texts),
        ("written for one", one, plain),
        ("written for five", five, plain),
    ):
        yield _rate_row(f"encrypted files/s, {name}", _per_second(work, things))


def _body(text: bytes) -> Any:
    return load_documents(text, "bench")[0].value


def _per_second(work: Callable[[Any], object], things: Sequence[Any]) -> float:
    rates = []
    for _ in range(_ROUNDS):
        started = process_time()
        for thing in things:
            work(thing)
        rates.append(len(things) / (process_time() - started))
    return statistics.median(rates)


def _median(*arguments: str) -> Usage:
    """That of some runs which took the median of CPU."""
    return sorted((usage(*arguments) for _ in range(_ROUNDS)), key=lambda each: each.cpu)[_ROUNDS // 2]


if __name__ == "__main__":
    main()
