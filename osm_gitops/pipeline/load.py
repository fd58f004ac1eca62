"""Read the settings and inputs of one cluster."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from posixpath import join
from typing import TYPE_CHECKING

from osm_gitops.bounded.files import DOCUMENT, read_file
from osm_gitops.config.overlay_stack import Stack
from osm_gitops.config.settings import RawSetting, parse_settings, raises_bound
from osm_gitops.config.spec import ClusterSpec, LiveRef, TargetSpec, TreeRef
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.desired import Side
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.connections import Connections, refuse_server
from osm_gitops.pipeline.inputs import ClusterInputs, Origin, named_files, origins_of
from osm_gitops.pipeline.kkp import state_warnings, with_default_profile
from osm_gitops.pipeline.memo import Memo
from osm_gitops.pipeline.profiles import add_default_profiles, apply_overlays, default_profiles, load_stack
from osm_gitops.render.resolve.named_facts import need_credentials
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sources.builtin import check_version
from osm_gitops.sources.kkp.records import ClusterState
from osm_gitops.sources.machines import as_authored, without_server_annotations
from osm_gitops.sources.revision import open_revision
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.trust import TRUSTED, Trust
from osm_gitops.sources.walk import Folder, SourceFiles

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api


def load_settings(spec: ClusterSpec, memo: Memo | None = None) -> Settings:
    """The cluster's settings. Raises InputError with all problems, also those that the cluster had from the start.

    With the ``memo`` of its :class:`SourceReader`, overlays are read once for both.
    """
    return checked_settings(spec.settings, overlay_stack(spec, memo or Memo(0)), spec.trust, discovered(spec))


def given_settings(spec: ClusterSpec) -> tuple[RawSetting, ...]:
    """The raw values of the cluster's settings. Raises InputError with all problems of its overlays."""
    return settings_in_force(spec.settings, load_stack(spec.overlays, spec.trust), spec.trust, discovered(spec))


def discovered(spec: ClusterSpec) -> tuple[RawSetting, ...]:
    """The settings that KKP has for a user cluster. Raises InputError if nothing can be done for the cluster."""
    if spec.problems:
        raise InputError(spec.problems)
    return spec.kkp.settings if spec.kkp is not None else ()


def checked_settings(
    raw: Sequence[RawSetting], stack: Stack, trust: Trust = TRUSTED, found: Sequence[RawSetting] = ()
) -> Settings:
    """Parse ``raw`` settings, those of overlays, and those that were ``found`` in KKP. Raises InputError with all
    problems."""
    given = settings_in_force(raw, stack, trust, found)
    texts = {join(each.folder, name): text for each in stack.overlays for name, text in each.texts.items()}
    settings = parse_settings(given, lambda path: texts[path] if path in texts else _read_text(path, trust))
    for setting in given:
        if setting.name == "profiles-version":
            check_version(settings.profiles_version, setting.where)
    return settings


def settings_in_force(
    raw: Sequence[RawSetting], stack: Stack, trust: Trust, found: Sequence[RawSetting] = ()
) -> tuple[RawSetting, ...]:
    """The settings that count, one per name: flags, environment and fleet file take precedence over overlays, and these
    over settings ``found`` in KKP. An untrusted tree cannot raise limits."""
    given = [*found, *(each for each in (*stack.settings, *raw) if not _goes_too_far(each, trust))]
    return tuple({each.name: each for each in given}.values())


def _goes_too_far(setting: RawSetting, trust: Trust) -> bool:
    return trust.untrusted and setting.from_tree and raises_bound(setting)


