"""Mask secrets in all output (design.md, "Masking").

Values are searched in all their encodings at once: a table maps the first bytes of every encoding to its possible
lengths, so the time does not depend on the number of secrets. Secrets are also found by their context: after ``Bearer``
or ``password:``, before ``@`` in a URL. That covers values that no source has (the old value of a rotated token) and
values that are too short to search everywhere.
"""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, quote_plus

from osm_gitops.errors import Problem, shortened
from osm_gitops.model.public_words import PUBLIC_WORDS

# Most tokens consist of characters that no encoding changes.
_UNCHANGED_EVERYWHERE = re.compile(r"[A-Za-z0-9_.-]+")
# Characters that percent-encodings do not change: Ignition's (osm-behaviour.md, "Ignition user-data"), Go's path and
# query, RFC 3986.
_UNRESERVED = ("-_.!~*'()", "-_.~$&+=:@", "-_.~", "/-_.~")
_YAML_SHORT = {
    "\0": "\\0", "\a": "\\a", "\x1b": "\\e", "\x0b": "\\v",
    "\x85": "\\N", "\xa0": "\\_", "\u2028": "\\L", "\u2029": "\\P",
}  # fmt: skip
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SHELL_SPECIAL = frozenset("|&;<>()$`\\\"' \t*?[]#~=%{}!^,")


def escaped_forms(value: str) -> set[str]:
    """The value and all its spellings in JSON, YAML, TOML, shells and URLs."""
    if _UNCHANGED_EVERYWHERE.fullmatch(value):
        return {value}
    return {value, *_quoted(value), *_shell(value), *_percent(value)}


def base64_forms(value: bytes) -> Iterator[bytes]:
    """The part of base64 that every text with ``value`` in it has, for the three offsets."""
    for offset in range(3):
        # The first and last characters also encode neighbouring bytes, so they are cut.
        first = (offset * 8 + 5) // 6
        last = (offset + len(value)) * 8 // 6
        inner = b64encode(b"\0" * offset + value)[first:last]
        yield inner
        yield inner.translate(bytes.maketrans(b"+/", b"-_"))


def _quoted(value: str) -> Iterator[str]:
    for ascii_only in (True, False):
        plain = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield plain
        yield plain.replace("/", "\\/")
        # Go escapes these three in JSON.
        yield plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    for width, short in ((2, _SHORT | _YAML_SHORT), (4, _SHORT), (4, {'"': '\\"', "\\": "\\\\"})):
        for highest in (0x7E, 0xFFFF, 0x10FFFF):
            yield "".join(_character(char, short, width, highest) for char in value)
    yield value.replace("'", "''")
    yield value.replace("\\", "\\\\")
    yield value.replace('"', '\\"')


def _character(char: str, short: dict[str, str], width: int, highest: int) -> str:
    """One character in a quoted string that escapes characters above ``highest``."""
    if char in short:
        return short[char]
    code = ord(char)
    if 32 <= code < 127 or 160 <= code <= highest:
        return char
    if code < 256 and width == 2:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _shell(value: str) -> Iterator[str]:
    yield shlex.quote(value).removeprefix("'").removesuffix("'")
    yield value.replace("'", "'\\''")
    yield "".join(f"\\{char}" if char in '$`"\\!' else char for char in value)
    yield "".join(f"\\{char}" if char in '$`"\\' else char for char in value)
    yield "".join(f"\\{char}" if char in _SHELL_SPECIAL else char for char in value)


def _percent(value: str) -> Iterator[str]:
    for safe in _UNRESERVED:
        encoded = quote(value, safe=safe, errors="surrogatepass")
        yield encoded
        yield _lower_hex(encoded)
    plus = quote_plus(value, errors="surrogatepass")
    yield plus
    yield _lower_hex(plus)


def _lower_hex(encoded: str) -> str:
    head, *rest = encoded.split("%")
    return head + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)


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
    # a private age key, for example in place of the name of its file
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
# Values that are not secrets: flags, nothing, references to a variable, placeholders.
_HARMLESS = re.compile(
    r"(?i)(?:true|false|null|none|yes|no|\{|\[|\||>|\|-|>-|~|\$[A-Z_][A-Z0-9_]*|\$\d|\$\{[A-Za-z_]\w*\}"
    r"|\$\(.*|<MACHINE_NAME>|\*+|)"
)
# Values that are also searched in other lines: words of lower-case letters may be names.
_DISTINCT = re.compile(r"(?=.*[0-9A-Z])(?=.*[a-zA-Z]).{8,}|.{20,}")


def secret_spans(line: str) -> Iterator[tuple[int, int]]:
    """The positions of secrets in a line, found by their context."""
    for shape in _SHAPES:
        for match in shape.finditer(line):
            start, end = match.span("value")
            start, end = _unquoted(line, start, end)
            if start < end and not _HARMLESS.fullmatch(line[start:end]):
                yield start, end


