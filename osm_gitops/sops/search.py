"""The keys of a run, looked for when something encrypted first asks for them."""

from __future__ import annotations

from collections.abc import Mapping

from osm_gitops.errors import InputError
from osm_gitops.sops.keys import Keyring, find_keys


class KeySearch:
    """Looks for keys once a run, whatever comes of it: a command that prints a key (SOPS_AGE_KEY_CMD) runs one time.

    ``environment`` is the process's. ``without_keys`` says that this run reads encrypted documents without opening
    them (``plan --without-keys``); whoever reads asks for that first.
    """

    def __init__(self, environment: Mapping[str, str], *, without_keys: bool = False) -> None:
        self.without_keys = without_keys
        self._environment = environment
        self._found: Keyring | InputError | None = None

    def keyring(self) -> Keyring:
        """The identities at hand; raises InputError, the same each time, where a key that is named cannot be read."""
        if self._found is None:
            try:
                self._found = find_keys(self._environment)
            except InputError as failure:
                self._found = failure
        if isinstance(self._found, InputError):
            raise self._found
        return self._found
