"""Go's packages ``net``, ``net/netip`` and ``net/url``: IP addresses and URLs (osm-behaviour.md, "IP addresses")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import quote


def parse_ip(text: str) -> str:
    """``net.ParseIP`` and ``IP.String``: the canonical spelling of ``text``.

    An IPv4-mapped IPv6 address is spelled as IPv4. Raises GoError for anything that is no address, also for one with a
    zone or a prefix length.
    """
    address, zone = parse_address(text)
    if zone:
        raise GoError(f"ParseIP({quote(text)}): an IP address cannot have a zone here")
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or address)
    return str(address)


def ip_bytes(text: str) -> bytes:
    """The 16 bytes of ``net.ParseIP(text)``; IPv4 is held as IPv4-mapped IPv6."""
    address, _ = parse_address(parse_ip(text))
    return address.packed if isinstance(address, IPv6Address) else bytes(10) + b"\xff\xff" + address.packed


def format_ip(packed: bytes) -> str:
    """``IP.String`` of 4 or 16 bytes; other lengths as Go prints invalid addresses."""
    if len(packed) == 16:
        address = IPv6Address(packed)
        return str(address.ipv4_mapped or address)
    if len(packed) == 4:
        return str(IPv4Address(packed))
    return f"?{packed.hex()}" if packed else "<nil>"


def parse_address(text: str) -> tuple[IPv4Address | IPv6Address, str]:
    """``netip.ParseAddr``: the address, and the zone of an IPv6 address or the empty string."""
    first = next((character for character in text if character in ".:%"), "")
    digits, percent, zone = text.partition("%") if first == ":" else (text, "", "")
    try:
        if percent and not zone:
            raise AddressValueError("the zone is empty")
        return (IPv6Address(digits) if first == ":" else IPv4Address(digits)), zone
    except AddressValueError:
        raise GoError(f"ParseAddr({quote(text)}): unable to parse IP") from None


# Characters that need no escape in a part of a URL (Go's shouldEscape).
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_PATH = _UNRESERVED | frozenset("$&+,/:;=@")
_PATH_SEGMENT = _UNRESERVED | frozenset("$&+:=@")
_HOST = _UNRESERVED | frozenset("!$&'()*+,;=:[]<>\"")
_USER = _UNRESERVED | frozenset("$&+,;=")
_QUERY = _UNRESERVED
_FRAGMENT = _UNRESERVED | frozenset("$&+,/:;=?@!()*")
# Kept besides in the given spelling of a path or fragment (Go's validEncoded).
_KEPT = frozenset("!$&'()*+,;=:@[]%")

_ESCAPE = re.compile(r"\+|%(?:[0-9a-fA-F]{2})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*(?=:)")
_PORT = re.compile(r"(?::[0-9]*)?")
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_MAX_QUERY_PARAMETERS = 10_000

User = tuple[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class URL:
    """Go's ``url.URL``; ``user`` is ``(username, password or None)``.

    ``raw_path`` and ``raw_fragment`` are set only where the given spelling differs from the default one.
    """

    scheme: str = ""
    opaque: str = ""
    user: User | None = None
    host: str = ""
    path: str = ""
    raw_path: str = ""
    omit_host: bool = False
    force_query: bool = False
    raw_query: str = ""
    fragment: str = ""
    raw_fragment: str = ""

    @property
    def hostname(self) -> str:
        """The host without its port and without the brackets of an IPv6 address."""
        host = self._split_host()[0]
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        """The digits after the last colon of the host, or the empty string."""
        return self._split_host()[1]

    @property
    def userinfo(self) -> str:
        """``username[:password]`` in escaped form; empty without a user."""
        if self.user is None:
            return ""
        name, password = self.user
        return _escape(name, _USER) + ("" if password is None else ":" + _escape(password, _USER))

    @property
    def escaped_path(self) -> str:
        """Go's ``URL.EscapedPath``."""
        if self.path == "*" and self.raw_path not in {"%2A", "%2a"}:
            return "*"
        return _spelling(self.path, self.raw_path, _PATH)

    def string(self) -> str:
        """Go's ``URL.String``."""
        text = f"{self.scheme}:" if self.scheme else ""
        text += self.opaque or self._authority_and_path()
        if self.force_query or self.raw_query:
            text += f"?{self.raw_query}"
        if self.fragment:
            text += "#" + _spelling(self.fragment, self.raw_fragment, _FRAGMENT)
        return text

    def _authority_and_path(self) -> str:
        path = self.escaped_path
        if self.host or self.user is not None or (self.scheme and self.path and not self.omit_host):
            at = "" if self.user is None else f"{self.userinfo}@"
            slash = "/" if self.host and path and not path.startswith("/") else ""
            return f"//{at}{_escape(self.host, _HOST)}{slash}{path}"
        if not self.scheme and ":" in path.partition("/")[0]:
            return f"./{path}"  # else the first segment would be read as a scheme
        return path

    def _split_host(self) -> tuple[str, str]:
        colon = self.host.rfind(":")
        if colon >= 0 and _PORT.fullmatch(self.host, colon):
            return self.host[:colon], self.host[colon + 1 :]
        return self.host, ""


