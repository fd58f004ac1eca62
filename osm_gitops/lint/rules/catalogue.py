"""All checks of what pools render to, and all of their rules."""

from __future__ import annotations

from typing import Final

from osm_gitops.lint.rules import (
    boot_checks,
    cloud_config,
    cloud_specs,
    containerd,
    exec_lines,
    files,
    ignition,
    kubelet,
    kubelet_flags,
    kubelet_start,
    machine_shape,
    network,
    os_specs,
    paths,
    pool_annotations,
    pools,
    secrets,
    settings,
    systemd,
)
from osm_gitops.lint.rules.boot_file import DocumentCheck, FileCheck
from osm_gitops.model.finding import Rule

FILE_CHECKS: Final[tuple[FileCheck, ...]] = (
    *files.FILE_CHECKS,
    systemd.check_unit,
    exec_lines.check_exec_lines,
    containerd.check_containerd,
    files.check_node_file,
)
DOCUMENT_CHECKS: Final[tuple[DocumentCheck, ...]] = (
    paths.check_paths,
    boot_checks.check_boot,
    secrets.check_secret_values,
    secrets.check_written_secrets,
    containerd.check_installed_containerd,
    containerd.check_containerd_files,
    kubelet.check_kubelet,
    kubelet_flags.check_kubelet_flags,
    kubelet_start.check_kubelet_start,
    cloud_config.check_cloud_config,
    ignition.check_ignition,
    cloud_config.check_user_data_size,
)
RULES: Final[tuple[Rule, ...]] = (
    *files.RULES,
    *paths.RULES,
    *boot_checks.RULES,
    *systemd.RULES,
    *exec_lines.RULES,
    *containerd.RULES,
    *kubelet.RULES,
    *kubelet_flags.RULES,
    *kubelet_start.RULES,
    *cloud_config.RULES,
    *ignition.RULES,
    *files.FORMAT_RULES,
    *cloud_config.SIZE_RULES,
    *settings.RULES,
    *pools.RULES,
    *pool_annotations.RULES,
    *os_specs.RULES,
    *cloud_specs.RULES,
    *network.RULES,
    *machine_shape.RULES,
)
