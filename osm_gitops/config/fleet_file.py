"""Read the fleet file ``osm-gitops.yaml`` (design.md, "Fleet file"); all problems are reported at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from osm_gitops.bounded.files import DOCUMENT, read_file
from osm_gitops.config.fleet_keys import (
    API_VERSION,
    CLUSTER,
    GIT,
    MACHINES,
    MANAGEMENT,
    NAME_PATTERN,
    SOURCE,
    TARGET,
    TOP,
    WORKER,
)
from osm_gitops.config.overlay_files import overlay_ref
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG, SETTINGS_BY_KEY
from osm_gitops.config.settings import RawSetting
from osm_gitops.config.spec import LIVE, ClusterSpec, LiveTarget, SourceSpec, TargetSpec, source_ref
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.model.objects import Json
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.render.resolve.json_fields import did_you_mean, type_name
from osm_gitops.yaml.kubernetes import Document, load_documents

FLEET_FILE = "osm-gitops.yaml"

NAME_RULE = "it must be a name of lower-case letters, digits, dashes and dots"

_NAME = re.compile(NAME_PATTERN)
_PROFILES_VERSION = SETTINGS_BY_FLAG["profiles-version"]
_NO_HOME = "~ does not mean the home folder here"


def is_cluster_name(text: str) -> bool:
    """Whether a text can be the name of a cluster."""
    return _NAME.fullmatch(text) is not None


def find_fleet_file(start: Path, *, above: bool = True) -> Path | None:
    """The fleet file in ``start`` or the nearest folder ``above`` it."""
    for folder in (start, *(start.parents if above else ())):
        if (folder / FLEET_FILE).is_file():
            return folder / FLEET_FILE
    return None


def read_fleet(path: Path, display: str) -> tuple[ClusterSpec, ...]:
    """All clusters of a fleet file. Raises InputError with every problem of the file."""
    try:
        text = read_file(path, DOCUMENT)
    except OSError as fault:
        raise input_error(
            Code.FILE_UNREADABLE, f"the fleet file cannot be read: {fault.strerror}", where=display
        ) from fault
    return parse_fleet(text, path.parent, display)


def parse_fleet(text: bytes, base: Path, display: str) -> tuple[ClusterSpec, ...]:
    """All clusters of a fleet file's text, whose paths start at ``base``. Raises InputError with every problem."""
    documents = load_documents(text, display)
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise input_error(Code.NOT_ONE_DOCUMENT, "a fleet file is one YAML document with the kind Fleet", where=display)
    reader = _FleetReader(documents[0], base, display)
    clusters = reader.clusters()
    if reader.problems:
        raise InputError(reader.problems)
    return clusters


