"""``osm-gitops explain``: find a pool of the fleet, render it, and trace the origin of each part."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from osm_gitops.config.setting_names import DEFAULT_TEXTS, SETTINGS, Kind
from osm_gitops.config.settings import RawSetting, normal
from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import Code, InputError, OsmGitopsError, Problem, did_you_mean, input_error
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.lint.rules.boot_file import HALVES, BootDocument, BootFile, Half
from osm_gitops.lint.rules.pools import pool_findings
from osm_gitops.lint.rules.problems import problem_finding
from osm_gitops.lint.rules.rules import POOL
from osm_gitops.model.desired import ALL_SECRET, SecretTexts, Side
from osm_gitops.model.explained import (
    ChosenProfile,
    Explanation,
    RenderedFile,
    RenderedObject,
    Rendering,
    SettingOrigin,
    SizeUse,
)
from osm_gitops.model.finding import Finding
from osm_gitops.model.inputs import Facts, Inputs
from osm_gitops.model.machine import PROFILE_ANNOTATION, PROFILE_NAMESPACE_ANNOTATION, MachineDeployment
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, ObjectRef
from osm_gitops.model.profile import JINJA2_V1
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.boot_documents import UNITS, Places, boot_document
from osm_gitops.pipeline.load import SourceReader, gather_inputs, given_settings, load_settings
from osm_gitops.pipeline.memo import Memo
from osm_gitops.pipeline.options import RunOptions, limits_of
from osm_gitops.pipeline.pool_worker import bounds_of
from osm_gitops.pipeline.rendering import RENDERINGS
from osm_gitops.plan.counterfactual import Counterfactuals, Scene, compared, public_problems
from osm_gitops.plan.sensitive import collect_sensitive
from osm_gitops.plan.variants import VARIANTS, Variant
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.resolve.bootstrap_token import GETTER_SECRET, NAME_LABEL, NAMESPACE
from osm_gitops.render.resolve.cloudconfig import variables
from osm_gitops.render.resolve.cluster_info import (
    CLUSTER_INFO,
    CLUSTER_INFO_NAME,
    ClusterFacts,
    UnreadableClusterInfo,
    cluster_info,
)
from osm_gitops.render.resolve.kubelet import annotation_uses
from osm_gitops.render.resolve.machine_spec import IGNITION, readable_provider_config
from osm_gitops.render.resolve.pools import ResolvedPool, profile_ref
from osm_gitops.render.user_data import bootstrap_size, provisioning_size
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sources.manifests import MACHINE, PROFILE
from osm_gitops.workers.calls import call
from osm_gitops.workers.process import LimitReached

BOOTSTRAP: Final = "bootstrap"
PROVISIONING: Final = "provisioning"
OVERLAY: Final = "values"
PROFILE_DEFAULT: Final = "profile's default"
_SMALLER: Final = {
    BOOTSTRAP: "Move what is not needed to fetch the provisioning half into that half",
    PROVISIONING: "Let a script download what is large",
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A cluster whose sources were read."""

    spec: ClusterSpec
    settings: Settings
    inputs: Inputs

    @property
    def sensitive(self) -> frozenset[str]:
        """Values that no report may show."""
        return collect_sensitive(self.inputs.facts, self.inputs.machines, self.settings, self.inputs.sensitive)


def load_clusters(
    clusters: Sequence[ClusterSpec], options: RunOptions, problems: list[Problem], *, tokens: bool = False
) -> Iterator[Loaded]:
    """Read the sources of each cluster, also the bootstrap ``tokens`` of live ones. A cluster that cannot be read adds
    its problems and does not stop the others."""
    memo = Memo()
    for spec in clusters:
        try:
            settings = load_settings(spec, memo)
            reader = SourceReader(spec, settings, options.environment, options.keys, options.connections, memo)
            inputs = gather_inputs(reader, tokens=tokens).build()
        except OsmGitopsError as failure:
            problems += (problem.at(about=f"cluster {spec.name}") for problem in failure.problems)
            continue
        problems += inputs.unreadable
        yield Loaded(spec, settings, inputs)


