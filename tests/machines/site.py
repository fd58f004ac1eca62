"""A cluster that machines can join, the internet that they see, and the way from a MachineDeployment to a machine.

pool = site.pool("workers", provider="hetzner")
site.apply()
with site.machine("workers", "workers-1") as machine:
    machine.boot()
    site.joined(machine, "workers-1")
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import socket
import ssl
import tarfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final
from urllib.parse import quote_plus, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import NameOID

from osm_gitops.render.user_data import MACHINE_NAME
from tests.apiserver.after_osm import REVISION, AfterOsm
from tests.apiserver.authority import issue
from tests.apiserver.binaries import Binaries
from tests.apiserver.client import Client, Object, Refused
from tests.apiserver.cluster import Cluster
from tests.apiserver.server import kept, running
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, secret
from tests.machines.flatcar import with_cloud_init, with_ignition
from tests.machines.images import VIRTUAL, Image
from tests.machines.internet import API_PORT, Content, Internet, internet, relayed
from tests.machines.machine import Machine, machine
from tests.machines.packages import Signer, apt_archive, containerd_deb, containerd_files, empty_deb
from tests.machines.programs import CNI, CONTAINERD, CONTAINERD_1, KUBERNETES, Programs, containerd_1, ignition
from tests.machines.programs import pod as pod_program
from tests.machines.registry import image
from tests.machines.rpms import containerd_rpm, red_hat_packages, yum_repository
from tests.machines.systems import RED_HAT, UBUNTU_ARCHIVE, RedHat, Trust, install, make_container, seed
from tests.machines.virtual import VirtualMachine, virtual_machine

API: Final = "api.example.com"
MIRROR: Final = "mirror.example.com"
PROXY: Final = "proxy.example.com"
REGISTRY: Final = "registry.example.com"
PAUSE: Final = "3.10.1"
LACKING: Final = "AppStream-lacking"
"""A repository like AppStream without one of its packages."""
_LARGE: Final = ("ceph-common", "glusterfs-client", "software-properties-common")
"""What OSM's profiles install besides, and joining does not need."""
_SETTINGS: Final = "cloud-init-settings"
_CLUSTER_INFO: Final = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
_GETTER: Final = f"system:serviceaccount:{_SETTINGS}:cloud-init-getter"
_BLANKS: Final = " \t"
_CRICTL: Final = (
    b"#!/bin/sh\n# A stand-in: the module of the real one cannot be had.\nexec ctr --connect-timeout 10s version\n"
)
_CONTROLLERS: Final = (
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-signing-controller",
    "node-lifecycle-controller",
    "token-cleaner-controller",
)
_BINDINGS: Final = {
    "bootstrap": ("system:node-bootstrapper", "system:bootstrappers"),
    "approve-clients": ("system:certificates.k8s.io:certificatesigningrequests:nodeclient", "system:bootstrappers"),
    "approve-renewals": ("system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", "system:nodes"),
}
"""What kubeadm allows joining machines: ClusterRole and group by the binding's name."""


