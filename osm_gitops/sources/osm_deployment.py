"""Operating System Manager's Deployment in a cluster, and the command line of its controller."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from posixpath import basename, normpath
from typing import TYPE_CHECKING, Final

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.errors import ClusterError, Code, InputError, Problem, input_error
from osm_gitops.kube.kinds import CONFIG_MAP, DEPLOYMENT, SECRET, Kind
from osm_gitops.model.objects import Json

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api


_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")
_NOTHING: Final[Mapping[str, Json]] = {}


@dataclass(frozen=True, slots=True)
class PodText:
    """A text and its ``origins``, described for people. ``secret``: one of them is a Secret."""

    value: str = field(repr=False)
    origins: tuple[str, ...] = ()
    secret: bool = False


@dataclass(slots=True)
class Pod:
    """The pod of a Deployment in ``namespace``: ``spec`` is its template's, ``container`` OSM's container.

    Only referenced ConfigMaps and Secrets are read, each once. A failed read raises ClusterError.
    """

    api: Api
    namespace: str
    spec: Mapping[str, Json]
    container: Mapping[str, Json]
    _read: dict[tuple[str, str], Mapping[str, bytes] | None] = field(default_factory=dict, repr=False)
    _environment: Mapping[str, PodText] | None = field(default=None, repr=False)

    def arguments(self) -> tuple[PodText, ...]:
        """``command`` and ``args``, with ``$(VAR)`` expanded as in the kubelet."""
        words = [str(word) for word in (*(self.container.get("command") or ()), *(self.container.get("args") or ()))]
        # Without a reference there is no need to read the Secrets that variables come from.
        known = self.environment if any(_REFERENCE.search(word) for word in words) else {}
        return tuple(self._expanded(word, known) for word in words)

    @property
    def environment(self) -> Mapping[str, PodText]:
        """The variables of ``envFrom`` and ``env``. Raises InputError if a pod could not start with them."""
        if self._environment is None:
            self._environment = self._make_environment()
        return self._environment

    def file(self, path: str) -> PodText:
        """The file at a path of the container. Raises InputError if it is not from a ConfigMap or Secret."""
        mount, inside = self._mount(path)
        volume = self._volume(str(mount.get("name", "")), path)
        for source in volume.get("projected", {}).get("sources") or (volume,):
            for kind, part, name_key in ((CONFIG_MAP, "configMap", "name"), (SECRET, "secret", "secretName")):
                if part in source:
                    reference = source[part] or _NOTHING
                    name = str(reference.get(name_key) or reference.get("name", ""))
                    found = self._volume_file(kind, name, reference, inside)
                    if found is not None:
                        return found
        kinds = ", ".join(key for key in volume if key != "name")
        raise InputError([_no_file(path, f"its volume {volume.get('name')} ({kinds}) has no such file in the cluster")])

    def _make_environment(self) -> Mapping[str, PodText]:
        found: dict[str, PodText] = {}
        for source in self.container.get("envFrom") or ():
            for kind, part in ((CONFIG_MAP, "configMapRef"), (SECRET, "secretRef")):
                if part in source:
                    prefix, name = source.get("prefix") or "", str(source[part].get("name", ""))
                    for key, value in self._data(kind, name, optional=bool(source[part].get("optional"))).items():
                        found[prefix + key] = self._text(kind, name, key, value)
        for entry in self.container.get("env") or ():
            variable = self._variable(entry, found)
            if variable is not None:
                found[str(entry.get("name", ""))] = variable
        return found

    def _variable(self, entry: Mapping[str, Json], known: Mapping[str, PodText]) -> PodText | None:
        source = entry.get("valueFrom")
        if not source:
            return self._expanded(str(entry.get("value") or ""), known)
        for kind, part in ((CONFIG_MAP, "configMapKeyRef"), (SECRET, "secretKeyRef")):
            if part in source:
                name, key = str(source[part].get("name", "")), str(source[part].get("key", ""))
                optional = bool(source[part].get("optional"))
                data = self._data(kind, name, optional=optional)
                if key not in data:
                    return None if optional else self._lacks(kind, name, key)
                return self._text(kind, name, key, data[key])
        if source.get("fieldRef", {}).get("fieldPath") == "metadata.namespace":
            return PodText(self.namespace, ("the pod's namespace",))
        return None  # values that differ between pods are not used in boot configurations

    def _expanded(self, text: str, known: Mapping[str, PodText]) -> PodText:
        used: list[PodText] = []

        def put(match: re.Match[str]) -> str:
            if match[1] is None:
                return "$"
            value = known.get(match[1])
            if value is None:
                return match[0]
            used.append(PodText("", (f"variable {match[1]}", *value.origins), value.secret))
            return value.value

        expanded = _REFERENCE.sub(put, text)
        origins = tuple(dict.fromkeys(origin for each in used for origin in each.origins))
        return PodText(expanded, origins, any(each.secret for each in used))

    def _mount(self, path: str) -> tuple[Mapping[str, Json], str]:
        """The mount that contains a path, and the path inside of its volume."""
        place = normpath(path)
        best: tuple[int, Mapping[str, Json], str] | None = None
        for mount in self.container.get("volumeMounts") or ():
            at = normpath(str(mount.get("mountPath", "")))
            below = place.removeprefix(at.rstrip("/") + "/") if place.startswith(at.rstrip("/") + "/") else None
            if below is None and place != at:
                continue
            inside = "/".join(filter(None, (str(mount.get("subPath") or ""), below or "")))
            if best is None or len(at) > best[0]:
                best = (len(at), mount, inside)
        if best is None:
            raise InputError([_no_file(path, "it is in no volume of the container, so it is part of the image")])
        return best[1], best[2]

    def _volume(self, name: str, path: str) -> Mapping[str, Json]:
        for volume in self.spec.get("volumes") or ():
            if volume.get("name") == name:
                found: Mapping[str, Json] = volume
                return found
        raise InputError([_no_file(path, f"the pod has no volume {name}")])

    def _volume_file(self, kind: Kind, name: str, reference: Mapping[str, Json], inside: str) -> PodText | None:
        items = reference.get("items")
        keys = {str(item.get("path")): str(item.get("key")) for item in items} if items else {inside: inside}
        data = self._data(kind, name, optional=bool(reference.get("optional")))
        key = keys.get(inside)
        return self._text(kind, name, key, data[key]) if key is not None and key in data else None

    def _data(self, kind: Kind, name: str, *, optional: bool) -> Mapping[str, bytes]:
        """The decoded data of a ConfigMap or Secret."""
        if (kind.name, name) not in self._read:
            body = self.api.get(kind, self.namespace, name)
            self._read[kind.name, name] = None if body is None else dict(_decoded(kind, body))
        data = self._read[kind.name, name]
        if data is None and not optional:
            what = "does not exist, so no pod of Operating System Manager can start"
            raise input_error(
                Code.OSM_INPUT_MISSING, what, about=f"{kind.name} {self.namespace}/{name}", where=self.api.display
            )
        return data or {}

    def _text(self, kind: Kind, name: str, key: str, value: bytes) -> PodText:
        origin = f"key {key} of {kind.name} {self.namespace}/{name}"
        return PodText(value.decode("utf-8", "surrogateescape"), (origin,), kind is SECRET)

    def _lacks(self, kind: Kind, name: str, key: str) -> PodText:
        about = f"{kind.name} {self.namespace}/{name}"
        what = f'has no key "{key}", so no pod of Operating System Manager can start'
        raise input_error(Code.OSM_INPUT_MISSING, what, about=about, where=self.api.display)


def _decoded(kind: Kind, body: Mapping[str, Json]) -> Iterator[tuple[str, bytes]]:
    for key, value in (body.get("data") or {}).items():
        yield key, b64decode(value) if kind is SECRET else value.encode("utf-8", "surrogateescape")
    for key, value in (body.get("binaryData") or {}).items():
        yield key, b64decode(value)


def _no_file(path: str, why: str) -> Problem:
    return Problem(Code.OSM_INPUT_MISSING, f"the file {path} cannot be read: {why}")


NAME: Final = "operating-system-manager"
"""The name of the Deployment, of its label ``app`` and of its container in Kubermatic's installers."""
OSM_LEASE: Final = NAME
"""The Lease of its controller, in the namespace of its configurations (osm-behaviour.md, "Flags", ``leader-elect``)."""
_FORBIDDEN: Final = 403
_PROGRAM: Final = "osm-controller"
_WEBHOOK: Final = "webhook"


