"""Checks of KubeletConfiguration, as the kubelet of the pool's Kubernetes minor reads it at start.

Like the kubelet they refuse unknown gates, wrong types and values out of range. They also find what fails later or is
ignored: unknown fields, which the kubelet only logs, reserved quantities, cipher suites, DNS addresses, a second
document.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from osm_gitops.errors import InputError
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import ip_bytes
from osm_gitops.lint.rules.boot_file import BootDocument, Remark, first_remarks, is_script, suggested_fix, to_finding
from osm_gitops.lint.rules.kubelet_tables import (
    CIPHERS,
    EVICTION_SIGNALS,
    GATES,
    NEEDED_GATES,
    RANGES,
    RESERVED_RESOURCES,
    SINCE,
    TYPES,
    WORDS,
    duration,
    gate_fault,
    is_positive_quantity,
    is_quantity,
)
from osm_gitops.lint.rules.readable import readable_part
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.yaml.kubernetes import Document, load_documents

VALUE: Final = Rule("kubelet-value", Severity.ERROR, "the kubelet does not accept a value of its configuration")

AMOUNT: Final = Rule("kubelet-amount", Severity.WARNING, "an amount in the kubelet's configuration is hardly intended")

_PERCENT: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)%")
_DOMAIN: Final = re.compile(r"(?=.{1,253}\.?$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\.?")
_CPUS: Final = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")
_BYTES: Final = ("memory", "ephemeral-storage")
_FEW_BYTES: Final = re.compile(r"[0-9]{1,5}(?:\.[0-9]*)?|[0-9]{1,8}m")
_PATHS: Final = ("staticPodPath", "tlsCertFile", "tlsPrivateKeyFile", "resolvConf", "volumePluginDir", "podLogsDir")
_SECOND: Final = 1_000_000_000


def value_remarks(document: Document, left_out: Collection[str] = ()) -> Iterator[Remark]:
    """Invalid values. Values of a wrong type are skipped, because another check reports them; values that belong
    together too if some keys are ``left_out``."""
    check = _ValueChecks(document)
    yield from check.amounts()
    if not any(name.startswith("eviction") for name in left_out):
        yield from check.eviction()
    yield from check.reserved()
    yield from check.network()
    yield from check.paths()
    if not left_out:
        yield from check.pairs()


class _ValueChecks:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.value: Mapping[str, Any] = document.value

    def remark(self, place: str, message: str, fix: str = "Correct it") -> Remark:
        return Remark(VALUE, f"{place} {message}", self.document.lines.get(place, 1), fix)

    def mapping(self, name: str) -> Mapping[str, Any]:
        found = self.value.get(name)
        return found if isinstance(found, Mapping) else {}

    def texts(self, name: str) -> Iterator[tuple[str, str]]:
        """The texts of a mapping or a list, each with its place."""
        found = self.value.get(name)
        members = found.items() if isinstance(found, Mapping) else ()
        entries = enumerate(found) if isinstance(found, list) else ()
        yield from ((f"{name}.{key}", text) for key, text in members if isinstance(text, str))
        yield from ((f"{name}[{index}]", text) for index, text in entries if isinstance(text, str))

    def nanoseconds(self, name: str) -> int:
        text = self.value.get(name)
        return (duration(text) if isinstance(text, str) else None) or 0

    def is_duration(self, value: Any) -> bool:
        return isinstance(value, str) and duration(value) is not None

    def eviction(self) -> Iterator[Remark]:
        for name in ("evictionHard", "evictionSoft", "evictionMinimumReclaim"):
            for place, text in self.texts(name):
                if fault := _threshold_fault(text, zero=name == "evictionMinimumReclaim"):
                    yield self.remark(place, fault, "Write a quantity such as 100Mi, or a percentage such as 10%")
        for name in ("evictionHard", "evictionSoft", "evictionMinimumReclaim", "evictionSoftGracePeriod"):
            for signal in self.mapping(name):
                if signal not in EVICTION_SIGNALS:
                    known = ", ".join(sorted(EVICTION_SIGNALS))
                    yield self.remark(
                        f"{name}.{signal}", "is not an eviction signal", suggested_fix(signal, EVICTION_SIGNALS, known)
                    )
        for place, text in self.texts("evictionSoftGracePeriod"):
            if (duration(text) or -1) < 0:
                yield self.remark(place, "is not a duration such as 1m30s")
        for signal in self.mapping("evictionSoft"):
            if signal not in self.mapping("evictionSoftGracePeriod"):
                fix = f"Set evictionSoftGracePeriod.{signal}"
                yield self.remark(f"evictionSoft.{signal}", "has no grace period, so the kubelet does not start", fix)

    def amounts(self) -> Iterator[Remark]:
        """Bytes without a unit, or with m for mega, which means a thousandth."""
        for name in ("kubeReserved", "systemReserved", "evictionHard", "evictionSoft"):
            for place, text in self.texts(name):
                resource = place.removeprefix(f"{name}.").partition(".")
                is_bytes = resource[0] in _BYTES if not resource[1] else resource[2] == "available"
                if is_bytes and resource[0] != "pid" and _FEW_BYTES.fullmatch(text) and float(text.rstrip("m")) > 0:
                    message = f"{place} is {text}, which is less than a mebibyte"
                    yield Remark(AMOUNT, message, self.document.lines.get(place, 1), "Write a unit such as Mi or Gi")

    def reserved(self) -> Iterator[Remark]:
        for name in ("kubeReserved", "systemReserved"):
            for place, text in self.texts(name):
                resource = place.removeprefix(f"{name}.")
                if resource not in RESERVED_RESOURCES:
                    fix = suggested_fix(resource, RESERVED_RESOURCES, f"Use {', '.join(sorted(RESERVED_RESOURCES))}")
                    yield self.remark(place, "is not a resource that the kubelet can reserve", fix)
                elif not is_quantity(text) or text.startswith("-"):
                    yield self.remark(place, "is not a quantity such as 200m or 500Mi")
        size = self.value.get("containerLogMaxSize")
        if isinstance(size, str) and size and not is_positive_quantity(size):
            yield self.remark("containerLogMaxSize", "is not a quantity such as 10Mi")
        cpus = self.value.get("reservedSystemCPUs")
        if isinstance(cpus, str) and cpus and not _CPUS.fullmatch(cpus):
            yield self.remark("reservedSystemCPUs", "is not a list of CPUs such as 0-3,7")
        for place, text in self.texts("allowedUnsafeSysctls"):
            if not text.replace("/", ".").startswith(_NAMESPACED):
                known = ", ".join(_NAMESPACED)
                yield self.remark(place, f"is not a setting that a pod has of its own: these begin with {known}")

    def network(self) -> Iterator[Remark]:
        for place, text in self.texts("clusterDNS"):
            if not _is_address(text):
                yield self.remark(place, "is not an IP address")
        for name in ("address", "healthzBindAddress"):
            address = self.value.get(name)
            if isinstance(address, str) and address and not _is_address(address):
                yield self.remark(name, "is not an IP address")
        domain = self.value.get("clusterDomain")
        if isinstance(domain, str) and domain and not _DOMAIN.fullmatch(domain):
            yield self.remark(
                "clusterDomain", "is not a DNS name in lower case", "Write a domain such as cluster.local"
            )
        for place, text in self.texts("tlsCipherSuites"):
            if text not in CIPHERS:
                yield self.remark(
                    place, "is not a cipher suite of the kubelet", suggested_fix(text, CIPHERS, "Remove it")
                )

    def paths(self) -> Iterator[Remark]:
        for name in _PATHS:
            path = self.value.get(name)
            if isinstance(path, str) and path and not path.startswith("/"):
                yield self.remark(name, "is not an absolute path", "Start it with a slash")
        endpoint = self.value.get("containerRuntimeEndpoint")
        if isinstance(endpoint, str) and endpoint and not endpoint.startswith(("unix:///", "npipe:", "tcp://")):
            yield self.remark("containerRuntimeEndpoint", "is not the URL of a socket", "Write unix:///run/…")

    def pairs(self) -> Iterator[Remark]:
        high, low = (
            self.number(f"imageGC{which}ThresholdPercent", given) for which, given in (("High", 85), ("Low", 80))
        )
        if low >= high and {"imageGCHighThresholdPercent", "imageGCLowThresholdPercent"} & self.value.keys():
            yield self.remark("imageGCLowThresholdPercent", "must be less than imageGCHighThresholdPercent")
        youngest, oldest = self.nanoseconds("imageMinimumGCAge"), self.nanoseconds("imageMaximumGCAge")
        if youngest < 0 or oldest < 0:
            yield self.remark("imageMinimumGCAge" if youngest < 0 else "imageMaximumGCAge", "must not be negative")
        elif 0 < oldest <= (youngest or 120 * _SECOND):
            yield self.remark("imageMaximumGCAge", "must be more than imageMinimumGCAge")
        if self.value.get("serializeImagePulls") is True and self.number("maxParallelImagePulls", 1) > 1:
            fix = "Set serializeImagePulls: false"
            yield self.remark("maxParallelImagePulls", "cannot be more than 1 while images are pulled serially", fix)
        whole, critical = self.value.get("shutdownGracePeriod"), self.nanoseconds("shutdownGracePeriodCriticalPods")
        # What is not a duration has a finding of its own.
        if critical > self.nanoseconds("shutdownGracePeriod") and (whole is None or self.is_duration(whole)):
            yield self.remark("shutdownGracePeriodCriticalPods", "must not be more than shutdownGracePeriod")
        if (
            self.value.get("serverTLSBootstrap")
            and self.mapping("featureGates").get("RotateKubeletServerCertificate") is False
        ):
            yield self.remark("serverTLSBootstrap", "needs the feature gate RotateKubeletServerCertificate")
        given = (self.mapping(name).get("cpu") for name in ("kubeReserved", "systemReserved"))
        is_reserved = bool(self.value.get("reservedSystemCPUs")) or any(map(_is_reserved, given))
        if self.value.get("cpuManagerPolicy") == "static" and not is_reserved:
            fix = "Set kubeReserved.cpu, systemReserved.cpu or reservedSystemCPUs"
            yield self.remark("cpuManagerPolicy", "is static, which needs CPUs that are reserved for the system", fix)
        enforced = self.value.get("enforceNodeAllocatable")
        for index, name in enumerate(enforced if isinstance(enforced, list) else ()):
            cgroup = _CGROUPS.get(name) if isinstance(name, str) else None
            place = f"enforceNodeAllocatable[{index}]"
            if cgroup and not self.value.get(cgroup):
                yield self.remark(place, f"is {name}, which needs {cgroup}", f"Set {cgroup}")
            elif name == "none" and len(enforced or ()) > 1:
                yield self.remark(place, "is none, which cannot be among others", "Remove none, or the others")
        if self.value.get("runOnce"):
            yield self.remark("runOnce", "is no longer possible", "Remove it")

    def number(self, name: str, given: int) -> int:
        value = self.value.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else given


def _is_reserved(amount: Any) -> bool:
    """Whether an amount of CPU may be more than none."""
    return amount is not None and not (
        isinstance(amount, str) and is_quantity(amount) and not is_positive_quantity(amount)
    )


# The cgroup that the kubelet enforces an amount on, and the settings of the kernel that each pod has of its own.
_CGROUPS: Final = {
    "system-reserved": "systemReservedCgroup",
    "system-reserved-compressible": "systemReservedCgroup",
    "kube-reserved": "kubeReservedCgroup",
    "kube-reserved-compressible": "kubeReservedCgroup",
}
_NAMESPACED: Final = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.", "net.")


def _threshold_fault(text: str, *, zero: bool) -> str:
    """Why the text is not an eviction threshold; empty if it is one."""
    if text.endswith("%"):
        match = _PERCENT.fullmatch(text)
        return "" if match and 0 <= float(match[1]) <= 100 else "is not a percentage between 0% and 100%"
    if not is_quantity(text):
        return "is neither a quantity nor a percentage"
    return "" if is_positive_quantity(text) or (zero and not text.startswith("-")) else "must be more than zero"


def _is_address(text: str) -> bool:
    try:
        ip_bytes(text)
    except GoError:
        return False
    return True


SYNTAX: Final = Rule("kubelet-syntax", Severity.ERROR, "the configuration of the kubelet is not a single YAML document")
UNKNOWN_FIELD: Final = Rule("kubelet-unknown-field", Severity.ERROR, "the kubelet does not know a field")
FIELD_TYPE: Final = Rule("kubelet-type", Severity.ERROR, "a field of the kubelet configuration has the wrong type")
FEATURE_GATE: Final = Rule("kubelet-feature-gate", Severity.ERROR, "the kubelet does not accept a feature gate")
CGROUP_V1: Final = Rule("kubelet-cgroup-v1", Severity.ERROR, "a kubelet from 1.35 on does not start with cgroup v1")
RULES: Final = (SYNTAX, UNKNOWN_FIELD, FIELD_TYPE, VALUE, AMOUNT, FEATURE_GATE, CGROUP_V1)

_API: Final = "kubelet.config.k8s.io/v1beta1"
_KIND: Final = re.compile(r"^[\"']?kind[\"']?:[ \t]*[\"']?KubeletConfiguration\b", re.MULTILINE)
_SCALAR: Final = re.compile(r"""(?<=:)[ \t]+(?:"[^"\\\n]*"|'[^'\n]*'|[\w.%/+-]+)[ \t]*$""", re.MULTILINE)
"""A value on the line of its key, unless it is the kind, or begins something larger."""
_MINOR: Final = re.compile(r"v?1\.([0-9]+)")
# Operating systems that boot with cgroup v1.
_CGROUP_V1_SYSTEMS: Final = ("amzn2",)
_OLDEST_REFUSING_CGROUP_V1: Final = 35
_INTEGERS: Final = {"int32": 31, "int64": 63}


