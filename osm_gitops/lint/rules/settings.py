"""Checks of the settings of a cluster: values that OSM accepts and renders, and that nodes cannot use.

They are reported where the setting is given, since the profile that prints it is right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import parse_address
from osm_gitops.lint.rules.boot_file import Remark, suggested_fix
from osm_gitops.lint.rules.kubelet import FEATURE_GATE
from osm_gitops.lint.rules.kubelet_tables import GATES, gate_fault
from osm_gitops.lint.rules.values import (
    endpoint_fault,
    has_tag,
    image_fault,
    image_registry,
    is_address,
    namespace_fault,
    no_proxy_fault,
    object_fault,
    parsed_url,
    shown,
    taint_faults,
    url_fault,
)
from osm_gitops.model.finding import Rule, Severity

TAINT: Final = Rule("taint", Severity.ERROR, "the kubelet does not start with a taint, or machines do not get it")
IMAGE: Final = Rule("image-reference", Severity.ERROR, "containerd cannot use the reference of an image")
IMAGE_UNUSUAL: Final = Rule("image-unusual", Severity.WARNING, "an image is probably not the one that is intended")
PROXY: Final = Rule("proxy-url", Severity.ERROR, "nodes cannot use the URL of the proxy")
PROXY_KIND: Final = Rule("proxy-scheme", Severity.WARNING, "not all programs of a node can use the URL of the proxy")
NO_PROXY: Final = Rule("no-proxy", Severity.WARNING, "not all programs of a node understand an entry of no-proxy")
REGISTRY: Final = Rule("registry", Severity.ERROR, "containerd cannot use a registry or a mirror of a setting")
REGISTRY_UNUSED: Final = Rule(
    "registry-unused", Severity.WARNING, "containerd does not use a registry or a mirror as set"
)
API_SERVER: Final = Rule("api-server-url", Severity.ERROR, "nodes cannot reach the API server at a URL")
DNS: Final = Rule("cluster-dns", Severity.ERROR, "no DNS service of a cluster can have an address")
DNS_UNUSUAL: Final = Rule(
    "cluster-dns-unusual", Severity.WARNING, "an address is probably not the cluster's DNS service"
)
REFERENCE: Final = Rule("setting-reference", Severity.ERROR, "a setting cannot be the name of an object")
CA_BUNDLE: Final = Rule("ca-bundle", Severity.ERROR, "a CA bundle has a private key, or certificates that nodes ignore")
RULES: Final = (
    TAINT,
    IMAGE,
    IMAGE_UNUSUAL,
    PROXY,
    PROXY_KIND,
    NO_PROXY,
    REGISTRY,
    REGISTRY_UNUSED,
    API_SERVER,
    DNS,
    DNS_UNUSUAL,
    REFERENCE,
    CA_BUNDLE,
)


@dataclass(frozen=True, slots=True)
class GivenSetting:
    """A setting of a cluster as text, one or (a repeated flag) several; ``where`` is its origin.

    ``content`` is the text of the file that it names, if it names one.
    """

    flag: str
    texts: tuple[str, ...]
    where: str
    content: str = ""

    @property
    def text(self) -> str:
        return ",".join(self.texts)


def setting_remarks(setting: GivenSetting, minors: Collection[int]) -> Iterator[Remark]:
    """What is wrong with a setting that can be parsed. ``minors`` are the Kubernetes minors of the cluster's pools."""
    if setting.flag == "node-kubelet-feature-gates":
        yield from _gate_remarks(setting, minors)
    elif (check := _CHECKS.get(setting.flag)) is not None and setting.text:
        yield from check(setting)


_SERVER_CERTIFICATES: Final = "RotateKubeletServerCertificate"


def refused_gates(gates: Mapping[str, bool], minors: Collection[int]) -> dict[str, str]:
    """The feature gates that a kubelet does not start with, each with the reason."""
    faults: dict[str, str] = {}
    if gates.get(_SERVER_CERTIFICATES) is False:
        faults[_SERVER_CERTIFICATES] = "serverTLSBootstrap, which profiles of OSM set, needs it"
    for name, value in gates.items():
        if name not in GATES:
            faults[name] = "no kubelet knows it"
            continue
        for minor in sorted(minors):
            if fault := gate_fault(name, minor, value=value):
                faults.setdefault(name, f"{fault}, and pools run 1.{minor}")
    return faults


