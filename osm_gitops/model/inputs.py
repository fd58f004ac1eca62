"""Inputs: everything that one run reads for one cluster. Facts are what rendering needs besides MachineDeployments and
profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from osm_gitops.errors import Code, Problem, input_error, some
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, ObjectRef, Origin
from osm_gitops.model.overlay import Patch
from osm_gitops.model.profile import OperatingSystemProfile

T = TypeVar("T")

_NAMED_PLACES: Final = 3


@dataclass(frozen=True, slots=True)
class SecretFact:
    """A Secret: ``data`` is decoded and already holds ``stringData``."""

    namespace: str
    name: str
    type: str
    data: Mapping[str, bytes]
    labels: Mapping[str, str]
    origin: Origin


@dataclass(frozen=True, slots=True)
class ConfigMapFact:
    """A ConfigMap; ``binaryData`` is not read by OSM and not kept."""

    namespace: str
    name: str
    data: Mapping[str, str]
    origin: Origin


@dataclass(frozen=True, slots=True)
class ServiceAccountFact:
    """A ServiceAccount with the names of the Secrets that it lists."""

    namespace: str
    name: str
    secrets: tuple[str, ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class Facts:
    """A frozen cluster, looked up by ``(namespace, name)``.

    ``endpoint_slices`` are the bodies of namespace ``default`` with the label
    ``kubernetes.io/service-name=kubernetes``, in name order. ``environment`` holds the
    credential variables of osm-behaviour.md, "Config variables" that were set when the source was read.
    ``certificate_authority`` is the CA (PEM) by which a live worker cluster is trusted, ``None`` where the source is
    none. ``incomplete``: a part of the source could not be read, so nothing is known to be absent; ``unread`` are the
    places of that part as far as they are known.
    """

    secrets: Mapping[tuple[str, str], SecretFact] = field(default_factory=dict)
    config_maps: Mapping[tuple[str, str], ConfigMapFact] = field(default_factory=dict)
    service_accounts: Mapping[tuple[str, str], ServiceAccountFact] = field(default_factory=dict)
    endpoint_slices: tuple[Mapping[str, Json], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    certificate_authority: str | None = None
    incomplete: bool = False
    unread: tuple[str, ...] = ()

    def secret(self, key: tuple[str, str]) -> SecretFact | None:
        """A Secret, or ``None`` where there is none; raises InputError where that cannot be told."""
        return self._sure("Secret", key, self.secrets.get(key))

    def config_map(self, key: tuple[str, str]) -> ConfigMapFact | None:
        """A ConfigMap, like :meth:`secret`."""
        return self._sure("ConfigMap", key, self.config_maps.get(key))

    def service_account(self, key: tuple[str, str]) -> ServiceAccountFact | None:
        """A ServiceAccount, like :meth:`secret`."""
        return self._sure("ServiceAccount", key, self.service_accounts.get(key))

    def _sure(self, kind: str, key: tuple[str, str], found: T | None) -> T | None:
        if found is None and self.incomplete:
            places = f": {some(self.unread, _NAMED_PLACES)}" if self.unread else ""
            raise input_error(
                Code.FACT_MAY_BE_UNREAD,
                f"{kind} {'/'.join(key)} may be in a part of the source that could not be read{places}",
                fix="Correct that first",
            )
        return found


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a source gave.

    ``broken`` names MachineDeployments and profiles that were found but cannot be used,
    each with all its problems: their live objects are left as they are, and a
    MachineDeployment that refers to a broken profile fails with it. ``unfit`` are those with
    a name that no API server takes: rendered with a warning, and broken on the way into a
    cluster. ``unreadable`` are
    problems of whole documents: they disable deletion for the cluster (design.md, "Guards").
    ``notes`` are for ``-v``. ``sources`` are one line each on where the inputs came from
    (a path and, in git, its revision), for commit trailers; ``uncommitted`` name what of it
    differs from that revision; ``hosts`` are the API servers
    among them, as plans name them. ``sensitive`` are texts that stand encrypted in the
    source outside of Secrets, which are secret by themselves.
    ``unread`` are the names of built-in profiles that a pool could name as well.
    What overlays did: ``patched`` are profiles with the patches that made them, ``left_out``
    those that the cluster does not get, with the place that says so, ``values`` the user's own,
    and ``value_places`` where each of them (``downloads.cni``) is set.
    """

    machines: tuple[MachineDeployment, ...] = ()
    profiles: Mapping[tuple[str, str], OperatingSystemProfile] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    broken: Mapping[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    unfit: Mapping[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    unreadable: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    uncommitted: tuple[Problem, ...] = ()
    hosts: tuple[str, ...] = ()
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
    unread: frozenset[tuple[str, str]] = frozenset()
    patched: Mapping[ObjectRef, tuple[Patch, ...]] = field(default_factory=dict)
    left_out: Mapping[ObjectRef, str] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)
    value_places: Mapping[str, str] = field(default_factory=dict)
