"""What may be done to a git target while it is locked: catch up, commit, publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import PurePosixPath

from osm_gitops import __version__
from osm_gitops.errors import Code, Problem, TargetError, UnsafePlanError
from osm_gitops.git.remote import PushOutcome
from osm_gitops.git.repository import Repository
from osm_gitops.model.live import Delivery
from osm_gitops.model.plan import Advance, ClusterPlan, unwatched
from osm_gitops.report.mask import Masker
from osm_gitops.targets.commits import GitPlace, commit_message
from osm_gitops.targets.current import refuse_links
from osm_gitops.targets.file_encryption import FileEncryption
from osm_gitops.targets.files import (
    FileChanges,
    drop_staged,
    named_files,
    no_step,
    owned_path,
    place_files,
    remove_temporary,
    stage_files,
)
from osm_gitops.targets.folder import FolderTarget
from osm_gitops.targets.journal import JournaledFiles
from osm_gitops.targets.own_branch import Upstream
from osm_gitops.targets.plaintext import refuse_plaintext


class GitSession(FolderTarget):
    """One folder in a git work tree that this run alone works on. ``root`` is that folder."""

    def __init__(
        self,
        place: GitPlace,
        repository: Repository,
        files: JournaledFiles,
        upstream: Upstream,
        sealing: FileEncryption,
    ) -> None:
        super().__init__(place.folder, sealing)
        self._place = place
        self._repository = repository
        self._files = files
        self._upstream = upstream
        inside = place.folder.absolute().relative_to(repository.root).as_posix()
        self._prefix = "" if inside == "." else f"{inside}/"
        self._made_commits = False
        self._sensitive: frozenset[str] = frozenset()

    @property
    def is_published(self) -> bool:
        """Whether commits go somewhere after they are made: to a remote, or to a branch of their own."""
        return self._place.push or bool(self._place.own_branch)

    @property
    def published_to(self) -> str:
        """Where they go, as ``origin/main``."""
        return self._upstream.name

    @property
    def remark(self) -> str:
        """What the user should know at the end, if anything."""
        return self._upstream.remark

    def catch_up(self) -> None:
        """Bring the work tree to what the remote has now."""
        self._upstream.catch_up()
        self.sealing = self.sealing.anew()

    def deliver(self, plan: ClusterPlan, advance: Advance = unwatched) -> Delivery:
        """Commit the plan's files. Raises UnsafePlanError where a guard refuses the plan, else TargetError."""
        if plan.refusals:
            raise UnsafePlanError(plan.refusals)
        commit = self.commit(plan, advance=advance)
        return Delivery(written=plan.changed_pools if commit else (), left=plan.left, commit=commit or "")

    def commit(
        self, plan: ClusterPlan, *, advance: Advance = unwatched, step: Callable[[str], None] = no_step
    ) -> str | None:
        """Write a plan's files and commit exactly them; the commit's id, or ``None`` if nothing changes.

        ``advance`` counts the files. Where git refuses (a hook, signing), files and branch are as before.
        """
        self._sensitive |= plan.sensitive
        if not self._place.plaintext_secrets:
            refuse_plaintext(self.root, (plan.cluster,), self.sealing)
        refuse_links(self.root, plan.cluster)
        remove_temporary(self.root, plan.cluster)
        refuse_dirty(self._repository, f"{self._prefix}{owned_path(plan.cluster)}")
        changes = self.changes(plan)
        message = commit_message(plan, __version__, self._place.own_branch)
        return self._write(changes, message, advance, step) if changes.paths else None

    def publish(self, *, step: Callable[[str], None] = no_step) -> PushOutcome:
        """Push. ``MOVED``: the remote had newer commits; ours are withdrawn and the work tree
        has caught up, so plan again."""
        with self._masked_errors():
            outcome = self._upstream.publish(made=self._made_commits, step=step)
        if outcome is PushOutcome.MOVED:
            self._made_commits = False
            self.sealing = self.sealing.anew()
        return outcome

    # -- inside --

    def _write(self, changes: FileChanges, message: str, advance: Advance, step: Callable[[str], None]) -> str | None:
        base = self._repository.head()
        before = {path: self._files.content_id(path) for path in map(self._inside, changes.paths)}
        after: dict[str, str | None] = dict.fromkeys(before)
        made = count(1)

        def note_id(path: PurePosixPath, content: bytes) -> None:
            after[self._inside(path)] = self._files.id_of(content)
            advance(next(made), len(changes.write))

        staged = stage_files(self.root, changes, note_id, private=False)
        try:
            step("prepared")
            self._refuse_edited(before)
            self._files.note(after)
        except BaseException:
            drop_staged(staged.ready.values())
            raise
        step("journal")
        try:
            place_files(self.root, staged, step)
            with self._masked_errors():
                commit = self._repository.commit_paths(after, message, base, sign=self._place.sign)
        except BaseException:
            self._files.mend()
            raise
        self._made_commits = self._made_commits or commit is not None
        step("committed")
        self._repository.stage(list(after))
        step("staged")
        self._files.done()
        return commit

    def _refuse_edited(self, before: Mapping[str, str | None]) -> None:
        # To encrypt a fleet takes a while, in which somebody may edit.
        edited = [path for path, content in before.items() if self._files.content_id(path) != content]
        if edited:
            what = f"files that osm-gitops owns were edited during the run: {named_files(edited)}"
            raise TargetError(
                [
                    Problem(
                        Code.OWNED_FILES_EDITED,
                        what,
                        where=str(self._repository.root),
                        fix="Nothing was changed. Run again",
                    )
                ]
            )

    def _inside(self, path: PurePosixPath) -> str:
        return f"{self._prefix}{path}"

    @contextmanager
    def _masked_errors(self) -> Iterator[None]:
        # Hooks that look for secrets like to print what they found.
        try:
            yield
        except TargetError as error:
            masker = Masker(self._sensitive)
            raise type(error)(masker.problem(problem) for problem in error.problems) from None


def refuse_dirty(repository: Repository, path: str) -> None:
    """Refuse to work where a cluster's folder is not as it was committed. Raises TargetError."""
    if unseen := repository.unseen_paths(path):
        what = f"git leaves out files that osm-gitops owns from this work tree: {named_files(unseen)}"
        fix = "Run git sparse-checkout add FOLDER, or git update-index --no-skip-worktree --no-assume-unchanged FILE"
        raise TargetError([Problem(Code.OWNED_FILES_HIDDEN, what, where=str(repository.root), fix=fix)])
    if dirty := repository.changed_paths(path):
        what = f"files that osm-gitops owns have changes that are not committed: {named_files(dirty)}"
        fix = "Commit them, or drop them with git restore or git clean"
        raise TargetError([Problem(Code.OWNED_FILES_EDITED, what, where=str(repository.root), fix=fix)])
