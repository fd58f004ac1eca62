"""The profiles at hand: converting a file of them, listing and showing those of clusters (``osm-gitops osp``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.profile import JINJA2_V1, TEMPLATE_ANNOTATION
from osm_gitops.render.conversion import convert_profile
from osm_gitops.sops.document import is_encrypted
from osm_gitops.sources.manifests import CUSTOM_PROFILE, PROFILE, RawObject, identify, misspelt, raw_objects
from osm_gitops.sources.profiles import read_profile
from osm_gitops.workers.calls import call
from osm_gitops.yaml.kubernetes import load_documents
from osm_gitops.yaml.round_trip import Edit, Path, edit_texts

_ENCRYPTED: Final = "is encrypted with SOPS"
_DECRYPT: Final = "Convert what sops decrypts, and encrypt the result"


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """A file of manifests with its profiles in Jinja2; ``already`` were so before, ``warnings`` ask for a look."""

    text: str
    converted: tuple[ObjectRef, ...]
    already: tuple[ObjectRef, ...]
    warnings: tuple[Problem, ...]


def convert_file(text: str | bytes, name: str, namespace: str) -> ConvertedFile:
    """Convert the profiles in a YAML or JSON file; everything else in it stays byte for byte.

    Raises InputError with all problems of all profiles, or where the file holds none.
    """
    work = _Conversion(namespace)
    for index, document in enumerate(load_documents(text, name)):
        for loose in raw_objects(document, name):
            try:
                work.add(index, loose)
            except InputError as failure:
                work.problems += failure.problems
    if work.problems:
        raise InputError(work.problems)
    if not work.converted and not work.already:
        raise input_error(Code.NO_PROFILE_IN_FILE, f"there is no {PROFILE} in this file", where=name)
    changed = edit_texts(text, name, work.edits)
    return ConvertedFile(changed, tuple(work.converted), tuple(work.already), tuple(work.warnings))


@dataclass(slots=True)
class _Conversion:
    """What converting the objects of a file has given so far."""

    namespace: str
    edits: list[Edit] = field(default_factory=list)
    converted: list[ObjectRef] = field(default_factory=list)
    already: list[ObjectRef] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, document: int, loose: RawObject) -> None:
        is_profile = loose.is_read and loose.kind in {PROFILE, CUSTOM_PROFILE}
        manifest = identify(loose, self.namespace) if is_profile else misspelt(loose)
        if manifest is None or (loose.is_read and not is_profile):
            return
        if isinstance(manifest, Problem):
            raise InputError([manifest])
        if is_encrypted(loose.body):
            raise input_error(
                Code.ALREADY_ENCRYPTED, _ENCRYPTED, where=str(manifest.origin), about=str(manifest.ref), fix=_DECRYPT
            )
        checked = read_profile(manifest)
        if checked.value is None:
            raise InputError(checked.problems)
        self.warnings += checked.warnings
        if checked.value.jinja:
            self.already.append(manifest.ref)
            return
        converted = call(convert_profile, checked.value)
        self.converted.append(manifest.ref)
        self.warnings += converted.warnings
        texts: dict[Path, str] = {("metadata", "annotations", TEMPLATE_ANNOTATION): JINJA2_V1}
        texts |= {_steps(place): text for place, text in converted.texts.items()}
        self.edits += (Edit(document, (*loose.inside, *path), each) for path, each in texts.items())


def _steps(place: str) -> Path:
    """A field as steps: ``spec.files[0].path`` → ``spec``, ``files``, 0, ``path``. A template's name is one step."""
    head, in_templates, name = place.partition(".templates.")
    words = head.replace("[", ".").replace("]", "").split(".")
    steps = tuple(int(word) if word.isdecimal() else word for word in words)
    return (*steps, "templates", name) if in_templates else steps
