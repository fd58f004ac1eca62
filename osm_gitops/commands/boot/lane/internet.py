"""The internet of the machines: an address in a network namespace that leads nowhere else, with names and web servers.

Everything is served by this process, from sockets that were opened inside of the namespace: so a test sees what was
asked for (:attr:`Internet.asked`, :attr:`Internet.refused`) and can have anything fail. No packet can leave, as the
namespace has no other interface than the one that a machine is connected to.
"""

from __future__ import annotations

import ctypes
import ipaddress
import os
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from filelock import FileLock

from osm_gitops.commands.boot.lane.needs import output

ADDRESS: Final = "10.77.0.1"
MACHINE_ADDRESS: Final = "10.77.0.2"
API_PORT: Final = 6443
PROXY_PORT: Final = 3128
_PREFIX: Final = 24
_CLONE_NEWNET: Final = 0x40000000
_LIBC: Final = ctypes.CDLL(None, use_errno=True)

Content = bytes | Path


@dataclass
class Internet:
    """``files`` by host and path is what there is; ``names`` the hosts that DNS knows, all at one address. A host
    without a file of that path answers as a mirror of others does: ``/dl.k8s.io/x`` is ``/x`` of ``dl.k8s.io``.

    ``elsewhere`` are the addresses of names that have another one.
    ``asked`` are the requests of the web by host and path, with their status, in order; ``refused`` the names that DNS
    did not know. ``near`` are the names that a machine finds by itself, if not all, ``by_machine`` the hosts whose web
    servers it asked by itself, not by a proxy. ``down`` are ports that take no connection, ``broken`` paths that are
    answered with other content.
    """

    namespace: str
    machine_namespace: str
    files: dict[tuple[str, str], Content] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    elsewhere: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    near: frozenset[str] | None = None
    by_machine: set[str] = field(default_factory=set)
    down: set[int] = field(default_factory=set)
    broken: dict[str, Content] = field(default_factory=dict)
    trust: ssl.SSLContext = field(default_factory=lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), repr=False)

    def present(self, certificate: Path) -> None:
        """Show new connections a certificate of all hosts; the file has its key too."""
        self.trust.load_cert_chain(certificate)

    def publish(self, host: str, files: Mapping[str, Content]) -> None:
        """Files of a host, by path."""
        self.names.add(host)
        self.files |= {(host, path): content for path, content in files.items()}

    def forget(self) -> None:
        """Begin anew: nothing was asked, nothing fails."""
        self.asked.clear()
        self.refused.clear()
        self.by_machine.clear()
        self.near = None
        self.down.clear()
        self.broken.clear()

    def answer(self, client: str, host: str, path: str) -> Content | None:
        if client == MACHINE_ADDRESS:
            self.by_machine.add(host)
        found = self.broken.get(path, self.find(host, path))
        self.asked.append((host, path, 404 if found is None else 200))
        return found

    def add_address(self, address: str) -> None:
        """Have one more address for what machines find by another one than that of the web."""
        output("ip", "-n", self.namespace, "address", "add", f"{address}/32", "dev", "lo")

    def find(self, host: str, path: str) -> Content | None:
        """A file of a host, its own or one that it mirrors (docs/how-to/air-gap.md)."""
        found = self.files.get((host, path))
        parts = path.split("/")
        for number in range(1, len(parts)) if found is None else ():
            found = self.files.get((parts[number], f"/{'/'.join(parts[number + 1 :])}"))
            if found is not None:
                break
        return found


@contextmanager
def internet(
    name: str, certificate: Path, addresses: Sequence[str] = (), ports: Mapping[int, bool] | None = None
) -> Iterator[Internet]:
    """Both namespaces and the servers. ``certificate`` has a certificate of all names, and its key.

    The servers have more IPv4 ``addresses``, if machines are to find them by these, and listen at more ``ports``, with
    TLS or without.
    """
    found = Internet(name, f"{name}-machine")
    with ExitStack() as stack:
        # Namespaces have one name on a machine: a second run waits for the first.
        stack.enter_context(FileLock(f"/run/lock/{name}.lock"))
        _connect(stack, found)
        for address in addresses:
            found.add_address(address)
        dns = stack.enter_context(closing(_inside(name, partial(_bound, socket.SOCK_DGRAM, 53, ADDRESS))))
        _start(stack, lambda: _serve_names(dns, found), dns)
        found.present(certificate)
        served = {**(ports or {}), 80: False, 443: True}
        for (port, with_tls), address in product(served.items(), (ADDRESS, *addresses)):
            listener = _inside(name, partial(_bound, socket.SOCK_STREAM, port, address))
            server = _Web(found, listener, found.trust if with_tls else None)
            stack.callback(server.server_close)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
        yield found


