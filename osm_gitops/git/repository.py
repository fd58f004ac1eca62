"""Operations on a git work tree. They run git itself, so the user's hooks, signing and configuration apply.

A bare repository that somebody committed as plain files has a configuration that may name programs; git calls this
danger ``safe.bareRepository``. A ``.git`` cannot be committed, but it can be in an archive. Untrusted runs refuse both.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.errors import Code, TargetError, target_error
from osm_gitops.git.commits import History, ObjectReader
from osm_gitops.git.process import NO_EXTRAS, Extras, Git

_LONGEST_LINK = 4096


def refuse_embedded(root: Path, git_dir: Path) -> None:
    """Raise TargetError for a bare repository inside of a work tree."""
    if git_dir != root.absolute():
        return
    for place in dict.fromkeys((root.absolute(), root.resolve())):
        outer = next((folder for folder in place.parents if (folder / ".git").exists()), None)
        if outer is not None:
            raise target_error(
                Code.NESTED_REPOSITORY,
                f"is a bare repository inside of the git work tree {outer}, so its configuration may be "
                "part of a commit",
                where=str(root),
                fix="Move it out of the work tree, or name a revision of the outer repository",
            )


def refuse_borrowed(root: Path, git_dir: Path) -> None:
    """Raise TargetError for a repository with objects or configuration elsewhere, except linked work trees of git."""
    entry = root / ".git"
    if entry.is_symlink() or (entry.is_file() and not _points_back(git_dir, entry)):
        raise _refused(root, "its .git points to a repository elsewhere that does not list this folder as a work tree")
    for folder in dict.fromkeys((git_dir, git_dir.parent.parent if _is_linked(git_dir) else git_dir)):
        for part in (folder / "objects", folder / "refs", folder / "config"):
            if part.is_symlink():
                raise _refused(root, f"{part} is a symbolic link")
        for name in ("alternates", "http-alternates"):
            if (folder / "objects" / "info" / name).exists():
                raise _refused(root, f"it uses objects of other repositories ({folder / 'objects' / 'info' / name})")
    if not _is_linked(git_dir) and (git_dir / "commondir").exists():
        raise _refused(root, f"it shares its objects with another repository ({git_dir / 'commondir'})")


def _is_linked(git_dir: Path) -> bool:
    return git_dir.parent.name == "worktrees"


def _points_back(git_dir: Path, entry: Path) -> bool:
    """Whether the repository lists the work tree that points to it."""
    try:
        with (git_dir / "gitdir").open(encoding="utf-8") as file:
            known = file.read(_LONGEST_LINK).strip()
    except (OSError, UnicodeDecodeError):
        return False
    return Path(known).resolve() == entry.resolve()


def _refused(root: Path, what: str) -> TargetError:
    return target_error(
        Code.NESTED_REPOSITORY,
        f"is not read in an untrusted run: {what}",
        where=str(root),
        fix="Clone it with git clone --no-local",
    )


# A commit during these operations would mix with them.
_IN_PROGRESS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")
_OWN_FOLDER = "osm-gitops"
_COMMIT_FOLDER = "commit-"
# For the command by which git checks the owner of a repository. That it is not in another one was checked before.
_BARE_TOO = Extras(("-c", "safe.bareRepository=all"))
_AS_THEY_ARE = Extras(("-c", "core.looseCompression=0"))
_LINK_MODE = "120000 "
_FILTERS = r"^filter\..*\.(clean|smudge|process)$"


@dataclass(frozen=True, slots=True)
class Tracked:
    """Files in the index; ``links`` are those that are symbolic links."""

    files: frozenset[str]
    links: tuple[str, ...]

    def paths(self) -> frozenset[str]:
        """The files and all folders that contain them, without the root."""
        found = set(self.files)
        inner: set[str] = found
        while inner := {path.rpartition("/")[0] for path in inner} - found - {""}:
            found |= inner
        return frozenset(found)


class Repository:
    """One git work tree, or a bare repository to read from. Paths are relative to ``root`` and use ``/``.

    An ``untrusted`` one is only read: it must not point elsewhere, and no program that its configuration names is run.
    Raises TargetError if it is refused.
    """

    def __init__(self, root: Path, *, untrusted: bool = False) -> None:
        self.root = root
        self.git_dir = _git_dir(root)
        self._untrusted = untrusted
        refuse_embedded(root, self.git_dir)
        if untrusted:
            refuse_borrowed(root, self.git_dir)
        # The folder is always named, since git sets variables for hooks that point to another repository. Before
        # that, one command without it: only then git checks the owner of the repository.
        if "GIT_DIR" not in os.environ:
            Git(root).run("rev-parse", "--git-dir", extras=_BARE_TOO if self.git_dir == root.absolute() else NO_EXTRAS)
        place = (f"--git-dir={self.git_dir}", f"--work-tree={root}")
        self.git = Git(root, place=place, index=self.git_dir / "index")
        self.history = History(self.git)

    def own_folder(self) -> Path:
        """The folder of osm-gitops inside of ``.git``."""
        folder = self.git_dir / _OWN_FOLDER
        folder.mkdir(exist_ok=True)
        return folder

    def remove_stale_folders(self) -> None:
        """Remove temporary folders of interrupted runs. Requires the lock."""
        for folder in self.own_folder().glob(f"{_COMMIT_FOLDER}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def head(self) -> str | None:
        """The commit of HEAD; ``None`` in a repository without commits."""
        return self.git.attempt("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def revision(self, ref: str) -> str | None:
        """The commit of a full ref name or an id; ``None`` if it does not exist."""
        return self.git.attempt("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")

    def branch(self) -> str | None:
        """The branch that is checked out, without ``refs/heads/``; ``None`` for a detached HEAD."""
        ref = self.git.attempt("symbolic-ref", "--quiet", "HEAD")
        return ref.removeprefix("refs/heads/") if ref else None

    def operation_in_progress(self) -> str | None:
        """The file that marks an unfinished merge, rebase or similar."""
        return next((name for name in _IN_PROGRESS if (self.git_dir / name).exists()), None)

    def ignored(self, paths: Iterable[str]) -> frozenset[str]:
        """Those of ``paths`` (they need not exist) that git ignores. Tracked files are not ignored."""
        given = "".join(f"{path}\0" for path in paths)
        command = ("check-ignore", "--stdin", "-z")
        said = self.git.execute(command, stdin=os.fsencode(given))
        if said.status > 1:
            raise self.git.error(command, said.error)
        return frozenset(path for path in said.out.split("\0") if path)

    def changed_paths(self, *paths: str) -> tuple[str, ...]:
        """Files under ``paths`` that differ from HEAD, staged or not, and untracked ones."""
        return tuple(sorted(path for _, path in self._status(paths=paths)))

    def states(self, *paths: str) -> tuple[frozenset[str], frozenset[str]]:
        """The files under ``paths`` that :meth:`changed_paths` returns, and those that git ignores; of a folder that is
        ignored as a whole only its path, with ``/`` at its end."""
        changed: set[str] = set()
        ignored: set[str] = set()
        for state, path in self._status("--ignored=matching", paths=paths):
            (ignored if state == "!!" else changed).add(path)
        return frozenset(changed), frozenset(ignored)

    def _status(self, *options: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Two letters and a path for each file under ``paths`` that is not as in HEAD."""
        # In a submodule git would run another git with the configuration of the submodule.
        more = (*options, "--ignore-submodules=all") if self._untrusted else options
        command = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", *more, "--", *paths)
        out = self.git.run("--literal-pathspecs", *command)
        return ((entry[:2], entry[3:]) for entry in out.split("\0") if entry)

    def names_filters(self) -> bool:
        """Whether the repository's configuration names programs that ``git status`` would run."""
        places: list[tuple[str, ...]] = [("--local",)]
        own = self.git_dir / "config.worktree"
        places += [("--file", str(own))] if os.path.lexists(own) else []
        found = (self.git.attempt("config", *place, "--includes", "--get-regexp", _FILTERS) for place in places)
        return any(each is not None for each in found)

    def unseen_paths(self, *paths: str) -> tuple[str, ...]:
        """Files under ``paths`` that git skips: by a sparse checkout, or marked by the user."""
        out = self.git.run("--literal-pathspecs", "ls-files", "-v", "-z", "--", *paths)
        return tuple(entry[2:] for entry in out.split("\0") if entry and (entry[0] == "S" or entry[0].islower()))

    def blob_ids(self, paths: Iterable[str], *, index: Path | None = None) -> dict[str, str]:
        """The blob ids of entries of the index, or of HEAD through an index made from it."""
        wanted = set(paths)
        out = self.git.run("ls-files", "--stage", "-z", index=index)
        entries = (entry.split("\t", 1) for entry in out.split("\0") if entry)
        return {path: meta.split(" ")[1] for meta, path in entries if path in wanted}

    def hash_name(self) -> str:
        """The hash function that names objects: ``sha1`` or ``sha256``."""
        # Only for work trees that git has accepted: GitPython also opens those of other users, and reads configuration
        # without limits (tests/git/test_gitpython.py has more reasons to ask git itself).
        with import_module("git").Repo(self.root, expand_vars=False) as library:
            return str(library.config_reader("repository").get_value("extensions", "objectformat", "sha1"))

    def tree_of(self, commit: str) -> str:
        """The id of a commit's root folder."""
        return self.git.run("rev-parse", "--verify", f"{commit}^{{tree}}").strip()

    def tree_at(self, commit: str, path: str) -> str | None:
        """The id of a folder of a commit (``.``: its root); ``None`` if it does not exist."""
        return self.git.attempt("rev-parse", "--verify", "--quiet", f"{commit}:{'' if path == '.' else path}")

    def tracked(self) -> Tracked:
        """What the index has."""
        out = self.git.run("ls-files", "--stage", "-z")
        entries = [entry.split("\t", 1) for entry in out.split("\0") if entry]
        links = tuple(path for meta, path in entries if meta.startswith(_LINK_MODE))
        return Tracked(frozenset(path for _, path in entries), links)

    def checked_out_branches(self) -> tuple[str, ...]:
        """The branches that are checked out in any work tree of this repository."""
        lines = self.git.run("worktree", "list", "--porcelain").splitlines()
        return tuple(line.removeprefix("branch refs/heads/") for line in lines if line.startswith("branch "))

    def is_shallow(self) -> bool:
        """Whether the clone lacks a part of its history."""
        return self.git.run("rev-parse", "--is-shallow-repository").strip() == "true"

    def objects(self) -> ObjectReader:
        """A reader of the files of commits; a context manager."""
        return ObjectReader(lambda: self.git.pipe("cat-file", "--batch"))

    def commit_paths(
        self,
        expected: Mapping[str, str | None],
        message: str,
        base: str | None,
        *,
        sign: bool | None = None,
        sealed: AbstractSet[str] = frozenset(),
    ) -> str | None:
        """Commit exactly these paths of the work tree, without other staged changes.

        Returns the commit's id, or ``None`` if git has these files already: a checkout may write other line endings.

        ``git commit`` itself commits, with a temporary index made from ``base`` (which must be HEAD), so hooks and
        signing run. ``expected`` maps each path to the blob that must result (``None``: removed), so attributes and
        filters cannot change bytes unnoticed. ``sign``: ``None`` follows git's configuration. ``sealed`` are encrypted
        files, which hardly compress: git stores them as they are until it packs them.
        """
        self.remove_stale_folders()
        with tempfile.TemporaryDirectory(prefix=_COMMIT_FOLDER, dir=self.own_folder()) as folder:
            index = Path(folder) / "index"
            self._start_index(index, base)
            self._update_index([path for path in expected if path not in sealed], index=index)
            if sealed:
                self._update_index(sorted(sealed), index=index, extras=_AS_THEY_ARE)
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
            raise target_error(
                Code.COMMIT_ALTERED,
                f"git would store other bytes than were written for {altered[0]}",
                where=str(self.root),
                fix="Remove the filter, ident or encoding that .gitattributes gives to this path",
            )

    def _checked_commit(self, base: str | None) -> str:
        commit = self.head()
        if commit is None:
            raise target_error(Code.COMMIT_NOT_MADE, "git commit made no commit", where=str(self.root))
        if self.revision(f"{commit}^") != base:
            # Another commit came first, and ours would undo it.
            self.git.run("update-ref", "-m", "osm-gitops: withdraw", "HEAD", f"{commit}^", commit)
            raise target_error(
                Code.COMMIT_NOT_MADE, "the branch moved while committing", where=str(self.root), fix="Run again"
            )
        return commit

    def _withdraw_altered(self, commit: str, base: str | None, altered: list[str], edited: frozenset[str]) -> None:
        """Withdraw a commit whose files a hook changed: each run would commit them again."""
        self.git.run("update-ref", "-m", "osm-gitops: withdraw", *(["HEAD", base] if base else ["-d", "HEAD"]), commit)
        self.restore([path for path in altered if path not in edited])
        raise target_error(
            Code.COMMIT_ALTERED,
            f"a hook of this repository changed {altered[0]} while it was committed",
            where=str(self.root),
            fix="The commit was withdrawn. Exclude the folder from that hook, then run again",
        )

    def stage(self, paths: Sequence[str]) -> None:
        """Update the index's entries of these paths from the work tree."""
        self._update_index(paths, index=None)

    def restore(self, paths: Sequence[str]) -> None:
        """Restore these paths in index and work tree from HEAD; others are removed."""
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
        """Fast-forward the branch to a full ref name; other local changes are kept."""
        self.git.run("merge", "--quiet", "--ff-only", ref)

    def reset_to(self, ref: str) -> None:
        """Reset branch, index and files to a full ref name."""
        self.git.run("reset", "--quiet", "--hard", ref, "--")

    def set_branch(self, name: str, new: str, old: str | None) -> None:
        """Move a branch that is not checked out from ``old`` (``None``: it is new) to ``new``."""
        self.git.run("update-ref", "-m", "osm-gitops: commit", f"refs/heads/{name}", new, old or "0" * len(new))

    def move_branch(self, new: str, old: str) -> None:
        """Move the checked out branch to ``new`` if it is at ``old``; index and files are not changed."""
        self.git.run("update-ref", "-m", "osm-gitops: withdraw unpushed commits", "HEAD", new, old)

    def _start_index(self, index: Path, base: str | None) -> None:
        if base is None:
            self.git.run("read-tree", "--empty", index=index)
            return
        present = self.git_dir / "index"
        if present.exists():
            # A copy keeps git's cached file states, so it need not read all files.
            index.write_bytes(present.read_bytes())
        self.git.run("read-tree", "--reset", base, index=index)

    def _update_index(self, paths: Sequence[str], *, index: Path | None, extras: Extras = NO_EXTRAS) -> None:
        given = os.fsencode("\0".join(paths))
        self.git.run("update-index", "--add", "--remove", "-z", "--stdin", index=index, stdin=given, extras=extras)

    def _tracked_at_head(self, paths: Sequence[str]) -> set[str]:
        if self.head() is None:
            return set()
        out = self.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD")
        return set(out.split("\0")) & set(paths)


