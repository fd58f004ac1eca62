"""Random templates, rendered by Go and by us until the time is over: ``make fuzz``.

A difference is shortened and printed with the seed that makes it again: ``make fuzz FUZZ_SEED=…``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from random import Random, SystemRandom
from time import monotonic
from typing import Any, Final

from osm_gitops.gotemplate.functions import FUNCTIONS
from tests.oracle_tests.bodies import Bodies
from tests.oracle_tests.comparison import differences, one_file
from tests.oracle_tests.expressions import Expressions
from tests.oracle_tests.random_data import random_data

_BATCH: Final = 300
_SHOWN: Final = 5
_CALLED: Final = [FUNCTIONS[name] for name in sorted(FUNCTIONS.keys() - {"call", "fail"})]
_PIECES: Final = re.compile(r"\{\{.*?\}\}|[^{]+|\{", re.DOTALL)
_WORDS: Final = re.compile(r"\{\{-?|-?\}\}|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|\s+|\w+|.", re.DOTALL)


def main(seconds: float, seed: int) -> int:
    print(f"seed {seed}, {seconds:g} seconds")
    end, count, batch = monotonic() + seconds, 0, 0
    found: dict[str, str] = {}
    while monotonic() < end and len(found) < _SHOWN:
        random = Random(f"{seed} {batch}")
        batch += 1
        halves = [one_file(_template(random), random_data(random)) for _ in range(_BATCH)]
        count += len(halves)
        for half, difference in zip(halves, differences(halves), strict=True):
            if difference and len(found) < _SHOWN:
                text = shortened(half.files["/t"], _differs(half.data))
                found[text] = differences([one_file(text, half.data)])[0]
    for text, difference in found.items():
        print(f"\n{text!r}\n{difference}")
    print(f"{count} templates, {len(found)} that Go renders otherwise")
    return int(bool(found))


def _template(random: Random) -> str:
    if random.random() < 0.5:
        return f"{{{{ {Expressions(random, _CALLED).pipeline()} }}}}"
    return Bodies(random, defined=("d", "e")).template()


def _differs(data: Mapping[str, Any]) -> Callable[[list[str]], list[bool]]:
    return lambda texts: list(map(bool, differences([one_file(text, data) for text in texts])))


def shortened(text: str, differs: Callable[[list[str]], list[bool]]) -> str:
    """A shorter text that differs as well: first without whole actions, then without single words."""
    for pieces in (_PIECES, _WORDS):
        parts = pieces.findall(text)
        size = max(len(parts) // 2, 1)
        while True:
            shorter = [parts[:at] + parts[at + size :] for at in range(0, len(parts), size)]
            shorter = [each for each in shorter if each]
            answers = differs(["".join(each) for each in shorter])
            best = next((each for each, answer in zip(shorter, answers, strict=True) if answer), None)
            if best is not None:
                parts = best
            elif size == 1:
                break
            else:
                size //= 2
        text = "".join(parts)
    return text


if __name__ == "__main__":
    given = [*sys.argv[1:], "60"][0]
    chosen = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] else SystemRandom().randrange(1 << 32)
    sys.exit(main(float(given), int(chosen)))
