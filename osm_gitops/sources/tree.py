"""Read a tree of Kubernetes manifests (design.md, "Terms" and "Sources and targets of a command")."""

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
# Files with these keys are manifests, even if they are invalid.
_MEANT: Final = re.compile(rb"""(?:^|[\s{,-])["']?(apiVersion|kind)["']?[ \t]*:""")
_NAMED: Final = 10
_LONGEST_KIND: Final = 63
# The start of files that a filter of git replaces in a checkout.
_FILTERED: Final = {b"\0GITCRYPT\0": "git-crypt", b"version https://git-lfs.github.com/": "Git LFS"}


def read_tree(
    files: SourceFiles,
    *,
    management_namespace: str,
    environment: Mapping[str, str],
    keys: KeySearch | None = None,
    source: str = "",
) -> Inputs:
    """Read a folder (or one file) of manifests, on this machine or in a revision of a repository. ``source`` is its
    name with the commit.

    Encrypted documents are decrypted with ``keys``, by default with those of ``environment``; a run shares one search.
    Of ``environment`` only the credential variables are kept. Raises InputError if the root, or a configured key that
    is needed, is unreadable; all other problems are in the result.
    """
    found = walk(files)
    tree = _Tree(files, management_namespace, Decryption(keys or KeySearch(environment), management_namespace))
    tree.builder.unreadable += found.problems
    tree.builder.warnings += found.warnings
    tree.builder.notes += found.notes
    for file, name in found.files:
        tree.read(file, name)
    tree.close()
    tree.builder.sensitive |= tree.decryption.sensitive
    source = source or f"{files.display}{files.suffix}"
    return tree.builder.inputs(credential_environment(environment), (source,))


