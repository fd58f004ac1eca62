"""Addresses of repositories, and a token in a mounted file as git's credentials.

git runs a credential helper, one line of shell, which reads the file each time, since mounted tokens rotate. The token
is in no address, argument, environment or process list. The helper is bound to the remote's scheme, host and port, and
replaces all others there, so no other helper stores the token.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.errors import Code, InputError, input_error, target_error
from osm_gitops.git.process import Extras, mask

_SCHEMES = frozenset({"https", "http", "ssh", "git", "file"})
# By git's rule: a colon before the first slash.
_SCP_LIKE = re.compile(r"(?:[^@/:\s]+@)?(\[[0-9A-Fa-f:.]+\]|[^@/:\s\[\]]+):(?!//).+")
_HELPER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Forges accept these as user names.
_TOKEN = re.compile(r"(?:gh[opusr]_|github_pat_|glpat-|gldt-|glcbt-|ATBB|ATCTT)[\w-]{6,}")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_PASSWORD = re.compile(r"[^/@]*:[^/@]*@")
_LEAVE_OUT = "Remove it: git finds a key or credential helper itself, and --git-token-file FILE gives it a token"


@dataclass(frozen=True, slots=True)
class Address:
    """An address for git. ``scheme`` is empty for a path. ``host`` includes the port, not the user."""

    text: str
    scheme: str = ""
    host: str = ""

    @property
    def shown(self) -> str:
        """For messages: without user name."""
        return mask(self.text)

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        name = urlsplit(f"//{self.host}").hostname or ""
        return name in {"localhost", "::1"} or bool(re.fullmatch(r"127(?:\.\d{1,3}){3}", name))


def parse_address(text: str, flag: str = "--repo") -> Address:
    """Parse an address of a user; a relative path starts in the current folder.

    Raises InputError for passwords and tokens in it, and for addresses that would run a program.
    """
    if not text or text.startswith("-") or _CONTROL.search(text) or _HELPER_NAME.match(text):
        raise _refused(flag, f'"{mask(text)}" is not an address of a git repository')
    if _DRIVE.match(text) or "://" not in text:
        return _without_scheme(text, flag)
    try:
        parts = urlsplit(text)
        host = parts.netloc.rpartition("@")[2]
        _ = parts.port
    except ValueError:
        raise _refused(flag, f'"{mask(text)}" is not an address of a git repository') from None
    if parts.scheme not in _SCHEMES:
        raise _refused(flag, f'git repositories are not fetched by "{parts.scheme}"')
    if host.startswith("-") or (not host and parts.scheme != "file"):
        raise _refused(flag, f'"{mask(text)}" names no host')
    _refuse_credentials(parts, flag)
    return Address(text, parts.scheme, host)


def _without_scheme(text: str, flag: str) -> Address:
    if not _DRIVE.match(text) and _PASSWORD.match(text):
        raise input_error(Code.CREDENTIAL_IN_ADDRESS, "the address contains a password", where=flag, fix=_LEAVE_OUT)
    scp_like = None if _DRIVE.match(text) else _SCP_LIKE.fullmatch(text)
    if scp_like is None:
        return Address(str(Path(text).absolute()))
    if scp_like[1].startswith("-"):
        raise _refused(flag, f'"{text}" names no host')
    return Address(text, "ssh", scp_like[1])


def _refuse_credentials(parts: SplitResult, flag: str) -> None:
    if parts.password is not None:
        raise input_error(Code.CREDENTIAL_IN_ADDRESS, "the address contains a password", where=flag, fix=_LEAVE_OUT)
    if parts.scheme in {"http", "https"} and (_TOKEN.fullmatch(parts.username or "") or parts.query):
        raise input_error(Code.CREDENTIAL_IN_ADDRESS, "the address contains a token", where=flag, fix=_LEAVE_OUT)


def _refused(flag: str, what: str) -> InputError:
    return input_error(
        Code.REPOSITORY_ADDRESS, what, where=flag, fix="Give an https, ssh or file address, user@host:path, or a path"
    )


def address_of(text: str) -> Address:
    """The address in a repository's configuration, as written."""
    if "://" not in text:
        return Address(text)
    parts = urlsplit(text)
    return Address(text, parts.scheme, parts.netloc.rpartition("@")[2])


_FILE_VARIABLE = "OSM_GITOPS_GIT_TOKEN_FILE"
# `read` and `printf` are shell builtins: no process shows the token. A user name in the address is kept, since some
# hosts need a certain one.
_HELPER = (
    '!f() { test "$1" = get || exit 0; user=x-access-token;'
    ' while IFS= read -r line; do case "$line" in username=*) user=${line#username=};; "") break;; esac; done;'
    f' token=; read -r token < "${_FILE_VARIABLE}"; return=$(printf "\\r"); token=${{token%"$return"}};'
    ' test -n "$token" && printf "username=%s\\npassword=%s\\n" "$user" "$token"; }; f'
)


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A file whose first line is a token: for pushes and fetches over HTTPS, or what the flag says."""

    path: Path
    flag: str = "--git-token-file"

    def extras(self, address: Address) -> Extras:
        """Options and environment for git to use the token; empty if the address does not use one."""
        if address.scheme not in {"http", "https"}:
            return Extras()
        if address.scheme == "http" and not address.is_loopback:
            raise target_error(
                Code.GIT_TOKEN_FILE,
                "a token is not sent over plain http",
                where=address.shown,
                fix="Use an https:// address",
            )
        scope = f"credential.{address.scheme}://{address.host}"
        return Extras(
            options=("-c", f"{scope}.helper=", "-c", f"{scope}.helper={_HELPER}"),
            environment={_FILE_VARIABLE: str(self.path.absolute())},
            hidden=(self.read(),),
        )

    def read(self) -> str:
        """The token. Raises TargetError, which does not repeat it."""
        where = f"{self.flag} {self._shown()}".rstrip()
        try:
            token = read_file(self.path, SMALL).decode().partition("\n")[0].strip()
        except OSError as fault:
            fix = "Name a file whose first line is the token"
            raise target_error(
                Code.GIT_TOKEN_FILE, f"the token cannot be read: {fault.strerror}", where=where, fix=fix
            ) from fault
        except UnicodeDecodeError:
            raise target_error(
                Code.GIT_TOKEN_FILE, "is not a text", where=where, fix="Put the token into its first line"
            ) from None
        if not token:
            raise target_error(Code.GIT_TOKEN_FILE, "its first line is empty", where=where, fix="Put the token there")
        return token

    def _shown(self) -> str:
        # A text that is not a path may be the token itself.
        is_path = os.path.exists(self.path) or len(self.path.parts) > 1  # noqa: PTH110 - takes any text
        return str(self.path) if is_path else ""
