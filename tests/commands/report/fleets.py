"""Made-up reports on fleets of any size."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from osm_gitops.commands.report.fleet import ClusterReport, FleetReport, LiveFacts, PoolReport, Revision, Token
from osm_gitops.errors import Code, Problem
from osm_gitops.git.commits import Commit
from osm_gitops.model.plan import Action, Plan
from osm_gitops.model.pool_facts import HalfSize, PoolFacts
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.report.outline import Detail, outline
from tests.plan.objects import current, desired

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_PROVISIONING: Final = "Kubernetes: the data of a Secret has at most 1 MiB"
_SYSTEMS: Final = (
    ("ubuntu", "aws", 16 << 10, "gzip", "Amazon EC2: user data is limited to 16 KB, before it is base64-encoded"),
    ("flatcar", "openstack", 65_535, "base64", "OpenStack Nova: user data has at most 65535 bytes in base64"),
    ("rockylinux", "hetzner", 32 << 10, "raw", "Hetzner Cloud API: user_data is limited to 32 KiB"),
    ("ubuntu", "vsphere", None, "raw", "machine-controller puts it on an ISO image, which has no limit that counts"),
)


def fleet(clusters: int, pools: int, *, live: bool = False, revisions: int = 1) -> FleetReport:
    """A fleet with every state of pools, sizes of all kinds, and changes."""
    return FleetReport(
        clusters=tuple(_cluster(number, pools, live=live) for number in range(clusters)),
        problems=(),
        revisions=tuple(revision(f"Change {number} of the profiles") for number in range(revisions)),
        no_history="",
        now=NOW,
        version="1.2.3",
    )


def _cluster(number: int, pools: int, *, live: bool) -> ClusterReport:
    refused = Problem(Code.INVALID_VALUE, "more than half of its pools would be deleted")
    return ClusterReport(
        name=f"prod-{number:03d}",
        pools=tuple(_pool(number * pools + each, live=live) for each in range(pools)),
        sources=(f"pools/prod-{number:03d}@0123456789abcdef0123456789abcdef01234567",),
        hosts=("https://api.example.com:6443",) if live else (),
        others={Action.UPDATE: 1} if number % 7 == 1 else {},
        problems=(refused,) if number % 250 == 3 else (),
        last_run="2026-01-02T03:00:00Z, succeeded" if live else "",
    )


def _pool(number: int, *, live: bool) -> PoolReport:
    system, provider, limit, counted, note = _SYSTEMS[number % len(_SYSTEMS)]
    size = 5_000 + number * 7_919 % 10_500
    sizes = (
        HalfSize("bootstrap", size, counted, limit, note),
        HalfSize("provisioning", 31_000, "raw", 1 << 20, _PROVISIONING),
    )
    facts = PoolFacts(
        os=system,
        provider=provider,
        kubelet=("1.34.2", "1.33.9", "1.34.10")[number % 3],
        profile=f"kube-system/osp-{system}",
        profile_version=("v1.7.0", "v1.8.0")[number % 5 == 0],
        sizes=sizes,
    )
    pool = PoolReport(
        namespace="kube-system", name=f"workers-{number:05d}", facts=facts, live=_live(number) if live else None
    )
    if number % 11 == 4:
        pool = replace(pool, changes={Action.UPDATE: 3}, reasons=("changed: bootstrap /opt/bin/setup",))
    if number % 97 == 5:
        problem = Problem(
            Code.INVALID_VALUE, f"no profile osp-{number}", about=f"MachineDeployment kube-system/{pool.name}"
        )
        pool = replace(pool, facts=replace(facts, profile_version="", sizes=()), problems=(problem,))
    if number % 53 == 6:
        pool = replace(pool, left="it is paused (paused)")
    return pool


def _live(number: int) -> LiveFacts:
    expires = NOW + timedelta(minutes=number * 37 % 2_000 - 20)
    return LiveFacts(number % 9, int(number % 101 == 0), Token(expires, "") if number % 41 else Token(None, "missing"))


def revision(subject: str, script: str = "new\n", before: str = "old\n", **commit: str) -> Revision:
    """A commit that changed a script of a pool."""
    plan = make_cluster_plan(desired({"workers": script}), current(desired({"workers": before})), PlanOptions())
    known = {"identity": "0123456789abcdef", "date": "2026-01-01", "author": "An Operator", **commit}
    return Revision(
        commit=Commit(subject=subject, **known),
        clusters=("prod-000", "prod-001"),
        rendered=1,
        content=outline(Plan((plan,)), Detail(command="report")),
    )
