"""Words of the field that reports never mask. Every start imports this module."""

from __future__ import annotations

from typing import Final

PUBLIC_WORDS: Final = frozenset(
    {"Opaque", "default", "kube-system", "kubernetes", "cloud-config", "cloud-init-settings", "containerd", "docker.io",
     "ubuntu", "flatcar", "rockylinux", "openstack", "vsphere", "hetzner", "nutanix", "kubevirt", "digitalocean",
     "baremetal", "scaleway", "alibaba", "anexia", "linode", "external"}
)  # fmt: skip
"""Well-known words that are never masked."""
