"""Sprig's URLs as dicts (osm-behaviour.md, "Template functions")."""

from __future__ import annotations

from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.url import URL, parse_url
from osm_gitops.gotemplate.functions.signature import GoFunction
from osm_gitops.gotemplate.values import go_type


def parse(text: str) -> dict[str, Any]:
    """``urlParse``: scheme, host, hostname, path, query, opaque, fragment and userinfo."""
    url = parse_url(text)
    return {
        "scheme": url.scheme,
        "host": url.host,
        "hostname": url.hostname,
        "path": url.path,
        "query": url.raw_query,
        "opaque": url.opaque,
        "fragment": url.fragment,
        "userinfo": url.userinfo,
    }


def join(parts: dict[str, Any]) -> str:
    """``urlJoin``: the URL of such a dict; keys may be missing."""
    userinfo = _text(parts, "userinfo")
    url = URL(
        scheme=_text(parts, "scheme"),
        host=_text(parts, "host"),
        path=_text(parts, "path"),
        raw_query=_text(parts, "query"),
        opaque=_text(parts, "opaque"),
        fragment=_text(parts, "fragment"),
        user=parse_url(f"proto://{userinfo}@host").user if userinfo else None,
    )
    return url.string()


def _text(parts: dict[str, Any], key: str) -> str:
    value = parts.get(key, "")
    if not isinstance(value, str):
        raise GoError(f"the key {key} of a URL must be a string, but it is of type {go_type(value)}")
    return str(value)


FUNCTIONS: Final = (
    GoFunction("urlParse", "string", parse),
    GoFunction("urlJoin", "map", join, returns="string"),
)
