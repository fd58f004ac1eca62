"""Options that commands share: clusters and settings (design.md, "Settings of a command").

The flags of settings come from the table of settings. A command gets the options by a decorator, and receives them as
a :class:`Request`.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from osm_gitops.cli.completion import complete_cluster, complete_context, complete_pool, complete_worker_context
from osm_gitops.config.setting_names import DEFAULT_TEXTS, SETTINGS, Kind, SettingName
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import Code, input_error

if TYPE_CHECKING:
    from osm_gitops.config.settings import RawSetting
    from osm_gitops.git.address import TokenFile
    from osm_gitops.git.remote import Clone
    from osm_gitops.pipeline.connections import Connections

_METAVARS: Mapping[Kind, str] = {
    Kind.TEXT: "TEXT",
    Kind.TEXTS: "TEXT,…",
    Kind.GATES: "GATE=BOOL,…",
    Kind.MIRRORS: "REGISTRY=URL",
    Kind.FILE: "FILE",
    Kind.COUNT: "N",
    Kind.DURATION: "DURATION",
}
WORK_PANEL = "What to work on"
_CLUSTERS_PANEL = "Which clusters, where a source or the target is cluster"
_SETTINGS_PANEL = "Settings, named as Operating System Manager names them"


Completion = Callable[[typer.Context, str], list[str]]


class Form(Enum):
    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Request:
    """The values of the shared options; ``settings`` come from flags and the environment, by flag.

    ``clusters`` and ``only`` are globs of names; empty ones select all. ``changed_since`` is a git revision, or empty.
    ``shard`` is the index and the number of shards, or empty.
    ``promote`` are globs of clusters that do not wait for other waves.
    ``untrusted``: run nothing and connect to no server that the tree names, and read no file outside of it. Relative
    paths start at ``base``. ``clone`` is the clone of ``--repo``, which then is the ``base``. ``connections`` are
    closed when the command ends. ``allow_empty``: a seed of KKP may have none of the clusters that are meant.
    ``writes``: clusters of KKP that must not be written are left out. ``left_out`` are clusters of which the user was
    told why nothing is done for them. ``watched`` are all clusters of a loop, of which this run may work on some.
    ``no_cache``: use nothing that earlier runs stored.
    """

    source: str | None
    profiles_from: str | None
    target: str | None
    clusters: tuple[str, ...]
    fleet: Path | None
    only: tuple[str, ...]
    verbose: bool
    settings: Mapping[str, RawSetting]
    connections: Connections
    overlays: tuple[str, ...] = ()
    management: ContextRef = UNNAMED
    worker: ContextRef = UNNAMED
    base: Path = Path()
    clone: Clone | None = None
    token: TokenFile | None = None
    untrusted: bool = False
    changed_since: str = ""
    shard: str = ""
    allow_empty: bool = True
    writes: bool = False
    left_out: dict[str, str] = field(default_factory=dict)
    promote: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    no_cache: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """The process's environment; for an untrusted tree without keys, credentials and the home folder."""
        from osm_gitops.children import for_untrusted  # noqa: PLC0415 - slow

        return for_untrusted(os.environ) if self.untrusted else dict(os.environ)

    @property
    def connection_flags(self) -> tuple[str, ...]:
        """The connection flags that have a value."""
        texts = (*astuple(self.management), *astuple(self.worker))
        return tuple(f"--{flag}" for flag, text in zip(_CONNECTION, texts, strict=True) if text)


def _environment(flag: str) -> str:
    return "OSM_GITOPS_" + flag.upper().replace("-", "_")


def option(names: str, text: str, *, panel: str | None = None, **more: Any) -> Any:
    """An option of a command. ``names`` are separated by commas; the first one gives the environment variable."""
    flag = names.partition(",")[0].partition("/")[0].removeprefix("--")
    return typer.Option(*names.split(","), help=text, envvar=_environment(flag), rich_help_panel=panel, **more)


