"""The user clusters of KKP seeds in a run: which there are, what may be done in each, and whether their settings are
those that Operating System Manager really has.

What is read of a seed is the state at the beginning of the run: a cluster that goes away meanwhile fails on its own.
Only the state of a Cluster is read again, before something is written for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from osm_gitops.config.fleet_file import NAME_RULE, is_cluster_name
from osm_gitops.config.kkp_settings import (
    SettingDifference,
    kkp_settings,
    setting_differences,
    settings_in_arguments,
)
from osm_gitops.config.settings import RawSetting
from osm_gitops.config.spec import ClusterSpec, Fleet, KkpEntry, LiveTarget, TargetSpec, UserCluster, WhilePaused
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import ClusterError, Code, OsmGitopsError, Problem, input_error
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, ClusterPlan
from osm_gitops.pipeline.connections import Connections, refuse_server
from osm_gitops.render.resolve.machine_spec import readable_provider_config
from osm_gitops.sources.kkp.records import WORKER_NAME_LABEL, Cluster, ClusterState
from osm_gitops.sources.trust import Trust
from osm_gitops.targets.folder import is_cluster_folder

if TYPE_CHECKING:
    from osm_gitops.sources.kkp.seed import SeedInventory

_FOLDER: Final = "What git has of it stays as it is"


@dataclass(frozen=True, slots=True)
class Discovery:
    """The user clusters of a run, in order of entries and names; ``left_out`` says why nothing is done for others, by
    name."""

    clusters: tuple[ClusterSpec, ...]
    left_out: Mapping[str, str]


def discover(
    fleet: Fleet, connections: Connections, access: ContextRef, trust: Trust, *, allow_empty: bool = True
) -> Discovery:
    """Find the user clusters of all seeds of a fleet. Each seed is read once per run.

    ``access`` is the kubeconfig and context of flags, which take precedence. A seed that cannot be read, and unless
    ``allow_empty`` one without a selected cluster, is a cluster with problems, which stops no other.
    """
    found: list[ClusterSpec] = []
    left_out: dict[str, str] = {}
    names = {spec.name for spec in fleet.clusters}
    for entry in (replace(each, seed=access.over(each.seed)) for each in fleet.kkp):
        name, template = f"seed of {entry.where}", entry.template
        seed = ClusterSpec(name, template.source, (), template.target, trust=trust, is_seed=True)
        try:
            refuse_server(seed, "kkp.seed")
            inventory = connections.inventory(entry.seed)
        except OsmGitopsError as failure:
            found.append(replace(seed, problems=tuple(each.at(about=seed.name) for each in failure.problems)))
            continue
        selected = [each for each in inventory.clusters if entry.selection.has(each)]
        specs = [replace(_broken(entry, name, problems), trust=trust) for name, problems in inventory.broken.items()]
        for cluster in selected:
            why = _why_left_out(cluster, entry)
            if why:
                left_out[entry.of(cluster).name] = why
            else:
                specs.append(replace(_spec(entry, cluster, inventory, names), trust=trust))
        names |= {spec.name for spec in specs}
        found += sorted(specs, key=lambda spec: spec.name)
        if not (selected or inventory.broken or allow_empty):
            found.append(replace(seed, problems=(_empty(entry, inventory),)))
    return Discovery(tuple(found), left_out)


def _why_left_out(cluster: Cluster, entry: KkpEntry) -> str:
    """Why nothing is done for a cluster, without it being an error; empty if something is."""
    if cluster.worker_name and WORKER_NAME_LABEL not in entry.selection.labels:
        return f"its label {WORKER_NAME_LABEL} is {cluster.worker_name}, and select.labels does not name it"
    if cluster.state is ClusterState.UNINITIALIZED:
        return "it is not ready: KKP is still creating it"
    if cluster.state is ClusterState.GONE:
        return f"it is being deleted, and its API server is not up. {_FOLDER}"
    return ""


def _spec(entry: KkpEntry, cluster: Cluster, inventory: SeedInventory, taken: Collection[str]) -> ClusterSpec:
    """The cluster of a run, with problems if nothing can be done for it. ``taken`` are names of other clusters."""
    spec = entry.of(cluster)
    try:
        return replace(spec, kkp=_user_cluster(spec.name, entry, cluster, inventory, taken))
    except OsmGitopsError as failure:
        return replace(spec, problems=tuple(each.at(about=f"cluster {spec.name}") for each in failure.problems))


def _user_cluster(
    name: str, entry: KkpEntry, cluster: Cluster, inventory: SeedInventory, taken: Collection[str]
) -> UserCluster:
    """What a run knows of a user cluster. Raises InputError if nothing can be done for it."""
    unfilled = entry.unfilled(cluster)
    if unfilled:
        what = f"the cluster has nothing that can stand for {' and '.join(unfilled)} in its name and paths"
        raise input_error(Code.INVALID_VALUE, what, where=entry.where)
    if not is_cluster_name(name):
        raise input_error(Code.INVALID_VALUE, NAME_RULE, where=entry.where)
    if name in taken:
        what, fix = "another entry of the fleet file has a cluster of this name", "Make them differ with kkp.name"
        raise input_error(Code.DUPLICATE_NAME, what, where=entry.where, fix=fix)
    if cluster.state is ClusterState.UNHEALTHY:
        what = f"its control plane is not healthy ({', '.join(cluster.unhealthy_parts())}), so it is not read"
        fix = "Look at the cluster in KKP, and run again when it is healthy"
        raise input_error(Code.KKP_CLUSTER_UNHEALTHY, what, where=cluster.where, fix=fix)
    found = inventory.datacenter(cluster.datacenter)
    if found is None:
        what = f'no Seed has the datacenter "{cluster.datacenter}" of the cluster, so its settings are not known'
        fix = "Check spec.cloud.dc of the Cluster, and spec.datacenters of the Seed"
        raise input_error(Code.KKP_DATACENTER_UNKNOWN, what, where=cluster.where, fix=fix)
    _, datacenter = found
    return UserCluster(
        seed=entry.seed,
        cluster=cluster,
        datacenter=datacenter,
        settings=kkp_settings(cluster, datacenter, inventory.configuration),
        address=entry.address,
        while_paused=entry.while_paused,
    )


def _broken(entry: KkpEntry, cluster: str, problems: tuple[Problem, ...]) -> ClusterSpec:
    """A cluster whose object has fields of another type than KKP's. It is not known whether it is selected."""
    return replace(entry.of(Cluster(id=cluster)), problems=problems)


