"""A plan against an earlier revision: the effect of a change to the sources, independent of the target.

Both sides are read and rendered alike, so it needs no target, and no key if both are read with placeholders. So pull
requests from forks can show their changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from osm_gitops.config.fleet_file import parse_fleet
from osm_gitops.config.overlay_files import is_there
from osm_gitops.config.spec import ClusterSpec, Fleet, LiveRef, SourceRef, SourceSpec
from osm_gitops.errors import Code, Problem, input_error, some
from osm_gitops.git.repository import find_repository
from osm_gitops.model.desired import Desired
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.model.plan import ClusterPlan, CurrentObject, CurrentState, Plan
from osm_gitops.pipeline.memo import Memo
from osm_gitops.pipeline.options import Outcome, RunOptions
from osm_gitops.pipeline.planning import prepared
from osm_gitops.pipeline.rendering import Rendered
from osm_gitops.pipeline.states import check_only, desired_states
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.report.excerpts import without_bodies
from osm_gitops.sources.revision import open_revision
from osm_gitops.sources.trust import TRUSTED, Trust

_NAMED = 10


def fleet_at(path: Path, display: str, revision: str, trust: Trust = TRUSTED) -> Fleet:
    """The entries of a fleet file at a revision; none if the file did not exist.

    Raises InputError if the revision does not exist, or if the file was invalid.
    """
    text = fleet_text_at(path, revision, trust)
    return Fleet() if text is None else parse_fleet(text, path.parent, f"{display}@{revision}")


def fleet_text_at(path: Path, revision: str, trust: Trust) -> bytes | None:
    """A fleet file at a revision; ``None`` if it did not exist. Raises InputError if the revision does not exist."""
    found = find_repository(path)
    if found is None:
        raise input_error(Code.NO_WORK_TREE, "the fleet file is not in a git repository", where=f"--against {revision}")
    root, inside = found
    with open_revision(root, revision, str(root), trust) as files:
        try:
            place, _ = files.locate(PurePosixPath(inside))
            return files.read(place) or b""
        except OSError:
            return None


def spec_at(spec: ClusterSpec, revision: str, home: Path) -> ClusterSpec:
    """The cluster with its trees at a revision, if they are in the repository of ``home``.

    Live clusters, other trees, and trees with a revision are not changed.
    """
    parts = spec.source.parts
    repository = _repository(home)
    return replace(
        spec,
        source=SourceSpec(
            *(_part_at(part, revision, repository) for part in parts), applies_machines=spec.source.applies_machines
        ),
        overlays=tuple(_overlay_at(overlay, revision, repository) for overlay in spec.overlays),
    )


def given_at(
    overlays: Sequence[OverlayRef], revision: str, home: Path, trust: Trust = TRUSTED
) -> tuple[OverlayRef, ...]:
    """Overlays from flags at a revision, without those that did not exist yet."""
    repository = _repository(home)
    found = ((overlay, _overlay_at(overlay, revision, repository)) for overlay in overlays)
    return tuple(then for now, then in found if then == now or is_there(then, trust))


def plan_against(
    clusters: Sequence[ClusterSpec], earlier: Sequence[ClusterSpec], revision: str, options: RunOptions
) -> Outcome:
    """Plan all clusters as if their targets had what ``earlier`` renders to.

    Problems of that revision are warnings, so that a change may correct them.
    """
    options = replace(options, memo=Memo())
    problems: list[Problem] = []
    plans: list[ClusterPlan] = []
    pools: list[ObjectRef] = []
    before = {spec.name: spec for spec in earlier}
    for spec, rendered in desired_states(clusters, options, problems):
        pools += (*rendered.desired.pools, *rendered.desired.failed)
        plans.append(_plan(rendered, before.get(spec.name), revision, options))
    check_only(options.only, pools, problems)
    names = {spec.name for spec in clusters}
    plans.extend(_gone(spec, revision) for spec in earlier if spec.name not in names)
    return Outcome(Plan(tuple(plans)), tuple(problems))


def _plan(rendered: Rendered, spec: ClusterSpec | None, revision: str, options: RunOptions) -> ClusterPlan:
    desired = rendered.desired
    if spec is None:
        plan = make_cluster_plan(desired, CurrentState(), options.plan)
        return without_bodies(prepared(plan, options, rendered.secrets))
    troubles: list[Problem] = []
    before = next((found for _, found in desired_states([spec], options, troubles)), None)
    earlier = before.desired if before is not None else Desired(spec.name, ())
    known = {wanted.ref: wanted.digest for wanted in desired.objects if wanted.digest}
    current = CurrentState(
        objects={wanted.ref: CurrentObject(wanted.ref, wanted.side, wanted.body) for wanted in earlier.objects},
        identical=frozenset(wanted.ref for wanted in earlier.objects if known.get(wanted.ref) == wanted.digest),
        warnings=tuple(_warnings(desired, earlier, troubles, revision)),
    )
    # Old secrets must be masked too.
    masked = replace(desired, sensitive=desired.sensitive | earlier.sensitive)
    plan = make_cluster_plan(masked, current, options.plan)
    return without_bodies(prepared(plan, options, rendered.secrets, before.secrets if before is not None else None))


def _warnings(desired: Desired, earlier: Desired, troubles: Sequence[Problem], revision: str) -> Iterator[Problem]:
    unknown = [pool.name for pool in desired.pools if pool in earlier.failed]
    if unknown:
        named = some(unknown, _NAMED)
        yield Problem(Code.SHOWN_AS_NEW, f"pools that could not be rendered at {revision} are shown as new: {named}")
    for problem in troubles:
        yield replace(problem, what=f"at {revision}, with which this is compared: {problem.what}", fix="")


def _gone(spec: ClusterSpec, revision: str) -> ClusterPlan:
    left = Problem(
        Code.CLUSTER_LEFT_FLEET, f"it was removed from the fleet since {revision}: its folder is not changed"
    )
    return ClusterPlan(spec.name, (), warnings=(left,))


def _part_at(part: SourceRef, revision: str, repository: Path | None) -> SourceRef:
    # Without a repository, reading the revision reports the problem.
    if isinstance(part, LiveRef) or part.revision or _repository(part.path) != repository:
        return part
    return replace(part, revision=revision)


def _overlay_at(overlay: OverlayRef, revision: str, repository: Path | None) -> OverlayRef:
    if overlay.built_in or overlay.revision or _repository(overlay.path) != repository:
        return overlay
    return replace(overlay, revision=revision)


def _repository(path: Path) -> Path | None:
    found = find_repository(path)
    return found[0] if found else None
