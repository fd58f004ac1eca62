"""Random calls and pipelines, by family of functions and of all together (osm-behaviour.md, "Template language" and
"Template functions")."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from osm_gitops.gotemplate.functions import FUNCTIONS
from tests.oracle_tests.comparison import compare, one_file
from tests.oracle_tests.expressions import Expressions
from tests.oracle_tests.random_data import random_data

pytestmark = pytest.mark.oracle

# The groups of the recorded templates; `call` needs a function as a value and `fail` has nothing to compare.
FAMILIES: Final = {
    "all": " ".join(sorted(FUNCTIONS.keys() - {"call", "fail"})),
    "access": "index len slice get first last dict list html js urlquery",
    "compare": "eq ne lt le gt ge not empty default coalesce ternary all any deepEqual",
    "dicts": "dict get set unset hasKey pluck pick omit keys values merge mergeOverwrite dig deepCopy sortAlpha toJson",
    "from": "fromYaml fromYamlArray fromJson fromJsonArray fromToml mustFromJson toJson toYaml",
    "lists": "list first last rest initial append prepend concat reverse uniq without has compact slice chunk join",
    "numbers": (
        "int int64 float64 atoi toDecimal add add1 sub mul div mod max min maxf minf addf add1f subf mulf divf "
        "ceil floor round seq until untilStep"
    ),
    "printf": "printf print println toString",
    "regex": (
        "regexMatch regexFind regexFindAll regexReplaceAll regexReplaceAllLiteral regexSplit regexQuoteMeta toJson "
        "mustRegexMatch mustRegexFindAll"
    ),
    "semver": "semverCompare semver",
    "strings": (
        "trim trimAll trimPrefix trimSuffix upper lower title untitle swapcase nospace initials repeat substr trunc "
        "abbrev abbrevboth contains hasPrefix hasSuffix quote squote cat indent nindent replace plural wrap wrapWith "
        "snakecase camelcase kebabcase toString toStrings join splitList split splitn sortAlpha b64enc b64dec sha256sum"
    ),
    "toml": "toToml dict list fromToml",
    "types": "typeOf typeIs typeIsLike kindOf kindIs toString",
    "yaml": "toYaml dict list toPrettyJson toRawJson toJson",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_give_what_go_gives(family: str) -> None:
    random = Random(family)
    functions = [FUNCTIONS[name] for name in FAMILIES[family].split()]
    count = 8000 if family == "all" else 2000
    texts = [f"{{{{ {Expressions(random, functions).pipeline()} }}}}" for _ in range(count)]
    compare([one_file(text, random_data(random)) for text in texts]).check(most_refused=0.2)
