"""Credential plugins: programs named in a kubeconfig that issue tokens or certificates.

The kubernetes client runs one before every request whose token lives less than five minutes, without a time limit, and
writes its failures to the log; here it runs when its credential has expired or was refused.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.bounded.json_values import parse_json
from osm_gitops.bounded.programs import Limits, ProgramLimitError, run_program
from osm_gitops.children import for_plugin
from osm_gitops.errors import Code, InputError, input_error
from osm_gitops.kube.kubeconfig import Context, plugin_command

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
LIMITS: Final = Limits(seconds=120, most=SMALL)
"""For a plugin, which may ask for a login in a browser."""
_EXTENSION = "client.authentication.k8s.io/exec"
_CLUSTER = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")


@dataclass(frozen=True, slots=True)
class Issued:
    """A token, or a certificate and its key (PEM), and until when they hold."""

    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program with its arguments and environment. Neither is told in an error: both may hold credentials."""

    where: Path
    version: str
    command: Sequence[str] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, context: Context, environment: Mapping[str, str]) -> Plugin:
        """The plugin of a context's user. Raises InputError where it is none."""
        body, path = context.user.body["exec"], context.user.path
        version = str(body.get("apiVersion")) if isinstance(body, Mapping) else ""
        command = plugin_command(context.user)
        if version not in _VERSIONS or not command:
            raise input_error(
                Code.CREDENTIAL_PLUGIN, f"exec needs a command, and one of {', '.join(_VERSIONS)}", where=str(path)
            )
        if body.get("interactiveMode") == "Always":
            what = "the credential plugin wants a terminal, which it cannot have here (interactiveMode: Always)"
            raise input_error(
                Code.CREDENTIAL_PLUGIN, what, where=str(path), fix="Use one that issues credentials without questions"
            )
        given = {str(item.get("name")): str(item.get("value")) for item in body.get("env") or []}
        info = {"apiVersion": version, "kind": "ExecCredential", "spec": _spec(context, body)}
        known = {**for_plugin(environment), **given, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        return cls(path, version, (command, *map(str, body.get("args") or [])), known)

    def issue(self) -> Issued:
        """Run it. Raises InputError."""
        try:
            ran = run_program(self.command, self.environment, LIMITS)
        except ProgramLimitError as limit:
            raise self._failed(str(limit)) from None
        except OSError as fault:
            raise self._failed(f"cannot be run: {fault.strerror}") from None
        except ValueError:
            raise self._failed("cannot be run: its arguments or its environment hold a NUL character") from None
        if ran.status:
            raise self._failed(f"failed with exit status {ran.status}")
        return self._read(ran.out)

    def _read(self, out: bytes) -> Issued:
        try:
            answer = parse_json(out)
            status = answer["status"] if answer["apiVersion"] == self.version else {}
            until = status.get("expirationTimestamp")
            issued = Issued(
                str(status.get("token") or ""),
                str(status.get("clientCertificateData") or "").encode(),
                str(status.get("clientKeyData") or "").encode(),
                datetime.fromisoformat(until).astimezone(UTC) if until else None,
            )
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            raise self._failed("gave no ExecCredential") from None
        if not issued.token and not (issued.certificate and issued.key):
            raise self._failed(f"gave neither a token nor a certificate with its key, in {self.version}")
        return issued

    def _failed(self, what: str) -> InputError:
        name = Path(self.command[0]).name
        return input_error(
            Code.CREDENTIAL_PLUGIN,
            f"the credential plugin {name} {what}",
            where=str(self.where),
            fix="Run it by hand to see what it says",
        )


def _spec(context: Context, body: Mapping[str, Any]) -> Mapping[str, Any]:
    spec: dict[str, Any] = {"interactive": False}
    if body.get("provideClusterInfo"):
        cluster = context.cluster
        told = {key: cluster.body[key] for key in _CLUSTER if key in cluster.body}
        path = cluster.file("certificate-authority")
        if path and "certificate-authority-data" not in told:
            try:
                told["certificate-authority-data"] = base64.b64encode(read_file(path, SMALL)).decode()
            except OSError as fault:
                what = f"the file of certificate-authority cannot be read: {fault.strerror}"
                raise input_error(Code.CREDENTIAL_PLUGIN, what, where=str(cluster.path)) from None
        for extension in cluster.body.get("extensions") or []:
            if extension.get("name") == _EXTENSION:
                told["config"] = extension.get("extension")
        spec["cluster"] = told
    return spec
