"""Publish commits: to the remote branch of the checked out branch, or to a separate branch for a pull request.

Each commit on a separate branch names the branch in a trailer. A branch with other commits is not ours and is not
changed. A run adds its commits to a branch that is not merged yet. It starts the branch again from the base branch
only if the base branch has changed in the same folder. A branch that has nothing left to propose is deleted if the run
keeps its pull request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from osm_gitops.errors import Code, TargetError, target_error
from osm_gitops.git.address import Address
from osm_gitops.git.remote import PushOutcome, RefusedPushError, Remote
from osm_gitops.git.repository import Repository
from osm_gitops.targets.commits import BRANCH_TRAILER, CLUSTER_TRAILER, GitPlace, JournaledFiles

Step = Callable[[str], None]


class Upstream(Protocol):
    """A branch that receives commits, and how the work tree follows it."""

    @property
    def name(self) -> str:
        """As ``origin/main``."""

    @property
    def remark(self) -> str:
        """A note for the user at the end of the run, or an empty text."""

    def catch_up(self) -> None:
        """Update the work tree from the remote."""

    def resume(self) -> None:
        """Take up the work tree again, which other sessions of the run may have used."""

    def publish(self, *, made: bool, step: Step) -> PushOutcome:
        """Push. ``made``: this run made commits. After ``MOVED`` plan again."""


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
        """Fetch and fast-forward to the remote's branch. Unpushed commits of osm-gitops are dropped."""
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

    def resume(self) -> None:
        """Nothing to do: all sessions continue on the same branch."""

    def publish(self, *, made: bool, step: Step) -> PushOutcome:
        """Push the branch if it has unpushed commits of osm-gitops. ``MOVED``: the branch has been updated."""
        head, seen = self._repository.head(), self._remote.seen(self._branch)
        if head is None or not (made or self._waits(seen, head)):
            return PushOutcome.KEPT
        outcome = PushOutcome.MOVED
        # --force-with-lease alone would drop commits of the remote that our branch does not have.
        if seen is None or self._history.contains(head, seen):
            step("pushing")
            outcome = self._push(seen, head)
            step("pushed")
        if outcome is PushOutcome.MOVED:
            self.catch_up()
        return outcome

    def _push(self, seen: str | None, head: str) -> PushOutcome:
        try:
            return self._remote.push(self._branch, head, expected=seen)
        except RefusedPushError as refusal:
            raise with_fate(refusal, self._take_back(seen, head)) from None
        except TargetError as failure:
            raise with_fate(failure, self._fate_of_unpushed()) from None

    def _waits(self, seen: str | None, head: str) -> bool:
        """Whether an earlier run made commits that it did not push."""
        if seen is None:
            return bool(self._history.mark(head, CLUSTER_TRAILER))
        ahead = not self._history.contains(seen, head)
        return ahead and not self._history.foreign_commits(seen, head, CLUSTER_TRAILER)

    def _withdraw(self, base: str | None, new: str, dropped: str | None) -> None:
        """Withdraw unpushed commits if osm-gitops made all of them."""
        if base is None or self._history.foreign_commits(new, "HEAD", CLUSTER_TRAILER):
            if dropped is not None:
                # The next run must report the same, until a user has resolved it.
                self._remote.remember(self._branch, dropped)
                raise self._rewritten(dropped)
            raise target_error(
                Code.BRANCHES_DIVERGED,
                f"the branch and {self.name} have diverged, and not all commits are from osm-gitops",
                where=str(self._repository.root),
                fix="No file was changed. Merge or rebase, then run again",
            )
        self._files.withdraw(base)

    def _take_back(self, seen: str | None, head: str) -> str:
        """Withdraw the commits after a refused push: the next run makes them again, with other content."""
        top = self._history.own_top(seen, head, CLUSTER_TRAILER) if seen else ()
        if top:
            self._files.withdraw(f"{top[-1]}^")
        return (
            f"{'The commit was withdrawn: local branch' if top else 'Local branch'} and files are unchanged. "
            f"{_ask(self._branch)}, then run again"
        )

    def _fate_of_unpushed(self) -> str:
        return f"The commit stays on local branch {self._branch}, and the next run with --push pushes it"

    def _deleted(self) -> TargetError:
        return target_error(
            Code.REMOTE_BRANCH_DELETED,
            f"branch {self._branch} was deleted from {self._remote.name}",
            where=str(self._repository.root),
            fix=f"To keep it, push it yourself (git push {self._remote.name} {self._branch}). "
            "Otherwise switch to the branch that replaces it. No local file was changed",
        )

    def _rewritten(self, dropped: str) -> TargetError:
        return target_error(
            Code.REMOTE_BRANCH_REWRITTEN,
            f"{self.name} was rewritten: commit {dropped[:12]} was removed from it, "
            f"and local branch {self._branch} still contains it",
            where=str(self._repository.root),
            fix=f"No file was changed. Run git fetch, check git log {self.name}..{self._branch}, then run "
            f"git reset --keep {self.name}, or push the old commits again yourself",
        )


