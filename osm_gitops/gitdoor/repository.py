"""Verbs on a git work tree. They run git itself, so hooks, signing and config of the user count."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from osm_gitops.errors import Problem, TargetError
from osm_gitops.gitdoor.objects import ObjectReader

if TYPE_CHECKING:
    import git

_NO_OPTION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]*")
_USERINFO = re.compile(r"://[^\s@/]+@")
_MOVED = re.compile(
    r"\[(?:remote )?rejected\].*\((?:fetch first|non-fast-forward|stale info|cannot lock ref.*|failed to update ref"
    r"|incorrect old value provided|reference already exists)\)"
)
_LONGEST_REASON = 600
# Operations in progress would swallow our commit or be swallowed by it.
_IN_PROGRESS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")


class PushOutcome(Enum):
    """``MOVED``: the remote branch has commits that we do not have; fetch and plan again."""

    PUSHED = "pushed"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Divergence:
    """How many commits a branch is ahead of and behind its remote counterpart."""

    ahead: int
    behind: int


class Repository:
    """One git work tree, or a bare repository to read from. Paths are relative to ``root`` and use ``/``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git_dir = _git_dir(root)
        self._git = _git(root)
        self._place: tuple[str, ...] = ()
        # An environment that git sets for hooks must not lead us elsewhere, so the place is always named;
        # but first git is asked without that, because only then does it check who owns the repository.
        if "GIT_DIR" not in os.environ:
            self._run("rev-parse", "--git-dir")
        self._place = (f"--git-dir={self.git_dir}", f"--work-tree={root}")

    # -- reading --

    def head(self) -> str | None:
        """The commit of HEAD; ``None`` in a repository without commits."""
        return self._try("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def revision(self, ref: str) -> str | None:
        """The commit of a full ref name or an id; ``None`` where there is none."""
        return self._try("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")

    def branch(self) -> str | None:
        """The branch that is checked out, without ``refs/heads/``; ``None`` for a detached HEAD."""
        ref = self._try("symbolic-ref", "--quiet", "HEAD")
        return ref.removeprefix("refs/heads/") if ref else None

    def operation_in_progress(self) -> str | None:
        """The file that tells of an unfinished merge, rebase or the like."""
        return next((name for name in _IN_PROGRESS if (self.git_dir / name).exists()), None)

    def is_ignored(self, path: str) -> bool:
        """Whether git ignores a path (it need not exist)."""
        return self._try("check-ignore", "--quiet", "--", path) is not None

    def changed_paths(self, path: str) -> tuple[str, ...]:
        """Paths under ``path`` that differ from HEAD, staged or not, and untracked ones."""
        out = self._run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", path)
        return tuple(sorted(entry[3:] for entry in out.split("\0") if entry))

    def blob_ids(self, paths: Iterable[str], *, index: Path | None = None) -> dict[str, str]:
        """The blob ids of the index's entries (or of HEAD's, through an index made from it)."""
        wanted = set(paths)
        out = self._run("ls-files", "--stage", "-z", index=index)
        entries = (entry.split("\t", 1) for entry in out.split("\0") if entry)
        return {path: meta.split(" ")[1] for meta, path in entries if path in wanted}

    def hash_name(self) -> str:
        """The hash function that names objects: ``sha1`` or ``sha256``."""
        return self._run("rev-parse", "--show-object-format").strip()

    def tree_of(self, commit: str) -> str:
        """The id of a commit's root folder."""
        return self._run("rev-parse", "--verify", f"{commit}^{{tree}}").strip()

    def is_shallow(self) -> bool:
        """Whether the clone was made without its whole history."""
        return self._run("rev-parse", "--is-shallow-repository").strip() == "true"

    def objects(self) -> ObjectReader:
        """A reader of the files of commits; a context manager."""
        from subprocess import PIPE  # noqa: PLC0415 - most runs need none

        command = ["git", *_SAFETY, *self._place, "cat-file", "--batch"]
        return ObjectReader(self._git.execute(command, istream=PIPE, as_process=True, env=_ENVIRONMENT))

    # -- changing the work tree's branch --

    def commit_paths(self, expected: Mapping[str, str | None], message: str, base: str | None) -> str:
        """Commit exactly these paths as they are in the work tree; nothing else that is staged.

        A temporary index made from ``base``, which HEAD must be, is used, and ``git commit``
        itself, so that hooks and signing run. ``expected`` maps each path to the blob that must
        come out (``None``: it is removed), so no attribute or filter can change bytes unnoticed.
        """
        paths = list(expected)
        with tempfile.TemporaryDirectory(dir=self._own_dir()) as folder:
            index = Path(folder) / "index"
            self._start_index(index, base)
            self._update_index(paths, index=index)
            found = self.blob_ids(paths, index=index)
            altered = [path for path in paths if found.get(path) != expected[path]]
            if altered:
                raise TargetError(
                    [
                        Problem(
                            f"git would store other bytes than were written for {altered[0]}",
                            where=str(self.root),
                            fix="Remove the filter, ident or encoding that .gitattributes gives to this path",
                        )
                    ]
                )
            text = Path(folder) / "message"
            text.write_text(message, encoding="utf-8")
            self._run("commit", "--quiet", "--no-edit", "--cleanup=whitespace", f"--file={text}", index=index)
        commit = self.head()
        if commit is None:
            raise TargetError([Problem("git commit made no commit", where=str(self.root))])
        if self.revision(f"{commit}^") != base:
            # Someone else committed in between; what we made would undo it.
            self._run("update-ref", "-m", "osm-gitops: withdraw", "HEAD", f"{commit}^", commit)
            raise TargetError([Problem("the branch moved while committing", where=str(self.root), fix="Run again")])
        return commit

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
            self._run(
                "--literal-pathspecs",
                "restore",
                "--source=HEAD",
                "--staged",
                "--worktree",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
                stdin="\0".join(sorted(tracked)).encode(),
            )

    def own_commits(self, ref: str, trailer: str) -> bool:
        """Whether all commits of HEAD that ``ref`` does not have carry our trailer."""
        out = self._run("log", "-z", f"--format=%(trailers:key={trailer},valueonly)", f"{ref}..HEAD", "--")
        return all(entry.strip() for entry in out.split("\0")[: self.divergence(ref).ahead])

    def divergence(self, ref: str) -> Divergence:
        """How HEAD and a full ref name have moved apart."""
        ahead, behind = self._run("rev-list", "--left-right", "--count", f"HEAD...{ref}", "--").split()
        return Divergence(int(ahead), int(behind))

    def fast_forward(self, ref: str) -> None:
        """Move the branch forward to a full ref name; local changes elsewhere stay."""
        self._run("merge", "--quiet", "--ff-only", ref)

    def paths_between(self, older: str, newer: str) -> tuple[str, ...]:
        """Paths that differ between two commits."""
        out = self._run("diff-tree", "-r", "-z", "--name-only", "--no-renames", older, newer, "--")
        return tuple(path for path in out.split("\0") if path)

    def merge_base(self, ref: str) -> str | None:
        """The youngest commit that HEAD and a full ref name share."""
        return self._try("merge-base", "HEAD", ref)

    def move_branch(self, new: str, old: str) -> None:
        """Set the checked-out branch to ``new`` if it still is at ``old``; index and files stay."""
        self._run("update-ref", "-m", "osm-gitops: withdraw unpushed commits", "HEAD", new, old)

    # -- the remote --

    def has_remote(self, remote: str) -> bool:
        return remote in self._run("remote").split()

    def fetch(self, remote: str, branch: str) -> None:
        """Fetch one branch into ``refs/remotes``; a branch that the remote lacks is no error."""
        self._refuse_options(remote, branch)
        if self._run("ls-remote", "--heads", "--", remote, f"refs/heads/{branch}").strip():
            self._run("fetch", "--quiet", "--", remote, f"+refs/heads/{branch}:refs/remotes/{remote}/{branch}")

    def push(self, remote: str, branch: str) -> PushOutcome:
        """Push HEAD to a branch, never by force."""
        self._refuse_options(remote, branch)
        status, out, error = self._execute(
            ["push", "--porcelain", "--", remote, f"HEAD:refs/heads/{branch}"], index=None, stdin=b""
        )
        if status == 0:
            return PushOutcome.PUSHED
        if _MOVED.search(out) or _MOVED.search(error):
            return PushOutcome.MOVED
        raise self._error(["push"], f"{out}\n{error}")

    # -- inside --

    def _own_dir(self) -> Path:
        folder = self.git_dir / "osm-gitops"
        folder.mkdir(exist_ok=True)
        return folder

    def _start_index(self, index: Path, base: str | None) -> None:
        if base is None:
            self._run("read-tree", "--empty", index=index)
            return
        present = self.git_dir / "index"
        if present.exists():
            # What git knows about unchanged files is kept, so that it need not read them all again.
            index.write_bytes(present.read_bytes())
        self._run("read-tree", "--reset", base, index=index)

    def _update_index(self, paths: Sequence[str], *, index: Path | None) -> None:
        self._run("update-index", "--add", "--remove", "-z", "--stdin", index=index, stdin="\0".join(paths).encode())

    def _tracked_at_head(self, paths: Sequence[str]) -> set[str]:
        if self.head() is None:
            return set()
        out = self._run("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD")
        return set(out.split("\0")) & set(paths)

    def _refuse_options(self, remote: str, branch: str) -> None:
        for name, text in (("remote", remote), ("branch", branch)):
            if not _NO_OPTION.fullmatch(text) or ".." in text:
                raise TargetError([Problem(f'"{text}" is no name of a git {name}', where=str(self.root))])

    def _try(self, *command: str) -> str | None:
        """What git says; ``None`` where it answers no (exit code 1)."""
        status, out, error = self._execute(list(command), index=None, stdin=b"")
        if status == 0:
            return out.strip()
        if status == 1 or (status == 128 and command[0] == "rev-parse"):
            return None
        raise self._error(list(command), error)

    def _run(self, *command: str, index: Path | None = None, stdin: bytes = b"") -> str:
        status, out, error = self._execute(list(command), index=index, stdin=stdin)
        if status != 0:
            raise self._error(list(command), error or out)
        return out

    def _execute(self, command: list[str], *, index: Path | None, stdin: bytes) -> tuple[int, str, str]:
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            status, out, error = self._git.execute(
                ["git", *_SAFETY, *self._place, *command],
                istream=given,
                with_extended_output=True,
                with_exceptions=False,
                strip_newline_in_stdout=False,
                stdout_as_string=False,
                env=_ENVIRONMENT | {"GIT_INDEX_FILE": str(index or self.git_dir / "index")},
            )
        return int(status), os.fsdecode(out), os.fsdecode(error)

    def _error(self, command: list[str], said: str) -> TargetError:
        verb = next((word for word in command if not word.startswith("-")), "")
        reason = _USERINFO.sub("://", said).strip()[-_LONGEST_REASON:]
        fix = ""
        if verb == "commit":
            fix = "A hook, signing or the identity refused the commit; nothing was changed"
        elif verb in {"push", "fetch", "ls-remote"}:
            fix = "Check the address and the credentials of the remote"
        return TargetError(
            [Problem(f"git {verb} failed: {reason or 'no reason given'}", where=str(self.root), fix=fix)]
        )


_SAFETY = ("-c", "protocol.ext.allow=never", "-c", "core.quotePath=false", "-c", "advice.detachedHead=false")


_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}


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
    text = entry.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
    return (root / text).absolute()


def _git(folder: Path) -> git.Git:
    # Imported here: it takes longer than all else that a run without git needs.
    try:
        found: git.Git = import_module("git").Git(folder)
    except ImportError as missing:
        raise TargetError(
            [Problem("git cannot be run", where=str(folder), fix="Install it, or mend PATH")]
        ) from missing
    return found
