"""What nodes download, as small stand-ins that a machine of the tests finds at the right addresses."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from typing import Final

from tests.profiles.sandbox import Machine

CNI: Final = "https://github.com/containernetworking/plugins/releases/download"
CRICTL: Final = "https://github.com/kubernetes-sigs/cri-tools/releases/download"
KUBERNETES: Final = "https://dl.k8s.io"
KUBELET: Final = "1.35.4"
"""The version of the kubelet that is published."""


def _archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.uid, entry.gid = 4, 0o755, 1001, 127
            archive.addfile(entry, io.BytesIO(b"ELF\n"))
    return buffer.getvalue()


CONTENTS: Final = (_archive("./bridge", "./loopback"), _archive("crictl"), b"the kubelet", b"the kubectl")
"""The plugins of CNI, crictl, kubelet and kubectl, in the order of :func:`addresses`."""


def addresses(arch: str = "amd64", kubernetes: str = KUBERNETES, cni: str = CNI, crictl: str = CRICTL) -> list[str]:
    """Where they are, below the three places that values can move."""
    return [
        f"{cni}/v1.9.1/cni-plugins-linux-{arch}-v1.9.1.tgz",
        f"{crictl}/v1.35.0/crictl-v1.35.0-linux-{arch}.tar.gz",
        f"{kubernetes}/v{KUBELET}/bin/linux/{arch}/kubelet",
        f"{kubernetes}/v{KUBELET}/bin/linux/{arch}/kubectl",
    ]


def publish(machine: Machine, urls: Sequence[str] = (), failures: int = 0) -> Machine:
    """Let the machine find everything, each after so many failures."""
    for url, content in zip(urls or addresses(), CONTENTS, strict=True):
        machine.serve(url, content, failures)
    return machine
