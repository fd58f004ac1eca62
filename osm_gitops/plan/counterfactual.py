"""What would be rendered if every secret were another one: a line that differs was made from a secret.

No function that a template calls can hide from this what it did to a secret: whatever its result is, it is another one
for another secret. What a condition on a secret prints is found only as far as one of the variants decides otherwise.
A substitute follows from the value and the name of the variant alone, so the same value is replaced alike wherever it
is found, in every run. Comparing lines is linear in the length of the texts, so that no text is too long for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import shake_256
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gotemplate.assembly import freeze
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.expressions import ALL_FIELDS
from osm_gitops.model.desired import ALL_SECRET, DesiredObject, SecretTexts, together
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.plan.content import changed_texts
from osm_gitops.plan.sensitive import other_machine, sealed_templates, with_other_secrets
from osm_gitops.render.manifests import profile_object
from osm_gitops.render.pools import CompiledProfiles, PoolRenderer
from osm_gitops.render.resolve.cluster_info import ClusterFacts, resolve_cluster
from osm_gitops.render.resolve.pools import ResolvedPool, resolve_pool

Texts = Mapping[str, str]
"""Texts by the names that reports have for them."""


def secret_lines(text: str, others: Iterable[str]) -> frozenset[str]:
    """The lines of ``text``, without the white space around them, that are others where secrets are others.

    Of texts with equally many lines each line is compared with its counterpart; else all between the lines that are
    alike at both ends is made from secrets.
    """
    lines = text.split("\n")
    return frozenset(lines[at].strip() for other in others for at in differing(lines, other.split("\n")))


def differing(ours: Sequence[str], others: Sequence[str]) -> Iterable[int]:
    """Which entries of ``ours`` differ from ``others``."""
    if len(ours) == len(others):
        return [at for at, entry in enumerate(ours) if entry != others[at]]
    start, end = alike_at_ends(ours, others)
    return range(start, len(ours) - end)


def alike_at_ends(ours: Sequence[str], others: Sequence[str]) -> tuple[int, int]:
    """How many entries of two sequences are equal at their beginning, and how many others at their end."""
    shorter = min(len(ours), len(others))
    start = 0
    while start < shorter and ours[start] == others[start]:
        start += 1
    end = 0
    while end < shorter - start and ours[-1 - end] == others[-1 - end]:
        end += 1
    return start, end


def secret_texts(texts: Texts, others: Sequence[Texts], wholly: Iterable[str] = ()) -> SecretTexts:
    """What of ``texts`` was made from secrets; ``others`` are the same, made from other secrets.

    ``wholly`` are names of texts that are secret from the first line to the last.
    """
    lines: set[str] = set()
    touched: set[str] = set()
    secret = frozenset(wholly)
    for name, text in texts.items():
        differ = [other.get(name, "") for other in others if other.get(name) != text]
        if name in secret:
            lines.update(map(str.strip, text.split("\n")))
        elif differ:
            lines |= secret_lines(text, differ)
        if differ or name in secret:
            touched.add(name)
    return SecretTexts(lines=frozenset(lines), texts=frozenset(touched), known=frozenset(texts))


# More characters at the end of a longer substitute: base64 takes them in fours.
_MORE: Final = 4
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}==|[A-Za-z0-9+/_-]{3}=)?")
_PEM_MARK: Final = re.compile(r"\s*-----(?:BEGIN|END) [A-Z0-9 ]+-----\s*")
_OTHER_LETTERS: Final = "àçéîõüß"
_PUNCTUATION: Final = "!#%+,.:=@^_~"
# What strconv.ParseBool takes: the only other value that is a truth value too.
_TRUTH_VALUES: Final = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("t", "f"), ("T", "F"), ("1", "0"))
_OPPOSITES: Final = {one: other for pair in _TRUTH_VALUES for one, other in (pair, pair[::-1])}


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to replace values.

    Every character gives way to another one. ``longer``: the substitute has another length, and letters, digits and
    punctuation give way to characters of any kind; else all but letters and digits stays, so that formats do.
    ``keeps_truth``: true gives way to false, for secrets that are read as a truth value.
    """

    salt: str
    longer: bool = False
    keeps_truth: bool = False

    def substitute(self, value: str) -> str:
        """Another value in the place of ``value``; an empty one stays."""
        if not value.strip():
            return value
        if self.keeps_truth and value in _OPPOSITES:
            return _OPPOSITES[value]
        scheme = _SCHEME.match(value)
        if scheme:
            address = replace(self, longer=False).substitute(value[scheme.end() :])
            return scheme[0] + (self._more(value, ascii_lowercase) if self.longer else "") + address
        noise = shake_256(f"{self.salt}\0{value}".encode(errors="surrogateescape")).digest(2 * len(value))
        lines, start = [], 0
        for line in value.split("\n"):
            lines.append(self._line(line, noise[2 * start :], alone="\n" not in value))
            start += len(line) + 1
        return "\n".join(lines)

    def _line(self, line: str, noise: bytes, *, alone: bool) -> str:
        if _PEM_MARK.fullmatch(line):
            return line
        spoken = any(map(str.isalnum, line))
        if not spoken and not alone:
            return line  # brackets and rules between the lines of a text
        kept = len(line)
        if self.longer and _BASE64.fullmatch(line):
            kept = len(line.rstrip("="))
        other = self._any_other if self.longer else _other_of_kind if spoken else _other_mark
        replaced = "".join(other(char, noise[2 * at]) for at, char in enumerate(line[:kept]))
        if not self.longer:
            return replaced
        return replaced + self._more(line, digits[1:] if line.isdecimal() else ascii_letters + digits) + line[kept:]

    def _more(self, text: str, alphabet: str) -> str:
        noise = shake_256(f"{self.salt}\0more\0{text}".encode(errors="surrogateescape")).digest(_MORE)
        return "".join(alphabet[byte % len(alphabet)] for byte in noise)

    def _any_other(self, char: str, byte: int) -> str:
        """A digit for a letter, a letter for all else: in hexadecimal, neither digit of it is the same."""
        if char.isspace():
            return char
        return _choice(ascii_lowercase if char.isdecimal() or not char.isalnum() else digits[1:], char, byte)


