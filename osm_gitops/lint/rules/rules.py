"""The rules on sources, templates, pools, versions and suppressions."""

from __future__ import annotations

from typing import Final

from osm_gitops.model.finding import Rule, Severity

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

UNREADABLE: Final = Rule("unreadable", _ERROR, "a file or a document of the sources cannot be read")
FLEET_FILE: Final = Rule("fleet-file", _ERROR, "the fleet file, or what it names, cannot be used")
SETTING: Final = Rule("setting", _ERROR, "a setting of a cluster has an invalid value")
OVERLAY: Final = Rule("overlay", _ERROR, "an overlay cannot be read or applied")
PROFILE_SCHEMA: Final = Rule("profile-schema", _ERROR, "an OperatingSystemProfile does not match its schema")
POOL_SCHEMA: Final = Rule("pool-schema", _ERROR, "a MachineDeployment does not match its schema")
SOURCE: Final = Rule("source", _WARNING, "the sources contain something that is probably a mistake")
NAME: Final = Rule("name", _WARNING, "an object has a name that API servers refuse")
PASSED_OVER: Final = Rule("passed-over", _NOTE, "something was not checked, because it is not in the given files")
NOTHING_TO_JUDGE: Final = Rule("nothing-to-judge", _WARNING, "a given path contains nothing to check")

TEMPLATE_SYNTAX: Final = Rule("template-syntax", _ERROR, "a template cannot be parsed, or calls an unknown function")
TEMPLATE_FAILS: Final = Rule("template-fails", _ERROR, "a branch of a template always fails")
TEMPLATE_REFUSED: Final = Rule(
    "template-refused", _ERROR, "a template uses a function that is refused: time, randomness, environment, network"
)
UNDEFINED_NAME: Final = Rule("undefined-name", _ERROR, "a template uses an undefined name")
UNKNOWN_FIELD: Final = Rule("unknown-field", _ERROR, "a template reads a field that does not exist")
UNKNOWN_FILTER: Final = Rule("unknown-filter", _ERROR, "a template uses a filter or a test that does not exist")
MISSING_TEMPLATE: Final = Rule(
    "missing-template", _ERROR, "a template includes another one that the profile does not have"
)
UNUSED_TEMPLATE: Final = Rule("unused-template", _WARNING, "no file of a profile uses one of its templates")
RENDERING: Final = Rule("rendering", _ERROR, "a profile cannot be rendered for a pool that it claims to support")
USER_DATA: Final = Rule("user-data", _WARNING, "the user-data of a pool differs from what its profile probably intends")
NEVER_RENDERED: Final = Rule(
    "never-rendered", _ERROR, "a profile refuses every combination of provider, version and settings"
)

CLUSTER: Final = Rule("cluster", _ERROR, "something that all pools of a cluster need is missing or wrong in the source")
POOL: Final = Rule("pool", _ERROR, "a MachineDeployment cannot be rendered: it, or something that it needs, is wrong")
POOL_REFUSED: Final = Rule("pool-refused", _ERROR, "the profile of a MachineDeployment refuses it with fail()")
POOL_WARNING: Final = Rule("pool-warning", _WARNING, "Machines of a pool may get something else than intended")

VERSION_NOT_RAISED: Final = Rule(
    "version-not-raised", _ERROR, "the spec of a profile changed without a new version, so clusters keep the old one"
)
VERSION_WENT_BACK: Final = Rule("version-went-back", _WARNING, "a profile has an older version than before")
PROFILE_VANISHED: Final = Rule("profile-vanished", _ERROR, "a profile was deleted that a pool still names")

SUPPRESSION_REASON: Final = Rule("suppression-reason", _ERROR, "a suppression gives no reason")
SUPPRESSION_UNKNOWN: Final = Rule("suppression-unknown", _WARNING, "a suppression names a rule that does not exist")
SUPPRESSION_UNUSED: Final = Rule("suppression-unused", _NOTE, "a suppression has no effect")

RULES: Final = tuple(each for each in tuple(globals().values()) if isinstance(each, Rule))
