"""Certificates in diffs, a line each: nobody reads PEM, and a bundle has thousands of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from osm_gitops.report.diff import changed_lines
from osm_gitops.report.mask import MASK

_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"
_LONGEST: Final = 500  # lines
_CONTEXT: Final = 3
_HEAD: Final = re.compile(r"@@ .* @@")
_MORE: Final = "@@ … @@"


def with_short_certificates(lines: Sequence[str]) -> tuple[str, ...]:
    """A masked diff with one line for each whole certificate; headers of hunks keep the lines of the files.

    A hunk in which something is masked stays as it is: what is the same on both sides may differ behind the mask.
    """
    if not any(_BEGIN in line for line in lines):
        return tuple(lines)
    found: list[str] = []
    start = 0
    for end in [*(at for at, line in enumerate(lines) if at and _HEAD.fullmatch(line)), len(lines)]:
        found += _shortened(lines[start:end])
        start = end
    return tuple(found)


def _shortened(hunk: Sequence[str]) -> Sequence[str]:
    head, body = (hunk[:1], hunk[1:]) if _HEAD.fullmatch(hunk[0]) else ((), hunk)
    if any(MASK in line or line[:1] not in {" ", "-", "+"} for line in body):
        return hunk
    old = [line[1:] for line in body if line[0] in " -"]
    new = [line[1:] for line in body if line[0] in " +"]
    short_old, short_new = [*_summaries(old)], [*_summaries(new)]
    if (short_old, short_new) == (old, new):
        return hunk
    lines = [_MORE if _HEAD.fullmatch(line) else line for line in changed_lines(short_old, short_new, _CONTEXT)]
    return [*head, *lines[1:]] if lines else hunk


def _summaries(lines: Sequence[str]) -> Iterator[str]:
    """The lines with one for each whole certificate."""
    at = 0
    while at < len(lines):
        line, last = lines[at], at
        if line.strip() == _BEGIN:
            block = [each.strip() for each in lines[at : at + _LONGEST]]
            last = at + block.index(_END) if _END in block else at
            if summary := _summary("\n".join(block[: last - at + 1])) if last > at else "":
                line = line[: len(line) - len(line.lstrip())] + summary
            else:
                last = at
        yield line
        at = last + 1


@lru_cache(maxsize=1024)
def _summary(pem: str) -> str:
    """Subject, serial number, validity and fingerprint of a certificate; empty if it is not one."""
    from cryptography import x509  # noqa: PLC0415 - slow, and few diffs have certificates
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415

    try:
        found = x509.load_pem_x509_certificate(f"{pem}\n".encode())
        subject = found.subject.rfc4514_string() or "without a subject"
        dates = f"{found.not_valid_before_utc:%Y-%m-%d} to {found.not_valid_after_utc:%Y-%m-%d}"
        fingerprint = found.fingerprint(SHA256()).hex()
    except ValueError:
        return ""
    return f"certificate {subject}, serial number {found.serial_number:x}, valid {dates}, SHA-256 {fingerprint}"
