"""Write the desired manifests, without a comparison.

The folder must be empty, or written by render before; outdated files of osm-gitops are removed. The
files contain secrets: only you can read them, and stdout is not masked. A dump of a cluster renders
to what Operating System Manager makes there, revisions included. In a git work tree, revisions are
left out, as in plan and apply.

Examples:
  osm-gitops render --to rendered                              # the fleet of osm-gitops.yaml
  osm-gitops render --from cluster-dump --to - --only workers  # one pool, unmasked
  osm-gitops render --from cluster-dump --to rendered --cluster-dns 10.96.0.10
  osm-gitops render --from cluster --to rendered --context prod
  osm-gitops render --from cluster-dump --to rendered -external-cloud-provider=true -worker-count=5
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request, with_newest
from osm_gitops.cli.run_options import AgeRecipients, PlaintextSecrets, run_options
from osm_gitops.errors import Code, OsmGitopsError, Problem, input_error

if TYPE_CHECKING:
    from osm_gitops.model.desired import Desired
    from osm_gitops.model.objects import ObjectRef
    from osm_gitops.targets.file_encryption import FileEncryption

_STDOUT = "-"


@with_newest
def render(request: Request, age_recipients: AgeRecipients = None, plaintext_secrets: PlaintextSecrets = False) -> int:
    if request.target is None:
        raise input_error(Code.MISSING_ARGUMENT, "render needs --to", fix="Name an empty folder, or - for stdout")
    from osm_gitops.pipeline.rendered import prepare  # noqa: PLC0415 - slow

    prepare()
    from osm_gitops.cli.clusters import clusters_of, trust_of  # noqa: PLC0415 - slow
    from osm_gitops.config.spec import LIVE  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.memo import Memo  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.options import sealing_of  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.states import check_only, desired_states  # noqa: PLC0415 - slow
    from osm_gitops.plan.guards import Limits  # noqa: PLC0415 - slow
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow
    from osm_gitops.targets.file_encryption import NO_ENCRYPTION  # noqa: PLC0415 - slow
    from osm_gitops.targets.folder import is_kept_by_git, refuse_plaintext  # noqa: PLC0415 - slow

    if request.target == LIVE:
        fix = f"Use apply to write to clusters; a folder of this name is ./{LIVE}"
        raise input_error(Code.INVALID_OPTION, "render writes files", where=f"--to {LIVE}", fix=fix)
    target = None if request.target == _STDOUT else Path(request.target)
    clusters = clusters_of(request, needs_target=False)
    options = replace(run_options(request, Limits(), age_recipients), memo=Memo())
    names = [spec.name for spec in clusters]
    kept = target is not None and is_kept_by_git(target, names)
    encryption = sealing_of(options) if kept or options.age_recipients else NO_ENCRYPTION
    if target is not None and kept and not plaintext_secrets:
        refuse_plaintext(target, names, encryption)
    if target is not None:
        trust_of(request).check(target, request.target)  # may be a link in the tree
    problems: list[Problem] = []
    failed = False
    pools: list[ObjectRef] = []
    sensitive: set[str] = set()
    shown: dict[Problem, None] = {}

    def show_new() -> None:
        """Print the problems that are new, before the pools that fail because of them."""
        new = [problem for problem in problems if problem not in shown]
        shown.update(dict.fromkeys(new))
        console.problems(new, masker=Masker(sensitive))

    for _, rendered in desired_states([replace(spec, frozen=not kept) for spec in clusters], options, problems):
        desired = rendered.desired
        pools += (*desired.pools, *desired.failed)
        sensitive |= desired.sensitive
        show_new()
        try:
            failed |= _write(desired, target, encryption)
        except OsmGitopsError as failure:
            problems.extend(failure.problems)
    check_only(request.only, pools, problems)
    show_new()
    return 1 if failed or problems else 0


def _write(desired: Desired, target: Path | None, encryption: FileEncryption) -> bool:
    """Write one cluster; return whether any of its pools failed."""
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow
    from osm_gitops.targets.folder import render_to, stream  # noqa: PLC0415 - slow

    masker = Masker(desired.sensitive)
    console.problems(desired.warnings, label="Warning", masker=masker)
    console.failures(desired.cluster, desired.failed, masker)
    if target is None:
        for text in stream(desired.objects):
            console.out(text)
    else:
        done = render_to(target, desired, encryption)
        pools = "1 pool" if len(desired.pools) == 1 else f"{len(desired.pools)} pools"
        console.say(
            f"{desired.cluster}: {len(desired.objects)} objects of {pools}, "
            f"{done.files_written} files written, {done.files_removed} removed"
        )
    return bool(desired.failed)
