"""All that is installed, in the order in which it is applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from osm_gitops.fleet.install.accounts import READER, WRITER, lasting_token, roles, service_account
from osm_gitops.fleet.install.admission import configuration_policy, secret_policy
from osm_gitops.fleet.install.getter import getter
from osm_gitops.fleet.install.install_plan import InstallPlan, Part
from osm_gitops.fleet.install.jobs import jobs
from osm_gitops.fleet.install.rights import Right, management_reads, management_writes, worker_reads, worker_writes
from osm_gitops.fleet.install.schemas import definitions
from osm_gitops.model.desired import Side
from osm_gitops.model.objects import Json

Bodies = tuple[dict[str, Json], ...]


def manifests(plan: InstallPlan, side: Side, parts: frozenset[Part] = frozenset(Part)) -> Bodies:
    """What one of the two clusters gets; where they are one, ``side`` is the management cluster and it gets all.

    None carries the label ``app.kubernetes.io/managed-by: osm-gitops``: it marks what a run may prune.
    """
    made = _MANAGEMENT if side is Side.MANAGEMENT else _WORKER
    if not plan.split:
        made = _BOTH
    return tuple(_labelled(body) for part in Part if part in parts and part in made for body in made[part](plan))


def _labelled(body: dict[str, Json]) -> dict[str, Json]:
    metadata = body["metadata"]
    labels = {"app.kubernetes.io/part-of": "osm-gitops"} | metadata.get("labels", {})
    return body | {"metadata": metadata | {"labels": labels}}


def _home(plan: InstallPlan) -> dict[str, Json]:
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plan.home, "labels": labels}}


def _definitions(_: InstallPlan) -> Bodies:
    return definitions()


def _getter(_: InstallPlan) -> Bodies:
    return getter()


def _accounts(plan: InstallPlan, reads: tuple[Right, ...], writes: tuple[Right, ...], *, lasting: bool) -> Bodies:
    bodies = [_home(plan)]
    for account, rights in ((WRITER, (*reads, *writes)), (READER, reads)):
        bodies.append(service_account(plan, account))
        if lasting:
            bodies.append(lasting_token(plan, account))
        bodies += roles(plan, account, rights)
    return tuple(bodies)


def _management_accounts(plan: InstallPlan) -> Bodies:
    return _accounts(plan, management_reads(plan), management_writes(plan), lasting=False)


def _worker_accounts(plan: InstallPlan) -> Bodies:
    return _accounts(plan, worker_reads(plan), worker_writes(plan), lasting=True)


def _all_accounts(plan: InstallPlan) -> Bodies:
    reads = (*management_reads(plan), *worker_reads(plan))
    return _accounts(plan, reads, (*management_writes(plan), *worker_writes(plan)), lasting=False)


def _both_policies(plan: InstallPlan) -> Bodies:
    return (*configuration_policy(plan), *secret_policy(plan))


def _jobs(plan: InstallPlan) -> Bodies:
    return jobs(plan, plan.jobs) if plan.jobs is not None else ()


_MANAGEMENT: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.CRDS: _definitions,
    Part.ACCOUNTS: _management_accounts,
    Part.ADMISSION: configuration_policy,
    Part.JOBS: _jobs,
}
_WORKER: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.GETTER: _getter,
    Part.ACCOUNTS: _worker_accounts,
    Part.ADMISSION: secret_policy,
}
_BOTH: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.CRDS: _definitions,
    Part.GETTER: _getter,
    Part.ACCOUNTS: _all_accounts,
    Part.ADMISSION: _both_policies,
    Part.JOBS: _jobs,
}
