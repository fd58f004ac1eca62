"""All functions of Go templates: those that can be called and those that are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.gotemplate.functions import (
    builtins,
    dates,
    dicts,
    encoding,
    lists,
    logic,
    numeric,
    paths,
    regexes,
    serial,
    strings,
    types,
    urls,
    versions,
)
from osm_gitops.gotemplate.functions.refused import REFUSED
from osm_gitops.gotemplate.functions.signature import GoFunction

_FAMILIES: Final = (
    *(builtins, dates, dicts, encoding, lists, logic, numeric),
    *(paths, regexes, serial, strings, types, urls, versions),
)

FUNCTIONS: Final[Mapping[str, GoFunction]] = {
    function.name: function for family in _FAMILIES for function in family.FUNCTIONS
}

__all__ = ["FUNCTIONS", "REFUSED"]
