"""Whether the programs of a node understand a value: hosts, URLs, networks, images, taints, entries of no-proxy.

Each function returns why a text is refused, as the rest of a sentence (``has no host``), or an empty text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from ipaddress import IPv4Interface, IPv6Interface, ip_interface, ip_network
from typing import Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import URL, parse_address, parse_url

_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
_NAME: Final = re.compile(rf"(?=.{{1,253}}\.?$){_LABEL}(?:\.{_LABEL})*\.?")
_LIKE_AN_ADDRESS: Final = re.compile(r"(?:.*\.)?[0-9]+\.?")
_OBJECT_NAME: Final = re.compile(r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
_USERINFO: Final = re.compile(r"//([^/?#]*)@")
_LARGEST_PORT: Final = 65535
_LONGEST_SHOWN: Final = 100


def is_address(text: str) -> bool:
    """Whether the text is an IP address without a zone or a prefix length."""
    try:
        return not parse_address(text)[1]
    except GoError:
        return False


def host_fault(host: str) -> str:
    """Why a text is neither a DNS name nor an IP address; IPv6 is without brackets here."""
    if not host:
        return "has no host"
    if any(map(str.isspace, host)):
        return "has a blank"
    if is_address(host):
        return ""
    if ":" in host:
        return "has an invalid IPv6 address"
    if _LIKE_AN_ADDRESS.fullmatch(host):  # no top-level domain is a number
        return "has an invalid IP address"
    return "" if _NAME.fullmatch(host) else "has an invalid host name"


def port_fault(port: str) -> str:
    """Why the text is not the number of a port."""
    if not (port.isascii() and port.isdecimal()) or not 0 < int(port) <= _LARGEST_PORT:
        return "has an invalid port"
    return ""


def endpoint_fault(text: str) -> str:
    """Why the text is not ``host`` or ``host:port``."""
    if not text:
        return "is empty"
    if any(map(str.isspace, text)):
        return "has a blank"
    if "://" in text:
        return "has a scheme, where only host or host:port is possible"
    if "@" in text:
        return "has a user"
    if "/" in text:
        return "has a path, where only host or host:port is possible"
    if text.startswith("["):
        address, bracket, rest = text[1:].partition("]")
        if not bracket or ":" not in address or not is_address(address):
            return "has an invalid IPv6 address"
        return port_fault(rest[1:]) if rest.startswith(":") else "has an invalid port" if rest else ""
    if text.count(":") > 1:
        return "has an IPv6 address without brackets"
    host, colon, port = text.partition(":")
    return host_fault(host) or (port_fault(port) if colon else "")


def url_fault(text: str, schemes: Collection[str]) -> str:
    """Why the text is not a URL with one of these schemes, a valid host and port."""
    if any(each.isspace() or not each.isprintable() for each in text):
        return "has a blank"
    if any(each in text for each in "\"'`<>\\"):
        return "has quotes or other characters that URLs do not have"
    scheme, separator, rest = text.partition("://")
    if not separator:
        return "has no scheme"
    if scheme.lower() not in schemes:
        return f"has the scheme {scheme}, not {' or '.join(schemes)}" if scheme.isalnum() else "has an invalid scheme"
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if authority.count("@") > 1 or "@" in rest[len(authority) :].partition("?")[0]:
        return "has a password with a character that is not percent-encoded"
    host = authority.rpartition("@")[2]
    if host.count(":") > 1 and not host.startswith("["):
        return "has an IPv6 address without brackets"
    try:
        url = parse_url(text)
    except GoError:
        return _unparsed_fault(authority)
    return host_fault(url.hostname) or (port_fault(url.port) if url.port or url.host.endswith(":") else "")


def _unparsed_fault(authority: str) -> str:
    """Why Go cannot parse a URL, without its reason, which quotes the password."""
    user, at, host = authority.rpartition("@")
    if at and re.search(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._:~!$&'()*+,;=%]", user):
        return "has a password with a character that is not percent-encoded"
    if host.startswith("["):
        return endpoint_fault(host) or "is not a URL"
    port = host.partition(":")[2]
    return (port_fault(port) if port else "") or "is not a URL"


def parsed_url(text: str) -> URL:
    """The URL, or an empty one."""
    try:
        return parse_url(text)
    except GoError:
        return URL()


def shown(text: str) -> str:
    """The text for a message: without the user and password of a URL, and not too long."""
    masked = _USERINFO.sub("//…@", text)
    return masked if len(masked) <= _LONGEST_SHOWN else f"{masked[:_LONGEST_SHOWN]}…"


def network_of(text: str) -> IPv4Interface | IPv6Interface | None:
    """The address and its network of ``192.0.2.10/24``; ``None`` for anything else."""
    address, slash, length = text.partition("/")
    if not slash or not is_address(address) or not (length.isascii() and length.isdecimal()):
        return None
    try:
        return ip_interface(text)
    except ValueError:
        return None


_DOMAIN_OF_IMAGE: Final = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:]+\])"
    r"(?::[0-9]+)?"
)
_PATH_OF_IMAGE: Final = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG: Final = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DIGEST: Final = re.compile(
    r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}|(?!sha256:|sha512:)[A-Za-z][\w+.-]*:[0-9A-Fa-f]{32,}"
)


def image_fault(text: str) -> str:
    """Why containerd refuses the reference of an image."""
    if any(map(str.isspace, text)):
        return "has a blank"
    if "://" in text:
        return "has a scheme"
    name, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        return "has an invalid digest"
    head, colon, tag = name.rpartition(":")
    if colon and "/" not in tag:
        name = head
        if not _TAG.fullmatch(tag):
            return "has an invalid tag"
    domain, slash, path = name.partition("/")
    if not slash or not (any(each in domain for each in ".:") or domain == "localhost" or domain != domain.lower()):
        domain, path = "", name
    if domain and (not _DOMAIN_OF_IMAGE.fullmatch(domain) or endpoint_fault(domain)):
        return "has an invalid registry"
    if path != path.lower():
        return "has upper-case letters in the name of the image"
    return "" if _PATH_OF_IMAGE.fullmatch(path) else "has an invalid name of an image"


def has_tag(text: str) -> bool:
    """Whether the reference of an image has a tag or a digest."""
    return "@" in text or ":" in text.rpartition("/")[2]


def image_registry(text: str) -> str:
    """The registry that an image names; empty if it names none, which means Docker Hub."""
    domain, slash, _ = text.partition("/")
    return domain if slash and (any(each in domain for each in ".:") or domain == "localhost") else ""


EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def key_fault(key: str) -> str:
    """Why a text is not the key of a label or a taint."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (_OBJECT_NAME.fullmatch(prefix)):
        return "has an invalid prefix before the slash"
    return "" if _QUALIFIED.fullmatch(name) else "has an invalid key"