def _empty(entry: KkpEntry, inventory: SeedInventory) -> Problem:
    what = (
        f"none of the {len(inventory.clusters)} user clusters of the seed fits select"
        if inventory.clusters
        else "the seed has no user cluster"
    )
    fix = f"{_FOLDER}. If this is right, run with --allow-empty"
    return Problem(Code.KKP_NO_CLUSTER, what, where=entry.where, about=inventory.display, fix=fix)


def folders_without_cluster(
    targets: Iterable[TargetSpec | LiveTarget | None], clusters: Collection[str]
) -> Iterator[Problem]:
    """Warnings of folders in git targets that belong to none of the ``clusters`` of the fleet: a user cluster that is
    gone leaves its folder. An empty answer of a seed may be a mistake, so runs never delete them."""
    roots = {each.path: each.display for each in targets if isinstance(each, TargetSpec)}
    for root, display in roots.items():
        folders = sorted(root.iterdir()) if root.is_dir() else []
        for folder in folders:
            if folder.name not in clusters and is_cluster_folder(folder):
                what = "it has the desired state of a cluster that is not in the fleet: its seed does not have it"
                fix = "If the cluster is gone for good, remove the folder with git rm -r. Runs leave it as it is"
                where, about = str(PurePath(display, folder.name)), f"cluster {folder.name}"
                yield Problem(Code.KKP_FOLDER_WITHOUT_CLUSTER, what, where=where, about=about, fix=fix)


def why_not_written(spec: ClusterSpec) -> str:
    """Why a run must not write for a user cluster; empty if it may."""
    if spec.kkp is None or spec.problems:
        return ""
    cluster, live = spec.kkp.cluster, isinstance(spec.target, LiveTarget)
    if cluster.state is ClusterState.DELETING and not live:
        return f"it is being deleted. {_FOLDER}"
    if cluster.state is not ClusterState.PAUSED or spec.kkp.while_paused is WhilePaused.WRITE:
        return ""
    if spec.kkp.while_paused is WhilePaused.RENEW and live:
        return ""
    reason = f" ({cluster.pause_reason})" if cluster.pause_reason else ""
    return f"it is paused in KKP{reason}. Set kkp.whilePaused to renew tokens or to write there"


def check_state(spec: ClusterSpec, connections: Connections) -> None:
    """Raise ClusterError if a user cluster was paused, deleted or broken since the run began, with one request to its
    seed: what was planned is for the state that it had."""
    if spec.kkp is None:
        return
    from osm_gitops.sources.kkp.seed import read_one_cluster  # noqa: PLC0415 - not needed without a seed

    before = spec.kkp.cluster
    cluster = read_one_cluster(connections.seed(spec.kkp.seed), before.id)
    now = ClusterState.GONE if cluster is None else cluster.state
    if now in {before.state, ClusterState.READY}:
        return
    if now is ClusterState.PAUSED and spec.kkp.while_paused is WhilePaused.WRITE:
        return
    why = cluster.pause_reason if cluster is not None and now is ClusterState.PAUSED else ""
    what = f"it was {before.state.value} when the run began, and is {now.value} now{f' ({why})' if why else ''}"
    fix = "Nothing more was written for it. Run again: the next run does what its state permits"
    raise ClusterError(
        [Problem(Code.KKP_STATE_CHANGED, what, where=before.where, about=f"cluster {spec.name}", fix=fix)]
    )


