"""From what a user named to the API servers of a run. No request is made yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code, InputError, input_error
from osm_gitops.kube.api import Api
from osm_gitops.kube.credentials import credentials_of
from osm_gitops.kube.kubeconfig import Context, Entry, read_kubeconfig
from osm_gitops.kube.pool import Server
from osm_gitops.kube.transport import RETRY_POLICY, RetryPolicy, Transport

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds the token and the authority of its ServiceAccount."""


def connect(access: ContextRef, environment: Mapping[str, str], patience: RetryPolicy | None = None) -> Api:
    """The server that kubectl would take: of the kubeconfigs, or in a pod without any the cluster's own.

    Raises InputError, with all that is wrong with a kubeconfig.
    """
    context = _context(access, environment)
    server = Server.of(context.cluster, environment)
    display = f"{server.url} ({f'context {context.name}' if context.name else 'in-cluster'})"
    credentials = credentials_of(context, environment)
    own = not context.name or "certificate-authority-data" in context.cluster.body
    authority = server.authority if own else b""
    return Api(Transport(server, credentials, patience or RETRY_POLICY, display), display, authority)


def _context(access: ContextRef, environment: Mapping[str, str]) -> Context:
    config = read_kubeconfig(access, environment)
    problems = [*config.problems, *(config.absences() if access.kubeconfig else ())]
    if problems:
        raise InputError(problems)
    if config.files:
        return config.lead(access.context, environment)
    if environment.get("KUBERNETES_SERVICE_HOST") and not access.context:
        return _in_cluster(environment)
    looked = ", ".join(map(str, config.missing)) or "HOME is not set either"
    raise input_error(
        Code.KUBECONFIG_NOT_FOUND,
        f"there is no kubeconfig ({looked})",
        fix="Name one with --kubeconfig, or set KUBECONFIG",
    )


def _in_cluster(environment: Mapping[str, str]) -> Context:
    """What a pod is given, as if a kubeconfig said it."""
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT") or "443"
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    cluster = {"server": address, "certificate-authority": "ca.crt"}
    user = {"tokenFile": "token"}
    path = ACCOUNT / "kubeconfig"
    return Context("", path, Entry(path, cluster), Entry(path, user))


@dataclass(frozen=True, slots=True)
class Clusters:
    """Where OSCs and profiles live, and where Secrets and Machines do: one and the same in the single mode."""

    management: Api
    worker: Api

    def hurry(self) -> None:
        """The run was interrupted: what is under way gets two seconds more. For any thread."""
        for api in (self.management, self.worker):
            api.hurry()

    def checked(self, check: Callable[[], None]) -> Clusters:
        """The same clusters; ``check`` is called before every try of a request that writes."""
        management = self.management.checked(check)
        return Clusters(management, management if self.worker is self.management else self.worker.checked(check))