def _gate_remarks(setting: GivenSetting, minors: Collection[int]) -> Iterator[Remark]:
    gates = {}
    for item in setting.text.split(","):
        name, _, value = item.partition("=")
        gates[name] = value[:1] in "1tT"
    for name, fault in refused_gates(gates, minors).items():
        known = {gate for gate in GATES if not any(gate_fault(gate, minor, value=True) for minor in minors)}
        fix = "Remove it, or change the version of the kubelets"
        if name not in GATES:
            fix = suggested_fix(name, known, "Remove it")
        value = str(gates[name]).lower()
        yield Remark(FEATURE_GATE, f"kubelets do not start with feature gate {name}={value}: {fault}", fix=fix)


def _taints(setting: GivenSetting) -> Iterator[Remark]:
    for taint, fault in taint_faults(setting.text):
        fix = "Write key=value:NoSchedule, separated by commas alone"
        yield Remark(TAINT, f'the taint "{shown(taint)}" {fault}', fix=fix)


def _pause_image(setting: GivenSetting) -> Iterator[Remark]:
    image = setting.text
    if fault := image_fault(image):
        fix = "Write registry/name:tag, such as registry.k8s.io/pause:3.10"
        yield Remark(IMAGE, f'the image "{shown(image)}" {fault}', fix=fix)
        return
    if not image_registry(image):
        message = f'the image "{image}" names no registry, so containerd pulls it from docker.io'
        yield Remark(IMAGE_UNUSUAL, message, fix=f"Write registry.k8s.io/{image}, or the registry that has it")
    elif image_registry(image) in _GONE_REGISTRIES:
        message = f'the registry of the image "{image}" gets no new images and may be gone'
        yield Remark(IMAGE_UNUSUAL, message, fix="Use registry.k8s.io")
    if not has_tag(image):
        message = f'the image "{image}" has no tag, so containerd pulls the tag latest'
        yield Remark(IMAGE_UNUSUAL, message, fix=f"Write {image}:3.10, or another tag")


_GONE_REGISTRIES: Final = ("k8s.gcr.io",)
_PROXIES: Final = ("http", "https")
_SOCKS: Final = ("socks5", "socks5h")


def _http_proxy(setting: GivenSetting) -> Iterator[Remark]:
    # Messages do not quote the URL, which can have a password.
    url = setting.text
    fix = "Write http://host:port, with IPv6 addresses in brackets"
    if "://" not in url:
        fault = "has no scheme" if "//" in url else url_fault(f"http://{url}", _PROXIES)
        if fault:
            yield Remark(PROXY, f"the URL of the proxy {fault}", fix=fix)
        else:
            message = "the URL of the proxy has no scheme, and apt does not use it then"
            yield Remark(PROXY_KIND, message, fix="Start it with http://")
        return
    if fault := url_fault(url, (*_PROXIES, *_SOCKS)):
        yield Remark(PROXY, f"the URL of the proxy {fault}", fix=fix)
        return
    parsed = parsed_url(url)
    if parsed.scheme in _SOCKS:
        yield Remark(PROXY_KIND, "package managers do not use a SOCKS proxy", fix="Use an HTTP proxy")
    elif parsed.path.strip("/") or parsed.raw_query or parsed.fragment:
        yield Remark(PROXY_KIND, "the URL of the proxy has a path, which programs ignore or refuse", fix="Remove it")
    if _is_own(parsed.hostname):
        yield Remark(PROXY, "the URL of the proxy names the node itself", fix="Name the host of the proxy")


def _is_own(host: str) -> bool:
    """Whether a host is the node itself, or none."""
    if host.lower().rstrip(".") in {"localhost", "localhost.localdomain"}:
        return True
    if not is_address(host):
        return False
    address, _ = parse_address(host)
    return address.is_loopback or address.is_unspecified


def _no_proxy(setting: GivenSetting) -> Iterator[Remark]:
    for raw in setting.text.split(","):
        entry = raw.strip()
        if entry != raw:
            message = f'a blank beside the entry "{shown(entry)}" ends the value in a shell and in a unit'
            yield Remark(NO_PROXY, message, fix="Separate entries with commas alone")
        if entry and (fault := no_proxy_fault(entry)):
            fix = "Write hosts, .domains, addresses and networks"
            if entry.startswith("*."):
                fix = f"Write {entry[1:]}"
            yield Remark(NO_PROXY, f'the entry "{shown(entry)}" {fault}', fix=fix)


def missing_no_proxy(setting: GivenSetting) -> Iterator[Remark]:
    """What no-proxy lacks where there is a proxy: it replaces the default. Health checks of nodes ask themselves."""
    entries = {entry.strip() for entry in setting.text.split(",")}
    if not entries & {"localhost", "*"}:
        message = "without localhost, nodes ask the proxy for their own health checks"
        yield Remark(NO_PROXY, message, fix="Add localhost and 127.0.0.1")
    elif not entries & {"127.0.0.1", "127.0.0.0/8", "127.0.0.1/32", "*"}:
        message = "without 127.0.0.1, nodes ask the proxy for their own health checks"
        yield Remark(NO_PROXY, message, fix="Add 127.0.0.1")


