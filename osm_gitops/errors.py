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
    """The kind of fault that a :class:`Problem` is: one for each reaction that it takes from a person.

    ``messages.toml`` says what each means and what to do. A published code never changes its meaning, and its number
    is never used again. The first four characters name the group: a room, or what several rooms share (OG10).
    """

    UNCODED = "OG0000"  # only until every place has a code of its own

    # OG10: what several rooms share: files, and the keys and values of what is read
    MORE_PROBLEMS = "OG1001"
    FILE_UNREADABLE = "OG1011"
    FILE_UNWRITABLE = "OG1012"
    FILE_TOO_LARGE = "OG1013"
    UNKNOWN_KEY = "OG1021"
    MISSING_KEY = "OG1022"
    WRONG_TYPE = "OG1023"
    INVALID_VALUE = "OG1024"
    DUPLICATE_NAME = "OG1025"
    NOT_ONE_DOCUMENT = "OG1026"

    # OG11: yaml
    YAML_SYNTAX = "OG1101"
    TEXT_ENCODING = "OG1102"
    DUPLICATE_KEY = "OG1103"
    YAML_TOO_COMPLEX = "OG1104"
    YAML_VALUE = "OG1105"
    YAML_EDIT_FAILED = "OG1106"

    # OG12: sources and model
    SOURCE_NOT_FOUND = "OG1201"
    SOURCE_TOO_LARGE = "OG1202"
    REVISION_NOT_FOUND = "OG1203"
    SUBMODULE_NOT_READ = "OG1204"
    LINK_LEADS_OUT = "OG1205"
    POINTER_FILE = "OG1206"
    OUTSIDE_UNTRUSTED_TREE = "OG1207"
    FACT_MAY_BE_UNREAD = "OG1208"
    OBJECT_NOT_IDENTIFIED = "OG1211"
    DUPLICATE_OBJECT = "OG1212"
    OBJECT_NAME_REFUSED = "OG1213"
    POOL_NAMES_CLASH = "OG1214"
    POOLS_SHARE_SECRETS = "OG1215"
    UNKNOWN_FIELD = "OG1216"
    API_SERVER_REFUSES = "OG1217"
    DELETION_TIMESTAMP_IN_FILE = "OG1218"
    SERVER_FIELD_IN_FILE = "OG1219"
    UNKNOWN_TEMPLATE_LANGUAGE = "OG1220"
    SECRET_IN_PLAIN_TEXT = "OG1231"
    CREDENTIAL_IN_PLAIN_TEXT = "OG1232"
    CIPHERTEXT_WITHOUT_SOPS = "OG1233"
    ENCRYPTED_NAME = "OG1234"
    READ_WITHOUT_KEY = "OG1235"
    BROKEN_INSTALLATION = "OG1241"
    UNKNOWN_PROFILES_VERSION = "OG1242"
    BUILT_IN_PROFILE_INVALID = "OG1243"
    OSM_NOT_RECOGNISED = "OG1251"
    OSM_INPUT_MISSING = "OG1252"
    CLUSTER_CA_UNKNOWN = "OG1253"

    # OG13: config: fleet file, settings, flags
    APPLY_NEEDS_LIVE_TARGET = "OG1301"
    TOKEN_LIFE_TOO_SHORT = "OG1311"
    CREDENTIAL_IN_ARGUMENT = "OG1312"
    INVALID_FLAG = "OG1321"
    FLAGS_END_EARLY = "OG1322"

    # OG14: config: overlays and patches
    OVERLAY_NOT_FOUND = "OG1401"
    OVERLAY_FILE_NOT_FOUND = "OG1402"
    OVERLAY_CIRCLE = "OG1403"
    OVERLAY_TOO_LARGE = "OG1404"
    OVERLAY_VALUE_CIRCLE = "OG1405"
    OVERLAY_TEMPLATE = "OG1406"
    OVERLAYS_CONFLICT = "OG1407"
    VALUE_NOT_READ = "OG1408"
    PATCH_INVALID = "OG1421"
    PATCH_DOES_NOT_APPLY = "OG1422"
    PATCH_LIMIT = "OG1423"
    PATCH_FOR_NO_PROFILE = "OG1424"

    # OG15: sops
    NO_KEY_OPENS = "OG1501"
    SOPS_DAMAGED = "OG1502"
    SOPS_UNSUPPORTED = "OG1503"
    SOPS_OTHER_KEYS = "OG1504"
    SOPS_REPEATED_RECIPIENT = "OG1505"
    VALUE_NOT_ENCRYPTABLE = "OG1506"
    NO_SOPS_RULE_MATCHES = "OG1511"
    SOPS_RULE_INVALID = "OG1512"
    SOPS_RULE_NO_RECIPIENT = "OG1513"
    SOPS_RULE_NOT_AGE_ONLY = "OG1514"
    RECIPIENT_INVALID = "OG1521"
    RECIPIENT_UNSUPPORTED = "OG1522"
    PRIVATE_KEY_AS_RECIPIENT = "OG1523"
    AGE_KEY_INVALID = "OG1531"
    AGE_KEY_COMMAND = "OG1532"

    # OG20: render: what a pool is made of
    PROFILE_NOT_FOUND = "OG2001"
    PROFILE_NOT_NAMED = "OG2002"
    PROFILE_BROKEN = "OG2003"
    PROFILE_LEFT_OUT = "OG2004"
    PROFILE_DOES_NOT_FIT = "OG2005"
    UTILITY_MISMATCH = "OG2006"
    UNKNOWN_OPERATING_SYSTEM = "OG2011"
    STATIC_NETWORK_UNSUPPORTED = "OG2012"
    KUBELET_VERSION_INVALID = "OG2013"
    KUBELET_ANNOTATION_INVALID = "OG2014"
    KUBELET_ANNOTATION_AMBIGUOUS = "OG2015"
    KUBELET_DURATION_PRINTED = "OG2016"
    UNKNOWN_CLOUD_PROVIDER = "OG2021"
    CLOUD_SPEC_REFERENCE = "OG2022"
    CLOUD_SPEC_VALUE = "OG2023"
    CLOUD_SPEC_NULL = "OG2024"
    KUBELET_PRERELEASE = "OG2025"
    API_SERVER_UNKNOWN = "OG2031"
    CLUSTER_CA_MISSING = "OG2032"
    CLUSTER_INFO_INVALID = "OG2033"
    BOOTSTRAP_KUBECONFIG_INVALID = "OG2034"
    BOOTSTRAP_TOKEN_MISSING = "OG2041"
    SEVERAL_BOOTSTRAP_TOKENS = "OG2042"
    BOOTSTRAP_TOKEN_INVALID = "OG2043"
    BOOTSTRAP_TOKEN_LABEL = "OG2044"
    REGISTRY_CREDENTIALS_MISSING = "OG2051"
    REGISTRY_CREDENTIALS_INVALID = "OG2052"
    REGISTRY_HOST_TWICE = "OG2053"

    # OG21: render: templates and user-data
    TEMPLATE_FAILED = "OG2101"
    TEMPLATE_REFUSES_POOL = "OG2102"
    TEMPLATE_LIMIT = "OG2103"
    IGNITION_CONTENT = "OG2111"
    IGNITION_LOSES_CONTENT = "OG2112"
    CLOUD_INIT_BREAKS = "OG2113"

    # OG22: plan
    NOTHING_DESIRED = "OG2201"
    TOO_MANY_DELETIONS = "OG2202"
    TOO_MANY_CHANGES = "OG2203"
    POOLS_NOT_IN_SOURCE = "OG2211"
    POOLS_NOT_IN_CLUSTER = "OG2212"
    POOLS_DIFFER = "OG2213"
    OLD_PROFILE_FILE = "OG2221"

    # OG23: report
    SAVED_PLAN_INVALID = "OG2301"
    SAVED_PLAN_STALE = "OG2302"

    # OG40: cli
    MISSING_ARGUMENT = "OG4001"

    # OG50: commands
    UNKNOWN_CODE = "OG5001"


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

    @property
    def sentence(self) -> str:
        """The problem without its code, for what goes on behind it."""
        head = ": ".join(part for part in (self.where, self.about, self.field) if part)
        text = f"{head}: {self.what}" if head else self.what
        if self.fix:
            return f"{text} {self.fix}" if text.endswith("?") else f"{text}. {self.fix}"
        return text

    def __str__(self) -> str:
        return self.sentence if self.code is Code.UNCODED else f"{self.sentence} [{self.code.value}]"


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
