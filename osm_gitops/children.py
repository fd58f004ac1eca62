"""Which variables of our environment the programs that we start may see: lists of what they need, and nothing else.

So private keys (``SOPS_*``), tokens of forges, cloud credentials and our own settings stay with us, whatever a program
or a configuration file that it reads was made to do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

# What any program needs: where programs, homes and temporary files are, languages, time zone, proxies, authorities.
_COMMON: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP", "LANG", "LANGUAGE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"),
        *("REQUESTS_CA_BUNDLE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY"),
        *("WAYLAND_DISPLAY", "BROWSER"),
        # Windows
        *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA"),
        *("PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH"),
    }
)
_COMMON_PREFIXES: Final = ("LC_", "XDG_")
# git itself, ssh, the agents that hold keys, and pre-commit, which many hooks are.
_GIT: Final = frozenset({"EMAIL", "GNUPGHOME", "KRB5CCNAME", "GPG_AGENT_INFO", "GPG_TTY", "PINENTRY_USER_DATA", "SKIP"})
_GIT_PREFIXES: Final = ("GIT_", "SSH_", "PRE_COMMIT_", "GCM_")
_CREDENTIAL: Final = re.compile(r"TOKEN|PASSWORD|PASSWD|SECRET|CREDENTIAL", re.IGNORECASE)
# What kubectl would hand to the plugins of clouds and identity providers, which take their credentials from there.
_PLUGIN_PREFIXES: Final = (
    *("AWS_", "GOOGLE_", "GCLOUD_", "CLOUDSDK_", "USE_GKE_", "AZURE_", "AAD_", "ARM_", "MSI_", "IDENTITY_"),
    *("OCI_", "OS_", "DIGITALOCEAN_", "HCLOUD_", "LINODE_", "IBMCLOUD_", "ALIBABA_", "SCW_", "EXOSCALE_", "TELEPORT_"),
    *("VAULT_", "KUBE", "KUBECACHEDIR"),
)
_GO_PREFIXES: Final = ("GO", "CGO_")
_OURS: Final = ("SOPS_", "OSM_GITOPS_")


def plain_path(environment: Mapping[str, str]) -> str:
    """The search path without folders that are relative: a program of that name may lie in the tree that is read."""
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.isabs(folder))  # noqa: PTH117 - is text


def for_git(environment: Mapping[str, str], *, reads_only: bool) -> dict[str, str]:
    """What git and what it starts get: hooks, ssh, credential helpers, gpg. Where it ``reads_only`` nothing of that is
    started, and what is named like a credential is left out too."""
    kept = _kept(environment, _GIT, _GIT_PREFIXES)
    return {name: value for name, value in kept.items() if not (reads_only and _CREDENTIAL.search(name))}


def for_plugin(environment: Mapping[str, str]) -> dict[str, str]:
    """What a credential plugin of a kubeconfig gets."""
    return _kept(environment, frozenset(), _PLUGIN_PREFIXES)


def for_lane(environment: Mapping[str, str]) -> dict[str, str]:
    """What programs get that make and run the machines of ``boot``: Go, mmdebstrap, systemd-nspawn and others."""
    return _kept(environment, frozenset(), _GO_PREFIXES)


def for_untrusted(environment: Mapping[str, str]) -> dict[str, str]:
    """What a run that does not trust its tree uses itself: no key, no credential, no home that holds any."""
    names = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "NO_COLOR")
    return {name: environment[name] for name in names if name in environment}


def _kept(environment: Mapping[str, str], names: frozenset[str], prefixes: tuple[str, ...]) -> dict[str, str]:
    all_names, all_prefixes = _COMMON | names, (*_COMMON_PREFIXES, *prefixes)
    kept = {
        name: value
        for name, value in environment.items()
        if (name.upper() in all_names or name.startswith(all_prefixes)) and not name.startswith(_OURS)
    }
    return kept | {"PATH": plain_path(environment)}
