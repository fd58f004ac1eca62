"""Scaffold a config repository.

Writes a fleet file with comments, an example that can be planned at once, encryption rules, hooks, a
workflow for GitHub and a README. Overwrites and commits nothing. Adds a new private key to the key
file of sops in your home. With --from cluster, takes the settings from Operating System Manager's
Deployment and the profiles from the cluster; runs read MachineDeployments from the cluster. With
--from kkp, writes a fleet file for all user clusters of a seed of Kubermatic Kubernetes Platform
(KKP); runs read their settings from KKP.

Examples:
  osm-gitops init nodes                    # a new folder with a new git repository
  osm-gitops init --cluster prod-eu        # here, in the repository that is there
  osm-gitops init nodes --age-recipient "$MINE" --age-recipient "$FLUX"
  osm-gitops init nodes --from cluster --context prod-eu --cluster prod-eu
  osm-gitops init nodes --from kkp --context seed-eu
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from osm_gitops.bounded.files import DOCUMENT, read_file
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request, option, with_cluster
from osm_gitops.commands.schema import Described, schema_text
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import Code, input_error
from osm_gitops.model.span import rfc3339

if TYPE_CHECKING:
    from osm_gitops.commands.init.adopting import Adoption
    from osm_gitops.commands.init.scaffold import Place
    from osm_gitops.sources.osm_deployment import PodText

_README = "README.md"
_EXAMPLE = "example"
_KKP = "kkp"
_ADOPTION = "With --from cluster"
_NEXT = """
Next:
  cd {root}
  osm-gitops doctor           check what a run needs
  osm-gitops plan             show what would be written for the example pool
  git add . && git commit     then osm-gitops apply commits the desired state
Its README.md says what to replace.
"""
_NEXT_ADOPTED = """
Next:
  cd {root}
  osm-gitops status           show what remains of Operating System Manager
  osm-gitops plan             show what would change in the cluster
  git add . && git commit
Its README.md describes the files.
"""
_NEXT_ON_SEED = """
Next:
  cd {root}
  osm-gitops plan             show what would change: only labels
  git add . && git commit
