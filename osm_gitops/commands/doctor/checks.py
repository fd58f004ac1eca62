"""Findings of ``doctor``, and what it looks at on this machine: git, private keys (never their values), programs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from osm_gitops.cli.run_options import NoticeFormat, notifier
from osm_gitops.errors import Code, InputError, OsmGitopsError, Problem, TargetError
from osm_gitops.forge.token import ForgeToken
from osm_gitops.git.address import TokenFile
from osm_gitops.git.commits import Committing
from osm_gitops.sops.keys import Keyring, KeySearch, default_key_file
from osm_gitops.sops.recipients import shown
from osm_gitops.targets.file_encryption import DIGEST_KEY, FileEncryption


class State(Enum):
    """``NOTE``: worth knowing, and nothing that the next run needs. ``FIX``: a run would fail or be
    refused, or somebody may read what they should not."""

    OK = "ok"
    NOTE = "note"
    FIX = "fix"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``told`` need not be a problem: of what is fine it says what it is."""

    area: str
    state: State
    told: Problem


def ok(area: str, what: str) -> Finding:
    return Finding(area, State.OK, Problem(Code.CHECK_PASSED, what))


def note(area: str, code: Code, what: str, how: str = "") -> Finding:
    return Finding(area, State.NOTE, Problem(code, what, fix=how))


def fix(area: str, code: Code, what: str, how: str = "") -> Finding:
    return Finding(area, State.FIX, Problem(code, what, fix=how))


def found(area: str, problems: Iterable[Problem], state: State = State.FIX) -> Iterator[Finding]:
    """Problems as findings, each once."""
    return (Finding(area, state, problem) for problem in dict.fromkeys(problems))


_GIT = "git"
_WHO = {"AUTHOR": "author", "COMMITTER": "committer"}


def look_at_git(folder: Path) -> Iterator[Finding]:
    """git itself, and who would commit in a folder."""
    try:
        git = Committing(folder)
        yield ok(_GIT, f"version {git.version()}")
        yield from _people(git)
    except TargetError as failure:
        yield from found(_GIT, failure.problems)


def _people(git: Committing) -> Iterator[Finding]:
    people = {role: git.person(role) for role in _WHO}
    for role, person in people.items():
        if person is None:
            yield fix(
                _GIT,
                Code.COMMIT_PERSON_MISSING,
                f"nobody is named as the {_WHO[role]} of commits",
                f"Set git's user.name and user.email, or GIT_{role}_NAME and GIT_{role}_EMAIL",
            )
    known = dict.fromkeys(person for person in people.values() if person)
    if known:
        yield ok(_GIT, f"commits are by {', committed by '.join(known)}")


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
        what = f"commits are to be signed, and {signing.program} is not there"
        yield fix(_GIT, Code.SIGNING_PROGRAM_MISSING, what, "Install it, or mend PATH")
    elif signing.form == "ssh" and not signing.key:
        what = "commits are to be signed with an SSH key, and none is named"
        yield fix(_GIT, Code.SIGNING_KEY_MISSING, what, "Set git's user.signingkey")
    elif signing.key_file is not None and not signing.key_file.exists():
        what = f"commits are to be signed with {signing.key_file}, which is not there"
        yield fix(_GIT, Code.SIGNING_KEY_MISSING, what, "Correct git's user.signingkey")
    else:
        yield ok(_GIT, f"commits in {root} are signed by {program}")


def look_at_line_ends(root: Path, path: str) -> Iterator[Finding]:
    """Whether git would change what is in files of the desired state."""
    if Committing(root).alters_line_ends(path):
        yield note(
            _GIT,
            Code.LINE_ENDS_CHANGED,
            f"{root}: core.autocrlf makes other line ends in files than were committed, and runs take them for changes",
            "Write * -text into .gitattributes",
        )


_KEYS = "keys"


@dataclass(frozen=True, slots=True)
class Keys:
    """What a run encrypts and decrypts with. One search serves all that is looked at, as in a run."""

    search: KeySearch
    recipients: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def keyring(self) -> Keyring:
        """The keys at hand; none where one that was named cannot be read."""
        try:
            return self.search.keyring()
        except InputError:
            return Keyring()

    def encryption(self) -> FileEncryption:
        """Encryption in a target."""
        return FileEncryption(self.environment, self.recipients, self.search)


def look_at_keys(keys: Keys) -> Iterator[Finding]:
    """A line on each key, on what cannot be used, and on the key of digests."""
    try:
        yield from _found(keys.search.keyring(), keys.environment)
    except InputError as failure:
        yield from found(_KEYS, failure.problems)
    yield from _digest_key(keys)


def _found(keyring: Keyring, environment: Mapping[str, str]) -> Iterator[Finding]:
    for identity in keyring.identities:
        yield ok(_KEYS, f"{shown(identity.recipient)}: its private key is in {identity.place}")
    for text in keyring.notes:
        yield note(_KEYS, Code.KEY_PASSED_OVER, text)
    if not keyring:
        place = default_key_file(environment)
        yield note(
            _KEYS,
            Code.NO_PRIVATE_KEY,
            "no private key is where sops finds one, so nothing that is encrypted can be read",
            f"Put yours into {place}, or name its file in SOPS_AGE_KEY_FILE" if place else "Set SOPS_AGE_KEY_FILE",
        )


def _digest_key(keys: Keys) -> Iterator[Finding]:
    if not keys.environment.get(DIGEST_KEY):
        return
    try:
        if keys.encryption().can_compare:
            yield ok(_KEYS, f"{DIGEST_KEY} is set: what no key opens can be compared")
    except InputError as failure:
        yield from found(_KEYS, failure.problems)


def look_at_forge_token(file: Path | None, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the token for pull requests is where a run looks for it. The forge is not asked."""
    git = environment.get("OSM_GITOPS_GIT_TOKEN_FILE")
    token = ForgeToken(file, environment, TokenFile(Path(git)) if git else None)
    try:
        token.read()
    except OsmGitopsError as failure:
        yield from found("forge", failure.problems)
    else:
        yield ok("forge", "the token for pull requests can be read")


def look_at_webhook(file: Path | None) -> Iterator[Finding]:
    """Whether the address of the webhook can be read, if there is to be one. It gets no message."""
    try:
        hook = notifier(file, NoticeFormat.JSON, None)
    except OsmGitopsError as failure:
        yield from found("webhook", failure.problems)
    else:
        if hook.webhook is not None:
            yield ok("webhook", "its address can be read")


_PROGRAMS = {
    "sops": "opens and edits encrypted files by hand",
    "age-keygen": "makes keys, and prints the public side of one",
    "kubectl": "fills sources from a cluster",
    "kustomize": "shows what Flux and Argo CD make of the desired state",
}


def look_at_programs(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Which of them are on the path."""
    for name, use in _PROGRAMS.items():
        path = shutil.which(name, path=environment.get("PATH", ""))
        if path:
            yield ok("programs", f"{name} is {path}")
        else:
            what = f"{name} is not installed; it {use}, and no run needs it"
            yield note("programs", Code.PROGRAM_NOT_INSTALLED, what)
