"""All checks of what pools render to, and all of their rules."""

from __future__ import annotations

from typing import Final

from osm_gitops.lint.rules import (
    cloud_config,
    containerd,
    files,
    ignition,
    kubelet,
    paths,
    systemd,
)
from osm_gitops.lint.rules.boot_file import DocumentCheck, FileCheck
from osm_gitops.model.finding import Rule

FILE_CHECKS: Final[tuple[FileCheck, ...]] = (
    *files.FILE_CHECKS,
    systemd.check_unit,
    containerd.check_containerd,
    files.check_node_file,
)
DOCUMENT_CHECKS: Final[tuple[DocumentCheck, ...]] = (
    *paths.DOCUMENT_CHECKS,
    containerd.check_installed_containerd,
    kubelet.check_kubelet,
    cloud_config.check_cloud_config,
    ignition.check_ignition,
    cloud_config.check_user_data_size,
)
RULES: Final[tuple[Rule, ...]] = (
    *files.RULES,
    *paths.RULES,
    *systemd.RULES,
    *containerd.RULES,
    *kubelet.RULES,
    *cloud_config.RULES,
    *ignition.RULES,
    *files.FORMAT_RULES,
    *cloud_config.SIZE_RULES,
)