def _unquoted(line: str, start: int, end: int) -> tuple[int, int]:
    for mark in ('\\"', '"', "'"):
        if line.startswith(mark, start):
            start += len(mark)
            closed = end - start >= len(mark) and line.startswith(mark, end - len(mark))
            return start, end - len(mark) if closed else end
    return start, end


def is_distinct(value: str) -> bool:
    """Whether a value that was found by its context can be distinguished from a name."""
    return _DISTINCT.fullmatch(value) is not None


MASK = "***"
MIN_BYTES = 6
_GRAM = MIN_BYTES

_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/=_-]*")
_BASE64_RUN_BEFORE = re.compile(rb"[A-Za-z0-9+/_-]*\Z")
# Fewer bytes around a secret do not identify its counterpart.
_LEAST_AROUND = 3
# Only the line breaks of files and terminals: others that Python knows may be part of a value.
_LINE_BREAKS = re.compile(r"[\r\n]+")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(.*?)(?:-----END|\Z)", re.DOTALL)
# Lines of PEM that anyone may read.
_PUBLIC_LINE = re.compile(r"-----(?:BEGIN|END) [A-Z0-9 ]+-----")


@dataclass(frozen=True, slots=True)
class Span:
    """The position of a secret in a line, in UTF-8 bytes."""

    start: int
    end: int


