"""Show machines with an old configuration, and replace them.

A machine keeps the configuration that it booted with. Shows for each pool how many Machines are older
than its present configuration, since when, and which have no Ready Node. With --roll, changes the
template of such pools, so that machine-controller replaces their machines as their strategy says.
Leaves pools whose new configuration is not in the cluster yet.

Examples:
  osm-gitops rollout                            # the fleet's clusters
  osm-gitops rollout --cluster canary -o json   # one cluster, for programs
  osm-gitops rollout --cluster canary --roll 3  # replace machines of pools with at most 3 old ones
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from osm_gitops.cli.console import console
from osm_gitops.cli.options import Form, Request, option, with_live
from osm_gitops.cli.run_options import (
    DEFAULT_LOCK_TIMEOUT,
    DEFAULT_SETTLE,
    LockTimeout,
    Yes,
    ask,
    duration,
    live_options,
    require_answer,
    run_options,
)
from osm_gitops.report.visible import many


@with_live
def rollout(
    request: Request,
    output: Annotated[Form, option("--output,-o", "Format of the result.")] = Form.TEXT,
    late: Annotated[
        str, option("--late", "After how long a Machine without a Ready Node is named.", metavar="DURATION")
    ] = "30m",
    most: Annotated[
        int | None,
        option(
            "--roll",
            "Replace the machines of pools that have at most N old ones. Without it, nothing is changed.",
            metavar="N",
            min=1,
            show_default=False,
        ),
    ] = None,
    lock_timeout: LockTimeout = DEFAULT_LOCK_TIMEOUT,
    yes: Yes = False,
) -> int:
    from osm_gitops.cli.clusters import compared_clusters  # noqa: PLC0415 - slow
    from osm_gitops.commands.rollout.report import NEXT, rollout_json, rollout_text  # noqa: PLC0415 - slow
    from osm_gitops.commands.rollout.rolling import Rolled, cluster_states, roll  # noqa: PLC0415 - slow
    from osm_gitops.model.live import WriteOptions  # noqa: PLC0415 - slow
    from osm_gitops.plan.guards import Limits  # noqa: PLC0415 - slow
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow

    if most is not None:
        require_answer("rollout --roll", confirmed=yes)
    options = run_options(request, Limits(), None)
    options = replace(options, live=live_options(DEFAULT_SETTLE, lock_timeout, WriteOptions()))
    specs = compared_clusters(request, options)
    found = tuple(cluster_states(specs, options, duration(late, "--late")))
    masker = Masker(value for cluster in found for value in cluster.sensitive)
    console.out(rollout_json(found, masker) if output is Form.JSON else rollout_text(found, masker))
    problems = [problem for cluster in found for problem in cluster.problems]
    declined = False
    if most is not None:
        for cluster in found:
            for pool in cluster.pools:
                if pool.rolls and len(pool.rollout.old) > most:
                    what = f"{pool.ref.namespaced_name} has {many(len(pool.rollout.old), 'old machine')}"
                    console.say(f"{cluster.name}: left: {what}, more than --roll {most}", cluster=cluster.name)
        chosen = {cluster.name: cluster.rolling(most) for cluster in found}
        number = sum(map(len, chosen.values()))
        declined = number > 0 and not yes and not ask(f"Replace the machines of {many(number, 'pool')}?")
        for spec in () if declined else specs:
            done = roll(spec, chosen[spec.name], most, options) if chosen[spec.name] else Rolled()
            for ref, replaced in done.pools:
                what = f"machine-controller replaces {many(replaced, 'machine')} of {ref.namespaced_name}"
                console.say(f"{spec.name}: {what}", cluster=spec.name, pool=ref.namespaced_name)
            problems += done.problems
        if number:
            console.say("Not confirmed: nothing was changed." if declined else NEXT)
    console.problems(problems, masker=masker)
    return 1 if problems or declined else 0
