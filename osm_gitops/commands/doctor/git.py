"""git, as it is set up on this machine and in the repositories of a fleet."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from osm_gitops.commands.doctor.finding import Finding, fix, found, note, ok
from osm_gitops.errors import TargetError
from osm_gitops.git.committing import Committing

_AREA = "git"
_WHO = {"AUTHOR": "author", "COMMITTER": "committer"}


def look_at_git(folder: Path) -> Iterator[Finding]:
    """git itself, and who would commit in a folder."""
    try:
        git = Committing(folder)
        yield ok(_AREA, f"version {git.version()}")
        yield from _people(git)
    except TargetError as failure:
        yield from found(_AREA, failure.problems)


def _people(git: Committing) -> Iterator[Finding]:
    people = {role: git.person(role) for role in _WHO}
    for role, person in people.items():
        if person is None:
            yield fix(
                _AREA,
                f"nobody is named as the {_WHO[role]} of commits",
                f"Set git's user.name and user.email, or GIT_{role}_NAME and GIT_{role}_EMAIL",
            )
    known = dict.fromkeys(person for person in people.values() if person)
    if known:
        yield ok(_AREA, f"commits are by {', committed by '.join(known)}")


def look_at_signing(root: Path, wanted: bool | None, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Where commits are to be signed, by the fleet file or by git's configuration: what a signature needs.

    None is made, for that may ask for a passphrase.
    """
    git = Committing(root)
    if not (git.signs() if wanted is None else wanted):
        return
    signing = git.signing()
    program = shutil.which(signing.program, path=environment.get("PATH", ""))
    if program is None:
        yield fix(_AREA, f"commits are to be signed, and {signing.program} is not there", "Install it, or mend PATH")
    elif signing.form == "ssh" and not signing.key:
        yield fix(_AREA, "commits are to be signed with an SSH key, and none is named", "Set git's user.signingkey")
    elif signing.key_file is not None and not signing.key_file.exists():
        what = f"commits are to be signed with {signing.key_file}, which is not there"
        yield fix(_AREA, what, "Correct git's user.signingkey")
    else:
        yield ok(_AREA, f"commits in {root} are signed by {program}")


def look_at_line_ends(root: Path, path: str) -> Iterator[Finding]:
    """Whether git would change what is in files of the desired state."""
    if Committing(root).alters_line_ends(path):
        yield note(
            _AREA,
            f"{root}: core.autocrlf makes other line ends in files than were committed, and runs take them for changes",
            "Write * -text into .gitattributes",
        )
