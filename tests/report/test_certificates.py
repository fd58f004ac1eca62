"""Certificates in diffs: a line each, whatever moved around them, and never what is masked."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from osm_gitops.model.plan import TextChange
from osm_gitops.report.certificates import with_short_certificates
from osm_gitops.report.diff import text_diff
from osm_gitops.report.mask import MASK


def _certificate(name: str, year: int = 2026) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(0xABC)
        .not_valid_before(datetime(year, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(year + 10, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM).decode()


@pytest.fixture(scope="module")
def bundle() -> list[str]:
    return [_certificate(f"ca-{number}") for number in range(40)]


def _diff(before: str, after: str) -> tuple[str, ...]:
    return with_short_certificates(text_diff(TextChange("ca.crt", before, after)).lines)


def _changed(lines: tuple[str, ...]) -> list[str]:
    return [line.partition(", SHA-256")[0] for line in lines if line[:1] in "+-"]


def test_a_replaced_certificate_is_two_lines(bundle: list[str]) -> None:
    lines = _diff(bundle[0], _certificate("ca-new", 2027))
    assert lines[0].startswith("@@ -1")
    assert _changed(lines) == [
        "-certificate CN=ca-0, serial number abc, valid 2026-01-01 to 2036-01-01",
        "+certificate CN=ca-new, serial number abc, valid 2027-01-01 to 2037-01-01",
    ]


def test_a_certificate_that_moves_in_a_bundle_is_two_lines(bundle: list[str]) -> None:
    moved = [*bundle[1:30], bundle[0], *bundle[30:]]
    lines = _diff("".join(bundle), "".join(moved))
    assert sorted(line[:17] for line in _changed(lines)) == ["+certificate CN=c", "-certificate CN=c"]
    assert len(lines) < 20


def test_indented_certificates_and_the_lines_around_them_stay_in_place(bundle: list[str]) -> None:
    def text(certificate: str) -> str:
        inside = "".join(f"    {line}\n" for line in certificate.splitlines())
        return f"first\nca: |\n{inside}last\n"

    lines = _diff(text(bundle[0]), text(bundle[1]))
    assert [line.partition(",")[0] for line in lines[1:]] == [
        " first",
        " ca: |",
        "-    certificate CN=ca-0",
        "+    certificate CN=ca-1",
        " last",
    ]


def test_what_is_no_certificate_stays_as_it_is(bundle: list[str]) -> None:
    damaged = bundle[0].replace("MII", "AAA", 1)
    for before, after in ((damaged, "x\n"), ("-----BEGIN CERTIFICATE-----\nx\n", "y\n"), ("a\n", "b\n")):
        lines = text_diff(TextChange("ca.crt", before, after)).lines
        assert with_short_certificates(lines) == lines


def test_a_hunk_with_something_masked_stays_as_it_is(bundle: list[str]) -> None:
    lines = text_diff(TextChange("ca.crt", bundle[0], bundle[1])).lines
    masked = (*lines[:-1], f"-{MASK}", f"+{MASK}", lines[-1])
    assert with_short_certificates(masked) == masked