def _refused_bounds(spec: ClusterSpec, stack: Stack) -> tuple[Problem, ...]:
    """Warnings for ignored settings of an untrusted tree."""
    return tuple(
        Problem(
            Code.LIMIT_NOT_RAISED,
            f"an untrusted run does not raise {each.name}: the default is used",
            where=each.where,
            fix=f"Use --{each.name} if templates need it",
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
    """Read the cluster's inputs from trees and clusters. Raises InputError or ClusterError.

    SOPS-encrypted manifests are decrypted with ``keys``, by default those of ``environment``. With
    ``KeySearch(environment, without_keys=True)`` encrypted values become placeholders, which are derived from the
    ciphertext and have a valid format, so that such inputs can be rendered and compared with each other only.
    Placeholders count as secrets.

    Without ``tokens`` the tokens of a cluster are not read. Of the built-in profiles, those that pools use are
    included. Overlays are applied.

    Server-side annotations of MachineDeployments in a tree are removed (:func:`as_authored`), and those of live ones if
    the target is git, unless the cluster is :attr:`ClusterSpec.frozen`.
    """
    reader = SourceReader(spec, settings, environment, keys or KeySearch(environment), connections)
    return gather_inputs(reader, tokens=tokens).build()


def gather_inputs(
    reader: SourceReader, *, tokens: bool = True, unused: bool = False, rules: Iterable[Origin] = ()
) -> ClusterInputs:
    """As :func:`load_inputs`, but mutable.

    ``unused``: include all built-in profiles. ``rules`` are origins of files that affect only encryption.
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
        elif isinstance(spec.target, TargetSpec):  # only `refresh` knows the revision
            found.change_machines(without_server_annotations)
    found.change_machines(lambda machine: with_default_profile(machine, spec))
    from_cluster = isinstance(source.profiles, LiveRef)
    unreadable = found.unreadable
    if source.facts != source.machines or isinstance(source.facts, LiveRef):
        found.take_facts(reader.facts(found.machines, tokens=tokens))
    found.warnings += tuple(state_warnings(spec))
    if source.profiles != source.machines or isinstance(source.profiles, LiveRef):
        profiles = reader.profiles(found.machines)
        # Objects of a server are known by name, even if they are invalid.
        unreadable = () if from_cluster else profiles.unreadable
        found.take_profiles(profiles)
    stack = overlay_stack(spec, reader.memo)
    found.hosts = reader.hosts()
    for each in reader.origins:  # trees add their names themselves
        found.uncommitted += each.uncommitted
        found.warnings += each.warnings
    found.take_origins(_origins_beside(spec, stack, reader.memo))
    found.sources += tuple(
        f"{each.display}@{each.revision}" if each.revision else each.display
        for each in spec.overlays
        if each.built_in or each.revision
    )
    found.warnings += _refused_bounds(spec, stack)
    without_defaults = found.build()
    hidden = () if unused else unreadable  # a list of profiles shows both
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


def overlay_stack(spec: ClusterSpec, memo: Memo) -> Stack:
    """The combined overlays of a cluster; clusters with the same ones share them. Raises InputError with all
    problems."""
    question = ("overlays", tuple((ref, ref.display) for ref in spec.overlays), spec.trust)
    return memo.get(question, lambda: load_stack(spec.overlays, spec.trust))


def _origins_beside(spec: ClusterSpec, stack: Stack, memo: Memo) -> list[Origin]:
    """The origins of fleet file, overlays and files in settings, if they are in git."""
    files = [each for each in named_files(spec, stack) if spec.trust.allows(each.path)]
    overlays = {each.path for each in spec.overlays}
    found = zip(files, known_origins(files, spec.trust, memo), strict=True)
    return [origin for file, origin in found if origin.in_git or file.path in overlays]


def known_origins(files: Sequence[TreeRef], trust: Trust, memo: Memo) -> tuple[Origin, ...]:
    """As :func:`origins_of`; git is asked once for the same files."""
    question = ("origins", tuple((file, file.display) for file in files), trust)
    return memo.get(question, lambda: origins_of(files, trust, memo))


class SourceReader:
    """Reads the parts of one cluster's source: each tree once, and of clusters only what MachineDeployments need."""

    def __init__(
        self,
        spec: ClusterSpec,
        settings: Settings,
        environment: Mapping[str, str],
        keys: KeySearch,
        connections: Connections | None,
        memo: Memo | None = None,
    ) -> None:
        self.spec = spec
        self.settings = settings
        self._environment = environment
        self._keys = keys
        self._connections = connections or Connections(environment)
        self.origins: list[Origin] = []
        self.memo = memo or Memo(0)
        self._trees: dict[TreeRef, Inputs] = {}

    def machines(self) -> Inputs:
        part = self.spec.source.machines
        if isinstance(part, TreeRef):
            return self._tree(part)
        refuse_server(self.spec, "from.machineDeployments")
        from osm_gitops.sources.cluster import read_machines  # noqa: PLC0415 - not needed for runs from trees to git

        return read_machines(self._worker)

    def facts(self, machines: Sequence[MachineDeployment], *, tokens: bool) -> Inputs:
        part = self.spec.source.facts
        if isinstance(part, TreeRef):
            return self._tree(part)
        refuse_server(self.spec, "from.facts")
        from osm_gitops.sources.cluster import read_facts  # noqa: PLC0415 - not needed for runs from trees to git

        environment = self._environment
        if self.spec.kkp is not None:  # the credentials of this process are those of another cluster
            needed = need_credentials(machines, self.settings)
            environment = self._connections.credentials(self.spec.kkp) if needed else {}
        return read_facts(self._worker, machines, self.settings, environment, tokens=tokens)

    def profiles(self, machines: Sequence[MachineDeployment]) -> Inputs:
        part = self.spec.source.profiles
        if isinstance(part, TreeRef):
            return self._tree(part)
        refuse_server(self.spec, "from.profiles")
        management = self._connections.management(self.spec)
        at_hand = default_profiles(self.settings)
        from osm_gitops.sources.cluster import read_profiles  # noqa: PLC0415 - not needed for runs from trees to git

        found = read_profiles(management, machines, self.settings.namespace, at_hand)
        kkp = self.spec.kkp
        if kkp is None or kkp.cluster.state is not ClusterState.READY:
            return found  # KKP does not bring its profiles to clusters that are paused or being deleted
        from osm_gitops.sources.kkp.profiles import with_custom_profiles  # noqa: PLC0415 - not needed without a seed

        return with_custom_profiles(found, self._connections.custom_profiles(kkp.seed, self.settings.namespace))

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
        # Several clusters may have their profiles in one tree.
        question = ("tree", tree, tree.display, trust, self.settings.namespace)
        origins, inputs = self.memo.get(question, lambda: self._parsed(tree, trust))
        self.origins += origins
        return inputs

    def _parsed(self, tree: TreeRef, trust: Trust) -> tuple[tuple[Origin, ...], Inputs]:
        """The content of a tree, and its origin unless its name has it."""
        if tree.revision:
            with open_revision(tree.path, tree.revision, tree.display, trust) as files:
                # Name the commit: a branch changes.
                return (), self._objects(files, f"{tree.display}@{files.commit}")
        (origin,) = origins_of([tree], trust, self.memo)
        return (origin,), self._objects(Folder(tree.path, tree.display, origin.keeper), origin.source)

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