def explain_pool(name: str, clusters: Sequence[ClusterSpec], options: RunOptions) -> Explanation:
    """Explain the MachineDeployment ``NAME`` or ``NAMESPACE/NAME``.

    Without a key for encrypted sources their values are placeholders, which a warning says. Raises InputError if it is
    not exactly one pool. The explanation of a pool that cannot be rendered has its problems and what is known without
    rendering.
    """
    problems: list[Problem] = []
    loaded = list(load_clusters(clusters, options, problems, tokens=True))
    closed = tuple(dict.fromkeys(problem for problem in problems if problem.code is Code.NO_KEY_OPENS))
    if closed:
        problems.clear()
        options = replace(options, keys=KeySearch(options.environment, without_keys=True))
        loaded = list(load_clusters(clusters, options, problems, tokens=True))
    cluster, machine = choose_pool(name, loaded, problems)
    found = explanation(cluster, machine)
    if not closed:
        return found
    what = f"{closed[0].what}: encrypted values are placeholders here, and the target is not compared"
    warning = Problem(Code.READ_WITHOUT_KEY, what, where=closed[0].where, fix=closed[0].fix)
    return replace(found, warnings=(warning, *found.warnings), placeholders=True)


def choose_pool(name: str, loaded: Sequence[Loaded], problems: Iterable[Problem]) -> tuple[Loaded, MachineDeployment]:
    matching = [(each, machine) for each in loaded for machine in each.inputs.machines if name in _names(machine.ref)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        places = ", ".join(f"{machine.ref.namespaced_name} in cluster {each.spec.name}" for each, machine in matching)
        fix = "Write NAMESPACE/NAME, and choose a cluster with --cluster"
        raise input_error(Code.SEVERAL_POOLS, f'there are several pools "{name}": {places}', fix=fix)
    broken = [
        problem
        for each in loaded
        for ref, found in each.inputs.broken.items()
        if ref.kind == MACHINE and name in _names(ref)
        for problem in found
    ]
    if broken:
        raise InputError(broken)
    known = [shown for each in loaded for machine in each.inputs.machines for shown in _names(machine.ref)]
    available = ", ".join(
        dict.fromkeys(machine.ref.namespaced_name for each in loaded for machine in each.inputs.machines)
    )
    fix = did_you_mean(name, known, f"Available: {available or 'none'}")
    raise InputError([*problems, Problem(Code.POOL_NOT_FOUND, f'{MACHINE} "{name}" not found', fix=fix)])


def _names(ref: ObjectRef) -> tuple[str, str]:
    return ref.name, ref.namespaced_name


def explanation(cluster: Loaded, machine: MachineDeployment) -> Explanation:
    """Explain one pool."""
    config = readable_provider_config(machine.provider_spec)
    found = _rendered(cluster, machine)
    return Explanation(
        cluster=cluster.spec.name,
        pool=machine.ref,
        where=str(machine.manifest.origin),
        os=config.os,
        provider=config.provider,
        kube_version=machine.kubelet,
        profile=_profile(machine, cluster),
        settings=tuple(_setting_origins(given_settings(cluster.spec))),
        values=found.values,
        annotations=annotation_uses(machine),
        findings=_findings(machine, cluster),
        rendering=found.rendering,
        warnings=found.warnings,
        problems=found.problems,
        sources=cluster.inputs.sources,
        hosts=cluster.inputs.hosts,
        sensitive=cluster.sensitive,
    )


def _findings(machine: MachineDeployment, cluster: Loaded) -> tuple[Finding, ...]:
    gates, sealed = cluster.settings.feature_gates, cluster.inputs.sensitive
    try:
        return call(checked_pool, machine, gates, sealed, limits=limits_of(cluster.settings))
    except LimitReached as failure:
        where, about = str(machine.manifest.origin), str(machine.ref)
        problems = failure.named("checking it", where=where, about=about)
        return tuple(problem_finding(POOL, problem) for problem in problems)


def checked_pool(machine: MachineDeployment, gates: Mapping[str, bool], sealed: Collection[str]) -> tuple[Finding, ...]:
    """Runs in a worker. What ``validate`` finds in the MachineDeployment itself, such as unknown keys."""
    return tuple(pool_findings(machine, gates, sealed))


@dataclass(frozen=True, slots=True)
class TracedRendering:
    """What a pool renders to (``None`` with problems if it fails), and the values that its templates read."""

    rendering: Rendering | None = None
    values: tuple[SettingOrigin, ...] = ()
    warnings: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()


def _rendered(cluster: Loaded, machine: MachineDeployment) -> TracedRendering:
    about = str(machine.ref)
    if machine.deleting:
        problem = Problem(Code.POOL_BEING_DELETED, "is being deleted, so it is not rendered", about=about)
        return TracedRendering(problems=(problem,))
    alone = replace(cluster.inputs, machines=(machine,))
    limits = limits_of(cluster.settings)
    limits = replace(limits, seconds=limits.seconds * RENDERINGS)
    try:
        return call(render_traced, machine, alone, cluster.settings, limits=limits)
    except LimitReached as failure:
        where = str(machine.manifest.origin)
        return TracedRendering(problems=failure.named("rendering", where=where, about=about))


def render_traced(machine: MachineDeployment, inputs: Inputs, settings: Settings) -> TracedRendering:
    """Runs in a worker. Render one pool, also with other secrets, and record the values that its templates read."""
    recorder = _ValueRecorder(machine, inputs, settings)
    try:
        scene = recorder.counterfactuals(recorder.values).scene(machine, None)
        document = recorder.document(scene)
    except InputError as failure:
        for variant in VARIANTS:
            recorder.other(variant)
        problems = recorder.counterfactuals({}).problems(machine, failure.problems)
        return TracedRendering(values=recorder.public_values(), problems=problems)
    found = [recorder.other(variant) for variant in VARIANTS]
    others = [other for other in found if other is not None]
    pool, shared = scene.pool, scene.shared
    is_known = len(others) == len(found)
    secret = compared(scene, others, inputs.sensitive) if is_known else ALL_SECRET
    other_documents = [recorder.document(other) for other in others] if is_known else []
    sizes = (_size(document, machine, BOOTSTRAP), _size(document, machine, PROVISIONING))
    rendering = Rendering(
        utility=pool.utility,
        facts=tuple(_facts(pool, shared)),
        objects=(
            RenderedObject(pool.profile.manifest.ref, Side.MANAGEMENT),
            *(RenderedObject(each.ref, each.side) for each in scene.objects),
        ),
        live=tuple(_live_only(pool)),
        files=tuple(_file(file, secret) for file in document.texts),
        modules=tuple(_modules(document)),
        commands=tuple(_commands(document, pool.utility)),
        sizes=sizes,
        user_data=_user_data(document),
        other_user_data={half: tuple(_user_data(each)[half] for each in other_documents) for half in HALVES},
        secret_texts=secret,
    )
    public = public_problems(scene.warnings, [() if other is None else other.warnings for other in found])
    warnings = (*shared.warnings, *pool.warnings, *public, *_too_large(sizes, machine))
    return TracedRendering(rendering, recorder.public_values(), tuple(dict.fromkeys(warnings)))


@dataclass(slots=True)
class _ValueRecorder:
    """Renders one pool and records the values that its templates read: ``values`` with the real secrets,
    ``other_values`` with each set of other secrets."""

    machine: MachineDeployment
    inputs: Inputs
    settings: Settings
    values: dict[str, SettingOrigin] = field(default_factory=dict)
    other_values: list[dict[str, SettingOrigin]] = field(default_factory=list)

    def public_values(self) -> tuple[SettingOrigin, ...]:
        """The values that templates read. A value that depends on secrets is hidden."""
        return tuple(
            value if all(other.get(path) == value for other in self.other_values) else _MADE_FROM_SECRETS
            for path, value in sorted(self.values.items())
        )

    def other(self, variant: Variant) -> Scene | None:
        """The pool with other secrets; ``None`` if it cannot be rendered with them."""
        self.other_values.append({})
        try:
            return self.counterfactuals(self.other_values[-1]).other(self.machine, variant)
        except InputError:
            return None

    def counterfactuals(self, reads: dict[str, SettingOrigin]) -> Counterfactuals:
        """A new instance for each scene: one instance renders equal texts once, and so reads their values once."""

        def record(path: str, found: Any, is_set: bool) -> None:
            where = self.inputs.value_places.get(path, OVERLAY) if is_set else PROFILE_DEFAULT
            reads[path] = SettingOrigin(path, _value_text(found), where, default=not is_set)

        engine = Engine(ROOT_TYPES, bounds_of(self.settings), self.inputs.values, record)
        return Counterfactuals(self.inputs, self.settings, engine)

    def document(self, scene: Scene) -> BootDocument:
        return boot_document(scene.pool, str(self.machine.ref), scene.renderer, Places(scene.pool.profile))


def _too_large(sizes: Iterable[SizeUse], machine: MachineDeployment) -> Iterator[Problem]:
    for size in sizes:
        if size.headroom is not None and size.headroom < 0:
            yield Problem(
                Code.USER_DATA_TOO_LARGE,
                f"the {size.half} user-data is {-size.headroom} bytes too large: {size.note}",
                where=machine.manifest.line_of(""),
                about=str(machine.ref),
                fix=_SMALLER[size.half],
            )


def _value_text(found: Any) -> str:
    if isinstance(found, str):
        return found
    try:
        return json.dumps(found)
    except (TypeError, ValueError):  # an absent value, as the default of another value
        return ""


def _live_only(pool: ResolvedPool) -> Iterator[RenderedObject]:
    """The Secret that apply and refresh keep only in the worker cluster: it expires, so it is not in git."""
    ref = ObjectRef("Secret", CLOUD_INIT_NAMESPACE, pool.machine.kubelet_kubeconfig_name)
    yield RenderedObject(ref, Side.WORKER)


def _profile(machine: MachineDeployment, cluster: Loaded) -> ChosenProfile | None:
    """The profile and why it is used; ``None`` if the pool names none and has no default."""
    config = readable_provider_config(machine.provider_spec)
    try:
        namespace, name = profile_ref(machine, config, cluster.settings.namespace)
    except InputError:
        return None
    why = _annotated(machine, PROFILE_ANNOTATION) or f"the default for {config.os}, as no annotation names one"
    why_namespace = _annotated(machine, PROFILE_NAMESPACE_ANNOTATION) or "setting namespace"
    ref = ObjectRef(PROFILE, namespace, name)
    found = cluster.inputs.profiles.get((namespace, name))
    if found is None:
        left_out = cluster.inputs.left_out.get(ref, "")
        return ChosenProfile(ref, why, why_namespace, touched_by=(f"left out by {left_out}",) if left_out else ())
    return ChosenProfile(
        ref,
        why,
        why_namespace,
        where=str(found.manifest.origin),
        version=found.version,
        language=JINJA2_V1 if found.jinja else "go",
        built_in=found.built_in,
        touched_by=tuple(f"the patch at {patch.spot.where}" for patch in cluster.inputs.patched.get(ref, ())),
    )


def _annotated(machine: MachineDeployment, annotation: str) -> str:
    if not machine.annotation(annotation):
        return ""
    return f"annotation {annotation} ({machine.manifest.line_of(f'metadata.annotations.{annotation}')})"


_MADE_FROM_SECRETS: Final = SettingOrigin("***", "***", "made from secrets")


def _user_data(document: BootDocument) -> dict[str, str]:
    return {half: data.decode(errors="surrogateescape") for half, data in document.user_data.items()}


def _file(file: BootFile, secret: SecretTexts) -> RenderedFile:
    return RenderedFile(
        half=file.half,
        path=file.path,
        size=len(file.text.encode(errors="surrogateescape")),
        permissions=f"{file.permissions:04d}",
        where=file.place(1),
        text=file.text,
        secret=any(map(secret.reads, _text_names(file))),
    )


def _text_names(file: BootFile) -> tuple[str, ...]:
    """The names of a file in reports; the text of a unit also has the name of the unit."""
    unit, _, drop_in = file.path.removeprefix(f"{UNITS}/").partition(".d/")
    return (f"{file.half} {file.path}", f"{file.half} unit {unit}{f' drop-in {drop_in}' if drop_in else ''}")


def _modules(document: BootDocument) -> Iterator[str]:
    """Modules in use, such as ``bootstrap runcmd``."""
    for half, modules in document.modules.items():
        for name in ("bootcmd", "rh_subscription", "runcmd", "yum_repos", "yum_repo_dir") if modules else ():
            if getattr(modules, name):
                yield f"{half} {name}"


def _commands(document: BootDocument, utility: str) -> Iterator[tuple[str, str]]:
    """What to run on a machine that does not join, in the order of its boot."""
    paths = (posixpath.split(file.path) for file in document.texts)
    services = dict.fromkeys(name for folder, name in paths if folder == UNITS and name.endswith(".service"))
    units = " ".join(f"-u {name}" for name in services if "@" not in name)
    if utility == IGNITION:
        yield "journalctl --boot -t ignition", "whether Ignition wrote the files of the bootstrap half"
    else:
        yield "cloud-init status --long", "whether cloud-init is done, and its errors"
        yield "cat /var/log/cloud-init-output.log", "what the commands of cloud-init printed"
    if units:
        yield f"journalctl --boot --no-pager {units}", "what the units of both halves did"
    yield "systemctl --failed", "units that failed"
    yield "journalctl --boot --no-pager -u kubelet -u containerd", "whether the kubelet runs and reaches the API server"
    yield "ls -l /var/lib/kubelet/pki /etc/kubernetes/pki", "whether the kubelet has its client certificate"


def _size(document: BootDocument, machine: MachineDeployment, half: Half) -> SizeUse:
    text = document.user_data[half].decode(errors="surrogateescape")
    if half == BOOTSTRAP:
        size = bootstrap_size(text, machine.name, document.provider, document.os)
    else:
        size = provisioning_size(text)
    limit = size.limit
    return SizeUse(
        half=half,
        raw=size.raw,
        gzip=size.gzipped,
        base64=size.base64,
        counted=limit.counted.value if limit else "",
        limit=limit.size if limit else None,
        headroom=size.headroom,
        note=limit.source if limit else size.why,
    )


def _facts(pool: ResolvedPool, cluster: ClusterFacts) -> Iterator[SettingOrigin]:
    """Each fact with the object, setting or file that it comes from."""
    settings, facts = cluster.settings, cluster.facts
    yield SettingOrigin("API server", cluster.kubeconfig.server, _server(cluster))
    authority = "present" if cluster.ca_certificate.strip() else "missing"
    yield SettingOrigin("CA of the cluster", authority, _authority(cluster))
    getter = _secret(facts, GETTER_SECRET, "token")
    yield SettingOrigin("token that fetches the provisioning Secret", "present", getter)
    yield SettingOrigin("bootstrap token", *_token(pool.machine, cluster))
    if settings.registry_credentials_secret is not None:
        yield SettingOrigin("registry credentials", "", _secret(facts, settings.registry_credentials_secret))
    if settings.host_ca_bundle:
        yield SettingOrigin("CA bundle of the hosts", "", "setting host-ca-bundle")
    if pool.cloud_config:
        yield from _cloud_credentials(pool, cluster)


def _server(cluster: ClusterFacts) -> str:
    if cluster.settings.override_bootstrap_kubelet_apiserver:
        return "setting override-bootstrap-kubelet-apiserver"
    try:
        cluster_info(cluster.facts)
    except (UnreadableClusterInfo, InputError):
        return "the EndpointSlices of Service default/kubernetes"
    return _cluster_info(cluster.facts)


def _authority(cluster: ClusterFacts) -> str:
    if cluster.settings.kubernetes_ca_bundle:
        return "setting kubernetes-ca-bundle"
    if cluster.facts.certificate_authority is not None:
        return "the kubeconfig of the worker cluster"
    return _cluster_info(cluster.facts)


def _cluster_info(facts: Facts) -> str:
    found = facts.config_maps.get(CLUSTER_INFO)
    return f"{CLUSTER_INFO_NAME} ({found.origin})" if found else CLUSTER_INFO_NAME


def _secret(facts: Facts, name: tuple[str, str], key: str = "") -> str:
    found = facts.secrets.get(name)
    named = f"Secret {'/'.join(name)}{f', key {key}' if key else ''}"
    return f"{named} ({found.origin})" if found else named


def _token(machine: MachineDeployment, cluster: ClusterFacts) -> tuple[str, str]:
    """Whether the bootstrap token is there, and where it is."""
    kept = f"in Secret cloud-init-settings/{machine.kubelet_kubeconfig_name}, only in the cluster"
    account = cluster.tokens.service_account
    if account is not None:
        return "present", f"of ServiceAccount {'/'.join(account)}; {kept}"
    found = cluster.tokens.by_label.get(machine.token_key, ())
    if found:
        until = found[0].data.get("expiration", b"").decode()  # rendering has checked that it is a time
        return f"present, until {until}", f"Secret {NAMESPACE}/{found[0].name} ({found[0].origin})"
    label = f"{NAME_LABEL}={machine.token_key}"
    return "none yet", f"created on delivery, with label {label}; {kept}"


def _cloud_credentials(pool: ResolvedPool, cluster: ClusterFacts) -> Iterator[SettingOrigin]:
    if pool.provider_config.overwrite_cloud_config is not None:
        yield SettingOrigin("cloud-config", "", "overwriteCloudConfig of the MachineDeployment")
        return
    for variable in variables(pool.provider_config, pool.machine.kubelet, cluster.settings):
        named, where = variable.field.rpartition(".")[2], ""
        if variable.secret is not None:
            where = _secret(cluster.facts, variable.secret[:2], variable.secret[2])
        elif variable.config_map is not None:
            where = f"ConfigMap {'/'.join(variable.config_map[:2])}, key {variable.config_map[2]}"
        if where:
            yield SettingOrigin(f"cloud-config {named}", "", where)
    if cluster.facts.environment:
        names = ", ".join(sorted(cluster.facts.environment))
        yield SettingOrigin("cloud-config, for fields that the provider's spec omits", "", f"environment {names}")


def _setting_origins(raw: Sequence[RawSetting]) -> Iterator[SettingOrigin]:
    """Every setting in the order of the table: its value, or its default. ``raw`` has been parsed without problems."""
    given = {setting.name: setting for setting in raw}
    for setting in SETTINGS:
        found = given.get(setting.flag)
        if found is not None:
            yield SettingOrigin(setting.flag, _text(normal(found)), found.where)
        else:
            absent = "false" if setting.kind is Kind.BOOLEAN else ""
            yield SettingOrigin(setting.flag, DEFAULT_TEXTS.get(setting.flag, absent), "default", default=True)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, list | tuple) else str(value)
