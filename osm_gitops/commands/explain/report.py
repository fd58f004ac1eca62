"""``explain``: sections for people, JSON with its schema; and one rendered text, masked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from osm_gitops.model.desired import Side
from osm_gitops.model.explained import (
    AnnotationUse,
    ChosenProfile,
    Explanation,
    RenderedFile,
    RenderedObject,
    Rendering,
    SettingOrigin,
    SizeUse,
)
from osm_gitops.model.objects import Json
from osm_gitops.plan.counterfactual import differing, secret_lines
from osm_gitops.report.json_words import FORMAT_VERSION, object_json, problem_json
from osm_gitops.report.mask import MASK, Masker
from osm_gitops.report.schema_words import (
    COUNT,
    OBJECT,
    PROBLEM_RECORD,
    format_version,
    head,
    listing,
    record,
    ref,
    text,
    texts,
)
from osm_gitops.report.secret_diffs import CONTENTS_NOT_SHOWN, masked_texts
from osm_gitops.report.visible import section, table, visible

_HEADS: Final = ("HALF", "MODE", "BYTES", "PATH", "TEMPLATE")


def explanation_text(told: Explanation, masker: Masker, *, hide_secret_files: bool = False) -> str:
    """For people; may change. ``hide_secret_files``: of those that are made from secrets not even the size is told."""
    shown = _hidden(told) if hide_secret_files else told
    return "".join(f"{visible(masker.text(line))}\n" for line in _lines(shown))


def explanation_json(told: Explanation, masker: Masker, *, hide_secret_files: bool = False) -> str:
    """``formatVersion`` and all that is known; the meaning of a key changes only with the first number."""
    shown = _hidden(told) if hide_secret_files else told
    return masker.text(json.dumps(_document(shown), indent=2, ensure_ascii=False)) + "\n"


def _hidden(told: Explanation) -> Explanation:
    """Without the sizes of files that are made from secrets: a template can say anything by them."""
    if told.rendering is None:
        return told
    files = tuple(replace(file, size=None) if file.secret else file for file in told.rendering.files)
    return replace(told, rendering=replace(told.rendering, files=files))


def masker_of(told: Explanation) -> Masker:
    """Knows the secrets of the cluster, and those that the pool's own files tell."""
    masker = Masker(told.sensitive)
    for file in told.rendering.files if told.rendering else ():
        masker.learn_from_text(file.text)
    return masker


def file_text(told: Rendering, file: RenderedFile, masker: Masker, *, hide_secret_files: bool = False) -> str:
    """A rendered file as it may be shown: lines that were made from secrets are masked whole."""
    if hide_secret_files and file.secret:
        return f"{CONTENTS_NOT_SHOWN}\n"
    return _masked_text(masked_texts(file.text, told.secret_texts), masker)


def user_data_text(told: Rendering, half: str, masker: Masker, *, hide_secret_files: bool = False) -> str:
    """The user-data of a half as it may be shown: what was made from secrets is masked, of JSON each such string."""
    names = told.secret_texts.texts | told.secret_texts.reading
    if hide_secret_files and (told.secret_texts.whole or any(name.startswith(f"{half} ") for name in names)):
        return f"{CONTENTS_NOT_SHOWN}\n"
    text, others = told.user_data[half], told.other_user_data.get(half, ())
    if told.secret_texts.whole:
        return _masked_text(masked_texts(text, told.secret_texts), masker)
    if not text.startswith("{"):
        secret = replace(told.secret_texts, lines=told.secret_texts.lines | secret_lines(text, others))
        return _masked_text(masked_texts(text, secret), masker)
    parts = _STRING.split(text)
    secret_parts = {at for other in others for at in differing(parts, _STRING.split(other))}
    return _masked_text("".join(MASK if at in secret_parts else part for at, part in enumerate(parts)), masker)


# The strings of JSON, and what is between them.
_STRING: Final = re.compile(r'((?<=")(?:[^"\\]|\\.)*(?="))')


def _masked_text(text: str, masker: Masker) -> str:
    """Control characters would act on a terminal, so they are written out."""
    return "\n".join(visible(line) for line in masker.text(text).split("\n"))


# --- text ---


