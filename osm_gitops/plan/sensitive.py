"""Which values of a run's inputs no report may show (design §7)."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.model.facts import Facts, SecretFact
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json
from osm_gitops.model.settings import Settings
from osm_gitops.plan.content import BOOT_TEXTS

# Data of Secrets that anyone may know.
_PUBLIC_DATA = re.compile(
    r"(?i)usage-bootstrap-.*|auth-extra-groups|expiration|description|namespace|(?:.*[-_.])?ca(?:[-_.](?:crt|cert|pem|bundle))?"
    r"|tls\.crt|certificate-authority(?:-data)?|server|client-certificate(?:-data)?"
)
# What a service account's JSON tells anyone.
_PUBLIC_LEAF = re.compile(r"type|project_id|auth_uri|token_uri|universe_domain|email|.*_cert_url")
_SECRET_KEY = re.compile(
    r"(?i).*(?:pass(?:word|wd|phrase)?|secret|token|credentials?|kubeconfig|service-?_?account|auth|subscriptionmanageruser"
    r"|(?:private|secret|access|activation|api|account|shared|storage|client)[-_]?key(?:[-_]?(?:id|data|secret))?"
    r"|(?:key|token|password|credentials?)[-_]?data)"
)
_PRIVATE_KEY_LINE = re.compile(r"\s*(?:client-key-data|token|password)\s*:\s*[\"']?([^\"'\s]+)")
_USERINFO = re.compile(r"://([^/\s\"'<>]+)@")
_HARMLESS = re.compile(
    r"(?i)true|false|null|none|yes|no|disabled|enabled|https?://[^@\s]*|-----(?:BEGIN|END) [A-Z ]+-----"
)
# What is rendered of an encrypted template stands between these.
_TEMPLATE_ACTION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_CERTIFICATES = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def collect_sensitive(
    facts: Facts, machines: Iterable[MachineDeployment], settings: Settings, encrypted: Iterable[str] = ()
) -> frozenset[str]:
    """Every value of Secrets, credentials and addresses with credentials, with its pieces.

    ``encrypted`` are further texts that somebody took for secret. Values are whole texts; how they are
    looked for is the report's matter.
    """
    found: set[str] = set()
    for text in encrypted:
        found.update((text, *_TEMPLATE_ACTION.split(text), *_pieces(text)))
    for secret in facts.secrets.values():
        found.update(_of_secret(secret))
    found.update(piece for value in facts.environment.values() for piece in _pieces(value))
    for machine in machines:
        found.update(_of_provider_spec(machine.provider_spec))
    found.update(_of_settings(settings))
    return frozenset(value for value in found if value.strip() and not _HARMLESS.fullmatch(value.strip()))


def inline_credentials(provider_spec: Json) -> tuple[str, ...]:
    """Where in ``providerSpec.value`` a credential stands itself, and not the address of a Secret: paths of fields."""
    spec = provider_spec if isinstance(provider_spec, Mapping) else {}
    found = [
        path
        for key, value in spec.items()
        if str(key).lower() in {"cloudproviderspec", "operatingsystemspec"}
        for path in _secret_fields(value, str(key))
    ]
    found += [str(key) for key, value in spec.items() if str(key).lower() == "overwritecloudconfig" and value]
    return tuple(found)


def _secret_fields(document: Json, path: str, *, secret: bool = False) -> Iterator[str]:
    if isinstance(document, Mapping):
        for key, value in document.items():
            if key not in {"secretKeyRef", "configMapKeyRef"}:
                below = secret or _SECRET_KEY.fullmatch(str(key)) is not None
                yield from _secret_fields(value, f"{path}.{key}", secret=below)
    elif isinstance(document, list | tuple):
        for index, value in enumerate(document):
            yield from _secret_fields(value, f"{path}[{index}]", secret=secret)
    elif isinstance(document, str) and document and (secret or _USERINFO.search(document)):
        yield path


def _of_secret(secret: SecretFact) -> Iterator[str]:
    for key, value in secret.data.items():
        if key in BOOT_TEXTS:
            continue  # what OSM or we made; the secrets in it come from other Secrets
        if not _PUBLIC_DATA.fullmatch(key):
            yield from _pieces(value.decode(errors="surrogateescape"))
    if secret.type == "bootstrap.kubernetes.io/token":
        halves = [secret.data.get(key, b"").decode(errors="surrogateescape") for key in ("token-id", "token-secret")]
        yield ".".join(halves)


def _pieces(text: str) -> Iterator[str]:
    """A secret text and what it consists of: leaves of JSON, decoded base64, tokens of a kubeconfig."""
    document = _json(text)
    if isinstance(document, Mapping | list):
        yield from _leaves(document)
        return
    if "apiVersion" in text and "clusters:" in text:
        for line in text.splitlines():
            match = _PRIVATE_KEY_LINE.match(line.removeprefix("- "))
            if match:
                yield from _decoded(match[1])
        return
    yield from _decoded(_CERTIFICATES.sub("", text))


def _decoded(value: str) -> Iterator[str]:
    """A value, and what it says where it is base64 of text (``user:password``, a service account)."""
    yield value
    yield from (unquote(part) for match in _USERINFO.finditer(value) for part in match[1].split(":", 1))
    try:
        plain = b64decode(value, validate=True).decode()
    except (Base64Error, ValueError):
        return
    if not plain.isprintable() and "\n" not in plain:
        return
    document = _json(plain)
    if isinstance(document, Mapping | list):
        yield from _leaves(document)
    else:
        yield plain
        user, colon, password = plain.partition(":")
        if colon and "\n" not in plain:
            yield user
            yield password


def _leaves(document: Json, key: str = "") -> Iterator[str]:
    if isinstance(document, Mapping):
        for inner_key, value in document.items():
            yield from _leaves(value, str(inner_key))
    elif isinstance(document, list | tuple):
        for value in document:
            yield from _leaves(value, key)
    elif isinstance(document, str) and not (_PUBLIC_DATA.fullmatch(key) or _PUBLIC_LEAF.fullmatch(key)):
        yield from _decoded(document)
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield str(document)


def _of_provider_spec(spec: Json) -> Iterator[str]:
    """Credentials in ``providerSpec.value``; keys are matched in any case, as Go's JSON decoder does."""
    fields = {str(key).lower(): value for key, value in spec.items()} if isinstance(spec, Mapping) else {}
    yield from _secret_leaves(fields.get("cloudproviderspec"))
    yield from _secret_leaves(fields.get("operatingsystemspec"))
    overwrite = fields.get("overwritecloudconfig")
    if isinstance(overwrite, str):
        yield overwrite


def _secret_leaves(document: Json, *, secret: bool = False) -> Iterator[str]:
    """String leaves below keys that name a credential; addresses of Secrets are none."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            if key in {"secretKeyRef", "configMapKeyRef"}:
                continue
            yield from _secret_leaves(value, secret=secret or _SECRET_KEY.fullmatch(str(key)) is not None)
    elif isinstance(document, list | tuple):
        for value in document:
            yield from _secret_leaves(value, secret=secret)
    elif isinstance(document, str):
        if secret:
            yield from _pieces(document)
        else:
            yield from _userinfo(document)
    elif secret and isinstance(document, int | float) and not isinstance(document, bool):
        yield str(document)


def _of_settings(settings: Settings) -> Iterator[str]:
    mirrors = [url for urls in settings.registry_mirrors.values() for url in urls]
    for address in (settings.http_proxy, settings.override_bootstrap_kubelet_apiserver, *mirrors):
        yield from _userinfo(address)


def _userinfo(address: str) -> Iterator[str]:
    for match in _USERINFO.finditer(address):
        yield match[1]
        user, _, password = match[1].partition(":")
        for part in (user, password):
            yield part
            yield unquote(part)


def _json(text: str) -> Json:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None
