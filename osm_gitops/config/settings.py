"""Settings from flags, environment variables and files, parsed as OSM parses its flags
(osm-behaviour.md, "Flags"); and settings as arguments of other runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from posixpath import join
from typing import Any, Final

from osm_gitops.config.ca_bundle import has_certificate
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG, Kind
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gocompat.duration import parse_duration
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import parse_ip, parse_url
from osm_gitops.gocompat.numbers import parse_bool, parse_int
from osm_gitops.gocompat.text import trim_space
from osm_gitops.model.objects import Json
from osm_gitops.model.settings import Settings, shortest_token_life
from osm_gitops.model.span import spoken
from osm_gitops.render.resolve.json_fields import type_name

_CERTIFICATE_ROTATION: Final = "RotateKubeletServerCertificate"
_REGISTRY_OF_MIRROR: Final = re.compile(r"([a-zA-Z0-9.-]+)=(.*)")
_DEFAULT_REGISTRY: Final = "docker.io"
_MIRRORS: Final = "node-registry-mirrors"
_CONTAINERD_MIRRORS: Final = "node-containerd-registry-mirrors"
_LIFE: Final = "token-life"
_INTERVAL: Final = "interval"

BOUNDS: Final = frozenset(
    {"max_output_bytes", "max_loop_steps", "max_template_depth", "max_render_seconds", "max_render_memory"}
)
"""The settings that limit templates."""

ReadFile = Callable[[str], str]
"""Reads a file with unchanged line ends, and bytes that are not UTF-8 as surrogate escapes. Raises OSError."""


@dataclass(frozen=True, slots=True)
class RawSetting:
    """A setting before parsing.

    ``name`` is the flag without dashes. ``value`` is a text, a boolean, a list of texts (a repeated flag) or a value of
    YAML. ``where`` is its origin, for messages (``flag --cluster-dns``). Relative file names start at ``base``.
    ``from_tree``: it comes from the tree, not from the user who starts the run.
    """

    name: str
    value: Json
    where: str
    base: str = ""
    from_tree: bool = False


class _WrongError(Exception):
    """An invalid setting; becomes a problem with the setting's origin."""

    def __init__(self, what: str, fix: str = "", code: Code = Code.INVALID_VALUE) -> None:
        self.code = code
        self.what = what
        self.fix = fix
        super().__init__(what)


def parse_settings(raw: Sequence[RawSetting], read_file: ReadFile) -> Settings:
    """Parse settings, one entry per name; the others have OSM's defaults. Raises InputError with all problems."""
    given = {setting.name: setting for setting in raw}
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    for name, setting in given.items():
        try:
            kind = SETTINGS_BY_FLAG[name].kind
            if kind is Kind.FILE:
                values[name.replace("-", "_")] = _ca_bundle(normal(setting), setting.base, read_file)
            elif name in _PARSERS:
                attribute, parse = _PARSERS[name]
                values[attribute] = parse(normal(setting))
            elif kind in _PARSERS_OF_KINDS:  # mirrors are read together, below
                values[name.replace("-", "_")] = _PARSERS_OF_KINDS[kind](normal(setting))
        except _WrongError as wrong:
            problems.append(Problem(wrong.code, wrong.what, where=setting.where, fix=wrong.fix))
    mirrors = _all_mirrors(given, problems)
    settings = Settings(**values, registry_mirrors=mirrors)
    problems += [] if problems else _too_short(settings, given)
    if problems:
        raise InputError(problems)
    return settings


def raises_bound(setting: RawSetting) -> bool:
    """Whether a setting raises a limit of templates above its default."""
    attribute = setting.name.replace("-", "_")
    if attribute not in BOUNDS:
        return False
    try:
        given = parse_settings([setting], _no_file)
    except InputError:  # reported when all settings are parsed
        return False
    return bool(getattr(given, attribute) > getattr(Settings(), attribute))


def _no_file(path: str) -> str:
    raise FileNotFoundError(path)


# --- from a value of YAML or a flag to the text of OSM's flag ---


def normal(setting: RawSetting) -> Any:
    """The value as a text, a boolean, or a list of texts for a repeatable setting."""
    kind = SETTINGS_BY_FLAG[setting.name].kind
    if kind is Kind.BOOLEAN:
        return _boolean(setting.value)
    if kind is Kind.MIRRORS:
        return _mirror_items(setting.value)
    if kind is Kind.GATES and isinstance(setting.value, Mapping):
        return _gate_items(setting.value)
    if kind is Kind.TEXTS and isinstance(setting.value, (list, tuple)):
        return ",".join(_texts(setting.value, kind))
    if kind is Kind.COUNT and type(setting.value) is int:
        return str(setting.value)
    return _text(setting.value, kind)


