"""What a live plan has beside the desired objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, ClusterPlan
from osm_gitops.targets.cluster.target import Maintenance
from osm_gitops.targets.cluster.tokens import Tokens
from tests.apiserver.cluster import Cluster
from tests.targets.cluster.scene import api_of
from tests.targets.cluster.test_tokens import machine, setup


@pytest.fixture
def tokens(worker: Cluster, tmp_path: Path) -> Tokens:
    """Those of a pool that is not known."""
    worker.namespace("cloud-init-settings")
    api = api_of(worker, tmp_path)
    Tokens.read(api, [machine("gone")], setup()).bring(machine("gone").ref)
    return Tokens.read(api, [], setup())


def _deleted(tokens: Tokens, plan: ClusterPlan, *, only: tuple[str, ...] = (), complete: bool = True) -> int:
    upkeep = Maintenance(machines=(), pools={}, tokens=tokens, only=only, complete=complete)
    return sum(change.action is Action.DELETE for change in upkeep.added_to(plan).changes)


def test_tokens_go_only_where_it_is_known_that_their_pool_is_gone(tokens: Tokens) -> None:
    plan = ClusterPlan("prod", ())
    assert _deleted(tokens, plan) == 2
    assert _deleted(tokens, plan, complete=False) == 0
    assert _deleted(tokens, plan, only=("*",)) == 0
    broken = ObjectRef("MachineDeployment", "kube-system", "gone")
    assert _deleted(tokens, ClusterPlan("prod", (), failed={broken: ()})) == 0


def test_tokens_of_a_source_without_pools_go_only_when_asked_for(tokens: Tokens) -> None:
    def refusals(*, allow_empty: bool = False) -> list[str]:
        upkeep = Maintenance(machines=(), pools={}, tokens=tokens, allow_empty=allow_empty)
        return [problem.fix for problem in upkeep.added_to(ClusterPlan("prod", ())).refusals]

    assert refusals() == ["If this is intended, use --allow-empty"]
    assert refusals(allow_empty=True) == []
