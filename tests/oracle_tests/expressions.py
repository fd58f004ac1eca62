"""Random expressions of Go templates: operands, calls, pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.functions import FUNCTIONS
from tests.oracle_tests.fragments import TEXTS, quoted

# What kind of text a function's arguments are (fragments.TEXTS); others take any text.
KINDS: Final[Mapping[str, Sequence[str]]] = {
    **{
        must + name: ("regex", "text")
        for must in ("", "must")
        for name in (
            *("regexMatch", "regexFind", "regexFindAll", "regexSplit", "RegexMatch", "RegexFind", "RegexFindAll"),
            "RegexSplit",
        )
    },
    **{name: ("regex", "text", "replacement") for name in FUNCTIONS if "egexReplace" in name},
    "semver": ("version",),
    "semverCompare": ("constraints", "version"),
    "printf": ("verbs",),
    "fromYaml": ("yaml",),
    "fromYamlArray": ("yaml list",),
    "fromJson": ("json",),
    "mustFromJson": ("json",),
    "fromJsonArray": ("json list",),
    "fromToml": ("toml",),
    "urlParse": ("url",),
    **dict.fromkeys(("base", "dir", "clean", "ext", "isAbs"), ("path",)),
    **dict.fromkeys(("osBase", "osDir", "osClean", "osExt", "osIsAbs"), ("path",)),
    **dict.fromkeys(("toDate", "mustToDate", "date", "dateInZone", "date_in_zone"), ("layout", "time")),
    **dict.fromkeys(("dateModify", "date_modify", "mustDateModify", "must_date_modify"), ("duration", "time")),
    **dict.fromkeys(("duration", "durationRound"), ("duration",)),
    **dict.fromkeys(("atoi", "toDecimal", "int", "int64", "float64", "add", "add1", "sub", "mul", "div"), ("digits",)),
    **dict.fromkeys(
        ("mod", "max", "biggest", "min", "maxf", "minf", "addf", "add1f", "subf", "mulf", "divf"), ("digits",)
    ),
    **dict.fromkeys(("ceil", "floor", "round"), ("digits",)),
}

# What a function that takes any value is for.
SUBJECTS: Final[Mapping[str, str]] = {
    **{
        must + name: "list" for must in ("", "must") for name in ("first", "rest", "last", "initial", "reverse", "uniq")
    },
    **{
        must + name: "list" for must in ("", "must") for name in ("First", "Rest", "Last", "Initial", "Reverse", "Uniq")
    },
    **dict.fromkeys(
        ("compact", "mustCompact", "chunk", "mustChunk", "concat", "sortAlpha", "join", "toStrings"), "list"
    ),
    **dict.fromkeys(("date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone", "unixEpoch"), "time"),
    **dict.fromkeys(("dateModify", "date_modify", "mustDateModify", "must_date_modify"), "time"),
    **dict.fromkeys(("deepCopy", "mustDeepCopy", "deepEqual"), "map"),
}

_STRING_FIELDS: Final = (
    *(
        ".KubeVersion",
        ".ContainerRuntime",
        ".InitialTaints",
        ".CloudConfig",
        ".NetworkIPFamily",
        ".PauseImage",
        ".ServerURL",
    ),
    *(
        ".HTTPProxy",
        ".NoProxy",
        ".ContainerLogMaxSize",
        ".HostCACert",
        ".NetworkConfig.CIDR",
        ".RhelConfig.RHSMOfflineToken",
    ),
    *(".ContainerRuntimeConfig", ".BootstrapKubeconfig", ".Token"),
)
_NUMBER_FIELDS: Final = (".MaxPods", ".ImageGCHighThresholdPercent", ".ImageGCLowThresholdPercent")
_BOOL_FIELDS: Final = (
    *(".ExternalCloudProvider", ".InTreeCCMAvailable", ".UbuntuConfig.DistUpgradeOnBoot", ".KubeletFeatureGates.A"),
    *(".FlatcarConfig.DisableAutoUpdate", ".RhelConfig.AttachSubscription", ".NetworkConfig.IsStaticIPConfig"),
    *(".NetworkConfig.IPFamily.IsDualstack", ".NetworkConfig.GetIPFamily.HasIPv6"),
)
_MAP_FIELDS: Final = (".KubeletFeatureGates", ".KubeReserved", ".SystemReserved", ".EvictionHard", ".RHSubscription")
_LIST_FIELDS: Final = (".ClusterDNSIPs", ".NetworkConfig.DNS.Servers")
_OTHER_FIELDS: Final = (
    *(".CloudProviderName", ".NetworkConfig", ".NetworkConfig.IPFamily", ".NetworkConfig.DNS", ".FlatcarConfig"),
    *(".FlatcarConfig.ProvisioningUtility", ".RhelConfig", ".ImageMinimumGCAge", ".ImageMaximumGCAge", ".UbuntuConfig"),
    *(
        ".ImageMaximumGCAge.Duration",
        ".NetworkConfig.GetIPFamily",
        ".KubeReserved.cpu",
        ".EvictionHard.nope",
        ".SystemReserved.a.b",
    ),
    *("(index .ClusterDNSIPs 0)", "(index .ClusterDNSIPs 0).String", ".ImageMinimumGCAge.Duration.Seconds", ".Nope"),
)
_INTS: Final = (
    "0",
    "1",
    "2",
    "3",
    "-1",
    "7",
    "12",
    "100",
    "0x10",
    "0644",
    "'a'",
    "1_000",
    "-0",
    "0b11",
    "9223372036854775807",
)
_COMPARING: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_SMALL: Final = (*("0", "1", "2", "3", "4", "7", "12") * 3, "-1")
_COUNTING: Final = frozenset({"until", "untilStep", "seq"})
_SIZED: Final = _COUNTING | {"repeat", "indent", "nindent"}
"""Their number is how much they make, which Go does not bound."""
_FLOATS: Final = ("0.5", "3.7", "-0.25", "1e3", "1e21", "1e-7", "2.5", "1.0", "123456789.0", "-0.0", "0.1", "1.005")
_LITERALS: Final[Mapping[str, Sequence[str]]] = {
    "int": _INTS,
    "int64": tuple(f"(int64 {number})" for number in _INTS),
    "float64": _FLOATS,
    "bool": ("true", "false"),
    "nil": ("nil",),
}
_FIELDS: Final[Mapping[str, Sequence[str]]] = {"bool": _BOOL_FIELDS, "number": _NUMBER_FIELDS}
_KEYS: Final = ('"a"', '"b"', '"A"', '"z"', '"_0"', '"a.b"', '"a"', '"x1"', '"x10"', '"x9"')


@dataclass(slots=True)
class Expressions:
    """``variables`` are those in scope; ``dot`` what fields of the root begin with: empty, or ``$`` inside of a loop.

    ``wild`` is how often an argument has a type that the function does not take.
    """

    random: Random
    functions: Sequence[GoFunction]
    wild: float = 0.03
    deepest: int = 3
    dot: str = ""
    variables: list[str] = field(default_factory=list)

    def pipeline(self, depth: int = 0) -> str:
        """A command, and often further ones that take its result."""
        if self.random.random() < 0.12:
            made, returned = self.operand("any", depth), "any"
        else:
            function = self.random.choice(self.functions)
            made, returned = self._call(function, depth, 0), function.returns
        while self.random.random() < 0.3:
            function = self._stage(returned)
            made += f" | {self._call(function, depth + 1, int(function.name not in _COUNTING))}"
            returned = function.returns
        return made

    def _stage(self, returned: str) -> GoFunction:
        """A function that mostly takes what the one before it returns."""
        fitting = [each for each in self.functions if each.types and each.types[-1] in {returned, "any"}]
        return self.random.choice(fitting if fitting and self.random.random() > self.wild else self.functions)

    def _call(self, function: GoFunction, depth: int, piped: int) -> str:
        types = list(function.types)
        if function.variadic:
            types[-1:] = types[-1:] * self.random.choice((0, 1, 1, 2, 2, 3))
        if self.random.random() < self.wild / 4:
            types.append("any")
        kinds = KINDS.get(function.name, ())
        alike = self.random.choice(("string", "string", "int", "bool"))
        arguments = []
        for place, wanted in enumerate(types[: max(len(types) - piped, 0)]):
            if wanted == "int" and function.name in _SIZED:
                arguments.append(self.random.choice(_SMALL))
                continue
            subject = alike if function.name in _COMPARING else SUBJECTS.get(function.name, wanted)
            fitting = subject if wanted == "any" and self.random.random() > self.wild else wanted
            arguments.append(self.operand(fitting, depth + 1, kinds[min(place, len(kinds) - 1)] if kinds else "text"))
        return " ".join([function.name, *arguments])

    def operand(self, wanted: str, depth: int, kind: str = "text") -> str:
        """One argument that mostly has the type ``wanted``."""
        random = self.random
        if self.variables and random.random() < 0.12:
            return random.choice(self.variables)
        if random.random() < self.wild:
            wanted = random.choice(("string", "int", "bool", "map", "list", "other", "float64"))
        if wanted == "any":
            wanted = "string" if kind != "text" and random.random() < 0.7 else random.choice(_ANY)
        if depth < self.deepest and random.random() < 0.3:
            return self._nested(wanted, depth)
        return self._leaf(wanted, depth, kind)

    def _nested(self, wanted: str, depth: int) -> str:
        fitting = [each for each in self.functions if each.returns == wanted] or self.functions
        return f"({self._call(self.random.choice(fitting), depth + 1, 0)})"

    def _field(self, names: Sequence[str]) -> str:
        name = self.random.choice(names)
        return name.replace(" .", f" {self.dot}.") if name.startswith("(") else self.dot + name

    def _leaf(self, wanted: str, depth: int, kind: str) -> str:
        """An operand that calls nothing but what makes its type."""
        random = self.random
        if wanted == "string":
            return self._field(_STRING_FIELDS) if random.random() < 0.2 else quoted(random, TEXTS[kind](random))
        if wanted == "map":
            return self._dict(depth)
        if wanted in {"any[]", "list", "string[]"}:
            return self._list(depth)
        if wanted == "time":
            year, second = random.randrange(2010, 2040), random.randrange(10)
            return f'(toDate "2006-01-02T15:04:05Z07:00" "{year}-02-28T23:59:0{second}Z")'
        literals = _LITERALS.get(wanted)
        if literals and (wanted != "bool" or random.random() < 0.5):
            return random.choice(literals)
        fields = _FIELDS.get(wanted) or random.choice((_OTHER_FIELDS, _MAP_FIELDS, _LIST_FIELDS, _BOOL_FIELDS))
        return self._field(fields)

    def _dict(self, depth: int) -> str:
        pairs = [
            f"{self.random.choice(_KEYS)} {self.operand('any', depth + 1)}" for _ in range(self.random.randrange(4))
        ]
        return f"({' '.join(['dict', *pairs])})"

    def _list(self, depth: int) -> str:
        if self.random.random() < 0.25:
            return self.random.choice(
                (
                    '(splitList "," "b,a,,é")',
                    "(until 3)",
                    self._field(_LIST_FIELDS),
                    '(list "b" "a" "b")',
                    "(list 3 1 2)",
                )
            )
        wanted = self.random.choice(("any", "string", "int", "any"))
        items = [self.operand(wanted, depth + 1) for _ in range(self.random.randrange(4))]
        return f"({' '.join(['list', *items])})"


_ANY: Final = (
    *("string", "string", "string", "int", "int", "int64", "float64", "bool", "map", "list", "other", "number", "nil"),
)
