"""``osp convert``: the Go templates of profiles in a file as Jinja2."""

from __future__ import annotations

from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """A file of manifests with its profiles in Jinja2; ``already`` were Jinja2 before, ``warnings`` need a review."""

    text: str
    converted: tuple[ObjectRef, ...]
    already: tuple[ObjectRef, ...]
    warnings: tuple[Problem, ...]


def convert_file(text: str | bytes, name: str, namespace: str) -> ConvertedFile:
    """Convert the profiles in a YAML or JSON file; everything else in it keeps its bytes.

    Raises InputError with the problems of all profiles, or if the file has none.
    """
    conversion = _Conversion(namespace)
    for index, document in enumerate(load_documents(text, name)):
        for raw in raw_objects(document, name):
            try:
                conversion.add(index, raw)
            except InputError as failure:
                conversion.problems += failure.problems
    if conversion.problems:
        raise InputError(conversion.problems)
    if not conversion.converted and not conversion.already:
        raise input_error(Code.NO_PROFILE_IN_FILE, f"no {PROFILE} in this file", where=name)
    changed = edit_texts(text, name, conversion.edits)
    return ConvertedFile(changed, tuple(conversion.converted), tuple(conversion.already), tuple(conversion.warnings))


@dataclass(slots=True)
class _Conversion:
    """Collects the edits of a file, object by object."""

    namespace: str
    edits: list[Edit] = field(default_factory=list)
    converted: list[ObjectRef] = field(default_factory=list)
    already: list[ObjectRef] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, document: int, raw: RawObject) -> None:
        is_profile = raw.is_read and raw.kind in {PROFILE, CUSTOM_PROFILE}
        manifest = identify(raw, self.namespace) if is_profile else misspelt(raw)
        if manifest is None or (raw.is_read and not is_profile):
            return
        if isinstance(manifest, Problem):
            raise InputError([manifest])
        if is_encrypted(raw.body):
            raise input_error(
                Code.ALREADY_ENCRYPTED,
                "is encrypted with SOPS",
                where=str(manifest.origin),
                about=str(manifest.ref),
                fix="Decrypt it with sops, convert the result, and encrypt it again",
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
        self.edits += (Edit(document, (*raw.inside, *path), each) for path, each in texts.items())


def _steps(place: str) -> Path:
    """The steps of a path: ``spec.files[0].path`` → ``spec``, ``files``, 0, ``path``. A template's name is one step."""
    head, in_templates, name = place.partition(".templates.")
    words = head.replace("[", ".").replace("]", "").split(".")
    steps = tuple(int(word) if word.isdecimal() else word for word in words)
    return (*steps, "templates", name) if in_templates else steps
