"""Values of a run's inputs that no report may show (design.md, "Masking")."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, replace
from typing import Final
from urllib.parse import unquote

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.model.inputs import Facts, Inputs, SecretFact
from osm_gitops.model.machine import PROVIDER_CONFIG_FIELD, MachineDeployment
from osm_gitops.model.objects import Json, value_at
from osm_gitops.model.profile import Modules, OperatingSystemProfile, ProfileConfig, Unit
from osm_gitops.model.public_words import PUBLIC_WORDS
from osm_gitops.model.settings import Settings
from osm_gitops.plan.content import BOOT_TEXTS
from osm_gitops.sops.leaves import sealed_type

NOT_SHOWN: Final = "the message is not shown: it is made from secrets"

# Data of Secrets that is not secret.
_PUBLIC_DATA = re.compile(
    r"(?i)usage-bootstrap-.*|auth-extra-groups|expiration|description|namespace|(?:.*[-_.])?ca(?:[-_.](?:crt|cert|pem|bundle))?"
    r"|tls\.crt|certificate-authority(?:-data)?|server|client-certificate(?:-data)?"
)
# Keys of a service account's JSON that are not secret.
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
# The literal text of an encrypted template is between these.
_TEMPLATE_ACTION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
# ``key: value`` of a line, except public keys.
_YAML_VALUE = re.compile(r"(?m)^([ \t-]*(?!apiVersion|kind)[\w-]+:[ \t]+[\"']?)(\w[^\s\"',{}\[\]]*)")
# Shorter lines are not specific.
_TELLING = 6
_CERTIFICATES = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


# Words that select the setup of a machine: with substitutes, rendering would fail.
_CHOICES = PUBLIC_WORDS | {"amzn2", "rhel", "aws", "azure", "gce", "edge", "cloud-init", "ignition", "IPv4", "IPv6"}

_PROVIDER_SPEC = tuple(PROVIDER_CONFIG_FIELD.split("."))

Replace = Callable[[str], str]
"""Returns the substitute of a secret text."""


def collect_sensitive(
    facts: Facts, machines: Iterable[MachineDeployment], settings: Settings, encrypted: Iterable[str] = ()
) -> frozenset[str]:
    """All values of Secrets, credentials, and addresses with credentials, with their parts.

    ``encrypted`` are texts that were encrypted in the source. Values are whole texts; reports search for them.
    """
    found: set[str] = set()

    def note(value: str) -> str:
        found.add(value)
        return value

    for text in encrypted:
        found.update((text, *_TEMPLATE_ACTION.split(text)))
        _secret_text(text, note)
    _facts(facts, note)
    for machine in machines:
        _provider_spec(machine.provider_spec, note)
    _settings(settings, note)
    return frozenset(value for value in found if value.strip() and not _HARMLESS.fullmatch(value.strip()))


def with_other_secrets(inputs: Inputs, settings: Settings, other: Replace) -> tuple[Inputs, Settings]:
    """The inputs and settings with a substitute for each value that :func:`collect_sensitive` finds.

    Both use the same code, so they find the same secrets. Encrypted templates are not replaced: see
    :func:`sealed_templates`.
    """
    sealed = inputs.sensitive

    def unsealed(document: Json) -> Json:
        return _sealed_leaves(document, sealed, other) if sealed else document

    facts = _facts(inputs.facts, other)
    facts = replace(
        facts,
        config_maps={key: replace(each, data=unsealed(each.data)) for key, each in facts.config_maps.items()},
        endpoint_slices=tuple(map(unsealed, facts.endpoint_slices)),
    )
    machines = tuple(other_machine(machine, sealed, other) for machine in inputs.machines)
    profiles = inputs.profiles
    if sealed:
        profiles = {key: _untemplated(each, unsealed) for key, each in profiles.items()}
    return replace(inputs, facts=facts, machines=machines, profiles=profiles), _settings(settings, other)


def other_machine(machine: MachineDeployment, sealed: AbstractSet[str], other: Replace) -> MachineDeployment:
    """A MachineDeployment with other credentials, and substitutes for its ``sealed`` texts."""
    spec, annotations = machine.provider_spec, machine.annotations
    if sealed:
        spec, annotations = _sealed_leaves(spec, sealed, other), _sealed_leaves(annotations, sealed, other)
    return replace(machine, provider_spec=_provider_spec(spec, other), annotations=annotations)


def other_manifest(body: Mapping[str, Json], sealed: AbstractSet[str], other: Replace) -> Mapping[str, Json]:
    """The manifest of a MachineDeployment, changed as :func:`other_machine` does it."""

    def changed(value: Json, path: Sequence[str]) -> Json:
        if not path:
            return _provider_spec(value, other)
        if not isinstance(value, Mapping) or path[0] not in value:
            return value
        return {**value, path[0]: changed(value[path[0]], path[1:])}

    found: Mapping[str, Json] = changed(_sealed_leaves(body, sealed, other) if sealed else body, _PROVIDER_SPEC)
    return found


def provider_spec_of(body: Mapping[str, Json]) -> Json:
    """``providerSpec.value`` of a MachineDeployment's manifest."""
    return value_at(body, _PROVIDER_SPEC)


