"""The kubelet's version (osm-behaviour.md, "Kubelet version" and "Cloud provider")."""

from __future__ import annotations

from typing import Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.semver import Version, parse_constraint, parse_version

KUBELET_FIELD: Final = "spec.template.spec.versions.kubelet"

_WITHOUT_IN_TREE_PROVIDERS: Final = ">= 1.29"


def kube_version(text: str) -> str:
    """``versions.kubelet`` as templates see it: ``1.30`` gives ``v1.30.0``. Raises InputError."""
    return f"v{_parse(text)}"


def satisfies(text: str, constraint: str) -> bool:
    """Whether ``versions.kubelet`` satisfies a semver constraint; a pre-release satisfies hardly any."""
    return parse_constraint(constraint).check(_parse(text))


def needs_no_cloud_config(text: str) -> bool:
    """Whether the kubelet is too new for in-tree cloud providers (``1.29.0-rc.1`` is not: osm-behaviour.md, "Quirks",
    quirk 16)."""
    return satisfies(text, _WITHOUT_IN_TREE_PROVIDERS)


def _parse(text: str) -> Version:
    try:
        return parse_version(text)
    except GoError:
        what = f'"{text}" is no version of a kubelet' if text else "the version of the kubelet is missing"
        problem = Problem(
            Code.UNCODED, what, field=KUBELET_FIELD, fix="Write one to three numbers with dots, such as 1.33.4"
        )
        raise InputError([problem]) from None
