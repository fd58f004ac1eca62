"""The first line of an encrypted file: what it holds, and that a holder of the digest key wrote it.

The line has two keyed digests (HMAC-SHA256). The first covers the digest of the plain text and the rest of
the file: it tells whether the file holds a wanted object without decryption. The second, the seal, covers
the first and the rest of the file, and with it the entries of all recipients: it tells without the plain
text whether osm-gitops made this data key for exactly these entries. SOPS itself authenticates neither its
data key nor its recipients.

Lines of earlier versions have no seal. Those versions kept the data key of whatever file they found, so such
a line verifies the content and says nothing about the origin of the data key.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

_START = b"# Encrypted by osm-gitops, digest "
_LINE = re.compile(re.escape(_START) + rb"([0-9a-f]{64})(?:, seal ([0-9a-f]{64}))?\n")
_SEAL_DOMAIN = b"osm-gitops seal v2\0"


@dataclass(frozen=True, slots=True)
class DigestLine:
    """A line as it was found; ``seal`` is empty in lines of earlier versions. ``rest`` is the rest of the file, hashed.

    ``content`` is empty where the file has no such line.
    """

    content: bytes
    seal: bytes
    rest: bytes

    def __bool__(self) -> bool:
        return bool(self.content)

    def holds(self, plain: bytes, keys: tuple[bytes, ...]) -> bool:
        """Whether the file holds the text with the SHA-256 ``plain``, by a line that one of ``keys`` made."""
        return bool(self) and any(hmac.compare_digest(self.content, _content(key, plain, self.rest)) for key in keys)

    def is_sealed(self, keys: tuple[bytes, ...]) -> bool:
        """Whether a holder of one of ``keys`` wrote the file as it is, data key and recipients included."""
        return bool(self.seal) and any(
            hmac.compare_digest(self.seal, _seal(key, self.content, self.rest)) for key in keys
        )


def read_digest(text: bytes) -> DigestLine:
    """The digest line of a file."""
    found = _LINE.match(text)
    if found is None:
        return DigestLine(b"", b"", hashlib.sha256(text).digest())
    return DigestLine(found[1], found[2] or b"", hashlib.sha256(memoryview(text)[found.end() :]).digest())


def lacks_seal(text: bytes) -> bool:
    """Whether a file has a line of an earlier version."""
    found = _LINE.match(text)
    return found is not None and not found[2]


def digest_line(key: bytes, plain: bytes, rest: bytes) -> bytes:
    """The line to write above ``rest``, which encrypts the text with the SHA-256 ``plain``."""
    hashed = hashlib.sha256(rest).digest()
    content = _content(key, plain, hashed)
    return _START + content + b", seal " + _seal(key, content, hashed) + b"\n"


def _content(key: bytes, plain: bytes, rest: bytes) -> bytes:
    return hmac.new(key, plain + rest, hashlib.sha256).hexdigest().encode()


def _seal(key: bytes, content: bytes, rest: bytes) -> bytes:
    return hmac.new(key, _SEAL_DOMAIN + content + rest, hashlib.sha256).hexdigest().encode()