def _work(kind: Any, names: str, text: str, **more: Any) -> Any:
    return Annotated[kind, option(names, text, panel=WORK_PANEL, **more)]


_OF_PROFILES = frozenset({"namespace", "disable-default-osps", "replace-default-osps", "profiles-version"})

_SHARED: Mapping[str, tuple[Any, Any]] = {
    "source": (
        _work(
            str | None,
            "--from",
            "Source to read: cluster, or a folder or file of manifests, with @REV at a git revision.",
            metavar="cluster|PATH[@REV]",
        ),
        None,
    ),
    "profiles_from": (
        _work(
            str | None,
            "--profiles-from",
            "Read OperatingSystemProfiles from here instead.",
            metavar="cluster|PATH[@REV]",
        ),
        None,
    ),
    "target": (
        _work(
            str | None,
            "--to",
            "Target to write: cluster, or the folder of the desired state. For render a folder, or - for stdout.",
            metavar="cluster|PATH",
        ),
        None,
    ),
    "cluster": (
        _work(
            list[str] | None,
            "--cluster",
            "Name of the cluster. With a fleet file: work only on clusters whose name matches; may be repeated.",
            metavar="NAME|GLOB",
            autocompletion=complete_cluster,
        ),
        None,
    ),
    "fleet": (
        _work(
            Path | None,
            "--fleet",
            "Fleet file. Without it, osm-gitops.yaml in the current folder or a folder above.",
            metavar="FILE",
        ),
        None,
    ),
    "changed_since": (
        _work(
            str,
            "--changed-since",
            "Work only on clusters of the fleet file whose inputs differ from this git revision.",
            metavar="REV",
            show_default=False,
        ),
        "",
    ),
    "shard": (
        _work(
            str,
            "--shard",
            "Work only on the clusters of one shard: runs with 0/4, 1/4, 2/4 and 3/4 do the whole fleet.",
            metavar="INDEX/COUNT",
            show_default=False,
        ),
        "",
    ),
    "promote": (
        _work(
            list[str] | None,
            "--promote",
            "Give clusters whose name matches the newest profiles, overlays and settings now, whatever waves they wait "
            "for. May be repeated.",
            metavar="NAME|GLOB",
            autocompletion=complete_cluster,
        ),
        None,
    ),
    "only": (
        _work(
            list[str] | None,
            "--only",
            "Work only on pools whose name matches. Deletes nothing. May be repeated.",
            metavar="GLOB",
            autocompletion=complete_pool,
        ),
        None,
    ),
    "overlays": (
        _work(
            list[str] | None,
            "--overlay",
            "Add an overlay after those of the fleet file. May be repeated; the last one wins.",
            metavar="PATH[@REV]|builtin:NAME",
        ),
        None,
    ),
    "no_cache": (
        Annotated[bool, option("--no-cache", "Use nothing that earlier runs stored, and store nothing.")],
        False,
    ),
    "verbose": (Annotated[bool, option("--verbose,-v", "Print more details.")], False),
    "untrusted": (
        _work(
            bool,
            "--untrusted",
            "Read a tree of unknown authors: run nothing and ask no server that it names, use no keys or credentials.",
        ),
        False,
    ),
}
# Commands that have to trust the tree. They accept the flag and its variable only to refuse them, so that a user who
# sets the variable for all commands gets an error.
_TRUSTING: Mapping[str, str] = {
    "apply": "apply writes to the targets that the tree names",
    "refresh": "refresh writes to the clusters that the tree names",
    "status": "status connects to the clusters that the tree names",
    "uninstall": "uninstall changes the clusters that the tree names",
    "install": "install may connect to the clusters that the tree names",
    "boot": "boot runs the scripts of the pools that the tree has, as root",
    "init": "init reads no tree",
    "rekey": "rekey decrypts files with your private keys and encrypts them for the recipients that the tree names",
}
Untrusted = _SHARED["untrusted"][0]
RefusedUntrusted = Annotated[bool, option("--untrusted", "Refused.", hidden=True)]


