"""The built-in profiles (design.md, "The project"): ``osps/VERSION/NAME.yaml``, one folder per version.

A released version never changes, so a pinned version renders the same with all later releases.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from osm_gitops.errors import Code, InputError, did_you_mean, input_error
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.semver import Version, parse_version

if TYPE_CHECKING:
    from osm_gitops.model.profile import OperatingSystemProfile
    from osm_gitops.sources.schema import Checked

_SUFFIX: Final = ".yaml"


def data_folder(name: str) -> Path:
    """A data folder: inside of the installed package, or beside the package in a checkout."""
    package = Path(__file__).parent.parent
    return next((folder for folder in (package / name, package.parent / name) if folder.is_dir()), package / name)


FOLDER: Path = data_folder("osps")


def versions() -> tuple[str, ...]:
    """The versions of the built-in profiles, ascending."""
    found = {each.name: _version(each.name) for each in FOLDER.iterdir()} if FOLDER.is_dir() else {}
    known = {name: version for name, version in found.items() if version is not None}
    return tuple(sorted(known, key=lambda name: known[name]))


def newest() -> str:
    """The default version. Raises InputError if there is none."""
    if not versions():
        raise input_error(
            Code.BROKEN_INSTALLATION,
            "this installation has no built-in profiles",
            where=str(FOLDER),
            fix="Install osm-gitops again",
        )
    return versions()[-1]


def names(version: str) -> tuple[str, ...]:
    """Names of the profiles of a version. Raises InputError for an unknown version."""
    check_version(version)
    return tuple(sorted(path.stem for path in (FOLDER / version).glob(f"*{_SUFFIX}")))


def check_version(version: str, where: str = "") -> None:
    """Raise InputError for an unknown version. ``where`` is the place that names it."""
    if version not in versions():
        there = ", ".join(versions()) or "none"
        raise input_error(
            Code.UNKNOWN_PROFILES_VERSION,
            f'there are no built-in profiles of version "{version}"',
            where=where,
            fix=f"There are: {there}",
        )


def read_builtin(name: str, version: str, namespace: str) -> Checked[OperatingSystemProfile]:
    """The built-in profile ``name`` of ``version``, as an object of ``namespace``, or problems."""
    from osm_gitops.sources.composing import compose  # noqa: PLC0415 - lists of names need no reader of profiles
    from osm_gitops.sources.schema import Checked  # noqa: PLC0415 - slow

    try:
        if name not in names(version):
            raise input_error(
                Code.PROFILE_NOT_FOUND,
                f'there is no built-in profile "{name}" in version {version}',
                fix=did_you_mean(name, names(version)),
            )
        found = compose(FOLDER, name, version)
    except InputError as failure:
        return Checked(None, failure.problems)
    manifest = found.manifest
    metadata = {**manifest.body["metadata"], "namespace": namespace}
    moved = replace(
        manifest, ref=replace(manifest.ref, namespace=namespace), body={**manifest.body, "metadata": metadata}
    )
    return Checked(replace(found, namespace=namespace, manifest=moved))


def _version(name: str) -> Version | None:
    try:
        return parse_version(name) if name.startswith("v") else None
    except GoError:
        return None
