"""Output of ``explain``: sections of text, JSON with its schema, and a single rendered text; all masked."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from osm_gitops.model.desired import Side
from osm_gitops.model.explained import (
    ChosenProfile,
    Explanation,
    RenderedFile,
    RenderedObject,
    Rendering,
    SettingOrigin,
    SizeUse,
    TargetUse,
)
from osm_gitops.model.finding import Finding
from osm_gitops.model.machine import AnnotationUse
from osm_gitops.model.objects import Json
from osm_gitops.plan.variants import differing, secret_lines
from osm_gitops.report.finding_json import FINDING_RECORD, finding_json
from osm_gitops.report.json_words import FORMAT_VERSION, object_json, problem_json
from osm_gitops.report.mask import MASK, Masker
from osm_gitops.report.schema_words import (
    COUNT,
    OBJECT,
    PROBLEM_RECORD,
    format_version,
    head,
    listing,
    optional_ref,
    record,
    ref,
    text,
    texts,
    truth,
)
from osm_gitops.report.secret_diffs import CONTENTS_NOT_SHOWN, masked_texts
from osm_gitops.report.visible import section, table, visible

_INDENT: Final = 4
_NARROWEST: Final = 45
_HEADS: Final = ("HALF", "MODE", "BYTES", "PATH", "TEMPLATE")


def explanation_text(
    explanation: Explanation, masker: Masker, width: int | None = None, *, hide_secret_files: bool = False
) -> str:
    """Text for people; it may change. Lines are wrapped at ``width`` columns.

    ``hide_secret_files``: do not show sizes of files that are made from secrets.
    """
    shown = _hidden(explanation) if hide_secret_files else explanation
    lines = (visible(masker.text(line)) for line in _lines(shown))
    return "".join(f"{line}\n" for each in lines for line in (_wrapped(each, width) if width else (each,)))


def _wrapped(line: str, width: int) -> list[str]:
    """A line as several. They continue in the last column of a table if it is wide enough, else further indented."""
    width = max(width, _NARROWEST)
    column = line.rfind("  ") + 2
    if not line.strip() or column == len(line) - len(line.lstrip()) or width - column < _NARROWEST:
        column = len(line) - len(line.lstrip()) + _INDENT
    wrapped = textwrap.wrap(line, width, subsequent_indent=" " * column, break_on_hyphens=False)
    return wrapped or [""]


def explanation_json(explanation: Explanation, masker: Masker, *, hide_secret_files: bool = False) -> str:
    """JSON with ``formatVersion``; the meaning of a key changes only with the first number of the version."""
    shown = _hidden(explanation) if hide_secret_files else explanation
    return masker.text(json.dumps(_document(shown), indent=2, ensure_ascii=False)) + "\n"


def _hidden(explanation: Explanation) -> Explanation:
    """Without the sizes of files that are made from secrets: a template can encode a secret in a size."""
    if explanation.rendering is None:
        return explanation
    files = tuple(replace(file, size=None) if file.secret else file for file in explanation.rendering.files)
    return replace(explanation, rendering=replace(explanation.rendering, files=files))


def masker_of(explanation: Explanation) -> Masker:
    """A masker for the secrets of the cluster, and for those found in the pool's files."""
    masker = Masker(explanation.sensitive)
    for file in explanation.rendering.files if explanation.rendering else ():
        masker.learn_from_text(file.text)
    return masker


def file_text(explanation: Rendering, file: RenderedFile, masker: Masker, *, hide_secret_files: bool = False) -> str:
    """A rendered file, masked: a line that was made from a secret is masked whole."""
    if hide_secret_files and file.secret:
        return f"{CONTENTS_NOT_SHOWN}\n"
    return _masked_text(masked_texts(file.text, explanation.secret_texts), masker)


def user_data_text(explanation: Rendering, half: str, masker: Masker, *, hide_secret_files: bool = False) -> str:
    """The user-data of a half, masked: in JSON each string that was made from a secret, else each such line."""
    names = explanation.secret_texts.texts | explanation.secret_texts.reading
    if hide_secret_files and (explanation.secret_texts.whole or any(name.startswith(f"{half} ") for name in names)):
        return f"{CONTENTS_NOT_SHOWN}\n"
    text, others = explanation.user_data[half], explanation.other_user_data.get(half, ())
    if explanation.secret_texts.whole:
        return _masked_text(masked_texts(text, explanation.secret_texts), masker)
    if not text.startswith("{"):
        secret = replace(explanation.secret_texts, lines=explanation.secret_texts.lines | secret_lines(text, others))
        return _masked_text(masked_texts(text, secret), masker)
    parts = _STRING.split(text)
    secret_parts = {at for other in others for at in differing(parts, _STRING.split(other))}
    return _masked_text("".join(MASK if at in secret_parts else part for at, part in enumerate(parts)), masker)