def check_kubelet(document: BootDocument) -> Iterator[Finding]:
    """Check every file that is a KubeletConfiguration."""
    minor = minor_of(document.kube_version)
    for file in document.files:
        # A script may contain one, but it is not known what the script does with it.
        if not _is_kubelet_configuration(file.text) or is_script(file.path, file.text):
            continue
        remarks = kubelet_remarks(file.text, minor, cgroup_v1=document.os in _CGROUP_V1_SYSTEMS)
        yield from (to_finding(document, file, remark) for remark in remarks)


def minor_of(version: str) -> int:
    """``v1.34.2`` → 34; 0 if it is no version of Kubernetes 1."""
    match = _MINOR.match(version)
    return int(match[1]) if match else 0


@lru_cache(maxsize=1_024)
def unknown_fields(path: str, text: str, minor: int) -> tuple[Remark, ...]:
    """Fields that kubelet 1.``minor`` does not know, if a file is a KubeletConfiguration. Fast where texts differ in
    values only."""
    if _KIND.search(text) is None or is_script(path, text):
        return ()
    return _unknown_fields(_SCALAR.sub("", text), minor)


@lru_cache(maxsize=256)
def _unknown_fields(text: str, minor: int) -> tuple[Remark, ...]:
    return tuple(each for each in kubelet_remarks(text, minor) if each.rule is UNKNOWN_FIELD)


