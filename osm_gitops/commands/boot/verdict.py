"""What a boot came to: the steps that were reached, what was asked for in vain, and what to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from osm_gitops.errors import Code, Problem, some
from osm_gitops.model.objects import Json, ObjectRef

_NAMED: Final = 5


class Step(Enum):
    """The way of a machine, in order."""

    FIRST_STAGE = "first-stage"
    SECRET = "secret"  # noqa: S105 - the name of a step
    SECOND_STAGE = "second-stage"
    KUBELET = "kubelet"
    REQUEST = "request"
    CERTIFICATE = "certificate"
    NODE = "node"
    REPORTED = "reported"


REACHED: Final[Mapping[Step, str]] = {
    Step.FIRST_STAGE: "the user-data is applied, and the first stage runs (bootstrap.service)",
    Step.SECRET: "the provisioning Secret is fetched",
    Step.SECOND_STAGE: "the second stage runs (setup.service)",
    Step.KUBELET: "the kubelet starts",
    Step.REQUEST: "the kubelet asks for a certificate",
    Step.CERTIFICATE: "it has a certificate",
    Step.NODE: "its Node is there",
    Step.REPORTED: "the kubelet reports the state of its Node",
}
"""What a step means."""

_LOOK_AT: Final[Mapping[Step, str]] = {
    Step.FIRST_STAGE: "cloud-init or Ignition did not start bootstrap.service. Look at the log of cloud-init, and at "
    "the user-data with osm-gitops explain --user-data bootstrap",
    Step.SECRET: "the provisioning Secret was not fetched. Look at the log of bootstrap.service",
    Step.SECOND_STAGE: "the provisioning user-data did not start setup.service. Look at the logs of bootstrap.service "
    "and cloud-init",
    Step.KUBELET: "setup.service did not come to the kubelet. Look at its log",
    Step.REQUEST: "the kubelet asked for no certificate. Look at its log, and at its kubeconfig",
    Step.CERTIFICATE: "the request of the kubelet was not approved or signed. Look at its name and groups",
    Step.NODE: "the kubelet has a certificate and registered no Node. Look at its log",
    Step.REPORTED: "the kubelet registered its Node and does not report. Look at its log, and at that of containerd",
}
"""What to look at when a step was not reached."""

UNITS: Final[Mapping[Step, tuple[str, ...]]] = {
    Step.FIRST_STAGE: ("cloud-init-local", "cloud-init", "cloud-config", "cloud-final"),
    Step.SECRET: ("bootstrap",),
    Step.SECOND_STAGE: ("bootstrap", "cloud-init", "cloud-config", "cloud-final"),
    Step.KUBELET: ("setup",),
    Step.REQUEST: ("kubelet",),
    Step.CERTIFICATE: ("kubelet",),
    Step.NODE: ("kubelet",),
    Step.REPORTED: ("kubelet", "containerd"),
}
"""The units whose logs tell why a step was not reached."""

NOT_SHOWN: Final = (
    "the image of the provider, its agents and its metadata service: the machine is made of Debian's packages",
    "the provider's network, DHCP and disks: the machine has one network card and one address",
    "settings and modules of the kernel, cgroups and pods: the machine is a container on the kernel of this one",
    "mirrors, proxies and registries as they are: all hosts are servers of this boot, and a mirror has what it mirrors",
)
"""What such a boot cannot tell."""


@dataclass(frozen=True, slots=True)
class BootedPool:
    """What was booted. ``sources`` is the version of Kubernetes that the kubelet was built from."""

    cluster: str
    pool: ObjectRef
    os: str
    provider: str
    kubelet: str
    sources: str
    server: str


@dataclass(frozen=True, slots=True)
class Boot:
    """The result. ``reached`` are seconds by step. ``missing`` are URLs for which there was no file, ``unknown`` names
    that DNS did not know, ``refused`` the statuses with which the Secret was refused. ``log`` has the last lines of
    units."""

    booted: BootedPool
    seconds: float
    reached: Mapping[Step, float]
    node: Mapping[str, Json] | None = None
    failed_units: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    refused: tuple[int, ...] = ()
    log: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ended: bool = False
    """The machine ended by itself."""

    @property
    def joined(self) -> bool:
        return Step.REPORTED in self.reached

    @property
    def lacks(self) -> Step | None:
        """The first step that was not reached."""
        return None if self.joined else next(step for step in Step if step not in self.reached)


def look_at(boot: Boot) -> Iterator[str]:
    """What to look at, most telling first; nothing where the machine joined."""
    step = boot.lacks
    if step is None:
        return
    if boot.refused and step is Step.SECRET:
        yield f"the API server refused the provisioning Secret with {', '.join(map(str, boot.refused))}"
    if boot.unknown:
        yield f"DNS was asked for names that the profile does not show: {some(boot.unknown, _NAMED)}"
    if boot.missing:
        yield f"there was no file for {some(boot.missing, _NAMED)}. Give one with --file URL=FILE"
    packages = sorted(set(_packages(boot)))
    if packages:
        options = " ".join(f"--package {name}" for name in packages)
        yield f"packages are not in the archives of this boot: {some(packages, _NAMED)}. Try {options}"
    yield _LOOK_AT[step]


def _packages(boot: Boot) -> Iterator[str]:
    """Packages that apt or dnf did not find."""
    for line in (line for lines in boot.log.values() for line in lines):
        for before in ("Unable to locate package ", "No match for argument: ", "No package "):
            _, found, name = line.partition(before)
            if found and name.strip():
                yield name.split()[0].rstrip(".")


def problems(boot: Boot) -> list[Problem]:
    """What of the result is an error."""
    about = str(boot.booted.pool)
    step = boot.lacks
    if step is not None:
        last = next((each for each in reversed(Step) if each in boot.reached), None)
        what = f"the machine did not join within {boot.seconds:.0f} s"
        if boot.ended:
            what = f"the machine ended after {boot.seconds:.0f} s"
        what += f"; the last step was: {REACHED[last]}" if last else "; it did not apply its user-data"
        return [Problem(Code.NODE_NOT_JOINED, what, about=about, fix="The report says what to look at")]
    if boot.failed_units:
        what = f"the machine joined, but units failed: {some(boot.failed_units, _NAMED)}"
        return [Problem(Code.NODE_NOT_WELL, what, about=about, fix="Look at their logs in the report")]
    return []
