"""The pull request that a CI job runs for, as the job's variables name it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from osm_gitops.forge.place import ForgeKind, Place, checked_api

_PULL_REQUEST = re.compile(r"refs/pull/([0-9]{1,18})/")


def place_of_job(environment: Mapping[str, str]) -> Place | None:
    """The repository of a job of GitHub, Gitea, Forgejo or GitLab; ``None`` elsewhere. Raises InputError."""
    project, api = environment.get("CI_PROJECT_PATH", ""), environment.get("CI_API_V4_URL", "")
    if project and api:
        return Place(ForgeKind.GITLAB, checked_api(api, "CI_API_V4_URL"), project)
    repository, api = environment.get("GITHUB_REPOSITORY", ""), environment.get("GITHUB_API_URL", "")
    if not repository or not api:
        return None
    forgejo, gitea = ("FORGEJO_ACTIONS" in environment, "GITEA_ACTIONS" in environment)
    kind = ForgeKind.FORGEJO if forgejo else ForgeKind.GITEA if gitea else ForgeKind.GITHUB
    return Place(kind, checked_api(api, "GITHUB_API_URL"), repository)


def number_of_job(environment: Mapping[str, str]) -> int | None:
    """The number of the pull request, or ``None`` if the job runs for none."""
    found = _PULL_REQUEST.match(environment.get("GITHUB_REF", ""))
    text = found[1] if found else environment.get("CI_MERGE_REQUEST_IID", "")
    return int(text) if text.isascii() and text.isdecimal() else None