def _other_of_kind(char: str, byte: int) -> str:
    for kind in (ascii_lowercase, ascii_uppercase, digits[1:]):
        if char in kind or (char == "0" and kind == digits[1:]):
            return _choice(kind, char, byte)
    return _choice(_OTHER_LETTERS, char, byte) if char.isalnum() else char


def _other_mark(char: str, byte: int) -> str:
    return char if char.isspace() else _choice(_PUNCTUATION, char, byte)


def _choice(alphabet: str, char: str, byte: int) -> str:
    """Of the alphabet, another character: with two other digits in hexadecimal where there is such a one."""
    others = [each for each in alphabet if each != char]
    distant = [each for each in others if ord(each) >> 4 != ord(char) >> 4 and (ord(each) ^ ord(char)) & 15]
    near = [each for each in others if (ord(each) ^ ord(char)) & 15]
    chosen = distant or near or others
    return chosen[byte % len(chosen)]


VARIANTS: Final = (Variant("first"), Variant("second"), Variant("third", longer=True))
"""What is made of a secret differs from what is made of at least one of these."""


NOT_SHOWN: Final = "the message is not shown: it is made from secrets"
_KEPT: Final = 64  # pools: reports ask for each object of one after the other
_HALVES: Final = ("bootstrap", "provisioning")