class Masker:
    """Knows the secrets of a run and replaces them with ``***``.

    Secrets are indexed when the first text is masked, because many maskers are never used.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._plain: set[bytes] = set()
        self._base64: set[bytes] = set()
        self._lengths: dict[bytes, tuple[int, ...]] = {}
        self._pending: list[str] = list(values)

    def learn(self, values: Iterable[str]) -> None:
        """Add secrets; each line of a multi-line secret is searched separately."""
        self._pending += values

    def _index_pending(self) -> None:
        values, self._pending = self._pending, []
        for value in values:
            lines = _LINE_BREAKS.split(value)
            for line in lines:
                self._add(line.strip())
            if len(lines) > 1:
                self._add(value.strip())  # an escaped text has it on one line

    def text(self, text: str) -> str:
        """The text with every secret masked, line by line."""
        return "".join(self.line(line) for line in _LINES.findall(text))

    def line(self, line: str) -> str:
        """One line with every secret masked."""
        data = _bytes(line)
        return _masked(data, [(span, MASK) for span in self.spans(line)])

    def problem(self, problem: Problem) -> Problem:
        """A problem with every part masked, and then cut if it is too long."""
        return replace(
            problem,
            what=shortened(self.text(problem.what)),
            where=shortened(self.text(problem.where)),
            about=shortened(self.text(problem.about)),
            field=shortened(self.text(problem.field)),
            fix=shortened(self.text(problem.fix)),
        )

    def diff_lines(self, lines: Sequence[str]) -> list[str]:
        """Masked lines of a unified diff. If both sides have secrets, a secret of only one side gets a mark of that
        side, so that a rotation is visible."""
        spans = [self._diff_spans(line) for line in lines]
        found: dict[str, set[bytes]] = {"-": set(), "+": set(), " ": set()}
        for line, in_line in zip(lines, spans, strict=True):
            data = _bytes(line)
            found.setdefault(line[:1], set()).update(data[span.start : span.end] for span in in_line)
        both = found["-"] & found["+"]
        sides = {"-": " (before)", "+": " (after)"} if found["-"] and found["+"] else {}
        masked = []
        for line, in_line in zip(lines, spans, strict=True):
            data = _bytes(line)
            side = sides.get(line[:1], "")
            masks = [(span, MASK if data[span.start : span.end] in both else MASK + side) for span in in_line]
            masked.append(_masked(data, masks))
        return masked

    def learn_from_diff(self, lines: Sequence[str]) -> None:
        """Learn secrets that no source has: by their context, and by their position, where the other side has a known
        one."""
        for line in lines:
            self.learn(value for value in _shaped_values(line[1:]) if is_distinct(value))
        removed = [line[1:] for line in lines if line.startswith("-")]
        added = [line[1:] for line in lines if line.startswith("+")]
        for known, unknown in ((added, removed), (removed, added)):
            if known and unknown:
                counterparts = _Counterparts(unknown)
                for line in known:
                    self._learn_aligned(line, counterparts)

    def learn_from_text(self, text: str) -> None:
        """Learn secrets that no source has by their context, to find them where the text is encoded too."""
        self.learn(private_keys(text))
        for line in text.splitlines():
            self.learn(value for value in _shaped_values(line) if is_distinct(value))

    def spans(self, line: str) -> list[Span]:
        """The positions of secrets in a line, merged and in order."""
        data = _bytes(line)
        found = list(self._known(data))
        for start, end in secret_spans(line):
            found.append(Span(len(_bytes(line[:start])), len(_bytes(line[:end]))))
        return _merged(found)

    def _diff_spans(self, line: str) -> list[Span]:
        # The first column belongs to the diff.
        return [Span(span.start + 1, span.end + 1) for span in self.spans(line[1:])]

    def _known(self, data: bytes) -> Iterator[Span]:
        if self._pending:
            self._index_pending()
        lengths, plain, encoded = self._lengths, self._plain, self._base64
        for start in range(len(data) - _GRAM + 1):
            for length in lengths.get(data[start : start + _GRAM], ()):
                piece = data[start : start + length]
                if piece in plain:
                    yield Span(start, start + length)
                    break
                if piece in encoded:
                    yield _whole_run(data, start, start + length)
                    break

    def _learn_aligned(self, line: str, others: _Counterparts) -> None:
        data = _bytes(line)
        spans = _merged(list(self._known(data)))
        if not spans:
            return
        edges = [0, *(edge for span in spans for edge in (span.start, span.end)), len(data)]
        around = tuple(data[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
        least = b"".join(around).strip()
        if not least:
            # A line with only secrets, like those of a private key: its counterpart has only secrets too.
            self.learn(others.words_of(len(line.split())))
        if len(least) >= _LEAST_AROUND:
            self.learn(piece.decode(errors="surrogateescape") for piece in others.between(around))

    def _add(self, value: str) -> None:
        if value in self._values or value in PUBLIC_WORDS or _PUBLIC_LINE.fullmatch(value):
            return
        if len(_bytes(value)) < MIN_BYTES:
            return
        self._values.add(value)
        forms = {_bytes(form) for form in escaped_forms(value)}
        encoded = {piece for form in forms for piece in base64_forms(form)}
        # Base64 in a URL has percent-encoded ``+`` and ``/``.
        escaped = {piece.replace(b"+", b"%2B").replace(b"/", b"%2F") for piece in encoded}
        for form in forms:
            self._index(form, self._plain)
        for piece in encoded | escaped:
            self._index(piece, self._base64)

    def _index(self, pattern: bytes, patterns: set[bytes]) -> None:
        patterns.add(pattern)
        gram = pattern[:_GRAM]
        lengths = self._lengths.get(gram, ())
        if len(pattern) not in lengths:
            self._lengths[gram] = tuple(sorted((*lengths, len(pattern)), reverse=True))


def private_keys(text: str) -> Iterator[str]:
    """The PEM private keys in a text, without their first and last line."""
    if "PRIVATE KEY" in text:
        yield from (match[1] for match in _PRIVATE_KEY.finditer(text))


def _shaped_values(line: str) -> Iterator[str]:
    for start, end in secret_spans(line):
        yield line[start:end]


class _Counterparts:
    """The lines of one side of a diff, in which those of the other side look for what took a secret's place. Lines that
    are alike but for their secrets ask the same, and get their answer once."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._sorted = sorted(set(map(_bytes, lines)))
        self._asked: set[object] = set()

    def words_of(self, number: int) -> Iterator[str]:
        """The words of lines with this number of words; only at the first call with this number."""
        if number not in self._asked:
            self._asked.add(number)
            for words in map(str.split, self._lines):
                yield from words if len(words) == number else ()

    def between(self, around: tuple[bytes, ...]) -> Iterator[bytes]:
        """The texts between these pieces in lines that consist of the pieces with texts between them; only at the first
        call with these pieces."""
        if around in self._asked:
            return
        self._asked.add(around)
        for at in range(bisect_left(self._sorted, around[0]), len(self._sorted)):
            line = self._sorted[at]
            if not line.startswith(around[0]):
                return
            yield from _between(line, around)


def _between(data: bytes, around: Sequence[bytes]) -> list[bytes]:
    """The texts between the pieces, if ``data``, which starts with the first, consists of the pieces with texts between
    them; else nothing."""
    first, *inner, last = around
    if not data.endswith(last):
        return []
    found, start = [], len(first)
    for piece in inner:
        end = data.find(piece, start + 1)
        if end < 0:
            return []
        found.append(data[start:end])
        start = end + len(piece)
    end = len(data) - len(last)
    return [*found, data[start:end]] if start < end else []


def _whole_run(data: bytes, start: int, end: int) -> Span:
    """The whole base64 around a match, because its edges encode bits of the secret too."""
    before = _BASE64_RUN_BEFORE.search(data, 0, start)
    after = _BASE64_RUN.match(data, end)
    return Span(before.start() if before else start, after.end() if after else end)


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _masked(data: bytes, masks: Sequence[tuple[Span, str]]) -> str:
    pieces, end = [], 0
    for span, mask in masks:
        pieces += [data[end : span.start], mask.encode()]
        end = span.end
    return b"".join([*pieces, data[end:]]).decode(errors="surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