@dataclass(slots=True)
class _Tree:
    files: SourceFiles
    management_namespace: str
    decryption: Decryption
    builder: InputsBuilder = field(default_factory=InputsBuilder)
    passed_over: Counter[str] = field(default_factory=Counter)
    in_plain_text: list[tuple[PurePath, Manifest, str]] = field(default_factory=list)
    charts: dict[PurePath, bool] = field(default_factory=dict)

    def read(self, file: PurePath, shown: str) -> None:
        text = self._text(file, shown)
        if text is None:
            return
        plain = text.translate(None, _NOT_ASCII)
        if b"apiVersion" not in plain and b"kind" not in plain:
            self.builder.notes.append(f"{shown}: holds no Kubernetes objects")
            return
        in_chart = self._is_chart_template(file)
        try:
            documents = load_documents(text, shown)
        except InputError as error:
            self._unreadable(error, plain, shown, in_chart=in_chart)
            return
        if not any(raw.kind for document in documents for raw in raw_objects(document, shown)):
            self.builder.notes.append(f"{shown}: holds no Kubernetes objects")
            return
        for part in self.decryption.parts(documents, shown):
            for raw in raw_objects(part.document, shown):
                self._object(raw, part, file)

    def close(self) -> None:
        """Add one summary for notes and problems of many objects."""
        notes = [f"{count} {which} ignored" for which, count in sorted(self.passed_over.items())]
        self.builder.notes += notes
        self.builder.unreadable += self.decryption.problems()
        self.builder.broken |= self.decryption.broken
        self.builder.warnings += self.decryption.warnings(f"{self.files.display}{self.files.suffix}")
        self._warn_of_plain_text()

    def _warn_of_plain_text(self) -> None:
        if not self.in_plain_text:
            return
        kept = set(self.files.kept_in_git(list(dict.fromkeys(file for file, *_ in self.in_plain_text))))
        in_git = [(manifest, place) for file, manifest, place in self.in_plain_text if file in kept]
        secrets = [manifest for manifest, _ in in_git if manifest.ref.kind != MACHINE]
        pools = [(manifest, place) for manifest, place in in_git if manifest.ref.kind == MACHINE]
        self.builder.warnings += [_plain_secrets(secrets)] if secrets else []
        self.builder.warnings += [_plain_credentials(pools)] if pools else []

    def _text(self, file: PurePath, shown: str) -> bytes | None:
        try:
            text = self.files.read(file)
        except OSError as error:
            self.builder.unreadable.append(
                Problem(Code.FILE_UNREADABLE, f"cannot be read: {error.strerror}", where=shown)
            )
            return None
        if text is None:
            self.builder.unreadable.append(
                Problem(Code.FILE_TOO_LARGE, f"is larger than {MAX_BYTES >> 20} MiB", where=shown, fix="Split it")
            )
            return None
        tool = next((tool for start, tool in _FILTERED.items() if text.startswith(start)), "")
        if tool:
            self.builder.unreadable.append(
                Problem(
                    Code.POINTER_FILE,
                    f"contains a placeholder of {tool} instead of the file",
                    where=shown,
                    fix=f"Restore it with {tool} in a checkout, and read that folder",
                )
            )
            return None
        return text

    def _unreadable(self, error: InputError, text: bytes, shown: str, *, in_chart: bool) -> None:
        """Report invalid manifests. Templates and files of other programs are only noted."""
        if in_chart:
            self.builder.notes.append(f"{shown}: a Helm template; render the chart to have its objects read")
        elif len(set(_MEANT.findall(text))) == 2:
            self.builder.unreadable += error.problems
        else:
            self.builder.notes.append(f"{shown}: neither YAML nor, without apiVersion and kind, a manifest")

    def _object(self, raw: RawObject, part: Part, file: PurePath) -> None:
        if not raw.is_read:
            self._pass_over(raw)
            return
        if part.seal is Seal.CLOSED:
            self.passed_over[f"of kind {raw.kind}, encrypted and written by {MANAGED_BY},"] += 1
            return
        manifest = identify(raw, self.management_namespace)
        if _is_templated(raw) and self._is_chart_template(file):
            self.builder.notes.append(f"{raw.origin}: a Helm template; render the chart to have it read")
        elif isinstance(manifest, Problem):
            self.builder.unreadable.append(manifest)
        elif part.seal is Seal.NONE and holds_ciphertext(raw.body):
            self._refuse_ciphertext(manifest)
        else:
            exposed = "" if is_ours(raw) else part.exposes(raw)
            if exposed:
                self.in_plain_text.append((file, manifest, exposed))
            self.builder.add(replace(manifest, sealed=part.hides_texts))

    def _refuse_ciphertext(self, manifest: Manifest) -> None:
        """Refuse ciphertext in a document without the map ``sops``: it would be used as the value."""
        problem = Problem(
            Code.CIPHERTEXT_WITHOUT_SOPS,
            "contains values that sops encrypted, but not the map sops that is needed to decrypt them",
            where=str(manifest.origin),
            about=str(manifest.ref),
            fix="Use the file as sops wrote it",
        )
        if manifest.ref.kind in {MACHINE, PROFILE}:
            self.builder.broken.setdefault(manifest.ref, []).append(problem)
        else:
            self.builder.unreadable.append(problem)

    def _pass_over(self, raw: RawObject) -> None:
        problem = misspelt(raw)
        if problem:
            self.builder.unreadable.append(problem)
        else:
            named = raw.api_version and raw.kind
            self.passed_over[f"of kind {raw.kind[:_LONGEST_KIND]}" if named else "without apiVersion and kind"] += 1

    def _is_chart_template(self, file: PurePath) -> bool:
        """Whether the file is a template of a Helm chart."""
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


def _is_templated(raw: RawObject) -> bool:
    metadata = raw.body.get("metadata")
    names = metadata.values() if isinstance(metadata, dict) else ()
    return any(isinstance(name, str) and "{{" in name for name in names)


def _plain_credentials(pools: Sequence[tuple[Manifest, str]]) -> Problem:
    """One warning for all pools, with the first credential field of each, without values."""
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
    """The number of other objects, and the places of some."""
    if not places:
        return ""
    more = [f"{len(places) - _NAMED} more"] if len(places) > _NAMED else []
    return f"{words} {len(places)} more: {', '.join([*places[:_NAMED], *more])}"


def _plain_secrets(secrets: Sequence[Manifest]) -> Problem:
    """One warning for all Secrets."""
    first, *others = secrets
    return Problem(
        Code.SECRET_IN_PLAIN_TEXT,
        "this Secret is in plain text in git" + _and_more([str(manifest.origin) for manifest in others]),
        where=str(first.origin),
        about=str(first.ref),
        fix="Encrypt it (sops encrypt --in-place FILE), or keep it out of git",
    )
