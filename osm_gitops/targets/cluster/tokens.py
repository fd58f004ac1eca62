"""Credentials that machines join with: bootstrap tokens and kubeconfigs (osm-behaviour.md, "Bootstrap token" and
"Kubelet kubeconfig Secret"; design.md, "Tokens").

They are in the worker cluster only, never in a tree. Reading takes only lists. :meth:`Tokens.changes` plans what is due
for a pool, and :meth:`Tokens.bring` does it, independent of other changes of the pool: machines may boot from the
existing configuration. The token is written before the kubeconfig, so the next run completes an interrupted one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from threading import Lock
from typing import Final

from osm_gitops.errors import InputError, Problem
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import SECRET
from osm_gitops.model.desired import Side
from osm_gitops.model.inputs import Facts, SecretFact
from osm_gitops.model.machine import MachineDeployment, kubelet_kubeconfig_name, token_key
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, ObjectRef, Origin
from osm_gitops.model.plan import Action, Change
from osm_gitops.model.settings import Settings
from osm_gitops.plan.compare import group_name
from osm_gitops.plan.tokens import TOKEN_PREFIX, TOKEN_TYPE, Due, TokenNeed, account_token_need, timestamp
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL, NAMESPACE, checked_key
from osm_gitops.render.resolve.cluster_info import BaseKubeconfig, base_kubeconfig
from osm_gitops.targets.cluster.bootstrap_tokens import (
    AccountToken,
    BootstrapTokens,
    LiveKubeconfig,
    delete_kubeconfig,
    digest_of,
    read_kubeconfigs,
    write_kubeconfig,
)

_NEW_NAME: Final = f"{TOKEN_PREFIX}(new)"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSetup:
    """Setup of tokens: their ``life`` and the ``interval`` between runs from the settings, the time ``now``, the
    ``service_account`` whose token all pools share (``None``: each pool has a token), and the ``kubeconfig``."""

    life: timedelta
    interval: timedelta
    now: datetime
    service_account: tuple[str, str] | None
    kubeconfig: BaseKubeconfig

    @classmethod
    def of(cls, settings: Settings, facts: Facts, now: datetime) -> TokenSetup:
        """The setup by ``settings`` and ``facts`` of a cluster. Raises InputError if no kubeconfig can be created."""
        return cls(
            life=settings.token_life,
            interval=settings.interval,
            now=now,
            service_account=settings.bootstrap_token_service_account,
            kubeconfig=base_kubeconfig(settings, facts),
        )

    @property
    def seconds(self) -> int:
        return int(self.now.timestamp())


class Tokens:
    """Tokens and kubeconfigs of the pools of one cluster. Thread-safe. Pools with the same key (osm-behaviour.md,
    "Object names") share token and kubeconfig, which the first of them maintains."""

    def __init__(self, worker: Api, machines: Sequence[MachineDeployment], setup: TokenSetup) -> None:
        self._api, self._setup = worker, setup
        self._machines = {machine.ref: machine for machine in machines}
        living = [machine for machine in machines if not machine.deleting]
        self._keepers = {machine.token_key: machine.ref for machine in sorted(living, key=_by_ref, reverse=True)}
        self._begun: set[str] = set()
        self._renewed: dict[str, int] = {}
        self._lock = Lock()
        account = setup.service_account
        self._account = AccountToken(worker, account, setup.seconds, setup.life, setup.interval) if account else None
        self._tokens = BootstrapTokens(worker, setup.seconds, setup.life)
        if self._account is None:  # else there are none, and the right to list them is not needed
            self._tokens.read()
        keys = dict.fromkeys(machine.token_key for machine in machines)
        self._kubeconfigs = read_kubeconfigs(worker, keys, self._digest)

    @classmethod
    def read(cls, worker: Api, machines: Sequence[MachineDeployment], setup: TokenSetup) -> Tokens:
        """Read tokens and kubeconfigs of ``machines``, including those that are being deleted. Raises ClusterError.

        Takes ⌈N/500⌉ requests for tokens (or some for the service account), ⌈N/500⌉ for kubeconfigs, and ⌈N/500⌉ for
        all Secrets if a pool has no kubeconfig of ours yet.
        """
        return cls(worker, machines, setup)

    @property
    def makes_tokens(self) -> bool:
        """Whether each pool has a bootstrap token, rather than that of a service account."""
        return self._account is None

    def changes(self, machine: MachineDeployment) -> tuple[Change, ...]:
        """Changes that are due for a pool; for one that is being deleted, deletions. Makes no request.

        Raises InputError if there are several tokens, and a person must choose.
        """
        if machine.deleting:
            return () if machine.token_key in self._keepers else tuple(self._departures(machine.token_key, machine.ref))
        if self._keepers.get(machine.token_key) != machine.ref:
            return ()
        try:
            return tuple(self._due(machine))
        except InputError as failure:
            where, about = str(machine.manifest.origin), str(machine.ref)
            raise InputError(problem.at(where=where, about=about) for problem in failure.problems) from None

    def bring(self, pool: ObjectRef) -> None:
        """Carry out :meth:`changes` of the pool. Raises ClusterError and InputError."""
        machine = self._machines[pool]
        key = machine.token_key
        if machine.deleting and key in self._keepers:
            return  # another pool still uses them
        with self._lock:
            if key in self._begun:
                return
            self._begun.add(key)
        if machine.deleting:
            self._remove(key)
        elif self._account is not None:
            self._bring_of_account(machine, self._account)
        else:
            token = self._tokens.bring(checked_key(machine))
            self._keep(key, self._setup.kubeconfig.with_token(token))

    def orphans(self, pools: Iterable[ObjectRef]) -> tuple[Change, ...]:
        """Deletions of tokens and kubeconfigs of ours that belong to none of ``pools``: all pools of the cluster,
        including those that are being deleted. Guards of deletion are the caller's task.
        """
        living = {token_key(pool) for pool in pools}
        kubeconfigs = {key for key, live in self._kubeconfigs.items() if live.ours}
        gone = sorted((self._tokens.keys() | kubeconfigs) - living)
        return tuple(change for key in gone for change in self._departures(key, None))

    def first_end(self) -> datetime | None:
        """When the first token expires; ``None`` if no expiry is known."""
        ends = [end for end in map(self._end_of, self._keepers) if end is not None]
        return datetime.fromtimestamp(min(ends), UTC) if ends else None

    def warnings(self) -> tuple[Problem, ...]:
        """Warnings of :meth:`bring`."""
        return self._account.warnings() if self._account else ()

    def make(self, machines: Iterable[MachineDeployment]) -> None:
        """Create and renew the tokens of pools that print them, before rendering. Raises ClusterError."""
        for machine in machines if self._account is None else ():
            with suppress(InputError):  # rendering or changes() reports it for this pool
                self._tokens.bring(checked_key(machine))

    def added_to(self, facts: Facts, machines: Iterable[MachineDeployment]) -> Facts:
        """``facts`` with the tokens of ``machines``, whose profiles print the kubeconfig.

        A pool without a token gets a placeholder, the same in each run, which is rendered for plans only. Both are
        Secrets in the facts, so reports mask them. Extending a token does not change its text, so only a new token
        changes what is rendered. Requested tokens are not added, since they would change in each run.
        """
        if self._account is not None:
            found = self._account.facts()
            if found is None:
                return facts
            account, legacy = found
            accounts = {**facts.service_accounts, (account.namespace, account.name): account}
            secrets = {**facts.secrets, (legacy.namespace, legacy.name): legacy}
            return replace(facts, secrets=secrets, service_accounts=accounts)
        tokens: dict[str, SecretFact] = {}
        for machine in machines:
            try:
                key = checked_key(machine)
                text = self._token(key) or _placeholder(key)
            except InputError:
                continue  # rendering or changes() reports it for this pool
            tokens[key] = _token_fact(key, text, self._setup)
        others = {ref: secret for ref, secret in facts.secrets.items() if secret.labels.get(NAME_LABEL) not in tokens}
        made = {(secret.namespace, secret.name): secret for secret in tokens.values()}
        return replace(facts, secrets=others | made)

    def lack_any(self, machines: Iterable[MachineDeployment]) -> bool:
        """Whether a token of these pools is missing, or a person must choose between several."""
        return self._account is None and any(self._token(machine.token_key) is None for machine in machines)

    def _due(self, machine: MachineDeployment) -> Iterator[Change]:
        def change(ref: ObjectRef, action: Action, reason: str) -> Change:
            group = group_name(machine.ref)
            return Change(ref, Side.WORKER, action, reason, group, machine.ref, upkeep=True)

        key = machine.token_key
        need = self._need(machine)
        if self._account is None and need.due is not Due.NOTHING:
            name, action = (need.token.name, Action.UPDATE) if need.token else (_NEW_NAME, Action.CREATE)
            yield change(ObjectRef(SECRET.name, NAMESPACE, name), action, need.reason)
        ref = ObjectRef(SECRET.name, CLOUD_INIT_NAMESPACE, kubelet_kubeconfig_name(key))
        live = self._kubeconfigs.get(key)
        reason = self._why_kubeconfig(key, need, live)
        if reason:
            yield change(ref, Action.UPDATE if live else Action.CREATE, reason)

    def _need(self, machine: MachineDeployment) -> TokenNeed:
        if self._account is None:
            return self._tokens.need(checked_key(machine))
        if self._account.legacy is not None:
            return TokenNeed(Due.NOTHING)
        live = self._kubeconfigs.get(machine.token_key)
        return account_token_need(live.issued, live.expires, self._setup.seconds) if live else TokenNeed(Due.NEW)

    def _why_kubeconfig(self, key: str, need: TokenNeed, live: LiveKubeconfig | None) -> str:
        """Why to write the kubeconfig; empty if it is up to date."""
        if live is None:
            return "there is no kubeconfig for kubelets yet"
        if not live.ours:
            return "takes over the kubeconfig of another writer"
        if need.due is Due.NEW:
            return need.reason if self._account else "it gets the new token"
        if live.unchanged:
            return ""
        digest = self._digest(key)
        if digest is not None and live.digest == digest.hex():
            return "it was changed by another writer"
        return "its token, server or CA is out of date"

    def _departures(self, key: str, pool: ObjectRef | None) -> Iterator[Change]:
        reason = "its MachineDeployment is being deleted" if pool else "its MachineDeployment is gone"
        group = group_name(pool) if pool else key
        refs = [ObjectRef(SECRET.name, NAMESPACE, token.name) for token in self._tokens.ours(key)]
        if key in self._kubeconfigs:
            refs.append(ObjectRef(SECRET.name, CLOUD_INIT_NAMESPACE, kubelet_kubeconfig_name(key)))
        for ref in refs:
            yield Change(ref, Side.WORKER, Action.DELETE, reason, group, pool, upkeep=True)

    def _token(self, key: str) -> str | None:
        """The pool's token, if it has one."""
        try:
            need = self._tokens.need(key)
        except InputError:
            return None
        return need.token.text if need.token else None

    def _digest(self, key: str) -> bytes | None:
        """The digest of the kubeconfig that a key should have; ``None`` if its token does not exist yet.

        A requested token is stored only in its Secret, so its digest covers everything but the token.
        """
        if self._account is not None:
            return self._shared_digest
        token = self._token(key)
        return digest_of(self._setup.kubeconfig.with_token(token)) if token else None

    @cached_property
    def _shared_digest(self) -> bytes | None:
        try:
            token = self._account.legacy if self._account else None
        except InputError:
            return None
        return digest_of(self._setup.kubeconfig.with_token(token or ""))

    def _end_of(self, key: str) -> int | None:
        if self._account is None:
            return self._tokens.end(key)
        live = self._kubeconfigs.get(key)
        return self._renewed.get(key) or (live.expires if live else None)

    def _keep(self, key: str, text: str) -> None:
        live, digest = self._kubeconfigs.get(key), digest_of(text)
        if live is None or not (live.unchanged and live.ours and live.digest == digest.hex()):
            write_kubeconfig(self._api, key, text, digest)

    def _bring_of_account(self, machine: MachineDeployment, account: AccountToken) -> None:
        legacy = account.legacy
        if legacy is not None:
            self._keep(machine.token_key, self._setup.kubeconfig.with_token(legacy))
        elif self.changes(machine):
            token = account.request()
            kubeconfig = self._setup.kubeconfig
            digest = digest_of(kubeconfig.with_token(""))
            write_kubeconfig(self._api, machine.token_key, kubeconfig.with_token(token.text), digest, token)
            self._renewed[machine.token_key] = token.expires

    def _remove(self, key: str) -> None:
        live = self._kubeconfigs.get(key)
        if live is not None:
            delete_kubeconfig(self._api, key, live.uid)
        self._tokens.delete(key)


def _by_ref(machine: MachineDeployment) -> ObjectRef:
    return machine.ref


def _token_fact(key: str, text: str, setup: TokenSetup) -> SecretFact:
    token_id, _, token_secret = text.partition(".")
    end = timestamp(setup.seconds + int(setup.life.total_seconds()))
    data = {"token-id": token_id.encode(), "token-secret": token_secret.encode(), "expiration": end.encode()}
    origin = Origin("the worker cluster")
    return SecretFact(NAMESPACE, TOKEN_PREFIX + token_id, TOKEN_TYPE, data, {NAME_LABEL: key}, origin)


def _placeholder(key: str) -> str:
    """A text in the format of a token, but not valid."""
    digits = hashlib.sha256(f"stand-in {key}".encode()).hexdigest()
    return f"{digits[:6]}.{digits[6:22]}"
