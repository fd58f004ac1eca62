"""Which lines of what was rendered were made from secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from osm_gitops.model.objects import ObjectRef


@dataclass(frozen=True, slots=True)
class SecretTexts:
    """What of a pool's texts was made from secrets, whatever a template did to them.

    ``lines`` are such lines without the white space around them; ``texts`` the names of the texts that hold them, and
    ``reading`` of those whose templates read a secret, whether or not it shows. Names are those of reports
    (``bootstrap /opt/bin/setup``); ``known`` are all that were looked at. ``whole``: it could not be found out, so
    everything counts as made from secrets.
    """

    lines: frozenset[str] = field(default=frozenset(), repr=False)
    texts: frozenset[str] = frozenset()
    reading: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    whole: bool = False

    def __bool__(self) -> bool:
        return self.whole or bool(self.texts)

    def hides(self, line: str) -> bool:
        """Whether a line, of whichever text, was made from secrets."""
        return self.whole or line.strip() in self.lines

    def touches(self, name: str) -> bool:
        """Whether the text of this name is made from secrets, as far as can be told."""
        # A text that is shown in another form than usual is a whole object's: it holds whatever the object does.
        unusual = name not in self.known and name.startswith(("data ", "spec "))
        return self.whole or name in self.texts or (unusual and bool(self.texts))

    def reads(self, name: str) -> bool:
        """Whether the text of this name is made from secrets or by a template that reads one."""
        return self.touches(name) or name in self.reading


NO_SECRETS = SecretTexts()
ALL_SECRET = SecretTexts(whole=True)

FindSecretTexts = Callable[[ObjectRef | None], SecretTexts]
"""Tells it of a pool, or of the profiles where none is named. It takes its time, so it is asked for what is shown."""


def no_secret_texts(_pool: ObjectRef | None) -> SecretTexts:
    """Where nothing is rendered."""
    return NO_SECRETS


def together(found: Iterable[SecretTexts]) -> SecretTexts:
    """What several say of the texts of one pool."""
    every = tuple(found)
    return SecretTexts(
        lines=frozenset().union(*(each.lines for each in every)),
        texts=frozenset().union(*(each.texts for each in every)),
        reading=frozenset().union(*(each.reading for each in every)),
        known=frozenset().union(*(each.known for each in every)),
        whole=any(each.whole for each in every),
    )
