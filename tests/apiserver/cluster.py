"""A running API server: its users, and how it becomes again what it was at first."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.apiserver.client import Client, Object, Refused, path_of
from tests.apiserver.definitions import is_established
from tests.apiserver.inventory import ATTEMPTS, Store, everything, items, remove

ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Cluster:
    """``server`` is its address, ``authority`` the PEM text that it is trusted by, ``tokens`` those of its users,
    ``audit`` the server's log of what ServiceAccounts asked for, an event of audit.k8s.io a line, ``etcd`` the address
    of its store."""

    name: str
    server: str
    authority: str
    tokens: Mapping[str, str] = field(repr=False)
    audit: Path = field(repr=False)
    etcd: str = field(default="", repr=False)
    _accounts: dict[str, str] = field(default_factory=dict, repr=False)
    _clients: dict[str, Client] = field(default_factory=dict, repr=False)
    _first: set[str] = field(default_factory=set, repr=False)
    _stores: list[Store] = field(default_factory=list, repr=False)

    def token(self, user: str) -> str:
        """The bearer token of one of the users."""
        return self._accounts.get(user) or self.tokens[user]

    def client(self, user: str = ADMIN) -> Client:
        """Requests as one of the users."""
        if user not in self._clients:
            self._clients[user] = Client(self.server, self.authority, self.token(user))
        return self._clients[user]

    def account(self, namespace: str, name: str) -> str:
        """Make a token of a ServiceAccount, and a user of this name for :meth:`client` and :meth:`kubeconfig`."""
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        user = f"system:serviceaccount:{namespace}:{name}"
        self._accounts[user] = json.loads(self.client().text(path, "POST", request))["status"]["token"]
        if before := self._clients.pop(user, None):
            before.close()
        return user

    def close(self) -> None:
        """End the connections; the next request makes new ones."""
        for client in self._clients.values():
            client.close()

    def kubeconfig(self, path: Path, user: str = ADMIN) -> Path:
        """Write a kubeconfig with one context, named like the cluster."""
        trust = b64encode(self.authority.encode()).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.name, "cluster": {"server": self.server, "certificate-authority-data": trust}}],
            "users": [{"name": user, "user": {"token": self.token(user)}}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": user}}],
            "current-context": self.name,
        }
        path.touch(mode=0o600)
        path.write_text(json.dumps(config), "utf-8")
        return path

    def namespace(self, name: str) -> str:
        """Create a namespace, and wait until it takes objects; its name."""
        self.client().create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        # The server may take it for one of the same name that a test before had, and that it saw being deleted.
        trial = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trial"}}
        path = f"/api/v1/namespaces/{name}/configmaps?dryRun=All"
        for _ in range(ATTEMPTS):
            try:
                self.client().text(path, "POST", trial)
            except Refused as refused:
                if refused.status != 403:
                    raise
            else:
                return name
        raise AssertionError(f"namespace {name} takes no objects")

    def define(self, *definitions: Object) -> None:
        """Create CustomResourceDefinitions and wait until their kinds are served."""
        for definition in definitions:
            self.client().create(definition)
        for definition in definitions:
            self.client().wait(path_of(definition), is_established)
            spec = definition["spec"]
            collection = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
            # It says so a moment before it does so.
            assert any(items(self.client(), collection) is not None for _ in range(ATTEMPTS)), f"no {collection}"

    def remember(self) -> None:
        """Have :meth:`restore` leave what is there now."""
        self._stores[:] = [Store.now(self.etcd)]
        self._first.update(found.uid for found in everything(self.client()))

    def restore(self) -> None:
        """Remove what came since :meth:`remember`; what was there and has been changed stays changed."""
        (store,) = self._stores
        if kinds := store.new_kinds():
            found = everything(self.client(), kinds)
            remove(self.client(), [each for each in found if each.uid not in self._first])
        self.close()
