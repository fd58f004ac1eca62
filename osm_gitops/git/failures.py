"""What git says when it fails, as sentences: what it means for the user, and what to do."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass

from osm_gitops.errors import Code, Problem

LONGEST_REASON = 600
REMOTE_VERBS = frozenset({"clone", "push", "fetch", "ls-remote"})
_USERINFO = re.compile(r"://[^\s@/]+@")
_REMOTE_SAID = re.compile(r"^remote: ?(.*?)\s*$", re.MULTILINE)
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What some words of git mean for the user."""

    words: re.Pattern[str]
    what: str
    fix: str


# First match wins. Patterns are git's, ssh's and curl's own words, in the C locale.
_LOCKED = _Meaning(
    re.compile(r"Unable to create '.*\.lock': File exists"),
    "another git works here, or one was killed and left its lock",
    "If no git runs in this repository any more, remove the .lock file that is named",
)
_REMOTE = (
    _Meaning(
        re.compile(r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED"),
        "ssh does not know the host key of the remote",
        "Check the key with the host's owner and add it to known_hosts; checking is never turned off here",
    ),
    _Meaning(
        re.compile(
            r"Authentication failed|could not read (?:Username|Password)|Permission denied|terminal prompts disabled"
            r"|Invalid username or password|HTTP Basic: Access denied|(?:returned error:|HTTP) (?:401|403)"
        ),
        "the remote does not accept the credentials",
        "Give git a key, a credential helper, or a token with --git-token-file FILE, that may do this",
    ),
    _Meaning(
        re.compile(
            r"Could not resolve host|Connection (?:refused|timed out|reset)|Failed to connect|No route to host"
            r"|Network is unreachable|Operation timed out|SSL|certificate"
        ),
        "the remote cannot be reached",
        "Check the address and the network, then run again",
    ),
    _Meaning(
        re.compile(r"does not appear to be a git repository|[Rr]epository .*not found|not found: |does not exist"),
        "there is no repository at the remote's address, or it is hidden from these credentials",
        "Check the address and the credentials",
    ),
    # What the remote itself refuses has a line of its own for each ref.
    _Meaning(re.compile(r"failed to push some refs"), "a pre-push hook here refused it", "Settle what it says"),
)
_COMMIT = (
    _Meaning(
        re.compile(
            r"gpg failed to sign|gpg\.format|user\.signing[kK]ey"
            r"|Couldn't load public key|ssh-keygen|unsupported value for gpg"
            r"|cannot run gpg|failed to write commit object"
        ),
        "the commit could not be signed",
        "Nothing was changed. Look at git's gpg.format and user.signingkey and at the key's agent, or use --no-sign",
    ),
    _Meaning(
        re.compile(r"Please tell me who you are|empty ident name|unable to auto-detect email"),
        "git does not know who commits",
        "Nothing was changed. Set GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL, GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL, "
        "or git's user.name and user.email",
    ),
)


def failure(verb: str, said: str, where: str, hidden: Iterable[str] = ()) -> Problem:
    """The problem of a failed git command. ``hidden`` are secrets that may stand in what was said."""
    reason = cut("; ".join(line.strip() for line in mask(said, hidden).splitlines() if line.strip())).rstrip(".")
    known = _REMOTE if verb in REMOTE_VERBS else _COMMIT if verb == "commit" else ()
    for meaning in (_LOCKED, *known):
        if meaning.words.search(said):
            return Problem(
                Code.GIT_COMMAND_FAILED, f"git {verb} failed: {meaning.what}: {reason}", where=where, fix=meaning.fix
            )
    fix = ""
    if verb == "commit":
        fix = "A hook or git itself refused the commit; nothing was changed"
    elif verb in REMOTE_VERBS:
        fix = "Check the address and the credentials of the remote"
    return Problem(Code.GIT_COMMAND_FAILED, f"git {verb} failed: {reason or 'no reason given'}", where=where, fix=fix)


def refusal_of(said: str, hidden: Iterable[str] = ()) -> str:
    """What the remote said to a refused push, in one line: its own words, else git's."""
    words = [line for line in _REMOTE_SAID.findall(mask(said, hidden)) if line]
    return cut("; ".join(words))


def mask(text: str, hidden: Iterable[str] = ()) -> str:
    """``text`` without user names and passwords of addresses, and without the ``hidden`` words."""
    for word in hidden:
        for form in (word, b64encode(word.encode()).decode().rstrip("=")):
            text = text.replace(form, _HIDDEN) if form else text
    return _USERINFO.sub("://", text)


def cut(text: str) -> str:
    """The end of a long text, where git and hooks say what counts."""
    return text.strip()[-LONGEST_REASON:]
