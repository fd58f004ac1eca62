"""The architectures of machines, by their names in Debian, Go and Kubernetes."""

from __future__ import annotations

from typing import Final

AMD64: Final = "amd64"
"""That of containers, which run on this machine's own processor."""
ARM64: Final = "arm64"


def named(name: str, architecture: str) -> str:
    """The name of a thing of an architecture in a :class:`~.store.Store`."""
    return name if architecture == AMD64 else f"{name}-{architecture}"