def find_work_tree(path: Path) -> Path | None:
    """The root of the git work tree that contains a path (it need not exist), or ``None``."""
    here = Path(os.path.normpath(path.absolute()))  # "nodes/../dump" is not in "nodes"
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), None)


def path_inside(path: Path, root: Path) -> str:
    """A path relative to a folder that contains it."""
    return Path(os.path.normpath(path.absolute())).relative_to(os.path.normpath(root)).as_posix()


def find_repository(path: Path) -> tuple[Path, str] | None:
    """The work tree or bare repository that contains a path (it need not exist), and the path inside of it."""
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
        raise target_error(Code.FILE_UNREADABLE, f"cannot be read: {fault.strerror}", where=str(entry)) from None
    if "\0" in text:
        raise target_error(Code.GIT_FILE_DAMAGED, "is not a file that git wrote", where=str(entry))
    return (root / text.removeprefix("gitdir:").strip()).absolute()


def require_git() -> None:
    """Raise TargetError if git cannot be run or is too old."""
    Git(Path())


def start_repository(root: Path, branch: str) -> None:
    """Create a repository in ``root``, on ``branch``, without a commit. Raises TargetError."""
    # The folder is named, since git sets variables for hooks that point to another repository.
    git = Git(root, place=(f"--git-dir={root.absolute() / '.git'}",))
    git.run("init", "--quiet")
    # The oldest supported git has no `git init --initial-branch`.
    git.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")


_FOLDER = "work-tree"
# The user's checkout hooks do not apply to the temporary work tree.
_WITHOUT_HOOKS = Extras(("-c", f"core.hooksPath={os.devnull}"))


@contextmanager
def second_work_tree(repository: Repository, commit: str) -> Iterator[Repository]:
    """A temporary work tree at a commit, without a branch, inside of ``.git``.

    Requires the repository's lock, since it removes the work tree of an interrupted run.
    """
    folder = repository.own_folder() / _FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    # --force: git still has an interrupted run's entry. --no-checkout: files would go into the other index.
    command = ("worktree", "add", "--quiet", "--force", "--detach", "--no-checkout", "--", str(folder), commit)
    repository.git.run(*command, extras=_WITHOUT_HOOKS)
    try:
        made = Repository(folder)
        made.reset_to(commit)
        yield made
    finally:
        repository.git.execute(["worktree", "remove", "--force", "--", str(folder)])
        shutil.rmtree(folder, ignore_errors=True)
