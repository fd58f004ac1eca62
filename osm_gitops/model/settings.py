"""Settings: the parsed flags of OSM (osm-behaviour.md, "Flags"), and settings of osm-gitops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

DEFAULT_NO_PROXY = ".svc,.cluster.local,localhost,127.0.0.1"

BOOT_TIME = timedelta(minutes=15)
"""Maximum time from ordering a machine until its kubelet requests a certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All parsed settings that rendering depends on.

    ``cluster_dns`` has canonical IP texts. ``registry_mirrors`` maps registries to ordered endpoints of both mirror
    flags. CA bundles are the text of the file. ``registry_credentials_secret`` and ``bootstrap_token_service_account``
    are ``(namespace, name)``. Settings from ``replace_default_osps`` on are not OSM's: the built-in profiles (an empty
    ``profiles_version`` is the newest), writing of Secrets (design.md, "Order of writes"), limits of templates
    (design.md, "Success and refusal"), life of tokens and interval between runs (osm-behaviour.md, "Bootstrap token";
    design.md, "Tokens").
    """

    namespace: str = "kube-system"
    container_runtime: str = "containerd"
    external_cloud_provider: bool = False
    cluster_dns: tuple[str, ...] = ("10.10.10.10",)
    pause_image: str = ""
    initial_taints: str = ""
    feature_gates: Mapping[str, bool] = field(default_factory=lambda: {"RotateKubeletServerCertificate": True})
    http_proxy: str = ""
    no_proxy: str = DEFAULT_NO_PROXY
    insecure_registries: tuple[str, ...] = ()
    registry_mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    registry_credentials_secret: tuple[str, str] | None = None
    device_ownership_from_security_context: bool = False
    kubernetes_ca_bundle: str = ""
    host_ca_bundle: str = ""
    override_bootstrap_kubelet_apiserver: str = ""
    bootstrap_token_service_account: tuple[str, str] | None = None
    disable_default_osps: bool = False
    replace_default_osps: bool = False
    profiles_version: str = ""
    immutable_secrets: bool = False
    max_output_bytes: int = 1 << 20
    max_loop_steps: int = 1_000_000
    max_template_depth: int = 1_000
    max_render_seconds: int = 10
    max_render_memory: int = 512
    token_life: timedelta = timedelta(hours=24)
    interval: timedelta = timedelta(minutes=30)


def shortest_token_life(interval: timedelta) -> timedelta:
    """The shortest life of tokens that are renewed at half of their life: until the next run, and a boot after it."""
    return 2 * (interval + BOOT_TIME)
