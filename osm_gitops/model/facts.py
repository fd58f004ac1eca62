"""Facts: what rendering needs from a cluster besides MachineDeployments and profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from osm_gitops.errors import Code, input_error, some
from osm_gitops.model.objects import Json, Origin

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
                Code.UNCODED,
                f"{kind} {'/'.join(key)} may be in a part of the source that could not be read{places}",
                fix="Correct that first",
            )
        return found
