"""A folder in a git work tree as a target: one commit per cluster, all of it or none.

git itself commits the work tree's files, so the user's hooks and signing apply. The journal
(:mod:`osm_gitops.targets.commits`) protects against interrupted runs. Pushing is a compare-and-swap
(:mod:`osm_gitops.targets.own_branch`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath

from osm_gitops import __version__
from osm_gitops.errors import Code, OsmGitopsError, Problem, TargetError, UnsafePlanError, target_error
from osm_gitops.git.process import refuse_astray
from osm_gitops.git.remote import PushOutcome, Remote
from osm_gitops.git.repository import Repository, find_work_tree, second_work_tree
from osm_gitops.git.status import WorkTreeStatus
from osm_gitops.model.live import Delivery
from osm_gitops.model.plan import Advance, ClusterPlan, unwatched
from osm_gitops.report.mask import Masker
from osm_gitops.targets.commits import GitPlace, JournaledFiles, alone, commit_message
from osm_gitops.targets.current import refuse_links
from osm_gitops.targets.file_encryption import FileEncryption, Origin, is_encrypted_text, lacks_seal, repeats_recipients
from osm_gitops.targets.files import (
    FileChanges,
    drop_staged,
    named_files,
    no_step,
    owned_path,
    place_files,
    read_file,
    remove_temporary,
    stage_files,
)
from osm_gitops.targets.folder import FolderTarget, refuse_plaintext
from osm_gitops.targets.own_branch import CheckedOutBranch, ClonedBranch, OwnBranch, Start, Upstream, require_remote


class HeldTrees:
    """The work trees that a run has locked, each with the branches that its sessions commit to (empty: the one that is
    checked out). Separate branches of a repository share one temporary work tree."""

    def __init__(self) -> None:
        self._branches: dict[Path, list[str]] = {}
        self._temporary: dict[Path, Repository] = {}

    @contextmanager
    def locked(self, repository: Repository, branch: str) -> Iterator[None]:
        """Lock the work tree for a session. Raises TargetError if the run commits to such a branch there already."""
        root = repository.root
        others = self._branches.get(root)
        if others is None:
            with alone(repository.own_folder() / "lock", root):
                self._branches[root] = [branch]
                try:
                    yield
                finally:
                    del self._branches[root]
            return
        if (branch or any(others)) and (not branch or branch in others or "" in others):
            raise target_error(
                Code.BRANCH_FOR_SEVERAL,
                "a branch for pull requests takes the commits for one folder of a repository, not for several",
                where=str(root),
                fix="Write {cluster} into the branch's name, so that each cluster has its own",
            )
        others.append(branch)
        try:
            yield
        finally:
            others.remove(branch)

    @contextmanager
    def temporary(self, repository: Repository, commit: str) -> Iterator[Repository]:
        """The temporary work tree for separate branches of a repository."""
        there = self._temporary.get(repository.root)
        if there is not None:
            yield there
            return
        with second_work_tree(repository, commit) as made:
            self._temporary[repository.root] = made
            try:
                yield made
            finally:
                del self._temporary[repository.root]


@contextmanager
def git_session(place: GitPlace, encryption: FileEncryption, held: HeldTrees | None = None) -> Iterator[GitSession]:
    """Lock and check a git target, and repair what an interrupted run left.

    Make the plan inside the session. ``held`` are the work trees that this run has already locked, for a fleet with
    several folders in one repository; the session adds its own. Raises TargetError.
    """
    place = replace(place, folder=Path(os.path.normpath(place.folder.absolute())))
    root = work_tree_of(place.folder)
    refuse_astray(root)
    repository = Repository(root)
    held = HeldTrees() if held is None else held
    with held.locked(repository, place.own_branch), ExitStack() as opened:
        files = JournaledFiles(repository)
        files.mend()
        branch = checked_branch(repository, place)
        if place.own_branch:
            session = opened.enter_context(_on_own_branch(place, repository, branch, encryption, held))
        else:
            remote = Remote(repository, place.remote, place.token)
            upstream = (ClonedBranch if place.cloned else CheckedOutBranch)(repository, files, remote, branch)
            session = GitSession(place, files, upstream, encryption)
        refuse_linked_folder(session.root, find_work_tree(session.root) or root)
        for cluster in place.clusters:
            remove_temporary(session.root, cluster)
        if not place.plaintext_secrets:
            refuse_plaintext(session.root, place.clusters, session.encryption)
        yield session


@contextmanager
def _on_own_branch(
    place: GitPlace, repository: Repository, base: str, encryption: FileEncryption, held: HeldTrees
) -> Iterator[GitSession]:
    """A session in a temporary work tree, so that the checked out files do not change."""
    commit = repository.head()
    if commit is None:
        fix = "Make a first commit for the branch to start from"
        raise target_error(Code.NO_COMMIT_YET, "there is no commit yet", where=str(repository.root), fix=fix)
    inside = place.folder.relative_to(repository.root)
    if place.proposes:  # which compares with the files that are checked out
        refuse_dirty(repository, *((inside / owned_path(cluster)).as_posix() for cluster in place.clusters))
    with held.temporary(repository, commit) as work:
        remote = Remote(repository, place.remote, place.token)
        upstream = OwnBranch(place, work, remote, Start(base, commit), inside.as_posix())
        checked_out, place = place.folder, replace(place, folder=work.root / inside)
        yield GitSession(place, JournaledFiles(work), upstream, encryption.reloaded(work.root), checked_out)


def work_tree_of(folder: Path) -> Path:
    """The work tree that contains a target. Raises TargetError if there is none."""
    root = find_work_tree(folder)
    if root is None:
        raise target_error(
            Code.NO_WORK_TREE, "is not in a git work tree", where=str(folder), fix="Run git init, or use render --to"
        )
    return root


def refuse_linked_folder(folder: Path, root: Path) -> None:
    """Raise TargetError if a symbolic link inside of the work tree is part of the path."""
    for part in (folder, *folder.parents):
        if part == root:
            return
        if part.is_symlink():
            raise target_error(Code.TARGET_SYMLINK, "is a symbolic link", where=str(part), fix="Name the folder itself")


def checked_branch(repository: Repository | WorkTreeStatus, place: GitPlace) -> str:
    """The branch that is checked out. Refuses a detached HEAD, a different branch, and an unfinished merge."""
    branch, wanted = repository.branch(), place.branch
    how = "Give --ref {}" if place.cloned else "Run git switch {}"
    problem = None
    if branch is None:
        problem = Problem(Code.WRONG_BRANCH, "HEAD is detached", fix=how.format(wanted or "BRANCH"))
    elif wanted and branch != wanted:
        problem = Problem(
            Code.WRONG_BRANCH, f'branch "{branch}" is checked out, not "{wanted}"', fix=how.format(wanted)
        )
    elif unfinished := repository.operation_in_progress():
        problem = Problem(
            Code.GIT_OPERATION_UNFINISHED, f"a git operation is unfinished ({unfinished})", fix="Finish it first"
        )
    if problem is not None:
        raise TargetError([problem.at(where=str(repository.root))])
    assert branch is not None
    return branch


class GitSession(FolderTarget):
    """One folder in a git work tree that this run has locked. ``root`` is that folder."""

    def __init__(
        self,
        place: GitPlace,
        files: JournaledFiles,
        upstream: Upstream,
        encryption: FileEncryption,
        base: Path | None = None,
    ) -> None:
        super().__init__(place.folder, encryption)
        self._place = place
        self._repository = files.repository
        self._files = files
        self._upstream = upstream
        self._base = base
        inside = place.folder.absolute().relative_to(self._repository.root).as_posix()
        self._prefix = "" if inside == "." else f"{inside}/"
        self._made_commits = False
        self._sensitive: frozenset[str] = frozenset()

    @property
    def is_published(self) -> bool:
        """Whether commits are published: pushed to a remote, or stored on a separate branch."""
        return self._place.push or bool(self._place.own_branch)

    @property
    def published_to(self) -> str:
        """The branch that receives the commits, as ``origin/main``."""
        return self._upstream.name

    @property
    def remark(self) -> str:
        """A note for the user at the end of the run, or an empty text."""
        return self._upstream.remark

    @property
    def proposal(self) -> OwnBranch | None:
        """The branch of the pull request that the run keeps, if it keeps one."""
        return self._upstream if isinstance(self._upstream, OwnBranch) and self._place.proposes else None

    def catch_up(self) -> None:
        """Update the work tree from the remote."""
        self._upstream.catch_up()
        self.encryption = self.encryption.reloaded()

    def resume(self) -> None:
        """Take up the work tree again, which other sessions of the run may have used."""
        self._upstream.resume()

    @property
    def checked_out(self) -> Path | None:
        """The folder with the files that the pull request changes; ``None`` if the run keeps none."""
        if self.proposal is None:
            return None
        return self._base if self.proposal.tip else self.root

    def withdraw(self, *, step: Callable[[str], None] = no_step) -> PushOutcome:
        """Delete the branch of the pull request at the remote."""
        return self.proposal.withdraw(step=step) if self.proposal else PushOutcome.KEPT

    def deliver(self, plan: ClusterPlan, advance: Advance = unwatched) -> Delivery:
        """Commit the plan's files. Raises UnsafePlanError if a guard refuses the plan, and TargetError."""
        commit = self.commit(plan, advance=advance)
        return Delivery(written=plan.changed_pools if commit else (), left=plan.left, commit=commit or "")

    def commit(
        self, plan: ClusterPlan, *, advance: Advance = unwatched, step: Callable[[str], None] = no_step
    ) -> str | None:
        """Write a plan's files and commit only these. Returns the commit's id, or ``None`` if nothing changes.

        ``advance`` counts the files. If git refuses the commit (a hook, signing), files and branch are restored.
        """
        return self._commit([plan], self.ready(plan), advance, step)

    def deliver_together(
        self, ready: Sequence[tuple[ClusterPlan, FileChanges]], advance: Advance = unwatched
    ) -> dict[str, Delivery]:
        """Commit several plans in one commit, each with its changes from :meth:`ready`. Returns the results of clusters
        that change. Raises TargetError; then nothing is committed."""
        changed = [(plan, changes) for plan, changes in ready if changes.paths]
        if not changed:
            return {}
        plans = [plan for plan, _ in changed]
        every = FileChanges(
            write={path: content for _, changes in changed for path, content in changes.write.items()},
            remove=tuple(path for _, changes in changed for path in changes.remove),
            private=frozenset().union(*(changes.private for _, changes in changed)),
        )
        commit = self._commit(plans, every, advance, no_step)
        return {
            plan.cluster: Delivery(written=plan.changed_pools, left=plan.left, commit=commit)
            for plan in plans
            if commit
        }

    def ready(self, plan: ClusterPlan) -> FileChanges:
        """The files that a plan writes and removes, once nothing of the cluster is in their way. Raises UnsafePlanError
        if a guard refuses the plan, and TargetError."""
        if plan.refusals:
            raise UnsafePlanError(plan.refusals)
        self._sensitive |= plan.sensitive
        if not self._place.plaintext_secrets:
            refuse_plaintext(self.root, (plan.cluster,), self.encryption)
        refuse_links(self.root, plan.cluster)
        remove_temporary(self.root, plan.cluster)
        refuse_dirty(self._repository, f"{self._prefix}{owned_path(plan.cluster)}")
        return self.changes(plan)

    def _commit(
        self, plans: Sequence[ClusterPlan], changes: FileChanges, advance: Advance, step: Callable[[str], None]
    ) -> str | None:
        message = commit_message(plans, __version__, self._place.own_branch)
        return self._write(changes, message, advance, step) if changes.paths else None

    def publish(self, *, step: Callable[[str], None] = no_step) -> PushOutcome:
        """Push. ``MOVED``: the remote had newer commits. The work tree now has them, and the commits of this run are
        withdrawn: plan again."""
        with self._masked_errors():
            outcome = self._upstream.publish(made=self._made_commits, step=step)
        if outcome is PushOutcome.MOVED:
            self._made_commits = False
            self.encryption = self.encryption.reloaded()
        return outcome

    def _write(self, changes: FileChanges, message: str, advance: Advance, step: Callable[[str], None]) -> str | None:
        base = self._repository.head()
        before = {path: self._files.content_id(path) for path in map(self._inside, changes.paths)}
        after: dict[str, str | None] = dict.fromkeys(before)
        sealed: set[str] = set()
        made = count(1)

        def note_id(path: PurePosixPath, content: bytes) -> None:
            after[self._inside(path)] = self._files.id_of(content)
            if is_encrypted_text(content):
                sealed.add(self._inside(path))
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
                commit = self._repository.commit_paths(after, message, base, sign=self._place.sign, sealed=sealed)
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
        # Encrypting a fleet takes time, in which a user may edit files.
        edited = [path for path, content in before.items() if self._files.content_id(path) != content]
        if edited:
            what = f"files that osm-gitops owns were edited during the run: {named_files(edited)}"
            raise target_error(
                Code.OWNED_FILES_EDITED, what, where=str(self._repository.root), fix="Nothing was changed. Run again"
            )

    def _inside(self, path: PurePosixPath) -> str:
        return f"{self._prefix}{path}"

    @contextmanager
    def _masked_errors(self) -> Iterator[None]:
        # Hooks that search for secrets print what they find.
        try:
            yield
        except TargetError as error:
            masker = Masker(self._sensitive)
            raise type(error)(masker.problem(problem) for problem in error.problems) from None


