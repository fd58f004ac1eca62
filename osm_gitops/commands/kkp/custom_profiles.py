"""CustomOperatingSystemProfiles of a KKP seed that git owns.

KKP copies them from namespace ``kubermatic`` into all user clusters. It replaces the profile of a user cluster only if
its ``spec.version`` differs, so content that changes under the same version would never arrive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from osm_gitops.commands.osp.profile_list import profiles_of
from osm_gitops.config.settings import RawSetting
from osm_gitops.config.spec import ClusterSpec, SourceSpec, TreeRef
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import CUSTOM_PROFILE
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.objects import Json
from osm_gitops.model.plan import TextChange
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.live_profiles import unbumped
from osm_gitops.plan.compare import is_ours
from osm_gitops.plan.content import changed_texts
from osm_gitops.render.manifests import whole_profile, with_crd_defaults
from osm_gitops.sources.manifests import KKP_NAMESPACE


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """A CustomOperatingSystemProfile to apply; ``before`` is the one of the seed, ``None`` for a new one."""

    name: str
    body: Mapping[str, Json] = field(repr=False)
    before: Mapping[str, Json] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        version = self.body["spec"]["version"]
        if self.before is None:
            return f"+ create {CUSTOM_PROFILE.name} {self.name} {version}"
        old = self.before["spec"].get("version")
        return f"~ update {CUSTOM_PROFILE.name} {self.name}: {old} -> {version}"

    @property
    def texts(self) -> tuple[TextChange, ...]:
        """What differs in an update."""
        return () if self.before is None else changed_texts({"spec": self.before["spec"]}, {"spec": self.body["spec"]})


def read_profiles(tree: TreeRef, environment: Mapping[str, str]) -> Sequence[OperatingSystemProfile]:
    """The profiles of a folder or file, by name. Raises InputError with all problems, also if a name is there twice."""
    alone = RawSetting("disable-default-osps", "true", "")
    spec = ClusterSpec(tree.display, SourceSpec(tree, tree, tree), (alone,), None)
    found = profiles_of([spec], environment, Connections(environment))
    problems = list(found.problems)
    profiles: dict[str, OperatingSystemProfile] = {}
    for profile in (use.profile for use in found.found):
        if profile.name in profiles:
            what = f"another profile has the name {profile.name} too, and {KKP_NAMESPACE} is one namespace"
            problems.append(_about(profile, Code.DUPLICATE_OBJECT, what, "Give one of them another name"))
        profiles[profile.name] = profile
        if profile.jinja:
            what = "it is written in Jinja2, which Operating System Manager in user clusters would print as text"
            fix = "Write it in Go's template language, or use an overlay"
            problems.append(_about(profile, Code.JINJA_PROFILE_BESIDE_OSM, what, fix))
    if problems:
        raise InputError(problems)
    return [profiles[name] for name in sorted(profiles)]


def plan_profiles(
    seed: Api, profiles: Sequence[OperatingSystemProfile], *, take_over: bool
) -> tuple[list[ProfileChange], list[Problem]]:
    """What to apply to a seed, and why something must not be. Deletes nothing. Raises ClusterError.

    ``take_over``: also profiles that somebody else wrote.
    """
    there = {body["metadata"]["name"]: body for body in seed.list(CUSTOM_PROFILE, lambda body: body, KKP_NAMESPACE)}
    changes: list[ProfileChange] = []
    problems: list[Problem] = []
    for profile in profiles:
        spec = whole_profile(profile)["spec"]
        metadata = {"name": profile.name, "namespace": KKP_NAMESPACE, "labels": {MANAGED_BY_LABEL: MANAGED_BY}}
        body = {
            "apiVersion": CUSTOM_PROFILE.api_version,
            "kind": CUSTOM_PROFILE.name,
            "metadata": metadata,
            "spec": spec,
        }
        before = there.get(profile.name)
        if before is None:
            changes.append(ProfileChange(profile.name, body))
            continue
        before = before | {"spec": with_crd_defaults(before["spec"])}
        same_version = unbumped(profile, before["spec"], seed.display)
        if same_version is not None:
            problems.append(same_version)
        elif before["spec"].get("version") == profile.version:
            continue
        elif not (take_over or is_ours(before)):
            what = f"{seed.display} has a {CUSTOM_PROFILE.name} of this name that osm-gitops did not write"
            problems.append(_about(profile, Code.PROFILE_NAME_TAKEN, what, "Give it another name, or add --take-over"))
        else:
            changes.append(ProfileChange(profile.name, body, before))
    return changes, problems


def _about(profile: OperatingSystemProfile, code: Code, what: str, fix: str) -> Problem:
    where = profile.manifest.line_of("metadata.name")
    return Problem(code, what, where=where, about=str(profile.manifest.ref), fix=fix)
