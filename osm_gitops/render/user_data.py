"""User-data: what a cloud-config Secret holds for a machine (osm-behaviour.md, "User-data", "cloud-init user-data" and
"Edge script"), and how much of it a provider takes.

As OSM, this fills a text template without quoting: what breaks OSM's YAML breaks this, too. Checks of
the result are not this module's work. Only the bootstrap half goes through a provider; the provisioning half is read
from the API server, where the data of a Secret may have 1 MiB.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final, Literal
from urllib.parse import quote_plus

from osm_gitops.errors import Code, Problem, input_error
from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.gocompat.text import trim_space
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE
from osm_gitops.model.profile import ConfigHalf, File, Modules, OperatingSystemConfig, Unit
from osm_gitops.render.ignition import render_ignition
from osm_gitops.render.ignition_text import TextFault, literal_block, plain_scalar


def render_cloud_init(
    half: ConfigHalf, ssh_keys: Sequence[str], machine_name: str | None, *, dist_upgrade: bool
) -> str:
    """One half as a ``#cloud-config``.

    ``ssh_keys`` are trimmed and unique; ``machine_name`` is the placeholder of the machine's name, ``None`` where this
    half does not set it.
    """
    parts = ["#cloud-config" if machine_name is None else f"#cloud-config\nhostname: {machine_name}", "\n\n"]
    if dist_upgrade:
        parts.append("package_upgrade: true\npackage_reboot_if_required: true\n")
    parts.append("ssh_pwauth: false\n\nssh_authorized_keys:\n")
    parts.extend(f"- '{key}'\n" for key in ssh_keys)
    parts.append("write_files:")
    parts.extend(map(_file, half.files))
    if machine_name is not None:
        parts.append(f"\n- path: /etc/machine-name\n  permissions: '0600'\n  content: |-\n        {machine_name}\n")
    if half.units:
        parts.append("coreos:\n  units:")
        parts.extend(map(_unit, half.units))
    if half.modules is not None:
        parts.extend(_modules(half.modules))
    return "".join(parts)


def permissions_text(permissions: int) -> str:
    """The decimal digits, with a zero before exactly three characters (644 is ``0644``, -12 is ``0-12``)."""
    text = str(permissions)
    return f"0{text}" if len(text) == 3 else text


# Most files are the same for many machines; those that differ pass through the cache once.
@lru_cache(maxsize=512)
def _file(file: File) -> str:
    encoding = f"\n  encoding: '{file.encoding}'" if file.encoding else ""
    content = encode_base64(file.content.encode()) if file.encoding == "b64" else file.content
    head = f"\n- path: '{file.path}'\n  permissions: '{permissions_text(file.permissions)}'{encoding}\n  content: |-\n"
    return f"{head}{_indent(4, content)}\n"


def _unit(unit: Unit) -> str:
    enabled, masked = ("true" if value else "false" for value in (unit.enable, unit.mask))
    command = "command: start" if unit.enable else ""
    parts = [f'\n  - name: "{unit.name}"\n    enable: {enabled}\n    {command}\n    mask: {masked}\n']
    if unit.content:
        parts.append(f"\n    content: |\n{_indent(6, unit.content)}")
    parts.append("\n")
    if unit.drop_ins:
        parts.append("\n    drop_ins:")
    parts.extend(
        f'\n      - name: "{drop_in.name}"\n        content: |\n{_indent(10, drop_in.content)}'
        for drop_in in unit.drop_ins
    )
    return "".join(parts)


def _modules(modules: Modules) -> Iterator[str]:
    for name, commands in (("bootcmd", modules.bootcmd), ("runcmd", modules.runcmd)):
        if commands:
            yield f"\n{name}:" + "".join(f"\n- {command}" for command in commands) + "\n"
    if modules.rh_subscription:
        yield f"\nrh_subscription:{_pairs(4, modules.rh_subscription)}\n"
    if modules.yum_repos:
        repos = (f"\n    {name}:{_pairs(7, modules.yum_repos[name])}" for name in _sorted_keys(modules.yum_repos))
        yield "\nyum_repos:" + "".join(repos) + "\n"
    if modules.yum_repo_dir:
        yield f"\nyum_repo_dir: {modules.yum_repo_dir}"


def _pairs(depth: int, pairs: Mapping[str, str]) -> str:
    return "".join(f"\n{' ' * depth}{key}: {pairs[key]}" for key in _sorted_keys(pairs))


def _sorted_keys(mapping: Mapping[str, object]) -> list[str]:
    """Keys in the order of their UTF-8 bytes, as Go sorts them."""
    return sorted(mapping, key=str.encode)


def _indent(depth: int, text: str) -> str:
    blanks = " " * depth
    return blanks + (text.replace("\n", "\n" + blanks) if "\n" in text else text)


def edge_script(bootstrap_secret_name: str, token: str, server: str) -> str:
    """Six shell lines that fetch the bootstrap Secret with the getter token from ``server`` (a URL)."""
    secret_url = f"{server}/api/v1/namespaces/{CLOUD_INIT_NAMESPACE}/secrets/{bootstrap_secret_name}"
    target = f"/etc/cloud/cloud.cfg.d/{bootstrap_secret_name}.cfg"
    fetch = f"curl -s -k -v --header 'Authorization: Bearer {token}' {secret_url}"
    return (
        "apt-get update -y\n"
        "apt-get install jq -y\n"
        # The blank before the line's end is OSM's.
        f"{fetch} | jq '.data[\"cloud-config\"]' -r| base64 -d > {target} \n"
        f"cloud-init --file {target} init\n"
        "systemctl enable bootstrap.service\n"
        "systemctl restart bootstrap.service\n"
    )


Kind = Literal["bootstrap", "provisioning"]

# machine-controller puts the machine's name here (osm-behaviour.md, "machine-controller").
MACHINE_NAME = "<MACHINE_NAME>"


@dataclass(frozen=True, slots=True)
class Pool:
    """The parts of user-data from the MachineDeployment.

    ``provisioning_utility`` is the one that its operating system asks for (osm-behaviour.md, "Profile selection").
    """

    name: str
    provisioning_utility: str
    dist_upgrade: bool = False


def user_data(kind: Kind, config: OperatingSystemConfig, half: ConfigHalf, pool: Pool) -> str:
    """The text of one cloud-config Secret: ``half`` of ``config`` for ``pool``.

    Raises InputError if the utilities disagree, or with everything that Ignition would not take.
    """
    utility = pool.provisioning_utility
    if config.provisioning_utility not in ("", utility):
        raise input_error(
            Code.UTILITY_MISMATCH,
            f'the machines are set up with "{utility}", but the OperatingSystemConfig is made for '
            f'"{config.provisioning_utility}"',
            field="spec.provisioningUtility",
            fix="Make the profile's provisioningUtility and the MachineDeployment's operatingSystemSpec agree",
        )
    named = kind == "bootstrap" and config.provider != "aws"
    keys = _remembered_keys(half.ssh_keys)
    if utility == "ignition":
        return render_ignition(half, keys, f"spec.{kind}Config", with_machine_name=named)
    # machine-controller does not create edge machines, so it does not set their names.
    machine_name = pool.name if config.provider == "edge" else MACHINE_NAME
    return render_cloud_init(half, keys, machine_name if named else None, dist_upgrade=pool.dist_upgrade)


def unique_keys(keys: Iterable[str]) -> tuple[str, ...]:
    """SSH keys without surrounding white space, empty ones and repetitions, in their first order."""
    return tuple(dict.fromkeys(filter(None, map(trim_space, keys))))


_remembered_keys = lru_cache(maxsize=16)(unique_keys)  # both halves of a pool have the same


SECRET_BYTES: Final = 1 << 20
"""The API server's limit for the data of one Secret, and so for a provisioning half."""

