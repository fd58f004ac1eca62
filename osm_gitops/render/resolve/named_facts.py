"""Names of the objects of a cluster that rendering needs: a live source reads these, and its account may read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from osm_gitops.errors import InputError
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.bootstrap_token import GETTER_SECRET
from osm_gitops.render.resolve.cloudconfig import makes_cloud_config, variables
from osm_gitops.render.resolve.cloudconfig.cloud_spec import Place, Variable
from osm_gitops.render.resolve.cluster_info import CLUSTER_INFO
from osm_gitops.render.resolve.machine_spec import readable_provider_config
from osm_gitops.render.resolve.pools import wanted_profile

MOST_GETS: Final = 20
"""Of one kind and namespace: more named objects than that are read with a list of the namespace, which is another
right. One request for each would make a run of ten thousand pools a run of ten thousand requests."""

_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class NamedFacts:
    """Objects of a worker cluster, each as ``(namespace, name)``.

    Of the service account (``None`` unless a setting names one) the Secrets that it lists are read too, in its own
    namespace. What no API server can have is left out: it is as good as absent.
    """

    secrets: frozenset[tuple[str, str]]
    config_maps: frozenset[tuple[str, str]]
    service_account: tuple[str, str] | None = None


def named_facts(machines: Iterable[MachineDeployment], settings: Settings) -> NamedFacts:
    """What settings and MachineDeployments name; a pool that cannot be rendered anyway names nothing."""
    secrets = {GETTER_SECRET}
    config_maps = {CLUSTER_INFO}
    if settings.registry_credentials_secret is not None:
        secrets.add(settings.registry_credentials_secret)
    for machine in machines:
        for variable in _variables(machine, settings):
            # A Secret wins over a ConfigMap (osm-behaviour.md, "Config variables").
            if variable.secret is not None:
                secrets.add(_object(variable.secret))
            elif variable.config_map is not None:
                config_maps.add(_object(variable.config_map))
    account = settings.bootstrap_token_service_account
    return NamedFacts(
        secrets=frozenset(filter(_can_be, secrets)),
        config_maps=frozenset(filter(_can_be, config_maps)),
        service_account=account if account is not None and _can_be(account) else None,
    )


def need_credentials(machines: Iterable[MachineDeployment], settings: Settings) -> bool:
    """Whether the cloud-config of a pool may use cloud credentials of the environment."""
    return any(_makes_cloud_config(machine, settings) for machine in machines if not machine.deleting)


def _makes_cloud_config(machine: MachineDeployment, settings: Settings) -> bool:
    try:
        return makes_cloud_config(readable_provider_config(machine.provider_spec), machine.kubelet, settings)
    except InputError:  # reported with the pool
        return False


def named_profiles(machines: Iterable[MachineDeployment], namespace: str) -> frozenset[tuple[str, str]]:
    """The profiles of a management cluster that pools name or would get, each as ``(namespace, name)``."""
    found = (wanted_profile(machine, namespace) for machine in machines if not machine.deleting)
    return frozenset(key for key in found if key is not None and _can_be(key))


def by_namespace(keys: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The names of each namespace, both in order."""
    names: dict[str, list[str]] = {}
    for namespace, name in sorted(keys):
        names.setdefault(namespace, []).append(name)
    return names


def _variables(machine: MachineDeployment, settings: Settings) -> Iterator[Variable]:
    if settings.external_cloud_provider or machine.deleting:
        return
    try:
        yield from variables(readable_provider_config(machine.provider_spec), machine.kubelet, settings)
    except InputError:  # reported with the pool
        return


def _object(place: Place) -> tuple[str, str]:
    namespace, name, _ = place
    return namespace, name


def _can_be(key: tuple[str, str]) -> bool:
    namespace, name = key
    return bool(_NAMESPACE.fullmatch(namespace) and _NAME.fullmatch(name))
