"""Verbs on a git work tree. They run git itself, so hooks, signing and config of the user count."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.commits import History
from osm_gitops.git.embedded import refuse_borrowed, refuse_embedded
from osm_gitops.git.objects import ObjectReader
from osm_gitops.git.process import NO_EXTRAS, Extras, Git

# Operations in progress would swallow our commit or be swallowed by it.
_IN_PROGRESS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")
_OWN_FOLDER = "osm-gitops"
_COMMIT_FOLDER = "commit-"
# For the one command by which git checks who owns a repository; that it lies in no other one was seen before.
_BARE_TOO = Extras(("-c", "safe.bareRepository=all"))
_FILTERS = r"^filter\..*\.(clean|smudge|process)$"


class Repository:
    """One git work tree, or a bare repository to read from. Paths are relative to ``root`` and use ``/``.

    An ``untrusted`` one is only read: it may not lead elsewhere, and no program that its configuration names is run.
    Raises TargetError for repositories that are refused.
    """

    def __init__(self, root: Path, *, untrusted: bool = False) -> None:
        self.root = root
        self.git_dir = _git_dir(root)
        self._untrusted = untrusted
        refuse_embedded(root, self.git_dir)
        if untrusted:
            refuse_borrowed(root, self.git_dir)
        # An environment that git sets for hooks must not lead us elsewhere, so the place is always named;
        # but first git is asked without that, because only then does it check who owns the repository.
        if "GIT_DIR" not in os.environ:
            Git(root).run("rev-parse", "--git-dir", extras=_BARE_TOO if self.git_dir == root.absolute() else NO_EXTRAS)
        place = (f"--git-dir={self.git_dir}", f"--work-tree={root}")
        self.git = Git(root, place=place, index=self.git_dir / "index")
        self.history = History(self.git)

    def own_folder(self) -> Path:
        """Where we keep what is ours, inside of ``.git``."""
        folder = self.git_dir / _OWN_FOLDER
        folder.mkdir(exist_ok=True)
        return folder

    def remove_stale_folders(self) -> None:
        """Remove what a killed run left in :meth:`own_folder`; only for who holds the lock of this folder."""
        for folder in self.own_folder().glob(f"{_COMMIT_FOLDER}*"):
            shutil.rmtree(folder, ignore_errors=True)

    # -- reading --

    def head(self) -> str | None:
        """The commit of HEAD; ``None`` in a repository without commits."""
        return self.git.attempt("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def revision(self, ref: str) -> str | None:
        """The commit of a full ref name or an id; ``None`` where there is none."""
        return self.git.attempt("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")

    def branch(self) -> str | None:
        """The branch that is checked out, without ``refs/heads/``; ``None`` for a detached HEAD."""
        ref = self.git.attempt("symbolic-ref", "--quiet", "HEAD")
        return ref.removeprefix("refs/heads/") if ref else None

    def operation_in_progress(self) -> str | None:
        """The file that tells of an unfinished merge, rebase or the like."""
        return next((name for name in _IN_PROGRESS if (self.git_dir / name).exists()), None)

    def ignored(self, paths: Iterable[str]) -> frozenset[str]:
        """Those of ``paths`` (they need not exist) that git ignores; what it keeps already counts as not ignored."""
        given = "".join(f"{path}\0" for path in paths)
        command = ("check-ignore", "--stdin", "-z")
        said = self.git.execute(command, stdin=os.fsencode(given))
        if said.status > 1:
            raise self.git.error(command, said.error)
        return frozenset(path for path in said.out.split("\0") if path)

    def changed_paths(self, *paths: str) -> tuple[str, ...]:
        """Paths under ``paths`` that differ from HEAD, staged or not, and untracked ones."""
        # In a submodule git would run a git of its own, by the configuration that lies there.
        options = ("--ignore-submodules=all",) if self._untrusted else ()
        command = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", *options, "--", *paths)
        out = self.git.run("--literal-pathspecs", *command)
        return tuple(sorted(entry[3:] for entry in out.split("\0") if entry))

    def names_filters(self) -> bool:
        """Whether the repository's own configuration names programs that ``git status`` runs over files."""
        places: list[tuple[str, ...]] = [("--local",)]
        own = self.git_dir / "config.worktree"
        places += [("--file", str(own))] if os.path.lexists(own) else []
        found = (self.git.attempt("config", *place, "--includes", "--get-regexp", _FILTERS) for place in places)
        return any(each is not None for each in found)

    def unseen_paths(self, path: str) -> tuple[str, ...]:
        """Paths under ``path`` that git does not look at: a sparse checkout leaves them out, or the user froze them."""
        out = self.git.run("--literal-pathspecs", "ls-files", "-v", "-z", "--", path)
        return tuple(entry[2:] for entry in out.split("\0") if entry and (entry[0] == "S" or entry[0].islower()))

    def blob_ids(self, paths: Iterable[str], *, index: Path | None = None) -> dict[str, str]:
        """The blob ids of the index's entries (or of HEAD's, through an index made from it)."""
        wanted = set(paths)
        out = self.git.run("ls-files", "--stage", "-z", index=index)
        entries = (entry.split("\t", 1) for entry in out.split("\0") if entry)
        return {path: meta.split(" ")[1] for meta, path in entries if path in wanted}

    def hash_name(self) -> str:
        """The hash function that names objects: ``sha1`` or ``sha256``."""
        # Only for work trees that git has accepted: GitPython opens those of other users too, and reads configuration
        # without limits (tests/git/test_gitpython.py says what else keeps the other questions with git itself).
        with import_module("git").Repo(self.root, expand_vars=False) as library:
            return str(library.config_reader("repository").get_value("extensions", "objectformat", "sha1"))

    def tree_of(self, commit: str) -> str:
        """The id of a commit's root folder: equal where all files are."""
        return self.git.run("rev-parse", "--verify", f"{commit}^{{tree}}").strip()

    def tree_at(self, commit: str, path: str) -> str | None:
        """The id of a folder of a commit (``.``: its root); ``None`` where it has none."""
        return self.git.attempt("rev-parse", "--verify", "--quiet", f"{commit}:{'' if path == '.' else path}")

    def checked_out_branches(self) -> tuple[str, ...]:
        """The branches that are checked out in any work tree of this repository."""
        lines = self.git.run("worktree", "list", "--porcelain").splitlines()
        return tuple(line.removeprefix("branch refs/heads/") for line in lines if line.startswith("branch "))

    def is_shallow(self) -> bool:
        """Whether the clone was made without its whole history."""
        return self.git.run("rev-parse", "--is-shallow-repository").strip() == "true"

    def objects(self) -> ObjectReader:
        """A reader of the files of commits; a context manager."""
        return ObjectReader(lambda: self.git.pipe("cat-file", "--batch"))

    # -- changing the work tree's branch --

    def commit_paths(
        self, expected: Mapping[str, str | None], message: str, base: str | None, *, sign: bool | None = None
    ) -> str | None:
        """Commit exactly these paths as they are in the work tree; nothing else that is staged.

        The commit's id, or ``None`` where git has these files already: a checkout may write other line ends.

        A temporary index made from ``base``, which HEAD must be, is used, and ``git commit``
        itself, so that hooks and signing run. ``expected`` maps each path to the blob that must
        come out (``None``: it is removed), so no attribute or filter can change bytes unnoticed.
        ``sign`` is as git's configuration says unless told.
        """
        self.remove_stale_folders()
        with tempfile.TemporaryDirectory(prefix=_COMMIT_FOLDER, dir=self.own_folder()) as folder:
            index = Path(folder) / "index"
            self._start_index(index, base)
            self._update_index(list(expected), index=index)
            self._check_blobs(expected, index)
            tree = self.git.run("write-tree", index=index).strip()
            if base is not None and tree == self.tree_of(base):
                return None
            text = Path(folder) / "message"
            text.write_bytes(os.fsencode(message))
            options = [] if sign is None else ["--gpg-sign" if sign else "--no-gpg-sign"]
            self.git.run(
                "commit", "--quiet", "--no-edit", "--cleanup=whitespace", *options, f"--file={text}", index=index
            )
            commit = self._checked_commit(base)
            altered = set(expected).intersection(self.history.paths_between(tree, commit))
            if altered:
                edited = self.git.run("diff-files", "--name-only", "-z", index=index).split("\0")
                self._withdraw_altered(commit, base, sorted(altered), frozenset(edited))
        return commit

    def _check_blobs(self, expected: Mapping[str, str | None], index: Path) -> None:
        found = self.blob_ids(expected, index=index)
        altered = [path for path, blob in expected.items() if found.get(path) != blob]
        if altered:
            raise TargetError(
                [
                    Problem(
                        Code.COMMIT_ALTERED,
                        f"git would store other bytes than were written for {altered[0]}",
                        where=str(self.root),
                        fix="Remove the filter, ident or encoding that .gitattributes gives to this path",
                    )
                ]
            )

    def _checked_commit(self, base: str | None) -> str:
        commit = self.head()
        if commit is None:
            raise TargetError([Problem(Code.COMMIT_NOT_MADE, "git commit made no commit", where=str(self.root))])
        if self.revision(f"{commit}^") != base:
            # Someone else committed in between; what we made would undo it.
            self.git.run("update-ref", "-m", "osm-gitops: withdraw", "HEAD", f"{commit}^", commit)
            raise TargetError(
                [
                    Problem(
                        Code.COMMIT_NOT_MADE, "the branch moved while committing", where=str(self.root), fix="Run again"
                    )
                ]
            )
        return commit

    def _withdraw_altered(self, commit: str, base: str | None, altered: list[str], edited: frozenset[str]) -> None:
        """A hook has put other bytes into our files, so each run would commit them anew."""
        self.git.run("update-ref", "-m", "osm-gitops: withdraw", *(["HEAD", base] if base else ["-d", "HEAD"]), commit)
        self.restore([path for path in altered if path not in edited])
        raise TargetError(
            [
                Problem(
                    Code.COMMIT_ALTERED,
                    f"a hook of this repository changed {altered[0]} while it was committed",
                    where=str(self.root),
                    fix="The commit was taken back. Have that hook leave out the folder, then run again",
                )
            ]
        )

    def stage(self, paths: Sequence[str]) -> None:
        """Bring the index's entries of these paths in line with the work tree."""
        self._update_index(paths, index=None)

    def restore(self, paths: Sequence[str]) -> None:
        """Bring index and work tree of these paths back to HEAD; what HEAD does not have is removed."""
        tracked = self._tracked_at_head(paths)
        for path in paths:
            if path not in tracked:
                (self.root / path).unlink(missing_ok=True)
        gone = [path for path in paths if path not in tracked]
        if gone:
            self._update_index(gone, index=None)
        if tracked:
            self.git.run(
                "--literal-pathspecs",
                "restore",
                "--source=HEAD",
                "--staged",
                "--worktree",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
                stdin=os.fsencode("\0".join(sorted(tracked))),
            )

    def fast_forward(self, ref: str) -> None:
        """Move the branch forward to a full ref name; local changes elsewhere stay."""
        self.git.run("merge", "--quiet", "--ff-only", ref)

    def reset_to(self, ref: str) -> None:
        """Set branch, index and files to a full ref name; what was there is lost."""
        self.git.run("reset", "--quiet", "--hard", ref, "--")

    def set_branch(self, name: str, new: str, old: str | None) -> None:
        """Set a branch that nobody has checked out from ``old`` (``None``: it is new) to ``new``."""
        self.git.run("update-ref", "-m", "osm-gitops: commit", f"refs/heads/{name}", new, old or "0" * len(new))

    def move_branch(self, new: str, old: str) -> None:
        """Set the checked-out branch to ``new`` if it still is at ``old``; index and files stay."""
        self.git.run("update-ref", "-m", "osm-gitops: withdraw unpushed commits", "HEAD", new, old)

    # -- inside --

    def _start_index(self, index: Path, base: str | None) -> None:
        if base is None:
            self.git.run("read-tree", "--empty", index=index)
            return
        present = self.git_dir / "index"
        if present.exists():
            # What git knows about unchanged files is kept, so that it need not read them all again.
            index.write_bytes(present.read_bytes())
        self.git.run("read-tree", "--reset", base, index=index)

    def _update_index(self, paths: Sequence[str], *, index: Path | None) -> None:
        given = os.fsencode("\0".join(paths))
        self.git.run("update-index", "--add", "--remove", "-z", "--stdin", index=index, stdin=given)

    def _tracked_at_head(self, paths: Sequence[str]) -> set[str]:
        if self.head() is None:
            return set()
        out = self.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD")
        return set(out.split("\0")) & set(paths)


