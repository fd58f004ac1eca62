"""All functions of Go templates (osm-behaviour.md, "Template functions"), and those that are refused by name, since
their results would differ from run to run (design.md, "Success and refusal").

Each module has the pure functions of one family over the values of ``gotemplate.values``, and ends with its table
``FUNCTIONS`` of :class:`~osm_gitops.gotemplate.calls.GoFunction`. Functions raise ``GoError``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.functions import builtins, dates, dicts, lists, numeric, paths, serial, strings

_CLOCK: Final = "it reads the clock; give the time as a setting or write it into the profile"
_CHANCE: Final = "its result is random and would change with every run; put the value into a Secret or a setting"
_KEYS: Final = "it makes key material that would change with every run; make it once and keep it in a Secret"
_ENVIRONMENT: Final = "it reads the environment of the process; use a setting"
_NETWORK: Final = "it asks the network; write the address into the profile"
_SECRETS: Final = "it handles secrets in a profile; do it once and keep the result in a Secret"

_REASONS: Final[Mapping[str, tuple[str, ...]]] = {
    _CLOCK: ("now", "ago"),
    _CHANCE: (
        *("randAlpha", "randAlphaNum", "randAscii", "randNumeric", "randBytes", "randInt"),
        *("shuffle", "uuidv4", "bcrypt", "htpasswd", "encryptAES"),
    ),
    _KEYS: (
        *("genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey"),
        *("genSignedCert", "genSignedCertWithKey"),
    ),
    _ENVIRONMENT: ("env", "expandenv"),
    _NETWORK: ("getHostByName",),
    _SECRETS: ("derivePassword", "decryptAES", "buildCustomCert"),
}

REFUSED: Final[Mapping[str, str]] = {name: reason for reason, names in _REASONS.items() for name in names}


_FAMILIES: Final = (builtins, dates, dicts, lists, numeric, paths, serial, strings)

FUNCTIONS: Final[Mapping[str, GoFunction]] = {
    function.name: function for family in _FAMILIES for function in family.FUNCTIONS
}

__all__ = ["FUNCTIONS", "REFUSED"]
