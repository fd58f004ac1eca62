"""Tokens: the bootstrap token of a pool, and the one that fetches provisioning Secrets (osm-behaviour.md, "Getter
token" and "Bootstrap token")."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import runes
from osm_gitops.gocompat.times import parse_time
from osm_gitops.model.inputs import Facts, SecretFact
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE
from osm_gitops.model.settings import Settings

NAMESPACE: Final = "kube-system"
NAME_LABEL: Final = "machinedeployment.k8s.io/name"
GETTER_SECRET: Final = (CLOUD_INIT_NAMESPACE, "cloud-init-getter-token")
_LABEL_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
_NO_LABEL_CHARACTER: Final = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_LABEL: Final = 63
_RFC3339: Final = "2006-01-02T15:04:05Z07:00"


@dataclass(frozen=True, slots=True)
class TokenIndex:
    """Bootstrap tokens by pool, indexed once for all pools of a cluster."""

    by_label: Mapping[str, tuple[SecretFact, ...]]
    service_account: tuple[str, str] | None
    facts: Facts

    def token(self, machine: MachineDeployment) -> str | None:
        """The pool's token, or ``None`` where the source holds none: it is made where the pool is delivered.

        Raises InputError for several tokens, and for one that OSM could not renew.
        """
        if self.service_account is not None:
            return _service_account_token(self.service_account, self.facts)
        key = checked_key(machine)
        secrets = self.by_label.get(key, ())
        if len(secrets) > 1:
            names = ", ".join(sorted(secret.name for secret in secrets))
            raise input_error(
                Code.SEVERAL_BOOTSTRAP_TOKENS,
                f"expected one bootstrap token with label {NAME_LABEL}={key}, found {len(secrets)}: {names}",
                about=str(machine.ref),
                fix=f"Delete all but one of these Secrets in namespace {NAMESPACE}",
            )
        return _token(secrets[0]) if secrets else None


def checked_key(machine: MachineDeployment) -> str:
    """The label value of the pool's bootstrap token. Raises InputError if it is not a valid label."""
    key = machine.token_key
    if _LABEL_VALUE.fullmatch(key):
        return key
    wrong = []
    if refused := "".join(dict.fromkeys(_NO_LABEL_CHARACTER.findall(key))):
        wrong.append((f'a label cannot contain "{refused}"', "Use small letters, digits and hyphens in the name"))
    if len(key) > _LONGEST_LABEL:
        wrong.append((f"a label has at most {_LONGEST_LABEL} characters", "Give the MachineDeployment a shorter name"))
    if not wrong:
        wrong.append(("a label begins and ends with a letter or digit", "Rename the MachineDeployment"))
    raise InputError(
        Problem(
            Code.BOOTSTRAP_TOKEN_LABEL,
            f'a bootstrap token cannot have the label "{key}": {why}',
            about=str(machine.ref),
            field="metadata.name",
            fix=fix,
        )
        for why, fix in wrong
    )


def token_index(settings: Settings, facts: Facts) -> TokenIndex:
    """The index over all Secrets of ``facts`` that are labelled as a pool's token."""
    by_label: defaultdict[str, list[SecretFact]] = defaultdict(list)
    for secret in facts.secrets.values():
        if secret.namespace == NAMESPACE and NAME_LABEL in secret.labels:
            by_label[secret.labels[NAME_LABEL]].append(secret)
    service_account = settings.bootstrap_token_service_account
    return TokenIndex({label: tuple(secrets) for label, secrets in by_label.items()}, service_account, facts)


def getter_token(facts: Facts) -> str:
    """The token with which machines fetch their provisioning Secret; raises InputError without one."""
    secret = facts.secret(GETTER_SECRET)
    token = _text(secret, "token") if secret else ""
    if not token:
        wanted = "/".join(GETTER_SECRET)
        raise input_error(
            Code.BOOTSTRAP_TOKEN_MISSING,
            f'Secret {wanted} has no key "token"' if secret else f"Secret {wanted} was not found",
            where=str(secret.origin) if secret else "",
            fix="It holds the token with which machines fetch their provisioning Secret; add it to the source",
        )
    return token


def _token(secret: SecretFact) -> str:
    try:
        parse_time(_RFC3339, _text(secret, "expiration"))
    except GoError:
        raise input_error(
            Code.BOOTSTRAP_TOKEN_INVALID,
            "the bootstrap token's expiration is no RFC 3339 time",
            where=str(secret.origin),
            about=f"Secret {secret.namespace}/{secret.name}",
            field="data.expiration",
            fix="Write it like 2030-01-31T00:00:00Z, or delete the Secret to get a new token",
        ) from None
    return f"{_text(secret, 'token-id')}.{_text(secret, 'token-secret')}"


def _service_account_token(name: tuple[str, str], facts: Facts) -> str | None:
    """The token of the first legacy Secret that the account lists, as in OSM.

    OSM fails without one, as accounts have none of themselves since Kubernetes 1.24; we request one when it is needed.
    """
    account = facts.service_account(name)
    listed = (facts.secret((account.namespace, secret)) for secret in account.secrets) if account else ()
    secret = next((found for found in listed if found and found.type == "kubernetes.io/service-account-token"), None)
    return (_text(secret, "token") or None) if secret else None


def _text(secret: SecretFact, key: str) -> str:
    """A value of the Secret as in Go's JSON; empty if it is missing."""
    return runes(secret.data.get(key, b"").decode("utf-8", "surrogateescape"))
