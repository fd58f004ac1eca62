"""Reading what one cluster's run needs: settings, and objects of trees and clusters."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from posixpath import join
from typing import TYPE_CHECKING

from osm_gitops.bounded.files import DOCUMENT, read_file
from osm_gitops.config.overlay_stack import Stack
from osm_gitops.config.settings import RawSetting, parse_settings, raises_bound
from osm_gitops.config.spec import ClusterSpec, LiveRef, TargetSpec, TreeRef
from osm_gitops.errors import Code, Problem
from osm_gitops.model.desired import Side
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.connections import Connections, refuse_server
from osm_gitops.pipeline.inputs import ClusterInputs, Origin, named_files, origins_of
from osm_gitops.pipeline.profiles import add_default_profiles, apply_overlays, default_profiles, load_stack
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sources.builtin import check_version
from osm_gitops.sources.machines import as_authored, without_server_annotations
from osm_gitops.sources.revision import open_revision
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.trust import TRUSTED, Trust
from osm_gitops.sources.walk import Folder, SourceFiles

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api


def load_settings(spec: ClusterSpec) -> Settings:
    """The cluster's settings. Raises InputError with every problem."""
    return checked_settings(spec.settings, load_stack(spec.overlays, spec.trust), spec.trust)


def given_settings(spec: ClusterSpec) -> tuple[RawSetting, ...]:
    """What the cluster's settings come from, one entry a name. Raises InputError with every problem of its overlays."""
    return _given(spec.settings, load_stack(spec.overlays, spec.trust), spec.trust)


def checked_settings(raw: Sequence[RawSetting], stack: Stack, trust: Trust = TRUSTED) -> Settings:
    """Settings that fit this program: ``raw`` and, below them, those of overlays. Raises InputError with every
    problem."""
    given = _given(raw, stack, trust)
    texts = {join(each.folder, name): text for each in stack.overlays for name, text in each.texts.items()}
    settings = parse_settings(given, lambda path: texts[path] if path in texts else _read_text(path, trust))
    for setting in given:
        if setting.name == "profiles-version":
            check_version(settings.profiles_version, setting.where)
    return settings


def _given(raw: Sequence[RawSetting], stack: Stack, trust: Trust) -> tuple[RawSetting, ...]:
    """Flags, environment and fleet file win over overlays. A tree that is not trusted cannot allow itself more."""
    given = [each for each in (*stack.settings, *raw) if not _goes_too_far(each, trust)]
    return tuple({each.name: each for each in given}.values())


def _goes_too_far(setting: RawSetting, trust: Trust) -> bool:
    return trust.untrusted and setting.from_tree and raises_bound(setting)


def _refused_bounds(spec: ClusterSpec, stack: Stack) -> tuple[Problem, ...]:
    """Settings of a tree that is not trusted that do not count."""
    return tuple(
        Problem(
            Code.LIMIT_NOT_RAISED,
            f"an untrusted run does not raise {each.name}: its default counts",
            where=each.where,
            fix=f"Give --{each.name} if templates need it",
        )
        for each in (*stack.settings, *spec.settings)
        if _goes_too_far(each, spec.trust)
    )


def load_inputs(
    spec: ClusterSpec,
    settings: Settings,
    environment: Mapping[str, str],
    keys: KeySearch | None = None,
    connections: Connections | None = None,
    *,
    tokens: bool = True,
) -> Inputs:
    """The cluster's objects, each part from a tree or from a cluster. Raises InputError or ClusterError where one
    cannot be read.

    SOPS-encrypted manifests are opened with ``keys``, else with those that ``environment`` leads to. One that no key
    opens is among the problems. ``KeySearch(environment, without_keys=True)`` opens none: every encrypted value is
    then a stand-in that follows from its ciphertext and fits where the value is used, so that inputs which are read
    so can be rendered and compared with each other, and with nothing else. Stand-ins count as secrets.

    Without ``tokens`` those of a cluster are left out: a run that keeps them reads them anyway. Of the built-in
    profiles those are there that pools refer to. What the cluster's overlays say is applied to all of it.

    MachineDeployments of a tree count as their authors wrote them (:func:`as_authored`), and so do the annotations of
    live ones where the target is git, unless the cluster is :attr:`ClusterSpec.frozen`.
    """
    reader = SourceReader(spec, settings, environment, keys or KeySearch(environment), connections)
    return gather_inputs(reader, tokens=tokens).build()


def load_all_profiles(
    spec: ClusterSpec, settings: Settings, environment: Mapping[str, str], keys: KeySearch, connections: Connections
) -> Inputs:
    """As :func:`load_inputs`, with the built-in profiles that no pool refers to."""
    reader = SourceReader(spec, settings, environment, keys, connections)
    return gather_inputs(reader, unused=True).build()


