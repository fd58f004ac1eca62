"""Secrets known by their shape: what follows ``Bearer``, ``password:``, or sits in a URL before ``@``.

They cover what no source can name: the old value of a rotated token, and values too short
to be searched for everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# The end of a key whose value is a secret: ``clientSecret``, ``auth_token``, ``"password"``, ``activation-key``.
_TELLING_KEY = (
    r"(?:(?<![a-z])pass|password|passwd|passphrase|passw(?:or)?d[-_]?hash|secret|token|credentials?"
    r"|(?:private|secret|access|activation|api|account|shared|storage|encryption|client|auth|signing|master)"
    r"[-_.]?key(?:[-_]?(?:id|data|secret))?|(?:secret|token|password|credentials?|key)[-_]?(?:value|data|content))"
)
_QUOTED = r'\\"[^"\\\n]*(?:\\")?|"(?:[^"\\\n]|\\.)*"?' + r"|'(?:[^'\n]|'')*'?"

# No pattern starts with a repetition: the time stays linear in the length of a line.
_SHAPES = (
    # Authorization: Bearer X, also within quotes and escapes.
    re.compile(r"(?i)\b(?:bearer|basic)(?:\s+|%20|\\t)(?P<value>[^\s'\"\\,;]+)"),
    re.compile(r"(?i)\bauthorization[\"']?\s*[:=]\s*[\"']?(?!bearer\b|basic\b)(?P<value>[^\s'\",;]{3,})"),
    # a private age key, such as one that stands where the name of its file belongs
    re.compile(r"AGE-SECRET-KEY-(?P<value>(?:PQ-)?1[0-9A-Z]+)"),
    # https://user:password@host
    re.compile(r"://(?P<value>[^\s/\"'<>@][^\s/\"'<>]*)@"),
    # key: value, key = "value", "key":"value"
    re.compile(
        rf"(?i){_TELLING_KEY}\\?[\"']?[ \t]*(?::[ \t]+|:(?=\\?[\"'])|=[ \t]*)"
        rf"(?P<value>{_QUOTED}|[^\s,}}#'\"&;)\]]\S*)"
    ),
    # registry authentication: a key that is exactly "auth"
    re.compile(rf"(?i)(?<![\w.-])auth\\?[\"']?[ \t]*[:=][ \t]*(?P<value>{_QUOTED}|[^\s,}}{{\[]\S*)"),
    # --password value, --token=value, -u user:password
    re.compile(rf"(?i)(?<!\S)--?[\w-]*{_TELLING_KEY}[ \t]+(?P<value>{_QUOTED}|[^\s-]\S*)"),
    re.compile(r"(?<!\S)(?:-u|--user|--proxy-user)(?:=|[ \t]+)(?P<value>[\"']?[^\s:]+:\S+)"),
)
# What stands in such a place without being a secret: flags, nothing, references to a variable or a placeholder.
_HARMLESS = re.compile(
    r"(?i)(?:true|false|null|none|yes|no|\{|\[|\||>|\|-|>-|~|\$[A-Z_][A-Z0-9_]*|\$\d|\$\{[A-Za-z_]\w*\}"
    r"|\$\(.*|<MACHINE_NAME>|\*+|)"
)
# What may be searched for in other lines too: words of lower-case letters are names as often as passwords.
_DISTINCT = re.compile(r"(?=.*[0-9A-Z])(?=.*[a-zA-Z]).{8,}|.{20,}")


def secret_spans(line: str) -> Iterator[tuple[int, int]]:
    """Where secrets stand in a line, judged by their surroundings."""
    for shape in _SHAPES:
        for match in shape.finditer(line):
            start, end = match.span("value")
            start, end = _unquoted(line, start, end)
            if start < end and not _HARMLESS.fullmatch(line[start:end]):
                yield start, end


def _unquoted(line: str, start: int, end: int) -> tuple[int, int]:
    for quote in ('\\"', '"', "'"):
        if line.startswith(quote, start):
            start += len(quote)
            closed = end - start >= len(quote) and line.startswith(quote, end - len(quote))
            return start, end - len(quote) if closed else end
    return start, end


def is_distinct(value: str) -> bool:
    """Whether a value that was found by its shape can be told from a name."""
    return _DISTINCT.fullmatch(value) is not None