def _text(value: Json, kind: Kind) -> str:
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise _WrongError("the value is not UTF-8")
        if "\0" in value:
            raise _WrongError("the value has a NUL character", "Remove it")
        return value
    hint = "Put it in quotes" if isinstance(value, (bool, int, float)) and kind is not Kind.COUNT else ""
    raise _WrongError(f"must be {kind.value}, not {type_name(value)}", hint, Code.WRONG_TYPE)


def _texts(values: Iterable[Json], kind: Kind) -> list[str]:
    return [_text(value, kind) for value in values]


def _boolean(value: Json) -> bool:
    if isinstance(value, bool):
        return value
    try:
        return parse_bool(_text(value, Kind.BOOLEAN))
    except GoError:
        raise _WrongError(f'"{value}" is neither true nor false', "Write true or false") from None


def _gate_items(gates: Mapping[str, Json]) -> str:
    items = []
    for name, value in gates.items():
        if not isinstance(value, bool):
            raise _WrongError(f"feature gate {name} must be true or false, not {type_name(value)}", "", Code.WRONG_TYPE)
        items.append(f"{name}={'true' if value else 'false'}")
    return ",".join(items) or f"{_CERTIFICATE_ROTATION}=true"


def _mirror_items(value: Json) -> list[str]:
    """``registry=url`` items; a text has one per line."""
    if isinstance(value, str):
        return value.splitlines()
    if isinstance(value, Mapping):
        return [
            f"{registry}={url}"
            for registry, urls in value.items()
            for url in _texts(urls if isinstance(urls, list) else [urls], Kind.MIRRORS)
        ]
    if isinstance(value, (list, tuple)):
        return _texts(value, Kind.MIRRORS)
    raise _WrongError(f"must be {Kind.MIRRORS.value}, not {type_name(value)}", "", Code.WRONG_TYPE)


# --- OSM's flags ---


def _required(text: str) -> str:
    if not text:
        raise _WrongError("the namespace is empty", "Name the namespace that holds the profiles, such as kube-system")
    return text


def _container_runtime(text: str) -> str:
    if text != "containerd":
        raise _WrongError(f'container runtime "{text}" is not supported', "Use containerd, the only one")
    return text


def _cluster_dns(text: str) -> tuple[str, ...]:
    addresses = []
    for item in text.split(","):
        try:
            addresses.append(parse_ip(trim_space(item)))
        except GoError:
            fix = "Write addresses such as 10.96.0.10, separated by commas, without a prefix length or leading zeros"
            raise _WrongError(f'"{item}" is not an IP address', fix) from None
    return tuple(addresses)


def _feature_gates(text: str) -> dict[str, bool]:
    gates: dict[str, bool] = {}
    for item in text.split(","):
        name, equals, value = item.partition("=")
        try:
            if not equals:
                raise GoError("no value")
            gates[name] = parse_bool(value)  # with a second = it is not a boolean
        except GoError:
            raise _WrongError(f'"{item}" is not a feature gate', "Write A=true,B=false, without blanks") from None
    return {_CERTIFICATE_ROTATION: True} | gates


def _items(text: str) -> tuple[str, ...]:
    return tuple(item for item in map(trim_space, text.split(",")) if item)


def _namespaced(what: str, text: str) -> tuple[str, str] | None:
    if not text:
        return None
    parts = text.split("/")
    if len(parts) != 2:
        raise _WrongError(f'"{text}" does not name {what}', "Write it as namespace/name")
    return parts[0], parts[1]


def _count(text: str) -> int:
    try:
        number = parse_int(text)
    except GoError:
        number = 0
    if number < 1:
        raise _WrongError(f'"{text}" is not {Kind.COUNT.value}')
    return number


