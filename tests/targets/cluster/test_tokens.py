"""Tokens and kubeconfigs of kubelets in a real cluster (osm-behaviour.md, "Bootstrap token" and "Kubelet kubeconfig
Secret")."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import ClusterError, Code, InputError
from osm_gitops.kube.api import Api, connect
from osm_gitops.model.inputs import Facts
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Manifest, ObjectRef, Origin
from osm_gitops.model.plan import Change
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.bootstrap_token import token_index
from osm_gitops.render.resolve.cluster_info import BaseKubeconfig
from osm_gitops.sources.machines import read_machine
from osm_gitops.targets.cluster.tokens import Tokens, TokenSetup
from tests.apiserver.client import Client, Object, Refused, path_of
from tests.apiserver.cluster import Cluster
from tests.apiserver.rights import allow, rule
from tests.cli.scenes import pool, secret
from tests.faults import Expected, refused
from tests.targets.cluster.scene import Counting, EndedError

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
_KUBECONFIG = BaseKubeconfig("https://api.example.com:6443", "apiVersion: v1\nserver: https://api.example.com:6443\n")
_KUBELET = "/api/v1/namespaces/cloud-init-settings/secrets/{}-kubelet-bootstrap-config"
_SECRET = "cloud-init-settings/kube-system-workers-kubelet-bootstrap-config"
_TOKENS = "/api/v1/namespaces/kube-system/secrets?labelSelector=machinedeployment.k8s.io/name"


@pytest.fixture
def api(worker: Cluster, tmp_path: Path) -> Api:
    worker.namespace("cloud-init-settings")
    return connect(ContextRef(str(worker.kubeconfig(tmp_path / "config"))), {})


def machine(name: str = "workers", namespace: str = "kube-system", *, deleting: bool = False) -> MachineDeployment:
    body = pool(name, namespace=namespace)
    if deleting:
        body["metadata"]["deletionTimestamp"] = "2030-01-31T11:00:00Z"
    manifest = Manifest(ObjectRef("MachineDeployment", namespace, name), body, Origin("a.yaml", 1), {})
    read = read_machine(manifest).value
    assert read is not None
    return read


def setup(now: datetime = NOW, kubeconfig: BaseKubeconfig = _KUBECONFIG, account: str = "") -> TokenSetup:
    namespace, _, name = account.partition("/")
    return TokenSetup(
        life=timedelta(hours=24),
        interval=timedelta(minutes=30),
        now=now,
        service_account=(namespace, name) if account else None,
        kubeconfig=kubeconfig,
    )


def run(api: Api, wanted: TokenSetup, *machines: MachineDeployment) -> list[str]:
    """One run; what it did."""
    given = machines or (machine(),)
    tokens = Tokens.read(api, given, wanted)
    done = [change for each in given for change in tokens.changes(each)]
    requests = api.requests
    for each in given:
        tokens.bring(each.ref)
    assert done or api.requests == requests
    return list(map(_told, done))


def _told(change: Change) -> str:
    assert (change.before, change.after, change.upkeep) == (None, None, True)
    return f"{change.action.value} {change.ref.namespace}/{change.ref.name}: {change.reason}"


def data_of(body: Object) -> dict[str, str]:
    return {key: b64decode(value).decode() for key, value in body["data"].items()}


def tokens_in(worker: Cluster) -> list[Object]:
    found = worker.client().get(_TOKENS)["items"]
    return [{"apiVersion": "v1", "kind": "Secret", **each} for each in found]


def kubelet_in(worker: Cluster, key: str = "kube-system-workers") -> Object:
    return worker.client().get(_KUBELET.format(key))


def osm_token(end: str, key: str = "kube-system-workers", token_id: str = "bcdfgh", **data: str) -> Object:
    """A token as Operating System Manager makes it."""
    body = {
        "description": f"bootstrap token for {key}",
        "token-id": token_id,
        "token-secret": "bcdfghjklmnpqrst",
        "expiration": end,
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": "system:bootstrappers:machine-controller:default-node-token",
    }
    labels = {"machinedeployment.k8s.io/name": key}
    given = body | {name.replace("_", "-"): value for name, value in data.items()}
    kind = "bootstrap.kubernetes.io/token"
    return secret(f"bootstrap-token-{token_id}", "kube-system", given, metadata={"labels": labels}, type=kind)


def osm_kubeconfig(token: str = "bcdfgh.bcdfghjklmnpqrst", key: str = "kube-system-workers") -> Object:
    return secret(
        f"{key}-kubelet-bootstrap-config", "cloud-init-settings", {"kubeconfig": _KUBECONFIG.with_token(token)}
    )


def test_a_pool_without_a_token_gets_one_and_its_kubeconfig(worker: Cluster, api: Api) -> None:
    assert run(api, setup()) == [
        "create kube-system/bootstrap-token-(new): there is no token yet",
        f"create {_SECRET}: there is no kubeconfig for kubelets yet",
    ]
    (token,) = tokens_in(worker)
    data = data_of(token)
    assert re.fullmatch(r"[bcdfghjklmnpqrstvwxz2456789]{6}", data["token-id"])
    assert re.fullmatch(r"[bcdfghjklmnpqrstvwxz2456789]{16}", data["token-secret"])
    assert token["metadata"]["name"] == f"bootstrap-token-{data['token-id']}"
    assert token["metadata"]["labels"] == {
        "machinedeployment.k8s.io/name": "kube-system-workers",
        "app.kubernetes.io/managed-by": "osm-gitops",
    }
    assert token["type"] == "bootstrap.kubernetes.io/token"
    expected = {
        "description": "bootstrap token for kube-system-workers",
        "token-id": data["token-id"],
        "token-secret": data["token-secret"],
        "expiration": "2030-02-01T12:00:00Z",
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": "system:bootstrappers:machine-controller:default-node-token",
    }
    assert data == expected
    kubelet = kubelet_in(worker)
    text = _KUBECONFIG.with_token(f"{data['token-id']}.{data['token-secret']}")
    assert (kubelet["type"], data_of(kubelet)) == ("Opaque", {"kubeconfig": text})


def test_nothing_is_written_until_half_of_the_life_is_over(worker: Cluster, api: Api) -> None:
    run(api, setup())
    before = [*tokens_in(worker), kubelet_in(worker)]
    assert run(api, setup(NOW + timedelta(hours=12))) == []
    assert [*tokens_in(worker), kubelet_in(worker)] == before


def test_reading_takes_one_list_for_tokens_and_one_for_kubeconfigs(api: Api) -> None:
    machines = [machine(f"pool-{number}") for number in range(5)]
    run(api, setup(), *machines)
    requests = api.requests
    assert run(api, setup(), *machines) == []
    assert api.requests == requests + 2


def test_a_token_is_extended_in_its_second_half_and_stays_the_same(worker: Cluster, api: Api) -> None:
    run(api, setup())
    (before,), kubelet = tokens_in(worker), kubelet_in(worker)
    (told,) = run(api, setup(NOW + timedelta(hours=20)))
    assert told == f"update kube-system/{before['metadata']['name']}: 4 h of 24 h left"
    (after,) = tokens_in(worker)
    assert data_of(after) == data_of(before) | {"expiration": "2030-02-02T08:00:00Z"}
    assert kubelet_in(worker) == kubelet


def test_when_the_first_token_ends_is_known(api: Api) -> None:
    pools = (machine("a"), machine("b"))
    tokens = Tokens.read(api, pools, setup())
    assert tokens.first_end() is None
    run(api, setup(), machine("a"))
    run(api, setup(NOW + timedelta(hours=1)), machine("b"))
    tokens = Tokens.read(api, pools, setup(NOW + timedelta(hours=14)))
    assert tokens.first_end() == NOW + timedelta(hours=24)
    for each in pools:
        tokens.bring(each.ref)
    assert tokens.first_end() == NOW + timedelta(hours=38)


def test_an_expired_token_that_is_still_there_is_extended_so_that_machines_that_hold_it_join(
    worker: Cluster, api: Api
) -> None:
    run(api, setup())
    (before,), kubelet = tokens_in(worker), kubelet_in(worker)
    late = setup(NOW + timedelta(hours=25))
    assert run(api, late) == [f"update kube-system/{before['metadata']['name']}: the token expired 1 h ago"]
    (after,) = tokens_in(worker)
    assert data_of(after) == data_of(before) | {"expiration": "2030-02-02T13:00:00Z"}
    assert kubelet_in(worker) == kubelet
    assert run(api, late) == []


def test_an_expired_token_that_is_swept_away_meanwhile_gives_way_to_a_new_one(worker: Cluster, api: Api) -> None:
    run(api, setup())
    late = setup(NOW + timedelta(hours=25))
    tokens, (before,) = Tokens.read(api, [machine()], late), tokens_in(worker)
    worker.client().delete(path_of(before))
    tokens.bring(machine().ref)
    (after,) = tokens_in(worker)
    data = data_of(after)
    assert data["token-secret"] != data_of(before)["token-secret"]
    assert f"{data['token-id']}.{data['token-secret']}" in data_of(kubelet_in(worker))["kubeconfig"]
    assert run(api, late) == []


@pytest.mark.parametrize("end", ["2030-01-31T12:40:00Z", "2030-01-31T13:40:00+01:00"])
def test_what_osm_left_is_taken_over_so_that_booting_machines_still_join(worker: Cluster, api: Api, end: str) -> None:
    for body in (osm_token(end), osm_kubeconfig()):
        worker.client().create(body)
    assert run(api, setup()) == [
        "update kube-system/bootstrap-token-bcdfgh: another's token taken over, 40 min left",
        f"update {_SECRET}: takes over the kubeconfig of another writer",
    ]
    (token,) = tokens_in(worker)
    assert data_of(token)["token-secret"] == "bcdfghjklmnpqrst"
    assert data_of(token)["expiration"] == "2030-02-01T12:00:00Z"
    assert token["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "osm-gitops"
    assert data_of(kubelet_in(worker)) == {"kubeconfig": _KUBECONFIG.with_token("bcdfgh.bcdfghjklmnpqrst")}
    assert run(api, setup()) == []


def test_a_token_that_lasts_longer_is_taken_over_as_it_is(worker: Cluster, api: Api) -> None:
    worker.client().create(osm_token("2031-01-01T00:00:00Z"))
    run(api, setup())
    assert data_of(tokens_in(worker)[0])["expiration"] == "2031-01-01T00:00:00Z"
    assert run(api, setup()) == []


def test_two_tokens_of_one_pool_are_named(worker: Cluster, api: Api) -> None:
    for token_id in ("bcdfgh", "aaaaaa"):
        worker.client().create(osm_token("2030-01-31T12:40:00Z", token_id=token_id))
    tokens = Tokens.read(api, [machine(), machine("other")], setup())
    with pytest.raises(InputError) as failure:
        tokens.changes(machine())
    (problem,) = failure.value.problems
    assert (problem.code, problem.where) == (Code.SEVERAL_BOOTSTRAP_TOKENS, "a.yaml:1")
    assert problem.about == "MachineDeployment kube-system/workers"
    assert problem == Expected(Code.SEVERAL_BOOTSTRAP_TOKENS, "bootstrap-token-aaaaaa", "bootstrap-token-bcdfgh")
    with refused(Expected(Code.SEVERAL_BOOTSTRAP_TOKENS, "2")):
        tokens.bring(machine().ref)
    tokens.bring(machine("other").ref)  # is not held up by it
    assert len(tokens_in(worker)) == 3


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"expiration": "soon"}, "expiration"),
        ({"usage_bootstrap_authentication": "false"}, "usage-bootstrap-authentication"),
        ({"token_secret": "short"}, "token-secret"),
        ({"token_id": "zzzzzz"}, "token-id"),
    ],
)
def test_a_secret_that_nobody_can_join_with_is_named(
    worker: Cluster, api: Api, wrong: dict[str, str], key: str
) -> None:
    body = osm_token("2030-01-31T12:40:00Z")
    # Of its own type the API server checks the content.
    body["stringData"] |= {name.replace("_", "-"): value for name, value in wrong.items()}
    if "expiration" not in wrong:
        body["type"] = "bootstrap.kubernetes.io/token"
    worker.client().create(body)
    with refused(Expected(Code.BOOTSTRAP_TOKEN_INVALID, key)) as failure:
        Tokens.read(api, [machine()], setup()).changes(machine())
    assert "bcdfghjklmnpqrst" not in str(failure.value)


def test_a_pool_whose_name_is_no_label_is_told_so(api: Api) -> None:
    long = machine("w" * 64)
    with refused(Code.BOOTSTRAP_TOKEN_LABEL):
        Tokens.read(api, [long], setup()).changes(long)


@pytest.mark.parametrize("what", ["server", "certificate-authority-data"])
def test_a_changed_server_or_authority_reaches_the_kubeconfig(worker: Cluster, api: Api, what: str) -> None:
    run(api, setup())
    (token,) = tokens_in(worker)
    changed = BaseKubeconfig("https://new.example.com:6443", f"apiVersion: v1\n{what}: new\n")
    assert run(api, setup(kubeconfig=changed)) == [f"update {_SECRET}: its token, server or CA is out of date"]
    assert data_of(kubelet_in(worker))["kubeconfig"].startswith(f"apiVersion: v1\n{what}: new\n")
    assert tokens_in(worker) == [token]
    assert run(api, setup(kubeconfig=changed)) == []


def test_what_others_do_to_the_kubeconfig_is_undone(worker: Cluster, api: Api) -> None:
    run(api, setup())
    path, before = _KUBELET.format("kube-system-workers"), kubelet_in(worker)["data"]
    worker.client().merge(path, {"data": {"kubeconfig": b64encode(b"apiVersion: v1\n").decode()}})
    told = f"update {_SECRET}: it was changed by another writer"
    assert run(api, setup()) == [told]
    assert kubelet_in(worker)["data"] == before
    worker.client().apply(
        {
            **kubelet_in(worker),
            "metadata": {"name": "kube-system-workers-kubelet-bootstrap-config", "namespace": "cloud-init-settings"},
        },
        manager="another",
    )
    assert run(api, setup()) == [told]
    worker.client().delete(path)
    (told,) = run(api, setup())
    assert told.endswith("there is no kubeconfig for kubelets yet")
    worker.client().merge(path, {"metadata": {"labels": None}})
    (told,) = run(api, setup())
    assert told.endswith("takes over the kubeconfig of another writer")
    assert run(api, setup()) == []


def test_a_run_that_was_killed_after_the_token_is_finished_by_the_next(worker: Cluster, api: Api) -> None:
    run(api, setup())
    kubelet = kubelet_in(worker)
    worker.client().delete(_KUBELET.format("kube-system-workers"))
    (token,) = tokens_in(worker)
    run(api, setup())
    assert tokens_in(worker) == [token]
    assert kubelet_in(worker)["data"] == kubelet["data"]


def test_a_token_that_is_removed_or_extended_meanwhile_is_looked_at_again(worker: Cluster, api: Api) -> None:
    run(api, setup(), machine("a"), machine("b"))
    late = NOW + timedelta(hours=20)
    tokens = Tokens.read(api, [machine("a"), machine("b")], setup(late))
    by_key = {each["metadata"]["labels"]["machinedeployment.k8s.io/name"]: each for each in tokens_in(worker)}
    worker.client().delete(path_of(by_key["kube-system-a"]))  # as the token cleaner does
    moved = {"data": {"expiration": b64encode(b"2030-02-01T20:00:00Z").decode()}}  # as OSM does
    worker.client().merge(path_of(by_key["kube-system-b"]), moved)
    for name in ("a", "b"):
        tokens.bring(machine(name).ref)
    after = {each["metadata"]["labels"]["machinedeployment.k8s.io/name"]: data_of(each) for each in tokens_in(worker)}
    assert after["kube-system-b"]["expiration"] == "2030-02-01T20:00:00Z"
    new = after["kube-system-a"]
    assert new["token-secret"] != data_of(by_key["kube-system-a"])["token-secret"]
    assert f"{new['token-id']}.{new['token-secret']}" in data_of(kubelet_in(worker, "kube-system-a"))["kubeconfig"]


def test_the_api_server_knows_who_joins_with_the_kubeconfig(worker: Cluster, api: Api) -> None:
    """Its own clock counts here, so the end is far away."""
    run(api, setup(datetime(2200, 1, 1, tzinfo=UTC)))
    text = data_of(kubelet_in(worker))["kubeconfig"]
    token = re.search(r"token: (\S+)", text)
    assert token
    kubelet = Client(worker.server, worker.authority, token[1])
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    known = json.loads(kubelet.text("/apis/authentication.k8s.io/v1/selfsubjectreviews", "POST", review))
    kubelet.close()
    assert known["status"]["userInfo"]["username"] == f"system:bootstrap:{token[1][:6]}"
    assert set(known["status"]["userInfo"]["groups"]) == {
        "system:authenticated",
        "system:bootstrappers",
        "system:bootstrappers:machine-controller:default-node-token",
    }


def test_pools_that_share_a_key_do_not_fight(worker: Cluster, api: Api) -> None:
    name = "w" * 60
    one, two = machine(name, "default"), machine(name, "kube-public")
    told = run(api, setup(), one, two)
    assert len(told) == 2
    assert len(tokens_in(worker)) == 1
    assert run(api, setup(), one, two) == run(api, setup(), two) == []
    leaving = machine(name, "default", deleting=True)
    assert run(api, setup(), leaving, two) == []
    kubelet_in(worker, name)


def test_a_pool_that_is_deleted_takes_its_token_and_kubeconfig_along(worker: Cluster, api: Api) -> None:
    run(api, setup())
    leaving = machine(deleting=True)
    told = run(api, setup(), leaving)
    assert [each.rpartition(": ")[2] for each in told] == ["its MachineDeployment is being deleted"] * 2
    assert tokens_in(worker) == []
    with pytest.raises(Refused, match="404"):
        kubelet_in(worker)
    assert run(api, setup(), leaving) == []


def test_what_belongs_to_no_pool_any_more_is_told_if_it_is_ours(worker: Cluster, api: Api) -> None:
    run(api, setup(), machine("gone"), machine())
    worker.client().create(osm_token("2030-01-31T12:40:00Z", key="kube-system-osms"))
    worker.client().create(osm_kubeconfig(key="kube-system-osms"))
    orphans = Tokens.read(api, [machine()], setup()).orphans([machine().ref])
    assert {change.ref.namespace for change in orphans} == {"kube-system", "cloud-init-settings"}
    assert {change.group for change in orphans} == {"kube-system-gone"}
    assert all(_told(change).endswith("its MachineDeployment is gone") for change in orphans)


# --- with a service account ---


def _account(worker: Cluster, *secrets: Object) -> str:
    metadata = {"name": "robot", "namespace": "kube-system"}
    listed = [{"name": each["metadata"]["name"]} for each in secrets]
    worker.client().create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "secrets": listed})
    for each in secrets:
        worker.client().create(each)
    return "kube-system/robot"


def _legacy(name: str, **data: str) -> Object:
    annotations = {"kubernetes.io/service-account.name": "robot"}
    kind = "kubernetes.io/service-account-token"
    return secret(name, "kube-system", data, metadata={"annotations": annotations}, type=kind)


def test_the_first_filled_legacy_token_of_the_account_serves_all_pools(worker: Cluster, api: Api) -> None:
    other = secret("pull", "kube-system", {"token": "wrong"})
    account = _account(
        worker, other, _legacy("empty"), _legacy("first", token="eyJhbGci"), _legacy("second", token="no")
    )
    machines = [machine("a"), machine("b")]
    assert len(run(api, setup(account=account), *machines)) == 2
    assert tokens_in(worker) == []
    for name in ("a", "b"):
        text = data_of(kubelet_in(worker, f"kube-system-{name}"))["kubeconfig"]
        assert text == _KUBECONFIG.with_token("eyJhbGci")
    assert run(api, setup(NOW + timedelta(days=400), account=account), *machines) == []


def test_without_a_legacy_token_one_is_requested_and_renewed_at_half_of_its_life(worker: Cluster, api: Api) -> None:
    account, machines = _account(worker), [machine("a"), machine("b")]
    now = datetime.fromtimestamp(_clock(worker), UTC)
    assert len(run(api, setup(now, account=account), *machines)) == 2
    texts = {data_of(kubelet_in(worker, f"kube-system-{name}"))["kubeconfig"] for name in ("a", "b")}
    assert len(texts) == 1  # one request serves all
    token = re.search(r"token: (\S+)", texts.pop())
    assert token
    robot = Client(worker.server, worker.authority, token[1])
    with pytest.raises(Refused, match="system:serviceaccount:kube-system:robot"):
        robot.get("/api/v1/namespaces/default/configmaps")
    robot.close()
    end = Tokens.read(api, machines, setup(now, account=account)).first_end()
    assert end is not None
    assert timedelta(hours=23) < end - now < timedelta(hours=25)
    requests = api.requests
    assert run(api, setup(now + timedelta(hours=11), account=account), *machines) == []
    assert api.requests == requests + 2  # the account, and the list of kubeconfigs
    told = run(api, setup(now + timedelta(hours=13), account=account), *machines)
    assert all(re.search(r": (11 h|10 h 59 min) of (24 h|23 h 59 min|24 h 1 s) left$", each) for each in told)
    assert data_of(kubelet_in(worker, "kube-system-a"))["kubeconfig"] != _KUBECONFIG.with_token(token[1])


def _clock(worker: Cluster) -> float:
    """The API server's time: an end that it gives is by its own clock."""
    metadata = {"name": "clock", "namespace": "default"}
    made = worker.client().create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    return datetime.fromisoformat(made["metadata"]["creationTimestamp"]).timestamp()