class ClonedBranch(CheckedOutBranch):
    """The branch of a clone that was made for this run: it contains no work of a user."""

    def __init__(self, repository: Repository, files: JournaledFiles, remote: Remote, branch: str) -> None:
        super().__init__(repository, files, remote, branch)
        self._fresh = True

    def catch_up(self) -> None:
        """Reset the clone to the remote's branch."""
        if self._fresh:  # just cloned
            self._fresh = False
            return
        if self._remote.fetch(self._branch, depth=1 if self._repository.is_shallow() else None) is None:
            raise self._deleted()
        self._repository.reset_to(self._remote.ref(self._branch))

    def publish(self, *, made: bool, step: Step) -> PushOutcome:
        self._fresh = False
        return super().publish(made=made, step=step)

    def _take_back(self, seen: str | None, head: str) -> str:
        del seen, head
        return f"Nothing was changed. {_ask(self._branch)}, then run again"

    def _fate_of_unpushed(self) -> str:
        return "The commit was in a temporary clone, which is gone. The next run makes it again"


def _ask(branch: str) -> str:
    return f"Ask those who protect {branch} for access (or use --branch NAME if pushes to it are not allowed)"


def require_remote(remote: Remote, repository: Repository) -> None:
    """Raise TargetError for a remote that the repository does not have."""
    if not remote.exists():
        raise target_error(
            Code.REMOTE_NOT_FOUND,
            f'there is no remote "{remote.name}"',
            where=str(repository.root),
            fix=f"Add it with git remote add {remote.name} ADDRESS, or omit --push",
        )


