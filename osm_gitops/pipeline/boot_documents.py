"""From a rendered pool to what checks look at."""

from __future__ import annotations

from collections.abc import Iterator

from osm_gitops.errors import Problem
from osm_gitops.lint.rules.boot_file import BootDocument, BootFile, BootUnit, Half
from osm_gitops.model.profile import ConfigHalf, File, OperatingSystemConfig, Unit
from osm_gitops.pipeline.places import Places
from osm_gitops.render.pools import PoolRenderer
from osm_gitops.render.resolve.pools import ResolvedPool
from osm_gitops.render.user_data_warnings import user_data_warnings

UNITS = "/etc/systemd/system"
"""Where units are shown to be: systemd reads them there."""


def boot_document(pool: ResolvedPool, label: str, renderer: PoolRenderer, places: Places) -> BootDocument:
    """What the pool boots from. Raises InputError where it cannot be rendered."""
    return rendered(pool, label, renderer, places)[0]


def rendered(
    pool: ResolvedPool, label: str, renderer: PoolRenderer, places: Places
) -> tuple[BootDocument, tuple[Problem, ...]]:
    """What the pool boots from, and warnings about it. Raises InputError where it cannot be rendered."""
    config = renderer.config(pool)
    document = _document(pool, label, config, renderer.user_data(pool, config), places)
    return document, user_data_warnings(config, pool.utility)


def _document(
    pool: ResolvedPool, label: str, config: OperatingSystemConfig, user_data: tuple[str, str], places: Places
) -> BootDocument:
    bootstrap, provisioning = user_data
    return BootDocument(
        profile=pool.profile,
        pool=label,
        os=config.os_name,
        utility=pool.utility,
        provider=config.provider,
        kube_version=pool.kube_version,
        files=(*_files(config.bootstrap, "bootstrap", places), *_files(config.provisioning, "provisioning", places)),
        units=tuple(_units(config, places)),
        modules={"bootstrap": config.bootstrap.modules, "provisioning": config.provisioning.modules},
        user_data={"bootstrap": bootstrap.encode(), "provisioning": provisioning.encode()},
    )


def _files(half: ConfigHalf, which: Half, places: Places) -> Iterator[BootFile]:
    for index, file in enumerate(half.files):
        yield _boot_file(file, index, which, places)


def _boot_file(file: File, index: int, half: Half, places: Places) -> BootFile:
    return BootFile(
        path=file.path,
        text=file.content,
        permissions=file.permissions,
        half=half,
        place=lambda line: places.of_file(half, index, line),
    )


def _units(config: OperatingSystemConfig, places: Places) -> Iterator[BootUnit]:
    halves: tuple[tuple[Half, ConfigHalf], ...] = (
        ("bootstrap", config.bootstrap),
        ("provisioning", config.provisioning),
    )
    for half, configured in halves:
        for index, unit in enumerate(configured.units):
            yield _unit(unit, f"spec.{half}Config.units[{index}]", half, places)


def _unit(unit: Unit, field: str, half: Half, places: Places) -> BootUnit:
    def text(path: str, content: str, at: str) -> BootFile:
        return BootFile(path, content, 644, half, lambda line: places.of_text(at if line else f"{field}.name", line))

    return BootUnit(
        name=unit.name,
        enable=unit.enable,
        mask=unit.mask,
        half=half,
        content=text(f"{UNITS}/{unit.name}", unit.content, f"{field}.content") if unit.content else None,
        drop_ins=tuple(
            text(f"{UNITS}/{unit.name}.d/{drop_in.name}", drop_in.content, f"{field}.dropIns[{index}].content")
            for index, drop_in in enumerate(unit.drop_ins)
        ),
    )
