"""The Job that ``install --shards`` prints, on an API server with the real kube-controller-manager.

It makes the pods, starts them again and counts. The test plays scheduler and kubelet: it runs the command of each pod
with its environment as given, and reports what became of it. In place of the mounted token a command gets a kubeconfig.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic, sleep
from typing import Final

import pytest

from osm_gitops.commands.boot.lane.control_plane import kept
from osm_gitops.commands.boot.lane.programs import controller_manager
from osm_gitops.commands.install.install_plan import ConfigRepo, Jobs
from osm_gitops.commands.install.jobs import jobs
from osm_gitops.commands.status.runs import ShardState
from osm_gitops.config.shards import Shard
from osm_gitops.model.desired import Side
from osm_gitops.targets.cluster.results import result_name
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
from tests.commands.install.installing import PLAN, install, until_allowed
from tests.git.repos import git, new_repository
from tests.machines.store import STORE
from tests.sources.sealed import RECIPIENT

pytestmark = pytest.mark.exhaustive

_HOME: Final = "osm-gitops"
_SHARDS: Final = 4
_KILLED, _LOST, _BROKEN = range(3)
"""Shards: the first pod of one is killed, that of another is on a node that is lost, and one has a broken cluster."""
_CLUSTERS: Final = [f"c{number:02}" for number in range(12)]
_PODS: Final = f"/api/v1/namespaces/{_HOME}/pods"
_CONTROLLERS: Final = "job-controller,pod-garbage-collector-controller"
_SECONDS: Final = 300
_FIELD: Final = re.compile(r"metadata\.(annotations|labels)\['(.+)'\]")


def _of(shard: int) -> list[str]:
    return [name for name in _CLUSTERS if Shard(shard, _SHARDS).has(name)]


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """The config repository: a cluster of one shard has a pool that cannot be rendered."""
    root = new_repository(tmp_path / "seed")
    write_tree(root / "tree", profile(), pool())
    write_tree(root / "other", profile(), pool(operatingSystem="debian"))
    (root / ".sops.yaml").write_text(f"creation_rules: [{{age: {RECIPIENT}}}]\n", "utf-8")
    broken = _of(_BROKEN)[0]
    listed = "".join(f"- {{name: {name}, from: {'other' if name == broken else 'tree'}}}\n" for name in _CLUSTERS)
    write_fleet(root, f"defaults: {{to: {{git: {{path: desired}}}}}}\nclusters:\n{listed}")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "fleet")
    git(tmp_path, "clone", "--quiet", "--bare", str(root), "remote.git")
    return tmp_path / "remote.git"


@pytest.fixture
def controllers(management: Cluster, tmp_path: Path) -> Iterator[None]:
    folder = tmp_path / "controllers"
    folder.mkdir()
    config = management.kubeconfig(folder / "kubeconfig")
    flags = (f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0", f"--controllers={_CONTROLLERS}")
    with kept(folder, {"kube-controller-manager": (str(controller_manager(STORE)), *flags)}):
        yield


@dataclass(slots=True)
class _Node:
    """Scheduler and kubelet of all nodes. ``started`` are the indexes of the pods that ran, in order."""

    cluster: Cluster
    kubeconfig: Path
    folder: Path
    started: list[int] = field(default_factory=list)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def work(self, pods: list[Object]) -> None:
        """Do once what is due for each pod."""
        for pod in pods:
            name, index = pod["metadata"]["name"], _index(pod)
            if pod["status"]["phase"] == "Pending" and "nodeName" not in pod["spec"]:
                is_first = index not in self.started
                self._bind(name, "lost" if index == _LOST and is_first else "node")
                self.started.append(index)
                if index == _LOST and is_first:
                    self._report(name, "Running", {"running": {}})
                    self.cluster.client().delete("/api/v1/nodes/lost")  # with all that runs there
                    continue
                self.running[name] = self._run(pod)
                self._report(name, "Running", {"running": {}})
                if index == _KILLED and is_first:
                    self.running[name].send_signal(signal.SIGKILL)
        for name, process in [(each, found) for each, found in self.running.items() if found.poll() is not None]:
            del self.running[name]
            code = process.returncode if process.returncode >= 0 else 128 - process.returncode
            self._report(name, "Failed" if code else "Succeeded", {"terminated": {"exitCode": code}})

    def _bind(self, name: str, node: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        self.cluster.client().text(f"{_PODS}/{name}/binding", "POST", binding)

    def _report(self, name: str, phase: str, state: Mapping[str, object]) -> None:
        container = {"name": "osm-gitops", "image": "", "imageID": "", "ready": False, "restartCount": 0}
        status = {"phase": phase, "containerStatuses": [{**container, "state": state}]}
        self.cluster.client().merge(f"{_PODS}/{name}/status", {"status": status})

    def _run(self, pod: Object) -> subprocess.Popen[bytes]:
        (container,) = pod["spec"]["containers"]
        given = {each["name"]: _value(pod, each) for each in container.get("env", ())}
        arguments = [re.sub(r"\$\((\w+)\)", lambda found: given[found[1]], each) for each in container["args"]]
        machine = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig)}
        log = (self.folder / f"{pod['metadata']['name']}.log").open("wb")
        with log:
            command = [sys.executable, "-m", "osm_gitops", *arguments]
            return subprocess.Popen(command, cwd=self.folder, env=machine | given, stdout=log, stderr=log)


def _index(pod: Object) -> int:
    return int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


def _value(pod: Object, variable: Object) -> str:
    """As the kubelet finds it."""
    if "value" in variable:
        return str(variable["value"])
    found = _FIELD.fullmatch(variable["valueFrom"]["fieldRef"]["fieldPath"])
    assert found is not None
    return str(pod["metadata"][found[1]][found[2]])


def _finished(job: Object) -> bool:
    return any(each["type"] in {"Complete", "Failed"} and each["status"] == "True" for each in _conditions(job))


def _conditions(job: Object) -> list[Object]:
    found: list[Object] = job["status"].get("conditions", [])
    return found


@pytest.mark.usefixtures("controllers")
def test_every_cluster_is_written_once_whatever_happens_to_pods_and_nodes(
    management: Cluster, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(_of(shard) for shard in range(_SHARDS))
    runs = Jobs(image="osm-gitops:1", shards=_SHARDS)
    plan = replace(PLAN, into_git=True, repo=ConfigRepo(f"file://{remote}"), jobs=runs)
    install(management, plan, Side.MANAGEMENT)
    printed = next(body for body in jobs(plan, runs) if body["metadata"]["name"].endswith("-apply"))
    template = printed["spec"]["jobTemplate"]
    user = management.account(_HOME, template["spec"]["template"]["spec"]["serviceAccountName"])
    result = {"name": result_name("apply", 0, _SHARDS), "namespace": _HOME}
    until_allowed(management.client(user), [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": result}])
    client = management.client()
    for name in ("node", "lost"):
        client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    # As `kubectl create job --from=cronjob/…` makes it.
    metadata = {"name": "run", "namespace": _HOME, "labels": template["metadata"]["labels"]}
    client.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]})
    path = f"/apis/batch/v1/namespaces/{_HOME}/jobs/run"
    node = _Node(management, management.kubeconfig(tmp_path / "account", user), tmp_path)
    end = monotonic() + _SECONDS
    while not _finished(job := client.get(path)):
        assert monotonic() < end, job["status"]
        node.work(client.get(_PODS)["items"])
        sleep(0.2)

    assert job["status"]["failedIndexes"] == str(_BROKEN)
    assert job["status"]["completedIndexes"] == "0,1,3"
    # Only what a retry can mend is started again.
    assert Counter(node.started) == {_KILLED: 2, _LOST: 2, _BROKEN: 1, 3: 1}
    files = git(remote, "ls-tree", "-r", "--name-only", "HEAD", "desired/").split()
    assert sorted({path.split("/")[1] for path in files}) == _CLUSTERS
    broken = _of(_BROKEN)[0]
    assert sorted({path.split("/")[1] for path in files if "/secrets/" in path} | {broken}) == _CLUSTERS
    assert not any("/secrets/" in path for path in files if broken in path)
    subjects = git(remote, "log", "--format=%s", "--grep=^osm-gitops: ").splitlines()
    assert len(subjects) == len(set(subjects)) == len(_CLUSTERS)

    monkeypatch.setenv("KUBECONFIG", str(management.kubeconfig(tmp_path / "admin")))
    ran = osm_gitops("status", f"--runs={_HOME}", "--output=json")
    (shown,) = json.loads(ran.out)["commands"]
    states = [each["state"] for each in shown["shards"]]
    assert states == [(ShardState.FAILED if shard == _BROKEN else ShardState.OK).value for shard in range(_SHARDS)]
    assert sum(each["clusters"] for each in shown["shards"]) == len(_CLUSTERS)
    assert [each["cluster"] for each in shown["shards"][_BROKEN]["failures"]] == [broken]
