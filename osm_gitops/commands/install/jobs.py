"""CronJobs for the runs, in pods that meet the restricted Pod Security Standard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from osm_gitops.commands.install.install_plan import FILES, READER, WRITER, ConfigRepo, InstallPlan, Jobs
from osm_gitops.model.objects import Json

_WORKER: Final = "/etc/osm-gitops/worker"
_GIT: Final = "/etc/osm-gitops/git"
_AGE: Final = "/etc/osm-gitops/age"
_SSH: Final = "/etc/osm-gitops/ssh"
_FILES_NAME: Final = "osm-gitops-files"
_USER: Final = 65532  # of the image

# A run that takes longer hangs, and would block the runs after it.
_LONGEST_RUN: Final = 1800
# A run that is later is replaced by the next one.
_LATEST_START: Final = 120


def jobs(plan: InstallPlan, jobs: Jobs) -> tuple[dict[str, Json], ...]:
    """The CronJobs, and the ConfigMap with the files that their arguments name."""
    bodies: list[dict[str, Json]] = []
    if jobs.files:
        metadata = {"name": _FILES_NAME, "namespace": plan.home}
        bodies.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(jobs.files)})
    for name, account, command in _runs(plan, jobs):
        arguments = [*command, *jobs.arguments]
        bodies.append(_cron_job(plan, jobs, name, _pod(plan, jobs, account, arguments)))
    return tuple(bodies)


def _runs(plan: InstallPlan, jobs: Jobs) -> tuple[tuple[str, str, Sequence[str]], ...]:
    """Name, account and command of each run."""
    clusters = [f"--worker-cluster-kubeconfig={_WORKER}/kubeconfig"] if jobs.worker_kubeconfig_secret else []
    clone = _clone(plan.repo) if plan.repo is not None else ["--from=cluster", "--to=cluster"]
    if not plan.into_git:
        return ((WRITER, WRITER, ["apply", "--yes", "--require-clean", *clone, *clusters]),)
    return (
        (f"{WRITER}-apply", READER, ["apply", "--yes", "--require-clean", "--push", *clone, *clusters]),
        (f"{WRITER}-refresh", WRITER, ["refresh", *clone, *clusters]),
    )


def _clone(repo: ConfigRepo) -> list[str]:
    given = {"repo": repo.url, "ref": repo.ref, "git-token-file": repo.token_secret and f"{_GIT}/token"}
    return [f"--{flag}={value}" for flag, value in given.items() if value]


def _cron_job(plan: InstallPlan, jobs: Jobs, name: str, pod: dict[str, Json]) -> dict[str, Json]:
    labels = {"app.kubernetes.io/name": "osm-gitops", "app.kubernetes.io/component": name}
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
                    "backoffLimit": 0,  # the next run is the retry
                    "template": {"metadata": {"labels": labels}, "spec": pod},
                },
            },
        },
    }


def _pod(plan: InstallPlan, jobs: Jobs, account: str, arguments: Sequence[str]) -> dict[str, Json]:
    volumes, mounts = _volumes(plan, jobs)
    return {
        "serviceAccountName": account,
        "automountServiceAccountToken": True,
        "restartPolicy": "Never",
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
        "name": "osm-gitops",
        "image": jobs.image,
        "args": list(arguments),
        **_optional("env", _environment(repo)),
        **_optional("envFrom", [{"secretRef": {"name": name}} for name in jobs.environment_secrets]),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "volumeMounts": list(mounts),
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
