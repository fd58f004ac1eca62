"""Build the inputs of a cluster from its sources, with their commits and uncommitted differences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final

from osm_gitops.config.overlay_stack import Stack
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG, Kind
from osm_gitops.config.spec import ClusterSpec, TargetSpec, TreeRef
from osm_gitops.errors import Code, InputError, Problem, TargetError, some
from osm_gitops.git.repository import find_work_tree, path_inside
from osm_gitops.git.status import WorkTreeStatus, folders_by_work_tree
from osm_gitops.model.inputs import Facts, Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.overlay import Patch
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.pipeline.memo import Memo
from osm_gitops.pipeline.options import RunOptions, sealing_of
from osm_gitops.sources.manifests import PROFILE
from osm_gitops.sources.trust import Trust
from osm_gitops.sources.walk import Keeper, in_no_git
from osm_gitops.targets.files import owned_path

_NAMED_FILES = 10


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a source.

    ``source`` is its name with the commit (``pools@4be1…``), with ``-dirty`` if it differs from the commit, and without
    a commit if it is not ``in_git``. ``keeper`` returns files that are in git. ``uncommitted`` are the differences from
    the commit; ``warnings`` say why these are unknown.
    """

    source: str
    keeper: Keeper = in_no_git
    uncommitted: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    in_git: bool = False


def origins_of(reads: Sequence[TreeRef], trust: Trust, memo: Memo) -> tuple[Origin, ...]:
    """The origins of local files and folders. git is run once for each repository."""
    roots = [find_work_tree(read.path.absolute()) for read in reads]
    found: dict[TreeRef, Origin] = {}
    for root in dict.fromkeys(roots):
        group = [read for read, its in zip(reads, roots, strict=True) if its == root]
        origins = _ask(root, group, trust, memo) if root else (Origin(read.display) for read in group)
        found |= dict(zip(group, origins, strict=True))
    return tuple(found[read] for read in reads)


def status_of(root: Path, trust: Trust, memo: Memo) -> WorkTreeStatus:
    """What git says of a work tree. Raises TargetError if its repository is refused."""
    question = ("status", root, trust)
    return memo.get(question, lambda: WorkTreeStatus(trust.repository(root), memo.folders.get(root, ())))


def folders_of(specs: Iterable[ClusterSpec]) -> Mapping[Path, tuple[str, ...]]:
    """The folders in work trees that clusters read and write; none of clusters for which nothing can be done, such as
    those of a seed that cannot be read, whose name is no folder."""
    paths: dict[Path, None] = {}
    for spec in (spec for spec in specs if not spec.problems):
        trees = [part for part in spec.source.parts if isinstance(part, TreeRef) and not part.revision]
        paths |= dict.fromkeys(each.path for each in (*trees, *named_files(spec, Stack())))
        if isinstance(spec.target, TargetSpec):
            paths[spec.target.path / owned_path(spec.name)] = None
    return folders_by_work_tree(paths)


def named_files(spec: ClusterSpec, stack: Stack) -> tuple[TreeRef, ...]:
    """Other local files of a cluster: the fleet file, overlays with their bases, and files in settings."""
    fleet = [spec.fleet_file] if spec.fleet_file is not None else []
    given = {overlay.display: overlay for overlay in spec.overlays}
    overlays = [TreeRef(each.path, each.display) for each in spec.overlays if not (each.built_in or each.revision)]
    bases = (each for each in stack.overlays if not each.built_in and each.display not in given and not each.revision)
    overlays += [TreeRef(Path(each.folder), each.display) for each in bases]
    in_revisions = {Path(each.folder) for each in stack.overlays if each.revision}
    settings = (each for each in (*spec.settings, *stack.settings) if SETTINGS_BY_FLAG[each.name].kind is Kind.FILE)
    files = [
        TreeRef(Path(each.base, str(each.value)), str(each.value))
        for each in settings
        if each.value and Path(each.base) not in in_revisions
    ]
    folders = [overlay.path for overlay in overlays]
    files = [file for file in files if not any(file.path.is_relative_to(folder) for folder in folders)]
    return tuple(dict.fromkeys((*fleet, *overlays, *files)))


def deciding_rules(spec: ClusterSpec, options: RunOptions) -> tuple[TreeRef, ...]:
    """The ``.sops.yaml`` for a cluster's folder in git, with its path in the repository."""
    if not isinstance(spec.target, TargetSpec) or spec.trust.untrusted:
        return ()
    try:
        path = sealing_of(options).rule_file(spec.target.path)
    except InputError:
        return ()  # reported when the folder is compared
    root = find_work_tree(path) if path is not None else None
    return (TreeRef(path, path_inside(path, root)),) if path is not None and root is not None else ()


