"""The keys of a fleet file, level by level, each with a JSON schema of its value (design.md, "Fleet file").

The reader, which refuses other keys, and the JSON schema for editors use the same tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.config.setting_names import SETTINGS, Kind
from osm_gitops.config.spec import LIVE
from osm_gitops.model.objects import Json

Keys = dict[str, dict[str, Json]]
"""The keys of one level, each with the schema of its value."""

API_VERSION: Final = "osm-gitops.io/v1alpha1"
NAME_PATTERN: Final = r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?"

_TEXT: Final = {"type": "string", "minLength": 1}
_NO_TILDE: Final = {"pattern": "^[^~]"}


def _text(description: str, **more: Json) -> dict[str, Json]:
    return {"description": description, **_TEXT, **more}


GIT: Final[Keys] = {
    "path": _text("The folder for the desired state, in a git work tree; relative to the fleet file."),
    "branch": _text("The branch that must be checked out. Without it, any branch."),
    "remote": _text("The remote to push to.", default="origin"),
    "push": {
        "description": "Push after committing. Fetches first, and plans again if the remote has moved.",
        "type": "boolean",
        "default": False,
    },
    "commit": {
        "description": "One commit for each cluster that changes, or one for the run. They are pushed together.",
        "enum": ["cluster", "run"],
        "default": "cluster",
    },
    "sign": {"description": "Sign commits, or not. Without it, as git's configuration says.", "type": "boolean"},
    "pullRequest": {
        "description": "Push to a branch of its own, and keep one pull request for it. {} has all defaults.",
        "type": "object",
    },
}
_NAMES: Final = {"type": "array", "items": {"type": "string", "minLength": 1, "pattern": r"^[^,\s]([^,]*[^,\s])?$"}}
AUTO_MERGE: Final = ("merge", "squash", "rebase")
PULL_REQUEST: Final[Keys] = {
    "branch": _text(
        "Branch of the pull request. With {cluster} in it, each cluster has a branch and a pull request of its own.",
        default="osm-gitops/update",
    ),
    "title": _text("Title. {cluster} in it is the name of the cluster. Without it, the clusters and what changes."),
    "labels": {"description": "Labels to add.", **_NAMES},
    "reviewers": {"description": "Who is asked for a review: accounts, or teams as org/team.", **_NAMES},
    "draft": {"description": "Open it as a draft.", "type": "boolean", "default": False},
    "autoMerge": {
        "description": "Ask the forge to merge it as soon as its rules allow, in this way.",
        "enum": [*AUTO_MERGE],
    },
}
TARGET: Final[Keys] = {
    "git": {
        "description": "A folder in a git work tree.",
        "type": "object",
        "required": ["path"],
    }
}
MACHINES: Final[Keys] = {
    "path": _text("Where they are: cluster, or a folder or file."),
    "apply": {
        "description": "Apply the MachineDeployments of the path to the worker cluster, if the target is cluster. "
        "None is ever deleted.",
        "type": "boolean",
        "default": False,
    },
}
SOURCE: Final[Keys] = {
    "machineDeployments": {
        "description": "Where the MachineDeployments are: cluster, or a folder or file, also PATH@REV; "
        "or a mapping that also says whether to apply them.",
        "type": ["string", "object"],
    },
    "profiles": _text("Where the OperatingSystemProfiles are. Without it, with the MachineDeployments."),
    "facts": _text(
        "Where the ConfigMaps, Secrets, ServiceAccounts and EndpointSlices are that rendering reads. "
        "Without it, with the MachineDeployments."
    ),
}
WORKER: Final[Keys] = {
    "kubeconfig": _text("Kubeconfig, relative to the fleet file. Without it, the one that kubectl uses.", **_NO_TILDE),
    "context": _text("Context in the kubeconfig. Without it, the current one."),
}
MANAGEMENT: Final[Keys] = WORKER | {
    "namespace": {"description": "The same as the setting namespace.", "type": "string", "minLength": 1}
}
CLUSTER: Final[Keys] = {
    "name": _text(
        "Name of the cluster: the folder of its desired state, and what --cluster takes.", pattern=f"^{NAME_PATTERN}$"
    ),
    "from": {"description": "Where objects are read: cluster, a folder or file, or one of them for each part."},
    "settings": {"description": "Settings by their keys.", "type": ["object", "null"]},
    "overlays": {
        "description": "Overlays of the cluster: folders with overlay.yaml relative to the fleet file, PATH@REV "
        "for a git revision, or builtin:NAME. Later ones take precedence. Those of defaults come first.",
        "type": ["array", "null"],
        "items": _TEXT,
    },
    "to": {"description": "Where the desired state goes: cluster, or a folder in git."},
    "management": {"description": "The cluster of profiles and configurations.", "type": ["object", "null"]},
    "worker": {
        "description": "The cluster of MachineDeployments and Secrets. Without it, the management cluster.",
        "type": ["object", "null"],
    },
    "profilesVersion": {
        "description": "Version of the built-in profiles; an upgrade of osm-gitops does not change it. "
        "The same as the setting profilesVersion. Without it, the newest.",
        "type": ["string", "null"],
        "pattern": r"^v[0-9]+\.[0-9]+\.[0-9]+",
    },
}


def _name_pattern(*placeholders: str) -> str:
    """A name with placeholders, and with the first of them at least once."""
    letter = rf"(\{{({'|'.join(placeholders)})\}}|[a-z0-9])"
    inner = letter.replace("[a-z0-9]", "[a-z0-9.-]")
    return rf"^(?=.*\{{{placeholders[0]}\}}){letter}({inner}*{letter})?$"


SEED: Final[Keys] = {
    "kubeconfig": _text(
        "Kubeconfig of the seed, relative to the fleet file. Without it, the one that kubectl uses, or in a pod "
        "the cluster that it runs in.",
        **_NO_TILDE,
    ),
    "context": _text("Context in the kubeconfig. Without it, the current one."),
}
_GLOBS: Final = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
SELECT: Final[Keys] = {
    "project": {"description": "Ids of projects, as a glob or a list of globs.", **_GLOBS},
    "datacenter": {"description": "Names of datacenters, as a glob or a list of globs.", **_GLOBS},
    "labels": {
        "description": "Labels that a Cluster must have. Clusters with the label worker-name are left out unless it is "
        "given here.",
        "type": "object",
        "additionalProperties": {"type": "string"},
    },
    "names": {"description": "Ids or human-readable names of clusters, as a glob or a list of globs.", **_GLOBS},
}
KKP: Final[Keys] = {
    "seed": {
        "description": "The cluster with the Cluster objects of KKP. Without it, the one that kubectl uses.",
        "type": ["object", "null"],
    },
    "name": {
        "description": "Names of the clusters: a text with {cluster}, which is the id of the Cluster, and perhaps "
        "{project} or {datacenter}. Paths of from and overlays may have them too.",
        "type": "string",
        "pattern": _name_pattern("cluster", "project", "datacenter"),
        "default": "{cluster}",
    },
    "select": {
        "description": "The clusters that are meant: those that fit all of these keys. Without it, all of the seed.",
        "type": ["object", "null"],
    },
    "address": {
        "description": "Where their API servers are reached: internal, from the seed's pods, or external. Without it, "
        "internal in a pod of the seed, else external.",
        "enum": ["internal", "external"],
    },
    "whilePaused": {
        "description": "What runs do in a cluster that is paused in KKP: plan writes nothing, renew only renews "
        "tokens, write does everything.",
        "enum": ["plan", "renew", "write"],
        "default": "plan",
    },
    "profiles": _text(
        "Profiles that git owns on the seed: a folder or file, relative to the fleet file, that osm-gitops kkp "
        "apply-profiles applies as CustomOperatingSystemProfiles.",
    ),
}
KKP_CLUSTER: Final[Keys] = {
    "kkp": {
        "description": "The user clusters of a seed of Kubermatic Kubernetes Platform (KKP), found when a run begins. "
        "Their settings are those that KKP gives to Operating System Manager; settings of overlays, of the fleet file "
        "and flags win.",
        "type": "object",
    },
    **{key: value for key, value in CLUSTER.items() if key not in {"name", "management", "worker"}},
    "from": CLUSTER["from"] | {"default": LIVE},
    "overrides": {
        "description": "Other values for some of the clusters, by the id of the Cluster. A key of a cluster wins; "
        "settings and overlays are merged.",
        "type": ["object", "null"],
    },
}
OVERRIDE: Final[Keys] = {key: value for key, value in CLUSTER.items() if key not in {"name", "management", "worker"}}
"""The keys of a cluster below ``overrides``."""
_DURATION: Final = {"type": "string", "pattern": "^[+]?([0-9]*[.]?[0-9]*(ns|us|µs|μs|ms|s|m|h))+$"}
AFTER: Final[Keys] = {
    "wave": _text("The wave that must have a change before."),
    "soak": {"description": "How long all clusters of that wave must have had it.", "default": "24h", **_DURATION},
    "healthy": {
        "description": "Whether those clusters must be healthy, as status finds them, and their new Machines must have "
        "joined. A cluster that cannot be read is not healthy.",
        "type": "boolean",
        "default": True,
    },
    "waiting": {
        "description": "The longest time that a new Machine may take to join, with healthy.",
        "default": "30m",
        **_DURATION,
    },
    "machines": {
        "description": "How many Machines must have joined with the change in that wave, with healthy.",
        "type": "integer",
        "minimum": 0,
        "default": 0,
    },
}
WAVE: Final[Keys] = {
    "name": _text("Name of the wave.", pattern=f"^{NAME_PATTERN}$"),
    "select": {
        "description": "Names (globs) of the clusters of the wave.",
        "type": "array",
        "minItems": 1,
        "items": _TEXT,
    },
    "after": {"description": "What the wave waits for. Without it, it waits for nothing.", "type": "object"},
    "hold": _text("Why the wave gets no change at present. Without it, it is not held."),
}
TOP: Final[Keys] = {
    "apiVersion": {"description": "Version of this format.", "const": API_VERSION},
    "kind": {"description": "What the file is.", "const": "Fleet"},
    "defaults": {
        "description": "Defaults of all clusters. A key of a cluster wins; settings and overlays are merged.",
        "type": ["object", "null"],
    },
    "clusters": {"description": "The clusters of the fleet.", "type": "array", "minItems": 1},
    "waves": {
        "description": "In which order clusters get changes of profiles, overlays and settings. A cluster that is in "
        "no wave gets them at once.",
        "type": ["array", "null"],
    },
}


# Editors report the mistakes of the kind that an entry has.
_ENTRY: Final = {
    "if": {"required": ["kkp"]},
    "then": {"$ref": "#/$defs/userClusters"},
    "else": {"$ref": "#/$defs/cluster"},
}

SCHEMA_FILE: Final = ".osm-gitops/fleet.schema.json"
"""Path of the schema in a config repository, beside the fleet file."""
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
# As Go's strconv.ParseBool reads them.
_BOOLEAN_TEXTS: Final = [*("1", "t", "T", "true", "TRUE", "True"), *("0", "f", "F", "false", "FALSE", "False")]

_VALUES: Final[Mapping[Kind, Mapping[str, Json]]] = {
    Kind.TEXT: {"type": "string"},
    Kind.TEXTS: {"anyOf": [{"type": "string"}, _TEXTS]},
    Kind.BOOLEAN: {"anyOf": [{"type": "boolean"}, {"enum": _BOOLEAN_TEXTS}]},
    Kind.GATES: {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "boolean"}}]},
    Kind.MIRRORS: {
        "anyOf": [
            {"type": "string"},
            _TEXTS,
            {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, _TEXTS]}},
        ]
    },
    Kind.FILE: {"type": "string"},
    Kind.COUNT: {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[+]?0*[1-9][0-9]*$"}]},
    Kind.DURATION: _DURATION,
}


def fleet_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the file's ``apiVersion``."""
    defaults = {key: value for key, value in CLUSTER.items() if key != "name"}
    machines = {"anyOf": [MACHINES["path"], closed_object(MACHINES, required=["path"])]}
    source = SOURCE | {"machineDeployments": SOURCE["machineDeployments"] | machines}
    git = GIT | {"pullRequest": GIT["pullRequest"] | closed_object(PULL_REQUEST)}
    target = TARGET | {"git": TARGET["git"] | closed_object(git)}
    override = {"additionalProperties": {"$ref": "#/$defs/override"}}
    user_clusters = KKP_CLUSTER | {"overrides": KKP_CLUSTER["overrides"] | override}
    kkp = KKP | {"seed": KKP["seed"] | closed_object(SEED), "select": KKP["select"] | closed_object(SELECT)}
    wave = WAVE | {"after": WAVE["after"] | closed_object(AFTER, required=["wave"])}
    return {
        "$schema": DIALECT,
        "$id": f"https://{API_VERSION}/fleet.schema.json",
        "title": f"Fleet file of osm-gitops, {API_VERSION}",
        **closed_object(TOP, required=["apiVersion", "kind", "clusters"]),
        "properties": {
            **TOP,
            "defaults": TOP["defaults"] | closed_object(_cluster(defaults)),
            "clusters": TOP["clusters"] | {"items": _ENTRY},
            "waves": TOP["waves"] | {"items": closed_object(wave, required=["name", "select"])},
        },
        "$defs": {
            "cluster": closed_object(_cluster(CLUSTER), required=["name"]),
            "userClusters": closed_object(_cluster(user_clusters), required=["kkp"]),
            "kkp": closed_object(kkp),
            "override": {"type": "object"} | closed_object(_cluster(OVERRIDE)),
            "settings": settings_schema(),
            "source": {"anyOf": [MACHINES["path"], closed_object(source, required=["machineDeployments"])]},
            "target": {"anyOf": [{"const": LIVE}, closed_object(target, required=["git"])]},
            "management": closed_object(MANAGEMENT),
            "worker": closed_object(WORKER),
        },
    }


def settings_schema() -> dict[str, Json]:
    """The schema of settings by their keys."""
    return closed_object({each.key: {"description": each.help, **_VALUES[each.kind]} for each in SETTINGS})


def _cluster(keys: Keys) -> Keys:
    """The keys of a cluster, with the schemas of the levels below them."""
    below = {"from": "source", "to": "target"} | {key: key for key in ("kkp", "settings", "management", "worker")}
    return keys | {key: keys[key] | {"$ref": f"#/$defs/{name}"} for key, name in below.items() if key in keys}


def closed_object(properties: Keys, *, required: list[str] | None = None) -> dict[str, Json]:
    """A schema that allows no other keys. The type is with the key, because some may be null."""
    body: dict[str, Json] = {"properties": dict(properties), "additionalProperties": False}
    return body | ({"type": "object", "required": required} if required else {})