def parse_url(text: str) -> URL:
    """``url.Parse``. Raises GoError: ``parse "<text>": <reason>``."""
    address, _, fragment = text.partition("#")
    try:
        url = _parse_without_fragment(_to_bytes(address))
    except GoError as fault:
        raise GoError(f"parse {quote(address)}: {fault}") from None
    try:
        decoded, raw = _decode(_to_bytes(fragment), _FRAGMENT)
    except GoError as fault:
        raise GoError(f"parse {quote(text)}: {fault}") from None
    return _to_text(replace(url, fragment=decoded, raw_fragment=raw))


def query_unescape(text: str) -> str:
    """``url.QueryUnescape``: ``+`` is a blank. Raises GoError on a bad percent escape."""
    return _from_bytes(_unescape(_to_bytes(text), plus=" "))


def path_unescape(text: str) -> str:
    """``url.PathUnescape``: ``+`` stays. Raises GoError on a bad percent escape."""
    return _from_bytes(_unescape(_to_bytes(text)))


def query_escape(text: str) -> str:
    """``url.QueryEscape``."""
    return _escape(text, _QUERY).replace("%20", "+")


def path_escape(text: str) -> str:
    """``url.PathEscape``."""
    return _escape(text, _PATH_SEGMENT)


def parse_query(text: str) -> list[tuple[str, list[str]]]:
    """``url.ParseQuery``: the values of each key, keys in the order of their first use.

    Raises GoError for the first setting that cannot be read.
    """
    found, faults = _read_query(text)
    if faults:
        raise faults[0]
    return found


def query_values(text: str) -> list[tuple[str, list[str]]]:
    """``URL.Query``: as :func:`parse_query`, but what cannot be read is left out in silence."""
    return _read_query(text)[0]


def encode_query(values: Mapping[str, Sequence[str]] | Iterable[tuple[str, Sequence[str]]]) -> str:
    """``Values.Encode``: sorted by the bytes of the keys."""
    pairs = values.items() if isinstance(values, Mapping) else values
    ordered = sorted(pairs, key=lambda pair: _to_bytes(pair[0]))
    return "&".join(f"{query_escape(key)}={query_escape(value)}" for key, entries in ordered for value in entries)


def _read_query(text: str) -> tuple[list[tuple[str, list[str]]], list[GoError]]:
    if text.count("&") >= _MAX_QUERY_PARAMETERS:
        return [], [GoError("number of URL query parameters exceeded limit")]
    found: dict[str, list[str]] = {}
    faults: list[GoError] = []
    for setting in filter(None, text.split("&")):
        key, _, value = setting.partition("=")
        try:
            if ";" in setting:
                raise GoError("invalid semicolon separator in query")
            name, entry = query_unescape(key), query_unescape(value)
        except GoError as fault:
            faults.append(fault)
        else:
            found.setdefault(name, []).append(entry)
    return list(found.items()), faults


# --- below, a text holds one character per byte ---


def _parse_without_fragment(text: str) -> URL:
    if _CONTROL.search(text):
        raise GoError("net/url: invalid control character in URL")
    if text == "*":
        return URL(path="*")
    if text.startswith(":"):
        raise GoError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme = match[0].lower() if match else ""
    rest, question, query = (text[len(scheme) + 1 :] if match else text).partition("?")
    url = URL(scheme=scheme, force_query=bool(question and not query), raw_query=query)
    if not rest.startswith("/"):
        if scheme:
            return replace(url, opaque=rest)
        if ":" in rest.partition("/")[0]:
            raise GoError("first path segment in URL cannot contain colon")
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, after = rest[2:].partition("/")
        user, host = _parse_authority(scheme, authority)
        url = replace(url, user=user, host=host)
        rest = slash + after
    else:
        url = replace(url, omit_host=bool(scheme))
    path, raw_path = _decode(rest, _PATH)
    return replace(url, path=path, raw_path=raw_path)


