"""Addresses of repositories: which are taken, and how they are shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from osm_gitops.errors import Code, InputError, input_error
from osm_gitops.git.failures import mask

_SCHEMES = frozenset({"https", "http", "ssh", "git", "file"})
# As git tells it from a path: a colon before the first slash.
_SCP_LIKE = re.compile(r"(?:[^@/:\s]+@)?(\[[0-9A-Fa-f:.]+\]|[^@/:\s\[\]]+):(?!//).+")
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Forges take these without a user name, so people write them in its place.
_TOKEN = re.compile(r"(?:gh[opusr]_|github_pat_|glpat-|gldt-|glcbt-|ATBB|ATCTT)[\w-]{6,}")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_PASSWORD = re.compile(r"[^/@]*:[^/@]*@")
_LEAVE_OUT = "Leave it out: git finds a key or credential helper itself, and --git-token-file FILE gives it a token"


@dataclass(frozen=True, slots=True)
class Address:
    """An address as git takes it. ``scheme`` is empty for a path, ``host`` has the port, without user."""

    text: str
    scheme: str = ""
    host: str = ""

    @property
    def shown(self) -> str:
        """For messages: without user name."""
        return mask(self.text)

    @property
    def is_loopback(self) -> bool:
        """Whether what is sent there never leaves the machine."""
        name = urlsplit(f"//{self.host}").hostname or ""
        return name in {"localhost", "::1"} or bool(re.fullmatch(r"127(?:\.\d{1,3}){3}", name))


def parse_address(text: str, flag: str = "--repo") -> Address:
    """An address that a user gave; a relative path starts in the current folder.

    :class:`~osm_gitops.errors.InputError` for passwords and tokens in it, and for what would run a program.
    """
    if not text or text.startswith("-") or _CONTROL.search(text) or _HELPER.match(text):
        raise _refused(flag, f'"{mask(text)}" is no address of a git repository')
    if _DRIVE.match(text) or "://" not in text:
        return _without_scheme(text, flag)
    try:
        parts = urlsplit(text)
        host = parts.netloc.rpartition("@")[2]
        _ = parts.port
    except ValueError:
        raise _refused(flag, f'"{mask(text)}" is no address of a git repository') from None
    if parts.scheme not in _SCHEMES:
        raise _refused(flag, f'git repositories are not fetched by "{parts.scheme}"')
    if host.startswith("-") or (not host and parts.scheme != "file"):
        raise _refused(flag, f'"{mask(text)}" names no host')
    _refuse_credentials(parts, flag)
    return Address(text, parts.scheme, host)


def _without_scheme(text: str, flag: str) -> Address:
    if not _DRIVE.match(text) and _PASSWORD.match(text):
        raise input_error(Code.CREDENTIAL_IN_ADDRESS, "there is a password in the address", where=flag, fix=_LEAVE_OUT)
    scp_like = None if _DRIVE.match(text) else _SCP_LIKE.fullmatch(text)
    if scp_like is None:
        return Address(str(Path(text).absolute()))
    if scp_like[1].startswith("-"):
        raise _refused(flag, f'"{text}" names no host')
    return Address(text, "ssh", scp_like[1])


def _refuse_credentials(parts: SplitResult, flag: str) -> None:
    if parts.password is not None:
        raise input_error(Code.CREDENTIAL_IN_ADDRESS, "there is a password in the address", where=flag, fix=_LEAVE_OUT)
    if parts.scheme in {"http", "https"} and (_TOKEN.fullmatch(parts.username or "") or parts.query):
        raise input_error(Code.CREDENTIAL_IN_ADDRESS, "there is a token in the address", where=flag, fix=_LEAVE_OUT)


def _refused(flag: str, what: str) -> InputError:
    return input_error(
        Code.REPOSITORY_ADDRESS, what, where=flag, fix="Give an https, ssh or file address, user@host:path, or a path"
    )


def address_of(text: str) -> Address:
    """The address that a repository's config holds for a remote, as it is."""
    if "://" not in text:
        return Address(text)
    parts = urlsplit(text)
    return Address(text, parts.scheme, parts.netloc.rpartition("@")[2])
