"""Scripts that double what they hold, nest, call themselves or are only long: followed as far as limits go."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from osm_gitops.downloads.commands import asked_by
from osm_gitops.downloads.files import asked_in
from osm_gitops.gocompat.toml import TomlError, read_toml
from osm_gitops.shell.follow import Follower
from osm_gitops.shell.state import Command, Host
from tests.cli.scenes import facts, file, pool, profile
from tests.hostile.walled import walled, walled_cli

_LONG: Final = "a" * 60_000
_TWICE: Final = 60
_NINES: Final = "9" * 100_000

_AND_FELL: Final[dict[str, Callable[[], str]]] = {
    "an array twice itself": lambda: "a=(x)\n" + 'a=("${a[@]}" "${a[@]}")\n' * _TWICE + 'curl "${a[@]}"\n',
    "an array added to itself": lambda: "a=(x)\n" + 'a+=("${a[@]}")\n' * _TWICE + 'curl "${a[@]}"',
    "an array twice itself in a loop": lambda: "for i in " + "1 " * 40 + "; do b=(${b[@]} ${b[@]} x); done; curl $b",
    "arguments twice themselves": lambda: "set -- x\n" + 'set -- "$@" "$@"\n' * _TWICE + 'curl "$@"',
    "arguments 5,000 times": lambda: "set -- " + "x " * 8_000 + "\n" + "curl " + '"$@" ' * 5_000,
    "20,000 functions": lambda: "".join(f"f{each}() {{ echo; }}\n" for each in range(20_000)),
    "a long function 7,000 times": lambda: "f() { return; " + "echo a; " * 20_000 + "}\n" + "f\n" * 7_000,
    "2,000 substitutions in each other": lambda: "a=" + "$(" * 2_000 + "echo" + ")" * 2_000,
    "300 substitutions in each other": lambda: "a=" + "$(echo " * 300 + "x" + ")" * 300,
    "2,000 parentheses": lambda: "(" * 2_000 + "echo" + ")" * 2_000,
    "2,000 braces": lambda: "{ " * 2_000 + "echo; " + "} ;" * 2_000,
    "2,000 conditions": lambda: "if true; then " * 2_000 + "echo; " + "fi; " * 2_000,
    "2,000 defaults": lambda: "a=" + "${a:-" * 2_000 + "x" + "}" * 2_000,
    "2,000 tests": lambda: "[[ " + "( " * 2_000 + "-n x" + " )" * 2_000 + " ]]",
    "5,000 negations": lambda: "[[ " + "! " * 5_000 + "-n x ]]",
    "5,000 ands in a test": lambda: "[[ " + "-n x && " * 5_000 + "-n x ]]",
    "5,000 ands": lambda: "a && " * 5_000 + "a",
    "a pattern at every place": lambda: f"a={_LONG}\nb=${{a%%*b*c*d*e}}\nc=${{a##*b*c}}\ncurl $b",
    "a long replacement": lambda: f"a={_LONG}\nb=${{a//a/{_LONG}}}\ncurl $b",
    "a long replacement by sed": lambda: f"a={_LONG}\nb=$(echo $a | sed 's/a/{_LONG}/g')\ncurl $b",
    "a long format": lambda: f"printf '{_LONG}%s' " + "a " * 8_000,
    "a long text 10,000 times": lambda: f"a={_LONG}\ncurl " + "$a" * 10_000,
    "many words of long texts": lambda: f"a={_LONG}\ncurl " + ("$a" * 100 + " ") * 1_000,
    "a long text in a document": lambda: f"a={_LONG}\ncat > /f <<A\n" + "$a\n" * 10_000 + "A\n",
    "much on standard input": lambda: ("echo " + "a " * 30_000 + " | curl\n") * 300,
    "100,000 digits": lambda: f"[ {_NINES} -eq 1 ]; shift {_NINES}; echo ${{{_NINES}}}; a=(x); echo ${{a[{_NINES}]}}",
    "90,000,000 words": lambda: "a='" + "a " * 30_000 + "'\n" + "curl $a\n" * 3_000,
    "3,000 arrays of 30,000": lambda: "set -- " + "a " * 30_000 + "\n" + "a=($@)\nb+=($@)\n" * 3_000,
}  # fmt: skip

_AND_HELD: Final[dict[str, Callable[[], str]]] = {
    "a text twice itself": lambda: "a=x\n" + "a=$a$a\n" * _TWICE + "curl $a",
    "functions that call themselves": lambda: 'f() { f "$@" "$@"; f a; f b; }\nf x',
    "functions in a chain": lambda: "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(40)) + "f0",
    "7,000 variables": lambda: "".join(f"v{each}=x\n" for each in range(7_000)),
    "5,000 exports": lambda: "".join(f"export v{each}=x\n" for each in range(5_000)),
    "50,000 names": lambda: "read " + " ".join(f"v{each}" for each in range(50_000)),
    "300 unknown conditions": lambda: "".join(f"[ -e f{each} ] && a{each}=1\n" for each in range(300)),
    "loops in loops": lambda: "for a in 1 2 3 4 5 6 7 8 9; do " * 12 + "echo $a; " + "done; " * 12,
    "100,000 rounds": lambda: "for i in " + "a " * 100_000 + "; do curl $i; done",
    "5,000 cases": lambda: "case $1 in\n" + "".join(f"a{n}) x=$x{n} ;;\n" for n in range(5_000)) + "esac",
    "braces in braces": lambda: "curl " + "{a,b}" * 40 + "{" * 50_000,
    "eval of itself": lambda: "a='a=\"$a$a\"; eval \"$a\"'\neval \"$a\"",
    "a script that runs itself": lambda: "bash /a.sh; . /a.sh; /a.sh; /a.sh\n",
    "50,000 commands": lambda: "".join(f"curl http://a/b{each}\n" for each in range(50_000)),
    "50,000 commands in a line": lambda: "curl http://a/b; " * 50_000,
    "a word of a megabyte": lambda: "curl http://" + "a" * 1_000_000,
    "100,000 expansions": lambda: 'curl "' + "a $b " * 100_000 + '"',
    "5,000 pipes": lambda: "echo x" + " | cat" * 5_000,
    "what is no shell": lambda: "if then fi ) '\"" * 20_000,
    "unclosed parentheses": lambda: "( $( " * 20_000,
    "unclosed documents": lambda: "cat <<A <<B <<C\n" * 20_000,
    "backticks": lambda: "a=" + "`" * 50_001,
    "a million lines": lambda: "\n" * 1_000_000,
    "two megabytes": lambda: "echo a\n" * 300_000,
}  # fmt: skip


def _follow(text: str) -> tuple[int, int]:
    """How long the commands are that were found, and how many places could not be followed."""
    follower = Follower(Host({"/a.sh": text}))
    follower.script("/a.sh")
    return sum(sum(map(len, each.words)) for each in follower.commands), len(follower.unfollowed)


def _holds(text: str) -> None:
    outcome = walled(_follow, text)
    assert outcome.faults == []
    length, lost = outcome.value
    assert length < 20 << 20
    assert lost < 1000


@pytest.mark.parametrize("kind", _AND_FELL)
def test_a_script_that_took_all_is_followed_as_far_as_limits_go(kind: str) -> None:
    _holds(_AND_FELL[kind]())


@pytest.mark.oracle
@pytest.mark.parametrize("kind", _AND_HELD)
def test_a_large_script_is_followed_as_far_as_limits_go(kind: str) -> None:
    _holds(_AND_HELD[kind]())


def test_what_a_script_asks_for_before_it_is_too_much_is_kept() -> None:
    follower = Follower(Host({"/a.sh": "curl https://a.example.com/x\n" + "f() { f; f; }\nf\n" * 10}))
    follower.script("/a.sh")
    assert ("curl", "https://a.example.com/x") in {each.words for each in follower.commands}
    assert "there is too much to follow" in {each.why for each in follower.unfollowed}


def test_explain_lists_downloads_of_a_script_that_doubles_an_array(tmp_path: Path) -> None:
    script = "#!/bin/bash\ncurl https://a.example.com/x\n" + _AND_FELL["an array twice itself"]()
    script = script.replace("${a[@]}", "{{ `${a[@]}` }}")
    body = profile(provisioningConfig={"files": [file("/opt/bin/setup", script)]})
    objects = [body, pool(), *facts()]
    (tmp_path / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    outcome = walled_cli("explain", "--downloads", "--from", str(tmp_path))
    assert outcome.faults == []
    assert "https://a.example.com/x" in outcome.out


_CONTAINERD: Final = "/etc/containerd/config.toml"
_CONFIGS: Final[dict[str, tuple[str, Callable[[], str]]]] = {
    "a URL 100,000 times": (
        "/etc/containerd/certs.d/_default/hosts.toml",
        lambda: '[host."https://a.example.com"]\n' * 100_000,
    ),
    "a key of 100,000 parts": (_CONTAINERD, lambda: "a" + ".a" * 100_000 + " = 1"),
    "a key of quoted parts": (_CONTAINERD, lambda: '"a"' + '."a"' * 100_000 + " = 1"),
    "a table of 100,000 parts": (_CONTAINERD, lambda: "[a" + ".a" * 100_000 + "]"),
    "100,000 lists in each other": (_CONTAINERD, lambda: "a = " + "[" * 100_000),
    "100,000 tables in each other": (_CONTAINERD, lambda: "a = " + "{a = " * 100_000),
    "100,000 digits": (_CONTAINERD, lambda: f"a = {_NINES}"),
    "quotes": (_CONTAINERD, lambda: "a = " + '"""\\' * 100_000),
    "letters": (_CONTAINERD, lambda: "a" * 1_000_000),
    "100,000 sources": ("/etc/apt/sources.list", lambda: "deb [ http://a b c\n" * 100_000),
    "a source of blanks": ("/etc/apt/sources.list", lambda: "deb" + " " * 1_000_000),
}


