"""What made a pool's boot configuration: the answer of ``osm-gitops explain``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from osm_gitops.errors import Problem
from osm_gitops.model.desired import NO_SECRETS, SecretTexts, Side
from osm_gitops.model.objects import ObjectRef


@dataclass(frozen=True, slots=True)
class ChosenProfile:
    """The profile of a pool. ``why`` and ``why_namespace`` are clauses; ``where`` is what it was read from, empty where
    there is no such profile, and so are the rest then. ``built_in`` is the version of the default profiles that it is
    one of, else empty. ``touched_by`` are overlays and patches, each as a clause with its place."""

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
    """A setting, a value of the user's own, or a fact: its value as text, and ``where`` it comes from.

    ``value`` is empty for what is named only, and for an empty setting. ``default``: nobody gave it.
    """

    name: str
    value: str
    where: str
    default: bool = False


@dataclass(frozen=True, slots=True)
class AnnotationUse:
    """An annotation that is, or looks as if it were, about the kubelet. ``option`` is what it sets, and empty where it
    is ignored for the reason ``why``."""

    annotation: str
    value: str
    option: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class RenderedObject:
    """An object that results from the pool, and the cluster that it belongs to."""

    ref: ObjectRef
    side: Side


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A file of a half, also the text of a unit: its size in bytes, ``None`` where it is not told, and its permissions
    as octal digits.

    ``where`` is the place of its template in the source, empty where it comes from settings. ``secret``: it is made
    from secrets, or by a template that reads one.
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
    """The sizes of a half in bytes, and the limit that holds for the form that is ``counted``: raw, gzip or base64.

    ``limit`` and ``headroom`` are ``None`` where no limit is known; ``note`` is the limit's source, or why there is
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
    """What is known of a pool only where it can be rendered.

    ``live`` are objects that are kept in clusters alone, never in git. ``modules`` are those of cloud-init that a half
    uses (``bootstrap runcmd``): they are taken as they are. ``user_data`` are the two halves by name, and
    ``other_user_data`` what they are with other secrets, nothing where they cannot be rendered with others.
    ``secret_texts`` tells which lines were made from secrets.
    """

    utility: str
    facts: tuple[SettingOrigin, ...]
    objects: tuple[RenderedObject, ...]
    live: tuple[RenderedObject, ...]
    files: tuple[RenderedFile, ...]
    modules: tuple[str, ...]
    sizes: tuple[SizeUse, ...]
    user_data: Mapping[str, str] = field(repr=False)
    other_user_data: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    secret_texts: SecretTexts = field(default=NO_SECRETS, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All that made the configuration of ``pool`` in ``cluster``.

    ``rendering`` is ``None`` where the pool cannot be rendered, for the reasons ``problems``. ``sensitive`` are the
    values that no report may show.
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
    warnings: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    sources: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
