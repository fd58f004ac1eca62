"""Profiles that print the kubeconfig itself, and the tokens that they are rendered with."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from osm_gitops.context_ref import ContextRef
from osm_gitops.kube.api import connect
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.rendering import render_cluster
from osm_gitops.render.pools import printing_pools
from osm_gitops.render.resolve.cluster_info import base_kubeconfig
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder
from osm_gitops.targets.cluster.tokens import Tokens, TokenSetup
from tests.apiserver.cluster import Cluster
from tests.cli.scenes import pool, profile, write_tree

_NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    prints = profile("osp-prints", "#!/bin/sh\necho '{{ .BootstrapKubeconfig }}'\n")
    pools = (pool("prints", "osp-prints"), pool("names"))
    tree = write_tree(tmp_path / "tree", prints, profile(), *pools)
    return read_tree(Folder(tree, "tree"), management_namespace="kube-system", environment={})


def _tokens(worker: Cluster, tmp_path: Path, inputs: Inputs, now: datetime = _NOW) -> Tokens:
    api = connect(ContextRef(str(worker.kubeconfig(tmp_path / "config"))), {})
    kubeconfig = base_kubeconfig(Settings(), inputs.facts)
    life, interval = timedelta(hours=24), timedelta(minutes=30)
    wanted = TokenSetup(life=life, interval=interval, now=now, service_account=None, kubeconfig=kubeconfig)
    return Tokens.read(api, inputs.machines, wanted)


def _printed(inputs: Inputs, tokens: Tokens, *, make: bool) -> tuple[str, frozenset[str]]:
    """The token that is rendered, and what reports mask."""
    machines = tuple(printing_pools(inputs.machines, inputs.profiles, Settings(), ()))
    if make:
        tokens.make(machines)
    assert tokens.lack_any(machines) is not make
    desired = render_cluster("a", replace(inputs, facts=tokens.added_to(inputs.facts, machines)), Settings()).desired
    assert not desired.failed
    body = next(each.body for each in desired.objects if each.ref.name == "prints-kube-system-bootstrap-config")
    text = b64decode(body["data"]["cloud-config"]).decode()
    (script,) = (b64decode(line).decode() for line in re.findall(r"^    (\S{100,})$", text, re.MULTILINE))
    found = re.search(r"token: (\S+)", script)
    assert found
    return found[1], desired.sensitive


def test_a_plan_takes_a_stand_in_that_is_masked_and_the_same_in_every_run(
    worker: Cluster, tmp_path: Path, inputs: Inputs
) -> None:
    worker.namespace("cloud-init-settings")
    printed = [_printed(inputs, _tokens(worker, tmp_path, inputs), make=False) for _ in "ab"]
    assert printed[0] == printed[1]
    token, sensitive = printed[0]
    assert token in sensitive
    assert len(worker.client().get("/api/v1/namespaces/kube-system/secrets")["items"]) == 0


def test_apply_makes_the_token_of_such_a_pool_alone_and_keeps_it(
    worker: Cluster, tmp_path: Path, inputs: Inputs
) -> None:
    worker.namespace("cloud-init-settings")
    made = _printed(inputs, _tokens(worker, tmp_path, inputs), make=True)
    (secret,) = worker.client().get("/api/v1/namespaces/kube-system/secrets")["items"]
    assert b64decode(secret["data"]["token-secret"]).decode() in made[0]
    late = _tokens(worker, tmp_path, inputs, _NOW + timedelta(hours=20))
    assert _printed(inputs, late, make=True) == made


def test_where_no_profile_prints_it_no_token_is_needed(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "other", profile(), pool())
    other = read_tree(Folder(tree, "tree"), management_namespace="kube-system", environment={})
    assert tuple(printing_pools(other.machines, other.profiles, Settings(), ())) == ()


def test_a_narrowed_run_makes_no_tokens_for_others(worker: Cluster, tmp_path: Path, inputs: Inputs) -> None:
    worker.namespace("cloud-init-settings")
    _tokens(worker, tmp_path, inputs).make(printing_pools(inputs.machines, inputs.profiles, Settings(), ("names",)))
    assert worker.client().get("/api/v1/namespaces/kube-system/secrets")["items"] == []
