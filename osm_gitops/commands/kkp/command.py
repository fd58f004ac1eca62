"""Switch OSM of KKP user clusters off and on.

OSM is Operating System Manager, KKP Kubermatic Kubernetes Platform. Also applies profiles to a seed.

Examples:
  osm-gitops kkp switch-off abcdefghij   # after plan, before apply
  osm-gitops kkp switch-on abcdefghij    # the way back, after uninstall
  osm-gitops kkp apply-profiles          # the CustomOperatingSystemProfiles that git owns
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from osm_gitops.cli.completion import complete_cluster
from osm_gitops.cli.console import console
from osm_gitops.cli.help import CommandLine
from osm_gitops.cli.options import Request, option, with_fleet_file, with_named_clusters
from osm_gitops.cli.run_options import Yes, ask, duration, require_answer, run_options
from osm_gitops.errors import Code, OsmGitopsError, Problem, input_error, some
from osm_gitops.report.visible import many, visible

if TYPE_CHECKING:
    from osm_gitops.commands.kkp.switching import Switch, Switched
    from osm_gitops.config.spec import ClusterSpec
    from osm_gitops.kube.api import Api
    from osm_gitops.pipeline.options import RunOptions

DEFAULT_TIMEOUT: Final = "5m"
_NAMED: Final = 5

Names = Annotated[
    list[str],
    typer.Argument(
        metavar="CLUSTER...",
        help="Names of clusters in the fleet, or globs of them.",
        autocompletion=complete_cluster,
    ),
]
Timeout = Annotated[
    str,
    option(
        "--timeout",
        "How long to wait until Operating System Manager has stopped, or started.",
        metavar="DURATION",
    ),
]

kkp = CommandLine(name="kkp", help=__doc__, no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@kkp.command("switch-off")
@with_named_clusters
def switch_off(
    request: Request,
    clusters: Names,
    yes: Yes = False,
    allow_changes: Annotated[
        bool,
        option("--allow-changes", "Switch off although the next apply would change what new machines boot with."),
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Switch OSM of user clusters off.

    Plans the clusters first, and refuses if new machines would boot with another configuration. Sets
    the override in each Cluster to 0 replicas, checks that KKP keeps it, and waits until Deployment,
    pods and Lease are gone. Its webhook stays: KKP needs it. Can be run again; it changes nothing
    twice. Run apply soon after it, as bootstrap tokens of Operating System Manager live for an hour.

    Examples:
      osm-gitops kkp switch-off abcdefghij
      osm-gitops kkp switch-off 'test-*' --yes
      osm-gitops kkp switch-off abcdefghij --allow-changes   # the next apply changes something
    """
    from osm_gitops.commands.kkp.switching import Switch  # noqa: PLC0415 - imports kube

    return _Switching(request, Switch.OFF, tuple(clusters), yes, timeout, lenient=allow_changes).run()


