"""Scripts that are followed without being run: which commands they would call, and what stays unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from osm_gitops.shell.follow import Follower
from osm_gitops.shell.state import Host, is_known, shown

_ANSWERS: dict[tuple[str, ...], str] = {("uname", "-m"): "x86_64\n"}


def _followed(script: str, files: Mapping[str, str] | None = None) -> Follower:
    follower = Follower(Host({"/script": script, **(files or {})}, _ANSWERS, {"/etc/os-release": {"ID": "ubuntu"}}))
    follower.script("/script")
    return follower


def _gets(script: str, files: Mapping[str, str] | None = None) -> list[str]:
    """What ``get`` is called with, in order, once each."""
    ran = _followed(script, files).commands
    return [" ".join(map(shown, each.words[1:])) for each in ran if each.words[0] == "get"]


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ('a=x; get "https://h/$a/${a}b"', ["https://h/x/xb"]),
        ("get ${v:-v1} ${v-v2}", ["v1 v2"]),
        ("v=; get ${v:-v1} [${v-v2}]", ["v1 []"]),
        ("v=1; get ${v:+set} [${w:+set}]", ["set []"]),
        ("get $v ${w}/x", ["$v ${w}/x"]),
        ("v=1.35.2; get ${v%.*} ${v%%.*} ${v#*.} ${v##*.} ${#v} ${v//./-}", ["1.35 1 35.2 2 6 1-35-2"]),
        ("a_sum=5; b=a; n=${b}_sum; get ${!n}", ["5"]),
        ("get $(echo a b) \"$(printf '%s-%s' c d)\"", ["a b c-d"]),
        ("get $(uname -m) $(lsb_release -cs)", ["x86_64 $(lsb_release -cs)"]),
        ("get $(uname -m | sed s/x86_64/amd64/) $(echo AB | tr '[:upper:]' '[:lower:]')", ["amd64 ab"]),
        ("get 'a b'\\ c $'d\\te' \"\\$x\"", ["a b c d\te $x"]),
        ("get x{a,b}.c", ["xa.c xb.c"]),
        ('l=(a b); l+=(c); get "${l[@]}" ${l[1]}', ["a b c b"]),
        ("a=1 b=2; b=3 get $b; get $b", ["2"]),
        ("export a=x; readonly b=y; get $a$b", ["xy"]),
        ("eval 'get x'", ["x"]),
        ("bash -c 'get \"$1\"' name value", ["value"]),
        ("sudo -u root env A=b timeout 5 get x", ["x"]),
        ("echo a b | xargs get -v", ["-v a b"]),
        ("set -- a b; shift; get $1 $#", ["b 1"]),
        (". /etc/os-release; get $ID $VERSION_ID", ["ubuntu $VERSION_ID"]),
        ("a=x; unset a; get ${a:-gone}", ["gone"]),
        ("get a \\\n  b", ["a b"]),
        ("get $((1 + 2))", ["$((1 + 2))"]),
    ],
)
def test_words_are_expanded_as_far_as_they_are_known(script: str, asked: list[str]) -> None:
    assert _gets(script) == asked


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ('a=; if [ -z "$a" ]; then a=b; fi; get $a', ["b"]),
        ("if [ -f /x ]; then a=1; else a=2; fi; get $a", ["1", "2"]),
        ("if [ -f /x ]; then a=1; b=1; else a=2; b=2; fi; get $a$b", ["11", "22"]),
        ("if [ x = y ]; then get 1; elif [ 2 -gt 1 ]; then get 2; else get 3; fi", ["2"]),
        ("if [[ abc == a* && ! x != x ]]; then get 1; else get 2; fi", ["1"]),
        ("case $(uname -m) in aarch64) get a ;; x86_64|amd64) get b ;; *) get c ;; esac", ["b"]),
        ("case $v in a) get a ;; *) get c ;; esac", ["a", "c"]),
        ("case $(uname -m) in arm*) exit 1 ;; esac; get x", ["x"]),
        ("case x in *) echo no; exit 1 ;; esac; get x", []),
        ("[ -e /done ] && exit 0; get x", ["x"]),
        ("exit 0; get x", []),
        ("false || get a; true || get b; true && get c", ["a", "c"]),
        ("cmd || { echo failed; exit 1; }; get x", ["x"]),
        ("if ! cmd; then get a; fi; get b", ["a", "b"]),
        ("! true || get a", ["a"]),
    ],
)
def test_known_conditions_decide_and_others_are_followed_both_ways(script: str, asked: list[str]) -> None:
    assert _gets(script) == asked


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ("for b in a c; do get $b; done; get $b", ["a", "c"]),
        ("for b in a c; do [ $b = a ] && continue; get $b; done", ["c"]),
        ("for b in a c; do get $b; break; done", ["a"]),
        ("f() { for a; do get $a; done; }; f x y", ["x", "y"]),
        ("while ! cmd; do get x; sleep 1; done; get y", ["x", "y"]),
        ("until get x; do sleep 1; done", ["x"]),
        ("n=0; while cmd; do n=1; done; get $n", ["0", "$n"]),
        ("for ((i=0; i<3; i++)); do get x; done", ["x"]),
        ("i=9; for ((i=0; i<3; i++)); do get $i; done", ["$i"]),
        ("while read -r name url; do get $url; done <<'END'\na u1 x\nb u2\nEND", ["u1 x", "u2"]),
        ("while read -r url; do get $url; done < <(cmd)", ["$url"]),
    ],
)
def test_loops_go_round_as_often_as_is_known(script: str, asked: list[str]) -> None:
    assert _gets(script) == asked


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ("f() { get $1; }; f x; f y", ["x", "y"]),
        ("f() { local a=$1; get $a; }; a=z; f x; get $a", ["x", "z"]),
        ('retry() { until "$@"; do sleep 1; done; }; retry get a b', ["a b"]),
        ("f() { return 0; get x; }; f; get y", ["y"]),
        ("f() { echo v1; }; get $(f)", ["v1"]),
        ("f() { f; get x; }; f", ["x"]),
        ("(a=x; get $a); get ${a:-y}", ["x", "y"]),
        ("{ a=x; get $a; }; get $a", ["x"]),
        ("f() { g; }; g() { get x; }; f", ["x"]),
    ],
)
def test_functions_are_entered_with_their_arguments(script: str, asked: list[str]) -> None:
    assert _gets(script)[: len(asked)] == asked


def test_files_of_the_profile_are_entered_as_scripts_and_sourced() -> None:
    files = {"/opt/fetch": "get $1 ${own:-hidden}", "/opt/lib.sh": "base=https://h\nget_all() { get $base/$1; }"}
    script = "own=x\n/opt/fetch a\nexport own\nbash /opt/fetch b\nown=y /opt/fetch c\n. /opt/lib.sh\nget_all d"
    assert _gets(script, files) == ["a hidden", "b x", "c y", "https://h/d"]


def test_scripts_that_call_each_other_without_end_are_left() -> None:
    follower = _followed("/a", {"/a": "/b", "/b": "get x; /a"})
    assert [each.why for each in follower.unfollowed] == ["scripts call each other too deeply"]
    assert ("get", "x") in {each.words for each in follower.commands}


def test_a_command_is_told_at_the_line_of_the_script_that_leads_to_it() -> None:
    follower = _followed("fetch() {\n  get $1\n}\n\nfetch x\n/opt/y\n", {"/opt/y": "#\nget y\n"})
    assert [(each.path, each.line) for each in follower.commands] == [("/script", 5), ("/opt/y", 2)]


@pytest.mark.parametrize(
    ("script", "written"),
    [
        ("a=noble\ncat >/etc/x <<END\nurl=$a\n\\$b\nEND", ("/etc/x", "url=noble\n$b\n")),
        ("a=1\ncat <<'END' | tee /etc/x\nurl=$a\nEND", ("/etc/x", "url=$a\n")),
        ("a=1\ncat <<END | sudo tee /etc/x >/dev/null\n$a $(cmd)\nEND", ("/etc/x", "1 $(cmd)\n")),
        ("echo deb $a >/etc/x", ("/etc/x", "deb $a\n")),
        ("for s in a b; do echo $s; done >/etc/x", ("/etc/x", "a\nb\n")),
        ("{ echo a; printf '%s=%s\\n' b c; } >>/etc/x", ("/etc/x", "a\nb=c\n")),
        ("p=/etc; echo a | tee -a $p/x", ("/etc/x", "a\n")),
    ],
)
def test_texts_that_are_written_into_files_are_told(script: str, written: tuple[str, str]) -> None:
    assert [(each.target, shown(each.text)) for each in _followed(script).written] == [written]


def test_what_goes_to_standard_error_is_no_output() -> None:
    assert _gets("f() { echo trying >&2; echo v1; }; get $(f)") == ["v1"]


@pytest.mark.parametrize(
    "script",
    [
        "if then fi ((",
        "get 'x",
        "case x in",
        "get $(get $(get",
        "cat <<END\n$x",
        "}{",
        "\udcff\x00get \ue000x\ue001",
        "f() { f; f; f; }; f",
        "while :; do while :; do while :; do get x; done; done; done",
        ":(){ :|:& };:",
        "a=$a$a; " * 200 + "get $a",
        "".join(f"if [ -e /{n} ]; then v{n}=1; fi; " for n in range(30)) + "get x",
        "get " + "x{a,b}" * 12,
        "[ ! ]; [[ ( a ]]; ((; get x",
        'eval "$x"; bash -c "$x"; $x; "$@"',
        "xargs; sudo; env; exec; command; .; source; eval; sh; tee; printf; read; shift; set; unset",
    ],
)
def test_hostile_scripts_come_to_an_end(script: str) -> None:
    follower = _followed(script)
    assert len(follower.commands) < 1_000


_PARTS = Path(__file__).parents[2] / "osps" / "v2.1.0" / "parts"
_SHARDS = (
    *(
        "$",
        '"',
        "'",
        "(",
        ")",
        "{",
        "}",
        "`",
        "\\",
        "|",
        "&",
        ";",
        "<<",
        ">",
        "[[",
        "]]",
        "!",
        "*",
        "\n",
        "$(",
        "${",
        "fi",
    ),
    *(
        "done",
        "do",
        "then",
        "case",
        "esac",
        "function",
        "local",
        "${!",
        "${a[",
        "${x%",
        "xargs",
        "shift 9",
        "eval ",
        "\x00",
    ),
    *("set -- ", ". /etc/os-release", "printf ", "sed s/a/b/", "read ", "tee", "\udcff", "$((", "((", "for ", "in "),
)


@pytest.mark.parametrize("part", sorted(path.name for path in _PARTS.glob("*.sh")))
def test_broken_scripts_break_nothing(part: str) -> None:
    chance = Random(part)
    whole = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "x", (_PARTS / part).read_text("utf-8"), flags=re.DOTALL)
    for _ in range(20):
        script = whole
        for _ in range(chance.randint(1, 10)):
            at = chance.randrange(len(script) + 1)
            script = script[:at] + chance.choice(_SHARDS) + script[at + chance.randint(0, 12) :]
        follower = _followed(script)
        assert all(each.words for each in follower.commands)


def test_too_many_ways_are_told_and_nothing_is_invented() -> None:
    script = "".join(f"if [ -e /{n} ]; then v{n}=1; else v{n}=2; fi\n" for n in range(8)) + "get $v1$v7 fixed"
    follower = _followed(script)
    asked = [each.words[1:] for each in follower.commands if each.words[0] == "get"]
    assert all(words[1] == "fixed" for words in asked)
    assert any("too many paths" in each.why for each in follower.unfollowed)
    assert {shown(words[0]) for words in asked if is_known(words[0])} <= {"11", "12", "21", "22"}


def test_what_is_no_shell_is_told_with_its_line() -> None:
    follower = _followed("get a\nif [ x ]; then\nget b\n")
    assert [each.why for each in follower.unfollowed] == ["this is not valid shell"]


def test_a_pipe_into_a_shell_from_elsewhere_is_told() -> None:
    follower = _followed("curl https://get.example.com | bash")
    assert [each.words for each in follower.commands] == [("curl", "https://get.example.com")]
    assert len(follower.unfollowed) == 1
