"""The table of all settings: names, kinds and help; and the flags of OSM that are ignored (osm-behaviour.md,
"Flags")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from osm_gitops.model.settings import Settings


class Kind(Enum):
    """The type of a setting; fleet files and overlays may also use lists and maps."""

    TEXT = "a text"
    TEXTS = "a text with commas, or a list of texts"
    BOOLEAN = "true or false"
    GATES = "a text such as A=true,B=false, or a map of booleans"
    MIRRORS = "a list of registry=url, or a map from a registry to its urls"
    FILE = "the name of a file"
    COUNT = "a whole number of at least 1"
    DURATION = "a duration such as 24h or 90m"


@dataclass(frozen=True, slots=True)
class SettingName:
    """One setting: its flag without dashes, its key in fleet files and overlays, its kind and its help text."""

    flag: str
    key: str
    kind: Kind
    help: str

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return "OSM_GITOPS_" + self.flag.upper().replace("-", "_")


SETTINGS: Final = (
    SettingName("namespace", "namespace", Kind.TEXT,
        "Namespace of profiles and configurations in the management cluster."),
    SettingName("container-runtime", "containerRuntime", Kind.TEXT,
        "Container runtime of the nodes. Only containerd is supported."),
    SettingName("external-cloud-provider", "externalCloudProvider", Kind.BOOLEAN,
        "The clusters run an external cloud controller manager, so nodes get no cloud-config."),
    SettingName("cluster-dns", "clusterDNS", Kind.TEXTS,
        "IP addresses of the cluster's DNS service."),
    SettingName("pause-image", "pauseImage", Kind.TEXT,
        "Image of the pause container that containerd uses."),
    SettingName("initial-taints", "initialTaints", Kind.TEXTS,
        "Taints that a node registers with, such as node.cilium.io/agent-not-ready=true:NoExecute."),
    SettingName("node-kubelet-feature-gates", "nodeKubeletFeatureGates", Kind.GATES,
        "Feature gates of the kubelet, such as A=true,B=false."),
    SettingName("node-http-proxy", "nodeHTTPProxy", Kind.TEXT,
        "HTTP proxy that nodes use."),
    SettingName("node-no-proxy", "nodeNoProxy", Kind.TEXTS,
        "Hosts and networks that nodes reach without the proxy."),
    SettingName("node-insecure-registries", "nodeInsecureRegistries", Kind.TEXTS,
        "Registries whose certificates nodes do not check."),
    SettingName("node-registry-mirrors", "nodeRegistryMirrors", Kind.TEXTS,
        "Mirrors of docker.io, or registry=mirror for another registry."),
    SettingName("node-containerd-registry-mirrors", "nodeContainerdRegistryMirrors", Kind.MIRRORS,
        "A mirror of a registry as registry=url; may be repeated."),
    SettingName("node-registry-credentials-secret", "nodeRegistryCredentialsSecret", Kind.TEXT,
        "Secret with registry credentials, as namespace/name."),
    SettingName("device-ownership-from-security-context", "deviceOwnershipFromSecurityContext", Kind.BOOLEAN,
        "containerd takes the owner of devices from the pod's security context."),
    SettingName("kubernetes-ca-bundle", "kubernetesCABundle", Kind.FILE,
        "PEM file with the CA certificates that nodes trust for the Kubernetes API."),
    SettingName("host-ca-bundle", "hostCABundle", Kind.FILE,
        "PEM file with the CA certificates that nodes trust for everything else."),
    SettingName("override-bootstrap-kubelet-apiserver", "overrideBootstrapKubeletAPIServer", Kind.TEXT,
        "URL of the API server in bootstrap kubeconfigs, instead of the one in cluster-info."),
    SettingName("bootstrap-token-service-account-name", "bootstrapTokenServiceAccountName", Kind.TEXT,
        "ServiceAccount whose token nodes bootstrap with, as namespace/name, instead of bootstrap tokens."),
    SettingName("disable-default-osps", "disableDefaultOSPs", Kind.BOOLEAN,
        "Do not use the built-in profiles."),
    SettingName("replace-default-osps", "replaceDefaultOSPs", Kind.BOOLEAN,
        "Replace profiles of the same names that others created in the cluster by the built-in ones."),
    SettingName("profiles-version", "profilesVersion", Kind.TEXT,
        "Version of the built-in profiles. Without it, the newest."),
    SettingName("immutable-secrets", "immutableSecrets", Kind.BOOLEAN,
        "Write Secrets as immutable, as Operating System Manager does."),
    SettingName("max-output-bytes", "maxOutputBytes", Kind.COUNT,
        "Maximum output of one template in bytes."),
    SettingName("max-loop-steps", "maxLoopSteps", Kind.COUNT,
        "Maximum number of loop steps of one template."),
    SettingName("max-template-depth", "maxTemplateDepth", Kind.COUNT,
        "Maximum nesting of templates that call templates."),
    SettingName("max-render-seconds", "maxRenderSeconds", Kind.COUNT,
        "Maximum CPU time for rendering one pool, in seconds."),
    SettingName("max-render-memory", "maxRenderMemory", Kind.COUNT,
        "Maximum memory for rendering one pool, in MiB."),
    SettingName("token-life", "tokenLife", Kind.DURATION,
        "Lifetime of bootstrap tokens in a cluster. They are renewed after half of it."),
    SettingName("interval", "interval", Kind.DURATION,
        "Maximum time between two runs against a cluster. Tokens must last that long."),
)  # fmt: skip

SETTINGS_BY_FLAG: Final[Mapping[str, SettingName]] = {setting.flag: setting for setting in SETTINGS}
SETTINGS_BY_KEY: Final[Mapping[str, SettingName]] = {setting.key: setting for setting in SETTINGS}

_OSM: Final = Settings()
DEFAULT_TEXTS: Final[Mapping[str, str]] = {
    "namespace": _OSM.namespace,
    "container-runtime": _OSM.container_runtime,
    "cluster-dns": ",".join(_OSM.cluster_dns),
    "node-kubelet-feature-gates": ",".join(f"{gate}={str(on).lower()}" for gate, on in _OSM.feature_gates.items()),
    "node-no-proxy": _OSM.no_proxy,
    "max-output-bytes": str(_OSM.max_output_bytes),
    "max-loop-steps": str(_OSM.max_loop_steps),
    "max-template-depth": str(_OSM.max_template_depth),
    "max-render-seconds": str(_OSM.max_render_seconds),
    "max-render-memory": str(_OSM.max_render_memory),
    "token-life": "24h",
    "interval": "30m",
}
"""Defaults that are neither empty nor false, as text, by flag."""

_SERVERLESS: Final = "osm-gitops serves no endpoints"
_LOGLESS: Final = "use -v for more output"

PASSED_OVER: Final[Mapping[str, str]] = {
    "ca-bundle": "Operating System Manager ignores it too; see --kubernetes-ca-bundle and --host-ca-bundle",
    "health-probe-address": _SERVERLESS,
    "leader-elect": "osm-gitops elects no leader",
    "log-debug": _LOGLESS,
    "metrics-address": _SERVERLESS,
    "worker-count": "osm-gitops has no workers",
    "worker-health-probe-address": _SERVERLESS,
    "worker-metrics-address": _SERVERLESS,
}
"""Flags of OSM that are ignored, each with the reason."""

PASSED_OVER_BOOLEANS: Final = frozenset({"leader-elect", "log-debug"})
CONNECTION_FLAGS: Final = ("kubeconfig", "worker-cluster-kubeconfig")
"""Flags of OSM that osm-gitops has too, but that are not settings."""
LOG_FORMAT_FLAG: Final = "log-format"
"""Another one, for which OSM has other values, in any case: ``JSON`` and ``Console``."""