_NO_SCHEME: Final = "Write host or host:port"


def _insecure_registries(setting: GivenSetting) -> Iterator[Remark]:
    for raw in setting.text.split(","):
        registry = raw.strip()
        if registry and (fault := endpoint_fault(registry)):
            yield Remark(REGISTRY, f'the registry "{shown(registry)}" {fault}', fix=_NO_SCHEME)


_HUB_ALIASES: Final = (
    *("index.docker.io", "registry-1.docker.io"),
    *("docker.com", "hub.docker.com", "registry.hub.docker.com", "www.docker.com"),
)
_MIRROR_ITEM: Final = re.compile(r"([a-zA-Z0-9.-]+)=(.*)")


def _mirrors(setting: GivenSetting) -> Iterator[Remark]:
    for raw in setting.text.split(","):
        item = raw.strip()
        match = _MIRROR_ITEM.match(item)
        if not item:
            continue
        if match:
            yield from _registry_of_mirror(match[1])
            yield from _mirror_url(match[2], default_scheme=True)
        elif "=" in item.partition("?")[0]:
            message = f'"{shown(item)}" is read as a mirror of docker.io: its registry has a port, a path or a "_"'
            yield Remark(REGISTRY, message, fix="Use --node-containerd-registry-mirrors for such a registry")
        else:
            yield from _mirror_url(item, default_scheme=True)


def _containerd_mirrors(setting: GivenSetting) -> Iterator[Remark]:
    for item in setting.texts:
        registry, _, url = item.partition("=")
        yield from _registry_of_mirror(registry)
        yield from _mirror_url(url, default_scheme=False)


def _registry_of_mirror(registry: str) -> Iterator[Remark]:
    if registry in ("*", "_default"):
        return
    if "*" in registry:
        message = f'the registry "{shown(registry)}" has a wildcard, which containerd does not know'
        yield Remark(REGISTRY, message, fix="Name each registry, or write _default for all others")
    elif fault := endpoint_fault(registry):
        yield Remark(REGISTRY, f'the registry "{shown(registry)}" of a mirror {fault}', fix=_NO_SCHEME)
    elif registry != registry.lower():
        message = f'containerd asks registries in lower case, so it never asks a mirror of "{shown(registry)}"'
        yield Remark(REGISTRY_UNUSED, message, fix=f"Write {registry.lower()}")
    elif registry in _HUB_ALIASES:
        message = f"images of Docker Hub are of docker.io for containerd, so it never asks a mirror of {registry}"
        yield Remark(REGISTRY_UNUSED, message, fix="Write docker.io")


def _mirror_url(text: str, *, default_scheme: bool) -> Iterator[Remark]:
    url = text
    if "://" not in text and not (default_scheme and text.startswith("http")):
        url = f"https://{text}"
    name = shown(text)
    if fault := url_fault(url, ("https", "http")):
        yield Remark(REGISTRY, f'the mirror "{name}" {fault}', fix="Write https://host:port")
        return
    parsed = parsed_url(url)
    if parsed.user is not None:
        message = "containerd ignores the user and the password in the URL of a mirror"
        yield Remark(REGISTRY_UNUSED, message, fix="Use --node-registry-credentials-secret")
    if parsed.fragment:
        yield Remark(REGISTRY, f'the mirror "{name}" has a fragment', fix="Remove #…")
    if parsed.hostname in ("docker.io", "docker.com", "hub.docker.com"):
        message = f"{parsed.hostname} is not a registry that containerd can ask"
        yield Remark(REGISTRY, message, fix="Write https://registry-1.docker.io")


def _api_server(setting: GivenSetting) -> Iterator[Remark]:
    url = setting.text
    fix = "Write https://host:port"
    if fault := url_fault(url, ("https",)):
        yield Remark(API_SERVER, f"the URL of the API server {fault}", fix=fix)
        return
    parsed = parsed_url(url)
    if _is_own(parsed.hostname):
        yield Remark(API_SERVER, "the URL of the API server names the node itself", fix=fix)
    if parsed.user is not None:
        yield Remark(API_SERVER, "the URL of the API server has a user", fix="Remove it")
    if parsed.path or parsed.raw_query or parsed.fragment:
        message = "the URL of the API server has a path, and scripts of profiles append their own to it"
        yield Remark(API_SERVER, message, fix=fix)
    if parsed.hostname.lower().endswith((".svc", ".cluster.local")):
        yield Remark(API_SERVER, "nodes cannot resolve a name of the cluster's own DNS service", fix=fix)


