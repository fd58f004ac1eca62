"""Certificates and keys of one API server, from an authority of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

# Whatever this machine's clock says, within reason.
_SINCE, _UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)


def issue(folder: Path, name: str, *names: str) -> None:
    """Write ``ca.crt`` with ``ca.key``, ``server.crt`` with ``server.key`` for loopback and further names or
    addresses, the same for machines as ``api.crt`` with ``api.key``, and ``accounts.key`` for ServiceAccounts."""
    authority, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"authority of {name}")])
    root = (
        _certificate(issuer, issuer, authority.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority.public_key()), critical=False)
        .sign(authority, hashes.SHA256())
    )
    addresses = [general_name(each) for each in ("localhost", "127.0.0.1", *names)]
    leaf = (
        _certificate(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), issuer, server.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
        .sign(authority, hashes.SHA256())
    )
    (folder / "ca.crt").write_bytes(root.public_bytes(Encoding.PEM))
    (folder / "ca.key").write_bytes(_pem(authority))
    (folder / "server.crt").write_bytes(leaf.public_bytes(Encoding.PEM))
    (folder / "server.key").write_bytes(_pem(server))
    (folder / "api.crt").write_bytes(leaf.public_bytes(Encoding.PEM))
    (folder / "api.key").write_bytes(_pem(server))
    (folder / "accounts.key").write_bytes(_pem(ec.generate_private_key(ec.SECP256R1())))


def general_name(host: str) -> x509.GeneralName:
    """A host as certificates name it: an address, or a name of DNS."""
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), _SINCE, _UNTIL)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    # Of this form the API server takes the public half too.
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
