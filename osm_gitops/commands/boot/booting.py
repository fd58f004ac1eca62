"""From a pool of the config repository to a machine that boots and a verdict: ``cluster.py`` has the throw-away
cluster, ``lane`` what the machine boots in, ``watching.py`` looks at it."""

from __future__ import annotations

import ipaddress
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from osm_gitops.cache.folder import cache_path
from osm_gitops.commands.boot.cluster import apply, fill, tokens_of
from osm_gitops.commands.boot.lane.binaries import Binaries, find_binaries
from osm_gitops.commands.boot.lane.control_plane import (
    SETTINGS_NAMESPACE,
    ControlPlane,
    control_plane,
)
from osm_gitops.commands.boot.lane.images import Image, image_of
from osm_gitops.commands.boot.lane.internet import internet, proxied, relayed
from osm_gitops.commands.boot.lane.lane import NAMESPACE, Lane, certificate
from osm_gitops.commands.boot.lane.machine import Machine
from osm_gitops.commands.boot.lane.needs import missing
from osm_gitops.commands.boot.lane.packages import Signer
from osm_gitops.commands.boot.lane.programs import (
    Kubernetes,
    Programs,
    containerd_1,
    controller_manager,
    ignition,
    kubectl,
    kubernetes,
    node_programs,
)
from osm_gitops.commands.boot.lane.store import Store
from osm_gitops.commands.boot.lane.systems import RED_HAT, Trust
from osm_gitops.commands.boot.lane.web import Files, RedHatPackages, Stock, file_of, ubuntu_web
from osm_gitops.commands.boot.machine_controller import user_data_of
from osm_gitops.commands.boot.verdict import Boot, BootedPool
from osm_gitops.commands.boot.watching import BootWatch, Watched
from osm_gitops.commands.explain.downloading import downloads_of
from osm_gitops.commands.explain.explaining import Loaded, choose_pool, load_clusters
from osm_gitops.config.spec import ClusterSpec
from osm_gitops.downloads.need import Kind, Need
from osm_gitops.errors import Code, InputError, LaneError, Problem
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.render.resolve.cluster_info import resolve_cluster
from osm_gitops.render.resolve.machine_spec import readable_provider_config
from osm_gitops.render.user_data import Counted, user_data_limit
from osm_gitops.report.mask import Masker

SYSTEMS: Final = ("ubuntu", *RED_HAT, "flatcar")
_API_ADDRESS: Final = "10.77.0.3"
_PROXY_ADDRESS: Final = "10.77.0.4"
_PACKAGE: Final = re.compile(r"[a-z0-9][a-z0-9+.-]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootOptions:
    """``files`` by URL and ``packages`` without content are there besides."""

    timeout: timedelta
    files: Mapping[str, Path]
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pool:
    """The pool, and what of it decides what it boots in."""

    cluster: Loaded
    machine: MachineDeployment
    os: str
    provider: str
    server: SplitResult
    needs: tuple[Need, ...]
    masker: Masker

    @property
    def host(self) -> str:
        """That of the API server."""
        return self.server.hostname or ""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a lane is made of. Red Hat's systems alone need the ``older`` containerd, and Flatcar needs Ignition."""

    binaries: Binaries
    image: Image
    node: Programs
    older: Programs | None
    kubernetes: Kubernetes
    kubectl: Path
    manager: Path
    ignition: Path | None


@contextmanager
def booted(
    name: str, clusters: Sequence[ClusterSpec], options: RunOptions, wanted: BootOptions
) -> Iterator[tuple[Boot, Machine, Masker]]:
    """Boot the machine of the MachineDeployment ``NAME`` or ``NAMESPACE/NAME``; it runs until this ends.

    Raises InputError if the pool cannot be rendered, and LaneError for what this machine lacks, or what fails in it.
    """
    pool = _choose(name, clusters, options)

    def tell(line: str) -> None:
        options.tell(pool.masker.line(line))

    store = Store(_cache(options.environment), tell)
    lacking = missing(store.folder, built=store.is_complete)
    if lacking:
        raise LaneError(lacking)
    parts = _parts(store, pool, options.environment)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="run-", dir=store.folder)))
        tell("starting an API server")
        plane = stack.enter_context(
            control_plane(folder / "plane", parts.binaries, parts.kubectl, parts.manager, pool.host)
        )
        fill(plane, pool.cluster, pool.machine, pool.server.geturl())
        apply(plane, pool.cluster, options, pool.masker)
        pool.masker.learn(tokens_of(plane))
        tell("starting an internet, as soon as no other boot of this machine has one")
        lane = stack.enter_context(_lane(folder, pool, plane, parts, wanted))
        secret = plane.get("secret", SETTINGS_NAMESPACE, pool.machine.bootstrap_secret_name)
        limit, _ = user_data_limit(pool.provider, pool.os)
        gzipped = limit is not None and limit.counted is Counted.GZIP
        host = "ip-10-77-0-2.ec2.internal" if pool.provider == "aws" else f"{pool.machine.name[:50]}-boot"
        user_data = user_data_of(b64decode(secret["data"]["cloud-config"]).decode(), host, gzipped=gzipped)
        machine = stack.enter_context(lane.machine(host, user_data, system=pool.os))
        machine.boot()
        tell("the machine is on")
        about = BootedPool(
            cluster=pool.cluster.spec.name,
            pool=pool.machine.ref,
            os=pool.os,
            provider=pool.provider,
            kubelet=parts.kubernetes.version,
            sources=parts.kubernetes.sources,
            server=pool.server.geturl(),
        )
        watch = BootWatch(Watched(about, machine, plane, pool.machine.provisioning_secret_name), tell)
        yield watch.run(wanted.timeout.total_seconds()), machine, pool.masker


