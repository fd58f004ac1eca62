"""The functions that Go's text/template brings itself, and the table of all functions."""

from __future__ import annotations

from osm_gitops.gotemplate.functions import builtins
from osm_gitops.gotemplate.functions.table import FUNCTIONS, REFUSED
from osm_gitops.gotemplate.values import Pointer
from tests.gotemplate.go_templates import disagreements, render

_CONTRACT = """
abbrev abbrevboth add add1 add1f addf adler32sum ago all any append atoi b32dec b32enc b64dec b64enc base bcrypt biggest
buildCustomCert camelcase cat ceil chunk clean coalesce compact concat contains date dateInZone dateModify date_in_zone
date_modify decryptAES deepCopy deepEqual default derivePassword dict dig dir div divf duration durationRound empty
encryptAES env expandenv ext fail first float64 floor fromJson fromJsonArray fromToml fromYaml fromYamlArray genCA
genCAWithKey genPrivateKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey get
getHostByName has hasKey hasPrefix hasSuffix hello htmlDate htmlDateInZone htpasswd indent initial initials int int64
isAbs join kebabcase keys kindIs kindOf last list lower max maxf merge mergeOverwrite min minf mod mul mulf mustAppend
mustChunk mustCompact mustDateModify mustDeepCopy mustFirst mustFromJson mustHas mustInitial mustLast mustMerge
mustMergeOverwrite mustPrepend mustPush mustRegexFind mustRegexFindAll mustRegexMatch mustRegexReplaceAll
mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice mustToDate mustToJson mustToPrettyJson
mustToRawJson mustUniq mustWithout must_date_modify nindent nospace now omit osBase osClean osDir osExt osIsAbs pick
pluck plural prepend push quote randAlpha randAlphaNum randAscii randBytes randInt randNumeric regexFind regexFindAll
regexMatch regexQuoteMeta regexReplaceAll regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver
semverCompare seq set sha1sum sha256sum sha512sum shuffle slice snakecase sortAlpha split splitList splitn squote sub
subf substr swapcase ternary title toDate toDecimal toJson toPrettyJson toRawJson toString toStrings toToml toYaml trim
trimAll trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unixEpoch unset until untilStep untitle
upper urlJoin urlParse uuidv4 values without wrap wrapWith
"""
_GO = "call eq ge gt html index js le len lt ne not print printf println urlquery"


def test_the_functions_are_those_of_the_contract() -> None:
    names = _CONTRACT.split()
    assert len(names) == 217
    assert {*FUNCTIONS, *REFUSED} == {*names, *_GO.split()}
    assert not FUNCTIONS.keys() & REFUSED.keys()


def test_a_function_is_in_the_table_under_its_own_name() -> None:
    assert all(name == function.name for name, function in FUNCTIONS.items())


def test_clock_chance_environment_and_network_are_refused() -> None:
    for name in ("now", "randAlpha", "uuidv4", "genCA", "env", "getHostByName", "htpasswd"):
        assert name in REFUSED
        assert render(f"{{{{ {name} }}}}") is None


def test_builtins_are_as_in_go() -> None:
    assert disagreements("builtins") == []


def test_escaping_follows_pointers() -> None:
    assert builtins.html(Pointer("<a href='&'>", "string")) == "&lt;a href=&#39;&amp;&#39;&gt;"
    assert builtins.urlquery("a b&ü") == "a+b%26%C3%BC"
    assert builtins.js("'<\n\u2028é") == "\\'\\u003C\\u000A\\u2028é"
    assert builtins.html(None) == "&lt;no value&gt;"
