"""What is installed, on a real API server: it takes it, and refuses in its name what it must refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from osm_gitops.commands.install.install_plan import INSTALLED, WRITER, ConfigRepo, InstallPlan, Jobs, Part
from osm_gitops.commands.install.manifests import manifests, user_name
from osm_gitops.model.desired import Side
from tests.apiserver.after_osm import recorded
from tests.apiserver.client import Object, Refused, path_of
from tests.apiserver.cluster import Cluster
from tests.commands.install.installing import PLAN, allow, install, until_allowed, until_refused

_SPLIT = replace(PLAN, split=True, jobs=Jobs(image="osm-gitops:1", worker_kubeconfig_secret="worker"))
_GIT = replace(
    PLAN,
    into_git=True,
    repo=ConfigRepo("https://git.example.com/nodes.git", "main", "git-token", "git-ssh", "sops-age"),
    jobs=Jobs(image="osm-gitops:1", pull_secrets=("pull",), files={"ca.pem": "CA"}, environment_secrets=("clouds",)),
)
_WATCH = replace(PLAN, jobs=Jobs(image="osm-gitops:1", watch=True))
_SHARDS = replace(_GIT, jobs=Jobs(image="osm-gitops:1", shards=4))
_PLANS = {
    "single": (PLAN, Side.MANAGEMENT),
    "git": (_GIT, Side.MANAGEMENT),
    "watch": (_WATCH, Side.MANAGEMENT),
    "shards": (_SHARDS, Side.MANAGEMENT),
} | {side.value: (_SPLIT, side) for side in Side}


def _secret(name: str, namespace: str, kind: str = "Opaque") -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "type": kind}


def _config() -> Object:
    body = next(each for each in recorded() if each["kind"] == "OperatingSystemConfig")
    return body | {"metadata": {"name": "a", "namespace": "kube-system"}}


def _changed(body: Object) -> Object:
    return body | {"spec": body["spec"] | {"osVersion": "other"}}


@pytest.mark.parametrize(("plan", "side"), _PLANS.values(), ids=_PLANS)
def test_the_server_takes_it_and_a_second_time_changes_nothing(
    management: Cluster, plan: InstallPlan, side: Side
) -> None:
    def states() -> list[tuple[str, str]]:
        return [(path_of(body), body["metadata"]["resourceVersion"]) for body in install(management, plan, side)]

    first = states()
    assert states() == first
    assert len(set(first)) == len(first)


def test_both_halves_together_are_what_one_cluster_gets_but_for_accounts_of_their_own() -> None:
    def names(plan: InstallPlan, side: Side) -> set[str]:
        return {path_of(body) for body in manifests(plan, side)}

    halves = names(_SPLIT, Side.MANAGEMENT) | names(_SPLIT, Side.WORKER)
    tokens = {f"/api/v1/namespaces/osm-gitops/secrets/{name}-token" for name in ("osm-gitops", "osm-gitops-reader")}
    assert halves - names(PLAN, Side.MANAGEMENT) == tokens


def test_parts_are_printed_on_their_own_in_the_order_of_the_whole() -> None:
    whole = [path_of(body) for body in manifests(_GIT, Side.MANAGEMENT)]
    printed = [part for part in Part if part in INSTALLED]
    parts = [path_of(body) for part in printed for body in manifests(_GIT, Side.MANAGEMENT, frozenset({part}))]
    assert parts == whole


@pytest.mark.parametrize("part", [Part.INIT, Part.UNINSTALL])
def test_rights_that_runs_do_not_need_are_printed_only_where_they_are_asked_for(part: Part) -> None:
    bodies = manifests(PLAN, Side.MANAGEMENT, frozenset({part}))
    assert {body["metadata"]["name"] for body in bodies} == {f"osm-gitops-{part.value}"}
    assert f"osm-gitops-{part.value}" not in str(manifests(PLAN, Side.MANAGEMENT))


def test_nothing_bears_the_label_by_which_runs_prune() -> None:
    for plan, side in _PLANS.values():
        assert "app.kubernetes.io/managed-by" not in str(manifests(plan, side))


def _watching(plan: InstallPlan) -> set[str]:
    """The names of roles with the right to watch."""
    bodies = manifests(plan, Side.MANAGEMENT)
    return {body["metadata"]["name"] for body in bodies for rule in body.get("rules", ()) if "watch" in rule["verbs"]}


def test_deployments_and_rights_to_watch_are_printed_only_where_they_are_asked_for() -> None:
    def runs(plan: InstallPlan) -> list[tuple[str, str]]:
        kinds = {"CronJob", "Deployment"}
        bodies = manifests(plan, Side.MANAGEMENT)
        return [(body["kind"], body["metadata"]["name"]) for body in bodies if body["kind"] in kinds]

    git = replace(_GIT, jobs=replace(_GIT.jobs or Jobs(image=""), watch=True))
    assert runs(PLAN) == [("CronJob", "osm-gitops")]
    assert runs(_WATCH) == [("Deployment", "osm-gitops")]
    assert runs(git) == [("Deployment", "osm-gitops-apply"), ("Deployment", "osm-gitops-refresh")]
    assert [_watching(plan) for plan in (PLAN, _GIT)] == [set(), set()]
    # Into git the reader applies.
    assert [_watching(plan) for plan in (_WATCH, git)] == [{"osm-gitops"}, {"osm-gitops", "osm-gitops-reader"}]


def test_a_deployment_has_one_pod_at_a_time_that_is_restarted_if_it_hangs() -> None:
    (body,) = (body for body in manifests(_WATCH, Side.MANAGEMENT) if body["kind"] == "Deployment")
    spec, pod = body["spec"], body["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (spec["replicas"], spec["strategy"]["type"], pod["restartPolicy"]) == (1, "Recreate", "Always")
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    (alive,) = (each.partition("=")[2] for each in container["args"] if each.startswith("--alive-file="))
    assert {"--watch", "--yes"} <= set(container["args"])
    assert alive in container["livenessProbe"]["exec"]["command"][-1]
    assert any(alive.startswith(f"{mount['mountPath']}/") for mount in container["volumeMounts"])


# --- what is refused ---


def test_only_those_who_apply_configurations_change_their_specs(management: Cluster) -> None:
    install(management, replace(PLAN, writers=("reader", "group:deployers")))
    allow(management, "applier", "operatingsystemconfigs", "patch", "create", group="operatingsystemmanager.k8c.io")
    body = _config()
    management.client().apply(body)
    refusal = until_refused(management.client("applier"), _changed(body), "only osm-gitops may change the spec")
    assert "403 Forbidden" in refusal
    assert "osm-gitops install --part admission --writer 'applier'" in refusal
    # Even the administrator, who can lift the policy or install with --writer.
    until_refused(management.client(), _changed(body), "only osm-gitops may change the spec")
    labelled = body | {"metadata": body["metadata"] | {"labels": {"a": "b"}}}
    until_allowed(management.client("applier"), [labelled])
    ours = management.client(management.account("osm-gitops", WRITER))
    until_allowed(ours, [_changed(body)])


@pytest.mark.parametrize("writer", ["reader", "group:auditors"])
def test_users_and_groups_that_are_named_change_configurations(management: Cluster, writer: str) -> None:
    install(management, replace(PLAN, writers=(writer,)))
    allow(management, "reader", "operatingsystemconfigs", "patch", "create", group="operatingsystemmanager.k8c.io")
    body = _config()
    management.client().apply(body)
    until_refused(management.client(), _changed(body), "only osm-gitops may change the spec")
    until_allowed(management.client("reader"), [_changed(body)])


def test_osm_can_still_replace_a_configuration_while_it_is_there(management: Cluster) -> None:
    install(management)
    body = _config()
    management.client().apply(body)
    until_refused(management.client(), _changed(body), "only osm-gitops may change the spec")
    management.client().delete(path_of(body))
    management.client().create(_changed(body))


def test_our_account_writes_bootstrap_tokens_alone_in_kube_system(worker: Cluster) -> None:
    install(worker)
    token = _secret("bootstrap-token-abcdef", "kube-system", "bootstrap.kubernetes.io/token")
    ours = worker.client(worker.account("osm-gitops", WRITER))
    until_allowed(ours, [token])
    rule = "only bootstrap tokens in kube-system"
    stranger = _secret("cloud-credentials", "kube-system")
    disguised = _secret("bootstrap-token-fedcba", "kube-system", "kubernetes.io/service-account-token")
    disguised["metadata"]["annotations"] = {"kubernetes.io/service-account.name": "default"}
    for body in (stranger, _secret("bootstrap-token-fedcba", "kube-system"), disguised):
        until_refused(ours, body, rule)
    worker.client().apply(stranger)
    with pytest.raises(Refused, match=rule):
        ours.apply(stranger | {"stringData": {"password": "x"}})
    with pytest.raises(Refused, match=rule):
        ours.delete(path_of(stranger))
    ours.apply(token)
    ours.delete(path_of(token))


def test_our_account_cannot_make_or_change_tokens_of_accounts(worker: Cluster) -> None:
    install(worker)
    ours = worker.client(worker.account("osm-gitops", WRITER))
    token = _secret("cloud-init-getter-token", "cloud-init-settings", "kubernetes.io/service-account-token")
    until_refused(ours, token, "Secrets of type Opaque elsewhere")
    until_allowed(ours, [_secret("a-kube-system-bootstrap-config", "cloud-init-settings")])


def test_a_policy_says_nothing_of_others(worker: Cluster) -> None:
    install(worker)
    ours = worker.client(worker.account("osm-gitops", WRITER))
    until_refused(ours, _secret("a", "kube-system"), "only bootstrap tokens")
    allow(worker, "applier", "secrets", "create", "patch")
    until_allowed(worker.client("applier"), [_secret("a", "kube-system")])
    assert user_name(PLAN, WRITER) == "system:serviceaccount:osm-gitops:osm-gitops"


# --- pods ---


@pytest.mark.parametrize(("plan", "side"), [_PLANS["single"], _PLANS["git"], _PLANS["management"]])
def test_pods_of_the_jobs_are_let_in_where_the_restricted_standard_is_enforced(
    management: Cluster, plan: InstallPlan, side: Side
) -> None:
    jobs = [body for body in install(management, plan, side) if body["kind"] == "CronJob"]
    assert jobs
    for job in jobs:
        template = job["spec"]["jobTemplate"]["spec"]["template"]
        metadata = {"name": job["metadata"]["name"], "namespace": "osm-gitops"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        management.client().create(pod)
        lax = {name: value for name, value in template["spec"].items() if name != "securityContext"}
        with pytest.raises(Refused, match="violates PodSecurity"):
            management.client().create(pod | {"metadata": metadata | {"name": "lax"}, "spec": lax})
