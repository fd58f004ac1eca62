"""Where a repository is at a forge: its kind, the address of its API, and its name there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from osm_gitops.errors import Code, InputError, input_error

if TYPE_CHECKING:
    from osm_gitops.git.address import Address


class ForgeKind(Enum):
    """The programs whose API is known. Forgejo has that of Gitea."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    FORGEJO = "forgejo"


_PUBLIC: Final = {
    "github.com": (ForgeKind.GITHUB, "https://api.github.com"),
    "gitlab.com": (ForgeKind.GITLAB, "https://gitlab.com/api/v4"),
    "gitea.com": (ForgeKind.GITEA, "https://gitea.com/api/v1"),
    "codeberg.org": (ForgeKind.FORGEJO, "https://codeberg.org/api/v1"),
}
_PATHS: Final = {
    ForgeKind.GITHUB: "/api/v3",
    ForgeKind.GITLAB: "/api/v4",
    ForgeKind.GITEA: "/api/v1",
    ForgeKind.FORGEJO: "/api/v1",
}
_SSH_OF_GITHUB: Final = "ssh.github.com"  # SSH on port 443
_TENANTS_OF_GITHUB: Final = ".ghe.com"


@dataclass(frozen=True, slots=True)
class Place:
    """A repository at a forge. ``api`` has no slash at its end; ``repository`` is ``owner/name``, at GitLab with all
    groups."""

    kind: ForgeKind
    api: str
    repository: str

    @property
    def owner(self) -> str:
        return self.repository.partition("/")[0]


def place_of(address: Address, kind: ForgeKind | None = None, api: str = "") -> Place:
    """The place of a git remote. ``kind`` and ``api`` are what the user named.

    Only the address of the remote and what the user named decide where a token goes. Raises InputError.
    """
    host, path = _host_and_path(address)
    if not path:
        raise input_error(
            Code.FORGE_UNKNOWN,
            f"the remote {address.shown} is not the address of a repository at a forge",
            where="--pull-request",
            fix="Push to a remote such as https://github.com/org/nodes.git",
        )
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    known = _PUBLIC.get("github.com" if name == _SSH_OF_GITHUB else name)
    if api:
        kind = kind or (known[0] if known else _guess(checked_api(api)) or _guess(name))
        api = checked_api(api)
    elif known and kind in {None, known[0]}:
        kind, api = known
    else:
        kind = kind or _guess(name)
        api = _derived(address, host, name, kind) if kind else ""
    if kind is None:
        raise input_error(
            Code.FORGE_UNKNOWN,
            f"the host {name} does not say which forge it is",
            where="--pull-request",
            fix=f"Name it with --forge: {', '.join(each.value for each in ForgeKind)}",
        )
    return Place(kind, api, _within(path, api, address))


def _host_and_path(address: Address) -> tuple[str, str]:
    """Host with port, and path without slashes around it and without ``.git``; empty if it is not a forge's."""
    if address.scheme in {"http", "https", "ssh"} and "://" in address.text:
        parts = urlsplit(address.text)
        host, path = parts.netloc.rpartition("@")[2].lower(), parts.path
    elif "://" not in address.text and ":" in address.text.partition("/")[0]:
        user, _, path = address.text.partition(":")
        host = user.rpartition("@")[2].lower()
    else:
        return "", ""
    path = path.strip("/").removesuffix(".git")
    whole = host and "/" in path and all(part not in {"", ".", ".."} for part in path.split("/"))
    return (host, path) if whole else ("", "")


def _guess(name: str) -> ForgeKind | None:
    """The kind by a host's name (``git.example.com`` has none), or by the address of an API."""
    if name.endswith(_TENANTS_OF_GITHUB):
        return ForgeKind.GITHUB
    return next((kind for kind in ForgeKind if kind.value in name), None)


def _derived(address: Address, host: str, name: str, kind: ForgeKind) -> str:
    if name.endswith(_TENANTS_OF_GITHUB):
        return f"https://api.{name}"
    if address.scheme == "http" and not address.is_loopback:
        raise _unencrypted(address.shown)
    # The port of SSH is not that of the API.
    return (
        f"{address.scheme}://{host}{_PATHS[kind]}"
        if address.scheme in {"http", "https"}
        else (f"https://{name}{_PATHS[kind]}")
    )


def checked_api(api: str, where: str = "--forge-api") -> str:
    """The address of an API, which the user named. Raises InputError, which does not repeat what may be a password."""
    try:
        parts = urlsplit(api)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    wrong = parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment
    if wrong or "@" in parts.netloc:
        raise input_error(
            Code.INVALID_OPTION,
            "is not an address such as https://git.example.com/api/v4",
            where=where,
            fix="Give the token with --forge-token-file" if "@" in parts.netloc else "",
        )
    from osm_gitops.git.address import Address  # noqa: PLC0415 - slow

    if parts.scheme == "http" and not Address(api, "http", parts.netloc).is_loopback:
        raise _unencrypted(api)
    return api.rstrip("/")


def _within(path: str, api: str, address: Address) -> str:
    """The repository's name. A forge below a path, as ``https://example.com/gitlab``, has it in its addresses too."""
    below = urlsplit(api).path.rpartition("/api/")[0].strip("/")
    own = below and address.scheme in {"http", "https"} and path.startswith(f"{below}/")
    return path.removeprefix(f"{below}/") if own else path


def _unencrypted(where: str) -> InputError:
    what = "a token is not sent over plain http"
    return input_error(Code.FORGE_TOKEN, what, where=where, fix="Use an https:// address")
