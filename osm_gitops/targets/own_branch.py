"""A branch that is all ours, for a pull request: made from what is checked out, which stays as it is.

Each commit on it bears the branch's name in a trailer, so a branch is known to be ours by its commits.
One that holds any other commit is left alone. What it proposes already is not proposed anew: the next
run adds to it. Only where what it was made from has changed in the same folder it is made anew.
"""

from __future__ import annotations

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.remote import PushOutcome, RefusedPushError, Remote
from osm_gitops.git.repository import Repository
from osm_gitops.targets.message import BRANCH_TRAILER
from osm_gitops.targets.place import GitPlace
from osm_gitops.targets.upstream import Step, require_remote, with_fate

_GONE_WITH_WORK_TREE = "Nothing was changed. The next run makes the commit again"


class OwnBranch:
    """The branch ``place.own_branch``. ``work`` is a work tree of its own, ``base`` the branch that it starts from.

    ``remote`` is seen from the repository itself: an address that is a path may start there.
    """

    def __init__(self, place: GitPlace, work: Repository, remote: Remote, base: str, folder: str) -> None:
        self.remark = ""
        self._name = place.own_branch
        self._pushes = place.push
        self._work = work
        self._history = work.history
        self._remote = remote
        self._base = base
        self._folder = folder
        self._from = work.head() or ""
        self._existing: str | None = None
        self._remote.refuse_options(self._name)

    @property
    def name(self) -> str:
        return f"{self._remote.name}/{self._name}" if self._pushes else self._name

    def catch_up(self) -> None:
        """Go to where the branch is now, or to where it is to start anew."""
        known = [self._from]
        if self._pushes:
            require_remote(self._remote, self._work)
            known.append(self._refuse_unpushed_base())
            self._existing = self._remote.fetch(self._name, depth=1 if self._work.is_shallow() else None)
        else:
            self._refuse_checked_out()
            self._existing = self._work.revision(f"refs/heads/{self._name}")
        goes_on = self._existing is not None and self._can_go_on(self._existing, known)
        self._work.reset_to(self._existing if goes_on and self._existing else self._from)

    def publish(self, *, made: bool, step: Step) -> PushOutcome:
        """Push the branch, or keep it here; ``MOVED``: another run was faster."""
        head = self._work.head() or ""
        if not made:
            self._remark_leftover(head)
            return PushOutcome.KEPT
        step("pushing")
        if not self._pushes:
            self._work.set_branch(self._name, head, self._existing)
            self.remark = f"the commits are on branch {self._name}; {self._base} is as before"
            return PushOutcome.KEPT
        try:
            outcome = self._remote.push(self._name, head, expected=self._existing)
        except RefusedPushError as refusal:
            fate = f"Nothing was changed. Settle it with those who guard {self._name}, then run again"
            raise with_fate(refusal, fate) from None
        except TargetError as failure:
            raise with_fate(failure, _GONE_WITH_WORK_TREE) from None
        step("pushed")
        if outcome is PushOutcome.MOVED:
            self.catch_up()
        return outcome

    # -- inside --

    def _can_go_on(self, existing: str, known: list[str]) -> bool:
        """Whether more commits can be added to the branch; refuses one that is not ours."""
        shared = self._shared_with(existing)
        marks = self._history.marks(existing, known, BRANCH_TRAILER)
        foreign = [commit for commit, mark in marks if mark != self._name]
        if foreign or shared is None or self._history.mark(existing, BRANCH_TRAILER) != self._name:
            raise self._not_ours((foreign or [existing])[0])
        merged = not marks
        untouched = self._work.tree_at(shared, self._folder) == self._work.tree_at(self._from, self._folder)
        return not merged and untouched

    def _shared_with(self, existing: str) -> str | None:
        if not self._pushes:
            return self._history.merge_base(existing, self._from)
        return self._remote.deepen((self._name, self._base), existing, self._from)

    def _refuse_unpushed_base(self) -> str:
        """The remote's commit of the branch that ours starts from, which must hold all that is here."""
        there = self._remote.fetch(self._base, depth=1 if self._work.is_shallow() else None)
        if there is None or self._remote.deepen((self._base,), self._from, there) != self._from:
            raise TargetError(
                [
                    Problem(
                        Code.BASE_NOT_PUSHED,
                        f"{self._base} here has commits that {self._remote.name}/{self._base} does not have",
                        where=str(self._work.root),
                        fix=f"They would be pushed with {self._name}. Push them first, or leave --push away",
                    )
                ]
            )
        return there

    def _refuse_checked_out(self) -> None:
        if self._name in self._work.checked_out_branches():
            raise TargetError(
                [
                    Problem(
                        Code.BRANCH_CHECKED_OUT,
                        f"branch {self._name} is checked out, so it cannot be changed",
                        where=str(self._work.root),
                        fix="Switch to the branch that the commits are for",
                    )
                ]
            )

    def _remark_leftover(self, head: str) -> None:
        leftover = self._existing is not None and head == self._from != self._existing
        if leftover and not self._history.contains(self._from, self._existing or ""):
            self.remark = f"{self._base} has what {self.name} proposed: that branch can be deleted"

    def _not_ours(self, commit: str) -> TargetError:
        return TargetError(
            [
                Problem(
                    Code.BRANCH_OF_OTHERS,
                    f"{self.name} holds commits that osm-gitops did not make for it, such as {commit[:12]}",
                    where=str(self._work.root),
                    fix="Nothing was changed. Give --branch a name of its own, or delete that branch if it may go",
                )
            ]
        )
