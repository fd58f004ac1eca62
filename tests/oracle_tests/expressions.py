"""Random expressions of Go templates: operands, calls, pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from osm_gitops.templates.functions.signature import GoFunction
from osm_gitops.templates.functions.table import FUNCTIONS
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
    **{name: ("path",) for name in ("base", "dir", "clean", "ext", "isAbs")},
    **{name: ("path",) for name in ("osBase", "osDir", "osClean", "osExt", "osIsAbs")},
    **{name: ("layout", "time") for name in ("toDate", "mustToDate", "date", "dateInZone", "date_in_zone")},
    **{name: ("duration", "time") for name in ("dateModify", "date_modify", "mustDateModify", "must_date_modify")},
    **{name: ("duration",) for name in ("duration", "durationRound")},
    **{name: ("digits",) for name in ("atoi", "toDecimal", "int", "int64", "float64", "add", "add1", "sub", "mul", "div")},
    **{name: ("digits",) for name in ("mod", "max", "biggest", "min", "maxf", "minf", "addf", "add1f", "subf", "mulf", "divf")},
    **{name: ("digits",) for name in ("ceil", "floor", "round")},
}

_STRING_FIELDS: Final = (
    *(".KubeVersion", ".ContainerRuntime", ".InitialTaints", ".CloudConfig", ".NetworkIPFamily", ".PauseImage", ".ServerURL"),
    *(".HTTPProxy", ".NoProxy", ".ContainerLogMaxSize", ".HostCACert", ".NetworkConfig.CIDR", ".RhelConfig.RHSMOfflineToken"),
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
    *(".ImageMaximumGCAge.Duration", ".NetworkConfig.GetIPFamily", ".KubeReserved.cpu", ".EvictionHard.nope", ".SystemReserved.a.b"),
    *("(index .ClusterDNSIPs 0)", "(index .ClusterDNSIPs 0).String", ".ImageMinimumGCAge.Duration.Seconds", ".Nope"),
)
_INTS: Final = ("0", "1", "2", "3", "-1", "7", "12", "100", "0x10", "0644", "'a'", "1_000", "-0", "0b11", "9223372036854775807")
_FLOATS: Final = ("0.5", "3.7", "-0.25", "1e3", "1e21", "1e-7", "2.5", "1.0", "123456789.0", "-0.0", "0.1", "1.005")
_KEYS: Final = ('"a"', '"b"', '"A"', '"z"', '"_0"', '"a.b"', '"a"', '"x1"', '"x10"', '"x9"')


@dataclass(slots=True)
class Expressions:
    """``variables`` are those in scope; ``dot`` whether ``.`` is the root here, whose fields ``$`` has too."""

    random: Random
    functions: Sequence[GoFunction]
    wild: float = 0.06
    deepest: int = 3
    dot: str = ""
    variables: list[str] = field(default_factory=list)

    def pipeline(self, depth: int = 0) -> str:
        """A command, and often further ones that take its result."""
        made = self.command(depth)
        while self.random.random() < 0.3:
            made += f" | {self._stage(depth + 1)}"
        return made

    def command(self, depth: int = 0) -> str:
        """A call, or an operand alone."""
        if self.random.random() < 0.12:
            return self.operand("any", depth)
        return self._call(self.random.choice(self.functions), depth, 0)

    def _stage(self, depth: int) -> str:
        return self._call(self.random.choice(self.functions), depth, 1)

    def _call(self, function: GoFunction, depth: int, piped: int) -> str:
        types = list(function.types)
        if function.variadic:
            types[-1:] = types[-1:] * self.random.choice((0, 1, 1, 2, 2, 3))
        if self.random.random() < self.wild / 4:
            types.append("any")
        kinds = KINDS.get(function.name, ())
        arguments = []
        for place, wanted in enumerate(types[: max(len(types) - piped, 0)]):
            kind = kinds[min(place, len(kinds) - 1)] if kinds and wanted in {"string", "any"} else "text"
            if wanted == "any" and kinds and self.random.random() < 0.3:
                kind = "text"
            arguments.append(self.operand(wanted, depth + 1, kind))
        if function.name in {"repeat", "indent", "nindent", "until", "untilStep", "seq"}:
            arguments = [self._small(each) for each in arguments]
        return " ".join([function.name, *arguments])

    def _small(self, argument: str) -> str:
        return self.random.choice(_INTS[:9]) if argument in _INTS else argument

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
        call = self._call(self.random.choice(fitting), depth + 1, 0)
        if self.random.random() < 0.2:
            call += f" | {self._stage(depth + 1)}"
        return f"({call})"

    def _field(self, names: Sequence[str]) -> str:
        name = self.random.choice(names)
        return f"({self.dot}{name[1:]}" if name.startswith("(") and self.dot == "" else name.replace(" .", f" {self.dot}.")\
            if name.startswith("(") else self.dot + name

    def _leaf(self, wanted: str, depth: int, kind: str) -> str:
        random = self.random
        match wanted:
            case "string":
                if random.random() < 0.2:
                    return self._field(_STRING_FIELDS)
                return quoted(random, TEXTS[kind](random))
            case "int":
                return random.choice(_INTS)
            case "int64":
                return f"(int64 {random.choice(_INTS)})"
            case "float64":
                return random.choice(_FLOATS)
            case "bool":
                return random.choice(("true", "false", self._field(_BOOL_FIELDS)))
            case "map":
                return self._dict(depth)
            case "any[]" | "list" | "string[]":
                return self._list(depth)
            case "number":
                return self._field(_NUMBER_FIELDS)
            case "nil":
                return "nil"
        return self._field(random.choice((_OTHER_FIELDS, _MAP_FIELDS, _LIST_FIELDS, _BOOL_FIELDS)))

    def _dict(self, depth: int) -> str:
        pairs = [
            f"{self.random.choice(_KEYS)} {self.operand('any', depth + 1)}" for _ in range(self.random.randrange(4))
        ]
        return f"({' '.join(['dict', *pairs])})"

    def _list(self, depth: int) -> str:
        if self.random.random() < 0.25:
            return self.random.choice(
                ('(splitList "," "b,a,,é")', "(until 3)", self._field(_LIST_FIELDS), '(list "b" "a" "b")', "(list 3 1 2)")
            )
        wanted = self.random.choice(("any", "string", "int", "any"))
        items = [self.operand(wanted, depth + 1) for _ in range(self.random.randrange(4))]
        return f"({' '.join(['list', *items])})"


_ANY: Final = (
    *("string", "string", "string", "int", "int", "int64", "float64", "bool", "map", "list", "other", "number", "nil"),
)


def functions(*names: str) -> list[GoFunction]:
    return [FUNCTIONS[name] for name in names]
