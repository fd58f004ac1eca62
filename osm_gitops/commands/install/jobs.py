"""CronJobs or Deployments for the runs, in pods that meet the restricted Pod Security Standard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from osm_gitops.commands.install.install_plan import FILES, READER, WRITER, ConfigRepo, InstallPlan, Jobs
from osm_gitops.model.objects import Json

_WORKER: Final = "/etc/osm-gitops/worker"
_GIT: Final = "/etc/osm-gitops/git"
_AGE: Final = "/etc/osm-gitops/age"
_FORGE: Final = "/etc/osm-gitops/forge"
_NOTIFY: Final = "/etc/osm-gitops/notify"
_SSH: Final = "/etc/osm-gitops/ssh"
_FILES_NAME: Final = "osm-gitops-files"
_USER: Final = 65532  # of the image

# A run that takes longer hangs, and would block the runs after it.
_LONGEST_RUN: Final = 1800
_CONTAINER: Final = "osm-gitops"
_STARTED_AGAIN: Final = 2
_FAILED: Final = 1  # the exit code of a run that says what is wrong: the same run would fail again
# A run that is later is replaced by the next one.
_LATEST_START: Final = 120
# A process that watches touches it at least every minute, except during a run. /tmp is the only writable folder.
_ALIVE: Final = "/tmp/alive"  # noqa: S108 # a place in the pod
_MINUTES: Final = _LONGEST_RUN // 60 + 5
_GRACE: Final = 60


def jobs(plan: InstallPlan, jobs: Jobs) -> tuple[dict[str, Json], ...]:
    """The CronJobs or Deployments, and the ConfigMap with the files that their arguments name."""
    bodies: list[dict[str, Json]] = []
    if jobs.files:
        metadata = {"name": _FILES_NAME, "namespace": plan.home}
        bodies.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(jobs.files)})
    for name, account, command in _runs(plan, jobs):
        # Kubernetes sets the variable of the index in each pod of a Job that is indexed.
        shard = [f"--shard=$(JOB_COMPLETION_INDEX)/{jobs.shards}", f"--result-in={plan.home}/$({_JOB})"]
        if jobs.watch:
            arguments = [*command, "--watch", f"--alive-file={_ALIVE}", *jobs.arguments]
            bodies.append(_deployment(plan, name, _pod(plan, jobs, account, arguments)))
        else:
            arguments = [*command, *(shard if jobs.shards > 1 else []), *jobs.arguments]
            bodies.append(_cron_job(plan, jobs, name, _pod(plan, jobs, account, arguments)))
    return tuple(bodies)


def _runs(plan: InstallPlan, jobs: Jobs) -> tuple[tuple[str, str, Sequence[str]], ...]:
    """Name, account and command of each run."""
    clusters = [f"--worker-cluster-kubeconfig={_WORKER}/kubeconfig"] if jobs.worker_kubeconfig_secret else []
    notify = [f"--notify-url-file={_NOTIFY}/url"] if jobs.notify_secret else []
    clone = _clone(plan.repo) if plan.repo is not None else ["--from=cluster", "--to=cluster"]
    clone += notify
    if not plan.into_git:
        return ((WRITER, WRITER, ["apply", "--yes", "--require-clean", *clone, *clusters]),)
    forge = [f"--forge-token-file={_FORGE}/token"] if plan.repo is not None and plan.repo.forge_secret else []
    reader = WRITER if plan.on_seed else READER
    return (
        (f"{WRITER}-apply", reader, ["apply", "--yes", "--require-clean", "--push", *clone, *forge, *clusters]),
        (f"{WRITER}-refresh", WRITER, ["refresh", *clone, *clusters]),
    )


def _clone(repo: ConfigRepo) -> list[str]:
    given = {"repo": repo.url, "ref": repo.ref, "git-token-file": repo.token_secret and f"{_GIT}/token"}
    return [f"--{flag}={value}" for flag, value in given.items() if value]


def _labels(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": "osm-gitops", "app.kubernetes.io/component": name}


def _deployment(plan: InstallPlan, name: str, pod: dict[str, Json]) -> dict[str, Json]:
    labels = _labels(name)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": plan.home, "labels": labels},
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},  # another one would only wait for the Lease
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _cron_job(plan: InstallPlan, jobs: Jobs, name: str, pod: dict[str, Json]) -> dict[str, Json]:
    labels = _labels(name)
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": plan.home, "labels": labels},
        "spec": {
            "schedule": jobs.schedule,
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": _LATEST_START,
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {
                "metadata": {"labels": labels},
                "spec": {
                    "activeDeadlineSeconds": _LONGEST_RUN,
                    **_attempts(jobs.shards),
                    "template": {"metadata": {"labels": labels}, "spec": pod},
                },
            },
        },
    }


def _attempts(shards: int) -> dict[str, Json]:
    """How many pods a run has, and how often each is started. The next run is the retry of what failed.

    A pod that is killed is started again at once: a lost node does not leave the clusters of a shard to the next run.
    """
    if shards == 1:
        return {"backoffLimit": 0}
    return {
        "completionMode": "Indexed",
        "completions": shards,
        "parallelism": shards,
        "backoffLimitPerIndex": _STARTED_AGAIN,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
                {
                    "action": "FailIndex",
                    "onExitCodes": {"containerName": _CONTAINER, "operator": "In", "values": [_FAILED]},
                },
            ]
        },
    }


def _pod(plan: InstallPlan, jobs: Jobs, account: str, arguments: Sequence[str]) -> dict[str, Json]:
    volumes, mounts = _volumes(plan, jobs)
    return {
        "serviceAccountName": account,
        "automountServiceAccountToken": True,
        "restartPolicy": "Always" if jobs.watch else "Never",
        **({"terminationGracePeriodSeconds": _GRACE} if jobs.watch else {}),  # to complete pools that are being written
        "enableServiceLinks": False,  # the variables of a Service named osm-gitops would be read as options
        **_optional("imagePullSecrets", [{"name": name} for name in jobs.pull_secrets]),
        # Without these runs no worker node joins, so they must start before there are any, and on a full cluster.
        "priorityClassName": "system-cluster-critical",
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(plan.repo, jobs, arguments, mounts)],
        "volumes": volumes,
    }


def _container(
    repo: ConfigRepo | None, jobs: Jobs, arguments: Sequence[str], mounts: Sequence[Json]
) -> dict[str, Json]:
    return {
        "name": _CONTAINER,
        "image": jobs.image,
        "args": list(arguments),
        **_optional("env", [*_environment(repo), *([_JOB_NAME] if jobs.shards > 1 else [])]),
        **_optional("envFrom", [{"secretRef": {"name": name}} for name in jobs.environment_secrets]),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        **({"livenessProbe": _PROBE} if jobs.watch else {}),
        "resources": {"requests": _WATCHING if jobs.watch else _RUNNING, "limits": {"memory": "512Mi"}},
        "volumeMounts": list(mounts),
    }


_JOB: Final = "JOB_NAME"
_JOB_NAME: Final[dict[str, Json]] = {
    "name": _JOB,
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}},
}
_RUNNING: Final = {"cpu": "100m", "memory": "128Mi"}
_WATCHING: Final = {"cpu": "10m", "memory": "96Mi"}
"""What it takes between runs, with a margin (docs/explanation/performance.md, "Watching")."""
_PROBE: Final[dict[str, Json]] = {
    "exec": {"command": ["sh", "-c", f'test -n "$(find {_ALIVE} -mmin -{_MINUTES})"']},
    "initialDelaySeconds": 60,
    "periodSeconds": 60,
    "timeoutSeconds": 10,
}


def _optional(key: str, entries: list[Json]) -> dict[str, Json]:
    return {key: entries} if entries else {}


def _environment(repo: ConfigRepo | None) -> list[Json]:
    values: dict[str, str] = {}
    if repo is not None:
        name, mail = repo.author
        for role in ("AUTHOR", "COMMITTER"):
            values |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": mail}
        if repo.age_secret:
            values["SOPS_AGE_KEY_FILE"] = f"{_AGE}/age.agekey"
        if repo.ssh_secret:
            known = f"-o UserKnownHostsFile={_SSH}/known_hosts -o StrictHostKeyChecking=yes"
            values["GIT_SSH_COMMAND"] = f"ssh -i {_SSH}/identity -o IdentitiesOnly=yes {known}"
    return [{"name": name, "value": value} for name, value in values.items()]


def _volumes(plan: InstallPlan, jobs: Jobs) -> tuple[list[Json], list[Json]]:
    """Volumes and their mounts: /tmp is writable, all else is read-only."""
    volumes: list[Json] = [{"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}]
    mounts: list[Json] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 # a place in the pod
    repo = plan.repo or ConfigRepo("")
    secrets = {
        "worker": (jobs.worker_kubeconfig_secret, _WORKER),
        "git": (repo.token_secret, _GIT),
        "forge": (repo.forge_secret, _FORGE),
        "notify": (jobs.notify_secret, _NOTIFY),
        "ssh": (repo.ssh_secret, _SSH),
        "age": (repo.age_secret, _AGE),
    }
    for name, (secret, place) in secrets.items():
        if secret:
            volumes.append({"name": name, "secret": {"secretName": secret, "defaultMode": 0o440}})
            mounts.append({"name": name, "mountPath": place, "readOnly": True})
    if jobs.files:
        volumes.append({"name": "files", "configMap": {"name": _FILES_NAME}})
        mounts.append({"name": "files", "mountPath": FILES, "readOnly": True})
    return volumes, mounts