def test_a_requested_token_is_replaced_where_its_kubeconfig_was_touched(worker: Cluster, api: Api) -> None:
    account = _account(worker)
    now = datetime.fromtimestamp(_clock(worker), UTC)
    run(api, setup(now, account=account))
    before = data_of(kubelet_in(worker))["kubeconfig"]
    worker.client().merge(_KUBELET.format("kube-system-workers"), {"data": {"kubeconfig": "YQ=="}})
    (told,) = run(api, setup(now, account=account))
    assert told.endswith("it was changed by another writer")
    assert data_of(kubelet_in(worker))["kubeconfig"].startswith(_KUBECONFIG.text)
    assert run(api, setup(now, account=account)) == []
    # And back to tokens of pools.
    assert len(run(api, setup(now))) == 2
    assert data_of(kubelet_in(worker))["kubeconfig"] != before
    assert "osm-gitops.io/token-expires" not in kubelet_in(worker)["metadata"]["annotations"]
    assert run(api, setup(now)) == []


def test_an_account_that_is_not_there_is_named(api: Api) -> None:
    tokens = Tokens.read(api, [machine()], setup(account="kube-system/robot"))
    with refused(Expected(Code.ACCOUNT_NOT_FOUND, "kube-system/robot")):
        tokens.changes(machine())
    with refused(Code.ACCOUNT_NOT_FOUND):
        tokens.bring(machine().ref)


