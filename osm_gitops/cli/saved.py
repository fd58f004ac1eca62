"""``plan --out FILE`` and ``apply FILE``: save a plan with the options of its command, and restore these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from osm_gitops import __version__
from osm_gitops.bounded.files import LARGE, read_file
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request, option
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code, InputError, Problem, input_error

if TYPE_CHECKING:
    from osm_gitops.config.settings import RawSetting
    from osm_gitops.model.objects import Json
    from osm_gitops.pipeline.options import Outcome
    from osm_gitops.report.saved_plan import SavedPlan

Out = Annotated[
    Path | None,
    option("--out", "Save the plan for apply FILE. It contains no secret.", metavar="FILE", show_default=False),
]
PlanFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[PLAN]", help="Plan saved by plan --out. Apply exactly that, or refuse if something changed."
    ),
]

_PLACES: Final = {
    "from": "source",
    "profiles-from": "profiles_from",
    "to": "target",
    "fleet": "fleet",
    "changed-since": "changed_since",
    "shard": "shard",
}
_REPEATED: Final = {"cluster": "clusters", "only": "only", "overlay": "overlays", "promote": "promote"}
_MANAGEMENT: Final = {"kubeconfig": "kubeconfig", "context": "context"}
_WORKER: Final = {"worker-cluster-kubeconfig": "kubeconfig", "worker-context": "context"}


def options_of(request: Request) -> dict[str, Json]:
    """The options of a request by flag; ``None`` for a setting with a credential."""
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow

    found: dict[str, Json] = {}
    for names, holder in ((_PLACES, request), (_MANAGEMENT, request.management), (_WORKER, request.worker)):
        for flag, name in names.items():
            value = getattr(holder, name)
            if value:
                found[flag] = str(value)
    found |= {flag: list(values) for flag, name in _REPEATED.items() if (values := getattr(request, name))}
    masker = Masker()
    for flag, setting in request.settings.items():
        texts = [str(item) for item in setting.value] if isinstance(setting.value, list) else [str(setting.value)]
        found[flag] = setting.value if all(masker.line(text) == text for text in texts) else None
    return found


def save_plan(path: Path, outcome: Outcome, request: Request) -> None:
    """Write a plan into a file, unless a cluster could not be planned. Raises InputError."""
    from osm_gitops.report.saved_plan import saved_plan  # noqa: PLC0415 - slow

    if outcome.problems:
        console.say(f"{path} is not written, because the plan is incomplete.")
        return
    try:
        path.write_text(saved_plan(outcome.plan, __version__, options_of(request)), "utf-8", newline="\n")
    except OSError as fault:
        raise input_error(
            Code.FILE_UNWRITABLE, f"cannot be written: {fault.strerror}", where=f"--out {path}"
        ) from fault


def open_plan(path: Path) -> SavedPlan:
    """A saved plan; raises InputError."""
    from osm_gitops.report.saved_plan import read_saved_plan  # noqa: PLC0415 - slow

    try:
        return read_saved_plan(read_file(path, LARGE), str(path))
    except OSError as failure:
        raise input_error(Code.FILE_UNREADABLE, f"cannot be read: {failure.strerror}", where=str(path)) from failure


def as_asked(request: Request, options: Mapping[str, Json], where: str) -> Request:
    """``request`` with the ``options`` of a saved plan for what it does not set itself; raises InputError."""
    texts = {flag: str(value) for flag, value in options.items() if isinstance(value, str)}
    lists = {
        name: tuple(map(str, value)) for flag, name in _REPEATED.items() if isinstance(value := options.get(flag), list)
    }
    fleet = Path(texts["fleet"]) if "fleet" in texts else None
    return replace(
        request,
        source=request.source or texts.get("from"),
        profiles_from=request.profiles_from or texts.get("profiles-from"),
        target=request.target or texts.get("to"),
        clusters=request.clusters or lists.get("clusters", ()),
        fleet=request.fleet or fleet,
        only=request.only or lists.get("only", ()),
        overlays=request.overlays or lists.get("overlays", ()),
        promote=request.promote or lists.get("promote", ()),
        changed_since=request.changed_since or texts.get("changed-since", ""),
        shard=request.shard or texts.get("shard", ""),
        settings=_settings(request, options, where),
        management=_access(request.management, _MANAGEMENT, texts),
        worker=_access(request.worker, _WORKER, texts),
    )


def _settings(request: Request, options: Mapping[str, Json], where: str) -> Mapping[str, RawSetting]:
    from osm_gitops.config.settings import RawSetting  # noqa: PLC0415 - slow

    saved = {
        flag: value for flag, value in options.items() if flag in SETTINGS_BY_FLAG and flag not in request.settings
    }
    problems = [
        Problem(
            Code.CREDENTIAL_NOT_SAVED,
            f"--{flag} has a credential, which is not saved in plans",
            where=where,
            fix=f"Pass --{flag} again",
        )
        for flag, value in saved.items()
        if value is None
    ]
    if problems:
        raise InputError(problems)
    found = {flag: RawSetting(flag, value, f"{where}, --{flag}", str(request.base)) for flag, value in saved.items()}
    return {**request.settings, **found}


def _access(given: ContextRef, names: Mapping[str, str], texts: Mapping[str, str]) -> ContextRef:
    kubeconfig, context = (texts.get(flag, "") for flag in names)
    return ContextRef(given.kubeconfig or kubeconfig, given.context or context)
