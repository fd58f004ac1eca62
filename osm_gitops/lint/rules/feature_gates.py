"""Feature gates that the kubelet of each Kubernetes minor knows, from 1.31 to 1.36, and those that cannot be changed.

A kubelet does not start with a gate that it does not know, nor with a value other than that of a locked one.
Read out of the binaries' own registries: 1.31.14, 1.32.13, 1.33.13, 1.34.4, 1.35.4 and 1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

OLDEST: Final = 31
NEWEST: Final = 36

# Name:first-last=locked value@since, where a missing part means all minors of the table, or not locked.
_TABLE: Final = """
    APIListChunking:-32=true@31 APIResponseCompression APIServerIdentity APIServerTracing=true@34
    APIServingWithRoutine AdmissionWebhookMatchConditions:-32=true@31 AggregatedDiscoveryEndpoint:-32=true@31
    AggregatedDiscoveryRemoveBetaType:33-=true@35 AllAlpha AllBeta AllowDNSOnlyNodeCSR
    AllowInsecureKubeletCertificateSigningRequests AllowOverwriteTerminationGracePeriodSeconds:32-=false@35
    AllowParsingUserUIDFromCertAuth:33- AllowServiceExternalIPs:36- AllowServiceLBStatusOnNonLB:-34=false@32
    AllowUnsafeMalformedObjectDeletion:32- AnonymousAuthConfigurableEndpoints=true@34 AnyVolumeDataSource=true@33
    AppArmor:-32=true@31 AppArmorFields:-32=true@31 AtomicFIFO:36- AuthorizeNodeWithSelectors=true@34
    AuthorizePodWebsocketUpgradeCreatePermission:35- AuthorizeWithSelectors=true@34 BtreeWatchCache:32-=true@33
    CBORServingAndStorage:32- CPUManager:-32=true@31 CPUManagerPolicyAlphaOptions CPUManagerPolicyBetaOptions
    CPUManagerPolicyOptions=true@33 CRDObservedGenerationTracking:35- CRDValidationRatcheting=true@33
    CRIListStreaming:36- CSIMigrationPortworx:-35=true@33 CSIServiceAccountTokenSecrets:35-=true@36 CSIVolumeHealth
    ChangeContainerStatusOnKubeletRestart:35- ClearingNominatedNodeNameAfterBinding:34- ClientsAllowCARotation:36-
    ClientsAllowCBOR:32- ClientsAllowTLSCacheGC:36- ClientsPreferCBOR:32-
    CloudControllerManagerWatchBasedRoutesReconciliation:35- CloudControllerManagerWebhook
    CloudDualStackNodeIPs:-31=true@31 ClusterTrustBundle ClusterTrustBundleProjection ComponentFlagz:32-
    ComponentStatusz:32- ConcurrentWatchObjectDecode ConsistentListFromCache=true@34 ConstrainedImpersonation:35-
    ContainerCheckpoint ContainerRestartRules:34- ContainerStopSignals:33- ContextualLogging
    CoordinatedLeaderElection CronJobsScheduledAnnotation:-34=true@32 CrossNamespaceVolumeDataSource
    CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors=true@32 DRAAdminAccess:32-=true@36
    DRAConsumableCapacity:34- DRAControlPlaneController:-31 DRADeviceBindingConditions:34- DRADeviceTaintRules:35-
    DRADeviceTaints:33- DRAExtendedResource:34- DRAListTypeAttributes:36- DRANodeAllocatableResources:36-
    DRAPartitionableDevices:33- DRAPrioritizedList:33- DRAResourceClaimDeviceStatus:32-
    DRAResourceClaimGranularStatusAuthorization:36- DRAResourcePoolStatus:36- DRASchedulerFilterTimeout:34-
    DRAWorkloadResourceClaims:36- DeclarativeValidation:33-=true@36 DeclarativeValidationBeta:36-
    DeclarativeValidationTakeover:33- DeploymentReplicaSetTerminatingReplicas:33- DetectCacheInconsistency:34-
    DevicePluginCDIDevices:-33=true@31 DisableAllocatorDualWrite=true@35 DisableCPUQuotaWithExclusiveCPUs:33-
    DisableCloudProviders:-32=true@31 DisableKubeletCloudCredentialProviders:-32=true@31
    DisableNodeKubeProxyVersion=true@36 DynamicResourceAllocation=true@35 EfficientWatchResumption:-32=true@31
    ElasticIndexedJob:-33=true@31 EnvFiles:34- EventedPLEG ExecProbeTimeout=true@35 ExtendWebSocketsToKubelet:36-
    ExternalServiceAccountTokenSigner:32-=true@36 GangScheduling:35- GenericWorkload:35-
    GitRepoVolumeDriver:33-=false@36 GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority
    HPAConfigurableTolerance:33- HPAContainerMetrics:-31=true@31 HPAScaleToZero HonorPVReclaimPolicy:-35=true@33
    HostnameOverride:34- ImageMaximumGCAge=true@35 ImageVolume=true@36 ImageVolumeWithDigest:36-
    InOrderInformers:33-=true@36 InOrderInformersBatchProcess:35- InPlacePodLevelResourcesVerticalScaling:35-
    InPlacePodVerticalScaling=true@35 InPlacePodVerticalScalingAllocatedStatus:32-35
    InPlacePodVerticalScalingExclusiveCPUs:32- InPlacePodVerticalScalingExclusiveMemory:34-
    InPlacePodVerticalScalingInitContainers:36- InTreePluginPortworxUnregister:-35 InformerResourceVersion
    JobBackoffLimitPerIndex=true@33 JobManagedBy=true@35 JobPodFailurePolicy:-32=true@31
    JobPodReplacementPolicy=true@34 JobSuccessPolicy=true@33 KMSv1 KMSv2:-31=true@31 KMSv2KDF:-31=true@31
    KubeProxyDrainingTerminatingNodes:-32=true@31 KubeletCgroupDriverFromCRI=true@34 KubeletCrashLoopBackOffMax:32-
    KubeletEnsureSecretPulledImages:33- KubeletFineGrainedAuthz:32-=true@36 KubeletInUserNamespace
    KubeletPSI:33-=true@36 KubeletPodResourcesDynamicResources=true@36 KubeletPodResourcesGet=true@36
    KubeletPodResourcesListUseActivePods:34- KubeletRegistrationGetOnExistsOnly:32- KubeletSeparateDiskGC
    KubeletServiceAccountTokenForCredentialProviders:33- KubeletTracing=true@34
    LegacyServiceAccountTokenCleanUp:-31=true@31 LegacySidecarContainers:33-33 ListFromCacheSnapshot:33-
    LoadBalancerIPMode:-34=true@32 LocalStorageCapacityIsolationFSQuotaMonitoring LogarithmicScaleDown=true@31
    LoggingAlphaOptions LoggingBetaOptions ManifestBasedAdmissionControlConfig:36-
    MatchLabelKeysInPodAffinity=true@33 MatchLabelKeysInPodTopologySpread
    MatchLabelKeysInPodTopologySpreadSelectorMerge:34- MaxUnavailableStatefulSet MemoryManager:-35=true@32 MemoryQoS
    MinDomainsInPodTopologySpread:-31=true@31 MultiCIDRServiceAllocator=true@34
    MutableCSINodeAllocatableCount:33-=true@36 MutablePVNodeAffinity:35- MutablePodResourcesForSuspendedJobs:35-
    MutableSchedulingDirectivesForSuspendedJobs:35- MutatingAdmissionPolicy NFTablesProxyMode=true@33
    NewVolumeManagerReconstruction:-31=true@31 NodeDeclaredFeatures:35-
    NodeInclusionPolicyInPodTopologySpread=true@33 NodeLogQuery=true@36 NodeOutOfServiceVolumeDetach:-31=true@31
    NodeSwap=true@34 NominatedNodeNameForExpectation:34- OpenAPIEnums OpportunisticBatching:35-
    OrderedNamespaceDeletion=true@34 PDBUnhealthyPodEvictionPolicy:-32=true@31 PLEGOnDemandRelist:36-
    PersistentVolumeClaimUnusedSinceTime:36- PersistentVolumeLastPhaseTransitionTime:-32=true@31
    PodAndContainerStatsFromCRI PodCertificateRequest:34- PodDeletionCost PodDisruptionConditions:-33=true@31
    PodHostIPs:-31=true@31 PodIndexLabel:-34=true@32 PodLevelResourceManagers:36- PodLevelResources:32-
    PodLifecycleSleepAction=true@34 PodLifecycleSleepActionAllowZero:32-=true@34 PodLogsQuerySplitStreams:32-
    PodObservedGenerationTracking:33-=true@35 PodReadyToStartContainersCondition PodSchedulingReadiness=true@31
    PodTopologyLabelsAdmission:33- PodsAPI:36- PortForwardWebsockets PreferSameTrafficDistribution:33-=true@35
    PreventStaticPodAPIReferences:34- ProbeHostPodSecurityStandards:34-34=true@34 ProcMountType=true@36 QOSReserved
    RecoverVolumeExpansionFailure=true@34 RecursiveReadOnlyMounts=true@33 ReduceDefaultCrashLoopBackOffDecay:33-
    RelaxedDNSSearchValidation:32-=true@34 RelaxedEnvironmentVariableValidation=true@34
    RelaxedServiceNameValidation:34- ReloadKubeletClientCAFile:36- ReloadKubeletServerCertificateFile
    RemainingItemCount:-32=true@31 RemoteRequestHeaderUID:32- ResilientWatchCacheInitialization=true@34
    ResourceHealthStatus ResourceHealthStatusMessage:36- RestartAllContainersOnContainerExits:35-
    RetryGenerateName=true@32 RotateKubeletServerCertificate RuntimeClassInImageCriApi
    SELinuxChangePolicy:32-=true@36 SELinuxMount SELinuxMountReadWriteOncePod=true@36 SchedulerAsyncAPICalls:34-
    SchedulerAsyncPreemption:32- SchedulerPopFromBackoffQ:33- SchedulerQueueingHints=true@34
    SeparateCacheWatchRPC=false@36 SeparateTaintEvictionController=true@34 ServerSideApply:-31=true@31
    ServerSideFieldValidation:-31=true@31 ServiceAccountNodeAudienceRestriction:32- ServiceAccountTokenJTI=true@32
    ServiceAccountTokenNodeBinding=true@33 ServiceAccountTokenNodeBindingValidation=true@32
    ServiceAccountTokenPodNodeInfo=true@32 ServiceCIDRStatusFieldWiping:36- ServiceTrafficDistribution:-35=true@33
    ShardedListAndWatch:36- SidecarContainers=true@33 SizeBasedListCostEstimate:34-
    SizeMemoryBackedVolumes:-34=true@32 StableLoadBalancerNodeSet:-31=true@31
    StaleControllerConsistencyDaemonSet:36- StaleControllerConsistencyJob:36-
    StaleControllerConsistencyReplicaSet:36- StaleControllerConsistencyStatefulSet:36-
    StatefulSetAutoDeletePVC:-34=true@32 StatefulSetSemanticRevisionComparison:34-
    StatefulSetStartOrdinal:-33=true@31 StorageCapacityScoring:33- StorageNamespaceIndex StorageVersionAPI
    StorageVersionHash StorageVersionMigrator StreamingCollectionEncodingToJSON:33-=true@34
    StreamingCollectionEncodingToProtobuf:33-=true@34 StrictCostEnforcementForVAP:-34=true@32
    StrictCostEnforcementForWebhooks:-34=true@32 StrictIPCIDRValidation:33-
    StructuredAuthenticationConfiguration=true@34 StructuredAuthenticationConfigurationEgressSelector:34-
    StructuredAuthenticationConfigurationJWKSMetrics:35- StructuredAuthorizationConfiguration:-35=true@32
    SupplementalGroupsPolicy=true@35 SystemdWatchdog:32-=true@35 TaintTolerationComparisonOperators:35-
    TokenRequestServiceAccountUIDValidation:34- TopologyAwareHints:-35=true@33 TopologyAwareWorkloadScheduling:36-
    TopologyManagerPolicyAlphaOptions TopologyManagerPolicyBetaOptions TopologyManagerPolicyOptions=true@36
    TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
    UnlockWhileProcessingFIFO:36- UserNamespacesHostNetworkSupport:35- UserNamespacesPodSecurityStandards:-34
    UserNamespacesSupport=true@36 ValidatingAdmissionPolicy:-31=true@31 VolumeAttributesClass=true@36
    VolumeCapacityPriority:-32 VolumeLimitScaling:35- WatchBookmark:-32=true@31
    WatchCacheInitializationPostStartHook WatchFromStorageWithoutResourceVersion:-35=false@33 WatchList
    WatchListClient WinDSR=true@34 WinOverlay=true@34 WindowsCPUAndMemoryAffinity:32-
    WindowsGracefulNodeShutdown:32- WindowsHostNetwork WorkloadAwarePreemption:36- WorkloadWithJob:36-
    ZeroLimitedNominalConcurrencyShares:-31=true@31
    """
_ENTRY: Final = re.compile(r"(\w+)(?::(\d*)-(\d*))?(?:=(\w+)@(\d+))?")


@dataclass(frozen=True, slots=True)
class Gate:
    """A feature gate: known in the minors ``first`` to ``last``; from ``locked_since`` on it is ``locked``."""

    name: str
    first: int
    last: int
    locked: bool | None
    locked_since: int


@cache
def gates() -> Mapping[str, Gate]:
    """All gates by name."""
    return {gate.name: gate for gate in _read()}


def _read() -> Iterator[Gate]:
    for match in _ENTRY.finditer(_TABLE):
        name, first, last, locked, since = match.groups()
        value = None if locked is None else locked == "true"
        yield Gate(name, int(first or OLDEST), int(last or NEWEST), value, int(since or NEWEST + 1))


def gate_fault(name: str, minor: int, *, value: bool) -> str:
    """Why a kubelet 1.``minor`` does not take the gate with this value; empty where it does, or is not in the table."""
    if not OLDEST <= minor <= NEWEST:
        return ""
    gate = gates().get(name)
    if gate is None:
        return "no kubelet has it"
    if minor < gate.first:
        return f"it came with Kubernetes 1.{gate.first}"
    if minor > gate.last:
        return f"it went with Kubernetes 1.{gate.last + 1}"
    if gate.locked is not None and minor >= gate.locked_since and value is not gate.locked:
        return f"it is always {str(gate.locked).lower()} since Kubernetes 1.{gate.locked_since}"
    return ""
