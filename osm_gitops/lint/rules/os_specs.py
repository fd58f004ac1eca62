"""Checks of ``operatingSystemSpec``, of which OSM passes over what it does not know."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from osm_gitops.errors import InputError
from osm_gitops.lint.rules.boot_file import suggested_fix
from osm_gitops.lint.rules.cloud_specs import FieldRemark
from osm_gitops.lint.rules.values import host_fault
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.model.machine import OsSpec, ProviderConfig
from osm_gitops.render.resolve.machine_spec import OS_SPEC_FIELD, OS_SPEC_KEYS, decode_os_spec

KEY: Final = Rule("os-spec-key", Severity.WARNING, "OSM ignores a key of operatingSystemSpec")
VALUE: Final = Rule("os-spec-value", Severity.ERROR, "values of operatingSystemSpec cannot work")
RULES: Final = (KEY, VALUE)

_SUBSCRIPTION: Final = "rhelSubscriptionManagerUser"


def os_spec_remarks(config: ProviderConfig, sealed: Collection[str]) -> Iterator[FieldRemark]:
    """Keys of ``operatingSystemSpec`` that have no effect, and values that contradict each other. ``sealed`` are texts
    that were encrypted, which are not looked at."""
    spec, known = config.os_spec, OS_SPEC_KEYS.get(config.os)
    if known is None or not isinstance(spec, Mapping):
        return
    # Go matches keys in any case.
    names = {name.lower() for name in known}
    for key in spec:
        if str(key).lower() in names:
            continue
        others = [os for os, keys in OS_SPEC_KEYS.items() if str(key).lower() in map(str.lower, keys)]
        message = f"{config.os} does not have the key {key}"
        fix = suggested_fix(str(key), known, "Remove it")
        if others:
            message += f", which is for {', '.join(others)}"
            fix = "Remove it"
        yield FieldRemark(KEY, f"{OS_SPEC_FIELD}.{key}", message, fix)
    try:
        decoded = decode_os_spec(config.os, spec)
    except InputError:  # reported when the pool is resolved
        return
    if config.os == "rhel":
        yield from _subscription(decoded, sealed)


def _subscription(spec: OsSpec, sealed: Collection[str]) -> Iterator[FieldRemark]:
    satellite = {
        "rhelSatelliteServer": spec.rhel_satellite_server,
        "rhelOrganizationName": spec.rhel_organization_name,
        "rhelActivationKey": spec.rhel_activation_key,
    }
    if spec.rhel_use_satellite_server:
        for key, value in satellite.items():
            if not value:
                yield FieldRemark(VALUE, OS_SPEC_FIELD, f"a Satellite server needs {key}", f"Set {key}")
        server = spec.rhel_satellite_server
        if server and server not in sealed:
            fault = "has a scheme or a path" if "/" in server else host_fault(server.partition(":")[0])
            if fault:
                message = f"the Satellite server {fault}"
                yield FieldRemark(VALUE, f"{OS_SPEC_FIELD}.rhelSatelliteServer", message, "Write its host name")
        return
    for key, value in satellite.items():
        if value:
            message = f"{key} has no effect without rhelUseSatelliteServer: true"
            yield FieldRemark(KEY, f"{OS_SPEC_FIELD}.{key}", message, "Set rhelUseSatelliteServer: true, or remove it")
    user, password = spec.rhel_subscription_manager_user, spec.rhel_subscription_manager_password
    if bool(user) != bool(password):
        given = _SUBSCRIPTION if user else "rhelSubscriptionManagerPassword"
        message = "a subscription needs both a user and a password"
        yield FieldRemark(VALUE, f"{OS_SPEC_FIELD}.{given}", message, "Set the other one too")
    elif spec.attach_subscription and not user:
        message = "there is no user whose subscription could be attached"
        field = f"{OS_SPEC_FIELD}.attachSubscription"
        yield FieldRemark(VALUE, field, message, f"Set {_SUBSCRIPTION} and its password")
