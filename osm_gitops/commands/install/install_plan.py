"""The input of the manifests: what to install for a cluster, from options, settings and MachineDeployments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from osm_gitops.errors import InputError

if TYPE_CHECKING:
    from osm_gitops.config.settings import RawSetting
    from osm_gitops.config.spec import ClusterSpec
    from osm_gitops.model.machine import MachineDeployment
    from osm_gitops.model.settings import Settings
    from osm_gitops.render.resolve.named_facts import NamedFacts

DEFAULT_HOME = "osm-gitops"
DEFAULT_SCHEDULE = "*/10 * * * *"
DEFAULT_AUTHOR = ("osm-gitops", "osm-gitops@localhost")


class Part(Enum):
    """Parts that can be printed alone, in the order in which they are applied."""

    CRDS = "crds"
    GETTER = "getter"
    ACCOUNTS = "accounts"
    ADMISSION = "admission"
    JOBS = "jobs"
    INIT = "init"
    UNINSTALL = "uninstall"
    SWITCH = "switch"
    PROFILES = "profiles"


WRITER: Final = "osm-gitops"
TOKEN_SUFFIX: Final = "-token"  # noqa: S105 - ends the names of Secrets
READER: Final = "osm-gitops-reader"
UNINSTALLER: Final = "osm-gitops-uninstall"
"""Name of the roles for uninstall, bound to the writer."""
INITIALIZER: Final = "osm-gitops-init"
"""Name of the roles for init --from cluster, bound to the reader."""
SWITCHER: Final = "osm-gitops-switch"
"""Name of the roles for kkp switch-off and switch-on, bound to the writer."""
PROFILE_WRITER: Final = "osm-gitops-profiles"
"""Name of the roles for kkp apply-profiles, bound to the writer."""
FILES: Final = "/etc/osm-gitops/files"
"""Folder in the containers of jobs with the files that settings name."""

INSTALLED: Final = frozenset(Part) - {Part.INIT, Part.UNINSTALL, Part.SWITCH, Part.PROFILES}
"""The parts that runs need. Rights for ``init --from cluster``, ``uninstall`` and ``kkp`` are printed on request."""


@dataclass(frozen=True, slots=True)
class ConfigRepo:
    """The config repo of the runs: ``ref`` may be empty. The Secrets are in the namespace of the jobs: ``token_secret``
    and ``forge_secret`` have the key ``token``, ``age_secret`` the key ``age.agekey``; ``ssh_secret`` has the keys
    ``identity`` and ``known_hosts``, as in Flux. ``author`` is the name and the mail address for commits."""

    url: str
    ref: str = ""
    token_secret: str = ""
    forge_secret: str = ""
    ssh_secret: str = ""
    age_secret: str = ""
    author: tuple[str, str] = DEFAULT_AUTHOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Options of the runs. ``arguments`` are passed to all commands; ``files`` are the texts of the files below
    ``FILES`` that arguments name; ``environment_secrets`` become environment variables; ``notify_secret`` has the
    address of a webhook under the key ``url``. ``watch``: Deployments of runs
    that go on, instead of CronJobs. ``shards`` is the number of pods that share the clusters of a run."""

    image: str
    schedule: str = DEFAULT_SCHEDULE
    pull_secrets: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    environment_secrets: tuple[str, ...] = ()
    notify_secret: str = ""
    worker_kubeconfig_secret: str = ""
    watch: bool = False
    shards: int = 1