def refuse_untrusted(command: str) -> None:
    """Refuse ``--untrusted`` for a command that has to trust its tree. Raises InputError."""
    from osm_gitops.sources.trust import FLAG  # noqa: PLC0415 - slow

    fix = f"Run it without {FLAG} on a tree that you trust; plan, render, explain, validate, osp and doctor support it"
    raise input_error(Code.COMMAND_TRUSTS_TREE, f"{_TRUSTING[command]}, so it must be trusted", where=FLAG, fix=fix)


# Named as in OSM, or in that style.
_CONNECTION: Mapping[str, tuple[str, str, Completion | None]] = {
    "kubeconfig": ("FILE", "Kubeconfig of the management cluster. Without it, the one that kubectl uses.", None),
    "context": ("NAME", "Context in that kubeconfig.", complete_context),
    "worker-cluster-kubeconfig": (
        "FILE",
        "Kubeconfig of the worker cluster, if that is another cluster.",
        None,
    ),
    "worker-context": (
        "NAME",
        "Context in that kubeconfig, or in the management cluster's.",
        complete_worker_context,
    ),
}


def with_request(command: Callable[..., int]) -> Callable[..., int]:
    """Add all shared options to ``command``; its first parameter receives them as a :class:`Request`."""
    return _with_options(command, tuple(_SHARED), SETTINGS)


def with_newest(command: Callable[..., int]) -> Callable[..., int]:
    """Like :func:`with_request`, without ``--promote``: for a command that knows no waves."""
    return _with_options(command, tuple(name for name in _SHARED if name != "promote"), SETTINGS)


def with_sources(command: Callable[..., int]) -> Callable[..., int]:
    """Like :func:`with_request`, without target and pools, and only with the settings that select profiles."""
    settings = tuple(setting for setting in SETTINGS if setting.flag in _OF_PROFILES)
    return _with_options(command, ("source", "profiles_from", "cluster", "fleet", "overlays", "untrusted"), settings)


def with_all_pools(command: Callable[..., int]) -> Callable[..., int]:
    """Like :func:`with_request`, without target and ``--only``."""
    return _with_options(command, ("source", "profiles_from", "cluster", "fleet", "overlays", "untrusted"), SETTINGS)


def with_cached_pools(command: Callable[..., int]) -> Callable[..., int]:
    """Like :func:`with_all_pools`, with ``--no-cache``."""
    shared = ("source", "profiles_from", "cluster", "fleet", "overlays", "no_cache", "untrusted")
    return _with_options(command, shared, SETTINGS)


_NOT_LIVE = frozenset({"target", "untrusted", "changed_since", "promote"})


def with_live(command: Callable[..., int]) -> Callable[..., int]:
    """Like :func:`with_request`, without target and ``--untrusted``."""
    return _with_options(command, tuple(name for name in _SHARED if name not in _NOT_LIVE), SETTINGS)


def with_cluster(command: Callable[..., int]) -> Callable[..., int]:
    """Only a source, a cluster name, and the settings that are CA files."""
    bundles = tuple(setting for setting in SETTINGS if setting.kind is Kind.FILE)
    return _with_options(command, ("source", "cluster"), bundles)


def with_settings(command: Callable[..., int]) -> Callable[..., int]:
    """Only a source, clusters and all settings."""
    return _with_options(command, ("source", "cluster", "fleet"), SETTINGS)


def with_live_clusters(command: Callable[..., int]) -> Callable[..., int]:
    """Like :func:`with_request`, without source and target. With all settings, so that all runs for a cluster can have
    the same."""
    return _with_options(command, ("cluster", "fleet", "shard", "only", "overlays", "verbose"), SETTINGS)


def with_fleet_file(command: Callable[..., int]) -> Callable[..., int]:
    """Only the fleet file."""
    return _with_options(command, ("fleet", "verbose"), ())


def with_named_clusters(command: Callable[..., int]) -> Callable[..., int]:
    """Like :func:`with_live_clusters`, for all pools of clusters that arguments name."""
    return _with_options(command, ("fleet", "overlays", "verbose"), SETTINGS)


