"""Base64 as Go's ``base64.StdEncoding`` decodes it."""

from __future__ import annotations

import base64
import re
from typing import Final

_STANDARD: Final = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def decode_base64(text: str) -> bytes | None:
    """The bytes, or ``None`` for what is no base64; line ends count for nothing, padding is demanded."""
    joined = text.replace("\r", "").replace("\n", "")
    return base64.b64decode(joined) if _STANDARD.fullmatch(joined) else None
