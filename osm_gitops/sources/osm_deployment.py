"""Operating System Manager's own Deployment: found in a cluster, with the command line that its controller gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from posixpath import basename
from typing import TYPE_CHECKING, Final

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.errors import ClusterError, Code, InputError, Problem
from osm_gitops.kube.kinds import DEPLOYMENT
from osm_gitops.model.objects import Json
from osm_gitops.sources.pod import Pod, PodText

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api

NAME: Final = "operating-system-manager"
"""What Kubermatic's installers call the Deployment, its label ``app`` and its container."""
OSM_LEASE: Final = NAME
"""The Lease of its controller, in the namespace that it keeps configurations in (osm-behaviour.md, "Flags",
``leader-elect``)."""
_FORBIDDEN: Final = 403
_PROGRAM: Final = "osm-controller"
_WEBHOOK: Final = "webhook"


@dataclass(frozen=True, slots=True)
class OsmDeployment:
    """The Deployment of OSM's controller: ``replicas`` are those wanted, ``ready`` those that run."""

    namespace: str
    name: str
    replicas: int
    ready: int
    pod: Mapping[str, Json]
    container: Mapping[str, Json]

    def __str__(self) -> str:
        return f"Deployment {self.namespace}/{self.name}"


def find_osm(api: Api, namespace: str = "", name: str = "") -> list[OsmDeployment]:
    """OSM's controllers in a namespace, or in all of them, by name. Raises ClusterError where they cannot be listed.

    A ``name`` that was given is believed; otherwise a Deployment is OSM's if its command, or its name and image, say
    so and it is not the webhook's.
    """

    def keep(body: Mapping[str, Json]) -> OsmDeployment | None:
        return _read(body, believed=bool(name)) if name in ("", body["metadata"]["name"]) else None

    found = api.list(DEPLOYMENT, keep, namespace)
    return sorted(found, key=lambda each: (each.namespace, each.name))


def find_reachable_osm(api: Api, namespace: str) -> list[OsmDeployment]:
    """OSM's controllers of all namespaces, or of the one where it belongs for a user who may not list others.

    Raises ClusterError."""
    try:
        return find_osm(api)
    except ClusterError as failure:
        if failure.status != _FORBIDDEN:
            raise
        return find_osm(api, namespace)


def flags_of(pod: Pod) -> tuple[PodText, ...]:
    """What stands behind the program's name on the command line of OSM's container. Raises InputError."""
    words = pod.arguments()
    words = tuple(_unwrapped(words)) or words
    for at, word in enumerate(words):
        if basename(word.value) == _PROGRAM:
            return words[at + 1 :]
    if not pod.container.get("command"):
        return words  # the image starts the program
    shown = basename(words[0].value) if words and not words[0].secret else "something else"
    fix = "Give Operating System Manager's flags to osm-gitops yourself: osm-gitops init without --from, then settings"
    raise InputError(
        [Problem(Code.UNCODED, f"the container starts {shown}, in which no {_PROGRAM} can be recognised", fix=fix)]
    )


def _unwrapped(words: Sequence[PodText]) -> Iterator[PodText]:
    """The command line in the JSON behind ``-command``: KKP starts OSM through a program that first probes the API."""
    names = [word.value.lstrip("-") for word in words]
    # Behind OSM's own name everything is OSM's.
    for at, _ in enumerate(takewhile(lambda word: basename(word.value) != _PROGRAM, words)):
        flag, equals, value = names[at].partition("=")
        if flag != "command" or not words[at].value.startswith("-"):
            continue
        carrier = words[at] if equals else (*words[at + 1 :], PodText(""))[0]
        try:
            inner = parse_json(value if equals else carrier.value)
            texts = [inner["command"], *(inner.get("args") or ())]
        except (ValueError, TypeError, KeyError):
            return
        yield from (PodText(str(text), carrier.origins, carrier.secret) for text in texts)
        return


def _read(body: Mapping[str, Json], *, believed: bool) -> OsmDeployment | None:
    metadata, spec = body["metadata"], body.get("spec") or {}
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = pod.get("containers") or []
    chosen = next((each for each in containers if _runs_osm(each)), None)
    if chosen is None and (believed or metadata["name"] == NAME):
        chosen = next((each for each in containers if each.get("name") == NAME), containers[0] if containers else None)
    if chosen is None:
        return None
    ready = (body.get("status") or {}).get("readyReplicas") or 0
    replicas = spec.get("replicas")
    return OsmDeployment(
        metadata["namespace"], metadata["name"], 1 if replicas is None else replicas, ready, pod, chosen
    )


def _runs_osm(container: Mapping[str, Json]) -> bool:
    words = [str(word) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]
    if any(basename(word) == _PROGRAM or f'/{_PROGRAM}"' in word for word in words):
        return True
    image = str(container.get("image") or "").partition("@")[0].rpartition("/")[2].partition(":")[0]
    return image == NAME and not any(basename(word) == _WEBHOOK or f'/{_WEBHOOK}"' in word for word in words)
