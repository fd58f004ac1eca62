"""Settings: what OSM takes as flags, parsed (osm-behaviour.md, "Flags")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

DEFAULT_NO_PROXY = ".svc,.cluster.local,localhost,127.0.0.1"

BOOT_TIME = timedelta(minutes=15)
"""How long a machine may take from the moment it is ordered until its kubelet asks for a certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings that rendering depends on, after parsing.

    ``cluster_dns`` holds canonical IP texts; ``registry_mirrors`` maps a registry to
    its endpoints in order, with both mirror flags already merged; CA bundles hold the
    text of the file, not its name; ``registry_credentials_secret`` and
    ``bootstrap_token_service_account`` are ``(namespace, name)``. From
    ``replace_default_osps`` on, settings are our own: which built-in profiles count (an empty ``profiles_version`` is
    the newest), how Secrets are written (design.md, "Order of writes"), how much a template may use (design.md,
    "Success and refusal"), how long tokens live and the time between two runs that renew them (osm-behaviour.md,
    "Bootstrap token"; design.md, "Tokens").
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
    """A token that is renewed with less than half of its life left still serves until the next run, and a boot then."""
    return 2 * (interval + BOOT_TIME)
