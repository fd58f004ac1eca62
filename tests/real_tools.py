"""The real tools that `make test-all` builds: they judge what we make."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent.parent / ".tools" / "real"


def real_tool(name: str) -> Path:
    """The binary of a tool (sops, kustomize, containerd, kubelet-judge, …); fails where it was not built."""
    path = _FOLDER / name
    assert path.is_file(), f"{path} is missing: run `make test-all`, which builds it"
    return path
