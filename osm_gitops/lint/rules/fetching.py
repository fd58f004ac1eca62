"""Checks of downloads: failures that curl hides, authorities that are not trusted yet, one architecture only, and keys
of apt that nothing writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from osm_gitops.lint.rules.boot_file import Remark, line_of, normal_path, words
from osm_gitops.lint.rules.boot_model import Boot, Run, Spotted, at_command, at_file
from osm_gitops.lint.rules.programs import MISSING_FILE, runs_installers
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.shell.simple_commands import SimpleCommand, simple_commands
from osm_gitops.shell.state import known_length, shown

NO_FAIL: Final = Rule("curl-without-fail", Severity.WARNING, "curl takes the error page of a server for the file")
UNTRUSTED: Final = Rule(
    "download-before-ca", Severity.WARNING, "a download comes before the CA that it may need is trusted"
)
NOT_TRUSTED: Final = Rule("ca-not-trusted", Severity.ERROR, "nothing makes the system trust a CA that is written")
ARCHITECTURE: Final = Rule("one-architecture", Severity.WARNING, "a download is of one architecture only")
RULES: Final = (NO_FAIL, UNTRUSTED, NOT_TRUSTED, ARCHITECTURE)

_FAIL: Final = re.compile(r"-[a-zA-Z#0-9]*f[a-zA-Z#]*|--fail(?:-with-body|-early)?")
_WITH_VALUE: Final = re.compile(r"-[a-zA-Z#]*[AbcCdDeEFhHKmoPQrtTuUvwxXyYz]")
_INSECURE: Final = re.compile(
    r"-[a-zA-Z#]*k[a-zA-Z#]*|--insecure|--cacert|--capath|--no-check-certificate|--ca-certificate.*"
)
_LOCAL: Final = re.compile(
    r"https?://(?:localhost|127\.|\[?::1|169\.254\.|\[?fe80|\[?fd00:ec2|metadata[./]|metadata\.google|100\.100\.100\.200)"
)
# What takes what it reads as it is: an error page becomes a script, a key, or a file.
_BLIND: Final = words("bash sh dash python python3 perl tee tar gpg apt-key base64 bsdtar gunzip cat sudo rpm dd")
_HTTPS: Final = re.compile(r"https://", re.IGNORECASE)
_API: Final = re.compile(r"^https://.*/api/v1/namespaces/")
_TRUSTING: Final = words("update-ca-certificates update-ca-trust trust")
_ANCHORS: Final = {
    "ubuntu": ("/usr/local/share/ca-certificates/",),
    **dict.fromkeys(
        ("rhel", "rockylinux", "amzn2"),
        ("/etc/pki/ca-trust/source/anchors/", "/usr/share/pki/ca-trust-source/anchors/"),
    ),
}
_ARCHITECTURES: Final = re.compile(r"(?<![a-z0-9])(amd64|x86_64|x86-64|x64|arm64|aarch64)(?![a-z0-9])")
_CHOSEN: Final = re.compile(r"uname|\barch\b|ARCH|dpkg|amd64|x86_64|arm64|aarch64|machine", re.IGNORECASE)
_ONE_OF: Final = re.compile(r"^[^#\n]*\[[^\]\n]*\barch=(amd64|arm64)(?:\s|\])", re.MULTILINE)
_BASE_URL: Final = re.compile(r"^\s*(?:baseurl|mirrorlist|metalink)\s*=\s*\S*?\b(x86_64|aarch64)\b", re.MULTILINE)

_KEY_OF_APT: Final = re.compile(r"(?:\bsigned-by=|^[ \t]*Signed-By:[ \t]*)(/[\w./+-]*\w)", re.MULTILINE | re.IGNORECASE)
_KEY_FOLDERS: Final = ("/etc/apt/keyrings/", "/opt/", "/usr/local/", "/root/", "/srv/")  # images have keys in others
_NOT_WRITING: Final = words("chmod chown chgrp rm test [ echo printf cat ls stat gpgv sed grep")


def check_fail(boot: Boot) -> Iterator[Spotted]:
    """curl ends successfully with the page of an error, unless it has ``-f``."""
    for run, command in boot.named("curl"):
        url = _url(command)
        arguments = command.words[1:]
        if (
            not url
            or _LOCAL.match(url)
            or _has(arguments, _FAIL)
            or any(each in arguments for each in ("-K", "--config"))
        ):
            continue
        if any(
            word in {"-w", "--write-out", "-I", "--head", "-q"} or word.startswith("--write-out=") for word in arguments
        ):
            continue
        saved = (
            bool(command.writes)
            or command.captured
            or _has(arguments, re.compile(r"-[a-zA-Z#]*[oO]|--output(?:=.*)?|--remote-name(?:-all)?|-o.+"))
        )
        discarded = any(word in {"/dev/null", "-o/dev/null"} for word in arguments)
        following = command.feeds[0] if command.feeds else ""
        if (saved and not discarded and not command.feeds) or following in _BLIND:
            what = f"what {following} reads" if following else "the file"
            message = f"without -f, curl takes an error page of the server for {what}"
            yield at_command(run, command, Remark(NO_FAIL, message, fix="Write curl -f"))


def _has(arguments: tuple[str, ...], option: re.Pattern[str]) -> bool:
    """Whether one of the options is there; the values of other options do not count."""
    following = False
    for word in arguments:
        if following:
            following = False
            continue
        if option.fullmatch(word):
            return True
        following = _WITH_VALUE.fullmatch(word) is not None
    return False


def _url(command: SimpleCommand) -> str:
    """The URL that a command fetches, as far as it is known."""
    return next((word for word in command.words[1:] if "://" in _known(word) or word.startswith("\ue000")), "")


def check_authorities(boot: Boot) -> Iterator[Spotted]:
    """Downloads by https before the system trusts the CA that they may need, and a CA that nothing trusts."""
    for run in boot.runs:
        first = next((at for at, each in enumerate(run.listing.commands) if each.name in _TRUSTING), 0)
        for command in run.listing.commands[:first]:
            if command.name not in {"curl", "wget"}:
                continue
            if _HTTPS.match(_url(command)) and not _has(command.words[1:], _INSECURE):
                message = f"{command.name} downloads before {run.listing.commands[first].name} makes the CA trusted"
                fix = "Make the system trust the CA first"
                yield at_command(run, command, Remark(UNTRUSTED, message, fix=fix), called=True)
                break
    if not any(True for _ in boot.named(*_TRUSTING)):
        yield from _untrusted(boot)


def _untrusted(boot: Boot) -> Iterator[Spotted]:
    """What needs another CA where nothing makes the system trust one."""
    for run, command in boot.named("curl"):
        config = any(word in {"-K", "--config"} for word in command.words)
        if _API.search(_url(command)) and not (config or _has(command.words[1:], _INSECURE)):
            message = "curl asks the API server, whose CA the system does not trust"
            yield at_command(run, command, Remark(UNTRUSTED, message, fix="Write --cacert with the file of the CA"))
    folders = _ANCHORS.get(boot.os, ())
    if not folders or not boot.complete:
        return
    program = "update-ca-certificates" if boot.os == "ubuntu" else "update-ca-trust"
    message, fix = f"nothing runs {program}, so the CA is not trusted", "Run it before downloads"
    for file in boot.files:
        if file.path.startswith(folders):
            yield at_file(file, Remark(NOT_TRUSTED, message, 0, fix))
    for run, command in boot.named("cat", "tee", "cp", "curl"):
        if any(path.startswith(folders) for path in (*command.writes, *command.words[1:])):
            yield at_command(run, command, Remark(NOT_TRUSTED, message, fix=fix))


def check_architecture(boot: Boot) -> Iterator[Spotted]:
    """Nodes of both architectures boot from one profile, unless its scripts say otherwise."""
    for run, command in boot.named("curl", "wget", "yum", "dnf", "rpm"):
        url = _url(command)
        found = _ARCHITECTURES.search(shown(url)) if known_length(url) else None
        if found and _ARCHITECTURES.search(_known(url)) and not _is_chosen(run, command, found[1]):
            message = f"{command.name} downloads for {found[1]}, whatever the machine is"
            yield at_command(run, command, Remark(ARCHITECTURE, message, fix=_ARCHITECTURE_FIX))
    for run, command in boot.named("echo", "tee", "cat", "add-apt-repository"):
        text = command.given if command.name in {"tee", "cat"} else " ".join(command.words[1:])
        target = " ".join((*command.writes, *command.words[1:], *command.feeds))
        if text and ("/etc/apt/" in target or "/yum.repos.d/" in target or command.name == "add-apt-repository"):
            match = _ONE_OF.search(text) or _BASE_URL.search(text)
            if match and not _is_chosen(run, command, match[1]):
                message = f"the repository is only for {match[1]}, whatever the machine is"
                yield at_command(run, command, Remark(ARCHITECTURE, message, fix=_REPOSITORY_FIX))
    for file in boot.files:
        if file.path.startswith(("/etc/apt/sources.list", "/etc/yum.repos.d/")):
            match = _ONE_OF.search(file.text) or _BASE_URL.search(file.text)
            if match:
                line = file.text.count("\n", 0, match.start(1)) + 1
                message = f"the repository is only for {match[1]}, whatever the machine is"
                yield at_file(file, Remark(ARCHITECTURE, message, line, _REPOSITORY_FIX))


_ARCHITECTURE_FIX: Final = "Choose it by $(uname -m)"
_REPOSITORY_FIX: Final = "Leave out arch=, or write $(dpkg --print-architecture); in a file of yum $basearch"


def _known(text: str) -> str:
    return re.sub("\ue000[^\ue001]*\ue001", " ", text) if "\ue000" in text else text


def _is_chosen(run: Run, command: SimpleCommand, architecture: str) -> bool:
    """Whether the script asks for the architecture, or has a second download for the other one."""
    if any(_CHOSEN.search(test) for test in command.tests):
        return True
    others = ("amd64", "x86_64") if architecture in {"arm64", "aarch64"} else ("arm64", "aarch64")
    fetching = (each for name in ("curl", "wget", "echo", "tee", "cat") for each in run.listing.by_name.get(name, ()))
    texts = [text for each in fetching for text in (*each.words, each.given or "") if "://" in text or "deb" in text]
    return any(other in text for text in texts for other in others)


def check_keys_of_apt(boot: Boot) -> Iterator[Spotted]:
    """The keys that sources of apt name, in folders that an image leaves empty: does anything write them?"""
    if boot.os != "ubuntu" or not boot.complete or runs_installers(boot):
        return
    for file in boot.files:
        if file.path.startswith("/etc/apt/sources.list"):
            for match in _KEY_OF_APT.finditer(file.text):
                if _lacks_key(boot, match[1]):
                    yield at_file(file, _key_remark(match[1], line_of(file.text, match.start(1))))
    for run in boot.runs:
        for command, path in _keys_of_apt(run.text):
            if _lacks_key(boot, path):
                yield at_command(run, command, _key_remark(path))


@lru_cache(maxsize=512)
def _keys_of_apt(text: str) -> tuple[tuple[SimpleCommand, str], ...]:
    """The keys in the sources of apt that a script writes."""
    if "signed-by" not in text.lower():
        return ()
    return tuple(
        (command, match[1])
        for command in simple_commands(text).commands
        for match in _KEY_OF_APT.finditer("\n".join((*command.words[1:], command.given or "")))
        if not command.tolerated and not command.tests
    )


def _lacks_key(boot: Boot, path: str) -> bool:
    """Whether it is certain that a key is missing."""
    if not path.startswith(_KEY_FOLDERS) or normal_path(path) in boot.written or boot.makes(path):
        return False
    # A command that is told of the file may write it.
    return not any(
        path in word and "signed-by" not in word.lower()
        for _, command in boot.commands()
        if command.name not in _NOT_WRITING
        for word in command.words
    )


def _key_remark(path: str, line: int = 1) -> Remark:
    message = f"a source of apt names the key {path}, which neither a file nor a script of the profile writes"
    return Remark(MISSING_FILE, message, line, "Download the key to this path, or correct it")
