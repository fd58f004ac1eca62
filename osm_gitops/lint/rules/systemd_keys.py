"""What systemd 257 reads in unit files: sections, keys and the kinds of their values (``--dump-configuration-items``).

Keys of later releases are reported as unknown; no release has taken one away so far but by ignoring it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.lint.rules.wording import words

_CONDITIONS: Final = words(
    """
    ACPower Architecture CPUFeature CPUPressure CPUs Capability ControlGroupController Credential DirectoryNotEmpty
    Environment FileIsExecutable FileNotEmpty Firmware FirstBoot Group Host IOPressure KernelCommandLine
    KernelVersion Memory MemoryPressure NeedsUpdate OSRelease PathExists PathExistsGlob PathIsDirectory
    PathIsEncrypted PathIsMountPoint PathIsReadWrite PathIsSymbolicLink Security User Virtualization
    """
)
_CHECKED: Final = frozenset(f"{word}{what}" for word in ("Condition", "Assert") for what in _CONDITIONS)
_RESOURCES: Final = words(
    """
    AllowedCPUs AllowedMemoryNodes BPFProgram BlockIOAccounting BlockIODeviceWeight BlockIOReadBandwidth
    BlockIOWeight BlockIOWriteBandwidth CPUAccounting CPUQuota CPUQuotaPeriodSec CPUShares CPUWeight CoredumpReceive
    DefaultMemoryLow DefaultMemoryMin DefaultStartupMemoryLow Delegate DelegateSubgroup DeviceAllow DevicePolicy
    DisableControllers IOAccounting IODeviceLatencyTargetSec IODeviceWeight IOReadBandwidthMax IOReadIOPSMax
    IOWeight IOWriteBandwidthMax IOWriteIOPSMax IPAccounting IPAddressAllow IPAddressDeny IPEgressFilterPath
    IPIngressFilterPath ManagedOOMMemoryPressure ManagedOOMMemoryPressureDurationSec ManagedOOMMemoryPressureLimit
    ManagedOOMPreference ManagedOOMSwap MemoryAccounting MemoryHigh MemoryLimit MemoryLow MemoryMax MemoryMin
    MemoryPressureThresholdSec MemoryPressureWatch MemorySwapMax MemoryZSwapMax MemoryZSwapWriteback NFTSet
    RestrictNetworkInterfaces Slice SocketBindAllow SocketBindDeny StartupAllowedCPUs StartupAllowedMemoryNodes
    StartupBlockIOWeight StartupCPUShares StartupCPUWeight StartupIOWeight StartupMemoryHigh StartupMemoryLow
    StartupMemoryMax StartupMemorySwapMax StartupMemoryZSwapMax TasksAccounting TasksMax
    """
)
_KILLING: Final = words(
    """
    FinalKillSignal KillMode KillSignal RestartKillSignal SendSIGHUP SendSIGKILL WatchdogSignal
    """
)
_EXECUTION: Final = words(
    """
    AmbientCapabilities AppArmorProfile BindLogSockets BindPaths BindReadOnlyPaths CPUAffinity CPUSchedulingPolicy
    CPUSchedulingPriority CPUSchedulingResetOnFork CacheDirectory CacheDirectoryMode CapabilityBoundingSet
    ConfigurationDirectory ConfigurationDirectoryMode CoredumpFilter DynamicUser Environment EnvironmentFile
    ExecPaths ExecSearchPath ExtensionDirectories ExtensionImagePolicy ExtensionImages Group IOSchedulingClass
    IOSchedulingPriority IPCNamespacePath IgnoreSIGPIPE ImportCredential InaccessibleDirectories InaccessiblePaths
    KeyringMode LimitAS LimitCORE LimitCPU LimitDATA LimitFSIZE LimitLOCKS LimitMEMLOCK LimitMSGQUEUE LimitNICE
    LimitNOFILE LimitNPROC LimitRSS LimitRTPRIO LimitRTTIME LimitSIGPENDING LimitSTACK LoadCredential
    LoadCredentialEncrypted LockPersonality LogExtraFields LogFilterPatterns LogLevelMax LogNamespace
    LogRateLimitBurst LogRateLimitIntervalSec LogsDirectory LogsDirectoryMode MemoryDenyWriteExecute MemoryKSM
    MountAPIVFS MountFlags MountImagePolicy MountImages NUMAMask NUMAPolicy NetworkNamespacePath Nice NoExecPaths
    NoNewPrivileges OOMScoreAdjust PAMName PassEnvironment Personality PrivateDevices PrivateIPC PrivateMounts
    PrivateNetwork PrivatePIDs PrivateTmp PrivateUsers ProcSubset ProtectClock ProtectControlGroups ProtectHome
    ProtectHostname ProtectKernelLogs ProtectKernelModules ProtectKernelTunables ProtectProc ProtectSystem
    ReadOnlyDirectories ReadOnlyPaths ReadWriteDirectories ReadWritePaths RemoveIPC RestrictAddressFamilies
    RestrictFileSystems RestrictNamespaces RestrictRealtime RestrictSUIDSGID RootDirectory RootEphemeral RootHash
    RootHashSignature RootImage RootImageOptions RootImagePolicy RootVerity RuntimeDirectory RuntimeDirectoryMode
    RuntimeDirectoryPreserve SELinuxContext SecureBits SetCredential SetCredentialEncrypted SetLoginEnvironment
    SmackProcessLabel StandardError StandardInput StandardInputData StandardInputText StandardOutput StateDirectory
    StateDirectoryMode SupplementaryGroups SyslogFacility SyslogIdentifier SyslogLevel SyslogLevelPrefix
    SystemCallArchitectures SystemCallErrorNumber SystemCallFilter SystemCallLog TTYColumns TTYPath TTYReset TTYRows
    TTYVHangup TTYVTDisallocate TemporaryFileSystem TimeoutCleanSec TimeoutSec TimerSlackNSec UMask UnsetEnvironment
    User UtmpIdentifier UtmpMode WorkingDirectory
    """
)
_PROCESSES: Final = _RESOURCES | _KILLING | _EXECUTION
_UNIT: Final = words(
    """
    After AllowIsolate Before BindTo BindsTo CollectMode Conflicts DefaultDependencies Description Documentation
    FailureAction FailureActionExitStatus IgnoreOnIsolate JobRunningTimeoutSec JobTimeoutAction
    JobTimeoutRebootArgument JobTimeoutSec JoinsNamespaceOf OnFailure OnFailureIsolate OnFailureJobMode OnSuccess
    OnSuccessJobMode PartOf PropagateReloadFrom PropagateReloadTo PropagatesReloadTo PropagatesStopTo RebootArgument
    RefuseManualStart RefuseManualStop ReloadPropagatedFrom Requires RequiresMountsFor RequiresOverridable Requisite
    RequisiteOverridable SourcePath StartLimitAction StartLimitBurst StartLimitInterval StartLimitIntervalSec
    StopPropagatedFrom StopWhenUnneeded SuccessAction SuccessActionExitStatus SurviveFinalKillSignal Upholds Wants
    WantsMountsFor
    """
)
_SERVICE: Final = words(
    """
    BusName ExecCondition ExecReload ExecStart ExecStartPost ExecStartPre ExecStop ExecStopPost ExitType
    FailureAction FileDescriptorStoreMax FileDescriptorStorePreserve GuessMainPID NonBlocking NotifyAccess OOMPolicy
    OpenFile PIDFile PermissionsStartOnly RebootArgument ReloadSignal RemainAfterExit Restart RestartForceExitStatus
    RestartMaxDelaySec RestartMode RestartPreventExitStatus RestartSec RestartSteps RootDirectoryStartOnly
    RuntimeMaxSec RuntimeRandomizedExtraSec Sockets StartLimitAction StartLimitBurst StartLimitInterval
    SuccessExitStatus TimeoutAbortSec TimeoutStartFailureMode TimeoutStartSec TimeoutStopFailureMode TimeoutStopSec
    Type USBFunctionDescriptors USBFunctionStrings WatchdogSec
    """
)
_SOCKET: Final = words(
    """
    Accept Backlog BindIPv6Only BindToDevice Broadcast DeferAcceptSec DirectoryMode ExecStartPost ExecStartPre
    ExecStopPost ExecStopPre FileDescriptorName FlushPending FreeBind IPTOS IPTTL KeepAlive KeepAliveIntervalSec
    KeepAliveProbes KeepAliveTimeSec ListenDatagram ListenFIFO ListenMessageQueue ListenNetlink
    ListenSequentialPacket ListenSpecial ListenStream ListenUSBFunction Mark MaxConnections MaxConnectionsPerSource
    MessageQueueMaxMessages MessageQueueMessageSize NoDelay PassCredentials PassFileDescriptorsToExec PassPacketInfo
    PassSecurity PipeSize PollLimitBurst PollLimitIntervalSec Priority ReceiveBuffer RemoveOnStop ReusePort
    SELinuxContextFromNet SendBuffer Service SmackLabel SmackLabelIPIn SmackLabelIPOut SocketGroup SocketMode
    SocketProtocol SocketUser Symlinks TCPCongestion Timestamping Transparent TriggerLimitBurst
    TriggerLimitIntervalSec Writable
    """
)
_MOUNT: Final = words(
    """
    DirectoryMode ForceUnmount LazyUnmount Options ReadWriteOnly SloppyOptions Type What Where
    """
)
_AUTOMOUNT: Final = words(
    """
    DirectoryMode ExtraOptions TimeoutIdleSec Where
    """
)
_SWAP: Final = words(
    """
    Options Priority What
    """
)
_TIMER: Final = words(
    """
    AccuracySec DeferReactivation FixedRandomDelay OnActiveSec OnBootSec OnCalendar OnClockChange OnStartupSec
    OnTimezoneChange OnUnitActiveSec OnUnitInactiveSec Persistent RandomizedDelaySec RemainAfterElapse Unit
    WakeSystem
    """
)
_PATH: Final = words(
    """
    DirectoryMode DirectoryNotEmpty MakeDirectory PathChanged PathExists PathExistsGlob PathModified
    TriggerLimitBurst TriggerLimitIntervalSec Unit
    """
)
_SCOPE: Final = words(
    """
    OOMPolicy RuntimeMaxSec RuntimeRandomizedExtraSec TimeoutStopSec
    """
)
_INSTALL: Final = words(
    """
    Alias Also DefaultInstance RequiredBy UpheldBy WantedBy
    """
)

SECTIONS: Final[Mapping[str, frozenset[str]]] = {
    "Unit": _UNIT | _CHECKED,
    "Install": _INSTALL,
    "Service": _SERVICE | _PROCESSES,
    "Socket": _SOCKET | _PROCESSES,
    "Mount": _MOUNT | _PROCESSES,
    "Swap": _SWAP | _PROCESSES,
    "Automount": _AUTOMOUNT,
    "Timer": _TIMER,
    "Path": _PATH,
    "Slice": _RESOURCES,
    "Scope": _SCOPE | _RESOURCES | _KILLING,
}
"""The keys of each section."""

BOOLEANS: Final = words(
    """
    Accept AllowIsolate BlockIOAccounting Broadcast CPUAccounting CPUSchedulingResetOnFork CoredumpReceive
    DefaultDependencies DeferReactivation DynamicUser FixedRandomDelay FlushPending ForceUnmount FreeBind
    GuessMainPID IOAccounting IPAccounting IgnoreOnIsolate IgnoreSIGPIPE KeepAlive LazyUnmount LockPersonality
    MakeDirectory MemoryAccounting MemoryDenyWriteExecute MemoryZSwapWriteback NoDelay NoNewPrivileges NonBlocking
    OnClockChange OnFailureIsolate OnTimezoneChange PassCredentials PassFileDescriptorsToExec PassPacketInfo
    PassSecurity PermissionsStartOnly Persistent PrivateDevices PrivateIPC PrivateNetwork ProtectClock
    ProtectHostname ProtectKernelLogs ProtectKernelModules ProtectKernelTunables ReadWriteOnly RefuseManualStart
    RefuseManualStop RemainAfterElapse RemainAfterExit RemoveIPC RemoveOnStop RestrictRealtime RestrictSUIDSGID
    ReusePort RootDirectoryStartOnly RootEphemeral SELinuxContextFromNet SendSIGHUP SendSIGKILL SloppyOptions
    StopWhenUnneeded SurviveFinalKillSignal SyslogLevelPrefix TTYReset TTYVHangup TTYVTDisallocate TasksAccounting
    Transparent WakeSystem Writable
    """
)
TIMES: Final = words(
    """
    AccuracySec DeferAcceptSec JobRunningTimeoutSec JobTimeoutSec KeepAliveIntervalSec KeepAliveTimeSec
    LogRateLimitIntervalSec MemoryPressureThresholdSec OnActiveSec OnBootSec OnStartupSec OnUnitActiveSec
    OnUnitInactiveSec PollLimitIntervalSec RandomizedDelaySec RestartMaxDelaySec RestartSec RuntimeMaxSec
    RuntimeRandomizedExtraSec StartLimitInterval StartLimitIntervalSec TimeoutAbortSec TimeoutCleanSec
    TimeoutIdleSec TimeoutSec TimeoutStartSec TimeoutStopSec TriggerLimitIntervalSec WatchdogSec
    """
)
COUNTS: Final = words(
    """
    Backlog FileDescriptorStoreMax KeepAliveProbes LogRateLimitBurst MaxConnections MaxConnectionsPerSource
    PollLimitBurst RestartSteps StartLimitBurst TriggerLimitBurst
    """
)
MODES: Final = words(
    """
    CacheDirectoryMode ConfigurationDirectoryMode DirectoryMode LogsDirectoryMode RuntimeDirectoryMode SocketMode
    StateDirectoryMode UMask
    """
)

WORDS: Final[Mapping[str, frozenset[str]]] = {
    "Restart": frozenset({"no", "on-success", "on-failure", "on-abnormal", "on-watchdog", "on-abort", "always"}),
    "KillMode": frozenset({"control-group", "process", "mixed", "none"}),
    "NotifyAccess": frozenset({"none", "main", "exec", "all"}),
    "OOMPolicy": frozenset({"continue", "stop", "kill"}),
    "ExitType": frozenset({"main", "cgroup"}),
    "RestartMode": frozenset({"normal", "direct", "debug"}),
}
"""The values of keys that take one word of a few."""

SERVICE_TYPES: Final = frozenset({"simple", "exec", "forking", "oneshot", "dbus", "notify", "notify-reload", "idle"})
UNIT_SUFFIXES: Final[Mapping[str, str]] = {
    "service": "Service",
    "socket": "Socket",
    "device": "",
    "mount": "Mount",
    "automount": "Automount",
    "swap": "Swap",
    "target": "",
    "path": "Path",
    "timer": "Timer",
    "slice": "Slice",
    "scope": "Scope",
}
"""The kinds of units and their own section, empty where they have none."""