def sealed_templates(half: ProfileConfig, sealed: AbstractSet[str]) -> frozenset[str]:
    """The paths of files of a half whose text was encrypted, at least in part: all of their output is secret.

    ``sealed`` are the texts that were encrypted.
    """
    if not sealed:
        return frozenset()
    lines = {line for text in sealed if "\n" in text for line in text.splitlines() if len(line.strip()) >= _TELLING}
    templates = {**half.templates}
    files = [*half.files]
    for runtime in half.runtimes:
        templates = {**runtime.templates, **templates}
        files += runtime.files

    def is_sealed(text: str) -> bool:
        return text in sealed or not lines.isdisjoint(text.splitlines())

    every = any(map(is_sealed, templates.values()))
    return frozenset(file.path for file in files if every or is_sealed(file.content))


def _untemplated(profile: OperatingSystemProfile, unsealed: Callable[[Json], Json]) -> OperatingSystemProfile:
    """A profile with substitutes for encrypted parts that are not templates: units and modules."""

    def half(config: ProfileConfig) -> ProfileConfig:
        modules = config.modules
        if modules is not None:
            modules = Modules(**{each.name: unsealed(getattr(modules, each.name)) for each in fields(modules)})
        return replace(config, units=tuple(map(unit, config.units)), modules=modules)

    def unit(each: Unit) -> Unit:
        drop_ins = tuple(replace(drop_in, content=unsealed(drop_in.content)) for drop_in in each.drop_ins)
        return replace(each, content=unsealed(each.content), drop_ins=drop_ins)

    return replace(profile, bootstrap=half(profile.bootstrap), provisioning=half(profile.provisioning))


