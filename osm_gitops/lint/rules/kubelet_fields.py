"""The fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1): paths, types, ranges and words.

Those of Kubernetes 1.31 to 1.36, read out of their Go types; no field has gone in these releases.
``a.b`` is a member, ``a[]`` the entries of a list, ``a.*`` the values of a mapping with any keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.lint.rules.wording import words

_BOOLEANS: Final = words(
    """
    authentication.anonymous.enabled authentication.webhook.enabled cgroupsPerQOS cpuCFSQuota
    enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers
    enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery failCgroupV1 failSwapOn
    featureGates.* kernelMemcgNotification localStorageCapacityIsolation logging.options.json.splitStream
    logging.options.text.splitStream makeIPTablesUtilChains mergeDefaultEvictionSettings protectKernelDefaults
    registerNode rotateCertificates runOnce seccompDefault serializeImagePulls serverTLSBootstrap
    singleProcessOOMKill
    """
)
_INT32S: Final = words(
    """
    containerLogMaxFiles containerLogMaxWorkers eventBurst eventRecordQPS evictionMaxPodGracePeriod healthzPort
    imageGCHighThresholdPercent imageGCLowThresholdPercent iptablesDropBit iptablesMasqueradeBit kubeAPIBurst
    kubeAPIQPS maxParallelImagePulls maxPods nodeLeaseDurationSeconds nodeStatusMaxImages oomScoreAdj podsPerCore
    port readOnlyPort registryBurst registryPullQPS reservedMemory[].numaNode
    shutdownGracePeriodByPodPriority[].priority tlsCurvePreferences[] tracing.samplingRatePerMillion
    """
)
_UINT32S: Final = words(
    """
    logging.verbosity logging.vmodule[].verbosity
    """
)
_INT64S: Final = words(
    """
    maxOpenFiles podPidsLimit shutdownGracePeriodByPodPriority[].shutdownGracePeriodSeconds userNamespaces.idsPerPod
    """
)
_NUMBERS: Final = words(
    """
    memoryThrottlingFactor
    """
)
_DURATIONS: Final = words(
    """
    authentication.webhook.cacheTTL authorization.webhook.cacheAuthorizedTTL
    authorization.webhook.cacheUnauthorizedTTL containerLogMonitorInterval cpuCFSQuotaPeriod
    cpuManagerReconcilePeriod crashLoopBackOff.maxContainerRestartPeriod evictionPressureTransitionPeriod
    fileCheckFrequency httpCheckFrequency imageMaximumGCAge imageMinimumGCAge logging.flushFrequency
    nodeStatusReportFrequency nodeStatusUpdateFrequency runtimeRequestTimeout shutdownGracePeriod
    shutdownGracePeriodCriticalPods streamingConnectionIdleTimeout syncFrequency volumeStatsAggPeriod
    """
)
_QUANTITIES: Final = words(
    """
    logging.options.json.infoBufferSize logging.options.text.infoBufferSize reservedMemory[].limits.*
    """
)
_STRINGS: Final = words(
    """
    address allowedUnsafeSysctls[] authentication.x509.clientCAFile authorization.mode cgroupDriver cgroupRoot
    clusterDNS[] clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxSize
    containerRuntimeEndpoint contentType cpuManagerPolicy cpuManagerPolicyOptions.* enforceNodeAllocatable[]
    evictionHard.* evictionMinimumReclaim.* evictionSoft.* evictionSoftGracePeriod.* hairpinMode healthzBindAddress
    imagePullCredentialsVerificationPolicy imageServiceEndpoint kubeReserved.* kubeReservedCgroup kubeletCgroups
    logging.format logging.vmodule[].filePattern memoryManagerPolicy memoryReservationPolicy memorySwap.swapBehavior
    podCIDR podLogsDir preloadedImagesVerificationAllowlist[] providerID qosReserved.* registerWithTaints[].effect
    registerWithTaints[].key registerWithTaints[].timeAdded registerWithTaints[].value reservedSystemCPUs resolvConf
    showHiddenMetricsForVersion staticPodPath staticPodURL staticPodURLHeader.*[] systemCgroups systemReserved.*
    systemReservedCgroup tlsCertFile tlsCipherSuites[] tlsMinVersion tlsPrivateKeyFile topologyManagerPolicy
    topologyManagerPolicyOptions.* topologyManagerScope tracing.endpoint volumePluginDir
    """
)

TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(_BOOLEANS, "boolean"),
    **dict.fromkeys(_INT32S | _UINT32S, "int32"),
    **dict.fromkeys(_INT64S, "int64"),
    **dict.fromkeys(_NUMBERS, "number"),
    **dict.fromkeys(_DURATIONS, "duration"),
    **dict.fromkeys(_QUANTITIES, "quantity"),
    **dict.fromkeys(_STRINGS, "string"),
}
"""Type by path."""

SINCE: Final[Mapping[str, int]] = {
    "crashLoopBackOff": 32,
    "singleProcessOOMKill": 32,
    "imagePullCredentialsVerificationPolicy": 33,
    "mergeDefaultEvictionSettings": 33,
    "preloadedImagesVerificationAllowlist": 33,
    "userNamespaces": 33,
    "memoryReservationPolicy": 36,
    "tlsCurvePreferences": 36,
}
"""The Kubernetes minor (1.x) with which a field came, where that is after 1.31."""

NEEDED_GATES: Final[Mapping[str, tuple[str, int]]] = {
    "crashLoopBackOff.maxContainerRestartPeriod": ("KubeletCrashLoopBackOffMax", 35),
    "cpuCFSQuotaPeriod": ("CustomCPUCFSQuotaPeriod", 36),
    "enableSystemLogQuery": ("NodeLogQuery", 36),
    "imagePullCredentialsVerificationPolicy": ("KubeletEnsureSecretPulledImages", 35),
    "memoryReservationPolicy": ("MemoryQoS", 0),
}
"""Gates without which a kubelet does not start with a field, and the minor since which they are on; 0: never."""

RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "port": (1, 65535),
    "readOnlyPort": (0, 65535),
    "healthzPort": (0, 65535),
    "imageGCHighThresholdPercent": (0, 100),
    "imageGCLowThresholdPercent": (0, 100),
    "iptablesDropBit": (0, 31),
    "iptablesMasqueradeBit": (0, 31),
    "oomScoreAdj": (-1000, 1000),
    "nodeLeaseDurationSeconds": (0, 2**31 - 1),
    "nodeStatusMaxImages": (-1, 2**31 - 1),
    "containerLogMaxFiles": (2, 2**31 - 1),
    "containerLogMaxWorkers": (0, 2**31 - 1),
    "maxParallelImagePulls": (1, 2**31 - 1),
    **dict.fromkeys(
        ("eventBurst", "eventRecordQPS", "kubeAPIBurst", "kubeAPIQPS", "maxPods", "podsPerCore", "registryBurst"),
        (0, 2**31 - 1),
    ),
    "registryPullQPS": (0, 2**31 - 1),
    "maxOpenFiles": (0, 2**63 - 1),
}
"""The least and the greatest value; 0 stands for the default in most of them."""

WORDS: Final[Mapping[str, frozenset[str]]] = {
    "cgroupDriver": words("systemd cgroupfs"),
    "authorization.mode": words("AlwaysAllow Webhook"),
    "hairpinMode": words("promiscuous-bridge hairpin-veth none"),
    "cpuManagerPolicy": words("none static"),
    "memoryManagerPolicy": words("None Static BestEffort"),
    "topologyManagerPolicy": words("none best-effort restricted single-numa-node"),
    "topologyManagerScope": words("container pod"),
    "memorySwap.swapBehavior": words("LimitedSwap NoSwap"),
    "configMapAndSecretChangeDetectionStrategy": words("Get Cache Watch"),
    "tlsMinVersion": words("VersionTLS10 VersionTLS11 VersionTLS12 VersionTLS13"),
    "logging.format": words("text json"),
    "registerWithTaints[].effect": words("NoSchedule PreferNoSchedule NoExecute"),
    "imagePullCredentialsVerificationPolicy": words(
        "NeverVerify NeverVerifyPreloadedImages NeverVerifyAllowlistedImages AlwaysVerify"
    ),
    "memoryReservationPolicy": words("None TieredReservation"),
    "enforceNodeAllocatable[]": words(
        "none pods system-reserved kube-reserved system-reserved-compressible kube-reserved-compressible"
    ),
}
"""The values of fields that take one word of a few; empty texts stand for the default."""

EVICTION_SIGNALS: Final = words(
    """
    memory.available allocatableMemory.available nodefs.available nodefs.inodesFree imagefs.available
    imagefs.inodesFree containerfs.available containerfs.inodesFree pid.available
    """
)
RESERVED_RESOURCES: Final = words("cpu memory ephemeral-storage pid")
CIPHERS: Final = words(
    """
    TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256
    TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA
    TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
    TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305 TLS_RSA_WITH_RC4_128_SHA TLS_RSA_WITH_3DES_EDE_CBC_SHA
    TLS_RSA_WITH_AES_128_CBC_SHA TLS_RSA_WITH_AES_256_CBC_SHA TLS_RSA_WITH_AES_128_CBC_SHA256
    TLS_RSA_WITH_AES_128_GCM_SHA256 TLS_RSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_ECDSA_WITH_RC4_128_SHA
    TLS_ECDHE_RSA_WITH_RC4_128_SHA TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256
    TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256
    """
)
