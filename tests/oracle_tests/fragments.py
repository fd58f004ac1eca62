"""Random texts of many kinds, and how Go writes them as literals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

_WORDS: Final = (
    *(
        "a",
        "b",
        "X",
        "foo",
        "bar",
        "hello world",
        "fooBar",
        "HTTPServer",
        "snake_case",
        "kebab-case",
        "x.y",
        "é",
        "ÀÉ",
        "😀",
    ),
    *(
        "ß",
        "İ",
        "ǆ",
        "\u00a0",
        "\u2003",
        "\u2028",
        "0",
        "7",
        "08",
        "0x1F",
        "1_000",
        "3.7",
        "-1",
        "1e3",
        "true",
        "yes",
        "null",
    ),
    *(
        "~",
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        ",",
        ":",
        ": ",
        "#",
        " #",
        "-",
        "- ",
        "=",
        "/",
        "//",
        "\\",
        '"',
        "'",
        "`",
        "<",
        "&",
    ),
    *(
        "${#a}",
        "$1",
        "${x}",
        "$$",
        "{",
        "}",
        "{%",
        "%}",
        "{#",
        "%",
        "%s",
        "*",
        "?",
        "(",
        ")",
        "[",
        "]",
        "|",
        "!",
        "@",
        "+",
        "^",
    ),
    *("v1.34.2", "10.0.0.1", "https://u:p@h.example:8/p/a?q=1&r=%20#f", "/etc/a/../b.conf", "a,b,,c", "Zm9v", "1Gi"),
)
_LITERAL: Final = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\x00", "\x7f": "\\x7f", "\x1b": "\\x1b"}
)


def text(random: Random, most: int = 4) -> str:
    """Up to ``most`` words of all kinds without anything between them."""
    return "".join(random.choice(_WORDS) for _ in range(random.randint(0, most)))


def quoted(random: Random, content: str) -> str:
    """``content`` as a Go string literal."""
    if "`" not in content and "\r" not in content and "\0" not in content and random.random() < 0.15:
        return f"`{content}`"
    return f'"{content.translate(_LITERAL)}"'


def _joined(*parts: Sequence[str], glue: str = "") -> Callable[[Random], str]:
    """One of every sequence, joined."""
    return lambda random: glue.join(random.choice(part) for part in parts)


def _many(part: Callable[[Random], str], glue: Sequence[str], most: int) -> Callable[[Random], str]:
    def make(random: Random) -> str:
        made = part(random)
        for _ in range(random.randrange(most)):
            made += random.choice(glue) + part(random)
        return made

    return make


_ATOMS: Final = (
    *(
        "a",
        "b",
        "x",
        "é",
        ".",
        "\\d",
        "\\w",
        "\\s",
        "\\S",
        "[a-c]",
        "[^a-z]",
        "[[:alpha:]]",
        "\\pL",
        "\\p{Greek}",
        "(a|b)",
        "(?:ab)",
    ),
    *(
        "(a)(b)?",
        "(?P<n>x)",
        "(?i)A",
        "^",
        "$",
        "\\b",
        "\\B",
        "\\A",
        "\\z",
        "(?m)^",
        "(?s).",
        "\\.",
        "\\/",
        "-",
        "[",
        "(",
        "\\Z",
    ),
    *(
        "(?=a)",
        "\\1",
        "\\Qa.b\\E",
        "\\x41",
        "\\x{e9}",
        "\\pN",
        "(?U)a+",
        "[\\d-]",
        "\\C",
        "(?<n>a)",
        ",",
        " ",
        "v",
        "1",
    ),
)
_REPEATS: Final = ("", "", "", "", "*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{0,}", "{1001}", "**")
regex: Final = _many(_joined(_ATOMS, _REPEATS), ("", "", "|"), 4)
replacement: Final = _many(
    _joined(("$1", "${1}", "$0", "$n", "${n}", "$1x", "${1}x", "$$", "$", "${", "<", ">", "\\1", "", "é")), ("",), 4
)

_NUMBERS: Final = ("0", "1", "2", "9", "29", "30", "34", "01", "x", "X", "*", "")
_RELEASES: Final = ("", "", "", "", "-0", "-rc.1", "-alpha", "-beta.2", "-01", "+b", "-rc.1+b.2", "-")
_OPERATORS: Final = ("", "=", "!=", ">", "<", ">=", "<=", "=>", "=<", "~", "~>", "^", ">>", "==", "> ", "^ ", ">= v")


def version(random: Random) -> str:
    parts = [random.choice(_NUMBERS[:8]) for _ in range(random.choice((1, 2, 3, 3, 3, 3, 4)))]
    return random.choice(("", "", "v", "V")) + ".".join(parts) + random.choice(_RELEASES)


def _constraint(random: Random) -> str:
    parts = [random.choice(_NUMBERS) for _ in range(random.choice((1, 2, 2, 3, 3, 3)))]
    limit = random.choice(("", "", "v")) + ".".join(parts) + random.choice(_RELEASES)
    if random.random() < 0.1:
        return f"{limit} - {version(random)}"
    return random.choice(_OPERATORS) + limit


constraints: Final = _many(_constraint, (" ", ", ", ",", " || ", "||", " ,", "  "), 3)

_FLAGS: Final = ("", "", "", "", "-", "+", "#", "0", " ", "+#", "-0", "# ")
_WIDTHS: Final = ("", "", "", "5", "12", "*", "[1]*", "[2]", "1")
_PRECISIONS: Final = ("", "", "", ".2", ".0", ".", ".*", ".10")
_VERBS: Final = tuple("vvvsssdddqqxXtTeEfFgGbcoOUwpz!%")
_verb: Final = _joined(("%",), _FLAGS, _WIDTHS, _PRECISIONS, _VERBS)
verbs: Final = _many(_verb, ("", " ", "|", "é", "%%", "a=", "\n", "%"), 3)
usual_verbs: Final = _many(
    _joined(("%s", "%d", "%v", "%q", "%5d", "%-8s", "%05d", "%.2f", "%x", "%t")), (" ", "=", ""), 3
)

_SCALARS: Final = (
    *(
        "1",
        "-7",
        "0644",
        "0o17",
        "0x1F",
        "1_000",
        "1.5",
        "1e3",
        ".5",
        ".inf",
        "true",
        "yes",
        "on",
        "n",
        "null",
        "~",
        "",
    ),
    *(
        "text",
        "a b",
        "'it''s'",
        '"q\\n"',
        "2020-01-01",
        "12:30:45",
        "!!str 1",
        "!!int '3'",
        "[1, a]",
        "{x: 1}",
        "é",
        "=",
        "<<",
    ),
    *("|\n  l1\n  l2", ">-\n  f1\n  f2", "&x 1", "*x", "- a", "@", "%", "!!binary aGk="),
)
_KEYS: Final = ("a", "b", "c.d", "a", "yes", "1", "'q'", "<<", "é", "? x")
yaml_text: Final = _many(
    _joined(_KEYS, (": ", ":  ", ":", " : ", ":\n  "), _SCALARS), ("\n", "\n", "\n\n", " # c\n", "\n- "), 4
)
_yaml_list: Final = _many(_joined(("- ", "-  ", "- - ", "- a: "), _SCALARS), ("\n",), 3)

_JSON: Final = (
    "1",
    "-0.5",
    "1e3",
    '"s"',
    '"\\u00e9<&>"',
    "true",
    "null",
    "[]",
    "[1, [2]]",
    "{}",
    '{"x": {"y": 1}}',
    "01",
    "'",
    "1e400",
)


def json_text(random: Random) -> str:
    members = [f'"{random.choice(("a", "b", "a b", "é"))}": {random.choice(_JSON)}' for _ in range(random.randrange(4))]
    broken = random.choice(("", "", "", "", "", ",", "x", "}"))
    return "{" + ", ".join(members) + broken + "}"


def json_list(random: Random) -> str:
    return "[" + ", ".join(random.choice(_JSON) for _ in range(random.randrange(4))) + "]"


_TOML: Final = (
    *(
        "1",
        "-7",
        "0x1F",
        "1_000",
        "1.5",
        "1e3",
        "inf",
        "nan",
        "true",
        '"s"',
        "'l'",
        '"""\nm"""',
        "[1, 2]",
        '[1, "a"]',
        "{x = 1}",
    ),
    *(
        "1979-05-27",
        "07:32:00",
        "1979-05-27T07:32:00Z",
        "[[1], ['a']]",
        "0644",
        "yes",
        "''",
        "[]",
        "{}",
        "1979-05-27 07:32:00",
    ),
)
toml_text: Final = _many(
    _joined(("a", "b", "c.d", '"q k"', "[t]\na", "[t.u]\nb", "[[l]]\na"), (" = ",), _TOML), ("\n", "\n\n", " # c\n"), 4
)

url: Final = _joined(
    ("https://", "http://", "", "//", "mailto:", "unix://", "HTTP://", "1:"),
    ("h", "u@h", "u:p@h", "[fd00::1]", "h:80", "10.0.0.1", "h:x", "é", "h h", ""),
    ("", "/", "/p/q", "/a%20b", "/%zz", "/é", "/a b", "p"),
    ("", "?q=1", "?a=1&b=%20", "?", "?a;b", "?é"),
    ("", "#f", "#", "#a%41"),
)
path: Final = _many(_joined(("a", "b.conf", "..", ".", "", "é", "x.tar.gz", ".hidden", "/")), ("/", "/", ""), 4)
digits: Final = _joined(
    ("", "", "-", "+", " "),
    ("0", "7", "08", "0x1F", "0b11", "1_000", "3.7", "1e3", "9223372036854775807", ".5", "5.", "x"),
)
_UNITS: Final = ("h", "m", "s", "ms", "us", "ns", "", "d", "m30s", "h15m")
duration: Final = _joined(("", "-", "+"), ("0", "1", "1.5", "90", "36", "100000", ".5", ""), _UNITS)
time_layout: Final = _many(
    _joined(
        (
            "2006",
            "01",
            "02",
            "15",
            "04",
            "05",
            "Jan",
            "January",
            "Mon",
            "MST",
            "Z07:00",
            "-0700",
            "PM",
            ".000",
            "_2",
            "002",
            "06",
        )
    ),
    ("-", ":", " ", "T", "/", ""),
    5,
)
time_text: Final = _joined(
    ("2020-02-29", "1999-12-31", "20-1-1", "2020-13-01", ""), ("", "T10:11:12Z", " 10:11:12", "T1:2:3+02:00")
)

TEXTS: Final[Mapping[str, Callable[[Random], str]]] = {
    "text": text,
    "regex": regex,
    "replacement": replacement,
    "version": version,
    "constraints": constraints,
    "verbs": verbs,
    "usual verbs": usual_verbs,
    "yaml": yaml_text,
    "yaml list": _yaml_list,
    "json": json_text,
    "json list": json_list,
    "toml": toml_text,
    "url": url,
    "path": path,
    "digits": digits,
    "duration": duration,
    "layout": time_layout,
    "time": time_text,
}
