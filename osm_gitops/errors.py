"""What can go wrong, as sentences for the person who must act.

A :class:`Problem` says what is wrong, where, with which object, and what to do next. An :class:`InputError` carries all
problems of an input at once. Nothing here prints or exits: that is the gate's work (``osm_gitops.cli.gate``).
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
    NOT_A_SEED = "OG1261"
    KKP_KUBECONFIG_MISSING = "OG1262"

    # OG13: config: fleet file, settings, flags
    APPLY_NEEDS_LIVE_TARGET = "OG1301"
    UNKNOWN_WAVE = "OG1302"
    WAVE_CIRCLE = "OG1303"
    WAVE_MATCHES_NOTHING = "OG1304"
    CLUSTER_IN_TWO_WAVES = "OG1305"
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
    OVERLAY_COPY_OUTDATED = "OG1409"
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

    # OG16: git
    GIT_UNUSABLE = "OG1601"
    GIT_COMMAND_FAILED = "OG1602"
    GIT_LIMIT = "OG1603"
    GIT_ENVIRONMENT = "OG1604"
    PUSH_REFUSED = "OG1611"
    REPOSITORY_ADDRESS = "OG1612"
    CREDENTIAL_IN_ADDRESS = "OG1613"
    GIT_NAME = "OG1614"
    GIT_TOKEN_FILE = "OG1615"
    NESTED_REPOSITORY = "OG1621"
    COMMIT_ALTERED = "OG1622"
    COMMIT_NOT_MADE = "OG1623"
    GIT_FILE_DAMAGED = "OG1624"

    # OG17: kube
    KUBECONFIG_NOT_FOUND = "OG1701"
    KUBECONFIG_INVALID = "OG1702"
    CONTEXT_NOT_FOUND = "OG1703"
    CREDENTIALS_UNUSABLE = "OG1704"
    CREDENTIAL_PLUGIN = "OG1705"
    SERVER_ADDRESS = "OG1706"
    PROXY_UNUSABLE = "OG1707"
    SERVER_CA_INVALID = "OG1708"
    API_SERVER_UNREACHABLE = "OG1711"
    LIST_EXPIRED = "OG1712"
    NOT_AN_API_SERVER = "OG1713"
    REQUEST_REFUSED = "OG1714"
    WEBHOOK_UNREACHABLE = "OG1715"
    OBJECT_NAME = "OG1716"
    METRICS_NOT_PUSHED = "OG1721"
    WEBHOOK_NOT_NOTIFIED = "OG1722"
    NOTIFIED_AGAIN = "OG1723"

    # OG18: workers
    WORK_LIMIT = "OG1801"

    # OG19: forge
    FORGE_UNKNOWN = "OG1901"
    FORGE_TOKEN = "OG1902"
    FORGE_UNREACHABLE = "OG1903"
    FORGE_REFUSED = "OG1904"
    NOT_A_FORGE = "OG1905"

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
    PROFILE_IN_OTHER_NAMESPACE = "OG2017"
    UNKNOWN_CLOUD_PROVIDER = "OG2021"
    CLOUD_SPEC_REFERENCE = "OG2022"
    CLOUD_SPEC_VALUE = "OG2023"
    CLOUD_SPEC_NULL = "OG2024"
    KUBELET_PRERELEASE = "OG2025"
    API_SERVER_UNKNOWN = "OG2031"
    CLUSTER_CA_MISSING = "OG2032"
    CLUSTER_INFO_INVALID = "OG2033"
    BOOTSTRAP_KUBECONFIG_INVALID = "OG2034"
    CLUSTER_CA_EMPTY = "OG2035"
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
    KUBELET_FIELD_UNKNOWN = "OG2114"

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

    # OG30: targets: folders and files
    TARGET_NOT_A_FOLDER = "OG3001"
    TARGET_OF_OTHERS = "OG3002"
    TARGET_SYMLINK = "OG3003"
    FILE_NAME = "OG3004"
    FILES_COLLIDE = "OG3005"
    ANOTHER_RUN = "OG3006"
    NO_FILE_LOCKS = "OG3007"
    FILES_OF_OTHERS = "OG3011"
    MANIFEST_UNREADABLE = "OG3012"
    PLAIN_SECRETS_IN_GIT = "OG3013"
    FILES_NOT_COMPARABLE = "OG3021"
    DIGEST_KEY_CHANGED = "OG3022"
    RECIPIENTS_CHANGED = "OG3023"
    DATA_KEY_NOT_OURS = "OG3024"
    NO_KEY_FOR_NEXT_RUN = "OG3025"
    DIGEST_KEY_TOO_SHORT = "OG3026"
    SOPS_RULE_TOO_NARROW = "OG3027"

    # OG31: targets: git
    NO_WORK_TREE = "OG3101"
    NO_COMMIT_YET = "OG3102"
    BRANCH_FOR_SEVERAL = "OG3103"
    WRONG_BRANCH = "OG3104"
    GIT_OPERATION_UNFINISHED = "OG3105"
    OWNED_FILES_EDITED = "OG3106"
    OWNED_FILES_HIDDEN = "OG3107"
    BASE_NOT_PUSHED = "OG3111"
    BRANCH_CHECKED_OUT = "OG3112"
    BRANCH_OF_OTHERS = "OG3113"
    BRANCHES_DIVERGED = "OG3121"
    REMOTE_BRANCH_DELETED = "OG3122"
    REMOTE_BRANCH_REWRITTEN = "OG3123"
    REMOTE_NOT_FOUND = "OG3124"
    PUSH_TOO_LATE = "OG3125"

    # OG32: targets: clusters
    ACCOUNT_NOT_FOUND = "OG3201"
    TOKEN_LIFE_SHORTENED = "OG3202"
    WRITTEN_BY_OTHERS = "OG3203"
    LOCK_LOST = "OG3204"
    LOCK_NOT_TAKEN = "OG3205"
    REVISION_DECLARED = "OG3206"
    OBJECT_NOT_OURS = "OG3207"
    FIELDS_OF_OTHERS = "OG3208"
    INVALID_RESULT = "OG3209"

    # OG33: pipeline
    SERVER_IN_UNTRUSTED_RUN = "OG3301"
    CLUSTERS_SHARE_TARGET = "OG3302"
    NO_TARGET = "OG3303"
    NO_POOL_MATCHES = "OG3304"
    NARROWED_RUN = "OG3305"
    POOL_NOT_TRIED = "OG3306"
    BUILT_IN_PROFILE_NOT_TAKEN = "OG3307"
    POOL_BEING_DELETED = "OG3308"
    OSM_RUNS = "OG3311"
    LEASE_INVALID = "OG3312"
    JINJA_PROFILE_BESIDE_OSM = "OG3321"
    PROFILE_NAME_TAKEN = "OG3322"
    PROFILE_VERSION_UNCHANGED = "OG3323"
    SHOWN_AS_NEW = "OG3341"
    CLUSTER_LEFT_FLEET = "OG3342"
    SOURCE_NOT_COMMITTED = "OG3343"
    SOURCE_REVISION_UNKNOWN = "OG3344"
    FLEET_FILE_CHANGED = "OG3345"
    POOLS_STUCK = "OG3346"
    LIMIT_NOT_RAISED = "OG3347"
    WAVES_NEED_HISTORY = "OG3351"
    WAVE_REVISION_UNKNOWN = "OG3352"
    NOT_HELD_BY_WAVES = "OG3353"
    CLUSTER_TIMEOUT = "OG3361"
    KKP_CLUSTER_UNHEALTHY = "OG3371"
    KKP_CLUSTER_PAUSED = "OG3372"
    KKP_CLUSTER_DELETED = "OG3373"
    KKP_NO_CLUSTER = "OG3374"
    KKP_DATACENTER_UNKNOWN = "OG3375"
    KKP_SETTING_DIFFERS = "OG3376"
    KKP_CLUSTER_LEFT_OUT = "OG3377"
    KKP_STATE_CHANGED = "OG3378"
    KKP_FOLDER_WITHOUT_CLUSTER = "OG3379"

    # OG40: cli
    MISSING_ARGUMENT = "OG4001"
    INVALID_OPTION = "OG4002"
    OPTIONS_CONFLICT = "OG4003"
    NO_TERMINAL = "OG4004"
    WARNINGS_NOT_ALLOWED = "OG4005"
    CREDENTIAL_NOT_SAVED = "OG4006"
    COMMAND_TRUSTS_TREE = "OG4007"
    CLUSTER_NOT_FOUND = "OG4011"
    SEVERAL_CLUSTERS = "OG4012"
    NO_SOURCE = "OG4013"

    # OG50: commands
    UNKNOWN_CODE = "OG5001"
    POOL_NOT_FOUND = "OG5011"
    SEVERAL_POOLS = "OG5012"
    BOOT_FILE_NOT_FOUND = "OG5013"
    USER_DATA_TOO_LARGE = "OG5014"
    NOTHING_TO_IMPORT = "OG5021"
    ALREADY_ENCRYPTED = "OG5022"
    FILE_EXISTS = "OG5023"
    SECRET_NOT_ENCRYPTED = "OG5024"
    OSM_NOT_FOUND = "OG5031"
    NO_HOME_FOLDER = "OG5032"
    NOT_AT_THE_ROOT = "OG5033"
    KEY_IN_REPOSITORY = "OG5034"
    FOLDER_NOT_IN_CLUSTER = "OG5041"
    SIDE_NOT_CHOSEN = "OG5042"
    NO_PROFILE_IN_FILE = "OG5051"
    SEVERAL_PROFILES_IN_FILE = "OG5052"
    UNKNOWN_PROFILE = "OG5053"
    PROFILE_DIFFERS = "OG5054"
    SOPS_LAYOUT = "OG5061"
    OSM_WEBHOOK = "OG5071"
    KIND_MISSING = "OG5072"
    GETTER_MISSING = "OG5073"
    DELETION_HELD = "OG5074"
    SECRET_STALE = "OG5075"
    POOL_WITHOUT_PROFILE = "OG5076"
    NOT_TAKEN_OVER = "OG5077"
    OBJECTS_LEFT_OVER = "OG5078"
    APPLIED_ELSEWHERE = "OG5081"
    DELETION_UNDER_WAY = "OG5082"
    PROFILE_REPLACED_BY_OSM = "OG5083"
    RENDERED_ANEW_BY_OSM = "OG5084"
    CHECK_PASSED = "OG5091"

    # OG51: checks of doctor, beside what runs report too
    COMMIT_PERSON_MISSING = "OG5101"
    SIGNING_PROGRAM_MISSING = "OG5102"
    SIGNING_KEY_MISSING = "OG5103"
    LINE_ENDS_CHANGED = "OG5104"
    KEY_PASSED_OVER = "OG5111"
    NO_PRIVATE_KEY = "OG5112"
    FILES_NOT_VERIFIED = "OG5113"
    PROGRAM_NOT_INSTALLED = "OG5121"
    TERMINAL_ENCODING = "OG5122"
    NO_FLEET_FILE = "OG5131"
    FLEET_SCHEMA_OUTDATED = "OG5132"
    NO_MACHINE_DEPLOYMENT = "OG5133"
    TARGETS_NOT_CHECKED = "OG5134"
    RIGHT_MISSING = "OG5141"

    # OG52: user clusters of KKP, which kkp switches
    NOT_A_USER_CLUSTER = "OG5201"
    KKP_CLUSTER_NOT_READY = "OG5202"
    OSM_SWITCHED_ON_BY_DEFAULT = "OG5203"
    OSM_OVERRIDE_NOT_KEPT = "OG5204"
    OSM_NOT_SWITCHED = "OG5205"
    SWITCH_CHANGES_BOOT = "OG5206"
    NOT_GIVEN_BACK = "OG5207"

    # OG53: the machines of boot
    BOOT_NEEDS = "OG5301"
    BOOT_LANE_FAILED = "OG5302"
    BOOT_NOT_POSSIBLE = "OG5303"
    NODE_NOT_JOINED = "OG5304"
    NODE_NOT_WELL = "OG5305"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    ``code`` is the kind of fault; ``what`` is a sentence without a final full stop; ``where`` is ``file:line`` or a
    flag's name; ``about`` the object (``MachineDeployment kube-system/a``); ``field`` a path inside it
    (``spec.template.spec.versions.kubelet``); ``fix`` a sentence that names the next step. Empty strings are left out
    when shown. None of them may hold a value that came from a Secret, a token or a credential.
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
        return f"{self.sentence} [{self.code.value}]"


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


class ForgeError(OsmGitopsError):
    """A forge that cannot be reached, or refuses; ``status`` is its HTTP status, 0 where it gave no answer."""

    def __init__(self, problems: Iterable[Problem], status: int = 0) -> None:
        super().__init__(problems)
        self.status = status


class LaneError(OsmGitopsError):
    """A machine that ``boot`` cannot boot here, or what it boots in fails."""


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


_LONGEST_WORD: Final = 80


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known word that is most similar to ``word``, whatever their case, or an empty text.

    ``cutoff`` is how similar it must be, from 0 to 1. Long words have none: comparing them is slow.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - slow, and every start imports this module

    spelled = {each.lower(): each for each in sorted(known)}
    if len(word) > _LONGEST_WORD:
        return ""
    found = get_close_matches(word.lower(), spelled, n=1, cutoff=cutoff)
    return spelled[found[0]] if found else ""


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """A sentence with the closest known word; or ``otherwise``, or all known words."""
    names = sorted(known)
    near = closest(word, names)
    return f"Did you mean {near}?" if near else otherwise or f"Known are {', '.join(names)}"


def input_error(
    code: Code, what: str, *, where: str = "", about: str = "", field: str = "", fix: str = ""
) -> InputError:
    """Build an :class:`InputError` with a single problem."""
    return InputError([Problem(code, what, where=where, about=about, field=field, fix=fix)])


def target_error(
    code: Code, what: str, *, where: str = "", about: str = "", field: str = "", fix: str = ""
) -> TargetError:
    """Build a :class:`TargetError` with a single problem."""
    return TargetError([Problem(code, what, where=where, about=about, field=field, fix=fix)])