@dataclass(frozen=True, slots=True)
class OsmDeployment:
    """The Deployment of OSM's controller, with its desired ``replicas`` and the number of ``ready`` ones."""

    namespace: str
    name: str
    replicas: int
    ready: int
    pod: Mapping[str, Json]
    container: Mapping[str, Json]

    def __str__(self) -> str:
        return f"Deployment {self.namespace}/{self.name}"


def find_osm(api: Api, namespace: str = "", name: str = "") -> list[OsmDeployment]:
    """OSM's controllers in a namespace, or in all namespaces, sorted by name. Raises ClusterError.

    A Deployment with the given ``name`` is always accepted. Others are OSM's by their command, or by name and image,
    except the webhook's.
    """

    def keep(body: Mapping[str, Json]) -> OsmDeployment | None:
        return _read(body, believed=bool(name)) if name in ("", body["metadata"]["name"]) else None

    found = api.list(DEPLOYMENT, keep, namespace)
    return sorted(found, key=lambda each: (each.namespace, each.name))


def get_osm(api: Api, namespace: str, name: str) -> OsmDeployment | None:
    """The controller whose Deployment has this name; ``None`` if there is none. Raises ClusterError."""
    body = api.get(DEPLOYMENT, namespace, name)
    return None if body is None else _read(body, believed=True)


def find_reachable_osm(api: Api, namespace: str) -> list[OsmDeployment]:
    """OSM's controllers in all namespaces, or in ``namespace`` for a user without the right to list all. Raises
    ClusterError."""
    try:
        return find_osm(api)
    except ClusterError as failure:
        if failure.status != _FORBIDDEN:
            raise
        return find_osm(api, namespace)


def flags_of(pod: Pod) -> tuple[PodText, ...]:
    """The arguments of OSM's program in its container. Raises InputError."""
    words = pod.arguments()
    words = tuple(_unwrapped(words)) or words
    for at, word in enumerate(words):
        if basename(word.value) == _PROGRAM:
            return words[at + 1 :]
    if not pod.container.get("command"):
        return words  # the program is the image's entry point
    shown = basename(words[0].value) if words and not words[0].secret else "something else"
    fix = "Set Operating System Manager's flags yourself: osm-gitops init without --from, then settings"
    raise input_error(
        Code.OSM_NOT_RECOGNISED, f"the container starts {shown}, which is not recognised as {_PROGRAM}", fix=fix
    )


def _unwrapped(words: Sequence[PodText]) -> Iterator[PodText]:
    """The command line in the JSON after ``-command``: KKP starts OSM with a program that first probes the API."""
    names = [word.value.lstrip("-") for word in words]
    # All arguments after OSM's name are OSM's.
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
