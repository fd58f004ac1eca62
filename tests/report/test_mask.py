"""Masking: no planted secret survives, in whatever guise; what is public stays readable."""

from __future__ import annotations

import ast
import json
import re
import shlex
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import osm_gitops
from osm_gitops.errors import Code, Problem
from osm_gitops.model.public_words import PUBLIC_WORDS
from osm_gitops.report import mask
from osm_gitops.report.mask import Masker

_TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=40)
_SECRETS = _TEXT.map(str.strip).filter(lambda value: len(value.encode()) >= 6 and value not in PUBLIC_WORDS)


def _toml(value: str) -> str:
    """A TOML basic string as BurntSushi writes it."""
    return value.replace("\\", "\\\\").replace('"', '\\"')


_GUISES: dict[str, Callable[[str], str]] = {
    "plain": lambda value: value,
    "json": lambda value: json.dumps(value)[1:-1],
    "json with unicode": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "json of Go": lambda value: (
        json.dumps(value, ensure_ascii=False)[1:-1]
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    ),
    "yaml": lambda value: yaml.dump(value, default_style='"', width=10**6, allow_unicode=False).strip()[1:-1],
    "yaml with unicode": lambda value: yaml.dump(value, default_style='"', width=10**6, allow_unicode=True).strip()[
        1:-1
    ],
    "yaml single quoted": lambda value: value.replace("'", "''"),
    "toml": _toml,
    "shell": shlex.quote,
    "shell in double quotes": lambda value: "".join(f"\\{c}" if c in '$`"\\' else c for c in value),
    "percent": lambda value: quote(value, safe=""),
    "percent of a path": quote,
    "percent of a query": quote_plus,
    "percent of ignition": lambda value: quote(value, safe="-_.!~*'()"),
}


@pytest.mark.parametrize("guise", _GUISES)
@settings(deadline=None)
@given(secret=_SECRETS)
def test_a_secret_is_masked_in_every_guise(guise: str, secret: str) -> None:
    written = _GUISES[guise](secret)
    assert written not in Masker([secret]).line(f"«{written}»").replace("***", "")


@settings(deadline=None)
@given(secret=_SECRETS, before=st.text("abc:", max_size=5), after=st.text("xyz", max_size=5))
def test_a_secret_is_masked_in_base64_at_any_offset(secret: str, before: str, after: str) -> None:
    whole = f"{before}{secret}{after}".encode()
    masker = Masker([secret])
    for encoded in (b64encode(whole).decode(), urlsafe_b64encode(whole).decode()):
        assert masker.line(f"content: {encoded}") == "content: ***"


@settings(deadline=None)
@given(secrets=st.lists(_SECRETS, min_size=1, max_size=6))
def test_overlapping_secrets_are_masked_together(secrets: list[str]) -> None:
    shown = Masker(secrets).line(f"<{''.join(secrets)}>")
    assert shown == "<***>" or all(secret not in shown for secret in secrets)


def test_overlapping_secrets_leave_no_tail() -> None:
    assert Masker(["abcdef12", "ef123456"]).line("x abcdef123456 y") == "x *** y"


def test_a_secret_of_several_lines_is_masked_line_by_line() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nq83vEjRWeJA=\n-----END RSA PRIVATE KEY-----\n"
    shown = Masker([key]).text(f"a\n    {key.replace(chr(10), chr(10) + '    ')}b\n")
    assert "MIIE" not in shown
    assert "q83v" not in shown
    assert "-----BEGIN RSA PRIVATE KEY-----" in shown


def test_short_values_are_masked_in_their_own_field_only() -> None:
    masker = Masker(["abc"])
    assert masker.line("password: abc") == "password: ***"
    assert masker.line("the abc of kubernetes") == "the abc of kubernetes"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("curl --header 'Authorization: Bearer old-token' https://a", "curl --header 'Authorization: Bearer ***' https://a"),
        ('  password = "hunter2"', '  password = "***"'),
        ("    password: hunter2", "    password: ***"),
        ('{"password":"hunter2","email":"a@b"}', '{"password":"***","email":"a@b"}'),
        (r'{\"password\":\"hunter2\"}', r'{\"password\":\"***\"}'),
        ("http_proxy=http://user:p%40ss@proxy:3128", "http_proxy=http://***@proxy:3128"),
        ("    activation-key: my-key", "    activation-key: ***"),
        ("    client-key-data: TFMw", "    client-key-data: ***"),
        ('auth = "dXNlcjpwYXNz"', 'auth = "***"'),
        ("subscription-manager register --password geheim", "subscription-manager register --password ***"),
        ("clientSecret: s3cr3t", "clientSecret: ***"),
    ],
)  # fmt: skip
def test_secrets_are_known_by_their_shape(line: str, shown: str) -> None:
    assert Masker().line(line) == shown


