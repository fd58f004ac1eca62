"""Kubeconfigs as kubectl finds them: whether they can be read, and whether their context leads anywhere.

Which cluster answers is not asked: no network is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from osm_gitops.commands.doctor.finding import Finding, State, found, note, ok
from osm_gitops.errors import InputError
from osm_gitops.kube.context_ref import UNNAMED, ContextRef
from osm_gitops.kube.kubeconfig import Entry, read_kubeconfig


@dataclass(frozen=True, slots=True)
class Connection:
    """A kubeconfig and a context that the user named for one ``side``; empty: kubectl's own choice."""

    side: str = ""
    access: ContextRef = UNNAMED


def look_at_kubeconfigs(connections: Sequence[Connection], environment: Mapping[str, str]) -> Iterator[Finding]:
    """A line on each kubeconfig that was named, else on what kubectl would take."""
    named = [connection for connection in connections if connection.access.is_named]
    for connection in named or [Connection()]:
        # What nobody named is nothing that a run from trees to git needs.
        state = State.FIX if connection.access.is_named else State.NOTE
        area = f"kubeconfig, {connection.side}" if connection.side else "kubeconfig"
        config = read_kubeconfig(connection.access, environment)
        # Of the usual one in the home nobody expects that it is there.
        expected = connection.access.is_named or "KUBECONFIG" in environment
        problems = [*config.problems, *(config.absences() if expected else ())]
        if not config.files and not problems:
            yield note(area, "there is none; none is needed as long as sources are trees and targets are git")
            continue
        where = ""
        if config.files:
            try:
                context = config.lead(connection.access.context, environment)
                where = f"{context.path}: context {context.name} leads to {_host(context.cluster)}"
            except InputError as failure:
                problems += failure.problems
        yield from found(area, problems, state)
        if where:
            yield ok(area, where)


def _host(cluster: Entry) -> str:
    try:
        return urlsplit(cluster.text("server")).netloc.rpartition("@")[2] or "no server"
    except ValueError:
        return "no server"