def _choose(name: str, clusters: Sequence[ClusterSpec], options: RunOptions) -> _Pool:
    unread: list[Problem] = []
    cluster, machine = choose_pool(name, list(load_clusters(clusters, options, unread)), unread)
    found = downloads_of(cluster, machine)
    config = readable_provider_config(machine.provider_spec)
    server = urlsplit(resolve_cluster(cluster.settings, cluster.inputs.facts).kubeconfig.server)
    about, where = str(machine.ref), str(machine.manifest.origin)
    problems: list[Problem] = []
    if config.os not in SYSTEMS:
        what = f'there is no image for operating system "{config.os}"'
        fix = f"Choose a pool of one of {', '.join(SYSTEMS)}"
        problems.append(Problem(Code.BOOT_NOT_POSSIBLE, what, where=where, about=about, fix=fix))
    needs = tuple(each.need for each in found.needs)
    hosts = {server.hostname or "", *(urlsplit(f"//{each.host}").hostname or "" for each in needs if each.host)}
    for host in sorted(host for host in hosts if ":" in host):
        what = f"{host} is an IPv6 address, and the machine has IPv4 only"
        problems.append(Problem(Code.BOOT_NOT_POSSIBLE, what, where=where, about=about, fix="Use a name for it"))
    if problems:
        raise InputError(problems)
    return _Pool(cluster, machine, config.os, config.provider, server, needs, Masker(cluster.sensitive))


def _cache(environment: Mapping[str, str]) -> Path:
    found = cache_path(environment, "boot")
    if found is None:
        what, fix = "there is no folder to keep what machines are made of", "Set XDG_CACHE_HOME to an absolute path"
        raise LaneError([Problem(Code.BOOT_NEEDS, what, fix=fix)])
    return found


def _parts(store: Store, pool: _Pool, environment: Mapping[str, str]) -> _Parts:
    """All that the pool's machine needs, built."""
    parts = _Parts(
        binaries=find_binaries(environment, store),
        image=image_of(store, pool.os),
        node=node_programs(store),
        older=containerd_1(store) if pool.os in RED_HAT else None,
        kubernetes=kubernetes(store, pool.machine.kubelet),
        kubectl=kubectl(store),
        manager=controller_manager(store),
        ignition=ignition(store) if pool.os == "flatcar" else None,
    )
    store.complete()
    return parts


@contextmanager
def _lane(folder: Path, pool: _Pool, plane: ControlPlane, parts: _Parts, wanted: BootOptions) -> Iterator[Lane]:
    """The internet that the pool's machines see, with everything that they ask for, as far as there is a stand-in."""
    web, machines, proxies = (folder / name for name in ("web", "machines", "proxy"))
    for each in (web, machines, proxies):
        each.mkdir()
    proxy = urlsplit(pool.cluster.settings.http_proxy)
    urls = [urlsplit(each.name if "://" in each.name else f"//{each.name}") for each in pool.needs if each.host]
    urls += map(urlsplit, wanted.files)
    hosts = {url.hostname for url in urls if url.hostname}
    apart = {host: address for host, address in ((pool.host, _API_ADDRESS), (proxy.hostname, _PROXY_ADDRESS)) if host}
    addresses = {host for host in hosts - apart.keys() if _is_address(host)}
    ports = {url.port: url.scheme != "http" for url in urls if url.port and url.hostname not in apart}
    with ExitStack() as stack:
        signer = stack.enter_context(closing(Signer.made(folder / "gpg")))
        stock = Stock.made(web, parts.node, parts.kubectl, parts.image)
        files = _files(web, pool, parts, stock, signer, wanted)
        names = sorted(hosts | files.keys() | apart.keys())
        trusted = certificate(folder / "web.pem", names)
        net = stack.enter_context(internet(NAMESPACE, folder / "web.pem", sorted(addresses), ports))
        for host, content in files.items():
            net.publish(host, content)
        net.names |= {name for name in names if not _is_address(name)}
        for host, address in apart.items():
            place = host if _is_address(host) else address
            net.add_address(place)
            net.elsewhere[host] = place
        api = net.elsewhere[pool.host]
        stack.enter_context(relayed(net, pool.server.port or 443, ("127.0.0.1", plane.port), api))
        if proxy.hostname:
            stack.enter_context(proxied(net, proxies, proxy.port or 80, net.elsewhere[proxy.hostname]))
        trust = Trust(trusted, signer.keyring(), signer.public_key())
        yield Lane(net, machines, {pool.os: parts.image}, trust, stock.containerd, parts.ignition)


def _files(
    folder: Path, pool: _Pool, parts: _Parts, stock: Stock, signer: Signer, wanted: BootOptions
) -> dict[str, dict[str, Any]]:
    """By host and path: archives of packages, what is built here, and what the user gave."""
    named = (each.name for each in pool.needs if each.kind is Kind.PACKAGE and _PACKAGE.fullmatch(each.name))
    packages = (*named, *wanted.packages)
    webs: list[Mapping[str, Files]] = []
    if pool.os == "ubuntu":
        webs.append(ubuntu_web(folder, stock, parts.image, signer, packages))
    elif parts.older is not None:
        made = RedHatPackages.made(folder / "rpms", stock, parts.older, parts.image, signer, packages)
        webs.append(made.web(pool.os, signer))
    found = (file_of(each.name, stock, parts.kubernetes) for each in pool.needs if each.kind is Kind.URL)
    webs += [{each[0]: each[1]} for each in found if each is not None]
    for url, file in wanted.files.items():
        place = urlsplit(url)
        webs.append({place.hostname or "": {place.path or "/": file}})
    files: dict[str, dict[str, Any]] = {}
    for each in webs:
        for host, content in each.items():
            files.setdefault(host, {}).update(content)
    return files


def _is_address(host: str) -> bool:
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True
