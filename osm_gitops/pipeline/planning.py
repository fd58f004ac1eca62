"""Plan one cluster after the other. What comes out is data: it can be kept, and handed between processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from osm_gitops.config.spec import CLUSTER_PLACEHOLDER, ClusterSpec, LiveTarget, PullRequestSpec, TargetSpec
from osm_gitops.errors import Code, OsmGitopsError, Problem, target_error
from osm_gitops.git.remote import CLONE_REMOTE
from osm_gitops.git.repository import find_work_tree
from osm_gitops.model.desired import NO_SECRETS, Desired
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan, View
from osm_gitops.pipeline.connections import refuse_server
from osm_gitops.pipeline.inputs import status_of
from osm_gitops.pipeline.options import RunOptions, named
from osm_gitops.pipeline.osm_activity import osm_in_sources, osm_in_target
from osm_gitops.pipeline.rendering import PoolSecrets, Rendered, kept
from osm_gitops.pipeline.states import desired_states
from osm_gitops.plan.fingerprint import fingerprint
from osm_gitops.report.excerpts import as_shown, draft, with_excerpts, without_bodies
from osm_gitops.targets.commits import GitPlace
from osm_gitops.targets.current import FolderComparison
from osm_gitops.targets.file_encryption import FileEncryption
from osm_gitops.targets.folder import FolderTarget
from osm_gitops.targets.git import obstacles
from osm_gitops.targets.target import plan_for

_COMPARED = "files compared"
_TEXT = View(together=True)
"""What the text of a pull request shows."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What planning a cluster came to: its plan, or why there is none. ``pools`` are those of its source, ``proposal``
    is what a pull request changes with the plan."""

    plan: ClusterPlan | None = None
    proposal: ClusterPlan | None = None
    pools: tuple[ObjectRef, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans clusters with the same options. ``encryption`` is that of their folders."""

    options: RunOptions
    encryption: FileEncryption

    def against_target(self, spec: ClusterSpec) -> Planned:
        """Plan a cluster without changes or locks, for reports."""
        problems: list[Problem] = []
        try:
            if isinstance(spec.target, LiveTarget):
                from osm_gitops.pipeline.live import read_live  # noqa: PLC0415 - not needed for runs from trees to git

                refuse_server(spec, "to")
                look = read_live(spec, self.options, osm_in_target(spec, self.options))
                return self._planned(look.plan, look.desired, look.secrets, look.problems)
            early = None
            # An untrusted run reads no file of a target before it is checked.
            if isinstance(spec.target, TargetSpec) and not spec.trust.untrusted:
                early = self._comparison(spec.target.path, spec, self.options.views)
            taken = kept if early is None else early.take
            for _, rendered in desired_states([spec], self.options, problems, into_git=True, taken=taken):
                desired, secrets = rendered.desired, rendered.secrets
                target, encryption = folder_of(spec), self.encryption
                if spec.trust.untrusted:
                    spec.trust.check(target.path, target.display)
                    encryption = encryption.within(spec.trust.allows)
                plan = self._compared(FolderTarget(target.path, encryption), desired, early)
                warnings = (*osm_in_sources(spec, self.options).warnings, *plan.warnings)
                refusals = (*plan.refusals, *self._git_refusals(spec, target, encryption))
                return self._planned(replace(plan, warnings=warnings, refusals=refusals), desired, secrets, problems)
        except OsmGitopsError as failure:
            problems.extend(named(spec.name, failure.problems))
        return Planned(problems=tuple(problems))

    def into_git(self, spec: ClusterSpec, folder: Path, base: Path | None = None) -> Planned:
        """Plan a cluster for a git target that is locked, whose files are in ``folder``. For a pull request, ``base``
        has the files of the branch that it is for."""
        problems: list[Problem] = []
        try:
            views = self.options.views if base is None else (*self.options.views, _TEXT)
            early = self._comparison(folder, spec, views)
            taken = kept if early is None else early.take
            for _, rendered in desired_states([spec], self.options, problems, into_git=True, taken=taken):
                desired, secrets = rendered.desired, rendered.secrets
                osm = osm_in_sources(spec, self.options)
                osm.refuse(spec.name, self.options.live, unknown=False)
                plan = self._compared(FolderTarget(folder, self.encryption), desired, early)
                plan = replace(plan, warnings=(*osm.warnings, *plan.warnings))
                planned = self._planned(plan, desired, secrets, problems, delivered=True)
                proposal = None if base is None else self._proposal(plan, rendered, folder, base)
                return replace(planned, proposal=proposal)
        except OsmGitopsError as failure:
            problems.extend(failure.problems)
        return Planned(problems=tuple(problems))

    def _proposal(self, plan: ClusterPlan, rendered: Rendered, folder: Path, base: Path) -> ClusterPlan:
        """What the pull request changes, with what its text shows."""
        if base != folder:
            encryption = self.encryption.reloaded(find_work_tree(base))
            found = plan_for(FolderTarget(base, encryption), rendered.desired, self.options.plan)
            plan = replace(found, warnings=plan.warnings)
        return without_bodies(excerpted(plan, (_TEXT,), rendered.secrets))

    def _comparison(self, folder: Path, spec: ClusterSpec, views: tuple[View, ...]) -> FolderComparison | None:
        """Compares pools with their files as soon as they are rendered; ``None`` for a plan that is saved, which says
        what every file was."""
        if self.options.saved:
            return None
        return FolderComparison(folder, spec.name, self.encryption, partial(as_shown, views=views, known={}))

    def _compared(self, target: FolderTarget, desired: Desired, early: FolderComparison | None) -> ClusterPlan:
        advance = self.options.advance(desired.cluster, _COMPARED)
        return plan_for(target, desired, self.options.plan, advance=advance, early=early)

    def _git_refusals(self, spec: ClusterSpec, target: TargetSpec, encryption: FileEncryption) -> tuple[Problem, ...]:
        """Problems of the git target that would stop apply. None for a folder outside of git, which plans accept, and
        none in an untrusted run, which uses no recipients and few commands of git."""
        if spec.trust.untrusted or find_work_tree(target.path) is None:
            return ()
        place = git_place(target, [spec], self.options)
        status = partial(status_of, trust=spec.trust, memo=self.options.memo)
        return obstacles(place, encryption, detached=True, status_of=status)

    def _planned(
        self,
        plan: ClusterPlan,
        desired: Desired,
        secrets: PoolSecrets | None,
        problems: Sequence[Problem],
        *,
        delivered: bool = False,
    ) -> Planned:
        plan = prepared(plan, self.options, secrets)
        plan = without_bodies(plan, delivered=delivered)
        return Planned(plan, pools=(*desired.pools, *desired.failed), problems=tuple(problems))