@dataclass(slots=True)
class _FleetReader:
    """Reads the document and collects problems with their lines."""

    document: Document
    base: Path
    display: str
    problems: list[Problem] = field(default_factory=list)

    def clusters(self) -> tuple[ClusterSpec, ...]:
        top = self.document.value
        self._check_keys(top, "", TOP)
        for key, wanted in (("apiVersion", API_VERSION), ("kind", "Fleet")):
            if top.get(key) != wanted:
                self._problem(Code.INVALID_VALUE, key, f"it must be {wanted}")
        defaults = self._mapping(top.get("defaults"), "defaults")
        self._check_keys(defaults, "defaults", tuple(key for key in CLUSTER if key != "name"))
        entries = top.get("clusters")
        if not isinstance(entries, list) or not entries:
            self._problem(Code.WRONG_TYPE, "clusters", "it must be a list of at least one cluster")
            return ()
        clusters = [self._cluster(entry, defaults, f"clusters[{at}]") for at, entry in enumerate(entries)]
        self._check_unique(clusters)
        return tuple(cluster for cluster in clusters if cluster is not None)

    def _check_unique(self, clusters: Iterable[ClusterSpec | None]) -> None:
        seen: dict[str, int] = {}
        for at, cluster in enumerate(clusters):
            if cluster is None:
                continue
            if cluster.name in seen:
                self._problem(
                    Code.DUPLICATE_NAME,
                    f"clusters[{at}].name",
                    f'"{cluster.name}" is already the name of clusters[{seen[cluster.name]}]',
                )
            seen.setdefault(cluster.name, at)

    def _cluster(self, entry: Json, defaults: Mapping[str, Json], at: str) -> ClusterSpec | None:
        if not isinstance(entry, dict):
            self._problem(Code.WRONG_TYPE, at, f"it must be a mapping, not {type_name(entry)}")
            return None
        before = len(self.problems)
        self._check_keys(entry, at, CLUSTER)
        name = entry.get("name")
        if not isinstance(name, str) or not is_cluster_name(name):
            self._problem(Code.INVALID_VALUE, f"{at}.name", NAME_RULE)
        # A key of the cluster takes precedence over the default; settings are merged, overlays added.
        merged = {key: (value, f"defaults.{key}") for key, value in defaults.items()}
        merged |= {key: (value, f"{at}.{key}") for key, value in entry.items()}
        settings = self._settings(defaults.get("settings"), "defaults.settings")
        settings |= self._settings(entry.get("settings"), f"{at}.settings")
        settings |= self._namespace(merged) | self._profiles_version(merged)
        management = self._access(*merged.get("management", ({}, "management")), keys=MANAGEMENT)
        worker = self._access(*merged.get("worker", ({}, "worker")), keys=WORKER)
        source = self._source(*merged.get("from", (None, f"{at}.from")))
        target = self._target(*merged["to"]) if "to" in merged else None
        if source is not None and source.applies_machines and isinstance(target, TargetSpec):
            self._problem(
                Code.APPLY_NEEDS_LIVE_TARGET,
                f"{merged['from'][1]}.machineDeployments.apply",
                "only a run with to: cluster applies MachineDeployments",
                "With a git target, let Flux or Argo CD apply them: docs/how-to/flux.md, docs/how-to/argocd.md",
            )
        overlays = self._overlays(defaults.get("overlays"), "defaults.overlays")
        overlays += self._overlays(entry.get("overlays"), f"{at}.overlays")
        if len(self.problems) > before or not isinstance(name, str) or source is None:
            return None
        return ClusterSpec(name, source, tuple(settings.values()), target, management, worker, overlays=overlays)

    def _overlays(self, value: Json, at: str) -> tuple[OverlayRef, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            self._problem(Code.WRONG_TYPE, at, f"it must be a list of overlays, not {type_name(value)}")
            return ()
        wrong = [index for index, each in enumerate(value) if not _is_path(each)]
        for index in wrong:
            self._problem(Code.WRONG_TYPE, f"{at}[{index}]", "it must be the path of an overlay, or builtin:NAME")
        return () if wrong else tuple(overlay_ref(self.base, each) for each in value)

    def _settings(self, value: Json, at: str) -> dict[str, RawSetting]:
        raw: dict[str, RawSetting] = {}
        for key, setting in self._mapping(value, at).items():
            known = SETTINGS_BY_KEY.get(key)
            if known is None:
                self._problem(
                    Code.UNKNOWN_KEY, f"{at}.{key}", f'"{key}" is not a setting', did_you_mean(key, SETTINGS_BY_KEY)
                )
            else:
                where = f"{self._where(f'{at}.{key}')} {at}.{key}"
                raw[known.flag] = RawSetting(known.flag, setting, where, str(self.base), from_tree=True)
        return raw

    def _namespace(self, merged: Mapping[str, tuple[Json, str]]) -> dict[str, RawSetting]:
        management, at = merged.get("management", ({}, "management"))
        if not isinstance(management, dict) or "namespace" not in management:
            return {}
        where = f"{self._where(f'{at}.namespace')} {at}.namespace"
        return {"namespace": RawSetting("namespace", management["namespace"], where)}

    def _profiles_version(self, merged: Mapping[str, tuple[Json, str]]) -> dict[str, RawSetting]:
        version, at = merged.get(_PROFILES_VERSION.key, (None, ""))
        if version is None:
            return {}
        return {_PROFILES_VERSION.flag: RawSetting(_PROFILES_VERSION.flag, version, f"{self._where(at)} {at}")}

    def _access(self, value: Json, at: str, keys: Iterable[str]) -> ContextRef:
        named = self._mapping(value, at)
        self._check_keys(named, at, keys)
        texts = {key: named[key] for key in ("kubeconfig", "context") if key in named}
        for key, text in texts.items():
            if not _is_path(text):
                self._problem(Code.WRONG_TYPE, f"{at}.{key}", "it must not be empty")
                return ContextRef()
        path = texts.get("kubeconfig", "")
        if path.startswith("~"):
            fix = "Write the whole path, or leave it out to use kubectl's kubeconfig"
            self._problem(Code.INVALID_VALUE, f"{at}.kubeconfig", _NO_HOME, fix)
        return ContextRef(str(self.base / path) if path else "", texts.get("context", ""))

    def _source(self, value: Json, at: str) -> SourceSpec | None:
        if _is_path(value):
            whole = source_ref(self.base, value)
            return SourceSpec(whole, whole, whole)
        if value is None:
            self._problem(Code.MISSING_KEY, at, "it must name the folder with the manifests, or cluster")
            return None
        if not isinstance(value, dict):
            wrong = "this text" if isinstance(value, str) else type_name(value)
            self._problem(Code.WRONG_TYPE, at, f"it must be a path, or a mapping of paths, not {wrong}")
            return None
        parts: Mapping[str, Json] = value
        self._check_keys(parts, at, SOURCE)
        machines, applied = self._machines(parts.get("machineDeployments"), f"{at}.machineDeployments")
        parts = {**parts, "machineDeployments": machines}
        for key, part in parts.items():
            if not _is_path(part) and key != "machineDeployments":
                self._problem(Code.WRONG_TYPE, f"{at}.{key}", "it must be a path")
        if not all(_is_path(part) for part in parts.values()):
            return None
        chosen = [str(parts.get(key, machines)) for key in SOURCE]
        return SourceSpec(*(source_ref(self.base, part) for part in chosen), applies_machines=applied)

    def _machines(self, value: Json, at: str) -> tuple[Json, bool]:
        """The path of the MachineDeployments (``None`` after a problem), and whether to apply them."""
        if value is None:
            source = at.rpartition(".")[0]
            self._problem(
                Code.MISSING_KEY, source, "it must name machineDeployments: the folder with the MachineDeployments"
            )
            return None, False
        if not isinstance(value, dict):
            if not _is_path(value):
                self._problem(Code.WRONG_TYPE, at, "it must be a path, or a mapping with a path")
            return value, False
        named: Mapping[str, Json] = value
        self._check_keys(named, at, MACHINES)
        path, applied = named.get("path"), named.get("apply", False)
        if not _is_path(path):
            self._problem(Code.WRONG_TYPE, f"{at}.path", "it must be a path")
        if not isinstance(applied, bool):
            self._problem(Code.WRONG_TYPE, f"{at}.apply", "it must be true or false")
        elif applied and path == LIVE:
            self._problem(
                Code.APPLY_NEEDS_LIVE_TARGET,
                f"{at}.apply",
                "MachineDeployments that are read from the cluster need not be applied",
            )
        return path, applied is True

    def _target(self, value: Json, at: str) -> TargetSpec | LiveTarget | None:
        if value == LIVE:
            return LiveTarget()
        if not isinstance(value, dict):
            self._problem(
                Code.WRONG_TYPE,
                at,
                f"it must be {LIVE}, or name a folder as {{git: {{path: …}}}}, not {type_name(value)}",
            )
            return None
        target: Mapping[str, Json] = value
        self._check_keys(target, at, TARGET)
        git = self._mapping(target.get("git"), f"{at}.git")
        self._check_keys(git, f"{at}.git", GIT)
        for key in ("path", "branch", "remote"):
            if key in git and not _is_path(git[key]):
                self._problem(Code.WRONG_TYPE, f"{at}.git.{key}", "it must not be empty")
        for key in ("push", "sign"):
            if not isinstance(git.get(key, False), bool):
                self._problem(Code.WRONG_TYPE, f"{at}.git.{key}", "it must be true or false")
        if "path" not in git:
            self._problem(Code.MISSING_KEY, f"{at}.git.path", "it must name the folder for the desired state")
        if not isinstance(git.get("path"), str):
            return None
        return TargetSpec(
            self.base / git["path"],
            git["path"],
            branch=git.get("branch", ""),
            remote=git.get("remote", "origin"),
            push=git.get("push", False),
            sign=git.get("sign"),
        )

    def _mapping(self, value: Json, at: str) -> Mapping[str, Json]:
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        self._problem(Code.WRONG_TYPE, at, f"it must be a mapping, not {type_name(value)}")
        return {}

    def _check_keys(self, value: Mapping[str, Json], at: str, known: Iterable[str]) -> None:
        names = set(known)
        for key in value:
            if key not in names:
                place = f"{at}.{key}" if at else key
                self._problem(Code.UNKNOWN_KEY, place, f'"{key}" is not a known key', did_you_mean(key, known))

    def _problem(self, code: Code, at: str, what: str, fix: str = "") -> None:
        self.problems.append(Problem(code, what, where=self._where(at), field=at, fix=fix))

    def _where(self, at: str) -> str:
        path = at
        while path:
            if path in self.document.lines:
                return f"{self.display}:{self.document.lines[path]}"
            cut = max(path.rfind("."), path.rfind("["))
            path = path[:cut] if cut > 0 else ""
        return self.display


def _is_path(value: Json) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value