def _lines(told: Explanation) -> Iterator[str]:
    yield f"{told.pool} in cluster {told.cluster}"
    yield f"  read from {told.where}"
    machine = (
        f"{told.os} on {told.provider}",
        f"kubelet {told.kube_version}",
        told.rendering and told.rendering.utility,
    )
    yield f"  {', '.join(part for part in machine if part)}"
    yield from section("Profile", _profile_lines(told.profile))
    yield from section("Settings", _setting_lines(told.settings))
    yield from section("Values that its templates ask for", table(_given_rows(told.values)))
    if told.rendering is not None:
        yield from section("Facts", table(_given_rows(told.rendering.facts)))
    yield from section("Annotations of the kubelet", _annotation_lines(told.annotations))
    if told.rendering is not None:
        yield from _rendering_lines(told.rendering)
    yield from section("Warnings", (f"- {problem}" for problem in told.warnings))
    yield from section("Cannot be rendered", (f"- {problem}" for problem in told.problems))


def _profile_lines(profile: ChosenProfile | None) -> Iterator[str]:
    if profile is None:
        yield "none: no annotation names one, and there is no default"
        return
    if not profile.where:
        yield f"{profile.ref.namespaced_name}, which is not there"
    else:
        kind = f"built in, {profile.built_in}" if profile.built_in else "not built in"
        yield f"{profile.ref.namespaced_name} {profile.version} ({kind}; templates: {profile.language})"
        yield f"read from {profile.where}"
    yield f"name: {profile.why}"
    yield f"namespace: {profile.why_namespace}"
    yield from (f"touched by {each}" for each in profile.touched_by)


def _setting_lines(settings: Sequence[SettingOrigin]) -> Iterator[str]:
    shown = [each for each in settings if not each.default or each.value not in {"", "false"}]
    yield from table(_given_rows(shown))
    rest = [each.name for each in settings if each not in shown]
    if rest:
        yield f"empty or false by default: {', '.join(rest)}"


def _given_rows(given: Iterable[SettingOrigin]) -> Iterator[tuple[str, ...]]:
    return ((each.name, each.value or "-", each.where) for each in given)


def _annotation_lines(annotations: Iterable[AnnotationUse]) -> Iterator[str]:
    for each in annotations:
        if each.option:
            yield f"{each.option} = {each.value} ({each.annotation})"
        else:
            yield f"ignored: {each.annotation}: {each.why}"


def _rendering_lines(rendering: Rendering) -> Iterator[str]:
    rows = [(made.side.value, str(made.ref)) for made in rendering.objects]
    live = [(made.side.value, f"{made.ref}, in the cluster alone") for made in rendering.live]
    yield from section("Objects", table([*rows, *live]))
    files = [
        (each.half, each.permissions, "-" if each.size is None else f"{each.size:,}", each.path, each.where or "-")
        for each in rendering.files
    ]
    yield from section("Files and units", table([_HEADS, *files]))
    yield from section("Modules of cloud-init, taken as they are", rendering.modules)
    yield from section("User-data", (line for size in rendering.sizes for line in _size_lines(size)))


def _size_lines(size: SizeUse) -> Iterator[str]:
    yield f"{size.half}: {size.raw:,} bytes raw, {size.gzip:,} with gzip, {size.base64:,} in base64"
    if size.limit is None or size.headroom is None:
        yield f"  no limit is checked: {size.note}"
    elif size.headroom < 0:
        yield f"  {-size.headroom:,} bytes more than the limit of {size.limit:,} {_FORMS[size.counted]} ({size.note})"
    else:
        yield f"  {size.headroom:,} bytes left of {size.limit:,} {_FORMS[size.counted]} ({size.note})"


_FORMS: Final = {"raw": "raw", "gzip": "with gzip", "base64": "in base64"}


# --- JSON ---