def test_a_server_that_gives_shorter_tokens_is_warned_of(worker: Cluster, api: Api) -> None:
    account = _account(worker)
    # As seen from a clock that is a day ahead, the token that lasts a day ends at once.
    now = datetime.fromtimestamp(_clock(worker), UTC) + timedelta(hours=23)
    tokens = Tokens.read(api, [machine()], setup(now, account=account))
    assert tokens.warnings() == ()
    tokens.bring(machine().ref)
    (warning,) = tokens.warnings()
    assert re.search(r"kube-system/robot to (1 h|59 min)( \d+ s)?, so they expire before", str(warning))


# --- for profiles that print the kubeconfig themselves ---


def _index(facts: Facts, account: tuple[str, str] | None = None) -> str | None:
    return token_index(Settings(bootstrap_token_service_account=account), facts).token(machine())


def test_a_plan_renders_with_a_placeholder_that_is_the_same_every_time(worker: Cluster, api: Api) -> None:
    tokens = Tokens.read(api, [machine()], setup())
    first = _index(tokens.added_to(Facts(), [machine()]))
    assert first is not None
    assert re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", first)
    assert _index(tokens.added_to(Facts(), [machine()])) == first
    assert tokens_in(worker) == []


def test_apply_makes_the_token_before_it_renders(worker: Cluster, api: Api) -> None:
    tokens = Tokens.read(api, [machine()], setup())
    tokens.make([machine()])
    made = _index(tokens.added_to(Facts(), [machine()]))
    tokens.bring(machine().ref)
    (token,) = tokens_in(worker)
    data = data_of(token)
    assert made == f"{data['token-id']}.{data['token-secret']}"
    assert data_of(kubelet_in(worker))["kubeconfig"] == _KUBECONFIG.with_token(made)
    for hours in (20, 50, 90):  # in its second half, expired
        late = Tokens.read(api, [machine()], setup(NOW + timedelta(hours=hours)))
        assert _index(late.added_to(Facts(), [machine()])) == made
        late.make([machine()])  # an extended token is the same
        assert _index(late.added_to(Facts(), [machine()])) == made


