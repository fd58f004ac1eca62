"""Where commits go after they are made: the remote branch of what is checked out, or a branch that is all ours, for a
pull request, made from what is checked out, which stays as it is.

Each commit on such a branch bears the branch's name in a trailer, so a branch is known to be ours by its commits. One
that holds any other commit is left alone. What it proposes already is not proposed anew: the next run adds to it. Only
where what it was made from has changed in the same folder it is made anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.remote import PushOutcome, RefusedPushError, Remote
from osm_gitops.git.repository import Repository
from osm_gitops.targets.commits import BRANCH_TRAILER, CLUSTER_TRAILER, GitPlace
from osm_gitops.targets.journal import JournaledFiles

Step = Callable[[str], None]


class Upstream(Protocol):
    """A remote branch, and how the work tree follows it."""

    @property
    def name(self) -> str:
        """As ``origin/main``."""

    @property
    def remark(self) -> str:
        """What the user should know at the end, if anything."""

    def catch_up(self) -> None:
        """Bring the work tree to what the remote has now."""

    def publish(self, *, made: bool, step: Step) -> PushOutcome:
        """Push; ``made`` says whether this run made commits. After ``MOVED`` plan again."""


class CheckedOutBranch:
    """The branch that the user has checked out."""

    remark = ""

    def __init__(self, repository: Repository, files: JournaledFiles, remote: Remote, branch: str) -> None:
        self._repository = repository
        self._history = repository.history
        self._files = files
        self._remote = remote
        self._branch = branch

    @property
    def name(self) -> str:
        return f"{self._remote.name}/{self._branch}"

    def catch_up(self) -> None:
        """Fetch, and move the branch forward to the remote's; commits of ours that were never pushed go."""
        require_remote(self._remote, self._repository)
        old = self._remote.seen(self._branch)
        new = self._remote.fetch(self._branch)
        head = self._repository.head()
        if new is None:
            if old is not None:
                raise self._deleted()
            return
        if head is not None:
            dropped = old is not None and self._remote.deepen((self._branch,), old, new) != old
            base = self._remote.deepen((self._branch,), head, new)
            divergence = self._history.divergence(new)
            if not divergence.behind and not dropped:
                return
            if divergence.ahead:
                self._withdraw(base, new, old if dropped else None)
        self._repository.fast_forward(self._remote.ref(self._branch))

    def publish(self, *, made: bool, step: Step) -> PushOutcome:
        """Push the branch if something of ours waits there. ``MOVED``: the branch has caught up."""
        head, seen = self._repository.head(), self._remote.seen(self._branch)
        if head is None or not (made or self._waits(seen, head)):
            return PushOutcome.KEPT
        outcome = PushOutcome.MOVED
        # A lease alone would let the remote lose commits that are not in ours.
        if seen is None or self._history.contains(head, seen):
            step("pushing")
            outcome = self._push(seen, head)
            step("pushed")
        if outcome is PushOutcome.MOVED:
            self.catch_up()
        return outcome

    # -- inside --

    def _push(self, seen: str | None, head: str) -> PushOutcome:
        try:
            return self._remote.push(self._branch, head, expected=seen)
        except RefusedPushError as refusal:
            raise with_fate(refusal, self._take_back(seen, head)) from None
        except TargetError as failure:
            raise with_fate(failure, self._fate_of_unpushed()) from None

    def _waits(self, seen: str | None, head: str) -> bool:
        """Whether a run before this one made commits and did not get to push them."""
        if seen is None:
            return bool(self._history.mark(head, CLUSTER_TRAILER))
        ahead = not self._history.contains(seen, head)
        return ahead and not self._history.foreign_commits(seen, head, CLUSTER_TRAILER)

    def _withdraw(self, base: str | None, new: str, dropped: str | None) -> None:
        """Take back commits that were never pushed, if all of them are ours."""
        if base is None or self._history.foreign_commits(new, "HEAD", CLUSTER_TRAILER):
            if dropped is not None:
                # The next run must see the same, until somebody has looked at it.
                self._remote.remember(self._branch, dropped)
                raise self._rewritten(dropped)
            raise TargetError(
                [
                    Problem(
                        Code.BRANCHES_DIVERGED,
                        f"the branch and {self.name} have diverged by commits of others",
                        where=str(self._repository.root),
                        fix="Nothing was changed. Merge or rebase them, then run again",
                    )
                ]
            )
        self._files.withdraw(base)

    def _take_back(self, seen: str | None, head: str) -> str:
        """After a refusal: commits of ours would be in the way of the next try, with other content."""
        top = self._history.own_top(seen, head, CLUSTER_TRAILER) if seen else ()
        if top:
            self._files.withdraw(f"{top[-1]}^")
        return (
            f"{'The commit was taken back: branch' if top else 'Branch'} and files here are as before. Settle it "
            f"with those who guard {self._branch} (where nobody may push to it, use --branch NAME), then run again"
        )

    def _fate_of_unpushed(self) -> str:
        return f"The commit stays on {self._branch} here, and the next run with --push pushes it"

    def _deleted(self) -> TargetError:
        return TargetError(
            [
                Problem(
                    Code.REMOTE_BRANCH_DELETED,
                    f"{self._remote.name} has no branch {self._branch} any more: it was deleted there",
                    where=str(self._repository.root),
                    fix=f"If it is to live, push it yourself (git push {self._remote.name} {self._branch}); "
                    "else switch to the branch that took its place. Nothing was lost here",
                )
            ]
        )

    def _rewritten(self, dropped: str) -> TargetError:
        return TargetError(
            [
                Problem(
                    Code.REMOTE_BRANCH_REWRITTEN,
                    f"{self.name} was rewritten: commit {dropped[:12]} was taken out of it, "
                    f"and {self._branch} here still builds on it",
                    where=str(self._repository.root),
                    fix=f"Nothing was changed. Run git fetch, look at git log {self.name}..{self._branch}, and go on "
                    f"with git reset --keep {self.name}, or push the old commits again yourself",
                )
            ]
        )