@dataclass
class Site:
    """``instances`` counts the machines that were made."""

    cluster: Cluster
    net: Internet
    images: Mapping[str, Image]
    folder: Path
    trust: Trust
    containerd: Path
    """The files of its package, which some images have."""
    instances: int = 0
    objects: AfterOsm = field(init=False)

    def __post_init__(self) -> None:
        self.objects = AfterOsm(self.cluster, self.cluster)

    @property
    def client(self) -> Client:
        return self.cluster.client()

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
        found = self.client.get(f"/api/v1/namespaces/{_SETTINGS}/secrets/cloud-init-getter-token")
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
        found = self.client.get(f"/api/v1/namespaces/{_SETTINGS}/secrets/{pool}-kube-system-bootstrap-config")
        text = b64decode(found["data"]["cloud-config"]).decode()
        named = text.replace(MACHINE_NAME, machine).replace(quote_plus(MACHINE_NAME), quote_plus(machine))
        lines = ("" if line and not line.strip(_BLANKS) else line for line in named.split("\n"))
        data = "\n".join(lines).encode()
        return gzip.compress(data) if gzipped else data

    @contextmanager
    def machine(
        self,
        pool: str,
        name: str,
        *,
        system: str = "ubuntu",
        gzipped: bool = False,
        trust: Trust | None = None,
        room: int = 0,
    ) -> Iterator[Machine]:
        """The machine of a Machine as its provider makes it, switched off; ``room`` is that of its disk in bytes."""
        self.instances += 1
        folder = self.folder / f"machine-{self.instances}"
        with machine(name, folder, self.images[system].root, self.net, room) as made:
            install(made, system, trust or self.trust, self.containerd)
            make_container(made)
            user_data = self.user_data(pool, name, gzipped=gzipped)
            if system != "flatcar":
                seed(made, user_data, f"i-{self.instances}", name)
            elif user_data.startswith(b"{"):
                with_ignition(made, ignition(), user_data)
            else:
                with_cloud_init(made, user_data)
            yield made

    @contextmanager
    def virtual_machine(self, pool: str, name: str) -> Iterator[VirtualMachine]:
        """A machine of Ubuntu with a kernel of its own, switched off."""
        self.instances += 1
        folder = self.folder / f"machine-{self.instances}"
        with virtual_machine(name, folder, self.images[VIRTUAL].root, self.net) as made:
            install(made, "ubuntu", self.trust, self.containerd)
            seed(made, self.user_data(pool, name), f"i-{self.instances}", name)
            yield made

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
        names, files = set(self.net.names), dict(self.net.files)
        self.net.names.clear()
        self.net.files.clear()
        self.net.names.add(API)
        self.net.publish(MIRROR, {f"/{host}{path}": content for (host, path), content in files.items()})
        yield
        self.net.names, self.net.files = names, files

    def upgrade(self, name: str, kubelet: str) -> None:
        """Give a pool another version of the kubelet, and machine-controller's next revision."""
        path = f"/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments/{name}"
        template = {"spec": {"versions": {"kubelet": kubelet.removeprefix("v")}}}
        change = {"metadata": {"annotations": {REVISION: "2"}}, "spec": {"template": template}}
        self.objects.objects["MachineDeployment", "kube-system", name] = self.client.merge(path, change)
        self.objects.machine_set(name)

    def publish_kubernetes(self, version: str, programs: Programs) -> None:
        """Have the web offer another version of what is built from Kubernetes."""
        self.net.publish("dl.k8s.io", _kubernetes(version, programs))

    @contextmanager
    def web_from(self, day: datetime) -> Iterator[None]:
        """The certificates of the web are valid from a day on."""
        present = self.folder.parent / "web.pem"
        later = self.folder.parent / "web-later.pem"
        key = load_pem_private_key(present.read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        _certificate(later, [*self.net.names], key, day)
        self.net.present(later)
        yield
        self.net.present(present)

    def apply_with_authorities(self, *authorities: str) -> None:
        """Have machines trust these, in PEM: in the files of the first stage, and in kubelets' kubeconfigs, which come
        from cluster-info."""
        bundle = self.folder.parent / "authorities.pem"
        bundle.write_text("".join(authorities), "utf-8")
        self.client.merge(_CLUSTER_INFO, {"data": {"kubeconfig": _cluster_info(bundle.read_text("utf-8"))}})
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
        self.client.merge(_CLUSTER_INFO, {"data": {"kubeconfig": _cluster_info(self.cluster.authority)}})
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
def site(folder: Path, binaries: Binaries, programs: Programs, images: Mapping[str, Image]) -> Iterator[Site]:
    """All of it, in a folder that is empty."""
    for name in ("cluster", "controllers", "web", "machines"):
        (folder / name).mkdir()
    signer = Signer.made(folder / "gpg")
    with ExitStack() as stack:
        stack.enter_context(closing(signer))
        cluster = stack.enter_context(running("nodes", folder / "cluster", binaries, host=API))
        _prepare(cluster)
        config = cluster.kubeconfig(folder / "controllers" / "kubeconfig")
        authority = folder / "cluster" / "ca"
        flags = (
            *(f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0"),
            *(f"--controllers={','.join(_CONTROLLERS)}", f"--cluster-signing-cert-file={authority}.crt"),
            f"--cluster-signing-key-file={authority}.key",
        )
        command = (str(programs["kube-controller-manager"]), *flags)
        stack.enter_context(kept(folder / "controllers", {"kube-controller-manager": command}))
        (runc,) = images["ubuntu"].packages.glob("runc_*.deb")
        containerd = containerd_files(folder / "web" / "containerd-2", programs, runc)
        older = containerd_files(folder / "web" / "containerd-1", containerd_1(), runc)
        web = _web(folder / "web", programs, images, signer, (containerd, older))
        authority_of_web = _certificate(folder / "web.pem", [*web, MIRROR], ec.generate_private_key(ec.SECP256R1()))
        net = stack.enter_context(internet("osm-gitops-boot", folder / "web.pem"))
        for host, files in web.items():
            net.publish(host, files)
        net.names |= {API, PROXY}
        port = urlsplit(cluster.server).port
        assert port is not None
        stack.enter_context(relayed(net, API_PORT, ("127.0.0.1", port)))
        cluster.remember()
        trust = Trust(authority_of_web, signer.keyring(), signer.public_key())
        yield Site(cluster, net, images, folder / "machines", trust, containerd)


def _prepare(cluster: Cluster) -> None:
    """What every cluster of KKP has: how machines reach it, who may fetch user-data, and who may join."""
    client = cluster.client()
    cluster.namespace(_SETTINGS)
    metadata = {"name": "cluster-info", "namespace": "kube-public"}
    data = {"kubeconfig": _cluster_info(cluster.authority)}
    client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    role = {"name": "cloud-init-getter", "namespace": _SETTINGS}
    client.create({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": role, "rules": rules})
    client.create(_binding("RoleBinding", role, "Role", {"kind": "User", "name": _GETTER}))
    account = {"name": "cloud-init-getter", "namespace": _SETTINGS}
    client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    token = cluster.token(cluster.account(_SETTINGS, "cloud-init-getter"))
    client.create(secret("cloud-init-getter-token", _SETTINGS, {"token": token}))
    for name, (cluster_role, group) in _BINDINGS.items():
        metadata = {"name": f"tests-{name}"}
        body = _binding("ClusterRoleBinding", metadata, "ClusterRole", {"kind": "Group", "name": group})
        client.create(body | {"roleRef": body["roleRef"] | {"name": cluster_role}})


def _cluster_info(authority: str) -> str:
    trust = b64encode(authority.encode()).decode()
    place = {"server": f"https://{API}:{API_PORT}", "certificate-authority-data": trust}
    return json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": place}]})


def _binding(kind: str, metadata: Mapping[str, str], role: str, subject: Mapping[str, str]) -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": dict(metadata),
        "roleRef": {"apiGroup": group, "kind": role, "name": metadata["name"]},
        "subjects": [{"apiGroup": group, **subject}],
    }


def _web(
    folder: Path, programs: Programs, images: Mapping[str, Image], signer: Signer, containerd: tuple[Path, Path]
) -> Mapping[str, Mapping[str, Content]]:
    """Everything that the profiles name, by host and path; ``containerd`` are the files of version 2 and 1."""
    debs = sorted(images["ubuntu"].packages.glob("*.deb"))
    docker = apt_archive([containerd_deb(folder, "containerd.io", containerd[0])], ["noble"], ["stable"], signer)
    suites = ("noble", "noble-updates", "noble-security")
    others = [containerd_deb(folder, "containerd", containerd[0]), *(empty_deb(folder, name) for name in _LARGE)]
    ubuntu = apt_archive([*debs, *others], suites, ("main", "restricted", "universe"), signer)
    crictl = f"{KUBERNETES.rpartition('.')[0]}.0"
    rpms = folder / "rpms"
    rpms.mkdir()
    new = (each for each in images["rockylinux"].new_packages() if not each.name.startswith("runc_"))
    packages = red_hat_packages(rpms, new, signer)
    repositories = {
        "BaseOS": yum_repository(rpms / "BaseOS", []),
        "AppStream": yum_repository(rpms / "AppStream", packages),
        LACKING: yum_repository(rpms / LACKING, [each for each in packages if not each.name.startswith("socat-")]),
    }
    newer = containerd_rpm(rpms, "containerd.io", CONTAINERD, containerd[0], signer)
    older = containerd_rpm(rpms, "containerd", CONTAINERD_1, containerd[1], signer)
    docker_rpms = yum_repository(rpms / "docker", [newer])
    amazon = {"core": repositories["AppStream"], "extras": yum_repository(rpms / "extras", [older])}
    plugins = {each.name: each.read_bytes() for each in programs.cni}
    return {
        UBUNTU_ARCHIVE: {f"/ubuntu{path}": content for path, content in ubuntu.items()},
        "download.docker.com": {
            **{f"/linux/ubuntu{path}": content for path, content in docker.items()},
            "/linux/ubuntu/gpg": signer.public_key(),
            **{f"/linux/rhel/9/x86_64/stable{path}": content for path, content in docker_rpms.items()},
            "/linux/rhel/gpg": signer.public_key(),
        },
        **{RED_HAT[name].host: _red_hat(RED_HAT[name], repositories) for name in ("rockylinux", "rhel")},
        RED_HAT["amzn2"].host: _red_hat(RED_HAT["amzn2"], amazon),
        "dl.k8s.io": _kubernetes(KUBERNETES, programs),
        "registry.k8s.io": image("pause", PAUSE, pod_program()),
        REGISTRY: image("hello", "1", pod_program()),
        "github.com": {
            **_with_sum(
                f"/containernetworking/plugins/releases/download/{CNI}/cni-plugins-linux-amd64-{CNI}.tgz",
                _archive(folder / "cni.tgz", plugins),
                named=True,
            ),
            **_with_sum(
                f"/kubernetes-sigs/cri-tools/releases/download/{crictl}/crictl-{crictl}-linux-amd64.tar.gz",
                _archive(folder / "crictl.tgz", {"crictl": _CRICTL}),
            ),
        },
    }


def _red_hat(system: RedHat, repositories: Mapping[str, Mapping[str, Content]]) -> Mapping[str, Content]:
    folders = {name: system.repository(name, system.release, "x86_64") for name in repositories}
    return {f"{folders[name]}{path}": file for name, files in repositories.items() for path, file in files.items()}


def _kubernetes(version: str, programs: Programs) -> Mapping[str, Content]:
    """Its binaries; OSM's profiles install kubeadm, which nothing of theirs calls: the content is that of kubectl."""
    files = {"kubelet": programs["kubelet"], "kubectl": programs["kubectl"], "kubeadm": programs["kubectl"]}
    return {
        path: content
        for name, file in files.items()
        for path, content in _with_sum(f"/{version}/bin/linux/amd64/{name}", file).items()
    }


def _with_sum(path: str, file: Path, *, named: bool = False) -> dict[str, Content]:
    """A file, and its checksum as it is published beside it: alone, or with the name of the file behind."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    line = f"{digest}  {path.rpartition('/')[2]}\n" if named else digest
    return {path: file, f"{path}.sha256": line.encode()}


def _archive(path: Path, files: Mapping[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755
            archive.addfile(entry, io.BytesIO(data))
    return path


def _certificate(
    path: Path, hosts: Sequence[str], key: ec.EllipticCurvePrivateKey, later: datetime | None = None
) -> bytes:
    """Write a certificate of all hosts with its key: the authority that machines trust in place of the public ones, or
    one of that authority which is valid from a ``later`` time on."""
    since = later or datetime(2020, 1, 1, tzinfo=UTC)
    until = datetime(2099, 1, 1, tzinfo=UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the internet of the tests")])
    # The same name would make it another authority, which nobody trusts.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])]) if later else name
    made = (
        x509.CertificateBuilder(name, subject, key.public_key(), x509.random_serial_number(), since, until)
        .add_extension(x509.BasicConstraints(ca=not later, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate = made.public_bytes(Encoding.PEM)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + certificate)
    return certificate
