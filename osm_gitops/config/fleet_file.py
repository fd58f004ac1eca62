"""Read the fleet file ``osm-gitops.yaml`` (design.md, "Fleet file"); all problems are reported at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from osm_gitops.bounded.files import DOCUMENT, read_file
from osm_gitops.config.fleet_keys import (
    API_VERSION,
    AUTO_MERGE,
    CLUSTER,
    GIT,
    KKP,
    KKP_CLUSTER,
    MACHINES,
    MANAGEMENT,
    NAME_PATTERN,
    OVERRIDE,
    PULL_REQUEST,
    SEED,
    SELECT,
    SOURCE,
    TARGET,
    TOP,
    WORKER,
)
from osm_gitops.config.overlay_files import overlay_ref
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG, SETTINGS_BY_KEY
from osm_gitops.config.settings import RawSetting
from osm_gitops.config.spec import (
    CLUSTER_PLACEHOLDER,
    LIVE,
    PLACEHOLDERS,
    Address,
    ClusterSpec,
    Fleet,
    KkpEntry,
    LiveTarget,
    PullRequestSpec,
    Selection,
    SourceSpec,
    TargetSpec,
    WhilePaused,
    source_ref,
    tree_ref,
)
from osm_gitops.config.waves import read_waves, waves_of
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code, InputError, Problem, did_you_mean, input_error
from osm_gitops.model.objects import Json
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.render.resolve.json_fields import type_name
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


def read_fleet(path: Path, display: str) -> Fleet:
    """All entries of a fleet file. Raises InputError with every problem of the file."""
    try:
        text = read_file(path, DOCUMENT)
    except OSError as fault:
        raise input_error(
            Code.FILE_UNREADABLE, f"the fleet file cannot be read: {fault.strerror}", where=display
        ) from fault
    return parse_fleet(text, path.parent, display)


def parse_fleet(text: bytes, base: Path, display: str) -> Fleet:
    """All entries of a fleet file's text, whose paths start at ``base``. Raises InputError with every problem."""
    documents = load_documents(text, display)
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise input_error(Code.NOT_ONE_DOCUMENT, "a fleet file is one YAML document with the kind Fleet", where=display)
    reader = _FleetReader(documents[0], base, display)
    fleet = reader.fleet()
    if reader.problems:
        raise InputError(dict.fromkeys(reader.problems))  # several clusters have the problems of their defaults
    return fleet