@dataclass(frozen=True, slots=True)
class Scene:
    """A pool as it would be with certain secrets, and what renders it."""

    inputs: Inputs
    shared: ClusterFacts
    pool: ResolvedPool
    renderer: PoolRenderer
    objects: tuple[DesiredObject, ...] = field(repr=False)
    warnings: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Counterfactuals:
    """Renders pools of one cluster from other secrets, when it is asked about them.

    ``engine`` is one for the values of ``inputs``, and ``compiled`` the profiles that it has compiled so far.
    """

    inputs: Inputs
    settings: Settings
    engine: Engine
    compiled: CompiledProfiles = field(default_factory=dict)
    _worlds: dict[Variant | None, tuple[Inputs, ClusterFacts, PoolRenderer]] = field(default_factory=dict)
    _impossible: dict[Variant | None, Sequence[Problem]] = field(default_factory=dict)
    _is_public: dict[tuple[str, str], bool] = field(default_factory=dict)
    _found: dict[ObjectRef, SecretTexts] = field(default_factory=dict)
    _profiles: SecretTexts | None = None

    def secret_texts(self, machine: MachineDeployment | None) -> SecretTexts:
        """What of the objects of a pool was made from secrets; of the profiles, where none is named."""
        if machine is None:
            if self._profiles is None:
                self._profiles = together(self._profile_texts())
            return self._profiles
        pool = machine.ref
        if pool not in self._found:
            if len(self._found) >= _KEPT:
                del self._found[next(iter(self._found))]
            scenes = self.scenes(machine)
            self._found[pool] = ALL_SECRET if scenes is None else compared(scenes[0], scenes[1:], self.inputs.sensitive)
        return self._found[pool]

    def scenes(self, machine: MachineDeployment) -> tuple[Scene, ...] | None:
        """The pool as it is, then with other secrets; ``None`` where it cannot be rendered with others."""
        try:
            return (self.scene(machine, None), *(self.other(machine, variant) for variant in VARIANTS))
        except InputError:
            return None

    def other(self, machine: MachineDeployment, variant: Variant) -> Scene:
        """The pool with other secrets. Raises InputError where it cannot be rendered with them."""
        try:
            return self.scene(machine, variant)
        except InputError:
            return self.scene(machine, replace(variant, keeps_truth=True))

    def scene(self, machine: MachineDeployment, variant: Variant | None) -> Scene:
        """The pool with the secrets of a variant. Raises InputError where it cannot be rendered."""
        inputs, shared, renderer = self._world(variant)
        if variant is not None:
            machine = other_machine(machine, self.inputs.sensitive, variant.substitute)
        pool = resolve_pool(machine, inputs, shared)
        return Scene(inputs, shared, pool, renderer, *renderer.render(pool))

    def problems(self, machine: MachineDeployment, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Why a pool cannot be rendered, without the texts that a template has made from secrets."""
        found = tuple(problems)
        told = [each for each in found if each.code is not Code.TEMPLATE_LIMIT]  # those may have taken long
        return self._public(found, told, lambda: (self._problems_of(machine, variant) for variant in VARIANTS))

    def warnings(self, machine: MachineDeployment, warnings: Iterable[Problem]) -> tuple[Problem, ...]:
        """Warnings about what a pool renders to, without what a template has made from secrets."""
        found = tuple(warnings)

        def others() -> Iterator[Iterable[Problem]]:
            scenes = self.scenes(machine)
            yield from [()] if scenes is None else [scene.warnings for scene in scenes[1:]]

        return self._public(found, found, others)

    def _public(
        self,
        found: Iterable[Problem],
        unsure: Sequence[Problem],
        others: Callable[[], Iterable[Iterable[Problem]]],
    ) -> tuple[Problem, ...]:
        """Problems, those of them that are ``unsure`` only where ``others`` have them too. What was found out about a
        sentence for one pool holds for all pools: many fail alike."""
        unknown = {_sentence(each) for each in unsure} - self._is_public.keys()
        if unknown:
            public = set(unknown)
            for other in others():
                public &= set(map(_sentence, other))
                if not public:
                    break
            self._is_public |= {each: each in public for each in unknown}
        hidden = {each for each in unsure if not self._is_public[_sentence(each)]}
        return tuple(replace(each, what=NOT_SHOWN, fix="") if each in hidden else each for each in found)

    def _problems_of(self, machine: MachineDeployment, variant: Variant) -> Sequence[Problem]:
        try:
            self.scene(machine, variant)
        except InputError as failure:
            return failure.problems
        return ()

    def _world(self, variant: Variant | None) -> tuple[Inputs, ClusterFacts, PoolRenderer]:
        if variant not in self._worlds:
            if variant in self._impossible:
                raise InputError(self._impossible[variant])
            inputs, settings = self.inputs, self.settings
            if variant is not None:
                shared_by_all = replace(inputs, machines=())
                inputs, settings = with_other_secrets(shared_by_all, settings, variant.substitute)
            try:
                shared = resolve_cluster(settings, inputs.facts)
            except InputError as failure:
                self._impossible[variant] = failure.problems
                raise
            # Profiles with other texts have their templates in common with those that were compiled, but not all else.
            compiled = self.compiled if inputs.profiles is self.inputs.profiles else {}
            self._worlds[variant] = (inputs, shared, PoolRenderer(self.engine, shared, compiled))
        return self._worlds[variant]

    def _profile_texts(self) -> Iterator[SecretTexts]:
        """Of profiles, which are not rendered, what stood encrypted."""
        sealed = {line.strip() for text in self.inputs.sensitive for line in text.split("\n")} - {""}
        for profile in self.inputs.profiles.values() if sealed else ():
            texts = changed_texts(None, profile_object(profile).body)
            touched = {each.name for each in texts if not sealed.isdisjoint(map(str.strip, _lines(each.after)))}
            yield SecretTexts(frozenset(sealed), frozenset(touched), known=frozenset(each.name for each in texts))


def public_problems(problems: Iterable[Problem], others: Sequence[Collection[Problem]]) -> tuple[Problem, ...]:
    """Problems without the sentences that are made from secrets: those that not all of ``others`` have too."""
    return tuple(
        problem if all(problem in each for each in others) else replace(problem, what=NOT_SHOWN, fix="")
        for problem in problems
    )


def _sentence(problem: Problem) -> tuple[str, str]:
    return problem.what, problem.fix


def _lines(text: str | None) -> list[str]:
    return (text or "").split("\n")


def compared(ours: Scene, others: Sequence[Scene], sealed: frozenset[str]) -> SecretTexts:
    """What of the objects of a pool was made from secrets; ``sealed`` are the texts that stood encrypted."""
    profile = ours.pool.profile
    wholly = dict.fromkeys(_sealed_names(profile, sealed))
    found = [
        secret_texts(_texts(each), [_texts(other.objects[at]) for other in others], wholly)
        for at, each in enumerate(ours.objects)
    ]
    return together([*found, SecretTexts(reading=frozenset(_reading(ours, others)))])


def _texts(made: DesiredObject) -> Texts:
    """What templates can put something into: not the metadata, which holds digests of ours."""
    body: Mapping[str, object] = {key: value for key, value in made.body.items() if key != "metadata"}
    if made.ref.kind == "Secret":
        body = {**body, "metadata": {"name": made.ref.name}}
    return {each.name: each.after or "" for each in changed_texts(None, body) if each.name != "metadata"}


def _sealed_names(profile: OperatingSystemProfile, sealed: frozenset[str]) -> Iterator[str]:
    for half, config in zip(_HALVES, (profile.bootstrap, profile.provisioning), strict=True):
        yield from (f"{half} {path}" for path in sealed_templates(config, sealed))


def _reading(ours: Scene, others: Sequence[Scene]) -> Iterator[str]:
    """The files whose templates read a field that is another one where secrets are others."""
    data = ours.renderer.data(ours.pool)
    secret = {
        name
        for other in others
        for name, value in other.renderer.data(other.pool).items()
        if freeze(value) != freeze(data[name])
    }
    compiled = ours.renderer.compiled(ours.pool.profile)
    for name, half in zip(_HALVES, (compiled.bootstrap, compiled.provisioning), strict=True):
        met: dict[str, int] = {}
        for file, reads in zip(half.files, half.compiled.reads_by_file(), strict=True):
            number = met[file.path] = met.get(file.path, 0) + 1
            if secret and (ALL_FIELDS in reads or not secret.isdisjoint(reads)):
                yield f"{name} {file.path}" if number == 1 else f"{name} {file.path} ({number})"