class ClonedBranch(CheckedOutBranch):
    """The branch of a clone that was made for this run: nothing in it is anybody's work."""

    def __init__(self, repository: Repository, files: JournaledFiles, remote: Remote, branch: str) -> None:
        super().__init__(repository, files, remote, branch)
        self._fresh = True

    def catch_up(self) -> None:
        """Set the clone to what the remote has now."""
        if self._fresh:  # it was cloned a moment ago
            self._fresh = False
            return
        if self._remote.fetch(self._branch, depth=1) is None:
            raise self._deleted()
        self._repository.reset_to(self._remote.ref(self._branch))

    def publish(self, *, made: bool, step: Step) -> PushOutcome:
        self._fresh = False
        return super().publish(made=made, step=step)

    def _take_back(self, seen: str | None, head: str) -> str:
        del seen, head
        return (
            f"Nothing was changed. Settle it with those who guard {self._branch} (where nobody may push to it, "
            "use --branch NAME), then run again"
        )

    def _fate_of_unpushed(self) -> str:
        return "The commit went with its temporary clone, and the next run makes it again"


def require_remote(remote: Remote, repository: Repository) -> None:
    """Refuse a remote that the repository does not know."""
    if not remote.exists():
        raise TargetError(
            [
                Problem(
                    Code.REMOTE_NOT_FOUND,
                    f'there is no remote "{remote.name}"',
                    where=str(repository.root),
                    fix=f"Add it with git remote add {remote.name} ADDRESS, or leave --push away",
                )
            ]
        )


def with_fate(failure: TargetError, fate: str) -> TargetError:
    """The error, with what became of the commit and how to go on."""
    problems = [
        replace(problem, fix=f"{problem.fix.rstrip('.')}. {fate}" if problem.fix else fate)
        for problem in failure.problems
    ]
    return type(failure)(problems)


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
