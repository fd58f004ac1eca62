"""A token in a mounted file as git's credentials.

git is given a credential helper of one line of shell that reads the file whenever git asks: mounted
tokens rotate. So the token is in no address, argument, environment or process list. The helper is bound
to the remote's own scheme, host and port, and stands alone there, so no other helper stores the token.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.address import Address
from osm_gitops.git.process import Extras

_FILE_VARIABLE = "OSM_GITOPS_GIT_TOKEN_FILE"
# `read` and `printf` are builtins of the shell: no process is started that could show the token.
# A user name in the address stays; hosts that want a certain one get it there.
_HELPER = (
    '!f() { test "$1" = get || exit 0; user=x-access-token;'
    ' while IFS= read -r line; do case "$line" in username=*) user=${line#username=};; "") break;; esac; done;'
    f' token=; read -r token < "${_FILE_VARIABLE}"; return=$(printf "\\r"); token=${{token%"$return"}};'
    ' test -n "$token" && printf "username=%s\\npassword=%s\\n" "$user" "$token"; }; f'
)


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A file whose first line is the token for pushes and fetches over HTTPS."""

    path: Path

    def extras(self, address: Address) -> Extras:
        """What git needs to use the token for an address; nothing where it has no use for one."""
        if address.scheme not in {"http", "https"}:
            return Extras()
        if address.scheme == "http" and not address.is_loopback:
            raise TargetError(
                [
                    Problem(
                        Code.GIT_TOKEN_FILE,
                        "a token is not sent over plain http",
                        where=address.shown,
                        fix="Use an https:// address",
                    )
                ]
            )
        scope = f"credential.{address.scheme}://{address.host}"
        return Extras(
            options=("-c", f"{scope}.helper=", "-c", f"{scope}.helper={_HELPER}"),
            environment={_FILE_VARIABLE: str(self.path.absolute())},
            hidden=(self._read(),),
        )

    def _read(self) -> str:
        where = f"--git-token-file {self._shown()}".rstrip()
        try:
            token = read_file(self.path, SMALL).decode().partition("\n")[0].strip()
        except OSError as fault:
            fix = "Give the name of a file whose first line is the token"
            raise TargetError(
                [Problem(Code.GIT_TOKEN_FILE, f"the token cannot be read: {fault.strerror}", where=where, fix=fix)]
            ) from fault
        except UnicodeDecodeError:
            raise TargetError(
                [Problem(Code.GIT_TOKEN_FILE, "is no text", where=where, fix="Put the token into its first line")]
            ) from None
        if not token:
            raise TargetError(
                [Problem(Code.GIT_TOKEN_FILE, "its first line is empty", where=where, fix="Put the token there")]
            )
        return token

    def _shown(self) -> str:
        # What is no path at all may be the token itself, given in place of the file's name.
        is_path = os.path.exists(self.path) or len(self.path.parts) > 1  # noqa: PTH110 - a name too long is no fault here
        return str(self.path) if is_path else ""
