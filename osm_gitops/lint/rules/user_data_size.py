"""User-data against what the provider takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from osm_gitops.lint.rules.boot_file import BootDocument, Half
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.render.user_data_limits import UserDataSize, bootstrap_size, provisioning_size

TOO_LARGE: Final = Rule("user-data-too-large", Severity.ERROR, "the provider does not take so much user-data")
HEADROOM: Final = Rule("user-data-headroom", Severity.NOTE, "user-data is near the most that its provider takes")
RULES: Final = (TOO_LARGE, HEADROOM)

_NEAR: Final = 0.85
_FIXES: Final = {
    "bootstrap": "Move what the first boot does not need to the provisioning half",
    "provisioning": "Make it smaller",
}


def check_user_data_size(document: BootDocument) -> Iterator[Finding]:
    """The bootstrap half as the provider counts it, with the longest name of a machine; the provisioning half as a
    Secret."""
    text = {half: data.decode(errors="surrogateescape") for half, data in document.user_data.items()}
    size = bootstrap_size(text["bootstrap"], _machine_deployment(document.pool), document.provider, document.os)
    yield from _findings(document, "bootstrap", size)
    yield from _findings(document, "provisioning", provisioning_size(text["provisioning"]))


def _machine_deployment(pool: str) -> str:
    """The name in ``MachineDeployment kube-system/workers``, or for made-up pools one that is as long as can be."""
    kind, _, name = pool.partition(" ")
    return name.rpartition("/")[2] if kind == "MachineDeployment" else "n" * 63


def _findings(document: BootDocument, half: Half, size: UserDataSize) -> Iterator[Finding]:
    if size.limit is None or size.headroom is None:
        return
    form = f" ({size.limit.counted.value})" if size.limit.counted.value != "raw" else ""
    so_much = f"the {half} user-data for {document.provider} has {size.counted:,} bytes{form} of {size.limit.size:,}"
    if size.headroom < 0:
        message = f"{so_much}, which is {-size.headroom:,} too many. {size.limit.source}"
        yield _told(TOO_LARGE, message, document, half)
    elif size.counted > _NEAR * size.limit.size:
        yield _told(HEADROOM, f"{so_much}: {size.headroom:,} are left. {size.limit.source}", document, half)


def _told(rule: Rule, message: str, document: BootDocument, half: Half) -> Finding:
    """At the largest text of the half, as making that one smaller helps most; maybe an overlay brought it."""
    texts = (each for each in document.texts if each.half == half)
    largest = max(texts, key=lambda each: len(each.text), default=None)
    fix = _FIXES[half]
    if largest is None:
        return Finding(rule, message, where=document.profile.manifest.line_of(f"spec.{half}Config"), fix=fix)
    return Finding(rule, message, where=largest.place(0), fix=f"{fix}; the largest file there is {largest.path}")