def refuse_dirty(repository: Repository | WorkTreeStatus, *paths: str) -> None:
    """Raise TargetError if folders of clusters have changes that are not committed."""
    if unseen := repository.unseen_paths(*paths):
        what = f"git excludes files that osm-gitops owns from this work tree: {named_files(unseen)}"
        fix = "Run git sparse-checkout add FOLDER, or git update-index --no-skip-worktree --no-assume-unchanged FILE"
        raise target_error(Code.OWNED_FILES_HIDDEN, what, where=str(repository.root), fix=fix)
    if dirty := repository.changed_paths(*paths):
        what = f"files that osm-gitops owns have changes that are not committed: {named_files(dirty)}"
        fix = "Commit the changes, or discard them with git restore or git clean"
        raise target_error(Code.OWNED_FILES_EDITED, what, where=str(repository.root), fix=fix)


def _status(root: Path) -> WorkTreeStatus:
    return WorkTreeStatus(Repository(root))


def obstacles(
    place: GitPlace,
    encryption: FileEncryption,
    *,
    detached: bool = False,
    status_of: Callable[[Path], WorkTreeStatus] = _status,
) -> tuple[Problem, ...]:
    """All problems that would stop a run, found without a lock and without changes. Raises TargetError without a
    repository.

    ``detached``: a checkout without a branch is accepted. CI checks out pull requests so, and applies them elsewhere.
    ``status_of`` has the status of a work tree.
    """
    folder = Path(os.path.normpath(place.folder.absolute()))
    root = work_tree_of(folder)
    status = status_of(root)
    owned = [(folder / owned_path(cluster)).relative_to(root).as_posix() for cluster in place.clusters]

    def check_remote() -> None:
        remote = Remote(status.repository, place.remote)
        status.once(("remote", place.remote), partial(require_remote, remote, status.repository))

    checks: list[Callable[[], object]] = [partial(refuse_linked_folder, folder, root)]
    if not place.plaintext_secrets:
        checks.append(partial(refuse_plaintext, folder, place.clusters, encryption))
    if not detached or status.branch() is not None:
        checks.append(partial(checked_branch, status, place))
    checks += (partial(refuse_dirty, status, path) for path in owned)
    if place.push:
        checks.append(check_remote)
    return tuple(problem for check in checks for problem in _problems(check))


