"""The result of ``osm-gitops explain``: the inputs of a pool's boot configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from osm_gitops.errors import Problem
from osm_gitops.model.desired import NO_SECRETS, SecretTexts, Side
from osm_gitops.model.finding import Finding
from osm_gitops.model.machine import AnnotationUse
from osm_gitops.model.objects import ObjectRef


@dataclass(frozen=True, slots=True)
class ChosenProfile:
    """The profile of a pool. ``why`` and ``why_namespace`` are clauses. ``where`` is its place; this and all other
    fields are empty if the profile does not exist. ``built_in`` is the version of a built-in profile, else empty.
    ``touched_by`` are overlays and patches, each as a clause with its place."""

    ref: ObjectRef
    why: str
    why_namespace: str
    where: str = ""
    version: str = ""
    language: str = ""
    built_in: str = ""
    touched_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """A setting, a user's value or a fact, with its value as text and the place ``where`` it is set.

    ``value`` is empty for facts that are only named, and for an empty setting. ``default``: it is not set.
    """

    name: str
    value: str
    where: str
    default: bool = False


@dataclass(frozen=True, slots=True)
class RenderedObject:
    """A rendered object of the pool, and its cluster."""

    ref: ObjectRef
    side: Side


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A file of a half, or the text of a unit: its size in bytes (``None`` if hidden) and its permissions as octal
    digits.

    ``where`` is the place of its template, empty for files from settings. ``secret``: its template reads a secret.
    """

    half: str
    path: str
    size: int | None
    permissions: str
    where: str
    text: str = field(repr=False)
    secret: bool = False


@dataclass(frozen=True, slots=True)
class SizeUse:
    """The sizes of a half in bytes, and the limit for the encoding that is ``counted``: raw, gzip or base64.

    ``limit`` and ``headroom`` are ``None`` if no limit is known; ``note`` is the source of the limit, or why there is
    none.
    """

    half: str
    raw: int
    gzip: int
    base64: int
    counted: str
    limit: int | None
    headroom: int | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """Results of a pool that can be rendered.

    ``live`` are objects that are only in clusters, never in git. ``commands`` are for the machine, each with what it
    shows. ``modules`` are cloud-init modules of a half
    (``bootstrap runcmd``), copied verbatim. ``user_data`` are the two halves by name, ``other_user_data`` the same
    rendered with other secrets, empty if that fails. ``secret_texts`` are lines made from secrets.
    """

    utility: str
    facts: tuple[SettingOrigin, ...]
    objects: tuple[RenderedObject, ...]
    live: tuple[RenderedObject, ...]
    files: tuple[RenderedFile, ...]
    modules: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    sizes: tuple[SizeUse, ...]
    user_data: Mapping[str, str] = field(repr=False)
    other_user_data: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    secret_texts: SecretTexts = field(default=NO_SECRETS, repr=False)


@dataclass(frozen=True, slots=True)
class TargetUse:
    """How the target compares with what the pool renders to.

    ``state`` is ``same``, ``differs``, ``missing`` (the target has nothing of the pool), or ``unknown`` because of
    ``problems``. ``changes`` are the objects that apply would change, each with the action and the reason. ``commit``
    is the last one that changed files of the pool (id, date and subject), or empty.
    """

    where: str
    state: str
    changes: tuple[str, ...] = ()
    commit: str = ""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of ``pool`` in ``cluster``.

    ``rendering`` is ``None`` if the pool cannot be rendered because of ``problems``. ``target`` is ``None`` if no
    target is configured, or if it was not read. ``findings`` are those of ``validate`` about the MachineDeployment
    itself. ``placeholders`` stand for values that no key at hand decrypts. ``sensitive`` are values that no report may
    show.
    """

    cluster: str
    pool: ObjectRef
    where: str
    os: str
    provider: str
    kube_version: str
    profile: ChosenProfile | None
    settings: tuple[SettingOrigin, ...]
    values: tuple[SettingOrigin, ...]
    annotations: tuple[AnnotationUse, ...]
    rendering: Rendering | None
    target: TargetUse | None = None
    findings: tuple[Finding, ...] = ()
    warnings: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    sources: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    placeholders: bool = False
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
