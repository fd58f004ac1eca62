"""A registry of container images, as the files that a web server has: what containerd asks for to pull one."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from osm_gitops.commands.boot.lane.internet import Content

_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def image(name: str, tag: str, program: Path) -> Mapping[str, Content]:
    """An image that has one static program, at ``/program``, and runs it."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        entry = tarfile.TarInfo("program")
        entry.size, entry.mode = program.stat().st_size, 0o755
        with program.open("rb") as file:
            archive.addfile(entry, file)
    packed = gzip.compress(layer.getvalue(), mtime=0)
    config = _json(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": ["/program"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer.getvalue())]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": _descriptor(_CONFIG, config),
            "layers": [_descriptor(_LAYER, packed)],
        }
    )
    return {
        **{f"/v2/{name}/manifests/{reference}": manifest for reference in (tag, _digest(manifest))},
        **{f"/v2/{name}/blobs/{_digest(blob)}": blob for blob in (config, packed)},
    }


def _json(body: Mapping[str, object]) -> bytes:
    return json.dumps(body).encode()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _descriptor(kind: str, data: bytes) -> Mapping[str, object]:
    return {"mediaType": kind, "digest": _digest(data), "size": len(data)}