@pytest.mark.parametrize(
    "line",
    [
        "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t",
        "server: https://foo.bar:6443",
        "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
        "curl https://foo.bar/api/v1/namespaces/cloud-init-settings/secrets/a-kube-system-provisioning-config",
        "    password: ",
        "password=${PASSWORD}",
        "secret=$1 key=$2",
        "kind: Secret",
        "secretName: registry-credentials",
        "automountServiceAccountToken: false",
        "-----BEGIN CERTIFICATE-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHk3 ops@example.com",
        "  authentication:",
    ],
)
def test_what_is_public_stays_readable(line: str) -> None:
    assert Masker(["s3cr3t-token"]).line(line) == line


def test_a_rotated_token_shows_that_it_changed_and_nothing_else() -> None:
    masker = Masker(["new-token-2"])
    lines = ["@@ -1,1 +1,1 @@", "-header = old-token-1 end", "+header = new-token-2 end"]
    masker.learn_from_diff(lines)
    assert masker.diff_lines(lines) == ["@@ -1,1 +1,1 @@", "-header = *** (before) end", "+header = *** (after) end"]


def test_a_line_with_many_secrets_is_aligned_in_no_time() -> None:
    masker = Masker(["new-token-2"])
    new, old = "+" + "x=new-token-2 " * 40, "-" + "x=old-token-1 " * 39 + "y" * 20_000
    masker.learn_from_diff([old, new])
    masker.learn_from_diff(["-" + "x=old-token-1 " * 40, new])
    assert masker.line("echo old-token-1") == "echo ***"


def test_a_learnt_old_token_is_masked_elsewhere_too() -> None:
    masker = Masker(["new-token-2"])
    masker.learn_from_diff(["-header = old-token-1 end", "+header = new-token-2 end"])
    assert masker.line("echo old-token-1") == "echo ***"


def test_a_secret_that_stays_is_not_marked() -> None:
    lines = ["-a token-token x", "+a token-token y"]
    assert Masker(["token-token"]).diff_lines(lines) == ["-a *** x", "+a *** y"]


def test_the_counterpart_of_a_line_that_is_a_secret_is_learnt() -> None:
    masker = Masker(["MIIEnewnewnewnew"])
    lines = ["-    MIIEoldoldoldold", "-    some text", "+    MIIEnewnewnewnew"]
    masker.learn_from_diff(lines)
    assert masker.diff_lines(lines) == ["-    *** (before)", "-    some text", "+    *** (after)"]


def test_a_problem_is_masked_in_all_its_parts() -> None:
    shown = Masker(["s3cr3t-token"]).problem(
        Problem(Code.INVALID_VALUE, "s3cr3t-token a", "s3cr3t-token", fix="s3cr3t-token")
    )
    assert "s3cr3t" not in str(shown)


def test_ten_thousand_secrets_are_looked_for_in_linear_time() -> None:
    secrets = [f"eyJhbGciOiJSUzI1NiIs{number:08d}" for number in range(10_000)]
    text = "\n".join(f"line {secret}" for secret in secrets[:2_000])
    assert Masker(secrets).text(text) == "\n".join(["line ***"] * 2_000)


def test_a_long_line_without_secrets_takes_no_quadratic_time() -> None:
    line = "a" * 300_000
    assert Masker(["s3cr3t-token"]).line(line) == line


def test_a_private_age_key_is_known_wherever_it_stands() -> None:
    key = "AGE-SECRET-KEY-1QQPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQ"
    assert Masker().line(f"the key file {key} is not there") == "the key file AGE-SECRET-KEY-*** is not there"


def test_no_sentence_of_ours_is_taken_for_a_secret() -> None:
    """A word such as ``token`` with a colon behind it looks like a line of a configuration file."""
    texts = _Texts()
    for path in Path(osm_gitops.__file__).parent.rglob("*.py"):
        texts.visit(ast.parse(path.read_text("utf-8")))
    sentences = [text for text in texts.found if _SENTENCE.search(text) and not _CODE.search(text)]
    assert len(sentences) > 1_000
    assert [text for text in sentences if Masker().text(text) != text] == []


_SENTENCE = re.compile(r"\b[a-z]+ [a-z]+ [a-z]+ [a-z]+\b")
_CODE = re.compile(r"[\n;\\$\ud800-\udfff]")


class _Texts(ast.NodeVisitor):
    """Texts in code without docstrings; an X for each value that is put into one."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values))

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.found.append(node.value)


def test_each_line_of_a_large_rotation_is_compared_with_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    real = mask._between

    def between(data: bytes, around: Sequence[bytes]) -> list[bytes]:
        nonlocal compared
        compared += 1
        return real(data, around)

    monkeypatch.setattr(mask, "_between", between)
    numbers = range(300)
    masker = Masker(f"new-secret-{number:04}" for number in numbers)
    removed = [f"-  token-{number:04}: old-secret-{number:04}" for number in numbers]
    masker.learn_from_diff([*removed, *(f"+  token-{number:04}: new-secret-{number:04}" for number in numbers)])
    assert masker.line("old-secret-0000 old-secret-0299") == "*** ***"
    assert compared == 2 * len(numbers)
