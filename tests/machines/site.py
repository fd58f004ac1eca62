"""A cluster that machines can join, the internet that they see, and the way from a MachineDeployment to a machine.

pool = site.pool("workers", provider="hetzner")
site.apply()
with site.machine("workers", "workers-1") as machine:
    machine.boot()
    site.joined(machine, "workers-1")
"""

from __future__ import annotations

import re
import shutil
import socket
import ssl
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from osm_gitops.commands.boot.lane.architectures import ARM64
from osm_gitops.commands.boot.lane.authority import issue
from osm_gitops.commands.boot.lane.binaries import Binaries
from osm_gitops.commands.boot.lane.control_plane import (
    CLUSTER_INFO,
    SETTINGS_NAMESPACE,
    cluster_info,
    controllers,
    getter_secret,
    joining_rights,
)
from osm_gitops.commands.boot.lane.images import VIRTUAL, Image, image_of
from osm_gitops.commands.boot.lane.internet import API_PORT, Internet, internet, relayed
from osm_gitops.commands.boot.lane.lane import Lane, certificate
from osm_gitops.commands.boot.lane.machine import Machine
from osm_gitops.commands.boot.lane.packages import Signer
from osm_gitops.commands.boot.lane.programs import (
    CNI,
    KUBERNETES,
    Kubernetes,
    containerd_1,
    controller_manager,
    ignition,
    kubectl,
    kubernetes,
    node_programs,
)
from osm_gitops.commands.boot.lane.store import Store
from osm_gitops.commands.boot.lane.systems import RED_HAT, UBUNTU_ARCHIVE, Trust
from osm_gitops.commands.boot.lane.virtual import VirtualMachine
from osm_gitops.commands.boot.lane.web import RedHatPackages, Stock, file_of, ubuntu_web
from osm_gitops.commands.boot.machine_controller import user_data_of
from tests.apiserver.after_osm import REVISION, AfterOsm
from tests.apiserver.client import Client, Object, Refused
from tests.apiserver.cluster import Cluster
from tests.apiserver.server import running
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool
from tests.machines.pod_program import pod_program
from tests.machines.registry import image

_NAMESPACE: Final = "osm-gitops-tests"
API: Final = "api.example.com"
MIRROR: Final = "mirror.example.com"
PROXY: Final = "proxy.example.com"
REGISTRY: Final = "registry.example.com"
PAUSE: Final = "3.10.1"
LACKING: Final = "AppStream-lacking"
"""A repository like AppStream without one of its packages."""
_SERVER: Final = f"https://{API}:{API_PORT}"
_CLUSTER_INFO: Final = "/api/v1/namespaces/{}/configmaps/{}".format(*CLUSTER_INFO)


