"""What a worker process does for the pools and profiles of a cluster. It imports no reader of sources or files: each
worker imports all of this when it starts, and it may read nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256

from osm_gitops.config.overlay_stack import Stack
from osm_gitops.config.patches import PatchedProfile, patch_profile
from osm_gitops.config.stacking import stack_overlays
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gocompat.basetext import read_base64
from osm_gitops.gotemplate.assembly import forget_results
from osm_gitops.gotemplate.bounds import Bounds
from osm_gitops.gotemplate.compiled import TextSource
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFault
from osm_gitops.gotemplate.inspection import ValuePath, value_uses
from osm_gitops.lint.rules.kubelet import minor_of, unknown_fields
from osm_gitops.model.desired import DesiredObject, SecretTexts
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.overlay import Overlay
from osm_gitops.model.pool_facts import HalfSize
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.rendered import DEFAULTS, RenderedPool, RenderedText, RenderOptions
from osm_gitops.plan.counterfactual import Counterfactuals
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.pools import CompiledProfiles, PoolRenderer, template_texts
from osm_gitops.render.resolve.cluster_info import resolve_cluster
from osm_gitops.render.resolve.pools import ResolvedPool, resolve_pool
from osm_gitops.render.user_data import Counted, bootstrap_size, provisioning_size
from osm_gitops.yaml.compact_json import dump_json
from osm_gitops.yaml.emit import dump


class ClusterRenderer:
    """In a worker: the shared state of the pools of a cluster."""

    def __init__(self, inputs: Inputs, settings: Settings, options: RenderOptions = DEFAULTS) -> None:
        self.inputs = inputs
        self.measured = options.measured
        self.for_git = options.for_git
        self.cluster = resolve_cluster(settings, inputs.facts)
        engine, compiled = _engine(bounds_of(settings), json.dumps(dict(inputs.values))), CompiledProfiles()
        engine.compiled = options.compiled
        forget_results(engine)  # they hold secrets of the cluster before
        self.renderer = PoolRenderer(engine, self.cluster, compiled, for_git=options.for_git)
        self.counterfactuals = Counterfactuals(inputs, settings, engine, compiled)

    def render(self, machine: MachineDeployment) -> RenderedPool:
        """Resolve and render a pool. Raises InputError with all problems."""
        try:
            pool = resolve_pool(machine, self.inputs, self.cluster)
            objects, warnings = self.renderer.render(pool)
        except InputError as failure:
            # The message of a failed template may contain secrets.
            raise InputError(self.counterfactuals.problems(machine, failure.problems)) from None
        return RenderedPool(
            (pool.profile.namespace, pool.profile.name),
            tuple(map(self._text, objects)),
            (*pool.warnings, *self.counterfactuals.warnings(machine, warnings), *_unknown_fields(pool, objects)),
            _sizes(pool, objects) if self.measured else (),
        )

    def _text(self, rendered: DesiredObject) -> RenderedText:
        yaml = dump(rendered.body).encode()
        text = yaml if self.for_git else dump_json(rendered.body)
        return RenderedText(rendered.ref, rendered.side, text, sha256(yaml).digest())


def _unknown_fields(pool: ResolvedPool, objects: Iterable[DesiredObject]) -> Iterator[Problem]:
    """In a worker: warnings for fields that the pool's kubelet does not know. A name that the profile does not have is
    not shown: it may come from a secret."""
    minor, profile = minor_of(pool.kube_version), pool.profile
    config = next(each for each in objects if each.ref.kind == "OperatingSystemConfig")
    for half in ("bootstrapConfig", "provisioningConfig"):
        for file in config.body["spec"][half].get("files", ()):
            for remark in unknown_fields(file["path"], file["content"]["inline"]["data"], minor):
                shown = any(remark.quoted in text for text in template_texts(profile))
                yield Problem(
                    Code.KUBELET_FIELD_UNKNOWN,
                    remark.message if shown else f"the kubelet does not know a field of line {remark.line}",
                    where=profile.manifest.line_of(f"spec.{half}"),
                    about=f"OperatingSystemProfile {profile.namespace}/{profile.name}, {file['path']}",
                    fix=remark.fix if shown else "Run `osm-gitops validate`",
                )


def _sizes(pool: ResolvedPool, objects: Iterable[DesiredObject]) -> tuple[HalfSize, ...]:
    """In a worker: the sizes of both halves, from the Secrets that hold them."""
    config, machine = pool.provider_config, pool.machine
    secrets = {each.ref.name: each.body for each in objects if each.ref.kind == "Secret"}
    bootstrap, provisioning = (
        read_base64(secrets[name]["data"]["cloud-config"]).decode(errors="surrogateescape")
        for name in (machine.bootstrap_secret_name, machine.provisioning_secret_name)
    )
    found = {
        "bootstrap": bootstrap_size(bootstrap, machine.name, config.provider, config.os),
        "provisioning": provisioning_size(provisioning),
    }
    return tuple(
        HalfSize(
            half,
            size.counted,
            size.limit.counted.value if size.limit else Counted.RAW.value,
            size.limit.size if size.limit else None,
            size.limit.source if size.limit else size.why,
        )
        for half, size in found.items()
    )


@lru_cache(maxsize=4)
def _engine(bounds: Bounds, values: str) -> Engine:
    """In a worker: one engine for the clusters of a fleet, which have most of their profiles in common. ``values`` are
    JSON."""
    return Engine(ROOT_TYPES, bounds, json.loads(values))


def compile_texts(_state: tuple[()], settings: Settings, sources: Iterable[TextSource]) -> tuple[bytes | None, ...]:
    """In a worker: the compiled texts, ``None`` for one with a fault, which is told when it is rendered."""
    engine = _engine(bounds_of(settings), json.dumps({}))

    def compiled(source: TextSource) -> bytes | None:
        try:
            return engine.compile_text(source).saved()
        except TemplateFault:
            return None

    return tuple(map(compiled, sources))


def render_pool(cluster: ClusterRenderer, machine: MachineDeployment) -> RenderedPool:
    """In a worker: render a pool. Raises InputError with all problems."""
    return cluster.render(machine)


def secret_texts_of(cluster: ClusterRenderer, machine: MachineDeployment | None) -> SecretTexts:
    """In a worker: parts of a pool's objects, or of the profiles without a pool, that were made from secrets."""
    return cluster.counterfactuals.secret_texts(machine)


def bounds_of(settings: Settings) -> Bounds:
    """The limits of a template by the settings."""
    return Bounds(settings.max_output_bytes, settings.max_loop_steps, settings.max_template_depth)


def stacked(overlays: Sequence[Overlay]) -> Stack:
    """In a worker: the combination of overlays. Raises InputError with all problems."""
    return stack_overlays(overlays)


def patched(overlays: tuple[Overlay, ...], profile: OperatingSystemProfile) -> PatchedProfile | None:
    """In a worker: the profile with the patches that are for it."""
    return patch_profile(profile, overlays)


def values_read(_overlays: tuple[Overlay, ...], profile: OperatingSystemProfile) -> frozenset[ValuePath]:
    """In a worker: the values that the texts of a profile read."""
    return frozenset().union(*(value_uses(text, native=profile.jinja) for text in template_texts(profile)))
