"""The checks that ``validate`` runs on what pools render to, and the rules that they have."""

from __future__ import annotations

from typing import Final

from osm_gitops.lint.rules import (
    cloud_config,
    containerd,
    files,
    ignition,
    kubelet,
    node_files,
    paths,
    systemd,
    user_data_size,
)
from osm_gitops.lint.rules.boot_file import DocumentCheck, FileCheck
from osm_gitops.model.finding import Rule

FILE_CHECKS: Final[tuple[FileCheck, ...]] = (
    files.check_path,
    files.check_permissions,
    files.check_secrets,
    files.check_left_overs,
    files.check_line_ends,
    files.check_shebang,
    systemd.check_unit,
    containerd.check_containerd,
    node_files.check_node_file,
)
DOCUMENT_CHECKS: Final[tuple[DocumentCheck, ...]] = (
    paths.check_paths,
    paths.check_programs,
    containerd.check_installed_containerd,
    kubelet.check_kubelet,
    cloud_config.check_cloud_config,
    ignition.check_ignition,
    user_data_size.check_user_data_size,
)
RULES: Final[tuple[Rule, ...]] = (
    *files.RULES,
    *paths.RULES,
    *systemd.RULES,
    *containerd.RULES,
    *kubelet.RULES,
    *cloud_config.RULES,
    *ignition.RULES,
    *node_files.RULES,
    *user_data_size.RULES,
)
