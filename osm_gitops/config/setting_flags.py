"""Settings as arguments of a command line again, for runs that start elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from osm_gitops.config.setting_names import SETTINGS_BY_FLAG, Kind
from osm_gitops.config.settings import RawSetting, normal
from osm_gitops.errors import Code, InputError, Problem

_CREDENTIALS: Final = re.compile(r"//[^/\s]*@")


def arguments(settings: Iterable[RawSetting], files: str) -> tuple[str, ...]:
    """One argument a value. Files are named ``<flag>.pem`` below ``files``; an empty name names none.

    The settings must be such that they can be parsed. Raises InputError for all that hold a password: arguments are
    shown to everybody who may look at a pod.
    """
    given = tuple(settings)
    problems = [
        Problem(
            Code.CREDENTIAL_IN_ARGUMENT,
            "a URL in it holds a password, and arguments of a pod are no place for one",
            where=setting.where,
            fix=f"Leave it out, and give {SETTINGS_BY_FLAG[setting.name].environment} in a Secret (--env-secret)",
        )
        for setting in given
        if any(_CREDENTIALS.search(text) for text in _texts(setting))
    ]
    if problems:
        raise InputError(problems)
    return tuple(argument for setting in given for argument in _arguments(setting, files))


def _texts(setting: RawSetting) -> list[str]:
    value = normal(setting)
    return value if isinstance(value, list) else [str(value)]


def _arguments(setting: RawSetting, files: str) -> Iterator[str]:
    kind, value = SETTINGS_BY_FLAG[setting.name].kind, normal(setting)
    if kind is Kind.BOOLEAN:
        yield f"--{'' if value else 'no-'}{setting.name}"
    elif kind is Kind.FILE:
        if value:
            yield f"--{setting.name}={files}/{setting.name}.pem"
    else:
        for text in _texts(setting):
            yield f"--{setting.name}={text}"