def only_renews(spec: ClusterSpec) -> bool:
    """Whether a run writes only tokens and kubeconfigs."""
    if spec.kkp is None or spec.kkp.cluster.state is not ClusterState.PAUSED:
        return False
    return spec.kkp.while_paused is not WhilePaused.WRITE


def state_warnings(spec: ClusterSpec) -> Iterator[Problem]:
    """What a plan says about the state of a user cluster."""
    if spec.kkp is None:
        return
    cluster, about = spec.kkp.cluster, f"cluster {spec.name}"
    if cluster.state is ClusterState.DELETING:
        what = "it is being deleted in KKP: a run only cleans up MachineDeployments that are being deleted"
        yield Problem(Code.KKP_CLUSTER_DELETED, what, where=cluster.where, about=about)
    if cluster.state is ClusterState.PAUSED and spec.kkp.while_paused is not WhilePaused.WRITE:
        renews = spec.kkp.while_paused is WhilePaused.RENEW
        what = f"it is paused in KKP: a run {'only renews tokens' if renews else 'writes nothing'}"
        fix = "Set kkp.whilePaused to write if runs should write there nevertheless"
        yield Problem(Code.KKP_CLUSTER_PAUSED, what, where=cluster.where, about=about, fix=fix)


def permitted(spec: ClusterSpec, plan: ClusterPlan, leaving: Collection[ObjectRef]) -> ClusterPlan:
    """The part of a plan that the state of a user cluster permits. ``leaving`` are the pools that are being deleted.

    In a cluster that is being deleted nothing is created, not even a token: KKP waits until all MachineDeployments are
    gone, so only their objects and finalizers are removed.
    """
    if spec.kkp is None or spec.kkp.cluster.state is not ClusterState.DELETING:
        return plan
    changes = tuple(
        change
        for change in plan.changes
        if change.pool in leaving and (change.action is Action.DELETE or change.ref == change.pool)
    )
    return replace(plan, changes=changes, refusals=())


def with_default_profile(machine: MachineDeployment, spec: ClusterSpec) -> MachineDeployment:
    """A MachineDeployment with the default profile that the datacenter has for its operating system."""
    if spec.kkp is None or not spec.kkp.datacenter.profiles:
        return machine
    system = readable_provider_config(machine.provider_spec).os
    return replace(machine, default_profile=spec.kkp.datacenter.profiles.get(system, ""))


def settings_problems(
    spec: ClusterSpec, connections: Connections, given: Sequence[RawSetting] = ()
) -> tuple[Problem, ...]:
    """The settings that Operating System Manager has in a user cluster with other values than were computed from KKP's
    objects: then this program or an admin of the seed is wrong. None without its Deployment. Raises OsmGitopsError.

    Those that are ``given`` with its values, in the fleet file or by flags, are left out.
    """
    if spec.kkp is None:
        return ()
    from osm_gitops.sources.osm_deployment import Pod, flags_of  # noqa: PLC0415 - not needed for runs from trees to git

    seed, osm = connections.seed(spec.kkp.seed), connections.osm_of(spec.kkp)
    if osm is None:
        return ()
    words = flags_of(Pod(seed, osm.namespace, osm.pod, osm.container))
    actual = settings_in_arguments([word.value for word in words])
    in_force = {each.name: each for each in (*spec.kkp.settings, *given)}
    unsettled = {each.flag for each in setting_differences(tuple(in_force.values()), actual)}
    return tuple(
        Problem(Code.KKP_SETTING_DIFFERS, _difference(each), where=seed.display, about=str(osm), fix=_SET_IT)
        for each in setting_differences(spec.kkp.settings, actual)
        if each.flag in unsettled
    )


_SET_IT: Final = "If the Deployment is right, set it in the settings of the fleet file"


def _difference(found: SettingDifference) -> str:
    flag = f"no -{found.flag}" if found.actual is None else f'-{found.flag} "{found.actual}"'
    if found.computed is None:
        return f"Operating System Manager has {flag}, and KKP's objects give it none"
    return f'Operating System Manager has {flag}, and KKP\'s objects give it "{found.computed}" ({found.where})'