# The same files are in many documents.
@lru_cache(maxsize=1_024)
def _is_kubelet_configuration(text: str) -> bool:
    return _KIND.search(text) is not None


@lru_cache(maxsize=256)
def kubelet_remarks(text: str, minor: int, *, cgroup_v1: bool = False) -> tuple[Remark, ...]:
    """Problems of kubelet 1.``minor`` with its configuration."""
    try:
        documents = load_documents(text, "")
    except InputError as error:
        faults = (Remark(SYNTAX, each.what, _line(each.where), each.fix) for each in error.problems)
        return (*faults, *first_remarks(_partial_remarks(text, minor, cgroup_v1=cgroup_v1)))
    return tuple(first_remarks(_document_remarks(documents, minor, cgroup_v1=cgroup_v1)))


def _partial_remarks(text: str, minor: int, *, cgroup_v1: bool) -> Iterator[Remark]:
    """Remarks on what can be read of a configuration that the kubelet cannot read."""
    part = readable_part(text)
    if part is not None:
        document, left_out = part
        fields = _FieldChecks(document, minor)
        yield from fields.members(document.value, "", "")
        if "featureGates" not in left_out:
            yield from fields.gate_remarks()
        yield from value_remarks(document, left_out)
        if "failCgroupV1" not in left_out:
            yield from _cgroup_remarks(document, minor, cgroup_v1=cgroup_v1)