def with_fate(failure: TargetError, fate: str) -> TargetError:
    """The error, with what happened to the commit added to each next step."""
    problems = [
        replace(problem, fix=f"{problem.fix.rstrip('.')}. {fate}" if problem.fix else fate)
        for problem in failure.problems
    ]
    return type(failure)(problems)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a separate branch starts: a branch, and its commit."""

    branch: str
    commit: str


class OwnBranch:
    """The branch ``place.own_branch``, which begins at ``start``. ``work`` is its temporary work tree.

    ``remote`` belongs to the repository, not to ``work``: its address may be a relative path.
    """

    def __init__(self, place: GitPlace, work: Repository, remote: Remote, start: Start, folder: str) -> None:
        self.remark = ""
        self.start = start
        self.branch = place.own_branch
        self.tip: str | None = None
        """The newest commit that the branch proposes, if there is any."""
        self._pushes = place.push
        self._deletes = place.proposes
        self._work = work
        self._history = work.history
        self._remote = remote
        self._folder = folder
        self._known: tuple[str, ...] = ()
        self._existing: str | None = None
        self._remote.refuse_options(self.branch)

    @property
    def name(self) -> str:
        return f"{self._remote.name}/{self.branch}" if self._pushes else self.branch

    @property
    def exists(self) -> bool:
        """Whether the branch existed at the last look."""
        return self._existing is not None

    @property
    def proposed(self) -> frozenset[str]:
        """The clusters whose commits the branch has beyond its base."""
        marks = self._history.marks(self._existing, self._known, CLUSTER_TRAILER) if self._existing else ()
        return frozenset(cluster for _, clusters in marks for cluster in clusters.split())

    def address(self) -> Address:
        """The address that the branch is pushed to. Raises TargetError."""
        require_remote(self._remote, self._work)
        return self._remote.address()

    def catch_up(self) -> None:
        """Reset the work tree to the branch, or to the commit where the branch starts again."""
        known = [self.start.commit]
        if self._pushes:
            require_remote(self._remote, self._work)
            known.append(self._refuse_unpushed_base())
            self._existing = self._remote.fetch(self.branch, depth=1 if self._work.is_shallow() else None)
        else:
            self._refuse_checked_out()
            self._existing = self._work.revision(f"refs/heads/{self.branch}")
        self._known = tuple(known)
        goes_on = self._existing is not None and self._can_go_on(self._existing, known)
        self.tip = self._existing if goes_on else None
        self._work.reset_to(self.tip or self.start.commit)

    def resume(self) -> None:
        """Reset the work tree to the branch again, if another branch of the run has used it."""
        at = self.tip or self.start.commit
        if self._work.head() != at:
            self._work.reset_to(at)

    def withdraw(self, *, step: Step) -> PushOutcome:
        """Delete the branch at the remote: it has nothing left to propose. ``MOVED``: another run changed it first."""
        if self._existing is None:
            return PushOutcome.KEPT
        step("pushing")
        try:
            outcome = self._remote.push(self.branch, None, expected=self._existing)
        except TargetError as failure:
            if self._remote.fetch(self.branch) is not None:
                raise with_fate(failure, "Nothing was changed. The next run deletes the branch") from None
            outcome = PushOutcome.PUSHED  # somebody else has deleted it
        step("pushed")
        if outcome is PushOutcome.MOVED:
            self.catch_up()
        else:
            self._existing = self.tip = None
        return outcome

    def publish(self, *, made: bool, step: Step) -> PushOutcome:
        """Push the branch, or store it locally. ``MOVED``: another run changed it first."""
        head = self._work.head() or ""
        if not made:
            self._remark_leftover(head)
            return PushOutcome.KEPT
        step("pushing")
        if not self._pushes:
            self._work.set_branch(self.branch, head, self._existing)
            self.remark = f"the commits are on branch {self.branch}; {self.start.branch} is unchanged"
            return PushOutcome.KEPT
        try:
            outcome = self._remote.push(self.branch, head, expected=self._existing)
        except RefusedPushError as refusal:
            fate = f"Nothing was changed. Ask those who protect {self.branch} for access, then run again"
            raise with_fate(refusal, fate) from None
        except TargetError as failure:
            raise with_fate(failure, "Nothing was changed. The next run makes the commit again") from None
        step("pushed")
        if outcome is PushOutcome.MOVED:
            self.catch_up()
        else:
            self._existing = self.tip = head
        return outcome

    def _can_go_on(self, existing: str, known: list[str]) -> bool:
        """Whether commits can be added to the branch. Raises TargetError if the branch is not ours."""
        shared = self._shared_with(existing)
        marks = self._history.marks(existing, known, BRANCH_TRAILER)
        foreign = [commit for commit, mark in marks if mark != self.branch]
        if foreign or shared is None or self._history.mark(existing, BRANCH_TRAILER) != self.branch:
            raise self._not_ours((foreign or [existing])[0])
        merged = not marks
        untouched = self._work.tree_at(shared, self._folder) == self._work.tree_at(self.start.commit, self._folder)
        return not merged and untouched

    def _shared_with(self, existing: str) -> str | None:
        if not self._pushes:
            return self._history.merge_base(existing, self.start.commit)
        return self._remote.deepen((self.branch, self.start.branch), existing, self.start.commit)

    def _refuse_unpushed_base(self) -> str:
        """The remote's commit of the base branch. Raises TargetError if it lacks local commits."""
        there = self._remote.fetch(self.start.branch, depth=1 if self._work.is_shallow() else None)
        if there is None or self._remote.deepen((self.start.branch,), self.start.commit, there) != self.start.commit:
            raise target_error(
                Code.BASE_NOT_PUSHED,
                f"{self.start.branch} here has commits that {self._remote.name}/{self.start.branch} does not have",
                where=str(self._work.root),
                fix=f"They would be pushed with {self.branch}. Push them first, or omit --push",
            )
        return there

    def _refuse_checked_out(self) -> None:
        if self.branch in self._work.checked_out_branches():
            raise target_error(
                Code.BRANCH_CHECKED_OUT,
                f"branch {self.branch} is checked out, so it cannot be changed",
                where=str(self._work.root),
                fix="Switch to the base branch",
            )

    def _remark_leftover(self, head: str) -> None:
        leftover = self._existing is not None and head == self.start.commit != self._existing
        if leftover and not self._deletes and not self._history.contains(self.start.commit, self._existing or ""):
            self.remark = f"{self.start.branch} has what {self.name} proposed: that branch can be deleted"

    def _not_ours(self, commit: str) -> TargetError:
        return target_error(
            Code.BRANCH_OF_OTHERS,
            f"{self.name} holds commits that osm-gitops did not make for it, such as {commit[:12]}",
            where=str(self._work.root),
            fix="Nothing was changed. Merge that branch, or move these commits to another one and delete it; "
            "or use another name with --branch",
        )
