"""What commands ask for, found in their words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from osm_gitops.downloads.need import Kind, Need, need
from osm_gitops.shell.state import Command, is_known, known_length, shown

Asks = Callable[[Command], Iterator[Need]]

# Options whose value is the next word, and is not a request.
_CURL: Final = frozenset(
    {"-o", "--output", "-H", "--header", "-x", "--proxy", "-U", "--proxy-user", "-u", "--user", "-d", "--data", "-X",
     "--request", "-A", "--user-agent", "-e", "--referer", "-b", "--cookie", "-c", "--cookie-jar", "-m", "--max-time",
     "--connect-timeout", "--retry", "--retry-delay", "--retry-max-time", "--cacert", "--capath", "-E", "--cert",
     "--key", "-w", "--write-out", "-D", "--dump-header", "-T", "--upload-file", "--resolve", "--noproxy", "-F",
     "--form", "--data-binary", "--data-raw", "--data-urlencode", "--interface", "--limit-rate", "-r", "--range",
     "--output-dir", "-z", "--time-cond", "--unix-socket", "--max-redirs", "--tls-max", "--ciphers", "-y", "-Y", "-C",
     "--continue-at", "--max-filesize", "--connect-to", "--preproxy", "--socks5", "--socks5-hostname", "--json",
     "--proto", "--proto-default", "--proto-redir", "--cert-type", "--key-type", "--pass", "--crlfile", "--curves",
     "--netrc-file", "--doh-url", "--keepalive-time", "--parallel-max", "--url-query", "--aws-sigv4", "--pinnedpubkey",
     "--speed-limit", "--speed-time", "--stderr", "--trace", "--oauth2-bearer", "--dns-servers", "-K", "--config"}
)  # fmt: skip
_WGET: Final = frozenset(
    {"-O", "--output-document", "-o", "--output-file", "-P", "--directory-prefix", "-t", "--tries", "-T", "--timeout",
     "--header", "-U", "--user-agent", "--user", "--password", "-e", "--ca-certificate", "-w", "--wait", "-a",
     "--post-data", "--waitretry", "--connect-timeout", "--read-timeout", "-B", "--base", "--retry-on-http-error"}
)  # fmt: skip
_APT: Final = frozenset(
    {"-o", "--option", "-t", "--target-release", "-c", "--config-file", "-a", "--host-architecture"}
)
_YUM: Final = frozenset(
    {"-c", "-x", "-R", "-e", "-d", "--enablerepo", "--disablerepo", "--repo", "--repoid", "--installroot", "--setopt",
     "--exclude", "--releasever", "--add-repo"}
)  # fmt: skip
_RPM: Final = frozenset({"--root", "--prefix", "--dbpath", "--define", "-D", "-E", "--eval", "--rcfile"})
_WHOLE: Final = frozenset(
    {"upgrade", "update", "dist-upgrade", "full-upgrade", "makecache", "update-minimal", "distro-sync"}
)
_GETTING: Final = frozenset({"install", "reinstall", "localinstall", "download", "groupinstall", "swap", *_WHOLE})
# Linear time: each run of characters is tried once, and possessive quantifiers do not give blanks back.
_URL: Final = re.compile(r"(?<![a-z0-9+.-])[0-9+.-]*([a-z][a-z0-9+.-]*://\S+)", re.IGNORECASE)
_FETCHED: Final = re.compile(r"(?:https?|ftp)://", re.IGNORECASE)
_MENTIONED: Final = re.compile(r"(?:https?|ftp|s3|gs|oci)://", re.IGNORECASE)
_CONFIG_URL: Final = re.compile(r"^[ \t]*+(?:--)?url(?=[=: \t])[=: \t]*+\"?([^\"\s]+)", re.MULTILINE)
IMAGE_REPOSITORIES: Final = "the repositories that the image is configured with"


def asked_by(command: Command) -> Iterator[Need]:
    """Everything that a command asks for. A URL in any other command is only mentioned."""
    name = command.words[0].rpartition("/")[2]
    known = _COMMANDS.get(name)
    found = list(known(command)) if known else []
    yield from found
    names = {each.name for each in found}
    for word in command.words[1:] if known is None else ():
        for match in _URL.finditer(word):
            url = match[1].rstrip("'\");,") if is_known(match[1]) else match[1]
            if _MENTIONED.match(url) and shown(url) not in names:
                yield need(Kind.MENTIONED, url, name)


def plain_words(words: Sequence[str], with_value: frozenset[str]) -> Iterator[str]:
    """Words that are neither options nor their values."""
    waiting = iter(words)
    for word in waiting:
        if word == "--":
            yield from waiting
        elif word in with_value or _ends_with_valued(word, with_value):
            next(waiting, None)
        elif not word.startswith("-") or word == "-":
            yield word


def _ends_with_valued(word: str, with_value: frozenset[str]) -> bool:
    """Whether combined short options end with one that takes the next word: ``-fsSLo``."""
    return re.fullmatch(r"-[A-Za-z]{2,}", word) is not None and f"-{word[-1]}" in with_value


def _option_values(words: Sequence[str], names: frozenset[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word in names and index + 1 < len(words):
            yield words[index + 1]
        elif equals and name in names:
            yield value


def _curl(command: Command) -> Iterator[Need]:
    words = command.words[1:]
    urls = [*plain_words(words, _CURL | {"--url"}), *_option_values(words, frozenset({"--url"}))]
    if "-" in _option_values(words, frozenset({"-K", "--config"})):
        urls += _CONFIG_URL.findall(command.given or "")
    yield from _fetched(urls, "curl")


def _wget(command: Command) -> Iterator[Need]:
    yield from _fetched(plain_words(command.words[1:], _WGET), "wget")


def _fetched(urls: Iterable[str], by: str) -> Iterator[Need]:
    for url in urls:
        if url not in {"-", ""}:
            whole = url if "://" in url or not is_known(url) else f"http://{url}"  # as curl and wget do
            yield need(Kind.URL, whole, by)


def _apt(command: Command) -> Iterator[Need]:
    yield from _managed(list(plain_words(command.words[1:], _APT)), "apt")


def _yum(command: Command) -> Iterator[Need]:
    yield from _added_repositories(command)
    yield from _managed(list(plain_words(command.words[1:], _YUM)), "yum")


def _zypper(command: Command) -> Iterator[Need]:
    words = list(plain_words(command.words[1:], frozenset({"-t", "--type", "-r", "--repo"})))
    yield from _managed(["install" if word == "in" else word for word in words], "zypper")


def _managed(words: list[str], manager: str) -> Iterator[Need]:
    """What a package manager fetches: packages by name, files by URL, and lists from its repositories."""
    if not words or words[0] not in _GETTING:
        return
    for word in words[1:]:
        if _FETCHED.match(word):
            yield need(Kind.URL, word, manager)
        elif (not word.startswith(("/", "./")) and known_length(word)) or not is_known(word):
            yield need(Kind.PACKAGE, word, manager)
    yield need(Kind.REPOSITORY, IMAGE_REPOSITORIES, manager)
    if words[0] in _WHOLE and len(words) == 1 and words[0] not in {"update", "makecache"}:
        yield need(Kind.PACKAGE, "all newer packages", manager, "the whole system is upgraded")


def _added_repositories(command: Command) -> Iterator[Need]:
    """``yum-config-manager --add-repo URL``: the file itself is fetched, and it names the repository."""
    for url in _option_values(command.words, frozenset({"--add-repo"})):
        yield need(Kind.URL, url, "yum", "contains further URLs, which are not known" if url.endswith(".repo") else "")


def _rpm(command: Command) -> Iterator[Need]:
    for word in plain_words(command.words[1:], _RPM):
        if _FETCHED.match(word):
            yield need(Kind.URL, word, "rpm")


def _git(command: Command) -> Iterator[Need]:
    words = list(plain_words(command.words[1:], frozenset({"-b", "--branch", "--depth", "-C", "-c", "--origin", "-o"})))
    if len(words) > 1 and words[0] in {"clone", "fetch", "ls-remote"}:
        yield need(Kind.URL, words[1], "git")


def _pulling(*running: str) -> Asks:
    """Images after ``pull``, and the first image after a command that runs one, because it pulls missing images."""

    def asks(command: Command) -> Iterator[Need]:
        words = list(plain_words(command.words[1:], _CONTAINERS))
        at = next((index for index, word in enumerate(words) if word in {"pull", *running}), len(words))
        images = words[at + 1 :] if words[at : at + 1] == ["pull"] else words[at + 1 : at + 2]
        for image in images:
            yield need(Kind.IMAGE, image, command.words[0].rpartition("/")[2])

    return asks


def _skopeo(command: Command) -> Iterator[Need]:
    for word in plain_words(command.words[1:], frozenset()):
        if word.startswith("docker://"):
            yield need(Kind.IMAGE, word.removeprefix("docker://"), "skopeo")


def _kubelet(command: Command) -> Iterator[Need]:
    for image in _option_values(command.words, frozenset({"--pod-infra-container-image"})):
        yield need(Kind.IMAGE, image, "kubelet")


def _packages(verb: str, manager: str, index: str = "") -> Asks:
    """Packages after ``verb``, and their ``index`` unless an option names another."""

    def asks(command: Command) -> Iterator[Need]:
        given = command.words[1:]
        words = list(plain_words(given, frozenset({"--channel", "-r", "--target", "--extra-index-url", *_INDEX})))
        found = words[1:] if words[:1] == [verb] else []
        for word in found:
            yield need(Kind.URL if _FETCHED.match(word) else Kind.PACKAGE, word, manager)
        named = [*_option_values(given, _INDEX)] or [index]
        for url in [*named, *_option_values(given, frozenset({"--extra-index-url"}))] if found else ():
            if url:
                yield need(Kind.REPOSITORY, url, manager)

    return asks


def _added_apt(command: Command) -> Iterator[Need]:
    """``add-apt-repository ppa:a/b``, or a line of sources.list as one word."""
    for word in plain_words(command.words[1:], frozenset({"-k", "--keyserver"})):
        line = _DEB.match(word)
        if word.startswith("ppa:"):
            url = f"https://ppa.launchpadcontent.net/{word.removeprefix('ppa:')}/ubuntu"
            yield need(Kind.REPOSITORY, url, "apt")
        elif line or _FETCHED.match(word):
            yield need(Kind.REPOSITORY, line[1] if line else word, "apt")


def _subscription(command: Command) -> Iterator[Need]:
    if {"register", "attach", "refresh", "identity"} & set(command.words):
        yield subscription_service()


def subscription_service() -> Need:
    """The default server of subscription-manager."""
    note = "unless the image configures another server"
    return need(Kind.URL, "https://subscription.rhsm.redhat.com/subscription", "subscription-manager", note)


def _key(command: Command) -> Iterator[Need]:
    for server in _option_values(command.words, frozenset({"--keyserver"})):
        yield need(Kind.URL, server, command.words[0].rpartition("/")[2])


def _nothing(_ran: Command) -> Iterator[Need]:
    return iter(())


_INDEX: Final = frozenset({"-i", "--index-url"})
_DEB: Final = re.compile(r"deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?(\S.*)")
_CONTAINERS: Final = frozenset(
    {"-n", "--namespace", "-a", "--address", "--platform", "--user", "-u", "--hosts-dir", "--creds", "-v", "--volume",
     "-p", "--publish", "-e", "--env", "--env-file", "--name", "--network", "--net", "-w", "--workdir", "--entrypoint",
     "-h", "--hostname", "--restart", "--pid", "--ipc", "--cap-add", "--cap-drop", "--device", "-l", "--label",
     "--log-driver", "--log-opt", "-m", "--memory", "--cpus", "--mount", "--ulimit", "--add-host", "--dns", "--tmpfs",
     "--security-opt", "--runtime", "--gpus", "--shm-size", "--userns", "--uts", "--cgroupns", "--cgroup-parent",
     "--sysctl", "--volumes-from", "--pull", "--authfile", "--cidfile", "--cwd", "--config", "-c", "--context",
     "-H", "--host"}
)  # fmt: skip
_COMMANDS: Final[Mapping[str, Asks]] = {
    "curl": _curl,
    "wget": _wget,
    **dict.fromkeys(("apt", "apt-get", "aptitude"), _apt),
    **dict.fromkeys(("yum", "dnf", "dnf5", "microdnf", "tdnf"), _yum),
    "yum-config-manager": _added_repositories,
    "zypper": _zypper,
    "rpm": _rpm,
    "git": _git,
    **dict.fromkeys(("ctr", "nerdctl", "docker", "podman"), _pulling("run", "create")),
    "crictl": _pulling(),
    "skopeo": _skopeo,
    "kubelet": _kubelet,
    "add-apt-repository": _added_apt,
    "snap": _packages("install", "snap", "https://api.snapcraft.io"),
    **dict.fromkeys(("pip", "pip3"), _packages("install", "pip", "https://pypi.org/simple")),
    "amazon-linux-extras": _packages("install", "amazon-linux-extras"),
    "subscription-manager": _subscription,
    **dict.fromkeys(("apt-key", "gpg"), _key),
    **dict.fromkeys(("logger", "systemd-cat", "grep", "awk", "jq"), _nothing),
}
