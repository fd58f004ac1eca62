"""The cloud-config of OpenStack (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from osm_gitops.errors import Code, Problem
from osm_gitops.gocompat.gojson import encode
from osm_gitops.model.objects import Json
from osm_gitops.render.resolve.cloudconfig.cloud_spec import CloudSpec, boolean_variable, flag, quoted, text_variable
from osm_gitops.render.resolve.json_fields import UNSET, Reader, optional, type_name
from osm_gitops.render.resolve.machine_spec import satisfies

_CREDENTIALS: Final = {
    "region": "OS_REGION_NAME",
    "domainName": "OS_DOMAIN_NAME",
    "identityEndpoint": "OS_AUTH_URL",
    "applicationCredentialID": "OS_APPLICATION_CREDENTIAL_ID",
    "applicationCredentialSecret": "OS_APPLICATION_CREDENTIAL_SECRET",
    "username": "OS_USER_NAME",
    "password": "OS_PASSWORD",
    "projectName": "OS_PROJECT_NAME",
    "tenantName": "OS_TENANT_NAME",
    "projectID": "OS_PROJECT_ID",
    "tenantID": "OS_TENANT_ID",
}
_WITH_SECURITY_GROUPS: Final = "~1.9.10 || ~1.10.6 || ~1.11.1 || >=1.12.*"
_WITH_IGNORED_ZONES: Final = ">=1.9"


def _limit(value: Json, path: str, problems: list[Problem]) -> Any:
    """A Go ``uint``; a float such as 25.0 is stored as 25 by the API server."""
    digits = "" if isinstance(value, (bool, str, list, dict)) else encode(value)
    if digits.isdecimal() and int(digits) < 1 << 64:
        return int(digits)
    problems.append(Problem(Code.WRONG_TYPE, f"must be a whole number from 0 on, not {type_name(value)}", field=path))
    return UNSET


FIELDS: Final[Mapping[str, Reader]] = {
    **dict.fromkeys(_CREDENTIALS, text_variable),
    "trustDevicePath": boolean_variable,
    "nodeVolumeAttachLimit": optional(_limit),
}
ENVIRONMENT: Final[Collection[str]] = _CREDENTIALS.values()


def render(spec: CloudSpec) -> str:
    groups = satisfies(spec.kubelet, _WITH_SECURITY_GROUPS)
    zones = satisfies(spec.kubelet, _WITH_IGNORED_ZONES)
    limit = spec.values.get("nodeVolumeAttachLimit")
    lines = [
        *_global_section(spec),
        "",
        "[LoadBalancer]",
        *(["manage-security-groups = true"] if groups else []),
        "",
        "[BlockStorage]",
        *(["ignore-volume-az  = true"] if zones else []),
        f"trust-device-path = {flag(spec.boolean('trustDevicePath'))}",
        'bs-version        = "auto"',
        *([f"node-volume-attach-limit = {limit}"] if limit else []),
    ]
    return "".join(f"{line}\n" for line in lines)


def _global_section(spec: CloudSpec) -> list[str]:
    credentials = {name: spec.text_or_environment(name, variable) for name, variable in _CREDENTIALS.items()}
    value = {name: quoted(text) for name, text in credentials.items()}
    lines = ["[Global]", f"auth-url    = {value['identityEndpoint']}"]
    if credentials["applicationCredentialID"]:
        lines += [
            f"application-credential-id     = {value['applicationCredentialID']}",
            f"application-credential-secret = {value['applicationCredentialSecret']}",
        ]
    else:
        lines += [
            f"username    = {value['username']}",
            f"password    = {value['password']}",
            f"tenant-name = {quoted(credentials['projectName'] or credentials['tenantName'])}",
            f"tenant-id   = {quoted(credentials['projectID'] or credentials['tenantID'])}",
            f"domain-name = {value['domainName']}",
        ]
    return [*lines, f"region      = {value['region']}"]
