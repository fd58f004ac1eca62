"""A tree of Kubernetes manifests as a frozen cluster (design §2, §3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Final

from osm_gitops.errors import InputError, Problem
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import Manifest
from osm_gitops.sources.facts import credential_environment
from osm_gitops.sources.files import MAX_BYTES, Kind, SourceFiles
from osm_gitops.sources.gathering import Gathering
from osm_gitops.sources.manifests import PROFILE, LooseObject, identify, loose_objects, misspelt
from osm_gitops.sources.walk import walk
from osm_gitops.yamldoor.kubernetes import load_documents

_NOT_ASCII: Final = bytes((0, *range(128, 256)))
# A file that says so is meant as a manifest, however broken it is.
_MEANT: Final = re.compile(rb"""(?:^|[\s{,-])["']?(apiVersion|kind)["']?[ \t]*:""")
# What git stores in the place of a file that a filter would bring back in a checkout.
_FILTERED: Final = {b"\0GITCRYPT\0": "git-crypt", b"version https://git-lfs.github.com/": "Git LFS"}


def read_tree(files: SourceFiles, *, management_namespace: str, environment: Mapping[str, str]) -> Inputs:
    """Read a folder (or one file) of manifests, on this machine or in a revision of a repository.

    Of ``environment`` only the credential variables are kept. Raises InputError where the root
    cannot be read at all; everything else that is wrong is in the result.
    """
    found = walk(files)
    tree = _Tree(files, management_namespace)
    tree.gathering.unreadable += found.problems
    tree.gathering.warnings += found.warnings
    tree.gathering.notes += found.notes
    for file, name in found.files:
        tree.read(file, name)
    tree.close()
    return tree.gathering.inputs(credential_environment(environment), (f"{files.display}{files.suffix}",))


def with_profiles_of(inputs: Inputs, profiles: Inputs) -> Inputs:
    """``inputs`` with the profiles of another source in place of its own (``--profiles-from``)."""
    own = {ref: problems for ref, problems in inputs.broken.items() if ref.kind != PROFILE}
    theirs = {ref: problems for ref, problems in profiles.broken.items() if ref.kind == PROFILE}
    return replace(
        inputs,
        profiles=profiles.profiles,
        broken={**own, **theirs},
        unreadable=_joined(inputs.unreadable, profiles.unreadable),
        warnings=_joined(inputs.warnings, profiles.warnings),
        notes=tuple(dict.fromkeys((*inputs.notes, *profiles.notes))),
        sources=tuple(dict.fromkeys((*inputs.sources, *profiles.sources))),
    )


def _joined(first: tuple[Problem, ...], second: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(dict.fromkeys((*first, *second)))


@dataclass(slots=True)
class _Tree:
    files: SourceFiles
    management_namespace: str
    gathering: Gathering = field(default_factory=Gathering)
    passed_over: Counter[str] = field(default_factory=Counter)
    secrets: list[str] = field(default_factory=list)
    charts: dict[PurePath, bool] = field(default_factory=dict)

    def read(self, file: PurePath, shown: str) -> None:
        text = self._text(file, shown)
        if text is None:
            return
        plain = text.translate(None, _NOT_ASCII)
        if b"apiVersion" not in plain and b"kind" not in plain:
            self.gathering.notes.append(f"{shown}: holds no Kubernetes objects")
            return
        in_chart = self._is_chart_template(file)
        try:
            documents = load_documents(text, shown)
        except InputError as error:
            self._unreadable(error, plain, shown, in_chart=in_chart)
            return
        objects = [loose for document in documents for loose in loose_objects(document, shown)]
        if not any(loose.kind for loose in objects):
            self.gathering.notes.append(f"{shown}: holds no Kubernetes objects")
            return
        for loose in objects:
            self._object(loose, in_chart=in_chart)

    def close(self) -> None:
        """Say once what would be said for every object."""
        notes = [f"{count} {which} passed over" for which, count in sorted(self.passed_over.items())]
        self.gathering.notes += notes
        if self.files.in_git and self.secrets:
            self.gathering.warnings.append(
                Problem(
                    f"{len(self.secrets)} Secret(s) stand in plain text in git, the first here",
                    where=self.secrets[0],
                    fix="Whoever reads the repository reads them: keep them in the cluster, or outside of git",
                )
            )

    def _text(self, file: PurePath, shown: str) -> bytes | None:
        try:
            text = self.files.read(file)
        except OSError as error:
            self.gathering.unreadable.append(Problem(f"cannot be read: {error.strerror}", where=shown))
            return None
        if text is None:
            self.gathering.unreadable.append(
                Problem(f"is larger than {MAX_BYTES >> 20} MiB", where=shown, fix="Split it")
            )
            return None
        tool = next((tool for start, tool in _FILTERED.items() if text.startswith(start)), "")
        if tool:
            self.gathering.unreadable.append(
                Problem(
                    f"holds what {tool} left in the place of the file",
                    where=shown,
                    fix=f"Let {tool} bring it back in a checkout, and read that folder",
                )
            )
            return None
        return text

    def _unreadable(self, error: InputError, text: bytes, shown: str, *, in_chart: bool) -> None:
        """Broken manifests are a problem; templates and files of other programs are not ours to judge."""
        if in_chart:
            self.gathering.notes.append(f"{shown}: a Helm template; render the chart to have its objects read")
        elif len(set(_MEANT.findall(text))) == 2:
            self.gathering.unreadable += error.problems
        else:
            self.gathering.notes.append(f"{shown}: no YAML and, without apiVersion and kind, no manifest")

    def _object(self, loose: LooseObject, *, in_chart: bool) -> None:
        if not loose.is_read:
            self._pass_over(loose)
            return
        encrypted = "sops" in loose.body
        if encrypted and loose.labels.get(MANAGED_BY_LABEL) == MANAGED_BY:
            self.passed_over[f"of kind {loose.kind}, encrypted and written by {MANAGED_BY},"] += 1
            return
        manifest = identify(loose, self.management_namespace)
        if in_chart and _is_templated(loose):
            self.gathering.notes.append(f"{loose.origin}: a Helm template; render the chart to have it read")
        elif isinstance(manifest, Problem):
            self.gathering.unreadable.append(manifest)
        elif encrypted:
            self.gathering.unreadable.append(_encrypted(manifest))
        else:
            if manifest.ref.kind == "Secret" and loose.labels.get(MANAGED_BY_LABEL) != MANAGED_BY:
                self.secrets.append(str(manifest.origin))
            self.gathering.add(manifest)

    def _pass_over(self, loose: LooseObject) -> None:
        problem = misspelt(loose)
        if problem:
            self.gathering.unreadable.append(problem)
        else:
            named = loose.api_version and loose.kind
            self.passed_over[f"of kind {loose.kind}" if named else "without apiVersion and kind"] += 1

    def _is_chart_template(self, file: PurePath) -> bool:
        """Whether the file is below ``templates/`` of a folder with a ``Chart.yaml``."""
        folder = file.parent
        known = self.charts.get(folder)
        if known is None:
            charts = (part.parent / "Chart.yaml" for part in file.parents if part.name == "templates")
            known = self.charts[folder] = any(map(self._is_file, charts))
        return known

    def _is_file(self, path: PurePath) -> bool:
        try:
            return self.files.locate(path)[1] is Kind.FILE
        except (OSError, RuntimeError):
            return False


def _is_templated(loose: LooseObject) -> bool:
    metadata = loose.body.get("metadata")
    names = metadata.values() if isinstance(metadata, dict) else ()
    return any(isinstance(name, str) and "{{" in name for name in names)


def _encrypted(manifest: Manifest) -> Problem:
    return Problem(
        "is encrypted with SOPS, and cannot be read: decryption comes with a later release",
        where=str(manifest.origin),
        about=str(manifest.ref),
        fix="Take it out of the source and read it from the cluster, or decrypt it before the run",
    )
