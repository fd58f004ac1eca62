"""What values of a KubeletConfiguration mean, and which go together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import ip_bytes
from osm_gitops.lint.rules.boot_file import Remark
from osm_gitops.lint.rules.kubelet_fields import CIPHERS, EVICTION_SIGNALS, RESERVED_RESOURCES
from osm_gitops.lint.rules.quantities import duration, is_positive_quantity, is_quantity
from osm_gitops.lint.rules.wording import suggested_fix
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.yaml.kubernetes import Document

VALUE: Final = Rule("kubelet-value", Severity.ERROR, "the kubelet cannot use a value of its configuration")

_PERCENT: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)%")
_DOMAIN: Final = re.compile(r"(?=.{1,253}\.?$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\.?")
_CPUS: Final = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")
_PATHS: Final = ("staticPodPath", "tlsCertFile", "tlsPrivateKeyFile", "resolvConf", "volumePluginDir", "podLogsDir")
_SECOND: Final = 1_000_000_000


def value_remarks(document: Document) -> Iterator[Remark]:
    """Flaws of values; those of a wrong type are told elsewhere and left out here."""
    look = _Values(document)
    yield from look.eviction()
    yield from look.reserved()
    yield from look.network()
    yield from look.paths()
    yield from look.pairs()


class _Values:
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
                        f"{name}.{signal}", "is no eviction signal", suggested_fix(signal, EVICTION_SIGNALS, known)
                    )
        for place, text in self.texts("evictionSoftGracePeriod"):
            if (duration(text) or -1) < 0:
                yield self.remark(place, "is no duration such as 1m30s")
        for signal in self.mapping("evictionSoft"):
            if signal not in self.mapping("evictionSoftGracePeriod"):
                fix = f"Set evictionSoftGracePeriod.{signal}"
                yield self.remark(f"evictionSoft.{signal}", "has no grace period, and the kubelet does not start", fix)

    def reserved(self) -> Iterator[Remark]:
        for name in ("kubeReserved", "systemReserved"):
            for place, text in self.texts(name):
                resource = place.removeprefix(f"{name}.")
                if resource not in RESERVED_RESOURCES:
                    fix = suggested_fix(resource, RESERVED_RESOURCES, f"Use {', '.join(sorted(RESERVED_RESOURCES))}")
                    yield self.remark(place, "is nothing that the kubelet can reserve", fix)
                elif not is_quantity(text) or text.startswith("-"):
                    yield self.remark(place, "is no quantity such as 200m or 500Mi")
        size = self.value.get("containerLogMaxSize")
        if isinstance(size, str) and size and not is_positive_quantity(size):
            yield self.remark("containerLogMaxSize", "is no quantity such as 10Mi")
        cpus = self.value.get("reservedSystemCPUs")
        if isinstance(cpus, str) and cpus and not _CPUS.fullmatch(cpus):
            yield self.remark("reservedSystemCPUs", "is no list of CPUs such as 0-3,7")

    def network(self) -> Iterator[Remark]:
        for place, text in self.texts("clusterDNS"):
            if not _is_address(text):
                yield self.remark(place, "is no IP address")
        for name in ("address", "healthzBindAddress"):
            address = self.value.get(name)
            if isinstance(address, str) and address and not _is_address(address):
                yield self.remark(name, "is no IP address")
        domain = self.value.get("clusterDomain")
        if isinstance(domain, str) and domain and not _DOMAIN.fullmatch(domain):
            yield self.remark("clusterDomain", "is no DNS name in lower case", "Write a domain such as cluster.local")
        for place, text in self.texts("tlsCipherSuites"):
            if text not in CIPHERS:
                yield self.remark(
                    place, "is no cipher suite that the kubelet has", suggested_fix(text, CIPHERS, "Remove it")
                )

    def paths(self) -> Iterator[Remark]:
        for name in _PATHS:
            path = self.value.get(name)
            if isinstance(path, str) and path and not path.startswith("/"):
                yield self.remark(name, "is no absolute path", "Begin it with a slash")
        endpoint = self.value.get("containerRuntimeEndpoint")
        if isinstance(endpoint, str) and endpoint and not endpoint.startswith(("unix:///", "npipe:", "tcp://")):
            yield self.remark("containerRuntimeEndpoint", "is no URL of a socket", "Write unix:///run/…")

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
        if self.nanoseconds("shutdownGracePeriodCriticalPods") > self.nanoseconds("shutdownGracePeriod"):
            yield self.remark("shutdownGracePeriodCriticalPods", "must not be more than shutdownGracePeriod")
        if (
            self.value.get("serverTLSBootstrap")
            and self.mapping("featureGates").get("RotateKubeletServerCertificate") is False
        ):
            yield self.remark("serverTLSBootstrap", "needs the feature gate RotateKubeletServerCertificate")
        if self.value.get("runOnce"):
            yield self.remark("runOnce", "is no longer possible", "Remove it")

    def number(self, name: str, given: int) -> int:
        value = self.value.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else given


def _threshold_fault(text: str, *, zero: bool) -> str:
    """Why the text is no threshold of the kubelet's eviction; empty where it is one."""
    if text.endswith("%"):
        match = _PERCENT.fullmatch(text)
        return "" if match and 0 <= float(match[1]) <= 100 else "is no percentage between 0% and 100%"
    if not is_quantity(text):
        return "is neither a quantity nor a percentage"
    return "" if is_positive_quantity(text) or (zero and not text.startswith("-")) else "must be more than zero"


def _is_address(text: str) -> bool:
    try:
        ip_bytes(text)
    except GoError:
        return False
    return True
