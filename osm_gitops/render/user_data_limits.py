"""How much user-data a provider takes, and in which form machine-controller hands it over.

Only the bootstrap half goes through a provider; the provisioning half is read from the API server, where the data of
a Secret may have 1 MiB.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import quote_plus

from osm_gitops.render.user_data import MACHINE_NAME

SECRET_BYTES: Final = 1 << 20
"""What the API server takes as the data of one Secret, and so as a provisioning half."""

_KIB: Final = 1 << 10
_URL_MACHINE_NAME: Final = quote_plus(MACHINE_NAME)
_FLATCAR: Final = "flatcar"
# A MachineSet adds the hash of its template, a Machine five characters; the API server cuts such names to this length.
_NAME_LENGTH: Final = 63
_HASH_AND_SUFFIX: Final = len("-") + 10 + len("-") + 5


class Counted(Enum):
    """The form of user-data whose bytes a provider counts."""

    RAW = "raw"
    GZIP = "gzip"
    BASE64 = "base64"


@dataclass(frozen=True, slots=True)
class UserDataLimit:
    """At most ``size`` bytes in the form that is ``counted``; ``source`` says where that is written."""

    size: int
    counted: Counted
    source: str


@dataclass(frozen=True, slots=True)
class UserDataSize:
    """The sizes in bytes of a half as a machine gets it, and what holds for it; ``limit`` is ``None`` where none is
    known, and ``why`` says why then.

    ``gzipped`` is what machine-controller's own gzip comes to, give or take a few bytes.
    """

    raw: int
    gzipped: int
    base64: int
    limit: UserDataLimit | None
    why: str = ""

    @property
    def counted(self) -> int:
        """The bytes that count against the limit."""
        form = self.limit.counted if self.limit else Counted.RAW
        return {Counted.RAW: self.raw, Counted.GZIP: self.gzipped, Counted.BASE64: self.base64}[form]

    @property
    def headroom(self) -> int | None:
        """How many bytes are left; negative where there are too many, ``None`` without a limit."""
        return None if self.limit is None else self.limit.size - self.counted


def bootstrap_size(user_data: str, machine_deployment: str, provider: str, os: str) -> UserDataSize:
    """The size of a bootstrap half with the longest name that a Machine of the pool can get in place of
    ``<MACHINE_NAME>``, against the limit of ``provider`` for machines with ``os``."""
    name = longest_machine_name(machine_deployment)
    named = user_data.replace(MACHINE_NAME, name).replace(_URL_MACHINE_NAME, quote_plus(name))
    limit, why = user_data_limit(provider, os)
    return _size(named.encode(errors="surrogateescape"), limit, why)


def provisioning_size(user_data: str) -> UserDataSize:
    """The size of a provisioning half against that of a Secret; it never passes through a provider."""
    return _size(user_data.encode(errors="surrogateescape"), _SECRET, "")


def longest_machine_name(machine_deployment: str) -> str:
    """A name as long as that of any Machine of this MachineDeployment."""
    return f"{machine_deployment}{'-' * _HASH_AND_SUFFIX}"[:_NAME_LENGTH]


def user_data_limit(provider: str, os: str) -> tuple[UserDataLimit | None, str]:
    """The limit, or ``None`` and a clause that says why there is none to check."""
    special = _FLATCAR_LIMITS.get(provider) if os == _FLATCAR else None
    limit = special or _LIMITS.get(provider)
    if limit is not None:
        return limit, ""
    return None, _UNLIMITED.get(provider, "no limit of this provider is documented")


def _size(data: bytes, limit: UserDataLimit | None, why: str) -> UserDataSize:
    return UserDataSize(len(data), _gzip_size(data), -(-len(data) // 3) * 4, limit, why)


def _gzip_size(data: bytes) -> int:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    return len(packer.compress(data)) + len(packer.flush())


_SECRET: Final = UserDataLimit(SECRET_BYTES, Counted.RAW, "Kubernetes: the data of a Secret has at most 1 MiB")
_AWS: Final = "Amazon EC2: user data is limited to 16 KB, before it is base64-encoded"

_LIMITS: Final[Mapping[str, UserDataLimit]] = {
    "aws": UserDataLimit(16 * _KIB, Counted.GZIP, f"{_AWS}; machine-controller sends it gzipped"),
    "azure": UserDataLimit(65_535, Counted.RAW, "Azure Compute API: customData has at most 65535 bytes when decoded"),
    "gce": UserDataLimit(256 * _KIB, Counted.RAW, "Compute Engine API: a metadata value has at most 262144 bytes"),
    "openstack": UserDataLimit(65_535, Counted.BASE64, "OpenStack Nova: user data has at most 65535 bytes in base64"),
    "hetzner": UserDataLimit(32 * _KIB, Counted.RAW, "Hetzner Cloud API: user_data is limited to 32 KiB"),
    "digitalocean": UserDataLimit(64 * _KIB, Counted.RAW, "DigitalOcean API: user_data may not exceed 64 KiB"),
    "alibaba": UserDataLimit(32 * _KIB, Counted.RAW, "Alibaba Cloud ECS: user data has at most 32 KB, before base64"),
    "linode": UserDataLimit(
        65_535 - len('{"userdata":""}'),
        Counted.BASE64,
        "Linode API: stackscript_data, by which machine-controller sends it in base64, has at most 65535 characters",
    ),
    "kubevirt": UserDataLimit(SECRET_BYTES, Counted.RAW, f"KubeVirt reads it from a Secret. {_SECRET.source}"),
}
# Where machine-controller hands it to Flatcar in another way than to the rest.
_FLATCAR_LIMITS: Final[Mapping[str, UserDataLimit]] = {
    "aws": UserDataLimit(16 * _KIB, Counted.RAW, f"{_AWS}; machine-controller sends Flatcar's as it is"),
    "vsphere": UserDataLimit(64 * _KIB, Counted.BASE64, "vSphere: a guestinfo value has at most 64 KiB"),
    "kubevirt": UserDataLimit(
        256 * _KIB, Counted.RAW, "KubeVirt reads Ignition from an annotation; all of an object have at most 256 KiB"
    ),
}
_UNLIMITED: Final[Mapping[str, str]] = {
    "vsphere": "machine-controller puts it on an ISO image, which has no limit that counts",
    "edge": "no provider hands it over: the machine fetches it from the API server",
}
