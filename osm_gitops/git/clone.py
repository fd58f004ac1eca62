"""A clone for one run: one commit deep, of one branch, in a temporary folder that goes afterwards.

No partial clone: at this depth every object that is fetched is checked out.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.address import Address
from osm_gitops.git.credentials import TokenFile
from osm_gitops.git.failures import failure
from osm_gitops.git.process import NO_EXTRAS, CompletedProcess, Extras, Git, refuse_astray
from osm_gitops.git.remote import Remote, is_ref_name
from osm_gitops.git.repository import Repository

CLONE_REMOTE = "origin"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NO_SUCH_REF = "not found in upstream"


@dataclass(frozen=True, slots=True)
class Clone:
    """A clone that lives as long as its run, and the address that it is from, as messages show it."""

    root: Path
    shown: str


@contextmanager
def temporary_clone(address: Address, ref: str = "", token: TokenFile | None = None) -> Iterator[Clone]:
    """Clone a branch, a tag or a commit (its whole id); without ``ref`` what the remote's HEAD names.

    The folder is removed at the end, whatever the end. :class:`TargetError` says why there is no clone.
    """
    if ref and not is_ref_name(ref):
        raise TargetError([Problem(Code.GIT_NAME, f'"{ref}" is no name of a branch, a tag or a commit', where="--ref")])
    refuse_astray(Path())
    with tempfile.TemporaryDirectory(prefix="osm-gitops-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve() / "repo"
        extras = token.extras(address) if token else NO_EXTRAS
        said = _clone(root, address, ref, extras)
        if said.status != 0 and _NO_SUCH_REF in said.error:
            _clone_commit(root, address, ref, token, extras)
        elif said.status != 0:
            raise _error(address, said, extras)
        yield Clone(root, address.shown)


def _clone(root: Path, address: Address, ref: str, extras: Extras, *options: str) -> CompletedProcess:
    # What stays in the background after a fetch would disturb the removal of the folder.
    quiet = Extras(("-c", "gc.auto=0", "-c", "maintenance.auto=false", *extras.options), extras.environment)
    chosen = (f"--branch={ref}",) if ref else ()
    # A hook's environment may lead elsewhere. Where the work tree is named, clone takes its last word for the .git.
    return Git(root.parent, place=(f"--work-tree={root}",), index=root / ".git" / "index").execute(
        [
            *("clone", "--quiet", "--depth=1", "--single-branch", "--no-tags", "--no-local"),
            *(f"--origin={CLONE_REMOTE}", "--config=gc.auto=0", "--config=maintenance.auto=false"),
            *(*options, *chosen),
            *("--", address.text, str(root / ".git")),
        ],
        extras=quiet,
    )


def _clone_commit(root: Path, address: Address, ref: str, token: TokenFile | None, extras: Extras) -> None:
    where = address.shown
    if not _COMMIT.fullmatch(ref):
        raise TargetError(
            [
                Problem(
                    Code.GIT_NAME,
                    f'there is no branch and no tag "{ref}"',
                    where=where,
                    fix="Of a commit give the whole id",
                )
            ]
        )
    said = _clone(root, address, "", extras, "--no-checkout")
    if said.status != 0:
        raise _error(address, said, extras)
    repository = Repository(root)
    Remote(repository, CLONE_REMOTE, token).fetch_commit(ref)
    repository.git.run("checkout", "--quiet", "--detach", "FETCH_HEAD")


def _error(address: Address, said: CompletedProcess, extras: Extras) -> TargetError:
    return TargetError([failure("clone", said.error, address.shown, extras.hidden)])
