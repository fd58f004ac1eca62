"""What can go wrong, as sentences for the person who must act.

A :class:`Problem` says what is wrong, where, with which object, and what to do
next. An :class:`InputError` carries all problems of an input at once. Nothing
here prints or exits: that is the gate's work (``osm_gitops.cli.gate``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

LONGEST: Final = 2000
"""Characters of each part of a problem that are shown: a template or a server may say a megabyte."""


class Code(Enum):
    """What kind of fault a :class:`Problem` is: a number that never changes its meaning."""

    UNCODED = "OG0000"  # only until every place has a code of its own

    # OG10: any room
    MORE_PROBLEMS = "OG1001"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    ``code`` is the kind of fault; ``what`` is a sentence without a final full stop;
    ``where`` is ``file:line`` or a flag's name; ``about`` the object
    (``MachineDeployment kube-system/a``);
    ``field`` a path inside it (``spec.template.spec.versions.kubelet``); ``fix``
    a sentence that names the next step. Empty strings are left out when shown.
    None of them may hold a value that came from a Secret, a token or a credential.
    """

    code: Code
    what: str
    where: str = ""
    about: str = ""
    field: str = ""
    fix: str = ""

    def at(self, *, where: str = "", about: str = "", field: str = "") -> Problem:
        """Return this problem with the places filled in that it did not name itself."""
        return replace(
            self,
            where=self.where or where,
            about=self.about or about,
            field=self.field or field,
        )

    def __str__(self) -> str:
        head = ": ".join(part for part in (self.where, self.about, self.field) if part)
        text = f"{head}: {self.what}" if head else self.what
        if self.fix:
            text = f"{text} {self.fix}" if text.endswith("?") else f"{text}. {self.fix}"
        return text if self.code is Code.UNCODED else f"{text} [{self.code.value}]"


class OsmGitopsError(Exception):
    """Base of every error that this program raises on purpose; carries its problems."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class InputError(OsmGitopsError):
    """An input (manifest, profile, setting, fleet file, flag) that cannot be used."""


class TargetError(OsmGitopsError):
    """A target that cannot be read or written as it is (dirty files, refused push)."""


class EncryptionError(OsmGitopsError):
    """An encrypted document that cannot be opened or is not what was encrypted, or a body that cannot be encrypted."""


class ClosedError(EncryptionError):
    """An encrypted document that no key at hand opens."""


class ClusterError(OsmGitopsError):
    """An API server that cannot be reached, or refuses; ``status`` is its HTTP status, 0 where it gave no answer."""

    def __init__(self, problems: Iterable[Problem], status: int = 0) -> None:
        super().__init__(problems)
        self.status = status


class ConflictError(ClusterError):
    """Another writer was there: fields of other ``managers`` in an apply, or an object that moved since it was read."""

    def __init__(self, problems: Iterable[Problem], managers: tuple[str, ...] = ()) -> None:
        super().__init__(problems, 409)
        self.managers = managers


class WebhookError(ClusterError):
    """An admission webhook that the API server cannot call: until that is mended, it refuses all that the webhook
    judges. ``webhook`` is its name, with its configuration where that is known."""

    def __init__(self, problems: Iterable[Problem], webhook: str) -> None:
        super().__init__(problems, 500)
        self.webhook = webhook


class LostLockError(ClusterError):
    """The Lease is somebody else's: whoever held it must not write any more."""


class UnsafePlanError(OsmGitopsError):
    """A plan that a guard refuses until it is asked for explicitly (design.md, "Guards")."""


class UnexpectedError(Exception):
    """What no input may make the program raise, here or in a worker process: a bug. Holds its place, never a value."""

    def __init__(self, kind: str, place: str) -> None:
        super().__init__(f"{kind} at {place}")
        self.kind = kind
        self.place = place

    @classmethod
    def of(cls, error: BaseException) -> UnexpectedError:
        """What is told of any error: where in our code it struck, without its message, which may hold values."""
        if isinstance(error, cls):
            return error
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "an unknown place"
        return cls(type(error).__name__, place)


def shortened(text: str) -> str:
    """The start of a text that is longer than :data:`LONGEST`, and how much more there is.

    To be done after masking: half a secret is not recognised.
    """
    more = len(text) - LONGEST
    return f"{text[:LONGEST]}… ({more} more characters)" if more > 0 else text


MOST_PROBLEMS = 20
"""How many problems of one object are listed."""


def first_problems(problems: Sequence[Problem], most: int = MOST_PROBLEMS) -> tuple[Problem, ...]:
    """The first ``most`` problems of one object, and one that counts the others."""
    if len(problems) <= most:
        return tuple(problems)
    last = problems[most - 1]
    more = Problem(Code.MORE_PROBLEMS, f"problems that are not listed here: {len(problems) - most:,}", about=last.about)
    return (*problems[:most], more.at(where=last.where.rpartition(":")[0] or last.where))


def some(names: Sequence[object], most: int) -> str:
    """The first ``most`` of ``names``, and how many more there are: ``a, b and 7 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(map(str, names[:most]))}{more}"


def input_error(
    code: Code, what: str, *, where: str = "", about: str = "", field: str = "", fix: str = ""
) -> InputError:
    """Build an :class:`InputError` with a single problem."""
    return InputError([Problem(code, what, where=where, about=about, field=field, fix=fix)])