@dataclass
class Site:
    """``stock`` is what the files of the web are made of, ``store`` where that is kept."""

    cluster: Cluster
    lane: Lane
    stock: Stock
    store: Store
    signer: Signer
    objects: AfterOsm = field(init=False)

    def __post_init__(self) -> None:
        self.objects = AfterOsm(self.cluster, self.cluster)

    @property
    def client(self) -> Client:
        return self.cluster.client()

    @property
    def net(self) -> Internet:
        return self.lane.net

    @property
    def trust(self) -> Trust:
        return self.lane.trust

    @property
    def folder(self) -> Path:
        return self.lane.folder

    def pool(self, name: str, profile: str = "osp-ubuntu", *, taints: Sequence[Object] = (), **more: Any) -> None:
        """A MachineDeployment as a person makes it, and what machine-controller makes of it; ``more`` goes into its
        provider config."""
        given = {REVISION: "1", **more.pop("annotations", {})}
        body = pool(name, profile, kubelet=KUBERNETES.removeprefix("v"), annotations=given, **more)
        body["spec"]["template"]["metadata"] = {"labels": {"pool": name}}
        body["spec"]["template"]["spec"]["taints"] = list(taints)
        self.objects.create(body, "kubectl")
        self.objects.machine_set(name)

    @property
    def getter_token(self) -> str:
        """What machines fetch their Secrets with."""
        found = self.client.get(f"/api/v1/namespaces/{SETTINGS_NAMESPACE}/secrets/cloud-init-getter-token")
        return b64decode(found["data"]["token"]).decode()

    @property
    def source(self) -> tuple[str, ...]:
        """The options of commands that read this cluster."""
        return ("--from", "cluster", "--kubeconfig", str(self.cluster.kubeconfig(self.folder / "kubeconfig")))

    def apply(self, *more: str) -> Ran:
        """Bring the cluster to what its pools need."""
        ran = osm_gitops("apply", *self.source, "--to", "cluster", "--yes", *more)
        assert ran.code == 0, f"{ran.out}{ran.err}"
        return ran

    def user_data(self, pool: str, machine: str, *, gzipped: bool = False) -> bytes:
        """What machine-controller hands to the provider for a Machine."""
        found = self.client.get(f"/api/v1/namespaces/{SETTINGS_NAMESPACE}/secrets/{pool}-kube-system-bootstrap-config")
        return user_data_of(b64decode(found["data"]["cloud-config"]).decode(), machine, gzipped=gzipped)

    def machine(
        self, pool: str, name: str, *, system: str = "ubuntu", gzipped: bool = False, **more: Any
    ) -> AbstractContextManager[Machine]:
        """The machine of a Machine as its provider makes it, switched off; ``more`` as :meth:`Lane.machine` has it."""
        return self.lane.machine(name, self.user_data(pool, name, gzipped=gzipped), system=system, **more)

    def virtual_machine(self, pool: str, name: str, **more: Any) -> AbstractContextManager[VirtualMachine]:
        """One of Ubuntu with a kernel of its own, switched off; ``more`` as :meth:`Lane.virtual_machine` has it."""
        return self.lane.virtual_machine(name, self.user_data(pool, name), **more)

    def node(self, name: str) -> Object | None:
        try:
            return self.client.get(f"/api/v1/nodes/{name}")
        except Refused as refused:
            if refused.status != 404:
                raise
            return None

    def joined(self, made: Machine, name: str, seconds: float = 300) -> Object:
        """Its Node, as soon as the kubelet says how it is. Raises AssertionError with what the machine says."""

        def reports() -> bool:
            found = self.node(name)
            return found is not None and bool(found["status"].get("nodeInfo", {}).get("kubeletVersion"))

        made.until(f"node {name}", reports, seconds)
        found = self.node(name)
        assert found is not None
        return found

    def reports_since(self, made: Machine, name: str, moment: str) -> None:
        """Wait until the kubelet renews its lease after a moment, ``2026-01-01T00:00:00Z``."""
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

        def renewed() -> bool:
            leases = {each["metadata"]["name"]: each["spec"] for each in self.client.get(path)["items"]}
            return name in leases and leases[name]["renewTime"] > moment

        made.until(f"lease of {name}", renewed)

    def tokens(self) -> list[Object]:
        """The bootstrap tokens of the cluster."""
        found = self.client.get("/api/v1/namespaces/kube-system/secrets")["items"]
        return [each for each in found if each["type"] == "bootstrap.kubernetes.io/token"]

    @contextmanager
    def only_the_mirror(self) -> Iterator[None]:
        """DNS knows the API server and a mirror of everything, laid out as docs/how-to/air-gap.md says, and no more."""
        with self._web_for_now():
            files = dict(self.net.files)
            self.net.names.clear()
            self.net.files.clear()
            self.net.names.add(API)
            self.net.publish(MIRROR, {f"/{host}{path}": content for (host, path), content in files.items()})
            yield

    @contextmanager
    def web_of_arm64(self) -> Iterator[Image]:
        """The image of a virtual machine of arm64; the web has what such machines download, too."""
        folder = self.folder.parent / "web-arm64"
        folder.mkdir()
        image = image_of(self.store, VIRTUAL, ARM64)
        stock = Stock.made(folder, node_programs(self.store, ARM64), kubectl(self.store, ARM64), image)
        with self._web_for_now():
            for host, content in ubuntu_web(folder, stock, image, self.signer).items():
                self.net.publish(host, content)
            publish_downloads(self.net, stock, kubernetes(self.store, architecture=ARM64))
            yield image

    @contextmanager
    def _web_for_now(self) -> Iterator[None]:
        """What the web has is as before afterwards."""
        names, files = set(self.net.names), dict(self.net.files)
        try:
            yield
        finally:
            self.net.names, self.net.files = names, files

    def upgrade(self, name: str, kubelet: str) -> None:
        """Give a pool another version of the kubelet, and machine-controller's next revision."""
        path = f"/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments/{name}"
        template = {"spec": {"versions": {"kubelet": kubelet.removeprefix("v")}}}
        change = {"metadata": {"annotations": {REVISION: "2"}}, "spec": {"template": template}}
        self.objects.objects["MachineDeployment", "kube-system", name] = self.client.merge(path, change)
        self.objects.machine_set(name)

    def publish_kubernetes(self, version: str) -> None:
        """Have the web offer another version of what is built from Kubernetes."""
        publish_downloads(self.net, self.stock, kubernetes(self.store, version))

    @contextmanager
    def web_from(self, day: datetime) -> Iterator[None]:
        """The certificates of the web are valid from a day on."""
        present = self.folder.parent / "web.pem"
        later = self.folder.parent / "web-later.pem"
        key = load_pem_private_key(present.read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        certificate(later, [*self.net.names], key, day)
        self.net.present(later)
        yield
        self.net.present(present)

    @contextmanager
    def packages_of_today(self) -> Iterator[None]:
        """The archive of Ubuntu was signed now."""
        at = f"Date: {datetime.now(UTC):%a, %d %b %Y %H:%M:%S} UTC"
        for (host, path), content in self.net.files.items():
            if host == UBUNTU_ARCHIVE and path.endswith("/InRelease"):
                assert isinstance(content, bytes)
                _, _, signed = content.decode().partition("\n\n")
                text = re.sub(r"^Date: .*$", at, signed.partition("-----BEGIN PGP")[0], flags=re.MULTILINE)
                self.net.broken[path] = self.signer.clear_signed(text)
        yield
        self.net.broken.clear()

    def apply_with_authorities(self, *authorities: str) -> None:
        """Have machines trust these, in PEM: in the files of the first stage, and in kubelets' kubeconfigs, which come
        from cluster-info."""
        bundle = self.folder.parent / "authorities.pem"
        bundle.write_text("".join(authorities), "utf-8")
        self.client.merge(_CLUSTER_INFO, {"data": cluster_info(_SERVER, bundle.read_text("utf-8"))["data"]})
        self.apply("--kubernetes-ca-bundle", str(bundle))

    @contextmanager
    def other_authority(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """The PEM of another authority, and what gives the API server a certificate of it, as machines see it."""
        folder, other = (self.folder.parent / name for name in ("cluster", "other-authority"))
        other.mkdir()
        issue(other, "nodes", API)
        before = {name: (folder / name).read_bytes() for name in ("api.key", "api.crt")}

        def present(files: Mapping[str, bytes]) -> None:
            for name, data in files.items():
                (folder / name).write_bytes(data)
            wanted = x509.load_pem_x509_certificate(files["api.crt"]).public_bytes(Encoding.DER)
            end = monotonic() + 120
            while monotonic() < end:
                if self._presented() == wanted:
                    return
                sleep(1)
            raise AssertionError("the API server does not present its new certificate")

        yield (
            (other / "ca.crt").read_text("utf-8"),
            lambda: present({name: (other / name).read_bytes() for name in before}),
        )
        present(before)
        self.client.merge(_CLUSTER_INFO, {"data": cluster_info(_SERVER, self.cluster.authority)["data"]})
        shutil.rmtree(other)

    def _presented(self) -> bytes | None:
        """The certificate that machines see of the API server."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        address = urlsplit(self.cluster.server)
        with (
            socket.create_connection((address.hostname, address.port)) as connection,
            context.wrap_socket(connection, server_hostname=API) as trusted,
        ):
            return trusted.getpeercert(binary_form=True)

    def forget(self) -> None:
        """What a test left."""
        for name in (each["metadata"]["name"] for each in self.client.get("/api/v1/nodes")["items"]):
            self.client.delete(f"/api/v1/nodes/{name}")
        self.net.forget()
        self.cluster.restore()


@contextmanager
def site(folder: Path, binaries: Binaries, store: Store) -> Iterator[Site]:
    """All of it, in a folder that is empty."""
    for name in ("cluster", "controllers", "web", "machines"):
        (folder / name).mkdir()
    images = {system: image_of(store, system) for system in ("ubuntu", *RED_HAT, "flatcar", VIRTUAL)}
    node, older = node_programs(store), containerd_1(store)
    with ExitStack() as stack:
        signer = stack.enter_context(closing(Signer.made(folder / "gpg")))
        cluster = stack.enter_context(running("nodes", folder / "cluster", binaries, host=API))
        _prepare(cluster)
        config = cluster.kubeconfig(folder / "controllers" / "kubeconfig")
        stack.enter_context(controllers(folder / "controllers", controller_manager(store), config, folder / "cluster"))
        stock = Stock.made(folder / "web", node, kubectl(store), images["ubuntu"])
        webs = [ubuntu_web(folder / "web", stock, images["ubuntu"], signer)]
        packages = RedHatPackages.made(folder / "web" / "rpms", stock, older, images["rockylinux"], signer)
        webs += [packages.web(name, signer) for name in RED_HAT]
        rocky = RED_HAT["rockylinux"]
        lacking = [each for each in packages.packages if not each.name.startswith("socat-")]
        webs.append({rocky.host: packages.repository(rocky, "AppStream", lacking, LACKING)})
        webs.append({"registry.k8s.io": image("pause", PAUSE, pod_program(store))})
        webs.append({REGISTRY: image("hello", "1", pod_program(store))})
        hosts = [*dict.fromkeys(host for web in webs for host in web), "dl.k8s.io", "github.com", MIRROR]
        trusted = certificate(folder / "web.pem", hosts)
        net = stack.enter_context(internet(_NAMESPACE, folder / "web.pem"))
        for web in webs:
            for host, files in web.items():
                net.publish(host, files)
        publish_downloads(net, stock, kubernetes(store))
        net.names |= {API, PROXY}
        port = urlsplit(cluster.server).port
        assert port is not None
        stack.enter_context(relayed(net, API_PORT, ("127.0.0.1", port)))
        cluster.remember()
        trust = Trust(trusted, signer.keyring(), signer.public_key())
        lane = Lane(net, folder / "machines", images, trust, stock.containerd, ignition(store))
        yield Site(cluster, lane, stock, store, signer)


def publish_downloads(net: Internet, stock: Stock, node: Kubernetes) -> None:
    """What the built-in profiles and OSM's download, beside packages."""
    minor, arch = KUBERNETES.rpartition(".")[0], stock.architecture
    urls = (
        *(f"https://dl.k8s.io/{node.version}/bin/linux/{arch}/{name}" for name in ("kubelet", "kubectl", "kubeadm")),
        f"https://github.com/containernetworking/plugins/releases/download/{CNI}/cni-plugins-linux-{arch}-{CNI}.tgz",
        f"https://github.com/kubernetes-sigs/cri-tools/releases/download/{minor}.0/crictl-{minor}.0-linux-{arch}.tar.gz",
    )
    for url in urls:
        found = file_of(url, stock, node)
        assert found is not None, url
        net.publish(*found)


def _prepare(cluster: Cluster) -> None:
    """What every cluster of KKP has: how machines reach it, who may fetch user-data, and who may join."""
    client = cluster.client()
    client.create(cluster_info(_SERVER, cluster.authority))
    cluster.namespace(SETTINGS_NAMESPACE)
    for body in joining_rights():
        if body["kind"] != "Namespace":
            client.create(body)
    client.create(getter_secret(cluster.token(cluster.account(SETTINGS_NAMESPACE, "cloud-init-getter"))))
