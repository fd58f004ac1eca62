"""Checks of commands that do not depend on the operating system: options, verbs, URLs and values that a program refuses
whenever it runs, and commands that never run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from osm_gitops.lint.rules.boot_file import Remark, words
from osm_gitops.lint.rules.boot_model import Boot, Spotted, at_command
from osm_gitops.lint.rules.packages import APT, APT_VERBS, YUM, YUM_VERBS, verb_of
from osm_gitops.lint.rules.slips import misspelled
from osm_gitops.lint.rules.values import shown
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.shell.simple_commands import SimpleCommand
from osm_gitops.shell.state import is_known

USAGE: Final = Rule("command-usage", Severity.ERROR, "a command does not take a word that it gets")
UNREACHABLE: Final = Rule("unreachable-command", Severity.WARNING, "a script ends before some of its commands")
RULES: Final = (USAGE, UNREACHABLE)

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/?/?(?=[\w\[])\S*")
_SCHEMES: Final = words("http https ftp ftps file sftp scp tftp dict gopher ws wss socks4 socks5 socks5h unix")
_MEANT: Final = frozenset({"http", "https"})
_CURL: Final = words(
    """
    cacert capath cert compressed config connect-timeout connect-to continue-at cookie create-dirs data data-binary
    data-raw data-urlencode dump-header fail fail-early fail-with-body form get head header http1.1 http2 include
    insecure interface ipv4 ipv6 json key location location-trusted max-redirs max-time netrc no-progress-meter noproxy
    output output-dir parallel post301 progress-bar proto proto-default proto-redir proxy proxy-cacert proxy-insecure
    proxy-user range referer remote-header-name remote-name remote-name-all remote-time request resolve retry
    retry-all-errors retry-connrefused retry-delay retry-max-time show-error silent speed-limit speed-time
    socks5-hostname stderr tcp-nodelay time-cond tls-max tlsv1.2 tlsv1.3 trace unix-socket upload-file url user
    user-agent verbose version write-out
    """
)
_WGET: Final = words(
    """
    background ca-certificate ca-directory certificate connect-timeout content-disposition continue debug delete-after
    directory-prefix dns-timeout header help inet4-only inet6-only input-file limit-rate max-redirect mirror
    no-cache no-check-certificate no-clobber no-host-directories no-parent no-proxy no-verbose output-document
    output-file password post-data private-key progress quiet quota random-wait read-timeout recursive referer
    retry-connrefused retry-on-http-error save-headers secure-protocol server-response show-progress spider timeout
    timestamping tries trust-server-names user user-agent verbose version wait waitretry
    """
)
_NUMBERS: Final = words("--retry --retry-delay --retry-max-time --max-time --connect-timeout --max-redirs -m")
_APT_OTHERS: Final = words(
    """
    update clean autoclean check download source changelog indextargets list search show edit-sources showpkg policy
    depends rdepends moo help markauto unmarkauto hold unhold why why-not keep versions
    """
)
_YUM_OTHERS: Final = words(
    """
    makecache clean list search info provides whatprovides repolist repoinfo check check-update config-manager copr
    deplist download history mark versionlock updateinfo repoquery resolvedep repo-pkgs shell builddep groupinfo
    grouplist groupremove groupupdate localupdate load-transaction upgrade-minimal help alias
    security needs-restarting
    """
)
_SET: Final = words(
    """
    allexport braceexpand emacs errexit errtrace functrace hashall histexpand history ignoreeof interactive-comments
    keyword monitor noclobber noexec noglob nolog notify nounset onecmd physical pipefail posix privileged verbose vi
    xtrace
    """
)
_CHECKSUMS: Final = ("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum")


def check_words(boot: Boot) -> Iterator[Spotted]:
    """Check the words of commands that a program refuses."""
    for run, command in boot.named(*_CHECKS):
        if command.tolerated or command.name in run.listing.functions:
            continue
        for message, fix in _CHECKS[command.name](command):
            yield at_command(run, command, Remark(USAGE, f"{command.name} {message}", fix=fix))


def check_reachable(boot: Boot) -> Iterator[Spotted]:
    """Check that no script ends before its last command."""
    for run in boot.scripts:
        line = run.listing.unreachable
        if line:
            message = "the script ends before this command, which never runs"
            fix = "Remove the exit or exec before it, or what follows"
            yield Spotted((run.path, run.half, run.module), Remark(UNREACHABLE, message, line, fix))


_Faults = Iterator[tuple[str, str]]


def _downloads(command: SimpleCommand) -> _Faults:
    arguments = command.words[1:]
    known = _CURL if command.name == "curl" else _WGET
    for number, word in enumerate(arguments):
        name = word.removeprefix("--").partition("=")[0] if word.startswith("--") else ""
        # An option may be shortened, and --no-… switches one off.
        is_option = name.removeprefix("no-") in known or any(each.startswith(name) for each in known)
        if name and is_known(name) and not is_option and (near := misspelled(name, known)):
            yield f"does not have an option --{name}", f"Write --{near}"
        following = arguments[number + 1] if number + 1 < len(arguments) else ""
        is_number = not is_known(following) or re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", following)
        if command.name == "curl" and word in _NUMBERS and not is_number:
            yield f"gets no number behind {word}", f"Write a number behind {word}"
        match = _SCHEME.fullmatch(word) if "://" in word else None
        if match is not None and match[1].lower() not in _SCHEMES and is_known(match[1]):
            near = misspelled(match[1].lower(), _MEANT)
            yield f"does not know the scheme of {shown(word)}", f"Write {near}://" if near else "Write https://"


def _verbs(command: SimpleCommand) -> _Faults:
    known = APT_VERBS | _APT_OTHERS if command.name in APT else YUM_VERBS | _YUM_OTHERS
    verb = verb_of(command.words[1:])
    if verb and is_known(verb) and (near := misspelled(verb, known)):
        yield f"does not have a command {verb}", f"Write {near}"


def _sysctl(command: SimpleCommand) -> _Faults:
    if "=" in command.words[1:]:
        yield "gets an = that is a word of its own", "Write key=value without blanks"


def _set(command: SimpleCommand) -> _Faults:
    # The words behind options with an o are names: set -euo pipefail, set +o xtrace.
    words_of = iter(command.words[1:])
    for word in words_of:
        if word in {"-", "--"} or not is_known(word) or not re.fullmatch(r"[-+][a-zA-Z]+", word):
            return
        for _ in range(word.count("o")):
            name = next(words_of, "")
            if name and is_known(name) and name not in _SET and (near := misspelled(name, _SET)):
                yield f"does not know the option {name}", f"Write {near}"


def _tar(command: SimpleCommand) -> _Faults:
    # Of options without a dash, f takes the next word, whatever it is.
    first, second = [*command.words[1:3], "", ""][:2]
    if re.fullmatch(r"[a-zA-Z]*f[a-zA-Z]*", first) and set(first) & set("xct") and re.match(r"-[a-zA-Z-]", second):
        yield f"takes {second} for the archive, because of {first}", "Write the archive behind these letters"


def _checksum(command: SimpleCommand) -> _Faults:
    checks = any(re.fullmatch(r"--check|-[a-z]*c[a-z]*", word) for word in command.words[1:])
    line = (command.given or "").strip().partition("\n")[0].split()
    if checks and len(line) == 2 and line[0].startswith("/") and not line[1].startswith("/"):
        yield "--check expects the checksum before the file", 'Write echo "$sum  $file"'


_CHECKS: Final[Mapping[str, Callable[[SimpleCommand], _Faults]]] = {
    "curl": _downloads,
    "wget": _downloads,
    "set": _set,
    "sysctl": _sysctl,
    "tar": _tar,
    **dict.fromkeys(sorted(APT | YUM), _verbs),
    **dict.fromkeys(_CHECKSUMS, _checksum),
}