def test_a_legacy_token_is_rendered_and_a_requested_one_is_not(worker: Cluster, api: Api) -> None:
    account = _account(worker, _legacy("first", token="eyJhbGci"))
    tokens = Tokens.read(api, [machine()], setup(account=account))
    facts = tokens.added_to(Facts(), [machine()])
    assert _index(facts, ("kube-system", "robot")) == "eyJhbGci"
    worker.client().delete("/api/v1/namespaces/kube-system/secrets/first")
    tokens = Tokens.read(api, [machine()], setup(account=account))
    tokens.make([machine()])
    assert tokens.added_to(Facts(), [machine()]) == Facts()


def test_a_refused_write_tells_no_token(worker: Cluster, tmp_path: Path, api: Api) -> None:
    run(api, setup())
    (token,) = tokens_in(worker)
    reader = connect(ContextRef(str(worker.kubeconfig(tmp_path / "reader", "reader"))), {})
    allow(worker, "reader", [rule("list", "secrets")])
    tokens = Tokens.read(reader, [machine()], setup(NOW + timedelta(hours=20)))
    with pytest.raises(ClusterError) as failure:
        tokens.bring(machine().ref)
    assert failure.value.status == 403
    assert data_of(token)["token-secret"] not in str(failure.value)


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_run_that_is_ended_at_any_write_is_finished_by_the_next(
    worker: Cluster, api: Api, last: int, done: bool
) -> None:
    for body in (osm_token("2030-01-31T12:40:00Z"), osm_kubeconfig()):
        worker.client().create(body)
    counting = Counting(api, last, done=done)
    tokens = Tokens.read(counting.as_api, [machine()], setup())
    with pytest.raises(EndedError):
        tokens.bring(machine().ref)
    run(api, setup())
    (token,) = tokens_in(worker)
    data = data_of(token)
    assert (data["token-secret"], data["expiration"]) == ("bcdfghjklmnpqrst", "2030-02-01T12:00:00Z")
    assert data_of(kubelet_in(worker)) == {"kubeconfig": _KUBECONFIG.with_token("bcdfgh.bcdfghjklmnpqrst")}
    assert run(api, setup()) == []


@pytest.mark.parametrize("last", [1, 2])
def test_a_new_token_in_place_of_one_that_is_gone_survives_an_end_at_any_write(
    worker: Cluster, api: Api, last: int
) -> None:
    run(api, setup())
    worker.client().delete(path_of(tokens_in(worker)[0]))
    late = setup(NOW + timedelta(hours=30))
    tokens = Tokens.read(Counting(api, last, done=True).as_api, [machine()], late)
    with pytest.raises(EndedError):
        tokens.bring(machine().ref)
    run(api, late)
    (token,) = tokens_in(worker)
    data = data_of(token)
    assert f"{data['token-id']}.{data['token-secret']}" in data_of(kubelet_in(worker))["kubeconfig"]
    assert run(api, late) == []
