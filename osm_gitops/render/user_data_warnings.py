"""What is silently lost or broken in user-data that is rendered as OSM does (osm-behaviour.md, "Quirks", quirks 7, 9
and 10)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from osm_gitops.errors import Code, Problem
from osm_gitops.model.profile import ConfigHalf, File, Modules, OperatingSystemConfig
from osm_gitops.render.ignition_text import TextFault, literal_block, plain_scalar

_CLOUD_INIT_FIX = "OSM writes it into YAML without quotes: put quotes into the profile where YAML needs them"
_IGNITION_FIX = "Write the file from a script instead, or accept what is made of it"


def user_data_warnings(config: OperatingSystemConfig, utility: str) -> tuple[Problem, ...]:
    """Warnings about both halves; text that Ignition refuses is no warning but an error of the rendering."""
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
    """Whether a YAML block keeps less of the text than what it says; line ends do not count."""
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
