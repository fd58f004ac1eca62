"""Where a remote is at a forge, by its address and by what the user names."""

from __future__ import annotations

import pytest

from osm_gitops.errors import Code
from osm_gitops.forge.place import ForgeKind, Place, place_of
from osm_gitops.git.address import address_of
from tests.faults import refused

GITHUB, GITLAB, GITEA, FORGEJO = ForgeKind.GITHUB, ForgeKind.GITLAB, ForgeKind.GITEA, ForgeKind.FORGEJO


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("https://github.com/org/nodes.git", Place(GITHUB, "https://api.github.com", "org/nodes")),
        ("git@github.com:org/nodes.git", Place(GITHUB, "https://api.github.com", "org/nodes")),
        ("ssh://git@ssh.github.com:443/org/nodes.git", Place(GITHUB, "https://api.github.com", "org/nodes")),
        ("https://me@GitHub.com/org/nodes/", Place(GITHUB, "https://api.github.com", "org/nodes")),
        ("https://acme.ghe.com/org/nodes", Place(GITHUB, "https://api.acme.ghe.com", "org/nodes")),
        ("git@github.example.com:org/nodes", Place(GITHUB, "https://github.example.com/api/v3", "org/nodes")),
        ("https://gitlab.com/a/b/c/nodes.git", Place(GITLAB, "https://gitlab.com/api/v4", "a/b/c/nodes")),
        (
            "https://gitlab.example.com:8443/a/nodes.git",
            Place(GITLAB, "https://gitlab.example.com:8443/api/v4", "a/nodes"),
        ),
        ("ssh://git@gitlab.example.com:2222/a/nodes", Place(GITLAB, "https://gitlab.example.com/api/v4", "a/nodes")),
        ("https://codeberg.org/org/nodes.git", Place(FORGEJO, "https://codeberg.org/api/v1", "org/nodes")),
        ("git@gitea.example.com:org/nodes.git", Place(GITEA, "https://gitea.example.com/api/v1", "org/nodes")),
        ("http://gitea.localhost/org/nodes", None),
        ("http://127.0.0.1:3000/org/nodes", None),
    ],
)
def test_the_address_of_the_remote_tells_forge_api_and_repository(address: str, place: Place | None) -> None:
    if place is None:
        with refused(Code.FORGE_TOKEN if "localhost" in address else Code.FORGE_UNKNOWN):
            place_of(address_of(address))
    else:
        assert place_of(address_of(address)) == place


def test_a_forge_on_a_host_of_any_name_is_named_by_the_user() -> None:
    address = address_of("git@git.example.com:org/nodes.git")
    with refused(Code.FORGE_UNKNOWN):
        place_of(address)
    assert place_of(address, GITEA) == Place(GITEA, "https://git.example.com/api/v1", "org/nodes")
    assert place_of(address, GITLAB, "https://forge.example.com/git/api/v4/") == Place(
        GITLAB, "https://forge.example.com/git/api/v4", "org/nodes"
    )


def test_a_forge_below_a_path_does_not_count_it_to_the_repository() -> None:
    api = "https://example.com/gitlab/api/v4"
    over_https = place_of(address_of("https://example.com/gitlab/a/nodes.git"), None, api)
    assert over_https == Place(GITLAB, api, "a/nodes")
    assert place_of(address_of("git@example.com:gitlab/nodes.git"), GITLAB, api).repository == "gitlab/nodes"


@pytest.mark.parametrize(
    "address",
    ["/srv/nodes.git", "file:///srv/org/nodes.git", "https://github.com/nodes", "git@github.com:", "../org/nodes",
     "https://github.com/org/../../nodes", "https://github.com//nodes"],
)  # fmt: skip
def test_a_remote_that_is_at_no_forge_is_refused(address: str) -> None:
    with refused(Code.FORGE_UNKNOWN):
        place_of(address_of(address), GITHUB)


@pytest.mark.parametrize(
    ("api", "code"),
    [
        ("http://git.example.com/api/v4", Code.FORGE_TOKEN),
        ("git.example.com", Code.INVALID_OPTION),
        ("ftp://git.example.com", Code.INVALID_OPTION),
        ("https://me:secret-word@git.example.com/api/v4", Code.INVALID_OPTION),
        ("https://git.example.com/api/v4?private_token=secret-word", Code.INVALID_OPTION),
        ("https://git.example.com:port/api", Code.INVALID_OPTION),
    ],
)
def test_an_api_that_would_leak_a_token_or_holds_one_is_refused_and_not_repeated(api: str, code: Code) -> None:
    with refused(code) as no:
        place_of(address_of("https://git.example.com/org/nodes"), GITLAB, api)
    assert "secret-word" not in str(no.value)
