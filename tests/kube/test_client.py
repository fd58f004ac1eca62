"""Why configuration and credentials are not left to the kubernetes client: where it departs from kubectl, or leaks.

A test that fails here with a later client takes away a reason (docs/explanation/dependencies.md, "kubernetes").
"""

from __future__ import annotations

import json
import logging
import os
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

# Without types.
InClusterConfigLoader: Any = import_module("kubernetes.config.incluster_config").InClusterConfigLoader
kube_config: Any = import_module("kubernetes.config.kube_config")

_CLUSTER = {"server": "https://127.0.0.1:6443"}


def _loaded(user: dict[str, Any]) -> client.Configuration:
    entries = {"contexts": {"cluster": "c", "user": "c"}, "clusters": _CLUSTER, "users": user}
    config: dict[str, Any] = {
        kind: [{"name": "c", kind.removesuffix("s"): entry}] for kind, entry in entries.items()
    } | {"current-context": "c"}
    settings = client.Configuration()
    kube_config.KubeConfigLoader(config).load_and_set(settings)
    return settings


def _plugin(path: Path, script: str) -> dict[str, Any]:
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path)}}


def _credential(**status: str) -> str:
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return json.dumps(answer)


def test_a_plugin_gets_all_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY", "hidden")
    answer = _credential(token="$SOPS_AGE_KEY").replace('"', '\\"')
    settings = _loaded(_plugin(tmp_path / "plugin", f'echo "{answer}"'))
    assert settings.api_key["BearerToken"] == "Bearer hidden"


def test_a_plugin_runs_for_every_request_while_its_token_lives_less_than_five_minutes(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    answer = _credential(token="t", expirationTimestamp="2000-01-01T00:00:00Z")
    script = f"echo run >> {shlex.quote(str(runs))}; echo {shlex.quote(answer)}"
    settings = _loaded(_plugin(tmp_path / "plugin", script))
    for _ in range(3):
        settings.get_api_key_with_prefix("BearerToken")
    assert runs.read_text().count("run") == 4


def test_what_a_failing_plugin_says_goes_to_the_log_and_the_request_goes_out_without_credentials(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        settings = _loaded(_plugin(tmp_path / "plugin", "echo the password is hidden >&2; exit 1"))
    assert "the password is hidden" in caplog.text
    assert settings.api_key == {}


def test_the_private_key_of_a_kubeconfig_is_written_into_a_file_that_stays_for_the_run() -> None:
    settings = _loaded({"client-certificate-data": "Y2VydA==", "client-key-data": "a2V5"})
    key, certificate = Path(settings.key_file or ""), Path(settings.cert_file or "")
    assert key.read_bytes() == b"key"
    key.unlink()
    certificate.unlink()


def test_an_auth_provider_wins_over_a_token() -> None:
    provider = {"name": "oidc", "config": {"id-token": "e30.e30.x"}}
    settings = _loaded({"token": "t", "auth-provider": provider})
    assert settings.api_key["BearerToken"] == "Bearer e30.e30.x"


def test_a_user_who_asks_as_another_asks_as_himself() -> None:
    settings = _loaded({"token": "t", "as": "other", "as-groups": ["g"]})
    headers = client.ApiClient(settings).default_headers
    assert not [name for name in headers if name.startswith("Impersonate")]


def test_the_token_of_a_pod_keeps_its_line_break(tmp_path: Path) -> None:
    for name in ("token", "ca.crt"):
        (tmp_path / name).write_text("text\n", "utf-8")
    settings = client.Configuration()
    InClusterConfigLoader(
        token_filename=str(tmp_path / "token"),
        cert_filename=str(tmp_path / "ca.crt"),
        environ={"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"},
    ).load_and_set(settings)
    assert settings.api_key["BearerToken"] == "bearer text\n"


def test_of_several_kubeconfigs_the_last_current_context_counts(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(json.dumps({"current-context": name}), "utf-8")
    merged = kube_config.KubeConfigMerger(f"{tmp_path / 'a'}{os.pathsep}{tmp_path / 'b'}")
    assert merged.config["current-context"] == "b"