Its README.md describes how user clusters are taken over.
"""


OsmDeployment = Annotated[
    str,
    option(
        "--osm-deployment",
        "Deployment of Operating System Manager. Without it, init searches for one; none if it is gone.",
        metavar="NAMESPACE/NAME",
        panel=_ADOPTION,
    ),
]
OsmKubeconfig = Annotated[
    str,
    option(
        "--osm-kubeconfig",
        "Kubeconfig of the cluster in which Operating System Manager runs, if it is another one (KKP: the seed).",
        metavar="FILE",
        panel=_ADOPTION,
    ),
]
OsmContext = Annotated[
    str,
    option(
        "--osm-context", "Context in that kubeconfig, or in the management cluster's.", metavar="NAME", panel=_ADOPTION
    ),
]


WithPools = Annotated[
    bool,
    option(
        "--with-pools",
        "Also write the MachineDeployments, for apply to apply them. Without it, runs read them from the cluster.",
        panel=_ADOPTION,
    ),
]


@with_cluster
def init(
    request: Request,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the repository. Created if it does not exist.")
    ] = Path(),
    recipients: Annotated[
        list[str] | None,
        option(
            "--age-recipient", "Encrypt for this age recipient instead of a new key. May be repeated.", metavar="AGE"
        ),
    ] = None,
    osm_deployment: OsmDeployment = "",
    osm_kubeconfig: OsmKubeconfig = "",
    osm_context: OsmContext = "",
    with_pools: WithPools = False,
) -> int:
    from osm_gitops.cli.clusters import one_name  # noqa: PLC0415 - slow
    from osm_gitops.commands.init.scaffold import Scaffold, place_of  # noqa: PLC0415 - imports git
    from osm_gitops.config.fleet_file import NAME_RULE, is_cluster_name  # noqa: PLC0415 - slow
    from osm_gitops.config.spec import DEFAULT_CLUSTER  # noqa: PLC0415 - slow

    cluster = one_name(request, _EXAMPLE if request.source is None else DEFAULT_CLUSTER)
    if not is_cluster_name(cluster):
        raise input_error(Code.INVALID_OPTION, f'"{cluster}" is not valid: {NAME_RULE}', where="--cluster")
    place = place_of(folder)
    osm = _OsmOptions(osm_deployment, ContextRef(osm_kubeconfig, osm_context), with_pools)
    if request.source == _KKP:
        return _init_on_seed(request, place, osm, recipients or [])
    adoption = _adoption(request, cluster, osm)
    key, own = ("", tuple(recipients)) if recipients else _new_key()
    scaffold = Scaffold(_texts(), schema_text(Described.FLEET), cluster, own, rfc3339(datetime.now(UTC)))
    if adoption is None:
        files = scaffold.files(place.branch)
    else:
        from osm_gitops.commands.init.adopting import repository_files  # noqa: PLC0415 - imports kube

        files = repository_files(adoption.adopted, scaffold, place.branch, with_pools=with_pools)
    written = _written(place, files, key)
    _show_result(written, own, _NEXT if adoption is None else _NEXT_ADOPTED)
    return 0


def _init_on_seed(request: Request, place: Place, osm: _OsmOptions, recipients: Sequence[str]) -> int:
    """Write a repository for the user clusters of a seed."""
    from osm_gitops.commands.init.from_kkp import find_clusters, repository_files  # noqa: PLC0415 - imports kube
    from osm_gitops.commands.init.scaffold import Scaffold  # noqa: PLC0415 - imports git
    from osm_gitops.config.fleet_file import FLEET_FILE  # noqa: PLC0415 - slow

    needless = _needless(replace(request, management=UNNAMED), osm)
    needless += ["--cluster"] if request.clusters else []
    if needless:
        raise input_error(
            Code.OPTIONS_CONFLICT,
            f"has no effect with --from {_KKP}",
            where=needless[0],
            fix="Leave it out; --kubeconfig and --context name the seed",
        )
    key, own = ("", tuple(recipients)) if recipients else _new_key()
    scaffold = Scaffold(_texts(), schema_text(Described.FLEET), _EXAMPLE, own, rfc3339(datetime.now(UTC)))
    files = repository_files(scaffold, place.branch)
    found = find_clusters(files[FLEET_FILE], request.management, dict(os.environ))
    for finding in found.findings():
        console.say(finding)
    console.problems(found.warnings, label="Warning")
    _show_result(_written(place, files, key), own, _NEXT_ON_SEED)
    return 0


@dataclass(frozen=True, slots=True)
class _OsmOptions:
    """The options on OSM's Deployment and its pools."""

    deployment: str
    access: ContextRef
    with_pools: bool


def _adoption(request: Request, cluster: str, osm: _OsmOptions) -> Adoption | None:
    """Read the cluster and print what was found; ``None`` without ``--from``."""
    from osm_gitops.config.spec import LIVE  # noqa: PLC0415 - slow

    if request.source is None:
        _refuse_needless(request, osm)
        return None
    if request.source != LIVE:
        raise input_error(
            Code.INVALID_OPTION,
            "init can only read a cluster or a KKP seed",
            where="--from",
            fix=f"Write --from {LIVE} or --from {_KKP}, or leave it out",
        )
    from osm_gitops.commands.init.adopting import AdoptionRequest, adopt  # noqa: PLC0415 - imports kube

    kubeconfig = osm.access.kubeconfig or (request.management.kubeconfig if osm.access.context else "")
    wanted = AdoptionRequest(
        cluster=cluster,
        management=request.management,
        worker=request.worker,
        deployment=osm.deployment,
        osm=ContextRef(kubeconfig, osm.access.context),
        bundles={flag: _bundle(flag, str(setting.value)) for flag, setting in request.settings.items()},
    )
    adoption = adopt(wanted, dict(os.environ))
    for finding in adoption.findings():
        console.say(finding)
    console.problems(adoption.warnings, label="Warning")
    return adoption


