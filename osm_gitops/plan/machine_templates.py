"""Whether a live MachineDeployment has the template that somebody wrote, given the defaults that machine-controller's
mutating webhook adds.

The webhook rewrites ``spec.template`` when a MachineDeployment is created and when its template changes:

- ``operatingSystemSpec``: Flatcar without a ``provisioningUtility`` gets ``ignition``; every system gets its other
  keys, false or empty.
- ``cloudProviderSpec``: a provider fills in what is absent or empty (region, network, security groups, disk type), and
  may write a variable ``{value: x}`` as ``x``.
- ``spec.metadata.labels``: KubeVirt adds labels for the topology.

Nothing else of the provider config may be added, for machines boot with it. ``versions.kubelet`` is compared without a
leading ``v``, which makes no difference to what is rendered.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Final

from osm_gitops.model.objects import Json, value_at
from osm_gitops.render.resolve.pools import template_digest, without_empty

_ROOT: Final = "spec.template"
_CONFIG: Final = ("spec", "providerSpec", "value")
_OS_SPEC: Final = "operatingSystemSpec"
_CLOUD_SPEC: Final = "cloudProviderSpec"
_UTILITY: Final = "provisioningUtility"
_IGNITION: Final = "ignition"


def template_difference(wanted: Json, live: Json) -> str:
    """The first field in which a live template is not ``wanted`` with the webhook's defaults, as a path such as
    ``spec.template.spec.versions.kubelet``; empty where there is none. It holds no value, for some are secrets."""
    ours, theirs = _with_defaults(wanted), _with_defaults(live)
    config, found = _at(ours, _CONFIG), _at(theirs, _CONFIG)
    where = ".".join((_ROOT, *_CONFIG))
    for key in sorted(found):
        if key == _OS_SPEC:
            difference = _changed_key(config.get(key), found[key], f"{where}.{key}")
            if difference:
                return difference
        elif found[key] and not config.get(key) and not (key == _CLOUD_SPEC and key in config):
            return f"{where}.{key}"
    return _lacking(ours, theirs, _ROOT)


def digests_as_written(template: Json) -> frozenset[str]:
    """Digests (:func:`template_digest`) of all templates that the webhook may have made ``template`` of, as far as that
    can be told from it alone: without the default of Flatcar, and with ``v`` before the kubelet's version."""
    return frozenset(map(template_digest, _as_written(template)))


def _as_written(template: Json) -> Iterator[Json]:
    variants = [template]
    config = _at(template, _CONFIG)
    if config.get("operatingSystem") == "flatcar" and _at(config, (_OS_SPEC,)).get(_UTILITY) == _IGNITION:
        without = copy.deepcopy(template)
        del _at(without, (*_CONFIG, _OS_SPEC))[_UTILITY]
        variants.append(without)
    for variant in variants:
        yield variant
        kubelet = _at(variant, ("spec", "versions")).get("kubelet")
        if isinstance(kubelet, str) and kubelet and not kubelet.startswith("v"):
            prefixed = copy.deepcopy(variant)
            _at(prefixed, ("spec", "versions"))["kubelet"] = f"v{kubelet}"
            yield prefixed


def _with_defaults(template: Json) -> Json:
    """A template in the form in which what one wrote and what the webhook made of it are alike."""
    found = copy.deepcopy(template)
    versions, config = _at(found, ("spec", "versions")), _at(found, _CONFIG)
    if isinstance(versions.get("kubelet"), str):
        versions["kubelet"] = versions["kubelet"].removeprefix("v")
    if _CLOUD_SPEC in config:
        config[_CLOUD_SPEC] = _plain(without_empty(config[_CLOUD_SPEC]))
    if isinstance(config.get(_OS_SPEC), Mapping) or not config.get(_OS_SPEC):
        spec = without_empty(config.get(_OS_SPEC) or {})
        if config.get("operatingSystem") == "flatcar":
            spec.setdefault(_UTILITY, _IGNITION)
        if config:
            config[_OS_SPEC] = spec
    return found


def _plain(value: Json) -> Json:
    """Configuration variables without the object around them."""
    if isinstance(value, Mapping):
        return _plain(value["value"]) if value.keys() == {"value"} else {key: _plain(value[key]) for key in value}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _at(value: Json, path: tuple[str, ...]) -> dict[str, Json]:
    """The map there; an empty one where there is none: a definition of the kind lets anything be there."""
    found = value_at(value, path)
    return found if isinstance(found, dict) else {}


def _changed_key(wanted: Json, live: Json, path: str) -> str:
    """The first key in which two maps differ."""
    if not isinstance(wanted, Mapping) or not isinstance(live, Mapping):
        return "" if is_same(wanted, live) else path
    keys = (key for key in sorted({*wanted, *live}) if not is_same(wanted.get(key), live.get(key)))
    return next((f"{path}.{key}" for key in keys), "")


def _lacking(wanted: Json, live: Json, path: str) -> str:
    """The first field of ``wanted`` that ``live`` has otherwise or not: maps may have more, lists may not."""
    if isinstance(wanted, Mapping):
        found = live if isinstance(live, Mapping) else {}
        inner = (_lacking(wanted[key], found.get(key), f"{path}.{key}") for key in sorted(wanted))
        return next(filter(None, inner), "")
    if isinstance(wanted, list | tuple) and wanted and isinstance(live, list | tuple) and len(live) == len(wanted):
        each = (_lacking(*pair, f"{path}[{number}]") for number, pair in enumerate(zip(wanted, live, strict=True)))
        return next(filter(None, each), "")
    return "" if is_same(wanted, live) else path


def is_same(one: Json, other: Json) -> bool:
    """Whether two values are equal in JSON; what is empty equals what is absent."""
    # As JSON text, because Python takes 1, 1.0 and True for equal.
    return (not one and not other) or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
