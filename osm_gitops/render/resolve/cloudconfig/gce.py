"""The cloud-config of Google Compute Engine (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from osm_gitops.errors import Code
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.gojson import decode
from osm_gitops.gocompat.text import from_bytes
from osm_gitops.render.resolve.cloudconfig.cloud_spec import CloudSpec, boolean_variable, flag, quoted, text_variable
from osm_gitops.render.resolve.json_fields import Reader, strings

FIELDS: Final[Mapping[str, Reader]] = {
    **dict.fromkeys(("serviceAccount", "zone", "network", "subnetwork"), text_variable),
    **dict.fromkeys(("multizone", "regional"), boolean_variable),
    "tags": strings,
}
_ACCOUNT: Final = "GOOGLE_SERVICE_ACCOUNT"
ENVIRONMENT: Final[Collection[str]] = (_ACCOUNT,)
_FIX: Final = f"Put the base64 of the service account's JSON key there, or into {_ACCOUNT}"


def render(spec: CloudSpec) -> str:
    lines = [
        "[global]",
        f"project-id = {quoted(_project_id(spec))}",
        f"local-zone = {quoted(spec.text('zone'))}",
        f"network-name = {quoted(spec.text('network'))}",
        f"subnetwork-name = {quoted(spec.text('subnetwork'))}",
        f"multizone = {flag(spec.boolean('multizone'))}",
        f"regional = {flag(spec.boolean('regional'))}",
        *(f"node-tags = {quoted(tag)}" for tag in spec.values.get("tags", ())),
    ]
    return "".join(f"{line}\n" for line in lines)


def _project_id(spec: CloudSpec) -> str:
    """``project_id`` of the service account, a flat map of strings; its content shows in no message."""
    account = spec.text_or_environment("serviceAccount", _ACCOUNT)
    if not account:
        spec.problem(Code.CLOUD_SPEC_VALUE, "there is no service account", "serviceAccount", _FIX)
        return ""
    decoded = decode_base64(account)
    if decoded is None:
        spec.problem(Code.CLOUD_SPEC_VALUE, "the service account is not base64", "serviceAccount", _FIX)
        return ""
    try:
        key = decode(from_bytes(decoded))
    except GoError:
        key = ""
    if key is None:
        return ""
    if not isinstance(key, dict) or not all(isinstance(entry, str | None) for entry in key.values()):
        spec.problem(
            Code.CLOUD_SPEC_VALUE,
            "the service account is no JSON object whose values are all strings",
            "serviceAccount",
            _FIX,
        )
        return ""
    return key.get("project_id") or ""
