"""The JSON of Ignition 2.3.0: members of every object, and types of the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# A type is a mapping of members, a list of one type, or the name of a scalar; a ! marks what must be there.
Shape = Any

_VERIFICATION: Final[Shape] = {"hash": "string"}
_REFERENCE: Final[Shape] = {"source": "string!", "verification": _VERIFICATION}
_OWNER: Final[Shape] = {"id": "integer", "name": "string"}
_NODE: Final[Mapping[str, Shape]] = {
    "filesystem": "string!",
    "path": "string!",
    "user": _OWNER,
    "group": _OWNER,
    "overwrite": "boolean",
}
_CONTENTS: Final[Shape] = {"compression": "string", "source": "string", "verification": _VERIFICATION}
_DROP_INS: Final[Shape] = [{"name": "string!", "contents": "string"}]
_CREATE: Final[Shape] = {"force": "boolean", "options": ["string"]}
_MOUNT: Final[Shape] = {
    "device": "string!",
    "format": "string!",
    "label": "string",
    "uuid": "string",
    "options": ["string"],
    "wipeFilesystem": "boolean",
    "create": _CREATE,
}
_PARTITION: Final[Shape] = {
    **dict.fromkeys(("guid", "label", "typeGuid"), "string"),
    **dict.fromkeys(("number", "size", "sizeMiB", "start", "startMiB"), "integer"),
    **dict.fromkeys(("shouldExist", "wipePartitionEntry"), "boolean"),
}
_USER: Final[Shape] = {
    "name": "string!",
    **dict.fromkeys(("gecos", "homeDir", "passwordHash", "primaryGroup", "shell"), "string"),
    **dict.fromkeys(("noCreateHome", "noLogInit", "noUserGroup", "system"), "boolean"),
    "uid": "integer",
    "groups": ["string"],
    "sshAuthorizedKeys": ["string"],
    "create": {
        **dict.fromkeys(("gecos", "homeDir", "primaryGroup", "shell"), "string"),
        **dict.fromkeys(("noCreateHome", "noLogInit", "noUserGroup", "system"), "boolean"),
        "uid": "integer",
        "groups": ["string"],
    },
}
CONFIG: Final[Shape] = {
    "ignition": {
        "version": "string!",
        "config": {"append": [_REFERENCE], "replace": _REFERENCE},
        "security": {"tls": {"certificateAuthorities": [_REFERENCE]}},
        "timeouts": {"httpResponseHeaders": "integer", "httpTotal": "integer"},
    },
    "networkd": {"units": [{"name": "string!", "contents": "string", "dropins": _DROP_INS}]},
    "passwd": {
        "users": [_USER],
        "groups": [{"name": "string!", "gid": "integer", "passwordHash": "string", "system": "boolean"}],
    },
    "storage": {
        "disks": [{"device": "string!", "wipeTable": "boolean", "partitions": [_PARTITION]}],
        "raid": [
            {"name": "string!", "level": "string", "devices": ["string"], "options": ["string"], "spares": "integer"}
        ],
        "filesystems": [{"name": "string", "path": "string", "mount": _MOUNT}],
        "files": [{**_NODE, "mode": "integer", "append": "boolean", "contents": _CONTENTS}],
        "directories": [{**_NODE, "mode": "integer"}],
        "links": [{**_NODE, "hard": "boolean", "target": "string!"}],
    },
    "systemd": {
        "units": [
            {
                "name": "string!",
                "contents": "string",
                "dropins": _DROP_INS,
                "enable": "boolean",
                "enabled": "boolean",
                "mask": "boolean",
            }
        ]
    },
}
"""The whole document."""