def _sealed_leaves(document: Json, sealed: AbstractSet[str], other: Replace) -> Json:
    if isinstance(document, Mapping):
        return {key: _sealed_leaves(value, sealed, other) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return type(document)(_sealed_leaves(value, sealed, other) for value in document)
    if isinstance(document, bool) or document is None or str(document) not in sealed or document in _CHOICES:
        return document
    return _number(document, other) if isinstance(document, int | float) else _sealed_text(document, other)


def _sealed_text(text: str, other: Replace) -> str:
    """The substitute of an encrypted text. Of a kubeconfig, names and addresses are secret too."""
    if "clusters:" not in text:
        return _secret_text(text, other)
    return _YAML_VALUE.sub(lambda found: found[1] + _secret_text(found[2], other), text)


def _number(number: float, other: Replace) -> Json:
    replaced = other(str(number))
    try:
        return type(number)(replaced)
    except ValueError:
        return number + 1


def inline_credentials(provider_spec: Json) -> tuple[str, ...]:
    """Paths of the fields of ``providerSpec.value`` with a credential in plain text.

    The address of a Secret is none, nor is what SOPS encrypted.
    """
    spec = provider_spec if isinstance(provider_spec, Mapping) else {}
    found = [
        path
        for key, value in spec.items()
        if str(key).lower() in {"cloudproviderspec", "operatingsystemspec"}
        for path in _secret_fields(value, str(key))
    ]
    whole = (key for key in spec if str(key).lower() == "overwritecloudconfig")
    found += [path for key in whole for path in _secret_fields(spec[key], str(key), secret=True)]
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
    elif isinstance(document, str):
        if document and not sealed_type(document) and (secret or _USERINFO.search(document)):
            yield path
    elif secret and isinstance(document, int | float) and not isinstance(document, bool):
        yield path


def _facts(facts: Facts, replaced: Replace) -> Facts:
    return replace(
        facts,
        secrets={key: _secret(secret, replaced) for key, secret in facts.secrets.items()},
        environment={name: _secret_text(value, replaced) for name, value in facts.environment.items()},
    )


def _secret(secret: SecretFact, replaced: Replace) -> SecretFact:
    data = dict(secret.data)
    for key, value in secret.data.items():
        # What OSM or we made is no fact; the secrets in it come from other Secrets.
        if key not in BOOT_TEXTS and not _PUBLIC_DATA.fullmatch(key):
            text = _secret_text(value.decode(errors="surrogateescape"), replaced)
            data[key] = text.encode(errors="surrogateescape")
    if secret.type == "bootstrap.kubernetes.io/token":
        halves = [secret.data.get(key, b"").decode(errors="surrogateescape") for key in ("token-id", "token-secret")]
        replaced(".".join(halves))
    return replace(secret, data=data)


def _secret_text(text: str, replaced: Replace) -> str:
    """A secret text, and what it consists of: leaves of JSON, decoded base64, tokens of a kubeconfig."""
    document = _json(text)
    if isinstance(document, Mapping | list):
        return json.dumps(_leaves(document, replaced))
    if "apiVersion" in text and "clusters:" in text:
        lines = [_kubeconfig_line(line, replaced) for line in text.split("\n")]
        if any(match for _, match in lines):
            return "\n".join(line for line, _ in lines)
    pieces = _CERTIFICATES.split(text)
    if len(pieces) == 1:
        return _decoded(text, replaced)
    _decoded("".join(pieces), replaced)
    certificates = [*_CERTIFICATES.findall(text), ""]
    return "".join(replaced(piece) + known for piece, known in zip(pieces, certificates, strict=True))


def _kubeconfig_line(line: str, replaced: Replace) -> tuple[str, bool]:
    at = len("- ") if line.startswith("- ") else 0
    match = _PRIVATE_KEY_LINE.match(line, at)
    if match is None:
        return line, False
    start, end = match.span(1)
    return line[:start] + _decoded(match[1], replaced) + line[end:], True


def _decoded(value: str, replaced: Replace) -> str:
    """A value, and what it says where it is base64 of text (``user:password``, a service account)."""
    found = replaced(value)
    for match in _USERINFO.finditer(value):
        for part in match[1].split(":", 1):
            replaced(unquote(part))
    try:
        plain = b64decode(value, validate=True).decode()
    except (Base64Error, ValueError):
        return found
    if not plain.isprintable() and "\n" not in plain:
        return found
    document = _json(plain)
    if isinstance(document, Mapping | list):
        return _encoded(json.dumps(_leaves(document, replaced)))
    replaced(plain)
    user, colon, password = plain.partition(":")
    if "\n" in plain:
        return _encoded(_secret_text(plain, replaced)) if "clusters:" in plain else found
    if colon:
        replaced(user)
        replaced(password)
    return found


def _encoded(text: str) -> str:
    return encode_base64(text.encode(errors="surrogateescape"))


def _leaves(document: Json, replaced: Replace, key: str = "") -> Json:
    if isinstance(document, Mapping):
        return {inner: _leaves(value, replaced, str(inner)) for inner, value in document.items()}
    if isinstance(document, list | tuple):
        return [_leaves(value, replaced, key) for value in document]
    if isinstance(document, str) and not (_PUBLIC_DATA.fullmatch(key) or _PUBLIC_LEAF.fullmatch(key)):
        return _decoded(document, replaced)
    if isinstance(document, int | float) and not isinstance(document, bool):
        return _number(document, replaced)
    return document


def _provider_spec(spec: Json, replaced: Replace) -> Json:
    """Credentials in ``providerSpec.value``; keys are matched in any case, as Go's JSON decoder does."""
    if not isinstance(spec, Mapping):
        return spec
    found = {}
    for key, value in spec.items():
        match str(key).lower():
            case "cloudproviderspec" | "operatingsystemspec":
                found[key] = _credentials(value, replaced)
            case "overwritecloudconfig" if isinstance(value, str):
                found[key] = replaced(value)
            case _:
                found[key] = value
    return found


def _credentials(document: Json, replaced: Replace, *, secret: bool = False) -> Json:
    """String leaves below keys that name a credential; addresses of Secrets are none."""
    if isinstance(document, Mapping):
        return {
            key: value
            if key in {"secretKeyRef", "configMapKeyRef"}
            else _credentials(value, replaced, secret=secret or _SECRET_KEY.fullmatch(str(key)) is not None)
            for key, value in document.items()
        }
    if isinstance(document, list | tuple):
        return [_credentials(value, replaced, secret=secret) for value in document]
    if isinstance(document, str):
        return _secret_text(document, replaced) if secret else _without_userinfo(document, replaced)
    if secret and isinstance(document, int | float) and not isinstance(document, bool):
        return _number(document, replaced)
    return document


def _settings(settings: Settings, replaced: Replace) -> Settings:
    def address(url: str) -> str:
        return _without_userinfo(url, replaced)

    return replace(
        settings,
        http_proxy=address(settings.http_proxy),
        override_bootstrap_kubelet_apiserver=address(settings.override_bootstrap_kubelet_apiserver),
        registry_mirrors={name: tuple(map(address, urls)) for name, urls in settings.registry_mirrors.items()},
    )


def _without_userinfo(address: str, replaced: Replace) -> str:
    """An address with another user and password, if it has any."""

    def other(match: re.Match[str]) -> str:
        replaced(match[1])
        user, colon, password = match[1].partition(":")
        for part in (user, password):
            replaced(unquote(part))
        return f"://{replaced(user)}{colon}{replaced(password)}@"

    return _USERINFO.sub(other, address)


def _json(text: str) -> Json:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None