def find_work_tree(path: Path) -> Path | None:
    """The root of the git work tree that a path (it need not exist) is in; ``None`` outside of one."""
    here = Path(os.path.normpath(path.absolute()))  # "nodes/../dump" is not in "nodes"
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), None)


def find_repository(path: Path) -> tuple[Path, str] | None:
    """The work tree or bare repository that a path (it need not exist) is in, and the path inside of it."""
    for here in dict.fromkeys((Path(os.path.normpath(path.absolute())), path.resolve())):
        for folder in (here, *here.parents):
            if (folder / ".git").exists() or _is_bare(folder):
                return folder, here.relative_to(folder).as_posix()
    return None


def _is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _git_dir(root: Path) -> Path:
    entry = root / ".git"
    if entry.is_dir():
        return entry.absolute()
    if not entry.exists():
        return root.absolute()
    # A linked work tree or a submodule: one line names the folder.
    try:
        text = os.fsdecode(read_file(entry, SMALL))
    except OSError as fault:
        raise TargetError(
            [Problem(Code.FILE_UNREADABLE, f"cannot be read: {fault.strerror}", where=str(entry))]
        ) from None
    if "\0" in text:
        raise TargetError([Problem(Code.GIT_FILE_DAMAGED, "is not a file that git wrote", where=str(entry))])
    return (root / text.removeprefix("gitdir:").strip()).absolute()