@pytest.mark.parametrize("kind", _CONFIGS)
def test_configuration_that_is_large_in_one_way_is_read(kind: str) -> None:
    path, text = _CONFIGS[kind]
    outcome = walled(lambda: len(list(asked_in(path, text()))))
    assert outcome.faults == []


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("foo", "a" * 1_000_000), ""),
        (("foo", "a://" * 300_000), ""),
        (("curl", "-K", "-"), "\n" * 60_000),
        (("curl", "-K", "-"), "url" + " " * 60_000),
        (("curl", "-K", "-"), "url = http://a\n" * 4_000),
    ],
    ids=["letters", "schemes", "lines", "blanks", "addresses"],
)
def test_words_of_a_command_are_read_once(words: tuple[str, ...], given: str) -> None:
    outcome = walled(lambda: len(list(asked_by(Command(words, "/a.sh", 1, given)))))
    assert outcome.faults == []


def _toml(text: str) -> Any:
    try:
        return read_toml(text)
    except TomlError as error:
        return str(error)


def test_toml_is_bounded_in_its_keys_and_not_in_its_texts() -> None:
    dots = ".".join(["a"] * 200)
    text = f'a = "{dots}" # {dots}\nb = """\n{dots}\n"""\nc = \'{dots}\''
    assert _toml(text) == {"a": dots, "b": f"{dots}\n", "c": dots}
    assert _toml(f"x = 1\n{dots} = 1") == "a key has more than 100 parts (at line 2, column 1)"
    assert _toml(f"[{dots}]") == "a key has more than 100 parts (at line 1, column 1)"
    assert _toml(f"a = {{{dots} = 1}}") == "a key has more than 100 parts (at line 1, column 1)"
    assert len(_toml("[[a]]\nb = [[1, 2], [3]]\n" * 500)["a"]) == 500
