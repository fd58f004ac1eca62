"""The config repository of a cluster that was found: settings, profiles and pools as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from osm_gitops.commands.init.adoption.authority import Authority
from osm_gitops.commands.init.adoption.osm_settings import FoundSetting
from osm_gitops.commands.init.scaffold import CREDENTIALS, Scaffold, checked_recipients, yaml_scalar
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG
from osm_gitops.errors import Code, Problem
from osm_gitops.kube.context_ref import ContextRef
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.provider import PROVIDER_CONFIG_FIELD
from osm_gitops.model.server_fields import authored
from osm_gitops.plan.sensitive import inline_credentials
from osm_gitops.sops.document import encrypt
from osm_gitops.sops.rules import Rule
from osm_gitops.sops.selection import Selection
from osm_gitops.yaml.emit import dump

PLACES: Final[Mapping[str, str]] = {
    "adopted-fleet.yaml": "osm-gitops.yaml",
    "adopted-sops.yaml": ".sops.yaml",
    "gitattributes": ".gitattributes",
    "gitignore": ".gitignore",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
    "adopted-README.md": "README.md",
}
"""Where each text of such a repository goes."""

_BUNDLES: Final[Mapping[str, str]] = {"kubernetes-ca-bundle": "kubernetes.pem", "host-ca-bundle": "hosts.pem"}


@dataclass(frozen=True, slots=True)
class Adopted:
    """What a cluster has. ``authority`` is what the pinned CA certificates are and where they stood."""

    inputs: Inputs
    settings: Sequence[FoundSetting]
    authority: Authority | None
    management: ContextRef = field(default_factory=ContextRef)
    worker: ContextRef = field(default_factory=ContextRef)

    @property
    def machines(self) -> tuple[MachineDeployment, ...]:
        """The pools that stay."""
        return tuple(machine for machine in self.inputs.machines if not machine.deleting)


def repository_files(adopted: Adopted, scaffold: Scaffold, branch: str, *, with_pools: bool) -> dict[str, bytes]:
    """All files by their path, ``with_pools`` the MachineDeployments too. Raises InputError for recipients that cannot
    be used."""
    words = {
        **_machine_words(scaffold.cluster, with_pools=with_pools),
        "__SETTINGS__": "".join(_setting_lines(adopted, scaffold.cluster)),
        "__CONNECTIONS__": "".join(_connection_lines(adopted)),
    }
    shell = Scaffold(
        scaffold.texts, scaffold.schema, scaffold.cluster, scaffold.recipients, scaffold.now, PLACES, words
    )
    rule = Rule(checked_recipients(scaffold.recipients), Selection(encrypted_regex=CREDENTIALS), "--age-recipient")
    files = shell.files(branch)
    for name, text in _bundles(adopted):
        files[_bundle_path(scaffold.cluster, name)] = text.encode("utf-8", "surrogateescape")
    for machine in adopted.machines if with_pools else ():
        body = authored(machine.manifest)
        if inline_credentials(machine.provider_spec):
            body = encrypt(body, rule, now=scaffold.now)
        files[f"pools/{scaffold.cluster}/{machine.namespace}/{machine.name}.yaml"] = dump(body).encode()
    for (namespace, name), profile in adopted.inputs.profiles.items():
        files[f"osps/{namespace}/{name}.yaml"] = dump(authored(profile.manifest)).encode()
    return files


def _machine_words(cluster: str, *, with_pools: bool) -> dict[str, str]:
    """What the texts say of MachineDeployments: they are read from the cluster, or kept in the repository."""
    if not with_pools:
        source, rows = "# As they are at each run: a new pool counts at once.\n    machineDeployments: cluster", ""
        where = "MachineDeployments stay in the cluster and are changed there: every run reads them."
    else:
        source = (
            "# `osm-gitops apply` applies them to the cluster, and deletes none.\n"
            f"    machineDeployments: {{path: pools/{cluster}, apply: true}}"
        )
        rows = f"| `pools/{cluster}/` | the MachineDeployments; those with credentials in them are encrypted |\n"
        where = (
            "MachineDeployments are changed in `pools/`, from where `osm-gitops apply` brings them to the cluster. "
            "Those that\nonly the cluster has get no boot configuration from here; `plan` and `status` name them."
        )
    return {"__MACHINES__": f"    {source}\n", "__POOLS__": rows, "__WHERE_POOLS_CHANGE__": f"{where}\n"}


def credential_warnings(machines: Sequence[MachineDeployment]) -> Iterator[Problem]:
    """Name each credential that stands in a MachineDeployment itself, never its value."""
    for machine in machines:
        for path in inline_credentials(machine.provider_spec):
            yield Problem(
                Code.UNCODED,
                "is a credential in clear text, which every reader of MachineDeployments sees",
                about=str(machine.ref),
                field=f"{PROVIDER_CONFIG_FIELD}.{path}",
                fix="Put it into a Secret and name that under secretKeyRef (this makes new boot configuration)",
            )


def _bundles(adopted: Adopted) -> Iterator[tuple[str, str]]:
    """The files that settings name, with their text."""
    if adopted.authority is not None:
        yield _BUNDLES["kubernetes-ca-bundle"], adopted.authority.text
    for setting in adopted.settings:
        if setting.content is not None and not setting.secret and setting.flag != "kubernetes-ca-bundle":
            yield _BUNDLES[setting.flag], setting.content


def _bundle_path(cluster: str, name: str) -> str:
    return f"ca/{cluster}/{name}"


def _setting_lines(adopted: Adopted, cluster: str) -> Iterator[str]:
    lines = list(_settings(adopted, cluster))
    if lines:
        yield "  # What Operating System Manager had, each with where it stood.\n  settings:\n"
        yield from lines


def _settings(adopted: Adopted, cluster: str) -> Iterator[str]:
    if adopted.authority is not None:
        key = SETTINGS_BY_FLAG["kubernetes-ca-bundle"].key
        yield f"    # {adopted.authority.origin}\n"
        yield f"    {key}: {yaml_scalar(_bundle_path(cluster, _BUNDLES['kubernetes-ca-bundle']))}\n"
    for each in adopted.settings:
        if each.flag in {"kubernetes-ca-bundle", "namespace"}:
            continue
        yield f"    # {', '.join(each.origins)}\n"
        if each.secret:
            yield f"    # {each.setting.key} holds a credential: set {each.setting.environment} instead\n"
            continue
        value = _bundle_path(cluster, _BUNDLES[each.flag]) if each.content is not None else each.value
        yield "".join(f"    {line}\n" for line in dump({each.setting.key: value}).splitlines())


def _connection_lines(adopted: Adopted) -> Iterator[str]:
    namespace = next((each.value for each in adopted.settings if each.flag == "namespace"), "")
    management = _connection(adopted.management) | ({"namespace": namespace} if namespace else {})
    for side, connection in (("management", management), ("worker", _connection(adopted.worker))):
        if connection:
            yield "".join(f"  {line}\n" for line in dump({side: connection}).splitlines())


def _connection(access: ContextRef) -> dict[str, str]:
    kubeconfig = str(Path(access.kubeconfig).absolute()) if access.kubeconfig else ""
    return {key: text for key, text in (("kubeconfig", kubeconfig), ("context", access.context)) if text}
