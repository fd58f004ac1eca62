"""Fleets in every form in which sources hold them: what a plan of each takes must be linear in the input."""

from __future__ import annotations

import json
import os
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from osm_gitops.yaml.emit import dump
from tests.bench.fleets import PROFILES, documents, machine, profile_text, write_facts, write_profiles
from tests.bench.usage import Row, Usage, forget, usage
from tests.git.repos import ENVIRONMENT

_Bodies = Sequence[dict[str, Any]]
_FLAGS = ("--external-cloud-provider",)


def measures(folder: Path) -> Iterator[Row]:
    """Rows of the table: plans against an empty target."""
    machines = _machines(1_000)
    for number, (name, write) in enumerate(_FORMS.items()):
        yield _plan(_tree(folder / f"form-{number}", machines, write)).row(f"plan of 1,000 MDs, {name}")
    tree = _tree(folder / "form-files", _machines(10_000), _one_file_each)
    yield _plan(tree).row("plan of 10,000 MDs, one file per object")
    tree = _tree(folder / "form-secrets", [*machines, *_secrets(machines)], _one_line)
    yield _plan(tree).row("plan of 1,000 MDs with a Secret and a token each, one line of JSON")
    yield from _fleet(folder / "form-clusters", 500)
    for what, own in (("that share most texts", False), ("that share no text", True)):
        tree = _many_profiles(folder / f"form-profiles-{own}", own=own)
        forget()
        for name, wanted in (("first run", ""), ("again", "3 s CPU")):
            yield _plan(tree).row(f"plan of 400 MDs over 200 profiles {what}, {name}", wanted)


def _fleet(folder: Path, count: int) -> Iterator[Row]:
    """Plans of many clusters that share their profiles: against nothing, unchanged, and after small changes."""
    fleet = _many_clusters(folder, count)
    flags, clusters = ("--fleet", str(fleet)), f"{count} clusters with 20 MDs each and the same profiles"
    for jobs in ("1", "2"):
        yield usage("plan", *flags, "--jobs", jobs).row(f"plan of {clusters}, cold, --jobs {jobs}")
    usage("render", *flags, "--to", str(folder / "state"))
    _commit(folder)
    known = (*flags, "--dangerously-plaintext-secrets")
    yield usage("plan", *known).row(f"plan of {clusters}, unchanged", "12 s")
    machines = folder / "cluster-003" / "machines.yaml"
    with machines.open("a", encoding="utf-8") as file:
        file.write("# touched\n")
    yield usage("plan", *known, "--changed-since", "HEAD").row(
        "the same with --changed-since, one cluster changed", "1.5 s"
    )
    profile = next(path for path in sorted((folder / "profiles").iterdir()) if "daemon-reload" in path.read_text())
    profile.write_text(profile.read_text().replace("daemon-reload", "daemon-reload # other"))
    yield usage("plan", *known).row("the same, one profile changed for all", "25 s")


def _commit(folder: Path) -> None:
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "fleet")):
        subprocess.run(["git", *command], cwd=folder, env={**os.environ, **ENVIRONMENT}, check=True)


def _machines(count: int) -> _Bodies:
    return [machine(number, PROFILES[number % len(PROFILES)], distinct=False) for number in range(count)]


def _many_clusters(folder: Path, count: int) -> Path:
    """A fleet file and its trees; every cluster has the same profiles."""
    folder.mkdir()
    profiles = folder / "profiles"
    profiles.mkdir()
    write_profiles(profiles)
    machines, clusters = documents(_machines(20)), []
    for number in range(count):
        name = f"cluster-{number:03}"
        (folder / name).mkdir()
        write_facts(folder / name)
        (folder / name / "machines.yaml").write_text(machines)
        clusters.append({"name": name, "from": {"machineDeployments": name, "facts": name, "profiles": "profiles"}})
    defaults = {"settings": {"externalCloudProvider": True}, "to": {"git": {"path": "state"}}}
    head = {"apiVersion": "osm-gitops.io/v1alpha1", "kind": "Fleet", "defaults": defaults}
    path = folder / "osm-gitops.yaml"
    path.write_text(dump({**head, "clusters": clusters}))
    return path


def _many_profiles(folder: Path, *, own: bool) -> Path:
    """Custom profiles that differ in a line, or with ``own`` in every text."""
    folder.mkdir()
    write_facts(folder)
    kinds = []
    for number in range(200):
        name, system, provider = PROFILES[number % len(PROFILES)]
        named = f"{name}-{number}"
        text = profile_text(name).decode()
        text = text.replace(f"name: {name}\n", f"name: {named}\n", 1).replace("pipefail", f"pipefail # {number}", 1)
        if own:  # most actions are in lines of their own
            text = text.replace("{{", f"{{{{/* {number} */}}}}{{{{")
        (folder / f"{named}.yaml").write_text(text)
        kinds.append((named, system, provider))
    bodies = [machine(number, kinds[number % len(kinds)], distinct=False) for number in range(400)]
    _many_documents(folder, bodies)
    return folder


def _secrets(machines: _Bodies) -> Iterator[dict[str, Any]]:
    for number, body in enumerate(machines):
        name = body["metadata"]["name"]
        yield _secret(f"registry-{name}", "Opaque", {"password": f"secret-{number:08d}"})
        token = {"token-id": f"{number:06d}", "token-secret": f"{number:016d}", "expiration": "2099-01-01T00:00:00Z"}
        labels = {"machinedeployment.k8s.io/name": f"kube-system-{name}"}
        yield _secret(f"bootstrap-token-{number:06d}", "bootstrap.kubernetes.io/token", token, labels)


def _secret(name: str, kind: str, data: dict[str, str], labels: dict[str, str] | None = None) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "kube-system", "labels": labels or {}}
    encoded = {key: b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": encoded}


def _tree(folder: Path, bodies: _Bodies, write: Callable[[Path, _Bodies], None]) -> Path:
    folder.mkdir()
    write_facts(folder)
    write_profiles(folder)
    write(folder, bodies)
    return folder


def _list(bodies: _Bodies) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(bodies)}


def _many_documents(folder: Path, bodies: _Bodies) -> None:
    (folder / "machines.yaml").write_text(documents(bodies))


def _yaml_list(folder: Path, bodies: _Bodies) -> None:
    (folder / "machines.yaml").write_text(dump(_list(bodies)))


def _pretty_json(folder: Path, bodies: _Bodies) -> None:
    (folder / "machines.json").write_text(json.dumps(_list(bodies), indent=4))


def _one_line(folder: Path, bodies: _Bodies) -> None:
    (folder / "machines.json").write_text(json.dumps(_list(bodies)))


def _one_file_each(folder: Path, bodies: _Bodies) -> None:
    for body in bodies:
        (folder / f"machine-{body['metadata']['name']}.yaml").write_text(dump(body))


_FORMS: dict[str, Callable[[Path, _Bodies], None]] = {
    "many documents": _many_documents,
    "a YAML list": _yaml_list,
    "a pretty JSON list": _pretty_json,
    "one line of JSON": _one_line,
    "one file per object": _one_file_each,
}


def _plan(tree: Path) -> Usage:
    return usage("plan", "--from", str(tree), "--to", str(tree.parent / "nothing"), *_FLAGS)
