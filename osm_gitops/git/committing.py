"""What a commit needs beyond a repository: git itself, somebody who commits, and what signs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from osm_gitops.git.process import Git

_DATE = re.compile(r" \d+ [+-]\d{4}$")
_PROGRAMS = {"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}


@dataclass(frozen=True, slots=True)
class Signing:
    """How git signs: ``form`` is ``openpgp``, ``x509`` or ``ssh``, ``program`` makes the signature.

    ``key`` is empty where git's configuration names none; for ``ssh`` it is the key itself or the file of it.
    """

    form: str
    program: str
    key: str

    @property
    def key_file(self) -> Path | None:
        """The file of an SSH key; ``None`` for a key that an agent holds, and for other forms."""
        if self.form != "ssh" or not self.key or self.key.startswith(("ssh-", "ecdsa-", "sk-", "key::")):
            return None
        return Path(self.key)


class Committing:
    """git as it is set up for commits in a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises TargetError where git cannot be run or is too old."""
        self._git = Git(folder)

    def version(self) -> str:
        """As git tells it: ``2.47.1``, with its maker's additions."""
        return self._git.run("version").removeprefix("git version ").strip()

    def person(self, role: str) -> str | None:
        """``Name <mail>`` of the ``AUTHOR`` or ``COMMITTER``; ``None`` where git would refuse to commit without one."""
        said = self._git.execute(["var", f"GIT_{role}_IDENT"])
        return _DATE.sub("", said.out.strip()) if said.status == 0 else None

    def signing(self) -> Signing:
        """How a signature would be made here."""
        form = self._value("gpg.format") or "openpgp"
        program = self._value(f"gpg.{form}.program") or (self._value("gpg.program") if form == "openpgp" else "")
        key = self._git.attempt("config", "--type=path", "--get", "user.signingkey") or ""
        if form == "ssh" and not key and self._value("gpg.ssh.defaultKeyCommand"):
            key = "key::"
        return Signing(form, program or _PROGRAMS.get(form, form), key)

    def signs(self) -> bool:
        """Whether git's configuration asks to sign every commit."""
        return self._git.attempt("config", "--type=bool", "--get", "commit.gpgsign") == "true"

    def alters_line_ends(self, path: str) -> bool:
        """Whether a checkout would write other line ends into a file than were committed."""
        if self._value("core.autocrlf") != "true":
            return False
        return self._git.run("check-attr", "-z", "text", "--", path).split("\0")[2:3] != ["unset"]

    def _value(self, name: str) -> str:
        return self._git.attempt("config", "--get", name) or ""