@contextmanager
def proxied(
    found: Internet, folder: Path, port: int = PROXY_PORT, address: str = ADDRESS
) -> Iterator[Callable[[], str]]:
    """A real proxy (tinyproxy), which finds all names; what it logs."""
    resolver = Path("/etc/netns") / found.namespace / "resolv.conf"  # what `ip netns exec` shows programs
    resolver.parent.mkdir(parents=True, exist_ok=True)
    resolver.write_text(f"nameserver {ADDRESS}\n", "utf-8")
    log, configuration = folder / "proxy.log", folder / "proxy.conf"
    configuration.write_text(f"Port {port}\nListen {address}\nTimeout 60\nLogLevel Connect\n", "utf-8")
    command = ("ip", "netns", "exec", found.namespace, "tinyproxy", "-d", "-c", str(configuration))
    with log.open("ab") as target, subprocess.Popen(command, stdout=target, stderr=target) as process:
        try:
            yield lambda: log.read_text("utf-8")
        finally:
            process.terminate()
            resolver.unlink()
            resolver.parent.rmdir()


@contextmanager
def relayed(found: Internet, port: int, target: tuple[str, int], address: str = ADDRESS) -> Iterator[None]:
    """Connections to a port of an address of the internet go on to a server of this machine."""
    make = partial(_bound, socket.SOCK_STREAM, port, address)
    with closing(_inside(found.namespace, make)) as listener, ExitStack() as stack:
        listener.listen(64)

        def accept() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                if port in found.down:
                    client.close()
                    continue
                threading.Thread(target=_relay, args=(found, port, client, target), daemon=True).start()

        _start(stack, accept, listener)
        yield


def _relay(found: Internet, port: int, client: socket.socket, target: tuple[str, int]) -> None:
    with client, closing(socket.create_connection(target)) as server:
        both = {client: server, server: client}
        client.settimeout(0.5)
        server.settimeout(0.5)

        def copy(source: socket.socket) -> None:
            while port not in found.down:
                try:
                    data = source.recv(1 << 16)
                    if not data:
                        break
                    both[source].sendall(data)
                except TimeoutError:
                    continue
                except OSError:
                    break
            for each in both:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

        back = threading.Thread(target=copy, args=(server,), daemon=True)
        back.start()
        copy(client)
        back.join()


def _connect(stack: ExitStack, found: Internet) -> None:
    """Two namespaces, joined by a cable: ``eth0`` is the machine's end."""
    for namespace in (found.namespace, found.machine_namespace):
        output("ip", "netns", "add", namespace)
        stack.callback(output, "ip", "netns", "delete", namespace)
        output("ip", "-n", namespace, "link", "set", "lo", "up")
    output(
        *("ip", "-n", found.namespace, "link", "add", "cable", "type", "veth"),
        *("peer", "name", "eth0", "netns", found.machine_namespace),
    )
    output("ip", "-n", found.namespace, "address", "add", f"{ADDRESS}/{_PREFIX}", "dev", "cable")
    output("ip", "-n", found.namespace, "link", "set", "cable", "up")


_TAP: Final = "tap"


def plug(found: Internet) -> str:
    """Connect a virtual machine in place of the container: its interface, which gets the address of the internet."""
    at = ("ip", "-n", found.namespace)
    output(*at, "tuntap", "add", "dev", _TAP, "mode", "tap")
    output(*at, "address", "delete", f"{ADDRESS}/{_PREFIX}", "dev", "cable")
    output(*at, "address", "add", f"{ADDRESS}/{_PREFIX}", "dev", _TAP)
    output(*at, "link", "set", _TAP, "up")
    return _TAP


def unplug_again(found: Internet) -> None:
    """Undo :func:`plug`."""
    at = ("ip", "-n", found.namespace)
    output(*at, "link", "delete", _TAP)
    output(*at, "address", "add", f"{ADDRESS}/{_PREFIX}", "dev", "cable")


