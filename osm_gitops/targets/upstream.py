"""Where commits go after they are made: the remote branch of what is checked out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.remote import PushOutcome, RefusedPushError, Remote
from osm_gitops.git.repository import Repository
from osm_gitops.targets.journal import JournaledFiles
from osm_gitops.targets.message import CLUSTER_TRAILER

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