# Splits JSON into its strings and what is between them.
_STRING: Final = re.compile(r'((?<=")(?:[^"\\]|\\.)*(?="))')


def _masked_text(text: str, masker: Masker) -> str:
    """Mask a text, and write out control characters, which would act on a terminal."""
    return "\n".join(visible(line) for line in masker.text(text).split("\n"))


# --- text ---


def _lines(explanation: Explanation) -> Iterator[str]:
    yield f"{explanation.pool} in cluster {explanation.cluster}"
    yield f"  read from {explanation.where}"
    machine = (
        f"{explanation.os} on {explanation.provider}",
        f"kubelet {explanation.kube_version}",
        explanation.rendering and explanation.rendering.utility,
    )
    yield f"  {', '.join(part for part in machine if part)}"
    yield from section("Cannot be rendered", (f"- {problem}" for problem in explanation.problems))
    yield from section("Warnings", (f"- {problem}" for problem in explanation.warnings))
    yield from section("Findings in the MachineDeployment", map(_finding_line, explanation.findings))
    if explanation.target is not None:
        yield from section("Target", _target_lines(explanation.target))
    yield from section("Profile", _profile_lines(explanation.profile))
    yield from section("Settings", _setting_lines(explanation.settings))
    yield from section("Values that its templates read", table(_origin_rows(explanation.values)))
    if explanation.rendering is not None:
        yield from section("Facts", table(_origin_rows(explanation.rendering.facts)))
    yield from section("Kubelet annotations", _annotation_lines(explanation.annotations))
    if explanation.rendering is not None:
        yield from _rendering_lines(explanation.rendering)


def _finding_line(finding: Finding) -> str:
    fix = f". {finding.fix}" if finding.fix else ""
    return f"- {finding.where}: {finding.field}: {finding.message}{fix} ({finding.severity.value} {finding.id})"


def _target_lines(target: TargetUse) -> Iterator[str]:
    since = f", since commit {target.commit}" if target.commit else ""
    yield f"{target.where}: {_STATES[target.state]}{since}"
    yield from (f"- {change}" for change in target.changes)
    yield from (f"- {problem}" for problem in target.problems)


_STATES: Final = {
    "same": "has the same content",
    "differs": "has other content, apply would change it",
    "missing": "has nothing of this pool yet",
    "unknown": "not compared",
}


def _profile_lines(profile: ChosenProfile | None) -> Iterator[str]:
    if profile is None:
        yield "none: no annotation names one, and there is no default"
        return
    if not profile.where:
        yield f"{profile.ref.namespaced_name}, not found"
    else:
        kind = f"built in, {profile.built_in}" if profile.built_in else "not built in"
        yield f"{profile.ref.namespaced_name} {profile.version} ({kind}; templates: {profile.language})"
        yield f"read from {profile.where}"
    yield f"name: {profile.why}"
    yield f"namespace: {profile.why_namespace}"
    yield from (f"changed by {each}" for each in profile.touched_by)


def _setting_lines(settings: Sequence[SettingOrigin]) -> Iterator[str]:
    shown = [each for each in settings if not each.default or each.value not in {"", "false"}]
    yield from table(_origin_rows(shown))
    rest = [each.name for each in settings if each not in shown]
    if rest:
        yield f"empty or false by default: {', '.join(rest)}"


def _origin_rows(origins: Iterable[SettingOrigin]) -> Iterator[tuple[str, ...]]:
    return ((each.name, each.value or "-", each.where) for each in origins)


def _annotation_lines(annotations: Iterable[AnnotationUse]) -> Iterator[str]:
    for each in annotations:
        if each.option:
            yield f"{each.option} = {each.value} ({each.annotation})"
        else:
            yield f"ignored: {each.annotation}: {each.why}"


