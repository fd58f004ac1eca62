"""Runs over a live cluster as others see them: one at a time, and what each of them leaves behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from osm_gitops.errors import Code
from osm_gitops.targets.cluster.lease import Held
from tests.cli.adopted import Adopted
from tests.faults import Expected, told

_LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/osm-gitops"
_STATUS = "/api/v1/namespaces/kube-system/configmaps/osm-gitops-status"
_EVENTS = "/apis/events.k8s.io/v1/namespaces/kube-system/events"
_MACHINES = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments"

# A run whose Lease lives for two seconds, and which stops with it in hand before its first write.
_STOPS = """
import sys
from functools import partial
from osm_gitops.__main__ import run
from osm_gitops.pipeline import live_work
from osm_gitops.targets.cluster import target
from osm_gitops.targets.cluster.lease import Pace, lease

def stop(*_):
    print("holding", flush=True)
    sys.stdin.read()

live_work.lease = partial(lease, pace=Pace(duration=2))
target.deliver = stop
sys.exit(run(sys.argv[1:]))
"""


def status(adopted: Adopted) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(adopted.osm.management.client().get(_STATUS)["data"]["status.json"])
    return found


def holder(adopted: Adopted) -> str:
    return str(adopted.osm.management.client().get(_LEASE)["spec"].get("holderIdentity", ""))


def labelled(adopted: Adopted) -> int:
    """How many boot Secrets a run of ours has written."""
    selector = "labelSelector=app.kubernetes.io/managed-by%3Dosm-gitops"
    found = adopted.osm.worker.client().get(f"/api/v1/namespaces/cloud-init-settings/secrets?{selector}")["items"]
    return sum("k8c.io/mdannotations-hash" in each["metadata"].get("annotations", {}) for each in found)


@contextmanager
def at_work(adopted: Adopted) -> Iterator[subprocess.Popen[str]]:
    """Another run, which holds the Lease until it is killed."""
    command = [sys.executable, "-c", _STOPS, *adopted.arguments("apply")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        try:
            assert any(line == "holding\n" for line in process.stdout), process.communicate()
            yield process
        finally:
            process.kill()


def test_a_second_run_says_who_is_at_work_and_takes_over_once_that_one_was_killed(adopted: Adopted) -> None:
    with at_work(adopted) as other:
        name = holder(adopted)
        assert f"_{other.pid}_" in name
        figures = adopted.folder / "osm-gitops.prom"
        figures.write_text('osm_gitops_last_good_run_timestamp_seconds{cluster="default"} 1767607200\n', "utf-8")
        ran = adopted.run("apply", "--lock-timeout", "0s", "--metrics-file", str(figures))
        assert ran.code == 1
        figure = figures.read_text("utf-8")
        assert 'osm_gitops_run_success{cluster="default"} 0\n' in figure
        assert 'osm_gitops_last_good_run_timestamp_seconds{cluster="default"} 1767607200\n' in figure
        assert Expected(Code.LOCK_NOT_TAKEN, name) in told(ran.err)
        assert labelled(adopted) == 0
        assert adopted.run("plan").code == 0  # what only reads waits for nobody
        other.send_signal(signal.SIGKILL)
    assert holder(adopted) == name
    ran = adopted.run("apply", "--lock-timeout", "60s")
    assert ran.code == 0, ran.err
    assert f"default: Waiting: another run of osm-gitops is active: {name}" in ran.err
    assert labelled(adopted) == 10
    assert holder(adopted) == ""


def test_a_run_whose_lease_is_taken_away_writes_no_more(adopted: Adopted, monkeypatch: pytest.MonkeyPatch) -> None:
    check, asked = Held.check, []

    def stolen(held: Held) -> None:
        asked.append(held)
        if len(asked) == 8:
            adopted.osm.management.client().merge(_LEASE, {"spec": {"holderIdentity": "thief"}})
            held.renew()
        check(held)

    monkeypatch.setattr(Held, "check", stolen)
    ran = adopted.run("apply", "--concurrency", "1")
    assert ran.code == 1
    assert Expected(Code.LOCK_LOST, "thief") in told(ran.err)
    assert "Warning" not in ran.err
    assert labelled(adopted) < 10
    assert holder(adopted) == "thief"
    found = adopted.osm.management.client().get("/api/v1/namespaces/kube-system/configmaps")["items"]
    assert "osm-gitops-status" not in {each["metadata"]["name"] for each in found}
    monkeypatch.undo()
    adopted.osm.management.client().delete(_LEASE)
    assert adopted.run("apply").code == 0
    assert labelled(adopted) == 10


def test_a_run_leaves_its_result_and_one_without_changes_leaves_it_as_it_is(adopted: Adopted) -> None:
    adopted.run("apply")
    first = status(adopted)
    assert first["result"] == "ok"
    assert first["count"] == {"ok": 5, "failed": 0, "left": 0, "stuck": 0}
    assert set(first["pools"]) == {f"kube-system/pool-0000{number}" for number in range(5)}
    client = adopted.osm.management.client()
    before = client.get(_STATUS)["metadata"]["resourceVersion"]
    adopted.run("apply")
    assert client.get(_STATUS)["metadata"]["resourceVersion"] == before
    annotations = client.get(_LEASE)["metadata"]["annotations"]
    assert annotations["osm-gitops.io/last-good-run"] >= first["lastRun"]


def test_a_profile_that_does_not_fit_is_an_event_once(adopted: Adopted) -> None:
    client = adopted.osm.worker.client()
    change = {"metadata": {"annotations": {"k8c.io/operating-system-profile": "osp-flatcar"}}}
    path = f"{_MACHINES}/pool-00000"
    client.merge(path, change)
    for _ in range(2):
        assert adopted.run("apply").code == 1
    uid = client.get(path)["metadata"]["uid"]
    (event,) = (each for each in client.get(_EVENTS)["items"] if each["regarding"]["uid"] == uid)
    assert event["reason"] == "OperatingSystemProfileError"
    assert 'OperatingSystemProfile "osp-flatcar" does not support operating system' in event["note"]
    found = status(adopted)["pools"]["kube-system/pool-00000"]
    assert found["state"] == "failed"
    assert "does not support operating system" in found["errors"][0]


def test_a_cluster_that_cannot_be_read_is_a_failed_run_that_keeps_what_was_known(adopted: Adopted) -> None:
    adopted.run("apply")
    ran = adopted.run("apply", "--worker-cluster-kubeconfig", str(adopted.folder / "nowhere"))
    assert ran.code == 1
    refused = adopted.run("apply", "--max-changed-pools", "0", "--cluster-dns", "10.0.0.1")
    assert refused.code == 1
    found = status(adopted)
    assert found["result"] == "failed"
    assert "5 pools would change, more than the 0 allowed" in found["errors"][0]
    assert len(found["pools"]) == 5
    assert found["lastGoodRun"]


def test_figures_go_to_a_file_and_a_gateway_that_is_not_there_is_a_warning(adopted: Adopted) -> None:
    path = adopted.folder / "osm-gitops.prom"
    started = datetime.now(UTC).timestamp()
    ran = adopted.run("apply", "--metrics-file", str(path), "--pushgateway", "http://me:secret-word@127.0.0.1:1")
    assert ran.code == 0
    assert Expected(Code.METRICS_NOT_PUSHED, "http://127.0.0.1:1") in told(ran.err)
    assert "secret-word" not in ran.err
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(path.read_text("utf-8"))
        for sample in family.samples
    }
    assert found["osm_gitops_run_success", "default"] == 1
    assert found["osm_gitops_pools", "default", "changed"] == 5
    assert found["osm_gitops_objects", "default", "update"] == 15
    assert found["osm_gitops_api_requests", "default"] > 15
    assert found["osm_gitops_token_end_timestamp_seconds", "default"] > started + 23 * 3600
    assert found["osm_gitops_last_good_run_timestamp_seconds", "default"] >= int(started)
    adopted.run("apply", "--metrics-file", str(path), "--max-changed-pools", "0", "--cluster-dns", "10.0.0.1")
    text = path.read_text("utf-8")
    assert 'osm_gitops_run_success{cluster="default"} 0\n' in text
    assert "osm_gitops_last_good_run_timestamp_seconds{" in text
    assert [each.name for each in path.parent.iterdir() if each.name.endswith(".tmp")] == []
