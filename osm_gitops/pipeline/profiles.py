"""The profiles of a cluster: built-in ones and those of a source, their precedence (design.md, "Sources and targets of
a command" and "Profiles in clusters"), and patches of overlays ("Overlays").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain
from typing import Final

from osm_gitops.config.overlay_stack import Stack, ValuePath, without_used
from osm_gitops.config.overlays import read_overlays
from osm_gitops.config.patches import fits
from osm_gitops.errors import MOST_PROBLEMS, Code, InputError, Problem, did_you_mean
from osm_gitops.model.machine import PROFILE_NAMESPACE_ANNOTATION
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.overlay import Overlay, OverlayRef, Patch
from osm_gitops.model.profile import BUILT_IN_ANNOTATION, OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.inputs import ClusterInputs, ProfileKey
from osm_gitops.pipeline.rendered import WORKER
from osm_gitops.plan.compare import is_ours
from osm_gitops.render.resolve.named_facts import named_profiles
from osm_gitops.sources import builtin
from osm_gitops.sources.manifests import PROFILE
from osm_gitops.sources.profiles import read_profile
from osm_gitops.sources.trust import TRUSTED, Trust
from osm_gitops.workers.calls import Series, Use, call
from osm_gitops.workers.messages import Named
from osm_gitops.workers.process import LimitReached

# What only a worker imports here: it renders, and the imports take a tenth of a second.
_STACKED: Final = Named(WORKER, "stacked")
_PATCHED: Final = Named(WORKER, "patched")
_VALUES_READ: Final = Named(WORKER, "values_read")


def default_profiles(settings: Settings) -> frozenset[tuple[str, str]]:
    """``(namespace, name)`` of the built-in profiles; none if they are disabled. Raises InputError for an unknown
    version."""
    if settings.disable_default_osps:
        return frozenset()
    return frozenset((settings.namespace, name) for name in builtin.names(_version(settings)))


def add_default_profiles(
    inputs: ClusterInputs,
    settings: Settings,
    *,
    from_cluster: bool,
    unused: bool = False,
    unreadable: Sequence[Problem] = (),
) -> None:
    """Add the built-in profiles that pools refer to, or all of them (``unused``).

    A profile of the source takes precedence. If profiles are read ``from_cluster``, built-in profiles with our label
    are replaced by the configured version, with ``--replace-default-osps`` all profiles of these names. If documents of
    the source are ``unreadable``, they may contain a profile with precedence, so missing profiles are broken. Raises
    InputError for an unknown version.
    """
    every = at_hand = default_profiles(settings)
    if not unused:
        at_hand &= named_profiles(inputs.machines, settings.namespace)
    inputs.unread = every - at_hand
    taken = sorted(key for key in at_hand if _gives_way(inputs, key, settings, from_cluster))
    if unreadable:
        _break(inputs, taken, unreadable)
    elif taken:
        _add(inputs, taken, settings)


def built_in_profile(name: str, version: str) -> OperatingSystemProfile:
    """A built-in profile of a version, as an object of the default namespace. Raises InputError."""
    checked = builtin.read_builtin(name, version, Settings().namespace)
    if checked.value is None:
        raise InputError(checked.problems)
    return checked.value


def _gives_way(inputs: ClusterInputs, key: tuple[str, str], settings: Settings, from_cluster: bool) -> bool:
    """Whether the source has no profile of this name with precedence."""
    ref, found = ObjectRef(PROFILE, *key), inputs.profiles.get(key)
    if from_cluster and settings.replace_default_osps:
        return True
    if found is None:
        return ref not in inputs.broken
    annotations = found.manifest.body["metadata"].get("annotations") or {}
    return from_cluster and is_ours(found.manifest.body) and BUILT_IN_ANNOTATION in annotations


def _break(inputs: ClusterInputs, keys: Iterable[ProfileKey], unreadable: Sequence[Problem]) -> None:
    """Mark profiles as broken that may be in unreadable documents."""
    for key in keys:
        ref = ObjectRef(PROFILE, *key)
        what = "the built-in profile is not used: an unreadable document may contain one of this name, with precedence"
        inputs.broken[ref] = (
            Problem(
                Code.BUILT_IN_PROFILE_NOT_TAKEN,
                what,
                where=unreadable[0].where,
                about=str(ref),
                fix="Correct the unreadable document first",
            ),
        )


def _add(inputs: ClusterInputs, keys: Iterable[ProfileKey], settings: Settings) -> None:
    version = _version(settings)
    inputs.warnings += tuple(_in_other_namespaces(inputs, frozenset(keys), settings.namespace))
    for namespace, name in keys:
        checked = builtin.read_builtin(name, version, namespace)
        ref = ObjectRef(PROFILE, namespace, name)
        inputs.broken.pop(ref, None)
        inputs.profiles.pop((namespace, name), None)
        inputs.warnings += tuple(checked.warnings)
        if checked.value is not None:
            inputs.profiles[namespace, name] = checked.value
        else:
            inputs.broken[ref] = checked.problems
    inputs.sources += (f"built-in profiles {version}",)


def _in_other_namespaces(inputs: ClusterInputs, built_in: frozenset[ProfileKey], namespace: str) -> Iterator[Problem]:
    """Profiles that no pool names and whose built-in namesake is used: their namespace is probably a mistake."""
    names = {name for _, name in built_in}
    unused = inputs.profiles.keys() - named_profiles(inputs.machines, namespace)
    for key in sorted(key for key in unused if key[1] in names and key[0] != namespace):
        yield Problem(
            Code.PROFILE_IN_OTHER_NAMESPACE,
            f"it is not used: pools that name {key[1]} get the built-in profile of namespace {namespace}",
            where=str(inputs.profiles[key].manifest.origin),
            about=str(inputs.profiles[key].manifest.ref),
            field="metadata.namespace",
            fix=f"Set it to {namespace}, or set {PROFILE_NAMESPACE_ANNOTATION} in the pools",
        )


def _version(settings: Settings) -> str:
    return settings.profiles_version or builtin.newest()


OtherProfiles = Callable[[], Iterable[OperatingSystemProfile]]
"""Returns profiles that no pool needs. They are read only on demand."""


def load_stack(overlays: Sequence[OverlayRef], trust: Trust = TRUSTED) -> Stack:
    """The combined overlays. Raises InputError with all problems."""
    if not overlays:
        return Stack()
    read = read_overlays(overlays, trust)
    stack: Stack = call(_STACKED, read, use=Use.EXECUTE if any(each.has_templates for each in read) else Use.READ)
    return stack


def apply_overlays(
    inputs: ClusterInputs, stack: Stack, others: OtherProfiles = tuple, *, partial: bool = False
) -> None:
    """Select and patch the profiles of the cluster, and add its values.

    Profiles for which a patch fails are broken. Raises InputError for unused parts of an overlay: a patch, a name of a
    profile, a value. This check is skipped for ``partial`` inputs, which lack profiles of the cluster.
    """
    if not stack.overlays:
        return
    work = _OverlayRun(inputs, stack, others, Series(tuple, stack.overlays, use=Use.READ))
    for key, profile in inputs.profiles.items():
        work.take(key, profile)
    problems = [] if partial else [*work.idle_patches(), *work.idle_choices(), *work.idle_values()]
    if problems:
        raise InputError(problems)
    inputs.profiles = work.profiles
    inputs.unread = frozenset(key for key in inputs.unread if stack.gets(key[1]))
    inputs.left_out, inputs.patched = work.left_out, work.patched
    inputs.broken |= work.broken
    inputs.values = stack.tree()
    inputs.value_places = {".".join(path): given.spot.where for path, given in stack.values.items()}
    inputs.warnings += (*stack.warnings, *work.warnings)


@dataclass(slots=True)
class _OverlayRun:
    inputs: ClusterInputs
    stack: Stack
    others: OtherProfiles
    patching: Series[tuple[Overlay, ...]]
    profiles: dict[tuple[str, str], OperatingSystemProfile] = field(default_factory=dict)
    left_out: dict[ObjectRef, str] = field(default_factory=dict)
    patched: dict[ObjectRef, tuple[Patch, ...]] = field(default_factory=dict)
    broken: dict[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)

    def take(self, key: tuple[str, str], profile: OperatingSystemProfile) -> None:
        """Patch a profile, if it is selected."""
        ref = profile.manifest.ref
        if not self.stack.gets(profile.name):
            self.left_out[ref] = self.stack.chosen_at
            return
        fitting = [patch for overlay in self.stack.overlays for patch in overlay.patches if fits(patch, profile)]
        if not fitting:
            self.profiles[key] = profile
            return
        try:
            found = self.patching.ask(_PATCHED, profile)
        except LimitReached as failure:
            self.broken[ref] = failure.named(f"patching {ref}", where=fitting[0].spot.where)
            return
        if found is None:
            self.profiles[key] = profile
            return
        self.warnings += found.warnings
        known = {(each.what, each.field) for each in read_profile(profile.manifest).warnings}
        checked = read_profile(found.manifest)
        # The API server would drop unknown fields of a patch.
        dropped = [each for each in checked.warnings if (each.what, each.field) not in known]
        problems = (*found.problems, *(() if found.problems else (*checked.problems, *dropped)))
        if problems or checked.value is None:
            self.broken[ref] = problems
        else:
            self.profiles[key] = replace(checked.value, built_in=profile.built_in)
            self.patched[ref] = found.applied

    def at_hand(self) -> Iterator[OperatingSystemProfile]:
        """All profiles; those that no pool needs come last."""
        yield from self.inputs.profiles.values()
        yield from self.others()

    def broken_names(self) -> list[str]:
        return [ref.name for ref in self.inputs.broken if ref.kind == PROFILE]

    def idle_patches(self) -> Iterator[Problem]:
        """Patches that match no profile. Of broken profiles only the name is known; derived ones cannot be patched."""
        for overlay in self.stack.overlays:
            for patch in overlay.patches:
                if any(fnmatchcase(name, patch.name) for name in self.broken_names()):
                    continue
                if not any(fits(patch, profile) for profile in self.at_hand()):
                    yield self._idle(patch, overlay)

    def _idle(self, patch: Patch, overlay: Overlay) -> Problem:
        named = f'"{patch.name}"' + (f" for {patch.os_name}" if patch.os_name else "")
        return Problem(
            Code.PATCH_FOR_NO_PROFILE,
            f"this patch matches no profile: there is none for {named}",
            where=patch.spot.where,
            about=f"overlay {overlay.display}",
            fix=self._names(patch.name),
        )

    def idle_choices(self) -> Iterator[Problem]:
        """Entries of ``profiles`` that match none."""
        for glob in self.stack.profiles or ():
            names = (*self.broken_names(), *(profile.name for profile in self.at_hand()))
            if not any(fnmatchcase(name, glob) for name in names):
                what = f'no profile matches "{glob}"'
                yield Problem(
                    Code.PROFILE_NOT_FOUND, what, where=self.stack.chosen_at, field="profiles", fix=self._names(glob)
                )

    def _names(self, word: str) -> str:
        names = sorted({profile.name for profile in self.at_hand()})
        return did_you_mean(word, names) if names else "There are no profiles"

    def idle_values(self) -> Iterator[Problem]:
        """Values that no profile reads. Built-in overlays are not checked, and profiles broken by a patch may read
        any."""
        if self.broken:
            return
        uses: set[ValuePath] = set(self.stack.uses)
        given_here = {path: given for path, given in self.stack.values.items() if not given.overlay.built_in}
        waiting = without_used(given_here, uses)
        profiles = chain(self.profiles.values(), self.at_hand())
        while waiting and (profile := next(profiles, None)):
            new = self.patching.ask(_VALUES_READ, profile) - uses
            waiting = without_used(waiting, new)
            uses |= new
        known = [".".join(use) for use in uses if use]
        for number, (path, given) in enumerate(waiting.items()):
            if number == MOST_PROBLEMS:
                yield Problem(
                    Code.MORE_PROBLEMS,
                    f"values that no profile reads and that are not listed here: {len(waiting) - number:,}",
                )
                return
            name = ".".join(path)
            fix = did_you_mean(name, known) if known else "No profile reads any value"
            yield Problem(
                Code.VALUE_NOT_READ,
                f"no profile reads the value {name}",
                where=given.spot.where,
                field=f"values.{name}",
                fix=fix,
            )
