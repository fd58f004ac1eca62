"""The cluster's certificate authority, the template value ``KubernetesCACert`` (osm-behaviour.md, "Certificate
authority"; design.md, "Cluster facts")."""

from __future__ import annotations

from osm_gitops.errors import Code, input_error
from osm_gitops.gocompat.text import runes
from osm_gitops.model.facts import Facts
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.cluster_info import CLUSTER_INFO_NAME, UnreadableClusterInfo, cluster_info, only_cluster

_FIX = "Give it with --kubernetes-ca-bundle"


def certificate_authority(settings: Settings, facts: Facts) -> str:
    """The CA bundle of the settings, else that of a live source, else that of the only cluster in ``cluster-info``.

    A CA that is given there as a file is the empty string. Raises InputError where
    none is at hand.
    """
    if settings.kubernetes_ca_bundle:
        return settings.kubernetes_ca_bundle
    if facts.certificate_authority is not None:
        return facts.certificate_authority
    try:
        kubeconfig = cluster_info(facts)
    except UnreadableClusterInfo as fault:
        raise input_error(
            Code.UNCODED, f"there is no CA certificate for the cluster: {fault}", about=CLUSTER_INFO_NAME, fix=_FIX
        ) from None
    return runes(only_cluster(kubeconfig, facts).ca_data.decode("utf-8", "surrogateescape"))
