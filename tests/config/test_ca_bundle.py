"""CA bundles: what Go's ``AppendCertsFromPEM`` would load; verdicts observed from Go 1.26."""

from __future__ import annotations

import base64

import pytest

from osm_gitops.config.ca_bundle import has_certificate
from tests.apiserver.after_osm import recorded_authority
from tests.conformance_data import DATA

PEM = (DATA / "ca.pem").read_text("utf-8")
BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def wrapped(data: bytes) -> str:
    return f"{BEGIN}\n{base64.b64encode(data).decode()}\n{END}\n"


@pytest.mark.parametrize(
    "text",
    [
        PEM,
        PEM.replace("\n", "\r\n"),
        PEM.replace("\n", " \n"),
        PEM.rstrip("\n"),
        f"# comment\n{PEM}tail",
        wrapped(b"no certificate") + PEM,
        PEM.replace(BEGIN, f"{BEGIN}\n"),
        recorded_authority(),
    ],
    ids=range(8),
)
def test_one_certificate_is_enough(text: str) -> None:
    assert has_certificate(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "CA-PEM",
        wrapped(b""),
        wrapped(b"no certificate"),
        wrapped(bytes.fromhex("3000")),
        f" {PEM}",
        PEM.replace("\n", "\r"),
        PEM.replace("CERTIFICATE", "TRUSTED CERTIFICATE"),
        PEM.replace(BEGIN, f"{BEGIN}\nName: value\n"),
        PEM.replace(END, ""),
        PEM.replace("=", "").replace("A", "!", 1),
    ],
    ids=range(11),
)
def test_anything_else_is_no_certificate(text: str) -> None:
    assert not has_certificate(text)


def der() -> bytes:
    return base64.b64decode("".join(PEM.splitlines()[1:-1]))


def test_a_certificate_cut_short_or_with_a_tail_is_none() -> None:
    assert has_certificate(wrapped(der()))
    assert not has_certificate(wrapped(der()[:-1]))
    assert not has_certificate(wrapped(der() + b"\0"))


def test_a_key_in_the_guise_of_a_certificate_is_none() -> None:
    key = bytes.fromhex("302e020100300506032b657004220420") + bytes(32)
    assert not has_certificate(wrapped(key))
