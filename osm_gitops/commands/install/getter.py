"""The account with whose token booting machines fetch their configuration (osm-behaviour.md, "Getter token",
osm-behaviour.md, "Getter token")."""

from __future__ import annotations

from osm_gitops.commands.install.accounts import TOKEN_SUFFIX, lasting_token, role, service_account
from osm_gitops.model.objects import Json
from osm_gitops.render.resolve.bootstrap_token import GETTER_SECRET


def getter() -> tuple[dict[str, Json], ...]:
    """Namespace, account, its lasting token, and the right to get Secrets there: machines list nothing."""
    namespace, token = GETTER_SECRET
    account = token.removesuffix(TOKEN_SUFFIX)
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        service_account(namespace, account),
        lasting_token(namespace, account),
        *role(namespace, account, namespace, rules),
    )
