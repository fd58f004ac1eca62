"""What ``validate`` checks: clusters of the fleet as far as they are in files, or the given files, folders and
overlays; and the comparison of ``--against`` with an earlier revision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from osm_gitops.commands.validate.results import Scope
from osm_gitops.config.overlay_keys import OVERLAY_FILE
from osm_gitops.config.overlays import read_overlays
from osm_gitops.config.spec import ClusterSpec, LiveRef, SourceSpec, TreeRef
from osm_gitops.errors import Code, InputError, OsmGitopsError
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.semver import parse_version
from osm_gitops.lint.rules import rules
from osm_gitops.lint.rules.problems import problem_finding, profile_name
from osm_gitops.model.finding import Finding
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import PROFILE_ANNOTATION
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.pipeline.inputs import ClusterInputs
from osm_gitops.pipeline.load import (
    SourceReader,
    checked_settings,
    discovered,
    gather_inputs,
    overlay_stack,
    settings_in_force,
)
from osm_gitops.pipeline.memo import Memo
from osm_gitops.render.manifests import whole_profile
from osm_gitops.render.resolve.pools import wanted_profile
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sources.manifests import PROFILE
from osm_gitops.sources.revision import open_revision
from osm_gitops.sources.trust import TRUSTED, Trust
from osm_gitops.sources.walk import Folder, walk

_SEVERAL: Final = "If they belong to several clusters, validate the fleet file, or the folders of one cluster at a time"
_NOTHING: Final = "it has no profile, no MachineDeployment and no overlay"
_NAME_OTHERS: Final = "Name other files or folders; a file that is not YAML, or has no kind, is none of these"
_GIVE_FILES: Final = "To check them, name files or folders of manifests"


def fleet_scopes(
    clusters: Iterable[ClusterSpec], environment: Mapping[str, str], findings: list[Finding]
) -> Iterator[Scope]:
    """Each cluster as its trees have it, without what only a live cluster has. Decrypts nothing."""
    for spec in clusters:
        about = f"cluster {spec.name}"
        if spec.is_seed and spec.trust.untrusted:
            message = "its clusters are only known to the seed, which an untrusted run does not ask"
            findings.append(Finding(rules.PASSED_OVER, message, about=about))
            continue
        trees = [part for part in spec.source.parts if isinstance(part, TreeRef)]
        if not trees:
            message = "its objects are only in the cluster, which validate does not read"
            findings.append(Finding(rules.PASSED_OVER, message, about=about, fix=_GIVE_FILES))
            continue
        findings += _live_parts(spec.source, about)
        lacks_pools = isinstance(spec.source.machines, LiveRef)
        scope = _read(_without_live(spec, trees[0]), environment, findings, whole=lacks_pools)
        if scope is not None:
            yield replace(scope, inputs=replace(scope.inputs, machines=())) if lacks_pools else scope


def _live_parts(source: SourceSpec, about: str) -> Iterator[Finding]:
    parts = (("MachineDeployments", source.machines), ("profiles", source.profiles))
    for name, part in parts:
        if isinstance(part, LiveRef):
            message = f"its {name} are only in the cluster, which validate does not read"
            yield Finding(rules.PASSED_OVER, message, about=about)


def _without_live(spec: ClusterSpec, tree: TreeRef) -> ClusterSpec:
    parts = (tree if isinstance(part, LiveRef) else part for part in spec.source.parts)
    return replace(spec, source=SourceSpec(*parts), lacks_profiles=isinstance(spec.source.profiles, LiveRef))


def _read(spec: ClusterSpec, environment: Mapping[str, str], findings: list[Finding], *, whole: bool) -> Scope | None:
    """The objects of a cluster; with ``whole`` all built-in profiles, else only those that pools name."""
    about, memo = f"cluster {spec.name}", Memo()
    try:
        stack = overlay_stack(spec, memo)
    except InputError as failure:
        findings += (problem_finding(rules.OVERLAY, each, about=about) for each in failure.problems)
        return None
    try:
        found = discovered(spec)
        settings = checked_settings(spec.settings, stack, spec.trust, found)
    except InputError as failure:
        findings += (problem_finding(rules.SETTING, each, about=about) for each in failure.problems)
        return None
    files = {overlay.manifest.origin.path for overlay in stack.overlays}
    keys = KeySearch(environment, without_keys=True)
    try:
        reader = SourceReader(spec, settings, environment, keys, None, memo)
        inputs = gather_inputs(reader, unused=whole).build()
    except OsmGitopsError as failure:
        for each in failure.problems:
            rule = rules.OVERLAY if each.where.rpartition(":")[0] in files else rules.UNREADABLE
            findings.append(problem_finding(rule, each, about=about))
        return None
    given = settings_in_force(spec.settings, stack, spec.trust, found)
    return Scope(spec.name, inputs, settings, spec.lacks_profiles, given)


def path_scopes(
    trees: Sequence[TreeRef], like: ClusterSpec, environment: Mapping[str, str], findings: list[Finding]
) -> tuple[Scope, ...]:
    """The objects of all trees as one cluster with the settings of ``like``. Trees with different versions of an object
    become separate clusters, so that both versions are checked."""
    scopes: list[Scope] = []
    for tree in trees:
        spec = replace(like, source=SourceSpec(tree, tree, tree))
        scope = _read(spec, environment, findings, whole=bool(like.overlays))
        if scope is None:
            continue
        scope = replace(scope, inputs=_facts_once(scope.inputs, findings), partial=True)
        if _is_empty(scope.inputs) and not any(overlays_in(tree, like.trust)):
            findings.append(Finding(rules.NOTHING_TO_JUDGE, _NOTHING, where=tree.display, fix=_NAME_OTHERS))
        joined = next((at for at, other in enumerate(scopes) if _agree(other.inputs, scope.inputs)), None)
        if joined is not None:
            scopes[joined] = replace(
                scope, name=scopes[joined].name, inputs=_joined(scopes[joined].inputs, scope.inputs)
            )
        else:
            scopes.append(replace(scope, name=tree.display) if scopes else scope)
    return tuple(scopes)


def _facts_once(inputs: Inputs, findings: list[Finding]) -> Inputs:
    """Report duplicate facts as skipped: they belong to several clusters, and placeholders serve as well."""
    findings += (
        problem_finding(rules.PASSED_OVER, replace(each, fix=_SEVERAL))
        for each in inputs.unreadable
        if each.code is Code.DUPLICATE_OBJECT
    )
    return replace(
        inputs, unreadable=tuple(each for each in inputs.unreadable if each.code is not Code.DUPLICATE_OBJECT)
    )


def _agree(first: Inputs, second: Inputs) -> bool:
    """Whether the objects that both have are equal."""
    known = _bodies(first)
    return all(known.get(name, body) == body for name, body in _bodies(second).items())


def _is_empty(inputs: Inputs) -> bool:
    """Whether a tree has no object to check, not even an invalid one."""
    return not (inputs.profiles or inputs.machines or inputs.broken or inputs.unfit or inputs.unreadable)


def _bodies(inputs: Inputs) -> dict[ObjectRef, Mapping[str, Json]]:
    profiles = (profile.manifest for profile in inputs.profiles.values() if not profile.built_in)
    manifests = (*profiles, *(machine.manifest for machine in inputs.machines))
    return {manifest.ref: manifest.body for manifest in manifests}


def _joined(first: Inputs, second: Inputs) -> Inputs:
    machines = {machine.ref: machine for machine in (*second.machines, *first.machines)}
    facts = replace(
        first.facts,
        secrets={**second.facts.secrets, **first.facts.secrets},
        config_maps={**second.facts.config_maps, **first.facts.config_maps},
        service_accounts={**second.facts.service_accounts, **first.facts.service_accounts},
        endpoint_slices=first.facts.endpoint_slices or second.facts.endpoint_slices,
    )
    broken = {**second.broken, **first.broken}
    # A profile of a tree takes precedence over a built-in one.
    ranked = sorted((*second.profiles.items(), *first.profiles.items()), key=lambda found: not found[1].built_in)
    profiles = {key: each for key, each in ranked if not each.built_in or ObjectRef(PROFILE, *key) not in broken}
    joined = ClusterInputs.of(first)
    joined.take_profiles(second)
    joined.profiles, joined.facts = profiles, facts
    joined.machines = tuple(machines[ref] for ref in sorted(machines))
    joined.broken = {ref: broken[ref] for ref in sorted(broken)}
    return joined.build()


_RAISE: Final = (
    "Raise spec.version: OSM's webhook refuses a changed spec with an old version, and it shows which machines are old"
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two states of the same sources; ``revision`` names the earlier one."""

    now: tuple[Scope, ...]
    earlier: tuple[Scope, ...]
    revision: str

    def findings(self) -> Iterator[Finding]:
        """Mistakes in the change, each once for all clusters."""
        before = {scope.name: scope for scope in self.earlier}
        yield from dict.fromkeys(
            finding for scope in self.now if scope.name in before for finding in self._of(scope, before[scope.name])
        )

    def _of(self, scope: Scope, before: Scope) -> Iterator[Finding]:
        for key, profile in scope.inputs.profiles.items():
            known = before.inputs.profiles.get(key)
            if known is not None:
                yield from self._versions(profile, known)
        gone = before.inputs.profiles.keys() - scope.inputs.profiles.keys()
        broken = {(ref.namespace, ref.name) for ref in scope.inputs.broken}
        yield from self._vanished(scope, gone - broken)

    def _versions(self, profile: OperatingSystemProfile, before: OperatingSystemProfile) -> Iterator[Finding]:
        where, about = profile.manifest.line_of("spec.version"), profile_name(profile)
        if profile.version == before.version:
            changed = ", ".join(_changed(profile, before))
            if changed:
                message = (
                    f"its spec changed since {self.revision} ({changed}), but its version is still {profile.version}"
                )
                yield Finding(rules.VERSION_NOT_RAISED, message, where, about, "spec.version", _RAISE)
        elif _is_lower(profile.version, before.version):
            message = f"its version was {before.version} at {self.revision} and is {profile.version} now"
            fix = "Use a higher version than any that a cluster has had"
            yield Finding(rules.VERSION_WENT_BACK, message, where, about, "spec.version", fix)

    def _vanished(self, scope: Scope, gone: Iterable[tuple[str, str]]) -> Iterator[Finding]:
        lost = set(gone)
        for machine in scope.inputs.machines:
            wanted = wanted_profile(machine, scope.settings.namespace)
            if wanted in lost and wanted is not None:
                field = f"metadata.annotations.{PROFILE_ANNOTATION}"
                message = f"its profile {'/'.join(wanted)} existed at {self.revision} and is missing now"
                fix = "Restore the profile, or name another in the pool"
                where = machine.manifest.line_of(field)
                yield Finding(rules.PROFILE_VANISHED, message, where, str(machine.ref), field, fix)