@dataclass(frozen=True, slots=True)
class DataKeys:
    """Encrypted files of a target, sorted by the origin of their data keys. Paths start at the target's folder.

    ``former``: the digest is of an earlier version. ``unverified``: no available key verifies the digest. ``foreign``:
    no digest. ``repeated``: a recipient is named twice, so one of the entries must be for another key.
    """

    verified: list[Path] = field(default_factory=list)
    former: list[Path] = field(default_factory=list)
    unverified: list[Path] = field(default_factory=list)
    foreign: list[Path] = field(default_factory=list)
    repeated: list[Path] = field(default_factory=list)


def data_keys(folder: Path, clusters: Iterable[str], encryption: FileEncryption) -> DataKeys:
    """Sort the encrypted files of clusters, without decryption. Raises OsmGitopsError for unreadable files and keys."""
    found = DataKeys()
    lists = {
        Origin.VERIFIED: found.verified,
        Origin.FORMER: found.former,
        Origin.FOREIGN: found.foreign,
        Origin.UNVERIFIED: found.unverified,
        Origin.PLAIN: [],
    }
    for path in (each for cluster in clusters for each in _yaml_files(folder / owned_path(cluster))):
        text = read_file(path) or b""
        name = path.relative_to(folder)
        origin = Origin.FORMER if lacks_seal(text) else encryption.origin(text)
        lists[origin].append(name)
        if origin not in {Origin.VERIFIED, Origin.PLAIN} and repeats_recipients(path, text):
            found.repeated.append(name)
    return found


def _yaml_files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders.sort()
        paths = (Path(here, name) for name in sorted(names) if name.endswith(".yaml"))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _problems(check: Callable[[], object]) -> Iterator[Problem]:
    try:
        check()
    except OsmGitopsError as failure:
        yield from failure.problems
