"""What containerd reads in its configuration: tables of version 2 (containerd 1.7) and 3 (containerd 2.x).

containerd passes over a plugin that it does not have, and runc's shim over options that it does not know; both are
in these tables so that a typo shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.lint.rules.wording import words

TOP: Final = words(
    """
    version root state temp plugin_dir disabled_plugins required_plugins oom_score imports grpc ttrpc debug metrics
    plugins cgroup timeouts stream_processors proxy_plugins
    """
)
TABLES: Final[Mapping[str, frozenset[str]]] = {
    "grpc": words(
        """
        address tcp_address tcp_tls_ca tcp_tls_cert tcp_tls_key uid gid max_recv_message_size max_send_message_size
        tcp_tls_common_name
        """
    ),
    "ttrpc": words("address uid gid"),
    "debug": words("address uid gid level format"),
    "metrics": words("address grpc_histogram"),
    "cgroup": words("path"),
}
"""The keys of tables beside ``plugins``."""

_COMMON: Final = words(
    """
    io.containerd.content.v1.content io.containerd.event.v1.exchange io.containerd.gc.v1.scheduler
    io.containerd.grpc.v1.containers io.containerd.grpc.v1.content io.containerd.grpc.v1.cri
    io.containerd.grpc.v1.diff io.containerd.grpc.v1.events io.containerd.grpc.v1.healthcheck
    io.containerd.grpc.v1.images io.containerd.grpc.v1.introspection io.containerd.grpc.v1.leases
    io.containerd.grpc.v1.namespaces io.containerd.grpc.v1.sandbox-controllers io.containerd.grpc.v1.sandboxes
    io.containerd.grpc.v1.snapshots io.containerd.grpc.v1.streaming io.containerd.grpc.v1.tasks
    io.containerd.grpc.v1.transfer io.containerd.grpc.v1.version io.containerd.internal.v1.opt
    io.containerd.internal.v1.restart io.containerd.internal.v1.tracing io.containerd.lease.v1.manager
    io.containerd.metadata.v1.bolt io.containerd.nri.v1.nri io.containerd.runtime.v2.task
    io.containerd.service.v1.containers-service io.containerd.service.v1.content-service
    io.containerd.service.v1.diff-service io.containerd.service.v1.images-service
    io.containerd.service.v1.introspection-service io.containerd.service.v1.namespaces-service
    io.containerd.service.v1.snapshots-service io.containerd.service.v1.tasks-service
    io.containerd.snapshotter.v1.blockfile io.containerd.snapshotter.v1.btrfs io.containerd.snapshotter.v1.devmapper
    io.containerd.snapshotter.v1.native io.containerd.snapshotter.v1.overlayfs io.containerd.snapshotter.v1.zfs
    io.containerd.streaming.v1.manager io.containerd.tracing.processor.v1.otlp io.containerd.transfer.v1.local
    io.containerd.ttrpc.v1.otelttrpc
    """
)
PLUGINS: Final[Mapping[int, frozenset[str]]] = {
    2: _COMMON
    | words(
        """
        io.containerd.runtime.v1.linux io.containerd.monitor.v1.cgroups io.containerd.snapshotter.v1.aufs
        io.containerd.sandbox.controller.v1.shim io.containerd.sandbox.store.v1.local
        io.containerd.differ.v1.walking
        """
    ),
    3: _COMMON
    | words(
        """
        io.containerd.cri.v1.images io.containerd.cri.v1.runtime io.containerd.differ.v1.erofs
        io.containerd.differ.v1.walking io.containerd.image-verifier.v1.bindir
        io.containerd.monitor.container.v1.restart io.containerd.monitor.task.v1.cgroups
        io.containerd.mount-handler.v1.erofs io.containerd.mount-manager.v1.bolt
        io.containerd.podsandbox.controller.v1.podsandbox io.containerd.sandbox.controller.v1.shim
        io.containerd.sandbox.store.v1.local io.containerd.service.v1.sandbox-controller-service
        io.containerd.shim.v1.manager io.containerd.snapshotter.v1.erofs io.containerd.warning.v1.deprecations
        io.containerd.http.v1.metrics
        """
    ),
}
"""Ids of plugins by the configuration's version; a plugin of the site's own is to be suppressed."""

_RUNTIME: Final = words(
    """
    runtime_type runtime_path pod_annotations container_annotations options privileged_without_host_devices
    privileged_without_host_devices_all_devices_allowed base_runtime_spec cni_conf_dir cni_max_conf_num snapshotter
    sandboxer sandbox_mode runtime_engine runtime_root
    """
)
RUNTIME_KEYS: Final[Mapping[int, frozenset[str]]] = {2: _RUNTIME, 3: _RUNTIME | words("cgroup_writable io_type")}
"""The keys of a runtime handler (``runtimes.runc``)."""

_CNI: Final = words("bin_dir conf_dir max_conf_num setup_serially conf_template ip_pref")
_REGISTRY: Final = words("config_path mirrors configs auths headers")
_RUNTIME_CONTAINERD: Final = words(
    "default_runtime_name runtimes ignore_blockio_not_enabled_errors ignore_rdt_not_enabled_errors"
)
_CRI_2: Final = "io.containerd.grpc.v1.cri"
_RUNTIME_3: Final = "io.containerd.cri.v1.runtime"
_IMAGES_3: Final = "io.containerd.cri.v1.images"
PLUGIN_TABLES: Final[Mapping[int, Mapping[tuple[str, ...], frozenset[str]]]] = {
    2: {
        (_CRI_2,): words(
            """
            containerd cni registry image_decryption disable_tcp_service stream_server_address stream_server_port
            stream_idle_timeout enable_selinux selinux_category_range sandbox_image stats_collect_period
            systemd_cgroup enable_tls_streaming x509_key_pair_streaming max_container_log_line_size disable_cgroup
            disable_apparmor restrict_oom_score_adj max_concurrent_downloads disable_proc_mount unset_seccomp_profile
            tolerate_missing_hugetlb_controller disable_hugetlb_controller device_ownership_from_security_context
            ignore_image_defined_volumes netns_mounts_under_state_dir enable_unprivileged_ports
            enable_unprivileged_icmp enable_cdi cdi_spec_dirs image_pull_progress_timeout drain_exec_sync_io_timeout
            image_pull_with_sync_fs ignore_deprecation_warnings
            """
        ),
        (_CRI_2, "containerd"): _RUNTIME_CONTAINERD
        | words(
            """
            snapshotter default_runtime untrusted_workload_runtime no_pivot disable_snapshot_annotations
            discard_unpacked_layers
            """
        ),
        (_CRI_2, "cni"): _CNI,
        (_CRI_2, "registry"): _REGISTRY,
    },
    3: {
        (_CRI_2,): words(
            """
            disable_tcp_service stream_server_address stream_server_port stream_idle_timeout enable_tls_streaming
            x509_key_pair_streaming
            """
        ),
        (_RUNTIME_3,): words(
            """
            containerd cni enable_selinux selinux_category_range max_container_log_line_size disable_apparmor
            restrict_oom_score_adj disable_proc_mount unset_seccomp_profile tolerate_missing_hugetlb_controller
            disable_hugetlb_controller device_ownership_from_security_context ignore_image_defined_volumes
            netns_mounts_under_state_dir enable_unprivileged_ports enable_unprivileged_icmp enable_cdi cdi_spec_dirs
            drain_exec_sync_io_timeout ignore_deprecation_warnings enable_criu enable_experimental_restore_via_create
            """
        ),
        (_RUNTIME_3, "containerd"): _RUNTIME_CONTAINERD,
        (_RUNTIME_3, "cni"): _CNI | words("bin_dirs use_internal_loopback"),
        (_IMAGES_3,): words(
            """
            snapshotter disable_snapshot_annotations discard_unpacked_layers pinned_images runtime_platforms registry
            image_decryption max_concurrent_downloads concurrent_layer_fetch_buffer image_pull_progress_timeout
            image_pull_with_sync_fs stats_collect_period use_local_image_pull
            """
        ),
        (_IMAGES_3, "registry"): _REGISTRY,
    },
}
"""The keys of tables below ``plugins``, by their path."""

CRI_RUNTIMES: Final[Mapping[int, tuple[str, ...]]] = {
    2: (_CRI_2, "containerd", "runtimes"),
    3: (_RUNTIME_3, "containerd", "runtimes"),
}
"""Where the runtime handlers are."""

RUNC_OPTIONS: Final[Mapping[str, type]] = {
    "BinaryName": str,
    "CriuImagePath": str,
    "CriuPath": str,
    "CriuWorkPath": str,
    "IoGid": int,
    "IoUid": int,
    "NoNewKeyring": bool,
    "NoPivotRoot": bool,
    "Root": str,
    "ShimCgroup": str,
    "SystemdCgroup": bool,
    "TaskApiAddress": str,
    "TaskApiVersion": int,
}
"""Options of ``io.containerd.runc.v2`` and their types."""

HOST_KEYS: Final = words(
    "capabilities ca client skip_verify header override_path dial_timeout host server auth rewrite"
)
"""Keys of hosts.toml, of the registry and of each of its hosts."""
CAPABILITIES: Final = words("pull resolve push referrers")