def _document(told: Explanation) -> dict[str, Json]:
    return {
        "formatVersion": FORMAT_VERSION,
        "cluster": told.cluster,
        "pool": object_json(told.pool),
        "where": told.where,
        "sources": list(told.sources),
        "hosts": list(told.hosts),
        "os": told.os,
        "provider": told.provider,
        "kubeVersion": told.kube_version,
        "profile": _profile(told.profile) if told.profile else None,
        "settings": [_given(each) for each in told.settings],
        "values": [_given(each) for each in told.values],
        "annotations": [
            {"annotation": each.annotation, "value": each.value, "option": each.option, "why": each.why}
            for each in told.annotations
        ],
        "rendering": _rendering(told.rendering) if told.rendering else None,
        "warnings": [problem_json(problem) for problem in told.warnings],
        "problems": [problem_json(problem) for problem in told.problems],
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


def _given(each: SettingOrigin) -> dict[str, Json]:
    return {"name": each.name, "value": each.value, "where": each.where, "default": each.default}


def _rendering(rendering: Rendering) -> dict[str, Json]:
    return {
        "provisioningUtility": rendering.utility,
        "facts": [_given(each) for each in rendering.facts],
        "objects": [_made(each) for each in rendering.objects],
        "live": [_made(each) for each in rendering.live],
        "files": [
            {"half": each.half, "path": each.path, "mode": each.permissions, "bytes": each.size, "where": each.where}
            for each in rendering.files
        ],
        "modules": list(rendering.modules),
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


def _made(made: RenderedObject) -> dict[str, Json]:
    return {**object_json(made.ref), "side": made.side.value}


_NULL: Final = {"type": "null"}


def explanation_schema() -> dict[str, Json]:
    """The schema; draft 2020-12. Its ``$id`` bears the ``formatVersion``."""
    return {
        **head("explanation", "Explanation"),
        **record(
            "What made the boot configuration of a pool. No secret is in it.",
            formatVersion=format_version(),
            cluster=text("Name of the cluster."),
            pool=ref("object", "The MachineDeployment."),
            where=text("The place that it was read from."),
            sources=texts("Where its cluster's objects were read, each with its git revision where it has one."),
            hosts=texts("The API servers that were read."),
            os=text("Its operating system."),
            provider=text("Its cloud provider."),
            kubeVersion=text("The version of its kubelet, as the MachineDeployment has it."),
            profile={"anyOf": [{"$ref": "#/$defs/profile"}, _NULL], "description": "Its profile, if there is any."},
            settings=listing("given", "Every setting, by the name of its flag."),
            values=listing("given", "The values of the user's own that its templates ask for, by path."),
            annotations=listing("annotation", "Annotations about the kubelet."),
            rendering={
                "anyOf": [{"$ref": "#/$defs/rendering"}, _NULL],
                "description": "Null if it cannot be rendered.",
            },
            warnings=listing("problem", "What will hurt."),
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
        "The profile. All that follows where is empty for one that is not there.",
        **OBJECT,
        why=text("Where its name comes from."),
        whyNamespace=text("Where its namespace comes from."),
        where=text("The place that it was read from."),
        version=text("Its spec.version."),
        templates={"enum": ["go", "jinja2/v1", ""], "description": "The language of its templates."},
        builtIn=text("The version of the default profiles that it is one of; empty for one of the user's own."),
        touchedBy=texts("Overlays and patches that changed it, with their places."),
    ),
    "given": record(
        "A setting, a value or a fact. Facts that are secret or long are named, and have no value.",
        name=text("Its name."),
        value=text("Its value as text, masked."),
        where=text("Where it comes from."),
        default={"type": "boolean", "description": "Whether nobody gave it."},
    ),
    "annotation": record(
        "An annotation that sets an option of the kubelet, or looks as if it did.",
        annotation=text("Its key."),
        value=text("Its value."),
        option=text("What it sets; empty if it is ignored."),
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
        bytes={"type": ["integer", "null"], "minimum": 0, "description": "Its size; null where it is not told."},
        where=text("The place of its template; empty if it is made of settings."),
    ),
    "size": record(
        "The sizes of a half in bytes, and the limit for them.",
        half={"enum": ["bootstrap", "provisioning"], "description": "The half."},
        raw=COUNT | {"description": "As it is, with the longest name that a machine can get."},
        gzip=COUNT | {"description": "Compressed as machine-controller does it, give or take a few bytes."},
        base64=COUNT | {"description": "In base64."},
        counted={"enum": ["raw", "gzip", "base64", ""], "description": "The form that counts; empty without a limit."},
        limit={"type": ["integer", "null"], "description": "The limit in bytes; null if none is known."},
        headroom={"type": ["integer", "null"], "description": "What is left of it; negative if it is exceeded."},
        note=text("Who says so, or why there is no limit."),
    ),
    "rendering": record(
        "What is known only of a pool that can be rendered.",
        provisioningUtility={"enum": ["cloud-init", "ignition"], "description": "What sets the machine up."},
        facts=listing("given", "Facts of the cluster that it depends on."),
        objects=listing("made", "The objects that result."),
        live=listing("made", "Objects that are kept in the cluster alone, never in git."),
        files=listing("file", "Files and units of both halves."),
        modules=texts("Modules of cloud-init that a half uses, such as bootstrap runcmd."),
        userData=listing("size", "The sizes of both halves."),
    ),
}
