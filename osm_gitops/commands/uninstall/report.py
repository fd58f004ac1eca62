"""What giving a cluster back comes to, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from osm_gitops.commands.uninstall.handover import Release
from osm_gitops.model.live import CLEANUP_FINALIZER
from osm_gitops.model.objects import ObjectRef
from osm_gitops.report.outline import many
from osm_gitops.report.visible import visible


def handover_text(handover: Release, *, verbose: bool = False) -> str:
    """Line by line; with ``verbose`` every object has one."""
    return "".join(f"{visible(line)}\n" for line in _lines(handover, verbose=verbose))


def _lines(handover: Release, *, verbose: bool) -> Iterator[str]:
    yield from handover.hosts
    if handover.is_empty:
        yield "Nothing of osm-gitops is there."
        return
    finalizer = f"the finalizer {CLEANUP_FINALIZER}"
    groups = (
        ("~ take label, annotations and field ownership from", [each.ref for each in handover.released], ""),
        ("- delete", [each.ref for each in handover.deleted], ""),
        (f"~ take {finalizer} from", [each.ref for each in handover.unheld], f", {handover.reason}"),
        ("~ take our annotation from", [each.ref for each in handover.woken], ""),
        (f"  leave {finalizer} on", handover.held, f", {handover.reason}"),
        ("- delete", handover.records, ""),
    )
    for what, refs, why in groups:
        if refs:
            yield f"  {what} {_counted(refs)}{why}"
            yield from (f"      {ref}" for ref in refs if verbose)
    yield ""
    yield "No content of any object changes, and no machine is affected."


def _counted(refs: Iterable[ObjectRef]) -> str:
    kinds = Counter(ref.kind for ref in refs)
    return ", ".join(many(number, kind) for kind, number in sorted(kinds.items()))
