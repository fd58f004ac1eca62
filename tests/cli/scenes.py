"""Small clusters as trees of manifests, and git repositories to commit them into."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.git.repos import git, new_repository

GETTER_TOKEN = "getter-token-1"
_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
- name: ""
  cluster:
    server: https://api.example.com:6443
    certificate-authority-data: Q0EtUEVN
"""
_SCRIPT = """\
#!/bin/sh
curl -H 'Authorization: Bearer {{ .Token }}' {{ .ServerURL }}/{{ .SecretName }}
"""


def secret(name: str, namespace: str, data: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """A Secret with ``stringData``."""
    metadata = {"name": name, "namespace": namespace, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": dict(data), **more}


def facts(token: str = GETTER_TOKEN) -> list[dict[str, Any]]:
    """What every cluster needs: ``cluster-info`` and the token that machines fetch their Secrets with."""
    metadata = {"name": "cluster-info", "namespace": "kube-public"}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"kubeconfig": _KUBECONFIG}},
        secret("cloud-init-getter-token", "cloud-init-settings", {"token": token}),
    ]


def file(path: str, text: str, permissions: int = 755) -> dict[str, Any]:
    return {"path": path, "permissions": permissions, "content": {"inline": {"encoding": "b64", "data": text}}}


def profile(name: str = "osp-a", script: str = _SCRIPT, **spec: Any) -> dict[str, Any]:
    """A profile for ubuntu on hetzner with one file a half."""
    body = {
        "osName": "ubuntu",
        "osVersion": "24.04",
        "version": "v1.0.0",
        "supportedCloudProviders": [{"name": "hetzner"}],
        "bootstrapConfig": {"files": [file("/opt/bin/bootstrap", script)]},
        "provisioningConfig": {"files": [file("/opt/bin/setup", "#!/bin/sh\necho {{ .KubeVersion }}\n")]},
    }
    return {
        "apiVersion": "operatingsystemmanager.k8c.io/v1alpha1",
        "kind": "OperatingSystemProfile",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": body | spec,
    }


def pool(name: str = "workers", profile: str = "osp-a", **more: Any) -> dict[str, Any]:
    """A MachineDeployment; ``more`` goes into its provider config, ``annotations`` and ``kubelet`` to their places."""
    annotations = {"k8c.io/operating-system-profile": profile, **more.pop("annotations", {})}
    metadata = {"name": name, "namespace": more.pop("namespace", "kube-system"), "annotations": annotations}
    versions = {"kubelet": more.pop("kubelet", "1.34.2")}
    config = {"cloudProvider": "hetzner", "cloudProviderSpec": {"serverType": "cx22"}, "operatingSystem": "ubuntu"}
    template = {"spec": {"versions": versions, "providerSpec": {"value": config | {"operatingSystemSpec": {}} | more}}}
    return {
        "apiVersion": "cluster.k8s.io/v1alpha1",
        "kind": "MachineDeployment",
        "metadata": metadata,
        "spec": {"template": template},
    }


def write_tree(folder: Path, *objects: Mapping[str, Any], token: str = GETTER_TOKEN) -> Path:
    """A tree with these objects, one file each, and the facts."""
    for body in (*facts(token), *objects):
        path = folder / f"{body['kind']}-{body['metadata']['name']}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_yaml(body), encoding="utf-8")
    return folder


def write_fleet(folder: Path, text: str) -> Path:
    path = folder / "osm-gitops.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"apiVersion: osm-gitops.io/v1alpha1\nkind: Fleet\n{text}", encoding="utf-8")
    return path


def objects_of(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Manifests of a YAML text by kind and name."""
    return {(body["kind"], body["metadata"]["name"]): body for body in yaml.safe_load_all(text)}


def user_data(objects: Mapping[tuple[str, str], dict[str, Any]], name: str) -> str:
    return b64decode(objects["Secret", name]["data"]["cloud-config"]).decode()


def clone_with_remote(folder: Path) -> tuple[Path, Path]:
    """A bare repository with one commit, and a clone of it."""
    first = new_repository(folder / "first")
    git(folder, "clone", "--quiet", "--bare", "first", "remote.git")
    git(folder, "clone", "--quiet", "remote.git", "clone")
    assert first.is_dir()
    return folder / "remote.git", folder / "clone"


def _yaml(body: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(json.loads(json.dumps(body)), sort_keys=False, default_style=None, width=1000))
