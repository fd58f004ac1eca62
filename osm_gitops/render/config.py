"""Rendering a profile for one pool into an OperatingSystemConfig (osm-behaviour.md, "OperatingSystemConfig" and
"Templates")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gotemplate.assembly import CompiledHalf, Machine, compile_go_half, compile_jinja_half
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import BoundExceeded, StoppedItself, TemplateFault, TemplateFaults
from osm_gitops.model.profile import (
    DEFAULT_PERMISSIONS,
    ConfigHalf,
    File,
    Modules,
    OperatingSystemConfig,
    OperatingSystemProfile,
    ProfileConfig,
)
from osm_gitops.render.half_texts import half_texts
from osm_gitops.render.resolve.machine_spec import rh_subscription
from osm_gitops.render.resolve.pools import ResolvedPool

_CHANGE_POOL = "Change the MachineDeployment, or give it another profile"
_CHANGE_TEMPLATE = "Correct the template in the profile, and raise spec.version with it"
_CHANGE_VALUES = "The profile comes with osm-gitops: correct the setting or value that it reads there"
_CHANGE_THERE = "Correct the template there; the version of a patched profile follows"


@dataclass(frozen=True, slots=True)
class ProfileHalf:
    """One half of a profile, ready to render: its files in OSM's order, and their templates.

    ``places`` maps a template's name or a file's path to its field in the profile. ``rendered`` are its files as they
    were for the pool before: most are the same for many pools, and are taken again.
    """

    config: ProfileConfig
    files: tuple[File, ...]
    compiled: CompiledHalf
    places: Mapping[str, str]
    rendered: list[File] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CompiledProfile:
    """A profile with compiled templates, shared by all pools that use it."""

    profile: OperatingSystemProfile
    bootstrap: ProfileHalf
    provisioning: ProfileHalf

    def reads(self) -> frozenset[str]:
        """The fields of the data that its templates may use, ``*`` for all."""
        return self.bootstrap.compiled.reads() | self.provisioning.compiled.reads()


def compile_profile(engine: Engine, profile: OperatingSystemProfile) -> CompiledProfile:
    """Compile both halves. Raises InputError with all faults that show without data."""
    faults: list[Problem] = []
    bootstrap = _compile_half(engine, profile, "spec.bootstrapConfig", faults)
    provisioning = _compile_half(engine, profile, "spec.provisioningConfig", faults)
    if bootstrap is None or provisioning is None:
        raise InputError(faults)
    return CompiledProfile(profile, bootstrap, provisioning)


def _compile_half(
    engine: Engine, profile: OperatingSystemProfile, field: str, faults: list[Problem]
) -> ProfileHalf | None:
    config = profile.bootstrap if field == "spec.bootstrapConfig" else profile.provisioning
    texts = half_texts(config, field)
    try:
        compile_half = compile_jinja_half if profile.jinja else compile_go_half
        compiled = compile_half(engine, *texts.sources)
    except TemplateFaults as failure:
        faults.extend(template_problems(profile, texts.places, failure.faults))
        return None
    return ProfileHalf(config, tuple(file for file, _ in texts.files), compiled, texts.places)


def render_config(
    compiled: CompiledProfile, pool: ResolvedPool, data: Machine, hosts: Sequence[File], namespace: str
) -> OperatingSystemConfig:
    """Render both halves for ``pool``; all faults of both in one :class:`InputError`."""
    faults: list[Problem] = []
    bootstrap = _render_half(compiled.profile, compiled.bootstrap, data, faults)
    provisioning = _render_half(compiled.profile, compiled.provisioning, data, faults)
    if faults:
        raise InputError(faults)
    profile = compiled.profile
    return OperatingSystemConfig(
        name=pool.machine.config_name,
        namespace=namespace,
        os_name=profile.os_name,
        os_version=profile.os_version,
        provider=pool.provider_config.provider,
        provider_spec=pool.provider_config.provider_spec,
        provisioning_utility=profile.provisioning_utility or "cloud-init",
        bootstrap=_half(compiled.bootstrap, bootstrap, pool),
        provisioning=_half(compiled.provisioning, (*provisioning, *hosts), pool),
    )


def _half(half: ProfileHalf, files: tuple[File, ...], pool: ResolvedPool) -> ConfigHalf:
    return ConfigHalf(
        files=files,
        units=half.config.units,
        ssh_keys=pool.provider_config.ssh_keys,
        modules=_modules(half.config.modules, pool),
    )


def _modules(modules: Modules | None, pool: ResolvedPool) -> Modules | None:
    """The profile's modules, verbatim but for RHEL's subscription (osm-behaviour.md, "RHEL subscription")."""
    if pool.provider_config.os != "rhel":
        return modules
    return replace(modules or Modules(), rh_subscription=rh_subscription(pool.os_spec))


def _render_half(
    profile: OperatingSystemProfile, half: ProfileHalf, data: Machine, faults: list[Problem]
) -> tuple[File, ...]:
    try:
        texts = half.compiled.render(data)
    except TemplateFaults as failure:
        faults.extend(template_problems(profile, half.places, failure.faults))
        return ()
    if not half.rendered:
        half.rendered[:] = map(_rendered, half.files, texts)
    else:
        for index, text in enumerate(texts):
            if half.rendered[index].content is not text:
                half.rendered[index] = _rendered(half.files[index], text)
    return tuple(half.rendered)


def _rendered(file: File, text: str) -> File:
    permissions = file.permissions or DEFAULT_PERMISSIONS
    return File(file.path, text if text.isascii() else _as_json_text(text), permissions, file.encoding)


def _as_json_text(text: str) -> str:
    """The text as it comes back from an API server: each invalid UTF-8 byte is U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        whole = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in whole)
    return text


def template_problems(
    profile: OperatingSystemProfile, places: Mapping[str, str], faults: Iterable[TemplateFault]
) -> Iterator[Problem]:
    """Faults in the templates of a profile with their lines in its manifest."""
    about = f"OperatingSystemProfile {profile.namespace}/{profile.name}"
    for fault in faults:
        field = places.get(fault.template, "")
        mend = _CHANGE_THERE if profile.overlaid else _CHANGE_VALUES if profile.built_in else _CHANGE_TEMPLATE
        code, fix = Code.TEMPLATE_FAILED, mend
        if isinstance(fault, StoppedItself):  # with a sentence of the profile's author
            code, fix = Code.TEMPLATE_REFUSES_POOL, _CHANGE_POOL
        elif isinstance(fault, BoundExceeded):  # the sentence is ours alone, no value is in it
            code = Code.TEMPLATE_LIMIT
        yield Problem(
            code,
            fault.message,
            where=profile.manifest.line_in(field, fault.line),
            about=f"{about}, {fault.template}" if fault.template else about,
            fix=fault.fix or fix,
        )