def _parse_authority(scheme: str, authority: str) -> tuple[User | None, str]:
    userinfo, at, address = authority.rpartition("@")
    host = _parse_host(scheme, address)
    if not at:
        return None, host
    if not _USERINFO.fullmatch(userinfo):
        raise GoError("net/url: invalid userinfo")
    name, colon, password = userinfo.partition(":")
    return (_unescape(name), _unescape(password) if colon else None), host


def _parse_host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise GoError("invalid IP-literal")
    if bracket == 0:
        return _parse_ip_literal(host)
    # Go 1.26 takes several colons for a list of hosts, except in http and https.
    colon = host.find(":") if scheme in {"http", "https"} else host.rfind(":")
    if colon >= 0:
        _check_port(host[colon:])
    return _unescape_host(host, _ascii_but_percent)


def _parse_ip_literal(host: str) -> str:
    end = host.rfind("]")
    if end < 0:
        raise GoError("missing ']' in host")
    name, port = host[1:end], host[end + 1 :]
    _check_port(port)
    zone_at = name.find("%25")
    zone = name[zone_at:] if zone_at >= 0 else ""
    name = _unescape_host(name.removesuffix(zone), _ascii_but_percent) + _unescape_host(
        zone, lambda character: character not in _HOST and character not in "% "
    )
    try:
        address, _ = parse_address(_from_bytes(name))
    except GoError as fault:
        raise GoError(f"invalid host: {fault}") from None
    if isinstance(address, IPv4Address):
        raise GoError("invalid IP-literal")
    return f"[{name}]{port}"


def _check_port(text: str) -> None:
    if not _PORT.fullmatch(text):
        raise GoError(f"invalid port {quote(_from_bytes(text))} after host")


def _ascii_but_percent(character: str) -> bool:
    return character.isascii() and character != "%"


def _unescape_host(text: str, refused: Callable[[str], bool]) -> str:
    for character in text:
        if character.isascii() and character not in _HOST and character != "%":
            raise GoError(f"invalid character {quote(character)} in host name")
    return _unescape(text, refused=refused)


def _unescape(text: str, *, plus: str = "+", refused: Callable[[str], bool] | None = None) -> str:
    """``text`` without percent escapes; ``refused`` names characters that must not be escaped."""

    def decode(match: re.Match[str]) -> str:
        if match[0] == "+":
            return plus
        character = chr(int(match[0][1:], 16)) if len(match[0]) == 3 else ""
        if not character or (refused is not None and refused(character)):
            start = match.start()
            raise GoError(f"invalid URL escape {quote(_from_bytes(text[start : start + 3]))}")
        return character

    return _ESCAPE.sub(decode, text)


def _decode(text: str, safe: frozenset[str]) -> tuple[str, str]:
    """The decoded text, and the given spelling where it is not the default one."""
    decoded = _unescape(text)
    return decoded, "" if _escape_bytes(decoded, safe) == text else text


def _escape_bytes(text: str, safe: frozenset[str]) -> str:
    return "".join(byte if byte in safe else f"%{ord(byte):02X}" for byte in text)


# --- between texts and their bytes ---


def _escape(text: str, safe: frozenset[str]) -> str:
    return _escape_bytes(_to_bytes(text), safe)


def _spelling(text: str, raw: str, safe: frozenset[str]) -> str:
    """``raw`` where it is a valid spelling of ``text``, else the default one."""
    spelled = _to_bytes(raw)
    if raw and all(byte in safe or byte in _KEPT for byte in spelled):
        try:
            if _from_bytes(_unescape(spelled)) == text:
                return raw
        except GoError:
            return _escape(text, safe)  # Go, too, then falls back to its own spelling
    return _escape(text, safe)


def _to_bytes(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def _from_bytes(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "surrogateescape")


def _to_text(url: URL) -> URL:
    """The same URL with each byte string turned into text."""
    name, password = url.user or ("", None)
    return replace(
        url,
        opaque=_from_bytes(url.opaque),
        user=url.user and (_from_bytes(name), None if password is None else _from_bytes(password)),
        host=_from_bytes(url.host),
        path=_from_bytes(url.path),
        raw_path=_from_bytes(url.raw_path),
        raw_query=_from_bytes(url.raw_query),
        fragment=_from_bytes(url.fragment),
        raw_fragment=_from_bytes(url.raw_fragment),
    )