def gather_inputs(
    reader: SourceReader, *, tokens: bool = True, unused: bool = False, rules: Iterable[Origin] = ()
) -> ClusterInputs:
    """As :func:`load_inputs`, for those who add more before the inputs are built.

    With ``unused`` the built-in profiles are there that no pool refers to. ``rules`` are origins of files that decide
    about the result and are not rendered from.
    """
    spec, settings = reader.spec, reader.settings
    source = spec.source
    found = ClusterInputs.of(reader.machines())
    if not spec.frozen:
        if isinstance(source.machines, TreeRef):
            authored = as_authored(found.machines)
            found.machines = authored.machines
            found.broken = dict(sorted({**found.broken, **authored.broken}.items()))
            found.warnings += authored.warnings
        elif isinstance(spec.target, TargetSpec):  # `refresh` alone knows the revision when what is in git arrives
            found.change_machines(without_server_annotations)
    from_cluster = isinstance(source.profiles, LiveRef)
    unreadable = found.unreadable
    if source.facts != source.machines or isinstance(source.facts, LiveRef):
        found.take_facts(reader.facts(found.machines, tokens=tokens))
    if source.profiles != source.machines or isinstance(source.profiles, LiveRef):
        profiles = reader.profiles(found.machines)
        # What a server holds can be told apart by name, whatever is wrong with it.
        unreadable = () if from_cluster else profiles.unreadable
        found.take_profiles(profiles)
    stack = load_stack(spec.overlays, spec.trust)
    found.hosts = reader.hosts()
    for each in reader.origins:  # the trees name themselves
        found.uncommitted += each.uncommitted
        found.warnings += each.warnings
    found.take_origins(_origins_beside(spec, stack))
    found.sources += tuple(
        f"{each.display}@{each.revision}" if each.revision else each.display
        for each in spec.overlays
        if each.built_in or each.revision
    )
    found.warnings += _refused_bounds(spec, stack)
    without_defaults = found.build()
    hidden = () if unused else unreadable  # a list of profiles tells of both
    add_default_profiles(found, settings, from_cluster=from_cluster, unused=unused, unreadable=hidden)

    def unread() -> Iterable[OperatingSystemProfile]:
        every = ClusterInputs.of(without_defaults)
        add_default_profiles(every, settings, from_cluster=from_cluster, unused=True)
        return every.profiles.values()

    apply_overlays(found, stack, unread, partial=spec.lacks_profiles)
    for each in rules:
        found.sources += (each.source,)
        found.uncommitted += each.uncommitted
    return found


def _origins_beside(spec: ClusterSpec, stack: Stack) -> list[Origin]:
    """Where the fleet file, overlays and files of settings come from, as far as git or an overlay has them."""
    files = [each for each in named_files(spec, stack) if spec.trust.allows(each.path)]
    overlays = {each.path for each in spec.overlays}
    found = zip(files, origins_of(files, spec.trust), strict=True)
    return [origin for file, origin in found if origin.in_git or file.path in overlays]


class SourceReader:
    """Reads the parts of one cluster's source; every tree once, of clusters what MachineDeployments need."""

    def __init__(
        self,
        spec: ClusterSpec,
        settings: Settings,
        environment: Mapping[str, str],
        keys: KeySearch,
        connections: Connections | None,
    ) -> None:
        self.spec = spec
        self.settings = settings
        self._environment = environment
        self._keys = keys
        self._connections = connections or Connections(environment)
        self.origins: list[Origin] = []
        self._trees: dict[TreeRef, Inputs] = {}

    def machines(self) -> Inputs:
        part = self.spec.source.machines
        if isinstance(part, TreeRef):
            return self._tree(part)
        refuse_server(self.spec, "from.machineDeployments")
        from osm_gitops.sources.cluster import read_machines  # noqa: PLC0415 - a run from trees to git asks no server

        return read_machines(self._worker)

    def facts(self, machines: Sequence[MachineDeployment], *, tokens: bool) -> Inputs:
        part = self.spec.source.facts
        if isinstance(part, TreeRef):
            return self._tree(part)
        refuse_server(self.spec, "from.facts")
        from osm_gitops.sources.cluster import read_facts  # noqa: PLC0415 - a run from trees to git asks no server

        return read_facts(self._worker, machines, self.settings, self._environment, tokens=tokens)

    def profiles(self, machines: Sequence[MachineDeployment]) -> Inputs:
        part = self.spec.source.profiles
        if isinstance(part, TreeRef):
            return self._tree(part)
        refuse_server(self.spec, "from.profiles")
        management = self._connections.management(self.spec)
        at_hand = default_profiles(self.settings)
        from osm_gitops.sources.cluster import read_profiles  # noqa: PLC0415 - a run from trees to git asks no server

        return read_profiles(management, machines, self.settings.namespace, at_hand)

    def hosts(self) -> tuple[str, ...]:
        """The API servers that were read."""
        source = self.spec.source
        asked = {Side.WORKER: (source.machines, source.facts), Side.MANAGEMENT: (source.profiles,)}
        sides = {side for side, parts in asked.items() if LiveRef() in parts}
        return self._connections.hosts(self.spec, sides) if sides else ()

    @property
    def _worker(self) -> Api:
        return self._connections.worker(self.spec)

    def _tree(self, tree: TreeRef) -> Inputs:
        if tree not in self._trees:
            self._trees[tree] = self._read(tree)
        return self._trees[tree]

    def _read(self, tree: TreeRef) -> Inputs:
        trust = self.spec.trust
        trust.check(tree.path, tree.display)
        if tree.revision:
            with open_revision(tree.path, tree.revision, tree.display, trust) as files:
                # A branch moves on; the commit tells for ever what was read.
                return self._objects(files, f"{tree.display}@{files.commit}")
        (origin,) = origins_of([tree], trust)
        self.origins.append(origin)
        return self._objects(Folder(tree.path, tree.display, origin.keeper), origin.source)

    def _objects(self, files: SourceFiles, source: str) -> Inputs:
        return read_tree(
            files,
            management_namespace=self.settings.namespace,
            environment=self._environment,
            keys=self._keys,
            source=source,
        )


def _read_text(path: str, trust: Trust) -> str:
    if not trust.allows(path):
        raise PermissionError(errno.EACCES, "it is outside of the tree, and an untrusted run must not read it", path)
    return read_file(path, DOCUMENT).decode("utf-8", "surrogateescape")
