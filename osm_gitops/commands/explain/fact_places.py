"""Where the facts that a pool's rendering depends on come from: named, and never shown but for addresses."""

from __future__ import annotations

from collections.abc import Iterator

from osm_gitops.errors import InputError
from osm_gitops.model.explained import SettingOrigin
from osm_gitops.model.facts import Facts
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.render.resolve.bootstrap_token import GETTER_SECRET, NAME_LABEL, NAMESPACE
from osm_gitops.render.resolve.cloudconfig import variables
from osm_gitops.render.resolve.cluster import ClusterFacts
from osm_gitops.render.resolve.cluster_info import CLUSTER_INFO, CLUSTER_INFO_NAME, UnreadableClusterInfo, cluster_info
from osm_gitops.render.resolve.pools import ResolvedPool


def fact_places(pool: ResolvedPool, cluster: ClusterFacts) -> tuple[SettingOrigin, ...]:
    """Each fact with the object, setting or file that it comes from."""
    return tuple(_facts(pool, cluster))


def _facts(pool: ResolvedPool, cluster: ClusterFacts) -> Iterator[SettingOrigin]:
    settings, facts = cluster.settings, cluster.facts
    yield SettingOrigin("API server", cluster.kubeconfig.server, _server(cluster))
    yield SettingOrigin("CA of the cluster", "", _authority(cluster))
    yield SettingOrigin("token that fetches the provisioning Secret", "", _secret(facts, GETTER_SECRET, "token"))
    yield SettingOrigin("bootstrap token", "", _token(pool.machine, cluster))
    if settings.registry_credentials_secret is not None:
        yield SettingOrigin("registry credentials", "", _secret(facts, settings.registry_credentials_secret))
    if settings.host_ca_bundle:
        yield SettingOrigin("CA bundle of the hosts", "", "setting host-ca-bundle")
    if pool.cloud_config:
        yield from _cloud_credentials(pool, cluster)


def _server(cluster: ClusterFacts) -> str:
    if cluster.settings.override_bootstrap_kubelet_apiserver:
        return "setting override-bootstrap-kubelet-apiserver"
    try:
        cluster_info(cluster.facts)
    except (UnreadableClusterInfo, InputError):
        return "the EndpointSlices of Service default/kubernetes"
    return _cluster_info(cluster.facts)


def _authority(cluster: ClusterFacts) -> str:
    if cluster.settings.kubernetes_ca_bundle:
        return "setting kubernetes-ca-bundle"
    if cluster.facts.certificate_authority is not None:
        return "the kubeconfig of the worker cluster"
    return _cluster_info(cluster.facts)


def _cluster_info(facts: Facts) -> str:
    found = facts.config_maps.get(CLUSTER_INFO)
    return f"{CLUSTER_INFO_NAME} ({found.origin})" if found else CLUSTER_INFO_NAME


def _secret(facts: Facts, name: tuple[str, str], key: str = "") -> str:
    found = facts.secrets.get(name)
    named = f"Secret {'/'.join(name)}{f', key {key}' if key else ''}"
    return f"{named} ({found.origin})" if found else named


def _token(machine: MachineDeployment, cluster: ClusterFacts) -> str:
    kept = f"in Secret cloud-init-settings/{machine.kubelet_kubeconfig_name}, in the cluster alone"
    account = cluster.tokens.service_account
    if account is not None:
        return f"of ServiceAccount {'/'.join(account)}; {kept}"
    found = cluster.tokens.by_label.get(machine.token_key, ())
    if found:
        return f"Secret {NAMESPACE}/{found[0].name} ({found[0].origin})"
    label = f"{NAME_LABEL}={machine.token_key}"
    return f"made where the pool is delivered, with label {label}; {kept}"


def _cloud_credentials(pool: ResolvedPool, cluster: ClusterFacts) -> Iterator[SettingOrigin]:
    if pool.provider_config.overwrite_cloud_config is not None:
        yield SettingOrigin("cloud-config", "", "overwriteCloudConfig of the MachineDeployment")
        return
    for variable in variables(pool.provider_config, pool.machine.kubelet, cluster.settings):
        named, where = variable.field.rpartition(".")[2], ""
        if variable.secret is not None:
            where = _secret(cluster.facts, variable.secret[:2], variable.secret[2])
        elif variable.config_map is not None:
            where = f"ConfigMap {'/'.join(variable.config_map[:2])}, key {variable.config_map[2]}"
        if where:
            yield SettingOrigin(f"cloud-config {named}", "", where)
    if cluster.facts.environment:
        names = ", ".join(sorted(cluster.facts.environment))
        yield SettingOrigin("cloud-config, where the provider's spec is silent", "", f"environment {names}")