_KIB: Final = 1 << 10
_URL_MACHINE_NAME: Final = quote_plus(MACHINE_NAME)
_FLATCAR: Final = "flatcar"
# A MachineSet adds the hash of its template, a Machine five characters; the API server cuts such names to this length.
_NAME_LENGTH: Final = 63
_HASH_AND_SUFFIX: Final = len("-") + 10 + len("-") + 5


class Counted(Enum):
    """The encoding of user-data whose bytes a provider counts."""

    RAW = "raw"
    GZIP = "gzip"
    BASE64 = "base64"


@dataclass(frozen=True, slots=True)
class UserDataLimit:
    """At most ``size`` bytes in the encoding that is ``counted``; ``source`` is the documentation."""

    size: int
    counted: Counted
    source: str


@dataclass(frozen=True, slots=True)
class UserDataSize:
    """The sizes in bytes of a half as a machine gets it, and what holds for it; ``limit`` is ``None`` where none is
    known, and ``why`` says why then."""

    data: bytes = field(repr=False)
    limit: UserDataLimit | None
    why: str = ""

    @property
    def raw(self) -> int:
        return len(self.data)

    @property
    def gzipped(self) -> int:
        """The size by machine-controller's gzip, to a few bytes. Slow."""
        packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        return len(packer.compress(self.data)) + len(packer.flush())

    @property
    def base64(self) -> int:
        return -(-len(self.data) // 3) * 4

    @property
    def counted(self) -> int:
        """The bytes that count against the limit."""
        match self.limit.counted if self.limit else Counted.RAW:
            case Counted.GZIP:
                return self.gzipped
            case Counted.BASE64:
                return self.base64
            case Counted.RAW:
                return self.raw

    @property
    def headroom(self) -> int | None:
        """The number of bytes left; negative if there are too many, ``None`` without a limit."""
        return None if self.limit is None else self.limit.size - self.counted


def bootstrap_size(user_data: str, machine_deployment: str, provider: str, os: str) -> UserDataSize:
    """The size of a bootstrap half with the longest name that a Machine of the pool can get in place of
    ``<MACHINE_NAME>``, against the limit of ``provider`` for machines with ``os``."""
    name = longest_machine_name(machine_deployment)
    named = user_data.replace(MACHINE_NAME, name).replace(_URL_MACHINE_NAME, quote_plus(name))
    limit, why = user_data_limit(provider, os)
    return UserDataSize(named.encode(errors="surrogateescape"), limit, why)


def provisioning_size(user_data: str) -> UserDataSize:
    """The size of a provisioning half against that of a Secret; it never passes through a provider."""
    return UserDataSize(user_data.encode(errors="surrogateescape"), _SECRET)


def longest_machine_name(machine_deployment: str) -> str:
    """A name as long as that of any Machine of this MachineDeployment."""
    return f"{machine_deployment}{'-' * _HASH_AND_SUFFIX}"[:_NAME_LENGTH]


def user_data_limit(provider: str, os: str) -> tuple[UserDataLimit | None, str]:
    """The limit, or ``None`` and a clause with the reason."""
    special = _FLATCAR_LIMITS.get(provider) if os == _FLATCAR else None
    limit = special or _LIMITS.get(provider)
    if limit is not None:
        return limit, ""
    return None, _UNLIMITED.get(provider, "no limit of this provider is documented")


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


_CLOUD_INIT_FIX = "OSM writes it into YAML without quotes: put quotes into the profile where YAML needs them"
_IGNITION_FIX = "Write the file from a script instead, or accept what is made of it"


def user_data_warnings(config: OperatingSystemConfig, utility: str) -> tuple[Problem, ...]:
    """Warnings about both halves. Text that Ignition refuses is an error of rendering instead."""
    halves = (("spec.bootstrapConfig", config.bootstrap), ("spec.provisioningConfig", config.provisioning))
    check = _ignition if utility == "ignition" else _cloud_init
    return tuple(warning for field, half in halves for warning in check(half, field))


def _ignition(half: ConfigHalf, field: str) -> Iterator[Problem]:
    for index, file in enumerate(half.files):
        for what in _ignition_file(file):
            yield Problem(Code.IGNITION_LOSES_CONTENT, what, field=f"{field}.files[{index}]", fix=_IGNITION_FIX)
    if half.modules is not None and half.modules != Modules():
        yield Problem(
            Code.IGNITION_LOSES_CONTENT,
            "Ignition has no modules: these are left out",
            field=f"{field}.modules",
            fix="Use a unit",
        )


@lru_cache(maxsize=512)
def _ignition_file(file: File) -> tuple[str, ...]:
    found = []
    if 999 < file.permissions <= 0o7777:
        found.append(
            f"Ignition takes the permissions {file.permissions} of file {file.path} as a decimal number, "
            f"which is {file.permissions:o} in octal"
        )
    if _changed(file.content, 10):
        found.append(f"Ignition gets the content of file {file.path} without its indentation or its end")
    return tuple(found)


def _changed(content: str, base: int) -> bool:
    """Whether a YAML block loses a part of the text other than line endings."""
    try:
        read = literal_block(content, base)
    except TextFault:
        return False
    return read.rstrip() != content.replace("\r\n", "\n").rstrip()


def _cloud_init(half: ConfigHalf, field: str) -> Iterator[Problem]:
    for index, file in enumerate(half.files):
        for what in _cloud_init_file(file):
            yield Problem(Code.CLOUD_INIT_BREAKS, what, field=f"{field}.files[{index}]", fix=_CLOUD_INIT_FIX)
    if half.units and not half.files:
        yield Problem(
            Code.CLOUD_INIT_BREAKS,
            "units without files make user-data that cloud-init cannot read",
            field=field,
            fix="Add a file to this half",
        )
    if any("'" in key for key in half.ssh_keys):
        yield Problem(
            Code.CLOUD_INIT_BREAKS,
            "an SSH key with a single quote makes user-data that cloud-init cannot read",
            field=field,
        )
    if half.modules is not None:
        for name, text in _module_texts(half.modules):
            what = _broken_value(text)
            if what:
                yield Problem(
                    Code.CLOUD_INIT_BREAKS, f"a value {what}", field=f"{field}.modules.{name}", fix=_CLOUD_INIT_FIX
                )


@lru_cache(maxsize=512)
def _cloud_init_file(file: File) -> tuple[str, ...]:
    found = []
    if "'" in file.path:
        found.append(f"the path of file {file.path} holds a single quote")
    if file.encoding != "b64":
        try:
            literal_block(file.content, 4)
        except TextFault as fault:
            found.append(f"cloud-init cannot read the content of file {file.path}, which {fault}")
        if _changed(file.content, 4):
            found.append(f"cloud-init gets the content of file {file.path} without its indentation or its end")
    return tuple(found)


def _module_texts(modules: Modules) -> Iterator[tuple[str, str]]:
    """The free texts of modules with the field that they are in; no values, they may be passwords."""
    for name, commands in (("bootcmd", modules.bootcmd), ("runcmd", modules.runcmd)):
        for index, command in enumerate(commands):
            # A list in YAML's own brackets is cloud-init's other way to write a command.
            if not command.startswith("["):
                yield f"{name}[{index}]", command
    for key, value in modules.rh_subscription.items():
        yield f"rh_subscription.{key}", value
    for repository, properties in modules.yum_repos.items():
        for key, value in properties.items():
            yield f"yum_repos.{repository}.{key}", value


def _broken_value(text: str) -> str:
    try:
        read = plain_scalar(text)
    except TextFault as fault:
        return str(fault)
    quoted = text.lstrip().startswith(("'", '"'))
    return (
        "holds a # after a blank: YAML takes the rest for a comment"
        if not quoted and read != text.strip() and read
        else ""
    )
