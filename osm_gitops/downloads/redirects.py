"""Where well-known hosts send a client for the content itself: a firewall that lets only the first host through stops
the download there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REDIRECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "dl.k8s.io": ("cdn.dl.k8s.io",),
    "docker.io": (
        "auth.docker.io",
        "docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com",
        "production.cloudflare.docker.com",
        "production.cloudfront.docker.com",
        "registry-1.docker.io",
    ),
    "ghcr.io": ("pkg-containers.githubusercontent.com",),
    "github.com": ("objects.githubusercontent.com", "release-assets.githubusercontent.com"),
    "pkgs.k8s.io": ("prod-cdn.packages.k8s.io",),
    "quay.io": ("cdn.quay.io", *(f"cdn0{number}.quay.io" for number in range(1, 7))),
    "registry.k8s.io": ("*.pkg.dev", "*.s3.dualstack.*.amazonaws.com"),
}
"""By host the hosts that it redirects to, sorted; ``*`` for parts that change. As of 2026, by what the operators of the
hosts and of clusters behind firewalls publish. None of them promises that it stays so."""
_SAME: Final = {"registry-1.docker.io": "docker.io"}


def redirects_of(host: str) -> tuple[str, ...]:
    """The other hosts that a client of this host must reach."""
    name = host.removesuffix(":443")
    return tuple(each for each in REDIRECTS.get(_SAME.get(name, name), ()) if each != name)