def with_whole_cluster(command: Callable[..., int]) -> Callable[..., int]:
    """Like :func:`with_live_clusters`, without pools, and only with the setting ``namespace``."""
    settings = tuple(setting for setting in SETTINGS if setting.flag == "namespace")
    return _with_options(command, ("cluster", "fleet", "verbose"), settings)


def _with_options(
    command: Callable[..., int],
    shared: Sequence[str],
    settings: Sequence[SettingName],
) -> Callable[..., int]:
    name, refused = command.__name__, command.__name__ in _TRUSTING
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    parameters = [
        *own,
        *(_parameter(each, *_SHARED[each]) for each in shared if not (refused and each == "untrusted")),
        *((_parameter("untrusted", RefusedUntrusted, default=False),) if refused else ()),
        *_connection_parameters(),
        *_setting_parameters(settings),
    ]
    keyword = inspect.Parameter.KEYWORD_ONLY
    context = inspect.Parameter("ctx", keyword, annotation=typer.Context)

    @functools.wraps(command)
    def called(ctx: typer.Context, **given: Any) -> int:
        from osm_gitops.config.settings import RawSetting  # noqa: PLC0415 - slow
        from osm_gitops.pipeline.connections import Connections  # noqa: PLC0415 - slow

        taken = {each: given.pop(each, default) for each, (_, default) in _SHARED.items()}
        if refused and taken["untrusted"]:
            refuse_untrusted(name)
        taken["clusters"] = taken.pop("cluster")
        taken |= {each: tuple(taken[each] or ()) for each in ("clusters", "only", "overlays", "promote")}
        named = [given.pop(_python_name(flag)) or "" for flag in _CONNECTION]
        raw = {setting.flag: given.pop(_python_name(setting.flag)) for setting in settings}
        found = {
            flag: RawSetting(flag, value, _where(ctx, flag))
            for flag, value in raw.items()
            if value is not None and value != []
        }
        connections = Connections(dict(os.environ))
        ctx.call_on_close(connections.close)
        management, worker = ContextRef(*named[:2]), ContextRef(*named[2:])
        request = Request(**taken, settings=found, connections=connections, management=management, worker=worker)
        return command(request, **given)

    signature = inspect.Signature([context, *(parameter.replace(kind=keyword) for parameter in parameters)])
    called.__signature__ = signature  # type: ignore[attr-defined] # inspect reads this attribute
    called.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return called


def _connection_parameters() -> list[inspect.Parameter]:
    parameters = []
    for flag, (metavar, text, complete) in _CONNECTION.items():
        described = option(f"--{flag}", text, panel=_CLUSTERS_PANEL, metavar=metavar, autocompletion=complete)
        parameters.append(_parameter(_python_name(flag), Annotated[str | None, described], None))
    return parameters


def _setting_parameters(settings: Sequence[SettingName]) -> list[inspect.Parameter]:
    parameters = []
    for setting in settings:
        names = f"--{setting.flag}"
        kind: Any = str | None
        if setting.kind is Kind.BOOLEAN:
            kind, names = bool | None, f"--{setting.flag}/--no-{setting.flag}"
        elif setting.kind is Kind.MIRRORS:
            kind = list[str] | None
        default = DEFAULT_TEXTS.get(setting.flag)
        text = f"{setting.help}  [default: {default}]" if default else setting.help
        metavar = _METAVARS.get(setting.kind)
        described = option(names, text, panel=_SETTINGS_PANEL, metavar=metavar, show_default=False)
        parameters.append(_parameter(_python_name(setting.flag), Annotated[kind, described], None))
    return parameters


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _python_name(flag: str) -> str:
    return flag.replace("-", "_")


def _where(ctx: typer.Context, flag: str) -> str:
    source = ctx.get_parameter_source(_python_name(flag))
    from_environment = source is not None and source.name == "ENVIRONMENT"
    return f"environment {_environment(flag)}" if from_environment else f"flag --{flag}"
