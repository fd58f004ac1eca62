"""All that is installed, in the order in which it is applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from osm_gitops.commands.install.accounts import (
    INITIALIZER,
    READER,
    UNINSTALLER,
    WRITER,
    lasting_token,
    roles,
    service_account,
)
from osm_gitops.commands.install.admission import configuration_policy, secret_policy
from osm_gitops.commands.install.getter import getter
from osm_gitops.commands.install.install_plan import INSTALLED, InstallPlan, Part
from osm_gitops.commands.install.jobs import jobs
from osm_gitops.commands.install.present import PART_OF, PROGRAM
from osm_gitops.commands.install.rights import (
    Right,
    management_inits,
    management_reads,
    management_refreshes,
    management_status,
    management_uninstalls,
    management_writes,
    worker_reads,
    worker_refreshes,
    worker_status,
    worker_uninstalls,
    worker_writes,
)
from osm_gitops.commands.install.schemas import definitions
from osm_gitops.model.desired import Side
from osm_gitops.model.objects import Json

Bodies = tuple[dict[str, Json], ...]
Rights = tuple[Right, ...]


def manifests(plan: InstallPlan, side: Side, parts: frozenset[Part] = INSTALLED) -> Bodies:
    """What one of the two clusters gets; where they are one, ``side`` is the management cluster and it gets all.

    None carries the label ``app.kubernetes.io/managed-by: osm-gitops``: it marks what a run may prune.
    """
    made = _MANAGEMENT if side is Side.MANAGEMENT else _WORKER
    if not plan.split:
        made = _BOTH
    return tuple(_labelled(body) for part in Part if part in parts and part in made for body in made[part](plan))


def _labelled(body: dict[str, Json]) -> dict[str, Json]:
    metadata = body["metadata"]
    labels = {PART_OF: PROGRAM} | metadata.get("labels", {})
    return body | {"metadata": metadata | {"labels": labels}}


def _home(plan: InstallPlan) -> dict[str, Json]:
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plan.home, "labels": labels}}


def _definitions(_: InstallPlan) -> Bodies:
    return definitions()


def _getter(_: InstallPlan) -> Bodies:
    return getter()


def _management_accounts(plan: InstallPlan) -> Bodies:
    return _accounts(plan, _writer_here(plan), _reader_here(plan))


def _worker_accounts(plan: InstallPlan) -> Bodies:
    return _accounts(plan, _writer_there(plan), _reader_there(plan), lasting=True)


def _all_accounts(plan: InstallPlan) -> Bodies:
    writer = (*_writer_here(plan), *_writer_there(plan))
    return _accounts(plan, writer, (*_reader_here(plan), *_reader_there(plan)))


def _accounts(plan: InstallPlan, writer: Rights, reader: Rights, *, lasting: bool = False) -> Bodies:
    """``lasting``: with tokens for kubeconfigs that are used elsewhere."""
    bodies = [_home(plan)]
    for account, rights in ((WRITER, writer), (READER, reader)):
        bodies.append(service_account(plan.home, account))
        if lasting:
            bodies.append(lasting_token(plan.home, account))
        bodies += roles(plan, account, rights)
    return tuple(bodies)


def _init(plan: InstallPlan) -> Bodies:
    return roles(plan, READER, management_inits(plan), INITIALIZER)


def _management_uninstall(plan: InstallPlan) -> Bodies:
    return roles(plan, WRITER, management_uninstalls(plan), UNINSTALLER)


def _worker_uninstall(plan: InstallPlan) -> Bodies:
    return roles(plan, WRITER, worker_uninstalls(plan), UNINSTALLER)


def _whole_uninstall(plan: InstallPlan) -> Bodies:
    return roles(plan, WRITER, (*management_uninstalls(plan), *worker_uninstalls(plan)), UNINSTALLER)


def _writer_here(plan: InstallPlan) -> Rights:
    if plan.into_git:
        return management_refreshes(plan)
    return (*management_reads(plan), *management_writes(plan))


def _writer_there(plan: InstallPlan) -> Rights:
    return worker_refreshes(plan) if plan.into_git else (*worker_reads(plan), *worker_writes(plan))


def _reader_here(plan: InstallPlan) -> Rights:
    return (*management_reads(plan), *management_status(plan))


def _reader_there(plan: InstallPlan) -> Rights:
    return (*worker_reads(plan), *worker_status(plan))


def _both_policies(plan: InstallPlan) -> Bodies:
    return (*configuration_policy(plan), *secret_policy(plan))


def _jobs(plan: InstallPlan) -> Bodies:
    return jobs(plan, plan.jobs) if plan.jobs is not None else ()


_MANAGEMENT: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.CRDS: _definitions,
    Part.ACCOUNTS: _management_accounts,
    Part.ADMISSION: configuration_policy,
    Part.JOBS: _jobs,
    Part.INIT: _init,
    Part.UNINSTALL: _management_uninstall,
}
_WORKER: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.GETTER: _getter,
    Part.ACCOUNTS: _worker_accounts,
    Part.ADMISSION: secret_policy,
    Part.UNINSTALL: _worker_uninstall,
}
_BOTH: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.CRDS: _definitions,
    Part.GETTER: _getter,
    Part.ACCOUNTS: _all_accounts,
    Part.ADMISSION: _both_policies,
    Part.JOBS: _jobs,
    Part.INIT: _init,
    Part.UNINSTALL: _whole_uninstall,
}