def _needless(request: Request, osm: _OsmOptions) -> list[str]:
    """The given options that are only for ``--from cluster``."""
    given = [*request.connection_flags, *(f"--{flag}" for flag in request.settings)]
    given += ["--osm-deployment"] if osm.deployment else []
    given += ["--osm-kubeconfig or --osm-context"] if osm.access.is_named else []
    given += ["--with-pools"] if osm.with_pools else []
    return given


def _refuse_needless(request: Request, osm: _OsmOptions) -> None:
    from osm_gitops.config.spec import LIVE  # noqa: PLC0415 - slow

    given = _needless(request, osm)
    if given:
        raise input_error(
            Code.OPTIONS_CONFLICT,
            f"has no effect without --from {LIVE}",
            where=given[0],
            fix=f"Add --from {LIVE}, or remove it",
        )


def _bundle(flag: str, path: str) -> PodText:
    from osm_gitops.sources.osm_deployment import PodText  # noqa: PLC0415

    try:
        text = read_file(path, DOCUMENT).decode("utf-8", "surrogateescape")
    except OSError as fault:
        raise input_error(
            Code.FILE_UNREADABLE, f"{path} cannot be read: {fault.strerror}", where=f"--{flag}"
        ) from fault
    return PodText(text, (f"the file given with --{flag}",))


@dataclass(frozen=True, slots=True)
class _Written:
    """What ``init`` wrote: the place, the files, and the key file if a new key was made."""

    place: Place
    files: Collection[str]
    key_file: Path | None


def _written(place: Place, files: Mapping[str, bytes], key: str) -> _Written:
    from osm_gitops.commands.init.scaffold import free_files, refuse_key_in, write_files  # noqa: PLC0415
    from osm_gitops.sops.keys import add_identity  # noqa: PLC0415 - slow

    chosen = free_files(place, files)
    key_file = _key_file() if key else None
    if key_file is not None:
        refuse_key_in(place.root, key_file)
        # Before the files: files without their key are useless, but an unused key does no harm.
        add_identity(key_file, key)
    write_files(place, chosen)
    return _Written(place, chosen, key_file)


def _texts() -> dict[str, str]:
    from importlib.resources import files  # noqa: PLC0415

    from osm_gitops.commands.init.scaffold import pinned_workflow  # noqa: PLC0415

    texts = {
        entry.name: entry.read_text("utf-8") for entry in files("osm_gitops.commands.init").joinpath("files").iterdir()
    }
    return texts | {"workflow.yml": pinned_workflow(texts["workflow.yml"], _direct_url())}


def _direct_url() -> str:
    """Where this program was installed from, as the installer recorded it (PEP 610), or an empty text."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        return distribution("osm-gitops").read_text("direct_url.json") or ""
    except PackageNotFoundError:
        return ""


def _new_key() -> tuple[str, tuple[str, ...]]:
    from osm_gitops.sops.keys import new_identity  # noqa: PLC0415 - slow

    text, recipient = new_identity()
    return text, (recipient,)


def _key_file() -> Path:
    from osm_gitops.sops.keys import default_key_file  # noqa: PLC0415 - slow

    path = default_key_file(os.environ)
    if path is None:
        raise input_error(
            Code.NO_HOME_FOLDER,
            "cannot store a new key: this user has no home folder",
            fix="Make a key with age-keygen and pass its public key as --age-recipient",
        )
    return path


def _show_result(written: _Written, recipients: tuple[str, ...], following: str) -> None:
    root = written.place.root
    for path in written.files:
        console.out(f"{(root / path).as_posix()}\n")
    if _README not in written.files:
        console.say(f"{_README} exists and is not changed.")
    if written.key_file is not None:
        console.say(f"The private key of {recipients[0]} is in {written.key_file}: keep a copy of it in a safe place.")
    else:
        console.say(
            "osm-gitops plan needs the private key of a recipient where sops finds it; osm-gitops doctor checks that."
        )
    console.say(following.format(root=quote(str(root))).rstrip("\n"))
