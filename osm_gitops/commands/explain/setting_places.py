"""Where each setting comes from, for people who ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from osm_gitops.config.setting_names import DEFAULT_TEXTS, SETTINGS, Kind
from osm_gitops.config.settings import RawSetting, normal
from osm_gitops.model.explained import SettingOrigin

DEFAULT: Final = "default"


def setting_places(raw: Sequence[RawSetting]) -> tuple[SettingOrigin, ...]:
    """Every setting by its flag, in the order of the table: as it was given, or its default.

    ``raw`` has been parsed, so each can be read.
    """
    return tuple(_places(raw))


def _places(raw: Sequence[RawSetting]) -> Iterator[SettingOrigin]:
    given = {setting.name: setting for setting in raw}
    for setting in SETTINGS:
        found = given.get(setting.flag)
        if found is not None:
            yield SettingOrigin(setting.flag, _text(normal(found)), found.where)
        else:
            absent = "false" if setting.kind is Kind.BOOLEAN else ""
            yield SettingOrigin(setting.flag, DEFAULT_TEXTS.get(setting.flag, absent), DEFAULT, default=True)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, list | tuple) else str(value)
