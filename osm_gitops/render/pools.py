"""Render the pools of one cluster, with shared parts created once (design.md, "Performance")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gotemplate.assembly import Machine, freeze
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.model.desired import DesiredObject
from osm_gitops.model.machine import MachineDeployment, is_chosen
from osm_gitops.model.profile import OperatingSystemConfig, OperatingSystemProfile, ProfileConfig
from osm_gitops.model.settings import Settings
from osm_gitops.render.config import CompiledProfile, compile_profile, render_config
from osm_gitops.render.data import ClusterData, PoolData, cluster_fields, root_fields
from osm_gitops.render.manifests import cloud_config_secret, config_object, edge_script_secret
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL
from osm_gitops.render.resolve.cluster_info import ClusterFacts, ErrorCollector
from osm_gitops.render.resolve.machine_spec import readable_provider_config
from osm_gitops.render.resolve.pools import ResolvedPool, profile_ref
from osm_gitops.render.user_data import Pool, edge_script, user_data, user_data_warnings

# A template that prints the kubeconfig itself; the name of its Secret does not count.
_KUBECONFIG = "BootstrapKubeconfig"
_PRINTS_KUBECONFIG = re.compile(rf"\b{_KUBECONFIG}\b")

CompiledProfiles = dict[tuple[str, str], CompiledProfile | InputError]
"""Compiled profiles by namespace and name, or their problems."""


class PoolRenderer:
    """Renders pools of one cluster; profiles are compiled when first used.

    Pure: the same pool always gives the same objects. What it keeps are compiled profiles and the data that all pools
    share. Renderers of one engine may share ``profiles``. ``for_git``: the objects carry annotations for Flux and Argo
    CD.
    """

    def __init__(
        self,
        engine: Engine,
        cluster: ClusterFacts,
        profiles: CompiledProfiles | None = None,
        *,
        for_git: bool = True,
    ) -> None:
        self._engine = engine
        self._cluster = cluster
        self._profiles: CompiledProfiles = {} if profiles is None else profiles
        self._for_git = for_git
        self._prints_kubeconfig: dict[tuple[str, str], bool] = {}
        self._shared = cluster_fields(
            ClusterData(
                settings=cluster.settings,
                ca_certificate=cluster.ca_certificate,
                container_runtime_config=cluster.containerd_config,
                getter_token=cluster.getter_token,
                server_url=cluster.kubeconfig.server,
            )
        )

        self._frozen = {name: freeze(value) for name, value in self._shared.items()}

    def render(self, pool: ResolvedPool) -> tuple[tuple[DesiredObject, ...], tuple[Problem, ...]]:
        """All objects of a pool but its profile, and warnings. Raises InputError with all problems."""
        config = self.config(pool)
        objects = self._objects(pool, config)
        about = str(pool.machine.ref)
        return objects, tuple(warning.at(about=about) for warning in user_data_warnings(config, pool.utility))

    def _objects(self, pool: ResolvedPool, config: OperatingSystemConfig) -> tuple[DesiredObject, ...]:
        bootstrap, provisioning = self.user_data(pool, config)
        immutable = self._cluster.settings.immutable_secrets
        machine, for_git = pool.machine, self._for_git
        secret = partial(cloud_config_secret, pool=pool, immutable=immutable, for_git=for_git)
        objects = (
            config_object(config, pool, for_git=for_git),
            secret(machine.provisioning_secret_name, provisioning, "0"),
            secret(machine.bootstrap_secret_name, bootstrap, "1"),
        )
        if config.provider != "edge":
            return objects
        script = edge_script(machine.bootstrap_secret_name, self._cluster.getter_token, self._cluster.kubeconfig.server)
        return (edge_script_secret(script, pool, for_git=for_git), *objects)

    def config(self, pool: ResolvedPool) -> OperatingSystemConfig:
        """The pool's OperatingSystemConfig."""
        return render_config(
            self.compiled(pool.profile),
            pool,
            Machine(self._engine, self.data(pool), self._frozen),
            self._cluster.hosts_files,
            self._cluster.settings.namespace,
        )

    def user_data(self, pool: ResolvedPool, config: OperatingSystemConfig) -> tuple[str, str]:
        """Bootstrap and provisioning user-data of a rendered configuration."""
        faults = ErrorCollector()
        taken = Pool(pool.machine.name, pool.utility, pool.dist_upgrade)
        bootstrap = faults.run(user_data, "bootstrap", config, config.bootstrap, taken)
        provisioning = faults.run(user_data, "provisioning", config, config.provisioning, taken)
        if bootstrap is None or provisioning is None:
            about = f"OperatingSystemConfig {config.namespace}/{config.name}"
            raise InputError(problem.at(about=about) for problem in faults.problems)
        return bootstrap, provisioning

    def compiled(self, profile: OperatingSystemProfile) -> CompiledProfile:
        """The profile with its templates compiled. Raises InputError with all that is wrong with them."""
        key = (profile.namespace, profile.name)
        if key not in self._profiles:
            try:
                self._profiles[key] = compile_profile(self._engine, profile)
            except InputError as failure:
                self._profiles[key] = failure
        compiled = self._profiles[key]
        if isinstance(compiled, InputError):
            raise InputError(compiled.problems)
        return compiled

    def data(self, pool: ResolvedPool) -> dict[str, Any]:
        """What the templates see of the pool: every field of the root. Raises InputError."""
        return root_fields(
            self._shared,
            PoolData(
                kube_version=pool.kube_version,
                os=pool.provider_config.os,
                provider=pool.provider_config.provider,
                in_tree_provider=pool.in_tree_provider,
                cloud_config=pool.cloud_config,
                network=pool.provider_config.network,
                kubelet=pool.kubelet,
                os_spec=pool.os_spec,
                secret_name=pool.machine.provisioning_secret_name,
                kubelet_kubeconfig_name=pool.machine.kubelet_kubeconfig_name,
                bootstrap_kubeconfig=self._kubeconfig(pool),
            ),
        )

    def _kubeconfig(self, pool: ResolvedPool) -> str:
        """The bootstrap kubeconfig. Raises a fault if a template prints it and the source has no token."""
        if pool.token is not None:
            return self._cluster.kubeconfig.with_token(pool.token)
        key = (pool.profile.namespace, pool.profile.name)
        if key not in self._prints_kubeconfig:
            self._prints_kubeconfig[key] = prints_kubeconfig(pool.profile)
        if not self._prints_kubeconfig[key]:
            return ""
        raise input_error(
            Code.BOOTSTRAP_TOKEN_MISSING,
            f"OperatingSystemProfile {key[0]}/{key[1]} prints .BootstrapKubeconfig, "
            "and the source holds no bootstrap token for this pool",
            where=str(pool.machine.manifest.origin),
            about=str(pool.machine.ref),
            fix="Let the profile fetch the Secret that .BootstrapKubeconfigSecretName names, "
            f"or {self._lacking(pool)} to the source",
        )

    def _lacking(self, pool: ResolvedPool) -> str:
        account = self._cluster.settings.bootstrap_token_service_account
        if account is not None:
            return f"list a Secret with a token in ServiceAccount {'/'.join(account)}, and add both"
        return f"add the bootstrap token's Secret with label {NAME_LABEL}={pool.machine.token_key}"


