"""Inputs: all that one run reads for one cluster. Facts are the inputs of rendering other than MachineDeployments and
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
    """A Secret: ``data`` is decoded and includes ``stringData``."""

    namespace: str
    name: str
    type: str
    data: Mapping[str, bytes]
    labels: Mapping[str, str]
    origin: Origin


@dataclass(frozen=True, slots=True)
class ConfigMapFact:
    """A ConfigMap, without ``binaryData``, which OSM does not read."""

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
    """Objects of a cluster, by ``(namespace, name)``.

    ``endpoint_slices`` are those of namespace ``default`` with the label ``kubernetes.io/service-name=kubernetes``,
    sorted by name. ``environment`` has the credential variables (osm-behaviour.md, "Config variables").
    ``certificate_authority`` is the CA (PEM) of a live worker cluster, ``None`` for trees. ``incomplete``: a part of
    the source was unreadable, so a missing object may exist; ``unread`` are the places of that part, as far as known.
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
        """A Secret, or ``None`` if it does not exist. Raises InputError if that is unknown."""
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
    """The inputs from all sources of a cluster.

    ``broken`` are MachineDeployments and profiles that cannot be used, each with its problems: their live objects are
    not changed, and a MachineDeployment with a broken profile fails. ``unfit`` have a name that API servers refuse:
    they are rendered with a warning, but are broken for a live target. ``unreadable`` are problems of whole documents,
    which disable deletion for the cluster (design.md, "Guards"). ``notes`` are for ``-v``. ``sources`` are lines for
    commit trailers (a path and, in git, its revision); ``uncommitted`` are differences from these revisions; ``hosts``
    are the API servers. ``sensitive`` are texts that are encrypted in the source outside of Secrets. ``unread`` are
    names of built-in profiles that no pool uses. From overlays: ``patched`` are profiles with their patches,
    ``left_out`` profiles that the cluster does not get, with the place that excludes them, ``values`` the user's
    values, and ``value_places`` the place of each value (``downloads.cni``).
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
