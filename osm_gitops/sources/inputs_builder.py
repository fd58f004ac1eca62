"""Build inputs from manifests of any source: check each object, and objects against each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.errors import Code, Problem
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.inputs import ConfigMapFact, Facts, Inputs, SecretFact, ServiceAccountFact
from osm_gitops.model.machine import MachineDeployment, kubelet_kubeconfig_name, token_key
from osm_gitops.model.objects import Json, Manifest, ObjectRef
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.sources.machines import read_config_map, read_machine, read_secret, read_service_account, serves_api
from osm_gitops.sources.manifests import MACHINE, PROFILE
from osm_gitops.sources.profiles import read_profile
from osm_gitops.sources.schema import Checked, T

_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_LONGEST_NAME: Final = 253
_LONGEST_LABEL: Final = 63


@dataclass(slots=True)
class InputsBuilder:
    """Collects the manifests of one cluster; :meth:`inputs` builds the result.

    Callers may add to ``unreadable``, ``broken``, ``warnings``, ``notes`` and ``sensitive``, and set
    ``certificate_authority`` to that of a server.
    """

    unreadable: list[Problem] = field(default_factory=list)
    broken: dict[ObjectRef, list[Problem]] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sensitive: set[str] = field(default_factory=set, repr=False)
    certificate_authority: str | None = None
    _unfit: dict[ObjectRef, list[Problem]] = field(default_factory=dict)
    _found: dict[ObjectRef, list[Manifest]] = field(default_factory=dict)
    _machines: list[MachineDeployment] = field(default_factory=list)
    _profiles: dict[tuple[str, str], OperatingSystemProfile] = field(default_factory=dict)
    _secrets: dict[tuple[str, str], SecretFact] = field(default_factory=dict)
    _config_maps: dict[tuple[str, str], ConfigMapFact] = field(default_factory=dict)
    _service_accounts: dict[tuple[str, str], ServiceAccountFact] = field(default_factory=dict)
    _slices: dict[str, Mapping[str, Json]] = field(default_factory=dict)

    def add(self, manifest: Manifest) -> None:
        self._found.setdefault(manifest.ref, []).append(manifest)

    def inputs(self, environment: Mapping[str, str], sources: tuple[str, ...] = ()) -> Inputs:
        """The inputs, sorted by kind, namespace and name."""
        for ref in sorted(self._found):
            manifests = self._without_copies(self._found[ref])
            if len(manifests) == 1:
                self._read(manifests[0])
            else:
                self._refuse_copies(ref, manifests)
        self._check_shared_names()
        machines = tuple(machine for machine in self._machines if machine.ref not in self.broken)
        facts = Facts(
            secrets=self._secrets,
            config_maps=self._config_maps,
            service_accounts=self._service_accounts,
            endpoint_slices=tuple(self._slices[name] for name in sorted(self._slices)),
            environment=environment,
            certificate_authority=self.certificate_authority,
            incomplete=bool(self.unreadable),
            unread=tuple(dict.fromkeys(problem.where for problem in self.unreadable if problem.where)),
        )
        return Inputs(
            machines=machines,
            profiles=self._profiles,
            facts=facts,
            broken={ref: tuple(self.broken[ref]) for ref in sorted(self.broken)},
            unfit={ref: tuple(problems) for ref, problems in self._unfit.items()},
            unreadable=tuple(self.unreadable),
            warnings=tuple(self.warnings),
            notes=tuple(self.notes),
            sources=sources,
            sensitive=frozenset(self.sensitive),
        )

    def _without_copies(self, manifests: list[Manifest]) -> list[Manifest]:
        """Manifests without copies that osm-gitops wrote (a desired state inside of the source)."""
        originals = [manifest for manifest in manifests if not _is_ours(manifest)]
        if not originals and _alike(manifests):
            return manifests[:1]  # the desired states of several clusters
        if len(manifests) == 1 or not originals:
            return manifests
        self.notes += [
            f"{copy.origin}: {copy.ref} was written by {MANAGED_BY} and is ignored: "
            f"its original is {originals[0].origin}"
            for copy in manifests
            if _is_ours(copy)
        ]
        return originals

    def _refuse_copies(self, ref: ObjectRef, manifests: Iterable[Manifest]) -> None:
        places = [str(manifest.origin) for manifest in manifests]
        problem = Problem(
            Code.DUPLICATE_OBJECT,
            f"is {_times(len(places))} in this source: {', '.join(places)}",
            where=places[0],
            about=str(ref),
            fix="Keep one of them",
        )
        if ref.kind in {MACHINE, PROFILE}:
            self.broken[ref] = [problem]
        else:
            self.unreadable.append(problem)

    def _read(self, manifest: Manifest) -> None:
        ref = manifest.ref
        key = (ref.namespace, ref.name)
        match ref.kind:
            case "MachineDeployment":
                machine = self._checked(ref, read_machine(manifest))
                if machine is not None:
                    self._machines.append(machine)
                self._check_name(manifest)
            case "OperatingSystemProfile":
                _keep(self._profiles, key, self._checked(ref, read_profile(manifest)))
                self._check_name(manifest)
            case "Secret":
                _keep(self._secrets, key, self._fact(read_secret(manifest)))
            case "ConfigMap":
                _keep(self._config_maps, key, self._fact(read_config_map(manifest)))
            case "ServiceAccount":
                _keep(self._service_accounts, key, self._fact(read_service_account(manifest)))
            case "EndpointSlice" if serves_api(manifest.body, ref.namespace):
                self._slices[ref.name] = manifest.body

    def _checked(self, ref: ObjectRef, checked: Checked[T]) -> T | None:
        self.warnings += checked.warnings
        if checked.problems:
            self.broken[ref] = list(checked.problems)
        return checked.value

    def _fact(self, checked: Checked[T]) -> T | None:
        self.warnings += checked.warnings
        self.unreadable += checked.problems
        return checked.value

    def _check_name(self, manifest: Manifest) -> None:
        """Warn of names that an API server would refuse: they stop apply, but not rendering (design.md, "Success and
        refusal")."""
        ref = manifest.ref
        if len(ref.name) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, ref.name.split("."))):
            self._warn_of_name(manifest, "metadata.name")
        if len(ref.namespace) > _LONGEST_LABEL or not _LABEL.fullmatch(ref.namespace):
            self._warn_of_name(manifest, "metadata.namespace")

    def _warn_of_name(self, manifest: Manifest, path: str) -> None:
        problem = Problem(
            Code.OBJECT_NAME_REFUSED,
            "the API server will refuse this name",
            where=manifest.line_of(path),
            about=str(manifest.ref),
            field=path,
            fix="Use small letters, digits and hyphens",
        )
        self.warnings.append(problem)
        self._unfit.setdefault(manifest.ref, []).append(problem)

    def _check_shared_names(self) -> None:
        """Refuse pools whose objects would have the same names (osm-behaviour.md, "Object names"; design.md, "Success
        and refusal")."""
        by_name: dict[str, list[Manifest]] = {}
        by_token: dict[str, list[Manifest]] = {}
        for ref in sorted(self._found):
            if ref.kind == MACHINE:
                first = self._found[ref][0]
                by_name.setdefault(f"{ref.name}-{ref.namespace}", []).append(first)
                by_token.setdefault(token_key(ref), []).append(first)
        for name, pools in by_name.items():
            for pool in pools if len(pools) > 1 else ():
                self.broken.setdefault(pool.ref, []).append(_same_names(name, pool, pools))
        for key, pools in by_token.items():
            if len(pools) > 1:
                self.warnings.append(_same_token(key, pools))


