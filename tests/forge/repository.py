"""A repository at a forge as tests know it: pull requests, comments, labels and users in the words of no forge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from threading import Event
from typing import Any

from osm_gitops.forge.place import ForgeKind, Place

Json = Any

REPOSITORY = "org/nodes"
TOKEN = "forge-token-0123456789"
BOT = "osm-bot"


class Fault(Enum):
    """What a server does in place of an answer. Statuses come with a message in the forge's form."""

    UNAUTHORIZED = 401
    FORBIDDEN = 403
    NOT_FOUND = 404
    CONFLICT = 409
    UNPROCESSABLE = 422
    TOO_MANY = 429
    BROKEN = 500
    REDIRECT = 302
    RESET = "reset"
    TIMEOUT = "timeout"
    NOT_JSON = "not json"
    HUGE = "huge"
    UNSURE = "done, but without an answer"


@dataclass(slots=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    token: str
    body: Json
    raw: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(slots=True)
class Pull:
    """A pull request in the words of no forge."""

    number: int
    head: str
    base: str
    title: str
    body: str
    draft: bool = False
    state: str = "open"
    merged: bool = False
    commit: str = ""
    fork: bool = False
    labels: list[str] = field(default_factory=list)
    reviewers: list[str] = field(default_factory=list)
    teams: list[str] = field(default_factory=list)
    reviewed: list[str] = field(default_factory=list)
    auto_merge: str = ""

    def add_labels(self, labels: list[str]) -> None:
        self.labels += [label for label in labels if label not in self.labels]

    def ask(self, reviewers: list[str], teams: list[str]) -> None:
        self.reviewers = sorted({*self.reviewers, *reviewers})
        self.teams = sorted({*self.teams, *teams})


@dataclass(slots=True)
class Note:
    """A comment on pull request 7, or on whichever it is."""

    identity: int
    author: str | None
    body: str


@dataclass(slots=True)
class FakeForge:
    """A server with one repository. ``faults`` has what happens at a request, counted from 1; ``tip`` returns the
    commit of a branch."""

    kind: ForgeKind
    address: str = ""
    elsewhere: str = ""
    pulls: list[Pull] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=lambda: {"nodes": 1, "automated": 2})
    users: dict[str, int] = field(default_factory=lambda: {BOT: 1, "ann": 2, "ben": 3})
    asked: list[Asked] = field(default_factory=list)
    faults: dict[int, Fault] = field(default_factory=dict)
    tip: Callable[[str], str] = lambda _: "c" * 40
    not_ready: bool = False
    no_auto_merge: bool = False
    hold: Event = field(default_factory=Event)

    @property
    def api(self) -> str:
        paths = {ForgeKind.GITHUB: "/api/v3", ForgeKind.GITLAB: "/api/v4"}
        return self.address + paths.get(self.kind, "/api/v1")

    @property
    def place(self) -> Place:
        return Place(self.kind, self.api, REPOSITORY)

    @property
    def said(self) -> list[str]:
        """All requests as ``METHOD path``."""
        return [str(each) for each in self.asked]

    @property
    def open_pulls(self) -> list[Pull]:
        return [pull for pull in self.pulls if pull.state == "open"]

    def pull(self, number: int) -> Pull:
        return next(pull for pull in self.pulls if pull.number == number)

    def create(self, head: str, base: str, title: str, body: str, *, draft: bool) -> Pull | None:
        """A new pull request; ``None`` if there is one already."""
        if any((pull.head, pull.base, pull.fork) == (head, base, False) for pull in self.open_pulls):
            return None
        pull = Pull(len(self.pulls) + 7, head, base, title, body, draft=draft)
        self.pulls.append(pull)
        return pull

    def commit_of(self, pull: Pull) -> str:
        if pull.state == "open":
            pull.commit = self.tip(pull.head)
        return pull.commit

    def add_note(self, author: str | None, body: str) -> Note:
        note = Note(100 + len(self.notes), author, body)
        self.notes.append(note)
        return note