def _changed(profile: OperatingSystemProfile, before: OperatingSystemProfile) -> Iterator[str]:
    """The keys of the spec that differ, after defaults."""
    now, then = whole_profile(profile)["spec"], whole_profile(before)["spec"]
    yield from (key for key in sorted({*now, *then}) if now.get(key) != then.get(key))


def _is_lower(version: str, other: str) -> bool:
    try:
        return parse_version(version) < parse_version(other)
    except GoError:
        return False


def overlay_findings(trees: Sequence[TreeRef], trust: Trust = TRUSTED) -> Iterator[Finding]:
    """Problems of the overlays in these trees alone; whether they fit profiles depends on a cluster."""
    found: dict[Finding, None] = {}
    for tree in trees:
        for ref in overlays_in(tree, trust):
            try:
                read_overlays([ref], trust)
            except InputError as failure:
                # Problems of a base of several overlays are reported once.
                found |= dict.fromkeys(problem_finding(rules.OVERLAY, problem) for problem in failure.problems)
    yield from found


def overlays_in(tree: TreeRef, trust: Trust = TRUSTED) -> Iterator[OverlayRef]:
    """The overlays among a tree's files."""
    shown = tree.display.rstrip("/")
    for name in _names(tree, trust):
        inside = PurePosixPath(name).relative_to(shown) if name != shown else PurePosixPath()
        if PurePosixPath(name).name == OVERLAY_FILE:
            yield OverlayRef(tree.path / inside, name, tree.revision)


def _names(tree: TreeRef, trust: Trust) -> list[str]:
    """The file names of a tree as shown, without the suffix of a revision; none if it cannot be read, which is reported
    elsewhere."""
    try:
        trust.check(tree.path, tree.display)
        if not tree.revision:
            return [name for _, name in walk(Folder(tree.path, tree.display)).files]
        with open_revision(tree.path, tree.revision, tree.display, trust) as files:
            return [name.removesuffix(files.suffix) for _, name in walk(files).files]
    except InputError:
        return []
