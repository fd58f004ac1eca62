"""One fleet in git, worked on by 1, 4 and 16 shards that start at the same time and push to one branch."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from tests.bench.fleets import PROFILES, documents, machine, write_facts, write_profiles
from tests.bench.usage import Row, unit

_CLUSTERS = 48
_POOLS = 20
_COUNTS = (1, 4, 16)
_AGAIN = "planning again"


def measures() -> Iterator[Row]:
    """Rows of the table: cold and unchanged. CPU is that of all processes, git's included."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seed = _seed(folder / "seed")
        for count in _COUNTS:
            remote = folder / f"remote-{count}.git"
            _git("clone", "--quiet", "--bare", str(seed), str(remote))
            for state in ("cold", "unchanged"):
                yield _row(count, state, remote, folder)


def _row(count: int, state: str, remote: Path, folder: Path) -> Row:
    before, started = _cpu(), perf_counter()
    arguments = ["apply", "--yes", "--dangerously-plaintext-secrets", "--push", "--repo", f"file://{remote}", "-v"]
    command = [sys.executable, "-m", "osm_gitops", *arguments]
    logs = [(folder / f"log-{index}").open("w+") for index in range(count)]
    runs = [
        subprocess.Popen([*command, f"--shard={index}/{count}"], stdout=subprocess.DEVNULL, stderr=log, cwd=folder)
        for index, log in enumerate(logs)
    ]
    ends = [run.wait() for run in runs]
    wall, cpu = perf_counter() - started, _cpu() - before
    repeats = 0
    for log in logs:
        log.seek(0)
        repeats += log.read().count(_AGAIN)
        log.close()
    if any(ends):
        message = f"{count} shards ended with {ends}"
        raise RuntimeError(message)
    name = f"apply of {_CLUSTERS} clusters × {_POOLS} MDs into one branch, {count} shards, {state}"
    return name, f"{wall:.1f} s, {cpu:.1f} s CPU, planned again {repeats} times", f"{cpu / unit():,.0f}", ""


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seed(folder: Path) -> Path:
    tree = folder / "tree"
    tree.mkdir(parents=True)
    write_facts(tree)
    write_profiles(tree)
    machines = (machine(number, PROFILES[number % len(PROFILES)], distinct=False) for number in range(_POOLS))
    (tree / "machines.yaml").write_text(documents(machines))
    clusters = "".join(f"- {{name: c{number:03}, from: tree}}\n" for number in range(_CLUSTERS))
    head = "apiVersion: osm-gitops.io/v1alpha1\nkind: Fleet\ndefaults: {to: {git: {path: desired}}}\nclusters:\n"
    (folder / "osm-gitops.yaml").write_text(head + clusters)
    _git("init", "--quiet", "--initial-branch=main", str(folder))
    _git("-C", str(folder), "add", ".")
    _git("-C", str(folder), "commit", "--quiet", "--message", "fleet")
    return folder


def _git(*arguments: str) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        os.environ.setdefault(f"GIT_{role}_NAME", "bench")
        os.environ.setdefault(f"GIT_{role}_EMAIL", "bench@example.com")
    subprocess.run(["git", *arguments], check=True)