@kkp.command("switch-on")
@with_named_clusters
def switch_on(
    request: Request,
    clusters: Names,
    yes: Yes = False,
    allow_leftovers: Annotated[
        bool,
        option("--allow-leftovers", "Switch on although the cluster has not been given back by uninstall."),
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Switch OSM of user clusters on again.

    Stop the runs for these clusters and give them back by uninstall first. Sets the override in each
    Cluster to 1 replica and waits until one is ready.

    Examples:
      osm-gitops kkp switch-on abcdefghij
      osm-gitops kkp switch-on abcdefghij --yes --timeout 10m
    """
    from osm_gitops.commands.kkp.switching import Switch  # noqa: PLC0415 - imports kube

    return _Switching(request, Switch.ON, tuple(clusters), yes, timeout, lenient=allow_leftovers).run()


@kkp.command("apply-profiles")
@with_fleet_file
def apply_profiles(
    request: Request,
    yes: Yes = False,
    take_over: Annotated[
        bool, option("--take-over", "Also replace CustomOperatingSystemProfiles that somebody else wrote.")
    ] = False,
) -> int:
    """Apply profiles of the config repo to seeds.

    Writes the profiles that kkp.profiles of the fleet file names as CustomOperatingSystemProfiles, which
    KKP copies to all user clusters of the seed. Shows what differs and asks for confirmation. Refuses
    content that changed under the same version: KKP would never copy it. Deletes nothing.

    Examples:
      osm-gitops kkp apply-profiles
      osm-gitops kkp apply-profiles --yes --context seed-eu
    """
    from osm_gitops.cli.clusters import fleet_of  # noqa: PLC0415 - slow
    from osm_gitops.commands.kkp.custom_profiles import ProfileChange, plan_profiles, read_profiles  # noqa: PLC0415
    from osm_gitops.commands.osp.diff import format_profile_diff  # noqa: PLC0415 - slow
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow
    from osm_gitops.report.text import Style  # noqa: PLC0415 - slow

    require_answer("kkp apply-profiles", confirmed=yes)
    sources = [(each.seed, each.profiles) for each in fleet_of(request).kkp if each.profiles is not None]
    if not sources:
        raise input_error(
            Code.NO_SOURCE,
            "the fleet file names no profiles for a seed",
            where="kkp.profiles",
            fix="Name a folder with profiles there",
        )
    planned: list[tuple[Api, ProfileChange]] = []
    problems: list[Problem] = []
    for named, tree in sources:
        try:
            seed = request.connections.seed(request.management.over(named))
            changes, refused = plan_profiles(seed, read_profiles(tree, request.environment), take_over=take_over)
        except OsmGitopsError as failure:
            problems += failure.problems
            continue
        problems += refused
        planned += ((seed, change) for change in changes)
        console.out(f"{visible(seed.display)}: {many(len(changes), 'profile')} to write\n")
        for change in changes:
            console.out(f"{visible(str(change))}\n")
            if change.before is not None:
                console.out(format_profile_diff(change.texts, Masker(), Style(color=console.colours())))
    console.problems(problems)
    if problems:
        console.say("Nothing was changed.")
        return 1
    if not planned:
        return 0
    if not (yes or ask("Apply these profiles?")):
        console.say("Not confirmed: nothing was changed.")
        return 1
    failed = False
    for seed, change in planned:
        try:
            seed.apply(change.body, force=take_over)
        except OsmGitopsError as failure:
            console.problems(failure.problems)
            failed = True
        else:
            console.say(f"{change.name}: applied")
    return 1 if failed else 0


@dataclass(frozen=True, slots=True)
class _Switching:
    """One call of the command. ``lenient``: what speaks against it is allowed."""

    request: Request
    switch: Switch
    clusters: tuple[str, ...]
    yes: bool
    timeout: str
    lenient: bool

    def run(self) -> int:
        from osm_gitops.cli.clusters import live_clusters_of  # noqa: PLC0415 - slow
        from osm_gitops.commands.kkp.switching import is_done, set_replicas, wait_for  # noqa: PLC0415 - imports kube
        from osm_gitops.plan.guards import Limits  # noqa: PLC0415 - slow

        require_answer(f"kkp switch-{self._word}", confirmed=self.yes)
        timeout = duration(self.timeout, "--timeout")
        specs = live_clusters_of(replace(self.request, clusters=self.clusters))
        options = run_options(self.request, Limits(), None)
        switched, problems = self._read(specs, options)
        done = [] if problems else [each for each in switched if is_done(each, self.switch, options.live)]
        for each in done:
            console.say(f"{each.name}: Operating System Manager is {self._word} already", cluster=each.name)
        to_do = [each for each in switched if each not in done]
        if not problems:
            problems = self._against(
                to_do, [spec for spec in specs if spec.name in {each.name for each in to_do}], options
            )
        for each in to_do:
            console.out(f"{visible(self._line(each))}\n")
        console.problems(problems)
        if problems or not specs:  # without a cluster, all that were named are left out, and it was said why
            console.say("Nothing was changed.")
            return 1
        if not to_do:
            return 0
        if not (self.yes or ask(f"Switch Operating System Manager {self._word} in {many(len(to_do), 'cluster')}?")):
            console.say("Not confirmed: nothing was changed.")
            return 1
        written: list[Switched] = []
        for each in to_do:
            try:
                set_replicas(each, self.switch)
            except OsmGitopsError as failure:
                console.problems(map(each.at, failure.problems))
                break  # what did not hold here would not hold elsewhere
            written.append(each)
            console.say(f"{each.name}: the override is {self.switch.value} now", cluster=each.name)
        failed = wait_for(written, self.switch, timeout, options.live)
        for found in failed.values():
            console.problems(found)
        self._tell_next([each.name for each in written if each.name not in failed])
        left = [each.name for each in to_do[len(written) + 1 :]]
        if left:
            console.say(f"Not tried: {some(left, _NAMED)}")
        return 1 if failed or len(written) < len(to_do) else 0

    @property
    def _word(self) -> str:
        return self.switch.name.lower()

    def _read(self, specs: Sequence[ClusterSpec], options: RunOptions) -> tuple[list[Switched], list[Problem]]:
        """The clusters, and what is in the way of switching them."""
        from osm_gitops.commands.kkp.switching import Switched, obstacles, read_templates  # noqa: PLC0415

        switched, problems, templates = [], [], {}
        for spec in specs:
            if spec.problems or spec.kkp is None:
                problems += [*(each.at(about=f"cluster {spec.name}") for each in spec.problems)] or [_foreign(spec)]
                continue
            ref = spec.kkp.seed
            try:
                inventory, seed = options.connections.inventory(ref), options.connections.seed(ref)
                if ref not in templates:
                    templates[ref] = read_templates(seed, inventory)
                each = Switched(spec.name, spec.kkp.cluster, seed, options.connections.worker(spec))
            except OsmGitopsError as failure:
                problems += [problem.at(about=f"cluster {spec.name}") for problem in failure.problems]
                continue
            switched.append(each)
            problems += obstacles(each, self.switch, inventory, templates[ref])
        return switched, problems

    def _against(
        self, switched: Sequence[Switched], specs: Sequence[ClusterSpec], options: RunOptions
    ) -> list[Problem]:
        """What speaks against switching clusters: what the next apply would change, or what an uninstall left out."""
        from osm_gitops.commands.kkp.switching import Switch, leftovers  # noqa: PLC0415 - imports kube
        from osm_gitops.pipeline.run import plan_clusters  # noqa: PLC0415 - slow

        if self.switch is Switch.ON:
            return [] if self.lenient else [problem for each in switched for problem in leftovers(each)]
        outcome = plan_clusters(specs, options)
        problems = [*outcome.problems, *outcome.plan.refusals]
        for plan in outcome.plan.clusters:
            changed = {change.pool_name for change in plan.changes if change.boots_differently}
            broken = {pool.namespaced_name for pool in plan.failed}
            for pools, what in ((changed, "would change the boot configuration of"), (broken, "could not render")):
                if pools and not self.lenient:
                    problems.append(_differs(plan.cluster, f"the next apply {what} {some(sorted(pools), _NAMED)}"))
        return problems

    def _line(self, each: Switched) -> str:
        before = "empty" if each.cluster.osm_replicas is None else each.cluster.osm_replicas
        name = f"{each.name} ({each.cluster.human_name})" if each.cluster.human_name else each.name
        return f"  ~ {name}: replicas of Operating System Manager: {before} -> {self.switch.value}"

    def _tell_next(self, names: Sequence[str]) -> None:
        from osm_gitops.commands.kkp.switching import Switch  # noqa: PLC0415 - imports kube

        if not names:
            return
        console.say(f"Operating System Manager is {self._word} in {many(len(names), 'cluster')}: {some(names, _NAMED)}")
        if self.switch is Switch.OFF:
            flags = " ".join(f"--cluster {name}" for name in names[:_NAMED])
            console.say(f"Next: osm-gitops apply {flags}, then refresh at least every half hour (docs/how-to/kkp.md)")


def _foreign(spec: ClusterSpec) -> Problem:
    what = "it is not a user cluster of an entry kkp of the fleet file"
    fix = "Switch Operating System Manager off where it runs: docs/how-to/adoption.md"
    return Problem(Code.NOT_A_USER_CLUSTER, what, about=f"cluster {spec.name}", fix=fix)


def _differs(cluster: str, what: str) -> Problem:
    fix = f"Look at osm-gitops plan --cluster {cluster}, or add --allow-changes"
    return Problem(Code.SWITCH_CHANGES_BOOT, what, about=f"cluster {cluster}", fix=fix)
