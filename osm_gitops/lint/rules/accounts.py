"""Checks of the users and groups that units run as: does the image have them, or does something make them?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from osm_gitops.lint.rules.boot_file import Remark, words
from osm_gitops.lint.rules.boot_model import Boot, Spotted, at_file, parsed_unit
from osm_gitops.lint.rules.packages import installed_packages, installs_something_unknown
from osm_gitops.lint.rules.programs import runs_installers
from osm_gitops.lint.rules.slips import misspelled
from osm_gitops.lint.rules.systemd import TRUE_WORDS
from osm_gitops.lint.tables import read_table
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.shell.state import is_known

UNKNOWN: Final = Rule("unknown-user", Severity.ERROR, "a unit runs as a user or group that does not exist")
RULES: Final = (UNKNOWN,)

_ACCOUNTS: Final = words(read_table("known_names.toml")["accounts"]["names"])
_KEYS: Final = {"User": "user", "Group": "group", "SocketUser": "user", "SocketGroup": "group"}
_NAME: Final = re.compile(r"[a-z_][a-z0-9_-]*")
_MAKING: Final = ("useradd", "adduser", "groupadd", "addgroup", "newusers", "usermod", "groupmod")
_FILES: Final = ("/etc/passwd", "/etc/group", "/etc/sysusers.d/", "/usr/lib/sysusers.d/")


def check_accounts(boot: Boot) -> Iterator[Spotted]:
    """Check the users and groups of units. One that a package may bring is reported only if it is misspelled."""
    named = [
        (file, entry)
        for file in boot.texts
        for entry in (parsed_unit(file.text).entries if file.path.startswith("/etc/systemd/system/") else ())
        if entry.key in _KEYS and _NAME.fullmatch(entry.value) and entry.value not in _ACCOUNTS
    ]
    if not named or not boot.complete or any(path.startswith(_FILES) for path in boot.made):
        return
    made = frozenset(word for _, command in boot.named(*_MAKING) for word in command.words)
    made |= {word for path, file in boot.written.items() if "/sysusers.d/" in path for word in file.text.split()}
    if not all(map(is_known, made)):
        return
    packages = installed_packages(boot)
    uncertain = installs_something_unknown(boot) or runs_installers(boot)
    for file, entry in named:
        name = entry.value
        if name in made or any(name in package for package in packages) or _is_dynamic(file.text):
            continue
        near = misspelled(name, _ACCOUNTS | made)
        if near or not uncertain:
            message = f"nothing makes the {_KEYS[entry.key]} {name}, which {entry.key}= names"
            fix = f"Write {near}" if near else "Make it with useradd or groupadd before the unit starts"
            yield at_file(file, Remark(UNKNOWN, message, entry.line, fix))


def _is_dynamic(text: str) -> bool:
    return any(entry.key == "DynamicUser" and entry.value.lower() in TRUE_WORDS for entry in parsed_unit(text).entries)
