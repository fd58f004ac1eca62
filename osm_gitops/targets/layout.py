"""The layout of the desired state below a target path (design.md, "Desired state")."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.model.desired import DesiredObject, Side
from osm_gitops.model.objects import ObjectRef

KUSTOMIZATION = "kustomization.yaml"
SECRET_KINDS = frozenset({"Secret", "OperatingSystemConfig"})
# By it a folder is known as written by us.
HEADER = "# Written by osm-gitops; changes are overwritten.\n"

_FOLDERS = {
    "OperatingSystemProfile": (Side.MANAGEMENT, "operatingsystemprofiles"),
    "OperatingSystemConfig": (Side.MANAGEMENT, "operatingsystemconfigs"),
    "Secret": (Side.WORKER, "secrets"),
}
_NAME = re.compile(r"[^/\\\x00-\x1f\x7f]+")
_LONGEST_NAME = 255


def path_of(cluster: str, ref: ObjectRef) -> PurePosixPath:
    """The file of an object, relative to the target path.

    :class:`~osm_gitops.errors.TargetError` for names that are no file names (``/``, ``..``, too long).
    """
    side, folder = _FOLDERS[ref.kind]
    if ref.kind == "OperatingSystemProfile":
        folder = f"{folder}/{_checked(ref.namespace, ref)}"
    # One text: joining paths part by part takes longer than comparing the file.
    return PurePosixPath(f"{_checked_cluster(cluster)}/{side.value}/{folder}/{_checked(f'{ref.name}.yaml', ref)}")


def holds_secrets(wanted: DesiredObject) -> bool:
    """Whether an object may hold secrets: by its kind, or because its source was encrypted."""
    return wanted.sealed or wanted.ref.kind in SECRET_KINDS


def secret_places(cluster: str) -> tuple[PurePosixPath, ...]:
    """An example path for each folder whose files hold secrets."""
    return tuple(path_of(cluster, ObjectRef(kind, "", "name")) for kind in sorted(SECRET_KINDS))


def owned_path(cluster: str) -> PurePosixPath:
    """The only folder of a cluster that is ever written to."""
    return PurePosixPath(_checked_cluster(cluster))


def object_folders() -> tuple[PurePosixPath, ...]:
    """The folders below the owned path that hold objects, one per file."""
    return tuple(PurePosixPath(side.value, folder) for side, folder in _FOLDERS.values())


def paths_of(cluster: str, objects: Iterable[ObjectRef]) -> dict[ObjectRef, PurePosixPath]:
    """The files of all objects; refused where two objects would share one."""
    paths = {ref: path_of(cluster, ref) for ref in objects}
    owners: dict[PurePosixPath, ObjectRef] = {}
    problems = []
    for ref, path in paths.items():
        other = owners.setdefault(path, ref)
        if other != ref:
            problems.append(
                Problem(Code.FILES_COLLIDE, f"{other} and {ref} would both be written to {path}", where=cluster)
            )
    if problems:
        raise TargetError(problems)
    return paths


def kustomizations(cluster: str, files: Iterable[PurePosixPath]) -> dict[PurePosixPath, str]:
    """Both ``kustomization.yaml`` files, listing those of ``files`` that lie below them."""
    listed = [str(path) for path in files]
    texts = {}
    for side in Side:
        folder = owned_path(cluster) / side.value
        resources = [path.removeprefix(f"{folder}/") for path in listed if path.startswith(f"{folder}/")]
        texts[folder / KUSTOMIZATION] = _kustomization(resources)
    return texts


def _kustomization(resources: list[str]) -> str:
    lines = "".join(f"- {_scalar(resource)}\n" for resource in sorted(resources, key=str.encode))
    listing = f"resources:\n{lines}" if lines else "resources: []\n"
    return f"{HEADER}apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{listing}"


def _scalar(text: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9._/-]+", text):
        return text
    return "'" + text.replace("'", "''") + "'"


def _checked_cluster(cluster: str) -> str:
    return _checked(cluster, f"cluster {cluster!r}")


def _checked(name: str, what: ObjectRef | str) -> str:
    if not _NAME.fullmatch(name) or name in {".", "..", ".git", ".yaml", "..yaml"}:
        raise TargetError(
            [Problem(Code.FILE_NAME, f"{name!r} cannot be the name of a file or folder", about=str(what))]
        )
    if len(name.encode()) > _LONGEST_NAME:
        raise TargetError(
            [
                Problem(
                    Code.FILE_NAME,
                    f"its file name would have more than {_LONGEST_NAME} bytes",
                    about=str(what),
                    fix="Use a shorter name",
                )
            ]
        )
    return name