def _line(where: str) -> int:
    number = where.rpartition(":")[2]
    return int(number) if number.isdecimal() else 1


def _document_remarks(documents: Sequence[Document], minor: int, *, cgroup_v1: bool) -> Iterator[Remark]:
    if not documents:
        yield Remark(SYNTAX, "the configuration is empty")
        return
    first = documents[0]
    if len(documents) > 1:
        yield Remark(SYNTAX, "the kubelet reads only the first document", documents[1].line, "Remove what follows ---")
    if not isinstance(first.value, Mapping):
        yield Remark(SYNTAX, "the configuration is not a mapping")
        return
    for name, expected in (("apiVersion", _API), ("kind", "KubeletConfiguration")):
        if first.value.get(name) != expected:
            line = first.lines.get(name, 1)
            yield Remark(
                SYNTAX, f"the {name} of the kubelet's configuration is not {expected}", line, f"Write {expected}"
            )
    fields = _FieldChecks(first, minor)
    yield from fields.members(first.value, "", "")
    yield from fields.gate_remarks()
    yield from value_remarks(first)
    yield from _cgroup_remarks(first, minor, cgroup_v1=cgroup_v1)


def _cgroup_remarks(document: Document, minor: int, *, cgroup_v1: bool) -> Iterator[Remark]:
    if cgroup_v1 and minor >= _OLDEST_REFUSING_CGROUP_V1 and document.value.get("failCgroupV1") is not False:
        fix = "Set failCgroupV1: false, or use an operating system with cgroup v2"
        yield Remark(CGROUP_V1, "the operating system boots with cgroup v1, which this kubelet refuses", 1, fix)


