"""Documents to judge: what OSM recorded, and the default profiles; and what the checks say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from osm_gitops.errors import InputError
from osm_gitops.lint.rules.boot_file import HALVES, BootDocument, BootFile, BootUnit, Half
from osm_gitops.lint.rules.catalogue import DOCUMENT_CHECKS, FILE_CHECKS
from osm_gitops.model.finding import Finding
from osm_gitops.model.objects import Manifest, ObjectRef, Origin
from osm_gitops.model.profile import ConfigHalf, DropIn, File, Modules, OperatingSystemProfile, ProfileConfig, Unit
from osm_gitops.sources import builtin
from tests.conformance_data import load_case
from tests.profiles.rendering import read, render

MINORS = range(31, 37)


def findings_of(document: BootDocument) -> list[Finding]:
    """All that the pure checks say of a document."""
    found = [
        Finding(remark.rule, remark.message, where=f"{file.path}:{remark.line}", fix=remark.fix)
        for file in document.texts
        for check in FILE_CHECKS
        for remark in check(file)
    ]
    return found + [finding for check in DOCUMENT_CHECKS for finding in check(document)]


def document(
    halves: Mapping[Half, ConfigHalf],
    user_data: Mapping[Half, bytes],
    *,
    os: str = "ubuntu",
    utility: str = "cloud-init",
    provider: str = "aws",
    kube_version: str = "1.35.0",
    pool: str = "",
) -> BootDocument:
    """A document of halves that are rendered already."""
    return BootDocument(
        profile=_PROFILE,
        pool=pool,
        os=os,
        utility=utility,
        provider=provider,
        kube_version=kube_version,
        files=tuple(
            BootFile(file.path, file.content, file.permissions, which, _line_in(file.path))
            for which, half in halves.items()
            for file in half.files
        ),
        units=tuple(_unit(unit, which) for which, half in halves.items() for unit in half.units),
        modules={which: half.modules for which, half in halves.items()},
        user_data=user_data,
    )


def _line_in(path: str) -> Any:
    return lambda line: f"{path}:{line}"


def _unit(unit: Unit, half: Half) -> BootUnit:
    def text(name: str, content: str) -> BootFile:
        path = f"/etc/systemd/system/{name}"
        return BootFile(path, content, 644, half, _line_in(path))

    return BootUnit(
        unit.name,
        unit.enable,
        unit.mask,
        half,
        text(unit.name, unit.content) if unit.content else None,
        tuple(text(f"{unit.name}.d/{each.name}", each.content) for each in unit.drop_ins),
    )


def _profile() -> OperatingSystemProfile:
    ref = ObjectRef("OperatingSystemProfile", "kube-system", "osp")
    manifest = Manifest(ref, {}, Origin("osp.yaml", 1), {})
    nothing = ProfileConfig()
    return OperatingSystemProfile("osp", "kube-system", "ubuntu", "", "v1.0.0", (), "", nothing, nothing, manifest)


_PROFILE = _profile()


@cache
def recorded(names: tuple[str, ...]) -> tuple[BootDocument, ...]:
    """What OSM itself made: one document for every case of these that it did not refuse."""
    return tuple(_recorded(names))


def _recorded(names: tuple[str, ...]) -> Iterator[BootDocument]:
    for name in names:
        case = load_case(name)
        objects = case["expected"].get("objects", [])
        configs = [each for each in objects if each["kind"] == "OperatingSystemConfig"]
        for config in configs:
            spec = config["spec"]
            stem = config["name"].removesuffix("-config")
            secrets = {
                each["name"]: each["data"]["cloud-config"] for each in objects if "cloud-config" in each.get("data", {})
            }
            data = {half: secrets.get(f"{stem}-{half}-config", "") for half in HALVES}
            yield document(
                {half: _half(spec.get(f"{half}Config") or {}) for half in HALVES},
                {half: text.encode() for half, text in data.items()},
                os=spec["osName"],
                utility=spec.get("provisioningUtility") or "cloud-init",
                provider=spec["cloudProvider"]["name"],
                kube_version=_kubelet(case),
                pool=name,
            )


def _kubelet(case: Mapping[str, Any]) -> str:
    md = case.get("md") or {}
    try:
        version: str = md["spec"]["template"]["spec"]["versions"]["kubelet"]
    except KeyError:
        return "1.35.0"
    return version


def _half(half: Mapping[str, Any]) -> ConfigHalf:
    files = [
        File(
            each["path"], (each.get("content") or {}).get("inline", {}).get("data", ""), each.get("permissions") or 644
        )
        for each in half.get("files") or []
    ]
    units = [
        Unit(
            each["name"],
            each.get("enable"),
            each.get("mask"),
            each.get("content"),
            tuple(DropIn(one["name"], one["content"]) for one in each.get("dropIns") or []),
        )
        for each in half.get("units") or []
    ]
    modules = half.get("modules") or {}
    commands = Modules(bootcmd=tuple(modules.get("bootcmd") or ()), runcmd=tuple(modules.get("runcmd") or ()))
    return ConfigHalf(files=tuple(files), units=tuple(units), modules=commands)


@cache
def defaults(minors: tuple[int, ...] = (36,)) -> tuple[BootDocument, ...]:
    """Our own profiles for each of their providers."""
    return tuple(_defaults(minors))


def _defaults(minors: tuple[int, ...]) -> Iterator[BootDocument]:
    for name in builtin.names(builtin.newest()):
        for provider in read(name).providers:
            for minor in minors:
                try:
                    node = render(name, provider, f"1.{minor}.1")
                except InputError:
                    continue  # a combination that cannot boot is refused
                config = node.config
                yield document(
                    {"bootstrap": config.bootstrap, "provisioning": config.provisioning},
                    node.user_data,
                    os=config.os_name,
                    utility=config.provisioning_utility,
                    provider=provider,
                    kube_version=f"1.{minor}.1",
                    pool=f"{name} {provider} 1.{minor}",
                )