def _same_names(name: str, pool: Manifest, pools: Iterable[Manifest]) -> Problem:
    others = ", ".join(f"{other.ref} ({other.origin})" for other in pools if other.ref != pool.ref)
    return Problem(
        Code.POOL_NAMES_CLASH,
        f"its objects would have the same names ({name}-…) as those of {others}",
        where=str(pool.origin),
        about=str(pool.ref),
        field="metadata.name",
        fix="Rename one of them",
    )


def _same_token(key: str, pools: list[Manifest]) -> Problem:
    places = ", ".join(f"{pool.ref} ({pool.origin})" for pool in pools)
    return Problem(
        Code.POOLS_SHARE_SECRETS,
        f"{places} share one bootstrap token and one kubeconfig Secret ({kubelet_kubeconfig_name(key)})",
        where=str(pools[0].origin),
        field="metadata.name",
        fix="Rename one of them: OSM cannot tell them apart",
    )


def _keep(into: dict[tuple[str, str], T], key: tuple[str, str], value: T | None) -> None:
    if value is not None:
        into[key] = value


def _is_ours(manifest: Manifest) -> bool:
    metadata = manifest.body.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return isinstance(labels, dict) and labels.get(MANAGED_BY_LABEL) == MANAGED_BY


def _alike(manifests: list[Manifest]) -> bool:
    """Whether any of these copies may be read: Secrets of ours are not facts, others have equal specs."""
    first, *others = manifests
    return first.ref.kind == "Secret" or all(first.body.get("spec") == other.body.get("spec") for other in others)


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"
