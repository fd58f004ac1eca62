"""The clusters of a fleet, their kubeconfigs and API servers: what a run would meet, short of rendering. Nothing is
changed, and kubeconfigs are read without a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from osm_gitops.commands.doctor.checks import (
    Finding,
    Keys,
    State,
    fix,
    found,
    look_at_line_ends,
    look_at_signing,
    note,
    ok,
)
from osm_gitops.commands.install.install_plan import InstallPlan, for_cluster
from osm_gitops.commands.install.rights import (
    Right,
    management_reads,
    management_watches,
    management_writes,
    worker_reads,
    worker_watches,
    worker_writes,
)
from osm_gitops.config.spec import ClusterSpec, LiveTarget, TargetSpec, TreeRef
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import Code, InputError, OsmGitopsError, Problem
from osm_gitops.git.repository import find_work_tree
from osm_gitops.kube.api import Api
from osm_gitops.kube.kubeconfig import Entry, read_kubeconfig
from osm_gitops.model.inputs import Inputs
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.kkp import Discovery, settings_problems
from osm_gitops.pipeline.load import SourceReader, gather_inputs, given_settings, load_settings
from osm_gitops.pipeline.memo import Memo
from osm_gitops.sops.recipients import shown
from osm_gitops.sops.rules import Rule
from osm_gitops.targets.commits import GitPlace
from osm_gitops.targets.file_encryption import DIGEST_KEY, FileEncryption
from osm_gitops.targets.files import named_files, secret_places
from osm_gitops.targets.git import DataKeys, data_keys, obstacles


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
            what = "there is none; none is needed as long as sources are trees and targets are git"
            yield note(area, Code.KUBECONFIG_NOT_FOUND, what)
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


_HOW = "osm-gitops install prints roles with it, for watch with --watch"


def look_at_live_target(spec: ClusterSpec, connections: Connections, *, watch: bool = False) -> Iterator[Finding]:
    """A line for each of the cluster's servers, or for each right that is missing there; with ``watch`` also of those
    of ``apply --watch``.

    What MachineDeployments name beyond the settings is left to the run, which tells it by name.
    """
    area = f"target of cluster {spec.name}"
    try:
        plan = for_cluster(InstallPlan(), spec, ())
        management = (*management_reads(plan), *management_writes(plan))
        worker = (*worker_reads(plan), *worker_writes(plan))
        if watch:
            management, worker = (*management, *management_watches(plan)), (*worker, *worker_watches(plan))
        one, other = connections.management(spec), connections.worker(spec)
        if one is other:
            yield from _look(area, one, dict.fromkeys((*management, *worker)))
            return
        yield from _look(area, one, management)
        yield from _look(area, other, worker)
    except OsmGitopsError as failure:
        yield from found(area, failure.problems)


def _look(area: str, api: Api, rights: Iterable[Right]) -> Iterator[Finding]:
    missing = [finding for right in rights for finding in _missing(area, api, right)]
    yield from missing or [ok(area, f"{api.display} allows what a run does there")]


def _missing(area: str, api: Api, right: Right) -> Iterator[Finding]:
    kind = right.kind
    for name in right.names or ("",):
        verbs = [
            verb for verb in right.verbs.split() if not api.may(verb, kind, right.namespace, name, right.subresource)
        ]
        if verbs:
            resource = "/".join(filter(None, (kind.plural, right.subresource)))
            named = f" {name}" if name else ""
            place = f"namespace {right.namespace}" if right.namespace else "all namespaces"
            what = f"{api.display} does not allow {', '.join(verbs)} on {resource}{named} in {place}"
            yield fix(area, Code.RIGHT_MISSING, what, _HOW)


def look_at_seeds(user_clusters: Discovery, connections: Connections) -> Iterator[Finding]:
    """What the seeds of a fleet have, why nothing is done for some of their clusters, and settings that differ from
    those of Operating System Manager."""
    usable = [spec for spec in user_clusters.clusters if not spec.problems]
    yield ok("kkp", f"{len(usable)} user cluster{'' if len(usable) == 1 else 's'} of KKP can be worked on")
    for spec in user_clusters.clusters:
        yield from found(f"cluster {spec.name}", spec.problems)
    for name, why in user_clusters.left_out.items():
        yield note(f"cluster {name}", Code.KKP_CLUSTER_LEFT_OUT, f"it is left out: {why}")
    for spec in usable:
        try:
            differing = settings_problems(spec, connections, given_settings(spec))
            yield from found(f"cluster {spec.name}", differing, State.NOTE)
        except OsmGitopsError as failure:
            yield from found(f"cluster {spec.name}", failure.problems)


_LISTED = 10


def look_at_source(
    spec: ClusterSpec, keys: Keys, connections: Connections, warnings: State = State.NOTE
) -> Iterator[Finding]:
    """Settings and objects of a cluster, of trees and of API servers; ``warnings`` of them count as said."""
    area, memo = f"cluster {spec.name}", Memo()
    try:
        settings = load_settings(spec, memo)
        inputs = gather_inputs(SourceReader(spec, settings, keys.environment, keys.search, connections, memo)).build()
    except OsmGitopsError as failure:
        yield from found(area, failure.problems)
        return
    broken = [problem for problems in inputs.broken.values() for problem in problems]
    yield from _cut(list(found(area, [*inputs.unreadable, *broken])))
    yield from _cut(list(found(area, inputs.warnings, warnings)))
    yield _count(area, spec, inputs)


def _count(area: str, spec: ClusterSpec, inputs: Inputs) -> Finding:
    counts = f"MachineDeployments: {len(inputs.machines)}, OperatingSystemProfiles: {len(inputs.profiles)}"
    read = f", read from {', '.join(inputs.hosts)}" if inputs.hosts else ""
    if inputs.machines:
        return ok(area, counts + read)
    part = spec.source.machines
    how = f"Put some into {part.display}" if isinstance(part, TreeRef) else "Check that it is the right cluster"
    return fix(area, Code.NO_MACHINE_DEPLOYMENT, f"{counts}{read}, so there is nothing to render", how)


def _cut(findings: list[Finding]) -> Iterator[Finding]:
    yield from findings[:_LISTED]
    if len(findings) > _LISTED:
        last = findings[-1]
        more = Problem(
            Code.MORE_PROBLEMS, f"{len(findings) - _LISTED} more of the kind", fix="osm-gitops plan tells all"
        )
        yield Finding(last.area, last.state, more)


def look_at_targets(
    specs: Sequence[ClusterSpec], keys: Keys, connections: Connections, *, watch: bool = False
) -> Iterator[Finding]:
    """Live clusters, and the folders of the desired state, each once with all of its clusters."""
    clusters: dict[TargetSpec, list[str]] = {}
    for spec in specs:
        if spec.target is None:
            how = "Add to: {git: {path: …}} or to: cluster to the fleet file"
            yield fix(f"cluster {spec.name}", Code.NO_TARGET, "it has no target", how)
        elif isinstance(spec.target, LiveTarget):
            yield from look_at_live_target(spec, connections, watch=watch)
        else:
            clusters.setdefault(spec.target, []).append(spec.name)
    for target, names in clusters.items():
        yield from _target(target, tuple(names), keys)


def _target(target: TargetSpec, clusters: tuple[str, ...], keys: Keys) -> Iterator[Finding]:
    area = f"target {target.display}"
    encryption = keys.encryption()
    place = GitPlace(
        folder=target.path, branch=target.branch, remote=target.remote, push=target.push, clusters=clusters
    )
    try:
        problems = list(obstacles(place, encryption))
        yield from found(area, problems)
        root = find_work_tree(target.path)
        if root is not None:
            if not problems:
                yield ok(area, f"commits can be made in {root}")
            yield from look_at_signing(root, target.sign, keys.environment)
            yield from look_at_line_ends(root, str(target.path / clusters[0] / "name.yaml"))
        yield from _encryption(area, target.path, clusters, encryption, keys)
    except OsmGitopsError as failure:
        yield from found(area, failure.problems)


def _encryption(
    area: str, folder: Path, clusters: tuple[str, ...], encryption: FileEncryption, keys: Keys
) -> Iterator[Finding]:
    """For whom secrets are encrypted, and whether somebody here can read them again."""
    rules: dict[Rule, None] = {}
    for cluster in clusters:
        for path in secret_places(cluster):
            rule = encryption.rule(folder / path)
            if rule is not None:
                rules[rule] = None
    for rule in rules:
        yield _readable(area, rule, keys)
    if rules:
        yield from _data_keys(area, data_keys(folder, clusters, encryption))


def _data_keys(area: str, found: DataKeys) -> Iterator[Finding]:
    """Files whose data key somebody else may have made: anyone can encrypt for a public recipient."""
    if found.repeated:
        names = named_files(found.repeated)
        what = f"several entries are for one recipient, and one of them may be for another key: {names}"
        yield fix(area, Code.SOPS_REPEATED_RECIPIENT, what, "Check who wrote them, then run osm-gitops rekey")
    if found.foreign:
        names = named_files(found.foreign)
        what = f"osm-gitops did not write these encrypted files, or had no key for a digest: {names}"
        how = "Remove those that are not yours, then run osm-gitops rekey --rotate"
        yield fix(area, Code.DATA_KEY_NOT_OURS, what, how)
    if found.former:
        names = named_files(found.former)
        what = f"an earlier version wrote these files, and may have kept a data key that others know: {names}"
        yield fix(area, Code.DATA_KEY_NOT_OURS, what, "Run osm-gitops rekey --rotate once")
    if found.verified and not (found.repeated or found.foreign or found.former or found.unverified):
        yield ok(area, "osm-gitops made the data keys of all encrypted files")
    if found.unverified:
        what = f"no key at hand verifies that osm-gitops wrote these files: {named_files(found.unverified)}"
        how = f"Give all runs the same {DIGEST_KEY}, or run osm-gitops rekey --rotate"
        yield note(area, Code.FILES_NOT_VERIFIED, what, how)


def _readable(area: str, rule: Rule, keys: Keys) -> Finding:
    readers = [recipient for recipient in rule.recipients if recipient in keys.keyring.recipients]
    if readers:
        return ok(area, f"what {rule.where} encrypts can be read again with the key of {shown(readers[0])}")
    whom = ", ".join(shown(recipient) for recipient in rule.recipients)
    what = f"no key here opens what {rule.where} encrypts, which is for {whom}"
    if keys.environment.get(DIGEST_KEY):
        return note(area, Code.NO_KEY_FOR_NEXT_RUN, f"{what}; {DIGEST_KEY} tells what changed, not how")
    return fix(area, Code.NO_KEY_FOR_NEXT_RUN, what, f"Get one of these keys, or give all runs the same {DIGEST_KEY}")