def _ask(root: Path, reads: Sequence[TreeRef], trust: Trust, memo: Memo) -> Iterator[Origin]:
    """Ask git for the origins. Failures are warnings: the files can be read anyway."""
    inside = [path_inside(read.path, root) for read in reads]
    try:
        repository = status_of(root, trust, memo)
        revision = repository.head()
        keeper = partial(_kept, repository)
        if trust.untrusted and repository.names_filters():
            what = "its configuration names filters, which an untrusted run does not use: the revision is not known"
            problem = Problem(Code.SOURCE_REVISION_UNKNOWN, what, where=str(root))
            yield from (Origin(read.display, keeper, warnings=(problem,), in_git=True) for read in reads)
            return
        # Named files are read even if git ignores them.
        files = [path for read, path in zip(reads, inside, strict=True) if read.path.is_file()]
        ignored = repository.ignored(files) if files else ()
        changed = sorted({*repository.changed_paths(*inside), *ignored})
    except TargetError as failure:
        problems = failure.problems
        yield from (Origin(read.display, lambda files: files, warnings=problems, in_git=True) for read in reads)
        return
    for read, path in zip(reads, inside, strict=True):
        differs = [each for each in changed if path in {".", each} or each.startswith(f"{path}/")]
        source = f"{read.display}@{revision}{'-dirty' if differs else ''}" if revision else read.display
        what = f"not as committed: {some(differs, _NAMED_FILES)}"
        yield Origin(
            source,
            keeper,
            (Problem(Code.SOURCE_NOT_COMMITTED, what, where=read.display),) if differs else (),
            in_git=True,
        )


def in_git(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    """Origins in git."""
    return tuple(origin for origin in origins if origin.in_git)


def _kept(repository: WorkTreeStatus, files: Sequence[PurePath]) -> Collection[PurePath]:
    """Files that git does not ignore; all files if git fails."""
    root = repository.root.resolve()
    inside = {file.relative_to(root).as_posix(): file for file in files if file.is_relative_to(root)}
    try:
        ignored = repository.ignored(inside)
    except TargetError:
        return files
    return [file for path, file in inside.items() if path not in ignored]


ProfileKey = tuple[str, str]


@dataclass(slots=True)
class ClusterInputs:
    """The fields of :class:`Inputs`, mutable until :meth:`build`.

    They start with the source of MachineDeployments. Facts and profiles of other sources replace those of this source;
    problems, warnings and notes are collected from all.
    """

    machines: tuple[MachineDeployment, ...] = ()
    profiles: dict[ProfileKey, OperatingSystemProfile] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    broken: dict[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    unfit: dict[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    unreadable: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    uncommitted: tuple[Problem, ...] = ()
    hosts: tuple[str, ...] = ()
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
    unread: frozenset[ProfileKey] = frozenset()
    patched: dict[ObjectRef, tuple[Patch, ...]] = field(default_factory=dict)
    left_out: dict[ObjectRef, str] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)
    value_places: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, read: Inputs) -> ClusterInputs:
        """A mutable copy of the inputs of one source."""
        return cls(**_fields_of(read))

    def build(self) -> Inputs:
        """The inputs, without duplicate reports."""
        parts = _fields_of(self)
        return Inputs(**parts | {name: tuple(dict.fromkeys(parts[name])) for name in _REPORTED})

    def take_facts(self, read: Inputs) -> None:
        """Use the facts of another source (``from.facts``)."""
        self.facts = read.facts
        self._tell(read)

    def take_profiles(self, read: Inputs) -> None:
        """Use the profiles of another source (``--profiles-from``)."""
        self.profiles = dict(read.profiles)
        self.broken = _of_both(self.broken, read.broken)
        self.unfit = _of_both(self.unfit, read.unfit)
        self._tell(read)

    def take_origins(self, origins: Iterable[Origin]) -> None:
        """Add files other than sources that affect rendering or encryption."""
        for each in origins:
            self.sources += (each.source,)
            self.uncommitted += each.uncommitted
            self.warnings += each.warnings

    def change_machines(self, change: Callable[[MachineDeployment], MachineDeployment]) -> None:
        """Replace MachineDeployments."""
        self.machines = tuple(map(change, self.machines))

    def break_profiles(self, broken: Mapping[ObjectRef, tuple[Problem, ...]]) -> None:
        """Mark profiles as broken: pools that name them fail with these problems."""
        self.broken |= broken
        self.profiles = {key: each for key, each in self.profiles.items() if ObjectRef(PROFILE, *key) not in broken}

    def break_unfit(self) -> None:
        """Mark objects whose names API servers refuse as broken, rather than warn (design.md, "Success and
        refusal")."""
        told = {problem for problems in self.unfit.values() for problem in problems}
        self.machines = tuple(each for each in self.machines if each.ref not in self.unfit)
        self.profiles = {key: each for key, each in self.profiles.items() if ObjectRef(PROFILE, *key) not in self.unfit}
        self.broken = {**self.unfit, **self.broken}
        self.warnings = tuple(each for each in self.warnings if each not in told)

    def _tell(self, read: Inputs) -> None:
        self.unreadable += read.unreadable
        self.warnings += read.warnings
        self.notes += read.notes
        self.sources += read.sources
        self.sensitive |= read.sensitive


_REPORTED: Final = ("unreadable", "warnings", "notes", "sources", "uncommitted")


def _fields_of(record: Inputs | ClusterInputs) -> dict[str, Any]:
    values = {each.name: getattr(record, each.name) for each in fields(Inputs)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def _of_both(
    own: Mapping[ObjectRef, tuple[Problem, ...]], theirs: Mapping[ObjectRef, tuple[Problem, ...]]
) -> dict[ObjectRef, tuple[Problem, ...]]:
    """Problems of other objects than profiles, and of the profiles of another source."""
    kept = {ref: problems for ref, problems in own.items() if ref.kind != PROFILE}
    return kept | {ref: problems for ref, problems in theirs.items() if ref.kind == PROFILE}
