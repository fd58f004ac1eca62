"""containerd's ``config.toml``, the template value ``ContainerRuntimeConfig`` (osm-behaviour.md, "containerd
config.toml")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from osm_gitops.gocompat import toml
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.registry_credentials import Credential

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