class _FieldChecks:
    """Walks through a configuration. A place is a path with indices, a shape a path in the table of fields."""

    def __init__(self, document: Document, minor: int) -> None:
        self.document = document
        self.minor = minor

    def line(self, place: str) -> int:
        return self.document.lines.get(place, 1)

    def members(self, value: Mapping[str, Any], place: str, shape: str) -> Iterator[Remark]:
        known = _members_of(shape)
        for name, member in value.items():
            at = f"{place}.{name}" if place else name
            if not shape and name in ("apiVersion", "kind"):
                continue
            if known != {"*"} and name not in known:
                fix = suggested_fix(name, known, "Remove it")
                yield Remark(UNKNOWN_FIELD, f"the kubelet does not know the field {at}", self.line(at), fix, name)
                continue
            below = "*" if known == {"*"} else name
            if 0 < self.minor < SINCE.get(at, 0):
                message = f"{at} was added in Kubernetes 1.{SINCE[at]}, and the pool runs 1.{self.minor}"
                yield Remark(UNKNOWN_FIELD, message, self.line(at), "Set it for newer pools only")
            yield from self.node(member, at, f"{shape}.{below}" if shape else below)

    def node(self, value: Any, place: str, shape: str) -> Iterator[Remark]:
        if value is None:
            return
        if f"{shape}[]" in _SHAPES:
            if not isinstance(value, list):
                yield self.wrong(place, "a list")
                return
            for index, entry in enumerate(value):
                yield from self.node(entry, f"{place}[{index}]", f"{shape}[]")
        elif _members_of(shape):
            if not isinstance(value, Mapping):
                yield self.wrong(place, "a mapping")
                return
            yield from self.members(value, place, shape)
        else:
            yield from self.scalar(value, place, shape)

    def scalar(self, value: Any, place: str, shape: str) -> Iterator[Remark]:
        kind = TYPES[shape]
        if kind in _INTEGERS:
            yield from self.integer(value, place, shape, _INTEGERS[kind])
        elif kind == "boolean" and not isinstance(value, bool):
            yield self.wrong(place, "true or false")
        elif kind == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
            yield self.wrong(place, "a number")
        elif kind == "string" and not isinstance(value, str):
            yield self.wrong(place, "a text in quotes")
        elif kind == "duration_or_nanoseconds" and isinstance(value, int) and not isinstance(value, bool):
            yield from self.integer(value, place, shape, _INTEGERS["int64"])
        elif kind.startswith("duration") and not (isinstance(value, str) and duration(value) is not None):
            yield self.wrong(place, "a duration such as 30s or 2m")
        elif kind == "quantity" and not is_quantity(str(value)):
            yield self.wrong(place, "a quantity such as 200Mi")
        elif shape in WORDS and value and value not in WORDS[shape]:
            fix = suggested_fix(str(value), WORDS[shape], "Write one of them")
            yield self.wrong(place, f"one of {', '.join(sorted(WORDS[shape]))}", fix)

    def integer(self, value: Any, place: str, shape: str, bits: int) -> Iterator[Remark]:
        if isinstance(value, bool) or not isinstance(value, int):
            yield self.wrong(place, "a whole number without quotes")
            return
        least, most = RANGES.get(shape, (-(2**bits), 2**bits - 1))
        if not least <= value <= most:
            yield self.wrong(place, f"between {least} and {most}")

    def wrong(self, place: str, wanted: str, fix: str = "") -> Remark:
        return Remark(FIELD_TYPE, f"{place} must be {wanted}", self.line(place), fix or "Correct it")

    def gate_remarks(self) -> Iterator[Remark]:
        chosen = self.document.value.get("featureGates")
        chosen = chosen if isinstance(chosen, Mapping) else {}
        for path, (gate, on_since) in NEEDED_GATES.items():
            if path in self.document.lines and not chosen.get(gate, 0 < on_since <= self.minor):
                message = f"{path} needs feature gate {gate}, which is off in Kubernetes 1.{self.minor}"
                yield Remark(FEATURE_GATE, message, self.line(path), f"Set featureGates.{gate}: true, or remove it")
        for name, value in chosen.items():
            if fault := gate_fault(name, self.minor, value=bool(value)):
                fix = suggested_fix(name, GATES, "Remove it") if name not in GATES else "Remove it for this version"
                line = self.line(f"featureGates.{name}")
                message = f"the kubelet of Kubernetes 1.{self.minor} does not start with feature gate {name}: {fault}"
                yield Remark(FEATURE_GATE, message, line, fix)


def _ancestors(path: str) -> Iterator[str]:
    """``a.b[].c`` → a, a.b, a.b[], a.b[].c."""
    for match in re.finditer(r"\.|\[\]|$", path):
        yield path[: match.start()]
        if match[0] == "[]":
            yield path[: match.end()]


_SHAPES: Final = frozenset(shape for path in TYPES for shape in _ancestors(path))


@lru_cache(maxsize=256)
def _members_of(shape: str) -> frozenset[str]:
    """The names below a shape; only ``*`` if any name is allowed."""
    head = f"{shape}." if shape else ""
    below = (each.removeprefix(head) for each in _SHAPES if each.startswith(head))
    return frozenset(name for name in below if name and not re.search(r"[.\[]", name))
