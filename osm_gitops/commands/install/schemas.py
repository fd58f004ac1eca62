"""CustomResourceDefinitions of profiles and configurations (osm-behaviour.md, "Resources"), compatible with OSM's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from osm_gitops.kube.kinds import CONFIG, PROFILE, Kind
from osm_gitops.model.objects import OPERATING_SYSTEMS, Json
from osm_gitops.model.profile import DEFAULT_PERMISSIONS
from osm_gitops.render.resolve.cloudconfig import PROVIDERS
from osm_gitops.sources.profiles import RUNTIMES, UTILITIES, VERSION_PATTERN

Schema = dict[str, Json]

_STRING: Final[Schema] = {"type": "string"}
_BOOLEAN: Final[Schema] = {"type": "boolean"}
_FREE: Final[Schema] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definitions() -> tuple[dict[str, Json], ...]:
    """Both definitions, in the order in which they are applied."""
    return (
        _definition(PROFILE, "osp", _profile(), _PROFILE_COLUMNS),
        _definition(CONFIG, "osc", _config(), _CONFIG_COLUMNS),
    )


def _definition(kind: Kind, short: str, schema: Schema, columns: Sequence[Schema]) -> dict[str, Json]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": [short],
            },
            "versions": [
                {
                    "name": kind.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "additionalPrinterColumns": list(columns),
                }
            ],
        },
    }


def _column(name: str, path: str, kind: str = "string", *, wide: bool = False) -> Schema:
    """``wide``: shown by ``kubectl get -o wide`` only."""
    return {"name": name, "jsonPath": path, "type": kind} | ({"priority": 1} if wide else {})


_AGE: Final = _column("Age", ".metadata.creationTimestamp", "date")
_PROFILE_COLUMNS: Final = (
    _column("OS", ".spec.osName"),
    _column("Version", ".spec.version"),
    _column("OS version", ".spec.osVersion", wide=True),
    _column("Utility", ".spec.provisioningUtility", wide=True),
    _AGE,
)
_CONFIG_COLUMNS: Final = (
    _column("OS", ".spec.osName"),
    _column("Provider", ".spec.cloudProvider.name"),
    _column("Revision", r".metadata.annotations.k8c\.io/machine-deployment-revision"),
    _column("Profile version", r".metadata.annotations.k8c\.io/osp-version", wide=True),
    _AGE,
)


# The rules of OSM's webhook (osm-behaviour.md, "Webhooks"), which is removed with OSM.
_PROFILE_RULES: Final = [
    {
        "rule": "self.version != oldSelf.version || self == oldSelf",
        "message": "spec may change only together with spec.version: give the profile a new version",
        "fieldPath": ".version",
    },
    *(
        {
            "rule": f"self.osName == 'flatcar' || !has(self.{half}.units) || self.{half}.units.size() == 0",
            "message": "only profiles for flatcar have units",
            "fieldPath": f".{half}.units",
        }
        for half in ("bootstrapConfig", "provisioningConfig")
    ),
]


def _profile() -> Schema:
    half = _profile_half()
    spec = _object(
        "The template of a boot configuration.",
        {
            "osName": _among("The operating system.", OPERATING_SYSTEMS),
            "osVersion": _text("The version of the operating system."),
            "version": _text("Version of the profile, such as v1.2.3. It must change if the spec changes.")
            | {"pattern": VERSION_PATTERN},
            "supportedCloudProviders": _list("The cloud providers that the profile supports.", _provider()),
            "bootstrapConfig": half
            | {"description": "The configuration that a machine starts with, which fetches the rest."},
            "provisioningConfig": half | {"description": "The configuration that makes the machine a node."},
            "provisioningUtility": _utility(),
        },
        ("osName", "osVersion", "version", "supportedCloudProviders", "bootstrapConfig", "provisioningConfig"),
    )
    spec["x-kubernetes-validations"] = _PROFILE_RULES
    return _kind("A template for the boot configurations of MachineDeployments.", spec)


def _profile_half() -> Schema:
    return _object(
        "The configuration for one of the two steps of the boot.",
        {
            "supportedContainerRuntimes": _list("Files and templates for one container runtime each.", _runtime()),
            "templates": _texts("Templates by name, which files may call."),
            "units": _list("systemd units, which are not rendered. Only for flatcar.", _unit()),
            "files": _list("Files, whose content is a template.", _file()),
            "modules": _modules(),
        },
    )


def _config() -> Schema:
    half = _object(
        "The configuration for one of the two steps of the boot.",
        {
            "units": _list("systemd units.", _unit()),
            "files": _list("Files with their content.", _file()),
            "userSSHKeys": _list("Public SSH keys of the first user.", _STRING),
            "modules": _modules(),
        },
    )
    spec = _object(
        "A boot configuration. It contains tokens and passwords in plain text.",
        {
            "osName": _among("The operating system.", OPERATING_SYSTEMS),
            "osVersion": _text("The version of the operating system."),
            "cloudProvider": _provider() | {"description": "The cloud provider, as in the MachineDeployment."},
            "bootstrapConfig": half
            | {"description": "The configuration that machines start with, which fetches the rest."},
            "provisioningConfig": half | {"description": "The configuration that makes the machines nodes."},
            "provisioningUtility": _utility(),
        },
        ("osName", "osVersion", "cloudProvider", "bootstrapConfig", "provisioningConfig"),
    )
    return _kind("The boot configuration of the machines of a MachineDeployment.", spec)


def _kind(description: str, spec: Schema) -> Schema:
    about = {"apiVersion": _STRING, "kind": _STRING, "metadata": {"type": "object"}, "spec": spec}
    return _object(description, about, ("spec",))


def _provider() -> Schema:
    return _object(
        "A cloud provider.",
        {
            "name": _among("Its name, as in a MachineDeployment.", sorted(PROVIDERS)),
            "spec": _FREE | {"description": "Fields of the provider."},
        },
        ("name",),
    )


def _runtime() -> Schema:
    return _object(
        "What a profile adds for one container runtime.",
        {
            "name": _among("The container runtime. Entries for docker are ignored.", RUNTIMES),
            "files": _list("Files that come after the others.", _file()),
            "templates": _texts("Templates by name; those of the profile take precedence."),
        },
        ("name", "files"),
    )


def _file() -> Schema:
    inline = _object(
        "The content itself.",
        {"encoding": _text("With b64, cloud-init gets the content in base64."), "data": _text("The text.")},
        ("data",),
    )
    return _object(
        "A file on the machine.",
        {
            "path": _text("Its absolute path."),
            "permissions": {
                "description": "A decimal number whose digits are read as octal: 755, not 0755.",
                "type": "integer",
                "format": "int32",
                "default": DEFAULT_PERMISSIONS,
            },
            "content": _object("Where its content comes from.", {"inline": inline}),
        },
        ("path", "content"),
    )


def _unit() -> Schema:
    drop_in = _object(
        "A drop-in.", {"name": _text("Name of its file."), "content": _text("Its text.")}, ("name", "content")
    )
    return _object(
        "A systemd unit.",
        {
            "name": _text("Its name with the extension."),
            "enable": _BOOLEAN | {"description": "Whether it starts with the machine."},
            "mask": _BOOLEAN | {"description": "Whether it can never start."},
            "content": _text("Its text."),
            "dropIns": _list("Files that change it.", drop_in),
        },
        ("name",),
    )


def _modules() -> Schema:
    repositories = {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": _STRING}}
    return _object(
        "Modules of cloud-init, which are not rendered.",
        {
            "bootcmd": _list("Commands of every early boot.", _STRING),
            "rh_subscription": _texts("The subscription of a machine with Red Hat Enterprise Linux."),
            "runcmd": _list("Commands of the first boot.", _STRING),
            "yum_repos": repositories | {"description": "Repositories of yum by name, each with its settings."},
            "yum_repo_dir": _text("Folder for their files."),
        },
    )


def _utility() -> Schema:
    return _among("The program that applies the configuration.", UTILITIES) | {"default": UTILITIES[0]}


def _object(description: str, properties: Schema, required: Sequence[str] = ()) -> Schema:
    body: Schema = {"description": description, "type": "object", "properties": properties}
    return body | ({"required": list(required)} if required else {})


def _list(description: str, entry: Schema) -> Schema:
    return {"description": description, "type": "array", "items": entry}


def _texts(description: str) -> Schema:
    return {"description": description, "type": "object", "additionalProperties": _STRING}


def _text(description: str) -> Schema:
    return _STRING | {"description": description}


def _among(description: str, values: Sequence[str]) -> Schema:
    return _text(description) | {"enum": sorted(values)}
