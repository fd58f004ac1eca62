"""Read the waves of a fleet file, and find the wave of each cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Final, Protocol

from osm_gitops.config.fleet_keys import AFTER, NAME_PATTERN, WAVE
from osm_gitops.errors import Code, did_you_mean, input_error
from osm_gitops.gocompat.duration import parse_duration
from osm_gitops.gocompat.fault import GoError
from osm_gitops.model.objects import Json
from osm_gitops.model.promotion import SOAK, WAITING, After, Wave
from osm_gitops.render.resolve.json_fields import type_name

_NAME: Final = re.compile(NAME_PATTERN)


class Faults(Protocol):
    """Collects problems of a document; ``at`` is the path of a field, such as ``waves[0].after``."""

    def problem(self, code: Code, at: str, what: str, fix: str = "") -> None:
        """Add a problem."""

    def check_keys(self, value: Mapping[str, Json], at: str, known: Iterable[str]) -> None:
        """Add a problem for each unknown key."""

    def where(self, at: str) -> str:
        """``file:line``."""


def read_waves(value: Json, faults: Faults) -> tuple[Wave, ...]:
    """The valid waves; all problems of the others are added."""
    if value is None:
        return ()
    if not isinstance(value, list):
        faults.problem(Code.WRONG_TYPE, "waves", f"it must be a list of waves, not {type_name(value)}")
        return ()
    found = [_wave(each, f"waves[{index}]", faults) for index, each in enumerate(value)]
    places: dict[str, str] = {}
    for index, wave in enumerate(found):
        if wave is None:
            continue
        if wave.name in places:
            what = f'"{wave.name}" is already the name of {places[wave.name]}'
            faults.problem(Code.DUPLICATE_NAME, f"waves[{index}].name", what)
        places.setdefault(wave.name, f"waves[{index}]")
    named = {each["name"] for each in value if isinstance(each, dict) and isinstance(each.get("name"), str)}
    for index, wave in enumerate(found):
        if wave is None or wave.after is None:
            continue
        at = f"waves[{index}].after.wave"
        if wave.after.wave not in named:
            what = f'there is no wave "{wave.after.wave}"'
            faults.problem(Code.UNKNOWN_WAVE, at, what, did_you_mean(wave.after.wave, sorted(named)))
        elif (circle := _circle(wave, found)) is not None:
            what = f"a wave waits for itself: {' → '.join(circle)}"
            faults.problem(Code.WAVE_CIRCLE, at, what, "Let the first wave wait for none")
    return tuple(wave for wave in found if wave is not None)


def waves_of(
    clusters: Sequence[str], waves: Sequence[Wave], faults: Faults, *, complete: bool = True
) -> Mapping[str, Wave]:
    """The wave of each cluster that is in one. A cluster in two waves is a problem, and so is a selection that matches
    no cluster, if these are ``complete``."""
    found: dict[str, Wave] = {}
    for wave in waves:
        for number, glob in enumerate(wave.select):
            at = f"{wave.field}.select[{number}]"
            matching = [name for name in clusters if fnmatchcase(name, glob)]
            if complete and not matching:
                faults.problem(Code.WAVE_MATCHES_NOTHING, at, f'no cluster has a name that matches "{glob}"')
            for name in matching:
                other = found.setdefault(name, wave)
                if other is not wave:
                    what = f'cluster "{name}" is in wave "{other.name}" too'
                    faults.problem(Code.CLUSTER_IN_TWO_WAVES, at, what, "Select each cluster in one wave")
    return found


def wave_of(cluster: str, waves: Sequence[Wave]) -> Wave | None:
    """The wave of a cluster that was discovered in a run. Raises InputError if it is in two."""
    found = [wave for wave in waves if any(fnmatchcase(cluster, glob) for glob in wave.select)]
    if len(found) > 1:
        names = " and ".join(wave.name for wave in found)
        raise input_error(
            Code.CLUSTER_IN_TWO_WAVES,
            f"it is in waves {names}",
            where=found[1].where,
            about=f"cluster {cluster}",
            fix="Select each cluster in one wave",
        )
    return next(iter(found), None)


def _wave(value: Json, at: str, faults: Faults) -> Wave | None:
    """A wave; ``None`` if it has no name. Invalid parts are problems, and left out."""
    if not isinstance(value, dict):
        faults.problem(Code.WRONG_TYPE, at, f"it must be a mapping, not {type_name(value)}")
        return None
    faults.check_keys(value, at, WAVE)
    name, select, hold = value.get("name"), value.get("select"), value.get("hold", "")
    if not isinstance(select, list) or not select or not all(isinstance(each, str) and each for each in select):
        faults.problem(Code.WRONG_TYPE, f"{at}.select", "it must be a list of names (globs) of clusters")
        select = []
    if not isinstance(hold, str) or ("hold" in value and not hold.strip()):
        faults.problem(Code.WRONG_TYPE, f"{at}.hold", "it must say why, as a text")
        hold = ""
    after = _after(value["after"], f"{at}.after", faults) if value.get("after") is not None else None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        faults.problem(Code.INVALID_VALUE, f"{at}.name", "it must be a name of lower-case letters, digits and dashes")
        return None
    return Wave(
        name=name, select=tuple(select), after=after, hold=" ".join(hold.split()), where=faults.where(at), field=at
    )


def _after(value: Json, at: str, faults: Faults) -> After | None:
    """A condition; ``None`` if it names no wave. Invalid parts are problems, and have their defaults."""
    if not isinstance(value, dict):
        faults.problem(Code.WRONG_TYPE, at, f"it must be a mapping with the key wave, not {type_name(value)}")
        return None
    faults.check_keys(value, at, AFTER)
    wave, healthy, machines = value.get("wave"), value.get("healthy", True), value.get("machines", 0)
    if not isinstance(healthy, bool):
        faults.problem(Code.WRONG_TYPE, f"{at}.healthy", "it must be true or false")
        healthy = True
    if type(machines) is not int or machines < 0:
        faults.problem(Code.WRONG_TYPE, f"{at}.machines", "it must be a number of Machines, 0 or more")
        machines = 0
    if not healthy:
        for key in ("machines", "waiting"):
            if key in value:
                faults.problem(Code.INVALID_VALUE, f"{at}.{key}", "the key has no effect with healthy: false")
    soak = _duration(value.get("soak"), SOAK, f"{at}.soak", faults)
    waiting = _duration(value.get("waiting"), WAITING, f"{at}.waiting", faults)
    if not isinstance(wave, str) or not wave:
        faults.problem(Code.MISSING_KEY, f"{at}.wave", "it must name a wave")
        return None
    return After(wave=wave, soak=soak, healthy=healthy, waiting=waiting, machines=machines)


def _duration(value: Json, default: timedelta, at: str, faults: Faults) -> timedelta:
    if value is None:
        return default
    try:
        nanoseconds = parse_duration(value) if isinstance(value, str) else -1
    except GoError:
        nanoseconds = -1
    if nanoseconds < 0:
        faults.problem(Code.INVALID_VALUE, at, "it must be a duration", 'Write for example "24h" or "90m"')
        return default
    return timedelta(microseconds=nanoseconds // 1000)


def _circle(wave: Wave, waves: Sequence[Wave | None]) -> list[str] | None:
    """The names from a wave back to itself; ``None`` if it does not wait for itself."""
    by_name = {each.name: each for each in reversed(waves) if each is not None}
    names = [wave.name]
    here: Wave | None = wave
    while here is not None and here.after is not None:
        names.append(here.after.wave)
        if here.after.wave == wave.name:
            return names
        if len(names) > len(by_name):
            return None  # it leads into a circle of others, which they report
        here = by_name.get(here.after.wave)
    return None
