"""Credentials for image registries, from one Secret (osm-behaviour.md, "Registry credentials")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.gojson import decode
from osm_gitops.gocompat.net import parse_url
from osm_gitops.model.facts import Facts, SecretFact
from osm_gitops.model.objects import Json
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.json_fields import read_struct, string

_FLAG = "--node-registry-credentials-secret"
DOCKER_CONFIG_TYPE = "kubernetes.io/dockerconfigjson"
DOCKER_CONFIG_KEY = ".dockerconfigjson"
_FIELDS = dict.fromkeys(("username", "password", "auth", "identitytoken"), string)


@dataclass(frozen=True, slots=True, repr=False)
class Credential:
    """How to log in at one registry; a credential may be empty."""

    username: str = ""
    password: str = ""
    auth: str = ""
    identitytoken: str = ""


def registry_credentials(settings: Settings, facts: Facts) -> tuple[Mapping[str, Credential], tuple[Problem, ...]]:
    """Credentials by registry host, and warnings. Raises InputError for an absent or unreadable Secret."""
    wanted = settings.registry_credentials_secret
    if wanted is None:
        return {}, ()
    secret = facts.secret(wanted)
    if secret is None:
        raise input_error(
            Code.UNCODED,
            f"the Secret {'/'.join(wanted)} with registry credentials was not found",
            where=_FLAG,
            fix="Create it, or leave the setting out",
        )
    problems: list[Problem] = []
    by_registry = dict(_read(secret, problems))
    if problems:
        raise InputError(problem.at(where=str(secret.origin), about=_about(secret)) for problem in problems)
    return _by_host(secret, by_registry)


def _read(secret: SecretFact, problems: list[Problem]) -> Iterator[tuple[str, Credential]]:
    """Each registry as it is spelled in the Secret, with its credential."""
    if secret.type == DOCKER_CONFIG_TYPE:
        document = _document(secret.data.get(DOCKER_CONFIG_KEY, b""), DOCKER_CONFIG_KEY, problems)
        found = read_struct(document, f"data[{DOCKER_CONFIG_KEY}]", {"auths": _entries}, problems)
        yield from found.get("auths", {}).items()
    else:
        for registry, data in secret.data.items():
            yield registry, _credential(_document(data, registry, problems), f"data[{registry}]", problems)


def _document(data: bytes, key: str, problems: list[Problem]) -> Json:
    try:
        return decode(data.decode("utf-8", "surrogateescape"))
    except GoError:
        # Go's reason is left out: it can quote the document.
        problems.append(
            Problem(Code.UNCODED, "the value is not valid JSON", field=f"data[{key}]", fix="Write it again")
        )
        return None


def _entries(value: Json, path: str, problems: list[Problem]) -> dict[str, Credential]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        problems.append(Problem(Code.UNCODED, "must be an object with registries as keys", field=path))
        return {}
    return {registry: _credential(entry, f"{path}[{registry}]", problems) for registry, entry in value.items()}


def _credential(value: Json, path: str, problems: list[Problem]) -> Credential:
    return Credential(**read_struct(value, path, _FIELDS, problems))


def _by_host(
    secret: SecretFact, by_registry: Mapping[str, Credential]
) -> tuple[Mapping[str, Credential], tuple[Problem, ...]]:
    """Of registries with the same host the last one in order counts; OSM takes a random one (osm-behaviour.md,
    "Quirks", quirk 4)."""
    credentials: dict[str, Credential] = {}
    names: dict[str, str] = {}
    warnings = []
    for registry in sorted(by_registry, key=str.encode):
        host = _host(registry)
        if host in names:
            warnings.append(
                Problem(
                    Code.UNCODED,
                    f'"{names[host]}" and "{registry}" are the same registry host, and OSM would take either; '
                    f'"{registry}" is used',
                    where=str(secret.origin),
                    about=_about(secret),
                    fix="Keep one of them",
                )
            )
        names[host] = registry
        credentials[host] = by_registry[registry]
    return credentials, tuple(warnings)


def _host(registry: str) -> str:
    try:
        return parse_url(registry).host or registry
    except GoError:
        return registry  # a name with a port, such as gcr.io:5000, is no URL


def _about(secret: SecretFact) -> str:
    return f"Secret {secret.namespace}/{secret.name}"
