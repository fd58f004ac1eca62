"""The pull request of a run: which forge it is at, what it says, and whether anything is left to propose."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from osm_gitops.config.spec import PullRequestSpec
from osm_gitops.errors import some
from osm_gitops.forge.forge import Proposal, forge_at
from osm_gitops.forge.keeping import Kept, close_pull_request, keep_pull_request
from osm_gitops.forge.place import Place, place_of
from osm_gitops.model.plan import Action, ClusterPlan, Plan
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.report.markdown import Markdown, format_markdown

if TYPE_CHECKING:
    from osm_gitops.forge.forge import Forge
    from osm_gitops.targets.own_branch import OwnBranch

_NAMED: Final = 3
_LONGEST_TITLE: Final = 250
_INTRO: Final = (
    "osm-gitops writes this text anew in each run, and adds commits to this branch while there is something to change. "
    "Commits of others on the branch stop it.\n\n"
)


@dataclass(frozen=True, slots=True)
class PullRequests:
    """The pull request for one branch at the forge of its remote."""

    branch: OwnBranch
    spec: PullRequestSpec
    place: Place
    options: RunOptions

    @classmethod
    def of(cls, branch: OwnBranch, spec: PullRequestSpec, options: RunOptions) -> PullRequests:
        """Raises OsmGitopsError if the forge is unknown, or there is no token: before anything is planned or pushed."""
        forge = options.git.forge
        place = place_of(branch.address(), forge.kind, forge.api)
        forge.token.read()
        return cls(branch, spec, place, options)

    def keep(self, plans: Sequence[ClusterPlan], *, whole: bool) -> Kept | None:
        """Open or update the pull request; ``None`` if the branch proposes nothing. Raises OsmGitopsError.

        ``plans`` are what the branch changes; unless they are the ``whole`` of it, an existing text stays.
        """
        if self.branch.tip is None or not plans:
            return None
        with closing(self._forge()) as forge:
            text = _INTRO + "".join(
                format_markdown(Plan(tuple(plans)), Markdown(command="plan", max_length=forge.longest - len(_INTRO)))
            )
            proposal = Proposal(
                head=self.branch.branch,
                base=self.branch.start.branch,
                commit=self.branch.tip,
                title=_title(self.spec.title, plans),
                body=text,
                labels=self.spec.labels,
                reviewers=self.spec.reviewers,
                draft=self.spec.draft,
                auto_merge=self.spec.auto_merge,
            )
            return keep_pull_request(forge, proposal, rewrite=whole)

    def close(self) -> Kept | None:
        """Close the open pull request; ``None`` if there is none. Raises OsmGitopsError."""
        with closing(self._forge()) as forge:
            return close_pull_request(forge, self.branch.branch, self.branch.start.branch)

    def _forge(self) -> Forge:
        from osm_gitops.forge.api import Access  # noqa: PLC0415 - slow

        return forge_at(self.place, Access(self.options.git.forge.token.read, self.options.environment))


def _title(wanted: str, plans: Sequence[ClusterPlan]) -> str:
    clusters = sorted(plan.cluster for plan in plans if plan.has_changes) or sorted(plan.cluster for plan in plans)
    if wanted:
        return wanted.replace("{cluster}", some(clusters, _NAMED))[:_LONGEST_TITLE]
    counts = [plan.count() for plan in plans]
    found = {action: sum(each[action] for each in counts) for action in Action if action is not Action.UNCHANGED}
    changes = ", ".join(f"{number} to {action.value}" for action, number in found.items() if number)
    return f"osm-gitops: {some(clusters, _NAMED)}: {changes or 'layout of the folder'}"[:_LONGEST_TITLE]
