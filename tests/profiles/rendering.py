"""The default profiles rendered for one pool, through the whole pipeline from manifests to user-data.

node = render("osp-ubuntu", "hetzner", "1.35.0", settings=Settings(http_proxy="http://proxy:3128"))
assert "http://proxy:3128" in node.bootstrap["/etc/environment"].content
assert node.user_data["bootstrap"].startswith(b"#cloud-config")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from osm_gitops.errors import InputError, Problem
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import Manifest, Origin
from osm_gitops.model.profile import File, OperatingSystemConfig, OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.pools import PoolRenderer
from osm_gitops.render.resolve.cluster_info import ClusterFacts, resolve_cluster
from osm_gitops.render.resolve.pools import ResolvedPool, resolve_pool
from osm_gitops.sources import builtin
from osm_gitops.sources.inputs_builder import InputsBuilder
from osm_gitops.sources.manifests import RawObject, identify
from tests.cli.scenes import facts, pool

Half = Literal["bootstrap", "provisioning"]


@dataclass(frozen=True)
class Node:
    """What one pool gets: its OperatingSystemConfig, the files of both halves by path, and user-data as bytes.

    A path that stands twice in a half is refused here, as the last one would win unseen.
    """

    config: OperatingSystemConfig
    bootstrap: Mapping[str, File]
    provisioning: Mapping[str, File]
    user_data: Mapping[Half, bytes]
    warnings: tuple[Problem, ...]

    def file(self, path: str) -> str:
        """The text of a file, in whichever half it is."""
        return {**self.bootstrap, **self.provisioning}[path].content

    @property
    def texts(self) -> str:
        """All files of both halves, one after the other: for what must stand nowhere."""
        return "\n".join(file.content for half in (self.bootstrap, self.provisioning) for file in half.values())


def render(
    profile: str,
    provider: str,
    kubelet: str = "1.35.0",
    *,
    settings: Settings | None = None,
    values: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    os_spec: Mapping[str, Any] | None = None,
    network: Mapping[str, Any] | None = None,
    ssh_keys: Sequence[str] = (),
    name: str = "workers",
    version: str = "",
) -> Node:
    """Render a default profile (of ``version``, else the newest) for one pool. Raises InputError as a run would.

    ``values`` are what overlays would give (``Values``), ``annotations`` further ones of the MachineDeployment
    (kubelet options), ``os_spec`` its ``operatingSystemSpec``, ``network`` its ``network`` (cidr, gateway, dns,
    ipFamily).
    """
    found = read(profile, version)
    spec = dict(os_spec or {})
    if found.os_name == "flatcar" and found.provisioning_utility == "cloud-init":
        spec.setdefault("provisioningUtility", "cloud-init")
    machine = pool(
        name,
        profile,
        kubelet=kubelet,
        annotations=dict(annotations or {}),
        cloudProvider=provider,
        cloudProviderSpec={},
        operatingSystem=found.os_name,
        operatingSystemSpec=spec,
        sshPublicKeys=list(ssh_keys),
        **({"network": dict(network)} if network else {}),
    )
    return _rendered(machine, found, _renderer(found, settings or Settings(), dict(values or {})))


def read(profile: str, version: str = "") -> OperatingSystemProfile:
    """A default profile as it is composed. Raises InputError with everything that is wrong with it."""
    checked = builtin.read_builtin(profile, version or builtin.newest(), "kube-system")
    if checked.value is None:
        raise InputError(checked.problems)
    return checked.value


def _rendered(machine: Mapping[str, Any], profile: OperatingSystemProfile, made: _Renderer) -> Node:
    inputs = _inputs(machine, profile)
    resolved = resolve_pool(inputs.machines[0], inputs, made.cluster)
    config = made.pools.config(resolved)
    _, warnings = made.pools.render(resolved)
    return Node(
        config=config,
        bootstrap=_by_path(config.bootstrap.files),
        provisioning=_by_path(config.provisioning.files),
        user_data=_user_data(made.pools, resolved, config),
        warnings=(*inputs.warnings, *made.cluster.warnings, *resolved.warnings, *warnings),
    )


@dataclass(frozen=True)
class _Renderer:
    cluster: ClusterFacts
    pools: PoolRenderer


_RENDERERS: dict[str, PoolRenderer] = {}


def _renderer(profile: OperatingSystemProfile, settings: Settings, values: dict[str, Any]) -> _Renderer:
    """Most of the time goes into compiling, so the compiled templates are shared by all that have the same values."""
    key = repr((values, profile.manifest.body))
    cluster = resolve_cluster(settings, _inputs(None, profile).facts)
    if key not in _RENDERERS:
        _RENDERERS[key] = PoolRenderer(Engine(ROOT_TYPES, values=values), cluster)
    pools = PoolRenderer(_RENDERERS[key]._engine, cluster)
    pools._profiles = _RENDERERS[key]._profiles
    return _Renderer(cluster, pools)


def _user_data(renderer: PoolRenderer, pool: ResolvedPool, config: OperatingSystemConfig) -> dict[Half, bytes]:
    bootstrap, provisioning = renderer.user_data(pool, config)
    return {"bootstrap": bootstrap.encode(), "provisioning": provisioning.encode()}


def _inputs(machine: Mapping[str, Any] | None, profile: OperatingSystemProfile) -> Inputs:
    gathering = InputsBuilder()
    for body in (*facts(), *([machine] if machine else [])):
        manifest = identify(RawObject(body, Origin("pool.yaml"), {}), "kube-system")
        assert isinstance(manifest, Manifest)
        gathering.add(manifest)
    gathering.add(profile.manifest)
    inputs = gathering.inputs({})
    problems = [problem for problems in inputs.broken.values() for problem in problems]
    if problems:
        raise InputError(problems)
    return inputs


def _by_path(files: Sequence[File]) -> dict[str, File]:
    found = {file.path: file for file in files}
    assert len(found) == len(files), f"a path stands twice: {sorted(file.path for file in files)}"
    return found
