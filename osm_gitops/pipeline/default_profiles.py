"""The built-in profiles beside those of a source (design.md, "Sources and targets of a command" and "Profiles in
clusters"): which are at hand, and who wins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.profile import BUILT_IN_ANNOTATION, OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.inputs import ClusterInputs, ProfileKey
from osm_gitops.plan.compare import is_ours
from osm_gitops.render.resolve.named_facts import named_profiles
from osm_gitops.sources import builtin
from osm_gitops.sources.manifests import PROFILE


def default_profiles(settings: Settings) -> frozenset[tuple[str, str]]:
    """The built-in profiles, each as ``(namespace, name)``; none where they are switched off.

    Raises InputError where there is no such version of them.
    """
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

    A profile of the source wins. Only where profiles were read ``from_cluster``, one that carries our label and says
    that it is built in is nobody else's: the version that is asked for takes its place, and with
    ``--replace-default-osps`` that of any. Where documents of the source are ``unreadable``, any of them may be a
    profile that wins: those that it lacks are broken then. Raises InputError where there is no such version.
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
    """Whether the source has nothing of this name that wins."""
    ref, found = ObjectRef(PROFILE, *key), inputs.profiles.get(key)
    if from_cluster and settings.replace_default_osps:
        return True
    if found is None:
        return ref not in inputs.broken
    annotations = found.manifest.body["metadata"].get("annotations") or {}
    return from_cluster and is_ours(found.manifest.body) and BUILT_IN_ANNOTATION in annotations


def _break(inputs: ClusterInputs, keys: Iterable[ProfileKey], unreadable: Sequence[Problem]) -> None:
    """Break profiles that may be in what could not be read."""
    for key in keys:
        ref = ObjectRef(PROFILE, *key)
        what = "the built-in profile is not taken: what cannot be read here may be one of that name, which would win"
        inputs.broken[ref] = (
            Problem(
                Code.BUILT_IN_PROFILE_NOT_TAKEN,
                what,
                where=unreadable[0].where,
                about=str(ref),
                fix="Correct what cannot be read first",
            ),
        )


def _add(inputs: ClusterInputs, keys: Iterable[ProfileKey], settings: Settings) -> None:
    version = _version(settings)
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


def _version(settings: Settings) -> str:
    return settings.profiles_version or builtin.newest()