def _rendering_lines(rendering: Rendering) -> Iterator[str]:
    rows = [(each.side.value, str(each.ref)) for each in rendering.objects]
    live = [(each.side.value, f"{each.ref}, only in the cluster") for each in rendering.live]
    yield from section("Objects", table([*rows, *live]))
    files = [
        (each.half, each.permissions, "-" if each.size is None else f"{each.size:,}", each.path, each.where or "-")
        for each in rendering.files
    ]
    yield from section("Files and units", table([_HEADS, *files]))
    yield from section("Modules of cloud-init, not rendered", rendering.modules)
    yield from section("User-data", (line for size in rendering.sizes for line in _size_lines(size)))
    yield from section(
        "On a machine that does not join", table((shows, command) for command, shows in rendering.commands)
    )


def _size_lines(size: SizeUse) -> Iterator[str]:
    yield f"{size.half}: {size.raw:,} bytes raw, {size.gzip:,} with gzip, {size.base64:,} in base64"
    if size.limit is None or size.headroom is None:
        yield f"  no limit checked: {size.note}"
    elif size.headroom < 0:
        yield f"  {-size.headroom:,} bytes more than the limit of {size.limit:,} {_FORMS[size.counted]} ({size.note})"
    else:
        yield f"  {size.headroom:,} bytes left of {size.limit:,} {_FORMS[size.counted]} ({size.note})"


_FORMS: Final = {"raw": "raw", "gzip": "with gzip", "base64": "in base64"}


# --- JSON ---


def _document(explanation: Explanation) -> dict[str, Json]:
    return {
        "formatVersion": FORMAT_VERSION,
        "cluster": explanation.cluster,
        "pool": object_json(explanation.pool),
        "where": explanation.where,
        "sources": list(explanation.sources),
        "hosts": list(explanation.hosts),
        "os": explanation.os,
        "provider": explanation.provider,
        "kubeVersion": explanation.kube_version,
        "profile": _profile(explanation.profile) if explanation.profile else None,
        "settings": [_origin(each) for each in explanation.settings],
        "values": [_origin(each) for each in explanation.values],
        "annotations": [
            {"annotation": each.annotation, "value": each.value, "option": each.option, "why": each.why}
            for each in explanation.annotations
        ],
        "target": _target(explanation.target) if explanation.target else None,
        "rendering": _rendering(explanation.rendering) if explanation.rendering else None,
        "findings": [finding_json(each) for each in explanation.findings],
        "warnings": [problem_json(problem) for problem in explanation.warnings],
        "problems": [problem_json(problem) for problem in explanation.problems],
    }


def _profile(profile: ChosenProfile) -> dict[str, Json]:
    return {
        **object_json(profile.ref),
        "why": profile.why,
        "whyNamespace": profile.why_namespace,
        "where": profile.where,
        "version": profile.version,
        "templates": profile.language,
        "builtIn": profile.built_in,
        "touchedBy": list(profile.touched_by),
    }


def _origin(each: SettingOrigin) -> dict[str, Json]:
    return {"name": each.name, "value": each.value, "where": each.where, "default": each.default}


def _rendering(rendering: Rendering) -> dict[str, Json]:
    return {
        "provisioningUtility": rendering.utility,
        "facts": [_origin(each) for each in rendering.facts],
        "objects": [_rendered_object(each) for each in rendering.objects],
        "live": [_rendered_object(each) for each in rendering.live],
        "files": [
            {"half": each.half, "path": each.path, "mode": each.permissions, "bytes": each.size, "where": each.where}
            for each in rendering.files
        ],
        "modules": list(rendering.modules),
        "commands": [{"command": command, "shows": shows} for command, shows in rendering.commands],
        "userData": [
            {
                "half": each.half,
                "raw": each.raw,
                "gzip": each.gzip,
                "base64": each.base64,
                "counted": each.counted,
                "limit": each.limit,
                "headroom": each.headroom,
                "note": each.note,
            }
            for each in rendering.sizes
        ],
    }


def _target(target: TargetUse) -> dict[str, Json]:
    return {
        "where": target.where,
        "state": target.state,
        "commit": target.commit,
        "changes": list(target.changes),
        "problems": [problem_json(problem) for problem in target.problems],
    }


def _rendered_object(each: RenderedObject) -> dict[str, Json]:
    return {**object_json(each.ref), "side": each.side.value}


