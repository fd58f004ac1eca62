"""What our HTML pages share: a head with a Content-Security-Policy, one style, embedded data, bars.

A page loads nothing. Its policy allows only its own style sheet and script, by their hashes; so markup that gets into a
page by mistake cannot run, and ``style`` attributes have no effect.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from typing import Final

from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.model.objects import Json

STYLE: Final = """\
:root {
  color-scheme: light dark;
  --page: #fff; --panel: #f5f6f8; --line: #d5dae1; --text: #1b1f24; --soft: #56606b; --link: #0b57a4;
  --good: #19703a; --warn: #865100; --bad: #b3261e; --new: #dff3e4; --old: #fbe4e2; --track: #dfe3e8; --fill: #4f7cac;
}
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #10141a; --panel: #181d24; --line: #303842; --text: #e4e9ee; --soft: #9fa9b4; --link: #82b7f2;
  --good: #6fcf8b; --warn: #e2b25a; --bad: #ff9b93; --new: #163221; --old: #3c1f1e; --track: #2b323b; --fill: #6d9bcc;
} }
* { box-sizing: border-box; }
html { scroll-padding-top: 3rem; }
body { margin: 0 auto; max-width: 100rem; padding: 1.5rem 1.5rem 4rem; background: var(--page); color: var(--text);
  font: 14px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; font-weight: 650; }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 2.5rem 0 .6rem; font-weight: 650; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; font-weight: 650; }
p { margin: .4rem 0; max-width: 60rem; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 2px; }
code, pre { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code { overflow-wrap: anywhere; }
h2 code, h3 code, h4 code, summary code { font-size: .93em; }
pre { margin: .4rem 0; padding: .5rem 0; background: var(--panel); border-radius: 4px; }
pre span { display: block; white-space: pre-wrap; overflow-wrap: anywhere; min-height: 1.5em;
  padding: 0 .8rem 0 2rem; text-indent: -1.2rem; }
.new { background: var(--new); }
.old { background: var(--old); }
.at { color: var(--link); }
.soft { color: var(--soft); }
.good { color: var(--good); }
.warn { color: var(--warn); }
.bad { color: var(--bad); }
.notice { border-left: 3px solid var(--bad); padding: .1rem 0 .1rem .9rem; margin: 1rem 0; }
.notice h2 { margin-top: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .32rem .7rem .32rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; white-space: nowrap; background: var(--page); }
td.number, th.number { text-align: right; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
details { margin: .4rem 0; }
summary { cursor: pointer; padding: .15rem 0; }
button, input, select { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--line);
  border-radius: 5px; padding: .3rem .7rem; }
button { cursor: pointer; }
button:hover { background: var(--panel); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
input[type="search"] { width: 100%; max-width: 34rem; }
.bar { display: inline-block; width: 5rem; height: .5rem; vertical-align: middle; border-radius: 2px; }
.bar .track { fill: var(--track); }
.bar .fill { fill: var(--fill); }
.bar .fill.warn { fill: var(--warn); }
.bar .fill.bad { fill: var(--bad); }
[hidden] { display: none !important; }
@media print {
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  .tools, .anchor { display: none; }
  tr, summary, h2, h3 { break-inside: avoid; break-after: auto; }
  h2, h3 { break-after: avoid; }
  thead { display: table-header-group; }
  a { color: inherit; text-decoration: none; }
  .scroll { overflow: visible; }
  .new, .old, .bar { print-color-adjust: exact; }
}
"""
_HEAD: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""
FULL: Final = 0.9
"""The share of a limit from which a bar warns."""


def head(title: str, style: str, script: str = "") -> str:
    """The beginning of a page, to the start of its body. ``script`` is that of :func:`foot`, if it has one."""
    scripts = f"'{_hash(script)}'" if script else "'none'"
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src {scripts}; base-uri 'none'; form-action 'none'"
    )
    return _HEAD.format(policy=policy, title=escape(title), style=style)


def foot(script: str = "") -> str:
    """The end of a page, with its script if it has one."""
    return f"{f'<script>{script}</script>' if script else ''}\n</body>\n</html>\n"


def _hash(text: str) -> str:
    return f"sha256-{encode_base64(sha256(text.encode()).digest())}"


def embedded(name: str, data: Json) -> str:
    """Data for the script of a page. No character of it is markup, and all are ASCII."""
    text = json.dumps(data, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def fullness(share: float) -> str:
    """The class of what uses this share of a limit: ``bad`` above it, ``warn`` near it, else empty."""
    return "bad" if share > 1 else "warn" if share >= FULL else ""


def bar(share: float, *, limit: bool = True) -> str:
    """A bar of a share. Of a ``limit`` it warns where this is near, and is full above it."""
    kind = f"fill {fullness(share)}".rstrip() if limit else "fill"
    width = min(share, 1) * 100
    return (
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="8"/>'
        f'<rect class="{kind}" width="{width:.2f}" height="8"/></svg>'
    )


def code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def items(texts: Iterable[str]) -> str:
    """A list; each text is markup."""
    lines = "\n".join(f"<li>{text}</li>" for text in texts)
    return f"<ul>\n{lines}\n</ul>\n"
