"""What is said of an API server's refusals: the table of these messages, whose words other tests leave alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from osm_gitops.errors import Code
from osm_gitops.kube.answers import RequestInfo, refusal
from osm_gitops.kube.kinds import SECRET

_GET = RequestInfo("get", SECRET, "ns", "a")


def _status(message: str = "", **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "message": message, "details": details}


def _cannot(user: str) -> dict[str, Any]:
    return _status(f'secrets "a" is forbidden: User "{user}" cannot get resource "secrets" in API group ""')


@pytest.mark.parametrize(
    ("code", "status", "what", "fix"),
    [
        (302, {}, "redirection (302)", "server's address"),
        (400, {}, "not understood (400)", "server's address"),
        (401, {}, "credentials are refused (401)", "Log in again"),
        (403, _cannot("system:anonymous"), "anonymous access is forbidden (403)", "Log in"),
        (403, _cannot("jane"), "forbidden (403)", "Grant jane the verb get on secrets in namespace ns"),
        (
            403,
            _status("ValidatingAdmissionPolicy 'p' denied it"),
            "by ValidatingAdmissionPolicy p (403)",
            "Ask the adm",
        ),
        (403, _status(causes=[{"reason": "NamespaceTerminating"}]), "namespace ns is being deleted (403)", "Wait"),
        (404, _status(kind="namespaces"), "namespace ns does not exist (404)", "kubectl create namespace ns"),
        (404, {}, "does not know Secret of v1 (404)", "osm-gitops install"),
        (409, {}, "changed or replaced meanwhile (409)", "Run again"),
        (413, {}, "too big for the server (413)", ""),
        (422, _status(causes=[{"field": "data[x]", "reason": "Bad"}]), "is refused (422): data[x] (Bad)", ""),
        (429, {}, "too busy (429)", "--concurrency"),
        (503, {}, "server failed (503)", "log of the API server"),
    ],
)
def test_a_refusal_is_a_sentence_with_its_status_and_the_next_step(
    code: int, status: dict[str, Any], what: str, fix: str
) -> None:
    failure = refusal(_GET, code, json.dumps(status).encode(), "here")
    (problem,) = failure.problems
    assert (problem.code, problem.where, failure.status) == (Code.REQUEST_REFUSED, "here", code)
    assert problem.what.startswith("get secrets a in namespace ns: ")
    assert what in problem.what
    assert fix in problem.fix