_PUBLIC_RESOLVERS: Final = frozenset(
    {"8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9", "149.112.112.112", "208.67.222.222", "208.67.220.220",
     "2001:4860:4860::8888", "2001:4860:4860::8844", "2606:4700:4700::1111", "2606:4700:4700::1001", "2620:fe::fe"}
)  # fmt: skip
_NEVER_DNS: Final = ("255.255.255.255", "169.254.169.254")
_FIRST_SERVICE: Final = "10.96.0.1"
_MOST_NAMESERVERS: Final = 3


def _cluster_dns(setting: GivenSetting) -> Iterator[Remark]:
    addresses = [item.strip() for item in setting.text.split(",")]
    for text in addresses:
        try:
            address, _ = parse_address(text)
        except GoError:  # the setting itself is refused
            continue
        is_no_host = address.is_loopback or address.is_unspecified or address.is_multicast
        if is_no_host or text in _NEVER_DNS or (address.version == 6 and address.is_link_local):
            yield Remark(DNS, f"{text} is not the address of a service", fix="Write the address of the DNS service")
        elif str(address) in _PUBLIC_RESOLVERS:
            message = f"{text} is a public resolver, which does not know the services of the cluster"
            yield Remark(DNS_UNUSUAL, message, fix="Write the address of the cluster's DNS service")
        elif text.endswith((".0", ".255", "::")):
            message = f"{text} is probably the address of a network, not of a service"
            yield Remark(DNS_UNUSUAL, message, fix="Write the address of the cluster's DNS service, such as 10.96.0.10")
        elif text == _FIRST_SERVICE:
            message = f"{text} is usually the service of the API server"
            yield Remark(DNS_UNUSUAL, message, fix="Write the address of the cluster's DNS service, such as 10.96.0.10")
    for text, count in Counter(addresses).items():
        if count > 1:
            yield Remark(DNS_UNUSUAL, f"{text} is given more than once", fix="Remove one of them")
    if len(set(addresses)) > _MOST_NAMESERVERS:
        message = f"pods use the first {_MOST_NAMESERVERS} DNS addresses only"
        yield Remark(DNS_UNUSUAL, message, fix="Remove the others")


def _object_name(setting: GivenSetting) -> Iterator[Remark]:
    namespace, _, name = setting.text.partition("/")
    if fault := object_fault(namespace, name):
        yield Remark(REFERENCE, f'"{shown(setting.text)}" {fault}', fix="Write it as namespace/name, in lower case")


def _namespace(setting: GivenSetting) -> Iterator[Remark]:
    if fault := namespace_fault(setting.text):
        yield Remark(REFERENCE, f'"{shown(setting.text)}" {fault}', fix="Write lower-case letters, digits and dashes")


_PEM_MARK: Final = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]+)-----")


def _ca_bundle(setting: GivenSetting) -> Iterator[Remark]:
    opened = ""
    for mark in _PEM_MARK.finditer(setting.content):
        kind, name = mark.groups()
        if kind == "BEGIN" and name.endswith("PRIVATE KEY"):
            message = "the CA bundle has a private key, which every node would get"
            yield Remark(CA_BUNDLE, message, fix="Remove the key, and replace it everywhere")
        elif kind == "BEGIN" and name != "CERTIFICATE":
            message = f"the CA bundle has a block {name}, which nodes ignore"
            yield Remark(CA_BUNDLE, message, fix="Keep blocks CERTIFICATE alone")
        if opened != (name if kind == "END" else ""):
            yield Remark(CA_BUNDLE, _HALF_A_BLOCK, fix=_WHOLE_BLOCKS)
        opened = name if kind == "BEGIN" else ""
    if opened:
        yield Remark(CA_BUNDLE, _HALF_A_BLOCK, fix=_WHOLE_BLOCKS)


_HALF_A_BLOCK: Final = "the CA bundle has a block without its begin or end"
_WHOLE_BLOCKS: Final = "Add each certificate whole"
_Check = Callable[[GivenSetting], Iterator[Remark]]
_CHECKS: Final[Mapping[str, _Check]] = {
    "cluster-dns": _cluster_dns,
    "pause-image": _pause_image,
    "initial-taints": _taints,
    "node-http-proxy": _http_proxy,
    "node-no-proxy": _no_proxy,
    "node-insecure-registries": _insecure_registries,
    "node-registry-mirrors": _mirrors,
    "node-containerd-registry-mirrors": _containerd_mirrors,
    "node-registry-credentials-secret": _object_name,
    "bootstrap-token-service-account-name": _object_name,
    "override-bootstrap-kubelet-apiserver": _api_server,
    "kubernetes-ca-bundle": _ca_bundle,
    "host-ca-bundle": _ca_bundle,
    "namespace": _namespace,
}