def explanation_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    return {
        **head("explanation", "Explanation"),
        **record(
            "The origin of a pool's boot configuration. Contains no secret.",
            formatVersion=format_version(),
            cluster=text("Name of the cluster."),
            pool=ref("object", "The MachineDeployment."),
            where=text("Where it was read."),
            sources=texts("Where the objects of its cluster were read, with the git revision if there is one."),
            hosts=texts("The API servers that were read."),
            os=text("Its operating system."),
            provider=text("Its cloud provider."),
            kubeVersion=text("The version of its kubelet, as the MachineDeployment has it."),
            profile=optional_ref("profile", "Its profile, if there is any."),
            settings=listing("given", "Every setting, by the name of its flag."),
            values=listing("given", "The values of overlays that its templates read, by path."),
            annotations=listing("annotation", "Annotations about the kubelet."),
            target=optional_ref("target", "Null without a target."),
            rendering=optional_ref("rendering", "Null if it cannot be rendered."),
            findings=listing("finding", "What validate finds in the MachineDeployment itself, such as unknown keys."),
            warnings=listing("problem", "Warnings."),
            problems=listing("problem", "Why it cannot be rendered."),
        ),
        "$defs": {
            "object": record("One Kubernetes object.", **OBJECT),
            "problem": PROBLEM_RECORD,
            **_DEFINITIONS,
        },
    }


_DEFINITIONS: Final = {
    "profile": record(
        "The profile. If it was not found, where and all keys after it are empty.",
        **OBJECT,
        why=text("Where its name comes from."),
        whyNamespace=text("Where its namespace comes from."),
        where=text("Where it was read."),
        version=text("Its spec.version."),
        templates={"enum": ["go", "jinja2/v1", ""], "description": "The language of its templates."},
        builtIn=text("The version of the default profiles that it belongs to; empty for other profiles."),
        touchedBy=texts("Overlays and patches that changed it, with their places."),
    ),
    "given": record(
        "A setting, a value or a fact. Secret and long facts have no value.",
        name=text("Its name."),
        value=text("Its value as text, masked."),
        where=text("Where it comes from."),
        default=truth("Whether it is the default."),
    ),
    "annotation": record(
        "An annotation that sets an option of the kubelet, or is ignored.",
        annotation=text("Its key."),
        value=text("Its value."),
        option=text("The option that it sets; empty if it is ignored."),
        why=text("Why it is ignored; empty if it counts."),
    ),
    "made": record(
        "An object that results from the pool.",
        **OBJECT,
        side={"enum": [side.value for side in Side], "description": "The cluster that it belongs to."},
    ),
    "file": record(
        "A file on the node, also the text of a unit.",
        half={"enum": ["bootstrap", "provisioning"], "description": "The half that it belongs to."},
        path=text("Its path on the node."),
        mode=text("Its permissions in octal."),
        bytes={"type": ["integer", "null"], "minimum": 0, "description": "Its size; null if it is hidden."},
        where=text("Where its template is; empty if it is made from settings."),
    ),
    "size": record(
        "The sizes of a half in bytes, and the limit for them.",
        half={"enum": ["bootstrap", "provisioning"], "description": "The half."},
        raw=COUNT | {"description": "Without compression, with the longest possible name of a machine."},
        gzip=COUNT | {"description": "Compressed as machine-controller does, within a few bytes."},
        base64=COUNT | {"description": "In base64."},
        counted={"enum": ["raw", "gzip", "base64", ""], "description": "The form that counts; empty without a limit."},
        limit={"type": ["integer", "null"], "description": "The limit in bytes; null if none is known."},
        headroom={"type": ["integer", "null"], "description": "Bytes left; negative if the limit is exceeded."},
        note=text("The source of the limit, or why there is none."),
    ),
    "target": record(
        "How the target compares with what the pool renders to.",
        where=text("The target."),
        state={"enum": [*_STATES], "description": "Whether it has the same content."},
        commit=text("The last commit that changed files of the pool, with date and subject; empty if none is known."),
        changes=texts("Objects that apply would change, with action and reason."),
        problems=listing("problem", "Why it could not be compared."),
    ),
    "finding": FINDING_RECORD,
    "command": record(
        "A command for the machine.",
        command=text("The command."),
        shows=text("What it shows."),
    ),
    "rendering": record(
        "What a pool renders to.",
        provisioningUtility={"enum": ["cloud-init", "ignition"], "description": "What sets the machine up."},
        facts=listing("given", "Facts of the cluster that it depends on."),
        objects=listing("made", "The objects that result."),
        live=listing("made", "Objects that are only in the cluster, never in git."),
        files=listing("file", "Files and units of both halves."),
        modules=texts("Modules of cloud-init that a half uses, such as bootstrap runcmd."),
        commands=listing("command", "What to run on a machine that does not join."),
        userData=listing("size", "The sizes of both halves."),
    ),
}
