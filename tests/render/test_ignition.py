"""Ignition by hand-made examples; test_ignition_oracle compares with the real transpiler."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.profile import ConfigHalf, DropIn, File, OperatingSystemConfig, Unit
from osm_gitops.render.ignition import data_url, decode_data_url, render_ignition
from osm_gitops.render.ignition_text import TextFault, literal_block, plain_scalar, single_quoted
from osm_gitops.render.user_data import Pool, user_data
from tests.faults import Expected, placed

AROUND = '{"ignition":{"config":{},"security":{"tls":{}},"timeouts":{},"version":"2.3.0"},"networkd":{},'


def _render(half: ConfigHalf, *keys: str) -> str:
    return render_ignition(half, keys, "spec.bootstrapConfig", with_machine_name=False)


def _file(file: File) -> dict[str, Any]:
    (made,) = json.loads(_render(ConfigHalf((file,))))["storage"]["files"]
    return dict(made)


def _problems(half: ConfigHalf, *keys: str) -> list[Problem]:
    with pytest.raises(InputError) as refusal:
        _render(half, *keys)
    return list(refusal.value.problems)


def test_case_b_of_the_contract() -> None:
    script = "#!/bin/sh\n\nexport P=http://proxy.example.com:3128\necho md-b-kube-system-provisioning-config\n"
    content = "[Install]\nWantedBy=multi-user.target\n[Service]\nExecStart=/opt/boot {{ .Raw }}\n"
    half = ConfigHalf(
        (File("/opt/boot", script, 755, "b64"),),
        (Unit("boot.service", enable=True, content=content),),
        ("ssh-ed25519 AAAA a@b", "ssh-ed25519 AAAA a@b\n"),
    )
    config = OperatingSystemConfig("c", "n", "flatcar", "4593", "openstack", {}, "ignition", half, half)
    assert user_data("bootstrap", config, half, Pool("md-b", "ignition")) == (
        AROUND
        + r'"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA a@b"]}]},"storage":{"files":['
        r'{"filesystem":"root","path":"/etc/machine-name","contents":{"source":"data:,%3CMACHINE_NAME%3E",'
        r'"verification":{}},"mode":384},{"filesystem":"root","path":"/opt/boot","contents":{"source":"data:,'
        r"%23!%2Fbin%2Fsh%0A%0Aexport%20P%3Dhttp%3A%2F%2Fproxy.example.com%3A3128%0Aecho%20"
        r'md-b-kube-system-provisioning-config%0A","verification":{}},"mode":493}]},"systemd":{"units":['
        r'{"contents":"[Install]\nWantedBy=multi-user.target\n[Service]\nExecStart=/opt/boot {{ .Raw }}\n",'
        r'"enabled":true,"name":"boot.service"}]}}'
    )


def test_an_empty_half_is_an_empty_configuration() -> None:
    assert _render(ConfigHalf()) == AROUND + '"passwd":{},"storage":{},"systemd":{}}'


@pytest.mark.parametrize("provider", ["aws", "edge"])
def test_the_machine_name_is_a_placeholder_everywhere_but_on_aws(provider: str) -> None:
    config = OperatingSystemConfig("c", "n", "flatcar", "1", provider, {}, "ignition", ConfigHalf(), ConfigHalf())
    text = user_data("bootstrap", config, ConfigHalf(), Pool("md", "ignition"))
    assert ("data:,%3CMACHINE_NAME%3E" in text) is (provider != "aws")


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("x", "x\n"),
        ("x\n\n\n", "x\n"),
        ("    #!/bin/sh\n    y", "#!/bin/sh\ny\n"),
        ("\n\nx", "\n\nx\n"),
        ("x\n   \n", "x\n   \n"),
        ("\n", ""),
        (" ", ""),
        ("", ""),
        ("x\n\ty\n", "x\n\ty\n"),
        ("a\r\nb", "a\nb\n"),
        ("a\r", "a\n"),
        ("a\x85", "a\n"),
        ("a\u2028", "a\u2028"),
        ("  x\n# a comment of YAML", "x\n"),
    ],
)
def test_content_passes_through_a_yaml_block(content: str, read: str) -> None:
    assert literal_block(content, 10) == read


@pytest.mark.parametrize("content", ["  x\ny", "  x\n y", "\n \nx", "\tx", "  \tx", "a\rb", "a\x85b", "a\x7f", "a\x00"])
def test_content_that_breaks_a_yaml_block_is_refused(content: str) -> None:
    with pytest.raises(TextFault):
        literal_block(content, 10)


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126, exclude_characters=" "), min_size=1))
def test_unindented_printable_text_survives(content: str) -> None:
    assert literal_block(content, 10) == content + "\n"


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_data_urls_are_percent_encoded(content: str) -> None:
    url = data_url(content)
    assert url.isascii()
    assert unquote(url.removeprefix("data:,")) == content
    assert decode_data_url(url) == content


@given(st.lists(st.sampled_from(["%", "%2", "%25", "%0A", "%0a", "%41", "2", "5", "%C3%A9", "é", "x"])).map("".join))
def test_any_data_url_is_decoded(encoded: str) -> None:
    assert decode_data_url(f"data:,{encoded}") == unquote(encoded, errors="strict")


def test_data_urls_escape_everything_but_the_unreserved_characters() -> None:
    printable = "".join(map(chr, range(0x20, 0x7F)))
    unreserved = "!'()*-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"
    assert data_url(printable) == "data:," + "".join(c if c in unreserved else f"%{ord(c):02X}" for c in printable)


def test_lines_that_files_share_are_encoded_as_in_the_first_one() -> None:
    shared = [f"echo {number} é" for number in range(5_000)]
    for own in ("", "a b", "%" * 1_000, "\u2028"):
        content = "\n".join([own, *shared, own, ""])
        assert data_url(content) == "data:," + quote(content, safe="!'()*~")


@pytest.mark.parametrize(
    ("permissions", "mode"),
    [(644, 420), (600, 384), (755, 493), (888, 888), (1755, 1755), (75, 75), (0, 0), (4095, 4095)],
)
def test_only_three_octal_digits_are_octal(permissions: int, mode: int) -> None:
    assert _file(File("/a", "x", permissions))["mode"] == mode


@pytest.mark.parametrize("permissions", [4755, 4096, -1, -12])
def test_other_modes_are_refused(permissions: int) -> None:
    (problem,) = _problems(ConfigHalf((File("/a", "x", permissions),)))
    assert problem == Expected(Code.IGNITION_CONTENT, "spec.bootstrapConfig.files[0]: ", f" {permissions} ", "/a")


@pytest.mark.parametrize(("path", "read"), [("/a b", "/a b"), ("/a''b", "/a'b"), ("/a' #c", "/a"), ("/a\nb", "/a b")])
def test_paths_pass_through_single_quotes(path: str, read: str) -> None:
    assert single_quoted(path) == read
    assert _file(File(path, ""))["path"] == read


@pytest.mark.parametrize("path", ["a", "", "/a'b", "/a\x7f", "/a\n---\nb"])
def test_paths_that_ignition_does_not_take_are_refused(path: str) -> None:
    assert placed(_problems(ConfigHalf((File(path, "x"),)))[:1]) == [
        (Code.IGNITION_CONTENT, "spec.bootstrapConfig.files[0]")
    ]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("ssh-rsa AAA user #1", "ssh-rsa AAA user"),
        ("a#b", "a#b"),
        ("a:b", "a:b"),
        ("123", "123"),
        ("true", "true"),
        ("'it''s'", "it's"),
        (r'"a\x41\n\u00e9"  # c', "aA\né"),
        ("null", None),
        ("~", None),
        ("# all", None),
        ('""', ""),
        ("-a", "-a"),
    ],
)
def test_keys_and_names_are_read_as_yaml_values(text: str, read: str | None) -> None:
    assert plain_scalar(text) == read


@pytest.mark.parametrize(
    "text",
    ["a: b", "a:", "- a", "-", "? a", ": a", "@a", "`a", "%a", "{a}", "[a]", "*a", "&a b", "!t a", "|", ">",
     '"a', "'a", '"a" b', r'"\q"', r'"\ud800"', "a\nb", "a\x00b"],
)  # fmt: skip
def test_what_is_no_yaml_value_is_refused(text: str) -> None:
    with pytest.raises(TextFault):
        plain_scalar(text)
    (problem,) = _problems(ConfigHalf(), text)
    assert problem == Expected(Code.IGNITION_CONTENT, "1 of 1", "sshPublicKeys")


def test_a_key_that_yaml_takes_for_null_vanishes() -> None:
    assert '"users":[{"name":"core","sshAuthorizedKeys":["k"]}]' in _render(ConfigHalf(), "~", "k")
    assert '"users":[{"name":"core"}]' in _render(ConfigHalf(), "~")


def _units(*units: Unit) -> str:
    return _render(ConfigHalf(units=units)).split('"systemd":')[1][:-1]


def test_a_unit_prints_only_what_is_set() -> None:
    unit = Unit("a.service", mask=True, drop_ins=(DropIn("x.conf", "[S]\nA=<b>"), DropIn("y.conf", "")))
    assert _units(unit) == (
        r'{"units":[{"dropins":[{"contents":"[S]\nA=\u003cb\u003e\n","name":"x.conf"},{"name":"y.conf"}],'
        r'"enabled":false,"mask":true,"name":"a.service"}]}'
    )


@pytest.mark.parametrize(
    "content", [None, "", "[Install]\nA=b", "# a comment only", "stray text", "[Install]", "[S]\n[Install]\nA=b"]
)
def test_enabled_units_that_can_be_enabled(content: str | None) -> None:
    assert '"enabled":true' in _units(Unit("a.service", enable=True, content=content))


@pytest.mark.parametrize(
    ("unit", "fault"),
    [
        (Unit("a"), "ends in none of .service, "),
        (Unit("a.conf"), "ends in none of"),
        (Unit("a: b.service"), "colon"),
        (Unit("a.service", enable=True, content="[Service]\nA=b"), "no [Install] section"),
        (Unit("a.service", content="[S]\nA"), "without an equals sign"),
        (Unit("a.service", content="[S"), "closing bracket"),
        (Unit("a.service", content="[S] x\nA=b"), "text after a section header"),
        (Unit("a.service", content="[S]\nA=" + "x" * 2046), "longer than 2048 bytes"),
        (Unit("a.service", content="  x\ny"), "indented less"),
        (Unit("a.service", drop_ins=(DropIn("x", ""),)), "does not end in .conf"),
        (Unit("a.service", drop_ins=(DropIn("x.conf", "[S]\nA"),)), "the content of the drop-in x.conf"),
    ],
)
def test_units_that_the_transpiler_refuses(unit: Unit, fault: str) -> None:
    (problem,) = _problems(ConfigHalf(units=(unit,)))
    assert (problem.code, problem.field) == (Code.IGNITION_CONTENT, "spec.bootstrapConfig.units[0]")
    assert fault in problem.what


def test_all_problems_come_at_once() -> None:
    half = ConfigHalf((File("/ok", "x"), File("b", "\tx", 9999)), (Unit("bad"),))
    assert [problem.field for problem in _problems(half, "a: b")] == [
        "spec.template.spec.providerSpec.value.sshPublicKeys"
    ] + ["spec.bootstrapConfig.files[1]"] * 3 + ["spec.bootstrapConfig.units[0]"]
