"""URLs as Go 1.26 reads and prints them; every expectation was printed by Go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import (
    URL,
    encode_query,
    parse_query,
    parse_url,
    path_escape,
    path_unescape,
    query_escape,
    query_unescape,
    query_values,
)


def test_a_url_is_taken_apart() -> None:
    assert parse_url("HTTPS://us%20er:p%40ss@host.example.com:8443/a%20b?x=1&y#frag%21") == URL(
        scheme="https",
        user=("us er", "p@ss"),
        host="host.example.com:8443",
        path="/a b",
        raw_query="x=1&y",
        fragment="frag!",
        raw_fragment="frag%21",
    )


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("", URL()),
        ("*", URL(path="*")),
        ("host.example.com", URL(path="host.example.com")),
        ("mailto:a@b?c", URL(scheme="mailto", opaque="a@b", raw_query="c")),
        ("host:5000", URL(scheme="host", opaque="5000")),
        ("http:///path", URL(scheme="http", path="/path")),
        ("http:/path", URL(scheme="http", path="/path", omit_host=True)),
        ("///path", URL(path="///path")),
        ("//host/path", URL(host="host", path="/path")),
        ("http://h?", URL(scheme="http", host="h", force_query=True)),
        ("http://h/a%2Fb", URL(scheme="http", host="h", path="/a/b", raw_path="/a%2Fb")),
        ("http://user@h", URL(scheme="http", user=("user", None), host="h")),
        ("http://user:@h", URL(scheme="http", user=("user", ""), host="h")),
        ("ftp://a:1,b:2", URL(scheme="ftp", host="a:1,b:2")),
        ("http://[fe80::1%25e%20n]:80", URL(scheme="http", host="[fe80::1%e n]:80")),
    ],
)
def test_odd_urls_are_read_as_go_reads_them(text: str, url: URL) -> None:
    assert parse_url(text) == url


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("http://a b", 'parse "http://a b": invalid character " " in host name'),
        ("http://a\n", r'parse "http://a\n": net/url: invalid control character in URL'),
        (":8080", 'parse ":8080": missing protocol scheme'),
        ("1:2", 'parse "1:2": first path segment in URL cannot contain colon'),
        ("http://h:8a", 'parse "http://h:8a": invalid port ":8a" after host'),
        ("http://h:1:2", 'parse "http://h:1:2": invalid port ":1:2" after host'),
        ("http://h/%zz", 'parse "http://h/%zz": invalid URL escape "%zz"'),
        ("http://h/%2", 'parse "http://h/%2": invalid URL escape "%2"'),
        ("http://h%41", 'parse "http://h%41": invalid URL escape "%41"'),
        ("http://h#%", 'parse "http://h#%": invalid URL escape "%"'),
        ("http://[::1", "parse \"http://[::1\": missing ']' in host"),
        ("http://[1.2.3.4]", 'parse "http://[1.2.3.4]": invalid IP-literal'),
        ("http://x[::1]", 'parse "http://x[::1]": invalid IP-literal'),
        ("http://[::g]", 'parse "http://[::g]": invalid host: ParseAddr("::g"): '),
        ("http://a\"b:c@h", 'parse "http://a\\"b:c@h": net/url: invalid userinfo'),
    ],
)  # fmt: skip
def test_a_bad_url_is_refused_with_gos_reason(text: str, message: str) -> None:
    with pytest.raises(GoError) as fault:
        parse_url(text)
    assert str(fault.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("HTTP://h", "http://h"),
        ("http://h/ä b", "http://h/%C3%A4%20b"),
        ("http://h/a%2fb", "http://h/a%2fb"),
        ("http://h/a[b]", "http://h/a[b]"),
        ("http://ä/", "http://%C3%A4/"),
        ("http://h?", "http://h?"),
        ("http://h?a b#c d", "http://h?a b#c%20d"),
        ("http:/path", "http:/path"),
        ("http:///path", "http:///path"),
        ("http://u:p%2F@h", "http://u:p%2F@h"),
        ("//h", "//h"),
        ("./a:b", "./a:b"),
        ("*", "*"),
        ("http://h/%2a", "http://h/%2a"),
    ],
)
def test_a_url_is_printed_as_go_prints_it(text: str, printed: str) -> None:
    assert parse_url(text).string() == printed


def test_a_url_made_from_parts_gets_the_separators_that_it_needs() -> None:
    assert URL(scheme="http", host="h", path="p").string() == "http://h/p"
    assert URL(path="a:b").string() == "./a:b"
    assert URL(scheme="x", opaque="o", path="ignored").string() == "x:o"
    assert URL(path="*", raw_path="other").string() == "*"


@pytest.mark.parametrize(
    ("host", "name", "port"),
    [
        ("h", "h", ""),
        ("h:80", "h", "80"),
        ("h:", "h", ""),
        ("h:x", "h:x", ""),
        ("[::1]:80", "::1", "80"),
        ("[::1]", "::1", ""),
        ("[fe80::1%e]", "fe80::1%e", ""),
    ],
)
def test_a_host_is_split_from_its_port(host: str, name: str, port: str) -> None:
    assert (URL(host=host).hostname, URL(host=host).port) == (name, port)


def test_bytes_that_are_no_utf8_survive() -> None:
    url = parse_url("http://h/%ff")
    assert url.path == "/\udcff"
    assert url.string() == "http://h/%ff"
    assert query_escape("\udcff") == "%FF"


def test_plus_is_a_blank_in_queries_alone() -> None:
    assert query_unescape("a+b%2B") == "a b+"
    assert path_unescape("a+b%2B") == "a+b+"
    assert query_escape("a b/+") == "a+b%2F%2B"
    assert path_escape("a b/+") == "a%20b%2F+"


def test_a_query_keeps_the_order_of_values_and_is_written_sorted() -> None:
    query = parse_query("b=2&a=1&b=1&c&&=x")
    assert query == [("b", ["2", "1"]), ("a", ["1"]), ("c", [""]), ("", ["x"])]
    assert encode_query(query) == "=x&a=1&b=2&b=1&c="
    assert encode_query({"ä": ["1"], "z": ["&"]}) == "z=%26&%C3%A4=1"


@pytest.mark.parametrize("text", ["a=1;b=2", "a=%", "&" * 10_000])
def test_a_query_that_cannot_be_read_is_refused_or_dropped(text: str) -> None:
    with pytest.raises(GoError):
        parse_query(text)
    assert query_values(text) == []


def test_one_bad_setting_of_a_query_leaves_the_others() -> None:
    assert query_values("a=%zz&b=1;2&c=3") == [("c", ["3"])]


@given(st.text(st.characters(codec="utf-8")))
def test_escaping_is_undone_by_unescaping(text: str) -> None:
    assert query_unescape(query_escape(text)) == text
    assert path_unescape(path_escape(text)) == text


@given(st.text("ab:/@[]%25?#.\n ä", max_size=12))
def test_a_url_that_parses_prints_what_parses_again(text: str) -> None:
    try:
        url = parse_url(text)
    except GoError:
        return
    assert parse_url(url.string()).host == url.host