def prepared(
    plan: ClusterPlan, options: RunOptions, after: PoolSecrets | None, before: PoolSecrets | None = None
) -> ClusterPlan:
    """The plan with all that the reports of the run need. ``after`` are the secrets of the desired state, if its pools
    were rendered, ``before`` those of the current state if that was rendered too."""
    if options.saved:
        plan = replace(plan, fingerprint=fingerprint(plan))
    return excerpted(plan, options.views, after, before)


def excerpted(
    plan: ClusterPlan, views: Iterable[View], after: PoolSecrets | None, before: PoolSecrets | None = None
) -> ClusterPlan:
    """The plan with what the views need. Its pools are rendered with other secrets here, if anything of them is shown:
    pools that change alike only once."""
    drafts = [draft(plan, view) for view in views]
    pools = dict.fromkeys(pool for each in drafts for pool in each.pools)
    now = after.of(pools) if after is not None else dict.fromkeys(pools, NO_SECRETS)
    return with_excerpts(plan, drafts, now, before.of(pools) if before is not None else None)


def own_branch(target: TargetSpec, cluster: str, options: RunOptions) -> str:
    """The branch of its own that a cluster's commits go to; empty for the one that is checked out."""
    proposed = (target.pull_request or PullRequestSpec()).branch if proposes(target, options) else ""
    return (options.git.own_branch or proposed).replace(CLUSTER_PLACEHOLDER, cluster)


def proposes(target: TargetSpec, options: RunOptions) -> bool:
    """Whether a run keeps a pull request for a target."""
    wanted = options.git
    asked = target.pull_request is not None if wanted.pull_request is None else wanted.pull_request
    return asked and wanted.push is not False


def git_place(target: TargetSpec, specs: Sequence[ClusterSpec], options: RunOptions) -> GitPlace:
    wanted, clone = options.git, options.git.clone
    proposed = proposes(target, options)
    cloned = clone is not None and Path(os.path.normpath(target.path)).is_relative_to(clone.root)
    return GitPlace(
        folder=target.path,
        branch=target.branch,
        own_branch=own_branch(target, specs[0].name, options),
        proposes=proposed,
        remote=CLONE_REMOTE if cloned else target.remote,
        # Unpushed commits would be deleted with the clone.
        push=cloned or proposed or (target.push if wanted.push is None else wanted.push),
        clusters=tuple(spec.name for spec in specs),
        plaintext_secrets=options.plaintext_secrets,
        sign=target.sign if wanted.sign is None else wanted.sign,
        token=wanted.token,
        cloned=cloned,
    )


def folder_of(spec: ClusterSpec) -> TargetSpec:
    if not isinstance(spec.target, TargetSpec):
        raise target_error(
            Code.NO_TARGET, "no target is configured", about=f"cluster {spec.name}", fix="Name one with --to"
        )
    return spec.target