def require_git() -> None:
    """Raises TargetError where git cannot be run or is too old."""
    Git(Path())


def start_repository(root: Path, branch: str) -> None:
    """Make a repository in the folder ``root``, on ``branch``, without a commit. Raises TargetError."""
    # The place is named, so that an environment that git sets for hooks leads nowhere else.
    git = Git(root, place=(f"--git-dir={root.absolute() / '.git'}",))
    git.run("init", "--quiet")
    # `git init --initial-branch` is younger than the oldest git that serves.
    git.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")


_FOLDER = "work-tree"
# Making the folder is no checkout of the user's.
_WITHOUT_HOOKS = Extras(("-c", f"core.hooksPath={os.devnull}"))


@contextmanager
def second_work_tree(repository: Repository, commit: str) -> Iterator[Repository]:
    """A work tree at a commit, on no branch, inside of ``.git``; it goes at the end.

    Only for who holds the repository's lock: what a killed run left is removed.
    """
    folder = repository.own_folder() / _FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    # By force: git still knows the place of a killed run. Without files: they would go into the other index.
    command = ("worktree", "add", "--quiet", "--force", "--detach", "--no-checkout", "--", str(folder), commit)
    repository.git.run(*command, extras=_WITHOUT_HOOKS)
    try:
        made = Repository(folder)
        made.reset_to(commit)
        yield made
    finally:
        repository.git.execute(["worktree", "remove", "--force", "--", str(folder)])
        shutil.rmtree(folder, ignore_errors=True)
