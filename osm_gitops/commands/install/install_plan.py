"""What is to be installed: the decisions, from which all manifests follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.named_facts import NamedFacts, named_facts

DEFAULT_HOME = "osm-gitops"
DEFAULT_SCHEDULE = "*/10 * * * *"
DEFAULT_AUTHOR = ("osm-gitops", "osm-gitops@localhost")


class Part(Enum):
    """What can be printed on its own; in the order in which it is applied."""

    CRDS = "crds"
    GETTER = "getter"
    ACCOUNTS = "accounts"
    ADMISSION = "admission"
    JOBS = "jobs"
    INIT = "init"
    UNINSTALL = "uninstall"


INSTALLED: Final = frozenset(Part) - {Part.INIT, Part.UNINSTALL}
"""What runs need. The rights of ``init --from cluster`` and ``uninstall`` are printed only where they are asked for."""


@dataclass(frozen=True, slots=True)
class ConfigRepo:
    """A config repo that runs are made from: ``ref`` may be empty. The Secrets lie in the namespace of the jobs:
    ``token_secret`` has the key ``token``, ``age_secret`` the key ``age.agekey``; ``ssh_secret`` is as Flux has it,
    with ``identity`` and ``known_hosts``. ``author`` is name and mail of the commits."""

    url: str
    ref: str = ""
    token_secret: str = ""
    ssh_secret: str = ""
    age_secret: str = ""
    author: tuple[str, str] = DEFAULT_AUTHOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """How runs are made. ``arguments`` are passed on to all of them; ``files`` are texts by name that arguments may
    name below ``FILES``; ``environment_secrets`` become environment variables."""

    image: str
    schedule: str = DEFAULT_SCHEDULE
    pull_secrets: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    environment_secrets: tuple[str, ...] = ()
    worker_kubeconfig_secret: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """Everything that the manifests depend on.

    ``namespace`` is that of configurations, ``profile_namespaces`` are those in which MachineDeployments look for their
    profiles, that one among them; ``home`` is that of our own accounts and jobs. ``split``: the worker cluster is
    another one than the management cluster. ``named`` is what settings and MachineDeployments name, ``more`` are
    Secrets besides, by namespace and name. ``writers`` are users, and ``group:`` names groups, that may change
    configurations besides our own account. With a ``repo`` runs start from it; ``into_git``: they commit to it, and
    others bring that to the clusters. ``default_profiles``: pools may use built-in profiles, which runs then write.
    ``applies_machines``: runs apply the MachineDeployments of the repo.
    """

    namespace: str = "kube-system"
    profile_namespaces: tuple[str, ...] = ("kube-system",)
    home: str = DEFAULT_HOME
    split: bool = False
    named: NamedFacts = field(default_factory=lambda: named_facts((), Settings()))
    more: tuple[tuple[str, str], ...] = ()
    writers: tuple[str, ...] = ()
    repo: ConfigRepo | None = None
    into_git: bool = False
    default_profiles: bool = True
    applies_machines: bool = False
    jobs: Jobs | None = None
