"""A lane: an internet without a way out, images, and machines that boot in it.

with lane(folder, certificate, addresses) as found:
    found.net.publish(host, files)
    with found.machine(name, user_data, system="ubuntu") as machine:
        machine.boot()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from osm_gitops.commands.boot.lane.authority import general_name
from osm_gitops.commands.boot.lane.flatcar import with_cloud_init, with_ignition
from osm_gitops.commands.boot.lane.images import VIRTUAL, Image
from osm_gitops.commands.boot.lane.internet import Internet
from osm_gitops.commands.boot.lane.machine import Machine, mounted
from osm_gitops.commands.boot.lane.systems import Trust, install, make_container, seed
from osm_gitops.commands.boot.lane.virtual import VirtualMachine

NAMESPACE: Final = "osm-gitops-boot"
"""The name of the internet's network namespace."""


@dataclass
class Lane:
    """``images`` by system, and :data:`VIRTUAL`. ``containerd`` is a folder with the files of its package, which some
    images have; ``ignition`` the program, which Flatcar has. ``instances`` counts the machines that were made."""

    net: Internet
    folder: Path
    images: Mapping[str, Image]
    trust: Trust
    containerd: Path
    ignition: Path | None
    instances: int = 0

    @contextmanager
    def machine(
        self, name: str, user_data: bytes, *, system: str = "ubuntu", trust: Trust | None = None, room: int = 0
    ) -> Iterator[Machine]:
        """A machine as its provider makes it, switched off; ``room`` is that of its disk in bytes."""
        with mounted(Machine(name, self._next_folder(), self.images[system].root, self.net, room)) as made:
            install(made, system, trust or self.trust, self.containerd)
            make_container(made)
            if system != "flatcar":
                seed(made, user_data, f"i-{self.instances}", name)
            elif user_data.startswith(b"{"):
                assert self.ignition is not None  # as the lane has Flatcar
                with_ignition(made, self.ignition, user_data)
            else:
                with_cloud_init(made, user_data)
            yield made

    @contextmanager
    def virtual_machine(
        self, name: str, user_data: bytes, *, image: Image | None = None, clock: timedelta = timedelta()
    ) -> Iterator[VirtualMachine]:
        """A machine of Ubuntu with a kernel of its own, switched off; ``image`` is one of another architecture. Its
        clock is wrong by ``clock``."""
        image = image or self.images[VIRTUAL]
        made = VirtualMachine(
            name, self._next_folder(), image.root, self.net, architecture=image.architecture, clock=clock
        )
        with mounted(made):
            install(made, "ubuntu", self.trust, self.containerd, image.architecture)
            seed(made, user_data, f"i-{self.instances}", name)
            yield made

    def _next_folder(self) -> Path:
        self.instances += 1
        return self.folder / f"machine-{self.instances}"


def certificate(
    path: Path,
    hosts: Sequence[str],
    key: ec.EllipticCurvePrivateKey | None = None,
    later: datetime | None = None,
) -> bytes:
    """Write a certificate of all hosts with its key, by default a new one: the authority that machines trust in place
    of the public ones, or one of that authority which is valid from a ``later`` time on. Returns it in PEM."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    since = later or datetime(2020, 1, 1, tzinfo=UTC)
    until = datetime(2099, 1, 1, tzinfo=UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the internet of the lane")])
    # The same name would make it another authority, which nobody trusts.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])]) if later else name
    made = (
        x509.CertificateBuilder(name, subject, key.public_key(), x509.random_serial_number(), since, until)
        .add_extension(x509.BasicConstraints(ca=not later, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([general_name(host) for host in hosts]), critical=False)
        .sign(key, hashes.SHA256())
    )
    text = made.public_bytes(Encoding.PEM)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + text)
    return text