def prints_kubeconfig(profile: OperatingSystemProfile) -> bool:
    """Whether pools of the profile need a token to be rendered: most name the Secret of the kubeconfig only."""
    # Most texts do not have the word, which is found out more quickly without an expression.
    return any(_KUBECONFIG in text and _PRINTS_KUBECONFIG.search(text) for text in template_texts(profile))


def template_texts(profile: OperatingSystemProfile) -> Iterator[str]:
    """Every template text that is rendered for a pool of the profile."""
    for half in (profile.bootstrap, profile.provisioning):
        yield from _half_texts(half)


def _half_texts(half: ProfileConfig) -> Iterator[str]:
    yield from half.templates.values()
    yield from (file.content for file in half.files)
    for runtime in half.runtimes:
        yield from runtime.templates.values()
        yield from (file.content for file in runtime.files)


def printing_pools(
    machines: Iterable[MachineDeployment],
    profiles: Mapping[tuple[str, str], OperatingSystemProfile],
    settings: Settings,
    only: Sequence[str],
) -> Iterator[MachineDeployment]:
    """The pools whose profile prints the kubeconfig itself: they cannot be rendered without a token."""
    printing = {key for key, profile in profiles.items() if prints_kubeconfig(profile)}
    chosen = (machine for machine in machines if is_chosen(machine.name, only))
    for machine in chosen if printing else ():
        try:
            named = profile_ref(machine, readable_provider_config(machine.provider_spec), settings.namespace)
        except InputError:
            continue  # reported with the pool
        if named in printing and not machine.deleting:
            yield machine