def unplug(found: Internet) -> None:
    """Take from the machine's interface what a machine before left on it: addresses, routes, names of links."""
    for link in output("ip", "-n", found.machine_namespace, "-o", "link").splitlines():
        name = link.split(":")[1].strip().partition("@")[0]
        if name not in ("lo", "eth0"):
            output("ip", "-n", found.machine_namespace, "link", "delete", name)
    for family in ("-4", "-6"):
        output("ip", "-n", found.machine_namespace, family, "address", "flush", "dev", "eth0")
        output("ip", "-n", found.machine_namespace, family, "route", "flush", "dev", "eth0")
    output("ip", "-n", found.machine_namespace, "link", "set", "eth0", "down")


def _inside(namespace: str, make: Callable[[], socket.socket]) -> socket.socket:
    """A socket of a namespace: a thread enters it, which nobody else uses, and ends."""
    made: list[socket.socket | OSError] = []

    def enter() -> None:
        with Path(f"/run/netns/{namespace}").open("rb") as handle:
            if _LIBC.setns(handle.fileno(), _CLONE_NEWNET) != 0:
                number = ctypes.get_errno()
                made.append(OSError(number, os.strerror(number)))
                return
        try:
            made.append(make())
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def _bound(kind: socket.SocketKind, port: int, address: str) -> socket.socket:
    opened = socket.socket(socket.AF_INET, kind)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    opened.bind((address, port))
    return opened


def _start(stack: ExitStack, run: Callable[[], None], opened: socket.socket) -> None:
    threading.Thread(target=run, daemon=True).start()

    def end() -> None:
        try:
            opened.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # of a socket without connections

    stack.callback(end)


def _serve_names(opened: socket.socket, found: Internet) -> None:
    """DNS: the address of every name that there is, for questions of type A; other names do not exist."""
    while True:
        try:
            query, sender = opened.recvfrom(4096)
        except OSError:
            return
        if not query:
            return
        labels, position = [], 12
        while size := query[position]:
            labels.append(query[position + 1 : position + 1 + size].decode("ascii", "replace"))
            position += 1 + size
        question = query[12 : position + 5]
        (kind,) = struct.unpack("!H", query[position + 1 : position + 3])
        name = ".".join(labels).lower()
        known = name in found.names
        if found.near is not None and sender[0] == MACHINE_ADDRESS:
            known = name in found.near
        if not known and not name.startswith("_"):  # apt asks for services too
            found.refused.add(name)
        # Authoritative, recursion available; NXDOMAIN for what is not known.
        flags = 0x8580 if known else 0x8583
        answers = known and kind == 1
        head = query[:2] + struct.pack("!5H", flags, 1, int(answers), 0, 0)
        address = ipaddress.IPv4Address(found.elsewhere.get(name, ADDRESS))
        record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 5, 4) + address.packed
        opened.sendto(head + question + (record if answers else b""), sender)


class _Web(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, found: Internet, listener: socket.socket, trust: ssl.SSLContext | None) -> None:
        super().__init__((ADDRESS, 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.found, self.port, self.trust = found, listener.getsockname()[1], trust
        self.socket = listener
        self.server_activate()

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.port in self.found.down:
            return
        if self.trust is None:
            _Handler(request, client_address, self)
            return
        request.settimeout(60)  # in the thread of the request: a client that is slow stops nobody else
        with self.trust.wrap_socket(request, server_side=True) as trusted:
            _Handler(trusted, client_address, self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Machines hang up in the middle of an answer when they are cut."""


class _Handler(BaseHTTPRequestHandler):
    server: _Web
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def _answer(self, *, with_content: bool) -> None:
        if self.server.port in self.server.found.down:
            self.close_connection = True
            return
        host = (self.headers["Host"] or "").partition(":")[0]
        content = self.server.found.answer(self.client_address[0], host, unquote(self.path))
        self.send_response(404 if content is None else 200)
        size = 0 if content is None else len(content) if isinstance(content, bytes) else content.stat().st_size
        self.send_header("Content-Length", str(size))
        if "/manifests/" in self.path:
            self.send_header("Content-Type", "application/vnd.oci.image.manifest.v1+json")
        self.end_headers()
        if content is None or not with_content:
            return
        if isinstance(content, bytes):
            self.wfile.write(content)
        else:
            with content.open("rb") as file:
                while data := file.read(1 << 20):
                    self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """:attr:`Internet.asked` has it."""