def label_value_fault(value: str) -> str:
    """Why a text is not the value of a label or a taint."""
    return "" if _LABEL_VALUE.fullmatch(value) else "has an invalid value"


def taint_fault(text: str) -> str:
    """Why the kubelet refuses a taint of ``--register-with-taints``, or sets none."""
    if not text.strip():
        return "is empty"
    if any(map(str.isspace, text)):
        return "has a blank"
    if text.endswith("-"):
        return "ends with a dash, which removes taints"
    head, colon, effect = text.rpartition(":")
    if not colon:
        return f"has no effect ({', '.join(EFFECTS)})"
    if effect not in EFFECTS:
        return f"has an effect that is not {', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}"
    key, _, value = head.partition("=")
    if ":" in head or "=" in value:
        return "is not key=value:Effect"
    return key_fault(key) or label_value_fault(value)


def taint_faults(text: str) -> Iterator[tuple[str, str]]:
    """The taints of a text with commas that the kubelet refuses, each with the reason."""
    seen: set[tuple[str, str]] = set()
    for taint in text.split(","):
        if fault := taint_fault(taint):
            yield taint, fault
            continue
        head, _, effect = taint.rpartition(":")
        known = (head.partition("=")[0], effect)
        if known in seen:
            yield taint, "has the key and effect of another taint"
        seen.add(known)


_NO_PROXY_FAULTS: Final = (
    (re.compile(r"\s"), "has a blank; entries are separated by commas alone"),
    (re.compile(r"[\"'`;|]"), "has quotes or another separator than a comma"),
    (re.compile(r"://"), "has a scheme; an entry is a host or a network"),
    (re.compile(r"^\*$"), "turns the proxy off for every host"),
    (re.compile(r"\*"), "has a wildcard, which curl and others take literally"),
    (re.compile(r"^\["), "has brackets, which not all programs understand"),
)


def no_proxy_fault(entry: str) -> str:
    """Why programs do not match any host, or not all of them match, with an entry of no-proxy, which is trimmed."""
    for pattern, fault in _NO_PROXY_FAULTS:
        if pattern.search(entry):
            return fault
    network, slash, length = entry.partition("/")
    if slash:
        is_network = is_address(network) and length.isascii() and length.isdecimal()
        return "" if is_network and _is_network(entry) else "is not a network such as 10.0.0.0/8"
    _, colon, port = entry.partition(":")
    if colon and not is_address(entry):
        return port_fault(port) or "has a port, which curl and others take literally"
    return host_fault(entry.removeprefix("."))


def _is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def object_fault(namespace: str, name: str) -> str:
    """Why ``namespace/name`` does not name an object."""
    if not _NAMESPACE.fullmatch(namespace):
        return "has an invalid namespace"
    return "" if _OBJECT_NAME.fullmatch(name) else "has an invalid name"


def namespace_fault(namespace: str) -> str:
    """Why a text is not the name of a namespace."""
    return "" if _NAMESPACE.fullmatch(namespace) else "is not the name of a namespace"
