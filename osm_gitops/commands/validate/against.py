"""What a comparison with an earlier revision tells: specs that changed under one version, profiles that vanished."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from osm_gitops.commands.validate.scope import Scope
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.semver import parse_version
from osm_gitops.lint.rules import rules
from osm_gitops.lint.rules.templates import profile_name
from osm_gitops.model.finding import Finding
from osm_gitops.model.machine import PROFILE_ANNOTATION
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.render.manifests import whole_profile
from osm_gitops.render.resolve.pools import wanted_profile

_RAISE: Final = (
    "Raise spec.version: OSM's webhook refuses a changed spec under an old version, and machines are told apart by it"
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two states of the same sources; ``revision`` is how the earlier one was named."""

    now: tuple[Scope, ...]
    earlier: tuple[Scope, ...]
    revision: str

    def findings(self) -> Iterator[Finding]:
        """What the change does that nobody would want, each once, however many clusters it concerns."""
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
                told = f"its spec changed since {self.revision}, and its version is {profile.version} as it was then"
                message = f"{told}; what changed: {changed}"
                yield Finding(rules.VERSION_NOT_RAISED, message, where, about, "spec.version", _RAISE)
        elif _is_lower(profile.version, before.version):
            message = f"its version was {before.version} at {self.revision} and is {profile.version} now"
            fix = "Raise it beyond every version that a cluster has seen"
            yield Finding(rules.VERSION_WENT_BACK, message, where, about, "spec.version", fix)

    def _vanished(self, scope: Scope, gone: Iterable[tuple[str, str]]) -> Iterator[Finding]:
        lost = set(gone)
        for machine in scope.inputs.machines:
            wanted = wanted_profile(machine, scope.settings.namespace)
            if wanted in lost and wanted is not None:
                field = f"metadata.annotations.{PROFILE_ANNOTATION}"
                message = f"its profile {'/'.join(wanted)} was there at {self.revision} and is gone"
                fix = "Bring the profile back, or let the pool name another"
                where = machine.manifest.line_of(field)
                yield Finding(rules.PROFILE_VANISHED, message, where, str(machine.ref), field, fix)


def _changed(profile: OperatingSystemProfile, before: OperatingSystemProfile) -> Iterator[str]:
    """The keys of the spec that differ, with all defaults set."""
    now, then = whole_profile(profile)["spec"], whole_profile(before)["spec"]
    yield from (key for key in sorted({*now, *then}) if now.get(key) != then.get(key))


def _is_lower(version: str, other: str) -> bool:
    try:
        return parse_version(version) < parse_version(other)
    except GoError:
        return False