@dataclass(slots=True)
class _FleetReader:
    """Reads the document and collects problems with their lines."""

    document: Document
    base: Path
    display: str
    problems: list[Problem] = field(default_factory=list)

    def fleet(self) -> Fleet:
        top = self.document.value
        self.check_keys(top, "", TOP)
        for key, wanted in (("apiVersion", API_VERSION), ("kind", "Fleet")):
            if top.get(key) != wanted:
                self.problem(Code.INVALID_VALUE, key, f"it must be {wanted}")
        defaults = self._mapping(top.get("defaults"), "defaults")
        self.check_keys(defaults, "defaults", tuple(key for key in CLUSTER if key != "name"))
        entries = top.get("clusters")
        if not isinstance(entries, list) or not entries:
            self.problem(Code.WRONG_TYPE, "clusters", "it must be a list of at least one cluster")
            return Fleet()
        clusters: list[ClusterSpec | None] = []
        seeds: list[KkpEntry | None] = []
        for index, entry in enumerate(entries):
            at = f"clusters[{index}]"
            if not isinstance(entry, dict):
                self.problem(Code.WRONG_TYPE, at, f"it must be a mapping, not {type_name(entry)}")
                clusters.append(None)
            elif "kkp" in entry:
                seeds.append(self._kkp(entry, defaults, at))
                clusters.append(None)
            else:
                clusters.append(self._cluster(entry, defaults, at))
        self._check_unique(clusters)
        waves = read_waves(top.get("waves"), self)
        named = [name for entry in entries if isinstance(entry, dict) and isinstance(name := entry.get("name"), str)]
        wave_of = waves_of(named, waves, self, complete=not seeds)
        found = (replace(each, wave=wave_of.get(each.name)) for each in clusters if each is not None)
        return Fleet(tuple(found), tuple(filter(None, seeds)), waves)

    def _check_unique(self, clusters: Iterable[ClusterSpec | None]) -> None:
        seen: dict[str, int] = {}
        for at, cluster in enumerate(clusters):
            if cluster is None:
                continue
            if cluster.name in seen:
                self.problem(
                    Code.DUPLICATE_NAME,
                    f"clusters[{at}].name",
                    f'"{cluster.name}" is already the name of clusters[{seen[cluster.name]}]',
                )
            seen.setdefault(cluster.name, at)

    def _cluster(self, entry: Mapping[str, Json], defaults: Mapping[str, Json], at: str) -> ClusterSpec | None:
        before = len(self.problems)
        self.check_keys(entry, at, CLUSTER)
        name = entry.get("name")
        if not isinstance(name, str) or not is_cluster_name(name):
            self.problem(Code.INVALID_VALUE, f"{at}.name", NAME_RULE)
        spec = self._spec(str(name), ((defaults, "defaults"), (entry, at)))
        return spec if len(self.problems) == before else None

    def _kkp(self, entry: Mapping[str, Json], defaults: Mapping[str, Json], at: str) -> KkpEntry | None:
        """An entry with the clusters of a seed. Connections of ``defaults`` are for other clusters."""
        before = len(self.problems)
        self.check_keys(entry, at, KKP_CLUSTER)
        kkp, place = entry["kkp"], f"{at}.kkp"
        if not isinstance(kkp, dict):
            self.problem(Code.WRONG_TYPE, place, f"it must be a mapping, not {type_name(kkp)}")
            return None
        self.check_keys(kkp, place, KKP)
        name = kkp.get("name", CLUSTER_PLACEHOLDER)
        if not isinstance(name, str) or CLUSTER_PLACEHOLDER not in name or not is_cluster_name(_without(name)):
            what = f"it must have {CLUSTER_PLACEHOLDER}, and perhaps {' or '.join(PLACEHOLDERS[1:])}: {NAME_RULE}"
            self.problem(Code.INVALID_VALUE, f"{place}.name", what)
        chosen: dict[str, str] = {}
        for key, known in (("address", Address), ("whilePaused", WhilePaused)):
            values = [each.value for each in known if each.value]
            if key in kkp and kkp[key] not in values:
                self.problem(Code.INVALID_VALUE, f"{place}.{key}", f"it must be one of {', '.join(values)}")
            elif key in kkp:
                chosen[key] = kkp[key]
        profiles = kkp.get("profiles")
        if "profiles" in kkp and not _is_path(profiles):
            self.problem(Code.WRONG_TYPE, f"{place}.profiles", "it must be a path")
        seed = self._access(kkp.get("seed"), f"{place}.seed", SEED)
        selection = self._selection(kkp.get("select"), f"{place}.select")
        general = {key: value for key, value in defaults.items() if key not in {"management", "worker"}}
        layers = (({"from": LIVE}, at), (general, "defaults"), (entry, at))
        template = self._spec(str(name), layers)
        overrides: dict[str, ClusterSpec] = {}
        for cluster, override in self._mapping(entry.get("overrides"), f"{at}.overrides").items():
            where = f"{at}.overrides.{cluster}"
            if not isinstance(override, dict):
                self.problem(Code.WRONG_TYPE, where, f"it must be a mapping, not {type_name(override)}")
                continue
            self.check_keys(override, where, OVERRIDE)
            spec = self._spec(str(name), (*layers, (override, where)))
            if spec is not None:
                overrides[cluster] = spec
        if len(self.problems) > before or template is None:
            return None
        address, paused = Address(chosen.get("address", "")), WhilePaused(chosen.get("whilePaused", "plan"))
        return KkpEntry(
            seed=seed,
            selection=selection,
            template=template,
            overrides=overrides,
            address=address,
            while_paused=paused,
            where=self.where(place),
            profiles=None if profiles is None else tree_ref(self.base, profiles),
        )

    def _selection(self, value: Json, at: str) -> Selection:
        given = self._mapping(value, at)
        self.check_keys(given, at, SELECT)
        globs = {}
        for key in ("project", "datacenter", "names"):
            texts = [given[key]] if isinstance(given.get(key), str) else given.get(key, ())
            if key in given and not (isinstance(texts, list) and texts and all(map(_is_path, texts))):
                self.problem(Code.WRONG_TYPE, f"{at}.{key}", "it must be a glob, or a list of globs")
                texts = ()
            globs[key] = tuple(texts)
        labels = given.get("labels", {})
        if not isinstance(labels, dict) or not all(isinstance(each, str) for each in labels.values()):
            self.problem(Code.WRONG_TYPE, f"{at}.labels", "it must be a mapping of texts")
            labels = {}
        return Selection(
            projects=globs["project"], datacenters=globs["datacenter"], names=globs["names"], labels=labels
        )

    def _spec(self, name: str, layers: Sequence[tuple[Mapping[str, Json], str]]) -> ClusterSpec | None:
        """A cluster of mappings with their places: a key of a later one wins; settings are merged, overlays added."""
        before = len(self.problems)
        last = layers[-1][1]
        merged = {key: (value, f"{at}.{key}") for layer, at in layers for key, value in layer.items()}
        settings: dict[str, RawSetting] = {}
        overlays: tuple[OverlayRef, ...] = ()
        for layer, at in layers:
            settings |= self._settings(layer.get("settings"), f"{at}.settings")
            overlays += self._overlays(layer.get("overlays"), f"{at}.overlays")
        settings |= self._namespace(merged) | self._profiles_version(merged)
        management = self._access(*merged.get("management", ({}, "management")), keys=MANAGEMENT)
        worker = self._access(*merged.get("worker", ({}, "worker")), keys=WORKER)
        source = self._source(*merged.get("from", (None, f"{last}.from")))
        target = self._target(*merged["to"]) if "to" in merged else None
        if source is not None and source.applies_machines and isinstance(target, TargetSpec):
            self.problem(
                Code.APPLY_NEEDS_LIVE_TARGET,
                f"{merged['from'][1]}.machineDeployments.apply",
                "only a run with to: cluster applies MachineDeployments",
                "With a git target, let Flux or Argo CD apply them: docs/how-to/flux.md, docs/how-to/argocd.md",
            )
        if len(self.problems) > before or source is None:
            return None
        return ClusterSpec(name, source, tuple(settings.values()), target, management, worker, overlays=overlays)

    def _overlays(self, value: Json, at: str) -> tuple[OverlayRef, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            self.problem(Code.WRONG_TYPE, at, f"it must be a list of overlays, not {type_name(value)}")
            return ()
        wrong = [index for index, each in enumerate(value) if not _is_path(each)]
        for index in wrong:
            self.problem(Code.WRONG_TYPE, f"{at}[{index}]", "it must be the path of an overlay, or builtin:NAME")
        return () if wrong else tuple(overlay_ref(self.base, each) for each in value)

    def _settings(self, value: Json, at: str) -> dict[str, RawSetting]:
        raw: dict[str, RawSetting] = {}
        for key, setting in self._mapping(value, at).items():
            known = SETTINGS_BY_KEY.get(key)
            if known is None:
                self.problem(
                    Code.UNKNOWN_KEY, f"{at}.{key}", f'"{key}" is not a setting', did_you_mean(key, SETTINGS_BY_KEY)
                )
            else:
                where = f"{self.where(f'{at}.{key}')} {at}.{key}"
                raw[known.flag] = RawSetting(known.flag, setting, where, str(self.base), from_tree=True)
        return raw

    def _namespace(self, merged: Mapping[str, tuple[Json, str]]) -> dict[str, RawSetting]:
        management, at = merged.get("management", ({}, "management"))
        if not isinstance(management, dict) or "namespace" not in management:
            return {}
        where = f"{self.where(f'{at}.namespace')} {at}.namespace"
        return {"namespace": RawSetting("namespace", management["namespace"], where)}

    def _profiles_version(self, merged: Mapping[str, tuple[Json, str]]) -> dict[str, RawSetting]:
        version, at = merged.get(_PROFILES_VERSION.key, (None, ""))
        if version is None:
            return {}
        return {_PROFILES_VERSION.flag: RawSetting(_PROFILES_VERSION.flag, version, f"{self.where(at)} {at}")}

    def _access(self, value: Json, at: str, keys: Iterable[str]) -> ContextRef:
        named = self._mapping(value, at)
        self.check_keys(named, at, keys)
        texts = {key: named[key] for key in ("kubeconfig", "context") if key in named}
        for key, text in texts.items():
            if not _is_path(text):
                self.problem(Code.WRONG_TYPE, f"{at}.{key}", "it must not be empty")
                return ContextRef()
        path = texts.get("kubeconfig", "")
        if path.startswith("~"):
            fix = "Write the whole path, or leave it out to use kubectl's kubeconfig"
            self.problem(Code.INVALID_VALUE, f"{at}.kubeconfig", _NO_HOME, fix)
        return ContextRef(str(self.base / path) if path else "", texts.get("context", ""))

    def _source(self, value: Json, at: str) -> SourceSpec | None:
        if _is_path(value):
            whole = source_ref(self.base, value)
            return SourceSpec(whole, whole, whole)
        if value is None:
            self.problem(Code.MISSING_KEY, at, "it must name the folder with the manifests, or cluster")
            return None
        if not isinstance(value, dict):
            wrong = "this text" if isinstance(value, str) else type_name(value)
            self.problem(Code.WRONG_TYPE, at, f"it must be a path, or a mapping of paths, not {wrong}")
            return None
        parts: Mapping[str, Json] = value
        self.check_keys(parts, at, SOURCE)
        machines, applied = self._machines(parts.get("machineDeployments"), f"{at}.machineDeployments")
        parts = {**parts, "machineDeployments": machines}
        for key, part in parts.items():
            if not _is_path(part) and key != "machineDeployments":
                self.problem(Code.WRONG_TYPE, f"{at}.{key}", "it must be a path")
        if not all(_is_path(part) for part in parts.values()):
            return None
        chosen = [str(parts.get(key, machines)) for key in SOURCE]
        return SourceSpec(*(source_ref(self.base, part) for part in chosen), applies_machines=applied)

    def _machines(self, value: Json, at: str) -> tuple[Json, bool]:
        """The path of the MachineDeployments (``None`` after a problem), and whether to apply them."""
        if value is None:
            source = at.rpartition(".")[0]
            self.problem(
                Code.MISSING_KEY, source, "it must name machineDeployments: the folder with the MachineDeployments"
            )
            return None, False
        if not isinstance(value, dict):
            if not _is_path(value):
                self.problem(Code.WRONG_TYPE, at, "it must be a path, or a mapping with a path")
            return value, False
        named: Mapping[str, Json] = value
        self.check_keys(named, at, MACHINES)
        path, applied = named.get("path"), named.get("apply", False)
        if not _is_path(path):
            self.problem(Code.WRONG_TYPE, f"{at}.path", "it must be a path")
        if not isinstance(applied, bool):
            self.problem(Code.WRONG_TYPE, f"{at}.apply", "it must be true or false")
        elif applied and path == LIVE:
            self.problem(
                Code.APPLY_NEEDS_LIVE_TARGET,
                f"{at}.apply",
                "MachineDeployments that are read from the cluster need not be applied",
            )
        return path, applied is True

    def _target(self, value: Json, at: str) -> TargetSpec | LiveTarget | None:
        if value == LIVE:
            return LiveTarget()
        if not isinstance(value, dict):
            self.problem(
                Code.WRONG_TYPE,
                at,
                f"it must be {LIVE}, or name a folder as {{git: {{path: …}}}}, not {type_name(value)}",
            )
            return None
        target: Mapping[str, Json] = value
        self.check_keys(target, at, TARGET)
        git = self._mapping(target.get("git"), f"{at}.git")
        self.check_keys(git, f"{at}.git", GIT)
        for key in ("path", "branch", "remote"):
            if key in git and not _is_path(git[key]):
                self.problem(Code.WRONG_TYPE, f"{at}.git.{key}", "it must not be empty")
        for key in ("push", "sign"):
            if not isinstance(git.get(key, False), bool):
                self.problem(Code.WRONG_TYPE, f"{at}.git.{key}", "it must be true or false")
        commit = git.get("commit", "cluster")
        if commit not in GIT["commit"]["enum"]:
            self.problem(Code.INVALID_VALUE, f"{at}.git.commit", "it must be cluster or run")
        if "path" not in git:
            self.problem(Code.MISSING_KEY, f"{at}.git.path", "it must name the folder for the desired state")
        if not isinstance(git.get("path"), str):
            return None
        return TargetSpec(
            self.base / git["path"],
            git["path"],
            branch=git.get("branch", ""),
            remote=git.get("remote", "origin"),
            push=git.get("push", False),
            sign=git.get("sign"),
            commit=commit,
            pull_request=self._pull_request(git["pullRequest"], f"{at}.git.pullRequest")
            if "pullRequest" in git
            else None,
        )

    def _pull_request(self, value: Json, at: str) -> PullRequestSpec:
        if value is None:
            self.problem(Code.WRONG_TYPE, at, "it must be a mapping; {} has all defaults")
        named = self._mapping(value, at)
        self.check_keys(named, at, PULL_REQUEST)
        texts = {key: named[key] for key in ("branch", "title") if key in named}
        for key, text in texts.items():
            if not _is_path(text) or "\n" in text:
                self.problem(Code.WRONG_TYPE, f"{at}.{key}", "it must be a text of one line")
        names: dict[str, tuple[str, ...]] = {}
        for key in ("labels", "reviewers"):
            found = named.get(key, [])
            if not isinstance(found, list) or not all(_is_path(each) and "," not in each for each in found):
                self.problem(Code.WRONG_TYPE, f"{at}.{key}", "it must be a list of names without commas")
                continue
            names[key] = tuple(found)
        draft, auto_merge = named.get("draft", False), named.get("autoMerge", "")
        if not isinstance(draft, bool):
            self.problem(Code.WRONG_TYPE, f"{at}.draft", "it must be true or false")
        if "autoMerge" in named and auto_merge not in AUTO_MERGE:
            self.problem(Code.INVALID_VALUE, f"{at}.autoMerge", f"it must be one of {', '.join(AUTO_MERGE)}")
        return PullRequestSpec(
            branch=texts.get("branch", PullRequestSpec().branch),
            title=texts.get("title", ""),
            labels=names.get("labels", ()),
            reviewers=names.get("reviewers", ()),
            draft=draft is True,
            auto_merge=auto_merge,
        )

    def _mapping(self, value: Json, at: str) -> Mapping[str, Json]:
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        self.problem(Code.WRONG_TYPE, at, f"it must be a mapping, not {type_name(value)}")
        return {}

    def check_keys(self, value: Mapping[str, Json], at: str, known: Iterable[str]) -> None:
        names = set(known)
        for key in value:
            if key not in names:
                place = f"{at}.{key}" if at else key
                self.problem(Code.UNKNOWN_KEY, place, f'"{key}" is not a known key', did_you_mean(key, known))

    def problem(self, code: Code, at: str, what: str, fix: str = "") -> None:
        self.problems.append(Problem(code, what, where=self.where(at), field=at, fix=fix))

    def where(self, at: str) -> str:
        path = at
        while path:
            if path in self.document.lines:
                return f"{self.display}:{self.document.lines[path]}"
            cut = max(path.rfind("."), path.rfind("["))
            path = path[:cut] if cut > 0 else ""
        return self.display


def _without(name: str) -> str:
    """A name as it can be, with an id in the place of each placeholder."""
    for placeholder in PLACEHOLDERS:
        name = name.replace(placeholder, "a")
    return name


def _is_path(value: Json) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value
