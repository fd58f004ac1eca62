"""Run all measures and print them as a table: ``make bench``."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from osm_gitops.config.spec import ClusterSpec, SourceSpec, TreeRef
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.load import load_inputs
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.pools import PoolRenderer
from osm_gitops.render.resolve.cluster import resolve_cluster
from osm_gitops.render.resolve.pools import resolve_pool
from osm_gitops.sops.document import decrypt, encrypt
from osm_gitops.sops.keys import find_keys, new_identity
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.targets.file_encryption import HIDDEN
from osm_gitops.targets.files import SECRET_KINDS
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents
from tests.bench import clusters
from tests.bench.fleets import PROFILES, write_fleet

_ROUNDS = 5
_MACHINES = 1_800
_WARM = 60
_SETTINGS = Settings(external_cloud_provider=True)
_CHANGE = ("--node-http-proxy", "http://proxy.example.com:3128")


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed programs run
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores; medians of {_ROUNDS} runs\n")
    print("| measure | value | ratio | asked for |\n|---|---|---|---|")
    for name, value, ratio, wanted in measures():
        print(f"| {name} | {value} | {ratio} | {wanted} |", flush=True)


def measures() -> Iterator[tuple[str, str, str, str]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from _rendering(folder)
        yield from _start_up(folder)
        for count in (1_000, 10_000):
            yield from _planning(folder, count)
        yield from _files(folder / "target-1000")
    yield from clusters.measures(1_000)


def _rendering(folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """OSC and both Secrets in memory, per second of one core; compilation and serialisation excluded."""
    every = _rate(folder / "distinct", distinct=True, profiles=PROFILES)
    yield "MDs/s, six profiles, every field distinct", f"{every:,.0f}", "1.0", "1,500"
    for profile in PROFILES[:2]:
        rate = _rate(folder / f"distinct-{profile[0]}", distinct=True, profiles=(profile,))
        yield f"MDs/s, {profile[0]}, every field distinct", f"{rate:,.0f}", f"{rate / every:.1f}", ""
    names = _rate(folder / "names", distinct=False, profiles=PROFILES)
    yield "MDs/s, fleet that differs in names only", f"{names:,.0f}", f"{names / every:.1f}", "4,000"


def _rate(folder: Path, *, distinct: bool, profiles: tuple[tuple[str, str, str], ...]) -> float:
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


def _start_up(folder: Path) -> Iterator[tuple[str, str, str, str]]:
    one = write_fleet(folder / "one", 1, distinct=True, profiles=PROFILES[:1])
    bare = _median(lambda: _run("-c", "pass"))
    yield "start of bare Python", f"{bare * 1000:.0f} ms", "1.0", ""
    version = _median(lambda: _run("-m", "osm_gitops", "--version"))
    yield "start of --version", f"{version * 1000:.0f} ms", f"{version / bare:.1f}", "150 ms"
    render = _median(lambda: _run("-m", "osm_gitops", "render", "--from", str(one), "--to", "-"))
    yield "render of one MD", f"{render * 1000:.0f} ms", f"{render / bare:.1f}", "400 ms"


def _planning(folder: Path, count: int) -> Iterator[tuple[str, str, str, str]]:
    tree = write_fleet(folder / f"fleet-{count}", count, distinct=False, profiles=PROFILES)
    target = folder / f"target-{count}"
    arguments = ("--from", str(tree), "--to", str(target), "--external-cloud-provider")
    cold = _usage("plan", *arguments)
    yield f"plan of {count:,} MDs, cold", f"{cold[0]:.1f} s, {cold[1]:.0f} MB", "1.0", ""
    write = _usage("render", *arguments)
    ratio = f"{write[0] / cold[0]:.1f}"
    yield f"render of {count:,} MDs into a folder", f"{write[0]:.1f} s, {write[1]:.0f} MB", ratio, ""
    same = _usage("plan", *arguments)
    wanted = f"{count / 1000:.0f} s, 300 MB"
    yield f"plan of {count:,} MDs, unchanged", f"{same[0]:.1f} s, {same[1]:.0f} MB", f"{same[0] / cold[0]:.1f}", wanted
    other = _usage("plan", *arguments, *_CHANGE)
    yield (
        f"plan of {count:,} MDs, all of them changed",
        f"{other[0]:.1f} s, {other[1]:.0f} MB",
        f"{other[0] / cold[0]:.1f}",
        "",
    )
    yield from _encrypted(folder, tree, f"{count:,} MDs", cold[0])


def _encrypted(folder: Path, tree: Path, fleet: str, cold: float) -> Iterator[tuple[str, str, str, str]]:
    """The same with encryption: written, unchanged, and with digests that do not fit, so that all is decrypted."""
    key, recipient = new_identity()
    os.environ["SOPS_AGE_KEY"] = key
    target = folder / f"encrypted-{fleet}"
    target.mkdir()
    subprocess.run(["git", "init", "--quiet", target], check=True)
    arguments = ("--from", str(tree), "--to", str(target / "clusters"), "--external-cloud-provider")
    for name, command in (
        ("render of {} into git, encrypted", "render"),
        ("plan of {}, encrypted and unchanged", "plan"),
    ):
        wall, memory = _usage(command, *arguments, "--age-recipient", recipient)
        yield name.format(fleet), f"{wall:.1f} s, {memory:.0f} MB", f"{wall / cold:.1f}", ""
    for path in target.rglob("*.yaml"):
        path.write_bytes(path.read_bytes().replace(b" digest ", b" digest 0"))
    wall, memory = _usage("plan", *arguments, "--age-recipient", recipient)
    yield f"plan of {fleet}, all of them decrypted", f"{wall:.1f} s, {memory:.0f} MB", f"{wall / cold:.1f}", ""


def _files(rendered: Path) -> Iterator[tuple[str, str, str, str]]:
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
    opened = _per_second(lambda body: decrypt([body], keyring), sealed)
    yield "encrypted files/s, decrypted", f"{opened:,.0f}", "1.0", "1,500"
    for name, work, things in (
        ("parsed", _body, texts),
        ("written for one", one, plain),
        ("written for five", five, plain),
    ):
        rate = _per_second(work, things)
        yield f"encrypted files/s, {name}", f"{rate:,.0f}", f"{rate / opened:.1f}", ""


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


def _usage(*arguments: str) -> tuple[float, float]:
    """Wall seconds and peak memory in MB of one command line."""
    started = perf_counter()
    command = [sys.executable, "-m", "osm_gitops", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        message = f"osm-gitops {' '.join(arguments)} ended with {status}"
        raise RuntimeError(message)
    return perf_counter() - started, usage.ru_maxrss / 1024


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def _median(work: Callable[[], None]) -> float:
    work()
    return statistics.median(_seconds(work) for _ in range(_ROUNDS))


def _seconds(work: Callable[[], None]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


if __name__ == "__main__":
    main()
