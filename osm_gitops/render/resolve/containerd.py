"""containerd's ``config.toml`` and ``hosts.toml`` files, and the credentials for image registries (osm-behaviour.md,
"containerd config.toml", "containerd hosts.toml" and "Registry credentials").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gocompat import toml
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.gojson import decode
from osm_gitops.gocompat.net import encode_query, parse_query, parse_url, query_unescape, query_values
from osm_gitops.gocompat.numbers import parse_bool
from osm_gitops.model.inputs import Facts, SecretFact
from osm_gitops.model.objects import Json
from osm_gitops.model.profile import File
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
            Code.REGISTRY_CREDENTIALS_MISSING,
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
    """Each registry as written in the Secret, with its credential."""
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
            Problem(
                Code.REGISTRY_CREDENTIALS_INVALID,
                "the value is not valid JSON",
                field=f"data[{key}]",
                fix="Write it again",
            )
        )
        return None


def _entries(value: Json, path: str, problems: list[Problem]) -> dict[str, Credential]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        problems.append(
            Problem(Code.REGISTRY_CREDENTIALS_INVALID, "must be an object with registries as keys", field=path)
        )
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
                    Code.REGISTRY_HOST_TWICE,
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
        return registry  # a name with a port, such as gcr.io:5000, is not a URL


def _about(secret: SecretFact) -> str:
    return f"Secret {secret.namespace}/{secret.name}"


_DOCKER_HUB = "docker.io"
_DOCKER_HUB_SERVER = "https://registry-1.docker.io"
_PERMISSIONS = 600
# An endpoint's options for us ride in this query parameter, which containerd does not get to see.
_OPTIONS = "kubermatic"


def hosts_files(settings: Settings) -> tuple[File, ...]:
    """The files for Docker Hub, every mirrored and every insecure registry, sorted by path."""
    registries = {_DOCKER_HUB: (_DOCKER_HUB_SERVER,), **settings.registry_mirrors}
    insecure = frozenset(settings.insecure_registries)
    texts: dict[str, str] = {}
    # Registries that differ in their path share a directory: the last one in order has it.
    for registry in sorted({*registries, *insecure}, key=str.encode):
        endpoints = registries.get(registry, ())
        if endpoints or registry in insecure:
            directory, server = _place(registry)
            texts[f"/etc/containerd/certs.d/{directory}/hosts.toml"] = _hosts_toml(
                server, endpoints, insecure=registry in insecure
            )
    return tuple(File(path, texts[path], _PERMISSIONS) for path in sorted(texts, key=str.encode))


def _place(registry: str) -> tuple[str, str]:
    """A registry's directory and the server to fall back to, which is empty for the wildcard."""
    host = registry.partition("/")[0]
    if host == _DOCKER_HUB:
        return host, _DOCKER_HUB_SERVER
    if host in ("*", "_default"):
        return "_default", ""
    return host, registry


def _hosts_toml(server: str, endpoints: Iterable[str], *, insecure: bool) -> str:
    hosts = dict(map(_endpoint, endpoints)) or {server: False}
    parts = [f"server = {toml.string(server)}\n\n"] if server else []
    for url in sorted(hosts, key=str.encode):
        parts.extend(_host_lines(url, insecure=insecure, override_path=hosts[url]))
    return "".join(parts)


def _host_lines(url: str, *, insecure: bool, override_path: bool) -> Iterator[str]:
    yield f'[host.{toml.key(url)}]\ncapabilities = ["pull", "resolve"]\n'
    if insecure:
        yield "skip_verify = true\n"
    if override_path:
        yield "override_path = true\n"


def _endpoint(text: str) -> tuple[str, bool]:
    """An endpoint's URL without our options, and whether it overrides the path."""
    try:
        url = parse_url(text)
    except GoError:
        return text, False  # invalid values are passed to containerd unchanged
    query = dict(query_values(url.raw_query))
    if _OPTIONS not in query:
        return text, False
    options = query.pop(_OPTIONS)
    return replace(url, raw_query=encode_query(query)).string(), _overrides_path(options[0])


def _overrides_path(options: str) -> bool:
    try:
        parsed = dict(parse_query(query_unescape(options)))
        return parse_bool(parsed.get("override_path", [""])[0])
    except GoError:
        return False  # as in OSM: an unreadable option is not set


_IMAGES = '[plugins."io.containerd.cri.v1.images"'
_RUNTIME = '[plugins."io.containerd.cri.v1.runtime"'
_RUNC = f"""{_RUNTIME}.containerd]
{_RUNTIME}.containerd.runtimes]
{_RUNTIME}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
{_RUNTIME}.containerd.runtimes.runc.options]
SystemdCgroup = true
{_RUNTIME}.cni]
bin_dirs = ["/opt/cni/bin"]
conf_dir = "/etc/cni/net.d"
"""


def config_toml(settings: Settings, credentials: Mapping[str, Credential]) -> str:
    """The file's text for containerd 2; ``credentials`` are by registry host."""
    return "\n".join(_lines(settings, credentials)) + "\n" + _RUNC


def _lines(settings: Settings, credentials: Mapping[str, Credential]) -> Iterator[str]:
    yield 'version = 3\n\n[metrics]\naddress = "127.0.0.1:1338"\n\n[plugins]'
    yield f"{_IMAGES}]\ndiscard_unpacked_layers = false"
    if settings.pause_image:
        yield f"{_IMAGES}.pinned_images]\nsandbox = {toml.string(settings.pause_image)}"
    yield f'{_IMAGES}.registry]\nconfig_path = "/etc/containerd/certs.d"'
    if credentials:
        yield f"{_IMAGES}.registry.configs]"
    for host in sorted(credentials, key=str.encode):
        yield from _credential_lines(f"{_IMAGES}.registry.configs.{toml.key(host)}", credentials[host])
    ownership = "true" if settings.device_ownership_from_security_context else "false"
    yield f"{_RUNTIME}]\ndevice_ownership_from_security_context = {ownership}"


def _credential_lines(table: str, credential: Credential) -> Iterator[str]:
    yield f"{table}]"
    yield f"{table}.auth]"
    for name in ("username", "password", "auth", "identitytoken"):
        value = getattr(credential, name)
        if value:
            yield f"{name} = {toml.string(value)}"