def _duration(text: str) -> timedelta:
    try:
        length = timedelta(microseconds=parse_duration(text) // 1_000)
    except GoError:
        length = timedelta()
    if length < timedelta(seconds=1):
        raise _WrongError(f'"{text}" is not {Kind.DURATION.value}', "Write hours and minutes, such as 1h30m")
    return length


def _too_short(settings: Settings, given: Mapping[str, RawSetting]) -> Iterator[Problem]:
    """A problem if tokens can expire between two runs."""
    least = shortest_token_life(settings.interval)
    if settings.token_life < least:
        where = next(given[name].where for name in (_LIFE, _INTERVAL) if name in given)
        yield Problem(
            Code.TOKEN_LIFE_TOO_SHORT,
            f"tokens with a lifetime of {spoken(settings.token_life)} expire before runs that are "
            f"{spoken(settings.interval)} apart renew them",
            where=where,
            fix=f"Set --{_LIFE} to at least {spoken(least)}, or run more often and set --{_INTERVAL}",
        )


def _ca_bundle(name: str, base: str, read_file: ReadFile) -> str:
    if not name:
        return ""
    path = join(base, name)
    try:
        text = read_file(path)
    except OSError as error:
        raise _WrongError(
            f"{path} cannot be read: {error.strerror or error}", "Name a PEM file", Code.FILE_UNREADABLE
        ) from None
    if not has_certificate(text):
        raise _WrongError(f"{path} has no PEM-encoded certificate", "Name a PEM file with CA certificates")
    return text


# --- registry mirrors: two flags, one map ---


def _all_mirrors(given: Mapping[str, RawSetting], problems: list[Problem]) -> dict[str, tuple[str, ...]]:
    """Endpoints by registry: first those of the repeatable flag, then those of the other one."""
    mirrors: dict[str, tuple[str, ...]] = {}
    for name, read in ((_CONTAINERD_MIRRORS, _containerd_mirrors), (_MIRRORS, _mirrors)):
        if name not in given:
            continue
        try:
            for registry, url in read(normal(given[name])):
                mirrors[registry] = (*mirrors.get(registry, ()), url)
        except _WrongError as wrong:
            problems.append(Problem(wrong.code, wrong.what, where=given[name].where, fix=wrong.fix))
    return mirrors


def _containerd_mirrors(items: Iterable[str]) -> list[tuple[str, str]]:
    pairs = []
    for item in items:
        registry, equals, url = item.partition("=")
        if not equals:
            raise _WrongError(f'"{_masked(item)}" has no =', "Write registry=url")
        pairs.append((registry, url))
    return pairs


def _mirrors(text: str) -> list[tuple[str, str]]:
    return [_mirror(item) for item in _items(text)]


def _mirror(item: str) -> tuple[str, str]:
    match = _REGISTRY_OF_MIRROR.match(item)
    registry, address = (match[1], match[2]) if match else (_DEFAULT_REGISTRY, item)
    url = address if address.startswith("http") else f"https://{address}"
    try:
        parse_url(url)
    except GoError:
        raise _WrongError(
            f'mirror "{_masked(url)}" is not a URL', "Write host, host:port/path or a whole URL"
        ) from None
    return registry, url


def _masked(url: str) -> str:
    """The URL without user and password."""
    return re.sub(r"//[^/]*@", "//…@", url)


_PARSERS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "namespace": ("namespace", _required),
    "container-runtime": ("container_runtime", _container_runtime),
    "cluster-dns": ("cluster_dns", _cluster_dns),
    "initial-taints": ("initial_taints", str),
    "node-kubelet-feature-gates": ("feature_gates", _feature_gates),
    "node-http-proxy": ("http_proxy", str),
    "node-no-proxy": ("no_proxy", str),
    "node-insecure-registries": ("insecure_registries", _items),
    "node-registry-credentials-secret": ("registry_credentials_secret", partial(_namespaced, "a Secret")),
    "bootstrap-token-service-account-name": (
        "bootstrap_token_service_account",
        partial(_namespaced, "a ServiceAccount"),
    ),
}
"""Settings whose attribute has another name, or that allow fewer values than their kind."""
_PARSERS_OF_KINDS: Final[Mapping[Kind, Callable[[Any], Any]]] = {
    Kind.TEXT: str,
    Kind.BOOLEAN: bool,
    Kind.COUNT: _count,
    Kind.DURATION: _duration,
}


_CREDENTIALS: Final = re.compile(r"//[^/\s]*@")


def arguments(settings: Iterable[RawSetting], files: str) -> tuple[str, ...]:
    """One argument per value. Files are named ``<flag>.pem`` below ``files``; an empty file name gives no argument.

    The settings must be valid. Raises InputError for all that contain a password, because everyone who may read a pod
    sees its arguments.
    """
    given = tuple(settings)
    problems = [
        Problem(
            Code.CREDENTIAL_IN_ARGUMENT,
            "has a URL with a password, which must not be in the arguments of a pod",
            where=setting.where,
            fix=f"Leave it out, and set {SETTINGS_BY_FLAG[setting.name].environment} in a Secret (--env-secret)",
        )
        for setting in given
        if any(_CREDENTIALS.search(text) for text in _flag_texts(setting))
    ]
    if problems:
        raise InputError(problems)
    return tuple(argument for setting in given for argument in _arguments(setting, files))


def _flag_texts(setting: RawSetting) -> list[str]:
    value = normal(setting)
    return value if isinstance(value, list) else [str(value)]


def _arguments(setting: RawSetting, files: str) -> Iterator[str]:
    kind, value = SETTINGS_BY_FLAG[setting.name].kind, normal(setting)
    if kind is Kind.BOOLEAN:
        yield f"--{'' if value else 'no-'}{setting.name}"
    elif kind is Kind.FILE:
        if value:
            yield f"--{setting.name}={files}/{setting.name}.pem"
    else:
        for text in _flag_texts(setting):
            yield f"--{setting.name}={text}"
