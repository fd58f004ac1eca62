"""A tree of Kubernetes manifests as a frozen cluster (design.md, "Terms" and "Sources and targets of a command")."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.desired import MANAGED_BY
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import PROVIDER_CONFIG_FIELD
from osm_gitops.model.objects import Manifest
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sources.encrypted import Decryption, Part, Seal, holds_ciphertext, is_ours
from osm_gitops.sources.inputs_builder import InputsBuilder
from osm_gitops.sources.machines import credential_environment
from osm_gitops.sources.manifests import MACHINE, PROFILE, RawObject, identify, misspelt, raw_objects
from osm_gitops.sources.walk import MAX_BYTES, Kind, SourceFiles, walk
from osm_gitops.yaml.kubernetes import load_documents

_NOT_ASCII: Final = bytes((0, *range(128, 256)))
# A file that says so is meant as a manifest, however broken it is.
_MEANT: Final = re.compile(rb"""(?:^|[\s{,-])["']?(apiVersion|kind)["']?[ \t]*:""")
_NAMED: Final = 10
_LONGEST_KIND: Final = 63
# What git stores in the place of a file that a filter would bring back in a checkout.
_FILTERED: Final = {b"\0GITCRYPT\0": "git-crypt", b"version https://git-lfs.github.com/": "Git LFS"}


def read_tree(
    files: SourceFiles,
    *,
    management_namespace: str,
    environment: Mapping[str, str],
    keys: KeySearch | None = None,
    source: str = "",
) -> Inputs:
    """Read a folder (or one file) of manifests, on this machine or in a revision of a repository: ``source`` names it
    with its commit.

    Encrypted documents are opened with ``keys``, else with those that ``environment`` leads to; a run has one search
    for all its trees. Of ``environment`` only the credential variables are kept. Raises InputError where the root
    cannot be read at all, or a key that is named and needed; everything else that is wrong is in the result.
    """
    found = walk(files)
    tree = _Tree(files, management_namespace, Decryption(keys or KeySearch(environment), management_namespace))
    tree.gathering.unreadable += found.problems
    tree.gathering.warnings += found.warnings
    tree.gathering.notes += found.notes
    for file, name in found.files:
        tree.read(file, name)
    tree.close()
    tree.gathering.sensitive |= tree.decryption.sensitive
    source = source or f"{files.display}{files.suffix}"
    return tree.gathering.inputs(credential_environment(environment), (source,))


@dataclass(slots=True)
class _Tree:
    files: SourceFiles
    management_namespace: str
    decryption: Decryption
    gathering: InputsBuilder = field(default_factory=InputsBuilder)
    passed_over: Counter[str] = field(default_factory=Counter)
    in_plain_text: list[tuple[PurePath, Manifest, str]] = field(default_factory=list)
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
        if not any(loose.kind for document in documents for loose in raw_objects(document, shown)):
            self.gathering.notes.append(f"{shown}: holds no Kubernetes objects")
            return
        for part in self.decryption.parts(documents, shown):
            for loose in raw_objects(part.document, shown):
                self._object(loose, part, file)

    def close(self) -> None:
        """Say once what would be said for every object."""
        notes = [f"{count} {which} passed over" for which, count in sorted(self.passed_over.items())]
        self.gathering.notes += notes
        self.gathering.unreadable += self.decryption.problems()
        self.gathering.broken |= self.decryption.broken
        self.gathering.warnings += self.decryption.warnings(f"{self.files.display}{self.files.suffix}")
        self._warn_of_plain_text()

    def _warn_of_plain_text(self) -> None:
        if not self.in_plain_text:
            return
        kept = set(self.files.kept_in_git(list(dict.fromkeys(file for file, *_ in self.in_plain_text))))
        in_git = [(manifest, place) for file, manifest, place in self.in_plain_text if file in kept]
        secrets = [manifest for manifest, _ in in_git if manifest.ref.kind != MACHINE]
        pools = [(manifest, place) for manifest, place in in_git if manifest.ref.kind == MACHINE]
        self.gathering.warnings += [_plain_secrets(secrets)] if secrets else []
        self.gathering.warnings += [_plain_credentials(pools)] if pools else []

    def _text(self, file: PurePath, shown: str) -> bytes | None:
        try:
            text = self.files.read(file)
        except OSError as error:
            self.gathering.unreadable.append(
                Problem(Code.FILE_UNREADABLE, f"cannot be read: {error.strerror}", where=shown)
            )
            return None
        if text is None:
            self.gathering.unreadable.append(
                Problem(Code.FILE_TOO_LARGE, f"is larger than {MAX_BYTES >> 20} MiB", where=shown, fix="Split it")
            )
            return None
        tool = next((tool for start, tool in _FILTERED.items() if text.startswith(start)), "")
        if tool:
            self.gathering.unreadable.append(
                Problem(
                    Code.POINTER_FILE,
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

    def _object(self, loose: RawObject, part: Part, file: PurePath) -> None:
        if not loose.is_read:
            self._pass_over(loose)
            return
        if part.seal is Seal.CLOSED:
            self.passed_over[f"of kind {loose.kind}, encrypted and written by {MANAGED_BY},"] += 1
            return
        manifest = identify(loose, self.management_namespace)
        if _is_templated(loose) and self._is_chart_template(file):
            self.gathering.notes.append(f"{loose.origin}: a Helm template; render the chart to have it read")
        elif isinstance(manifest, Problem):
            self.gathering.unreadable.append(manifest)
        elif part.seal is Seal.NONE and holds_ciphertext(loose.body):
            self._refuse_ciphertext(manifest)
        else:
            exposed = "" if is_ours(loose) else part.exposes(loose)
            if exposed:
                self.in_plain_text.append((file, manifest, exposed))
            self.gathering.add(replace(manifest, sealed=part.hides_texts))

    def _refuse_ciphertext(self, manifest: Manifest) -> None:
        """What sops encrypted, in a document without its map ``sops``: to take it for the value would boot with it."""
        problem = Problem(
            Code.CIPHERTEXT_WITHOUT_SOPS,
            "holds values that sops encrypted, but no map sops, without which nothing can open them",
            where=str(manifest.origin),
            about=str(manifest.ref),
            fix="Take the file as sops wrote it",
        )
        if manifest.ref.kind in {MACHINE, PROFILE}:
            self.gathering.broken.setdefault(manifest.ref, []).append(problem)
        else:
            self.gathering.unreadable.append(problem)

    def _pass_over(self, loose: RawObject) -> None:
        problem = misspelt(loose)
        if problem:
            self.gathering.unreadable.append(problem)
        else:
            named = loose.api_version and loose.kind
            self.passed_over[f"of kind {loose.kind[:_LONGEST_KIND]}" if named else "without apiVersion and kind"] += 1

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


def _is_templated(loose: RawObject) -> bool:
    metadata = loose.body.get("metadata")
    names = metadata.values() if isinstance(metadata, dict) else ()
    return any(isinstance(name, str) and "{{" in name for name in names)


def _plain_credentials(pools: Sequence[tuple[Manifest, str]]) -> Problem:
    """One warning, however many pools there are; of each the first credential is named, never its value."""
    (first, place), *others = pools
    fix = "Encrypt the file (sops encrypt --in-place FILE), or keep it out of git"
    if place.startswith(f"{PROVIDER_CONFIG_FIELD}.cloudProviderSpec."):
        fix = "Put it into a Secret and name that with secretKeyRef, or encrypt the file (sops encrypt --in-place FILE)"
    places = [pool.line_of(at) for pool, at in others]
    what = "is a credential in plain text in git" + _and_more(places, "; the same in")
    return Problem(
        Code.CREDENTIAL_IN_PLAIN_TEXT, what, where=first.line_of(place), about=str(first.ref), field=place, fix=fix
    )


def _and_more(places: Sequence[str], words: str = ", and so do") -> str:
    """That there are others, some of them by their places."""
    if not places:
        return ""
    more = [f"{len(places) - _NAMED} more"] if len(places) > _NAMED else []
    return f"{words} {len(places)} more: {', '.join([*places[:_NAMED], *more])}"


def _plain_secrets(secrets: Sequence[Manifest]) -> Problem:
    """One warning, however many there are."""
    first, *others = secrets
    return Problem(
        Code.SECRET_IN_PLAIN_TEXT,
        "this Secret stands in plain text in git" + _and_more([str(manifest.origin) for manifest in others]),
        where=str(first.origin),
        about=str(first.ref),
        fix="Whoever reads the repository reads it: encrypt it (sops encrypt --in-place FILE), or keep it out of git",
    )
