"""Random files, units and keys against the real Container Linux Config transpiler (osm-behaviour.md, "Ignition
user-data")."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

import pytest

from osm_gitops.errors import InputError
from osm_gitops.model.profile import ConfigHalf, DropIn, File, Unit
from osm_gitops.render.ignition import render_ignition
from osm_gitops.render.user_data import unique_keys
from tests.oracle_client import ask
from tests.oracle_tests.container_linux import container_linux_config

pytestmark = pytest.mark.oracle

_TEXT: Final = (
    *(
        "a",
        "b",
        "\n",
        "\n",
        "\n\n",
        "  ",
        " ",
        "\n ",
        "é",
        "\t",
        "<&>",
        "%",
        '"',
        "'",
        "\\",
        "#",
        "\n#",
        "~!*()",
        "{}",
        "\u2003",
    ),
    *(
        "😀",
        "\r\n",
        ": ",
        "- ",
        "#!/bin/sh\n",
        "set -e\n",
        "x: |\n  y\n",
        "if x; then\n\ty\nfi\n",
        "---\n",
        "...\n",
        "+",
    ),
)
_BREAKING: Final = ("\r", "\x85", "\u2028", "\x7f", "\x00", "\x1b", "\ufffe")
_UNIT: Final = (
    *(
        "[Unit]\n",
        "[Service]\n",
        "[Install]\n",
        "A=b\n",
        "ExecStart=/bin/x %i ${A}\n",
        "=",
        "\n",
        " ",
        "# c\n",
        ";",
        "\\",
        "\\\n",
    ),
    *("[", "]", "x", "é", "A=b\\\n  c\n", "A = b\n", "WantedBy=multi-user.target\n", "\n\n", "A=\n", '"', "<"),
)
_GOOD_UNITS: Final = (
    "[Unit]\nDescription=x\n\n[Service]\nExecStart=/opt/x\n\n[Install]\nWantedBy=multi-user.target\n",
    "[Install]\nWantedBy=multi-user.target",
)
_NAME: Final = (
    *(
        "a",
        "b",
        "1",
        "@",
        "-",
        ".",
        "/",
        "é",
        "%",
        " ",
        ":",
        "#",
        "=",
        "null",
        "~",
        ": ",
        " #",
        '"',
        "'",
        "''",
        "- ",
        "[",
        "{",
        "*",
        ",",
    ),
)
_PATH: Final = ("a", "b", "/", ".", " ", "é", "<", "#", "''", "'", "\t", " #", '"', "\\")
_KEYS: Final = (
    *(
        "ssh-ed25519 AAAA a@b",
        "ssh-rsa AAAA me@example.com\n",
        " k ",
        "",
        'from="10.0.0.0/8" ssh-rsa A',
        "k #1",
        "null",
        "é",
        "a: b",
    ),
    *('"q"', "'q'", "~", "1", "k: ", 'command="x",no-pty ssh-rsa AAAA', "ssh-rsa AAAA b # c"),
)
_MODES: Final = (755, 600, 0, 75, 888, 1755, 4095, 4096, 777, 778, 7, -5, -12, 4755)
_SUFFIXES: Final = (*[".service"] * 5, ".timer", ".socket", ".mount", ".path", ".slice", "", ".conf", ".network")


def _joined(random: Random, parts: Sequence[str], most: int) -> str:
    return "".join(random.choice(parts) for _ in range(random.randrange(most)))


def _content(random: Random) -> str:
    made = random.choice(("", "x", "x", "  ")) + _joined(random, _TEXT, 10)
    if random.random() < 0.04:
        # Text follows: "..." after these would end the document and silently drop what comes then; ours refuses that.
        return f"{made}{random.choice(_BREAKING)}x{_joined(random, _TEXT, 3)}"
    return made


def _file(random: Random) -> File:
    path = ("/" if random.random() < 0.95 else "") + _joined(random, _PATH[: random.choice((5, 5, len(_PATH)))], 5)
    return File(path, _content(random), random.choice(_MODES) if random.random() < 0.3 else 644)


def _unit(random: Random) -> Unit:
    name = _joined(random, _NAME, 4) if random.random() < 0.2 else "u"
    content = random.choice(
        (None, "", *_GOOD_UNITS, _joined(random, _UNIT, 9), _GOOD_UNITS[1] + "\n" + _joined(random, _UNIT, 6))
    )
    if content and random.random() < 0.1:
        content += "A=" + "x" * random.choice((100, 2040, 2045, 2046, 2047, 2048, 4096)) + "\n"
    flags = (True, False, None)
    drop_ins = tuple(_drop_in(random) for _ in range(random.choice((0, 0, 0, 1, 2))))
    return Unit(name + random.choice(_SUFFIXES), random.choice(flags), random.choice(flags), content, drop_ins)


def _drop_in(random: Random) -> DropIn:
    content = random.choice(("[Service]\nA=b\n", _joined(random, _UNIT, 6)))
    return DropIn(random.choice(("10-x.conf", "10-x.conf", "a b.conf", "x", '"q.conf"')), content)


def _configuration(random: Random) -> tuple[ConfigHalf, tuple[str, ...]]:
    kinds = random.choice(((2, 1, 1), (1, 0, 0), (0, 1, 0), (3, 3, 2)))
    files, units, keys = (random.randint(0, most) for most in kinds)
    half = ConfigHalf(tuple(_file(random) for _ in range(files)), tuple(_unit(random) for _ in range(units)))
    return half, tuple(unique_keys([random.choice(_KEYS) for _ in range(keys)]))


def _render(half: ConfigHalf, keys: Sequence[str], *, with_machine_name: bool) -> str | None:
    try:
        return render_ignition(half, keys, "spec.bootstrapConfig", with_machine_name=with_machine_name)
    except InputError:
        return None


@pytest.mark.parametrize("seed", range(2))
def test_ignition_is_what_the_transpiler_makes(seed: int) -> None:
    random = Random(seed)
    questions = [(*_configuration(random), random.random() < 0.5) for _ in range(4000)]
    answers = ask(
        {"ignition": container_linux_config(half, keys, with_machine_name=named)} for half, keys, named in questions
    )
    wrong, right = [], 0
    for (half, keys, named), answer in zip(questions, answers, strict=True):
        if not (half.files or half.units or keys or named):
            continue  # the transpiler refuses an empty document; OSM's is never empty
        ours, wanted = _render(half, keys, with_machine_name=named), answer.get("output")
        right += ours is not None
        if ours != wanted:
            wrong.append(f"{half} {keys} {named}\n  ours: {ours}\n  Go:   {answer}")
    assert right > 1000
    assert not wrong, f"{len(wrong)} differ:\n" + "\n\n".join(wrong[:10])
