"""What Operating System Manager was told by its flags, as settings of ours, each with where it comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.config.go_flags import GivenFlag, read_command_line
from osm_gitops.config.setting_names import CONNECTION_FLAGS, PASSED_OVER, SETTINGS_BY_FLAG, Kind, SettingName
from osm_gitops.config.settings import RawSetting, parse_settings
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.objects import Json, texts_in
from osm_gitops.sources.facts import CREDENTIAL_VARIABLES
from osm_gitops.sources.osm_deployment import OsmDeployment, flags_of
from osm_gitops.sources.pod import Pod, PodText

_USERINFO: Final = re.compile(r"://[^/\s@]+@")
_PRIVATE: Final = "PRIVATE KEY"
_NONE: Final[Mapping[str, PodText]] = {}


@dataclass(frozen=True, slots=True)
class FoundSetting:
    """A setting as OSM got it. ``origins`` are clauses on where its value stood; ``secret``: it must not be written
    in clear text. ``content`` is the text of the file that it names, and ``private`` that of no certificate alone."""

    setting: SettingName
    value: Json = field(repr=False)
    origins: tuple[str, ...]
    secret: bool = False
    content: str | None = field(default=None, repr=False)

    @property
    def flag(self) -> str:
        return self.setting.flag


@dataclass(frozen=True, slots=True)
class OsmSettings:
    """All that a Deployment tells. ``passed_over`` are notes on flags without a meaning here, ``credentials`` the
    cloud credential variables that its container has, ``kubeconfigs`` the files that it reaches clusters with."""

    deployment: OsmDeployment
    settings: tuple[FoundSetting, ...] = ()
    passed_over: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    kubeconfigs: dict[str, PodText] = field(default_factory=dict, repr=False)

    def raw(self) -> list[RawSetting]:
        """The settings as rendering takes them; a file is named by its flag (:meth:`read_file`)."""
        return [
            RawSetting(each.flag, each.flag if each.content is not None else each.value, f"flag -{each.flag} of OSM")
            for each in self.settings
        ]

    def read_file(self, flag: str) -> str:
        """The text of the file that a flag named."""
        return next(each.content or "" for each in self.settings if each.flag == flag)


def read_osm_settings(pod: Pod, deployment: OsmDeployment, bundles: Mapping[str, PodText] = _NONE) -> OsmSettings:
    """Read OSM's command line, and the files and variables that it leads to; ``bundles`` are files that the user has
    given instead, by flag.

    Raises InputError with every problem, for an empty argument above all: behind it OSM's parser ignores
    whatever follows (osm-behaviour.md, "Flags"). A failed read raises ClusterError.
    """
    where = str(deployment)
    try:
        words = flags_of(pod)
        flags = read_command_line([word.value for word in words])
        found = _Found(pod, words, bundles)
        for flag in flags:
            found.take(flag)
        settings = OsmSettings(
            deployment,
            tuple(found.settings.values()),
            tuple(found.passed_over),
            tuple(name for name in CREDENTIAL_VARIABLES if name in pod.environment),
            found.kubeconfigs,
        )
        found.stop_at_problems()
        _check(settings)
    except InputError as failure:
        raise InputError(problem.at(where=where) for problem in failure.problems) from None
    return settings


def _check(settings: OsmSettings) -> None:
    """Refuse what OSM would refuse, without showing a value that came from a Secret."""
    try:
        parse_settings(settings.raw(), settings.read_file)
    except InputError as failure:
        hidden = [text for each in settings.settings if each.secret for text in texts_in(each.value) if text]
        raise InputError(_without(problem, hidden) for problem in failure.problems) from None


def _without(problem: Problem, hidden: Sequence[str]) -> Problem:
    what = problem.what
    for text in hidden:
        what = what.replace(text, "…")
    return replace(problem, what=what)


@dataclass(slots=True)
class _Found:
    pod: Pod
    words: Sequence[PodText]
    bundles: Mapping[str, PodText]
    settings: dict[str, FoundSetting] = field(default_factory=dict)
    passed_over: list[str] = field(default_factory=list)
    kubeconfigs: dict[str, PodText] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def take(self, flag: GivenFlag) -> None:
        setting = SETTINGS_BY_FLAG.get(flag.name)
        if setting is not None:
            self._take_setting(setting, flag)
        elif flag.name in CONNECTION_FLAGS:
            self._take_kubeconfig(flag)
        elif flag.name in PASSED_OVER:
            self.passed_over.append(f"-{flag.name} is passed over: {PASSED_OVER[flag.name]}")
        else:
            self.passed_over.append(f"-{flag.name} is unknown here and passed over: see whether your profiles need it")

    def stop_at_problems(self) -> None:
        if self.problems:
            raise InputError(self.problems)

    def _take_setting(self, setting: SettingName, flag: GivenFlag) -> None:
        word = self.words[flag.at]
        origins, secret, content = (f"flag -{flag.name}", *word.origins), word.secret, None
        value: Json = flag.value
        if setting.kind is Kind.MIRRORS:
            earlier = self.settings.get(flag.name)
            value = [*(earlier.value if earlier else ()), flag.value]
            secret = secret or bool(earlier and earlier.secret)
        if setting.kind is Kind.FILE and flag.value:
            file = self._file(flag)
            if file is None:
                return
            origins, secret, content = (*origins, *file.origins), _PRIVATE in file.value, file.value
        elif setting.kind is Kind.FILE:
            self.settings.pop(flag.name, None)
            return
        self.settings[flag.name] = FoundSetting(setting, value, origins, secret or _has_userinfo(value), content)

    def _take_kubeconfig(self, flag: GivenFlag) -> None:
        if flag.value:
            try:
                self.kubeconfigs[flag.name] = self.pod.file(str(flag.value))
            except InputError:  # only its CA would be of use, and live configurations tell that too
                self.passed_over.append(f"-{flag.name} names a file that no ConfigMap or Secret has")

    def _file(self, flag: GivenFlag) -> PodText | None:
        if flag.name in self.bundles:
            return self.bundles[flag.name]
        try:
            return self.pod.file(str(flag.value))
        except InputError as failure:
            fix = f"Copy it from a node or a running pod, and give it with --{flag.name} FILE"
            self.problems += (
                Problem(
                    Code.UNCODED,
                    problem.what,
                    problem.where,
                    problem.about or f"flag -{flag.name}",
                    "",
                    problem.fix or fix,
                )
                for problem in failure.problems
            )
            return None


def _has_userinfo(value: Json) -> bool:
    """Whether an address in it holds a password."""
    return any(_USERINFO.search(text) for text in texts_in(value))
