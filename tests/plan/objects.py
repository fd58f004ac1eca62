"""Small desired states for tests: pools with a configuration and two Secrets each."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, Desired, DesiredObject, Side
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import CurrentObject, CurrentState

LABELS = {MANAGED_BY_LABEL: MANAGED_BY}
VERSION = "k8c.io/osp-version"


def cloud_config(script: str, path: str = "/opt/bin/setup") -> str:
    """User-data as osm-behaviour.md, "cloud-init user-data" lays it out, with one base64 file."""
    encoded = b64encode(script.encode()).decode()
    return (
        "#cloud-config\n\nssh_pwauth: false\n\nssh_authorized_keys:\n- 'ssh-ed25519 AAAA one'\nwrite_files:"
        f"\n- path: '{path}'\n  permissions: '0755'\n  encoding: 'b64'\n  content: |-\n    {encoded}\n"
        "\nruncmd:\n- systemctl restart setup.service\n"
    )


def config(name: str, script: str, version: str = "v1.0.0") -> DesiredObject:
    """The configuration of pool ``name`` in kube-system."""
    ref = ObjectRef("OperatingSystemConfig", "kube-system", f"{name}-kube-system-config")
    file = {"path": "/opt/bin/setup", "permissions": 755, "content": {"inline": {"encoding": "b64", "data": script}}}
    body = {
        "apiVersion": "operatingsystemmanager.k8c.io/v1alpha1",
        "kind": ref.kind,
        "metadata": _metadata(ref, {VERSION: version}),
        "spec": {"osName": "ubuntu", "osVersion": "24.04", "provisioningConfig": {"files": [file]}},
    }
    return DesiredObject(ref, Side.MANAGEMENT, body, pool(name))


def secret(name: str, half: str, script: str, version: str = "v1.0.0", **more: Any) -> DesiredObject:
    """A cloud-config Secret of pool ``name``."""
    ref = ObjectRef("Secret", "cloud-init-settings", f"{name}-kube-system-{half}-config")
    data = {"cloud-config": b64encode(cloud_config(script).encode()).decode()}
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": _metadata(ref, {VERSION: version}),
        "data": data,
        **more,
    }
    return DesiredObject(ref, Side.WORKER, body, pool(name))


def pool(name: str) -> ObjectRef:
    return ObjectRef("MachineDeployment", "kube-system", name)


def pool_objects(name: str, script: str, version: str = "v1.0.0") -> tuple[DesiredObject, ...]:
    return (
        config(name, script, version),
        secret(name, "provisioning", script, version),
        secret(name, "bootstrap", f"fetch {name}\n", version),
    )


def desired(scripts: Mapping[str, str], version: str = "v1.0.0", **more: Any) -> Desired:
    """A desired state with one pool per entry, whose setup script is the entry's value."""
    objects = [wanted for name, script in scripts.items() for wanted in pool_objects(name, script, version)]
    return Desired(cluster="prod", objects=tuple(objects), pools=tuple(pool(name) for name in scripts), **more)


def current(state: Desired, *, live: bool = False) -> CurrentState:
    """A target that holds exactly this."""
    objects = {wanted.ref: CurrentObject(wanted.ref, wanted.side, wanted.body) for wanted in state.objects}
    return CurrentState(objects=objects, live=live)


def _metadata(ref: ObjectRef, annotations: Mapping[str, str]) -> dict[str, Any]:
    return {"name": ref.name, "namespace": ref.namespace, "labels": dict(LABELS), "annotations": dict(annotations)}