def _nothing_named() -> NamedFacts:
    from osm_gitops.model.settings import Settings  # noqa: PLC0415 - slow
    from osm_gitops.render.resolve.named_facts import named_facts  # noqa: PLC0415 - slow

    return named_facts((), Settings())


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """Everything that the manifests depend on.

    ``namespace`` holds configurations; ``profile_namespaces``, which include it, hold the profiles of
    MachineDeployments; ``home`` holds the accounts and jobs of osm-gitops. ``split``: the worker cluster is not the
    management cluster. ``named``: objects that settings and MachineDeployments name; ``more``: further Secrets, by
    namespace and name. ``writers``: users, and groups with the prefix ``group:``, that may also change configurations.
    ``repo``: the config repo of the runs; ``into_git``: they commit to it, and another tool applies it to the clusters.
    ``default_profiles``: pools may use built-in profiles, which runs then write. ``applies_machines``: runs apply the
    MachineDeployments of the repo. ``on_seed``: the runs work on a KKP seed, in its user clusters.
    """

    namespace: str = "kube-system"
    profile_namespaces: tuple[str, ...] = ("kube-system",)
    home: str = DEFAULT_HOME
    split: bool = False
    named: NamedFacts = field(default_factory=_nothing_named)
    more: tuple[tuple[str, str], ...] = ()
    writers: tuple[str, ...] = ()
    repo: ConfigRepo | None = None
    into_git: bool = False
    default_profiles: bool = True
    applies_machines: bool = False
    on_seed: bool = False
    jobs: Jobs | None = None

    @property
    def watches(self) -> bool:
        """Whether the runs watch clusters."""
        return self.jobs is not None and self.jobs.watch


_BUNDLES: Final[Mapping[str, str]] = {
    "kubernetes-ca-bundle": "kubernetes_ca_bundle",
    "host-ca-bundle": "host_ca_bundle",
}


def machines_of(spec: ClusterSpec, environment: Mapping[str, str]) -> Sequence[MachineDeployment]:
    """Read only the MachineDeployments of a cluster's source. Raises InputError and ClusterError."""
    from osm_gitops.config.spec import LiveRef, SourceSpec  # noqa: PLC0415 - slow
    from osm_gitops.kube.api import connect  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.load import load_inputs, load_settings  # noqa: PLC0415 - slow
    from osm_gitops.sops.keys import KeySearch  # noqa: PLC0415 - slow
    from osm_gitops.sources.cluster import read_machines  # noqa: PLC0415 - slow

    machines = spec.source.machines
    if isinstance(machines, LiveRef):
        return read_machines(connect(spec.worker, environment)).machines
    alone = replace(spec, source=SourceSpec(machines, machines, machines), overlays=())
    inputs = load_inputs(alone, load_settings(spec), environment, KeySearch(environment, without_keys=True))
    if inputs.unreadable:  # an unreadable file may name further Secrets
        raise InputError(inputs.unreadable)
    return inputs.machines


def for_cluster(plan: InstallPlan, spec: ClusterSpec, machines: Sequence[MachineDeployment]) -> InstallPlan:
    """Complete ``plan`` from the settings and MachineDeployments of a cluster. Raises InputError."""
    from osm_gitops.config.spec import LiveTarget  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.load import load_settings  # noqa: PLC0415 - slow
    from osm_gitops.render.resolve.named_facts import named_facts, named_profiles  # noqa: PLC0415 - slow

    settings = load_settings(spec)
    profiles = named_profiles(machines, settings.namespace)
    completed = replace(
        plan,
        namespace=settings.namespace,
        profile_namespaces=tuple(sorted({settings.namespace, *(namespace for namespace, _ in profiles)})),
        split=plan.split or spec.worker != spec.management,
        named=named_facts(machines, settings),
        default_profiles=not settings.disable_default_osps,
        applies_machines=spec.source.applies_machines,
        into_git=plan.into_git and not isinstance(spec.target, LiveTarget),
    )
    if completed.jobs is None or completed.repo is not None:  # the fleet file of the repo has the settings
        return completed
    # The image has the built-in overlays only.
    overlays = (f"--overlay={overlay.display}" for overlay in spec.overlays if overlay.built_in)
    jobs = replace(completed.jobs, arguments=(*completed.jobs.arguments, *overlays))
    return replace(completed, jobs=_with_settings(jobs, spec.settings, settings))


def _with_settings(jobs: Jobs, given: Sequence[RawSetting], settings: Settings) -> Jobs:
    from osm_gitops.config.settings import arguments  # noqa: PLC0415 - slow

    files = {f"{flag}.pem": getattr(settings, attribute) for flag, attribute in _BUNDLES.items()}
    ordered = sorted(given, key=lambda setting: setting.name)
    return replace(
        jobs,
        arguments=(*jobs.arguments, *arguments(ordered, FILES)),
        files={name: text for name, text in files.items() if text},
    )


PART_OF: Final = "app.kubernetes.io/part-of"
PROGRAM: Final = "osm-gitops"
