"""Gitea and Forgejo: REST API version 1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

from osm_gitops.errors import ForgeError
from osm_gitops.forge.api import Access, Api, segment
from osm_gitops.forge.forge import Comment, Proposal, PullRequest
from osm_gitops.forge.issue_comments import IssueComments
from osm_gitops.forge.place import ForgeKind, Place
from osm_gitops.forge.reading import comment_of, first_match, mappings, named, number, split_draft, text

Json = Any

_DRAFTS: Final = ("WIP:", "[WIP]")
_PAGE: Final = 50
_ALREADY: Final = 409
"""It is scheduled to be merged already."""
_NOT_YET: Final = 405


class Gitea(IssueComments):
    """A repository at Gitea or Forgejo."""

    longest = 65_536
    """The API names no limit; this is the smallest that their databases have had."""

    def __init__(self, place: Place, access: Access) -> None:
        self.name = "Forgejo" if place.kind is ForgeKind.FORGEJO else "Gitea"
        api = Api(place.api, access, name=self.name, scheme="token")
        super().__init__(api, place.repository, ("limit", _PAGE))
        self._owner = place.owner

    def find(self, head: str, base: str) -> PullRequest | None:
        # The list has no filter for branches. Of closed ones only the newest matter.
        places = f"{self._repository}/pulls"
        waiting = self._api.pages(places, *self._pages, state="open")
        ended = islice(self._api.pages(places, *self._pages, state="closed", sort="recentupdate"), _PAGE)
        ours = (each for each in chain(waiting, ended) if _is_ours(each, head, base))
        return first_match(map(_request, islice(ours, 1)))

    def open(self, proposal: Proposal) -> PullRequest:
        title = f"{_DRAFTS[0]} {proposal.title}" if proposal.draft else proposal.title
        body = {"title": title, "head": proposal.head, "base": proposal.base, "body": proposal.body}
        return _request(self._api.send("POST", f"{self._repository}/pulls", body))

    def edit(self, request: PullRequest, title: str, body: str) -> None:
        self._api.send("PATCH", self._pull(request), {"title": f"{request.draft}{title}", "body": body})

    def label(self, request: PullRequest, labels: Iterable[str]) -> None:
        places = (f"{self._repository}/labels", f"/orgs/{segment(self._owner)}/labels")
        known: dict[str, int] = {}
        wanted = set(labels)
        for place in places:
            if wanted <= known.keys():
                break
            known |= {text(each, "name"): number(each, "id") for each in self._labels(place)}
        missing = sorted(wanted - known.keys())
        if missing:
            raise self._api.refused("the label", f"{self.name} has no label {', '.join(missing)}: make it there first")
        path = f"{self._repository}/issues/{request.number}/labels"
        self._api.send("POST", path, {"labels": sorted(known[label] for label in wanted)})

    def _labels(self, place: str) -> Iterator[Json]:
        try:
            yield from self._api.pages(place, *self._pages)
        except ForgeError as refusal:
            if refusal.status != 404:  # the owner is a user, who has no labels
                raise

    def merge_when_ready(self, request: PullRequest, how: str) -> bool:
        body = {"Do": how, "merge_when_checks_succeed": True, "head_commit_id": request.commit}
        try:
            self._api.send("POST", f"{self._pull(request)}/merge", body, allow=_ALREADY)
        except ForgeError as refusal:
            if refusal.status == _NOT_YET:
                return False
            raise
        return True

    def comments(self, number: int) -> Iterator[Comment]:
        for each in mappings(self._api.get(f"{self._repository}/issues/{number}/comments")):
            yield comment_of(each, "user", "login")


def _is_ours(each: Mapping[str, Json], head: str, base: str) -> bool:
    source, target = each.get("head") or {}, each.get("base") or {}
    own = source.get("repo_id") == target.get("repo_id")
    return bool(own and source.get("ref") == head and target.get("ref") == base)


def _request(body: Json) -> PullRequest:
    draft, title = split_draft(text(body, "title"), _DRAFTS)
    return PullRequest(
        number=number(body, "number"),
        url=text(body, "html_url"),
        title=title,
        body=text(body, "body"),
        commit=text(body.get("head"), "sha"),
        is_open=text(body, "state") == "open",
        is_merged=body.get("merged") is True,
        draft=draft,
        labels=named(body.get("labels"), "name"),
        reviewers=named(body.get("requested_reviewers"), "login")
        | frozenset(f"/{name}" for name in named(body.get("requested_reviewers_teams"), "name")),
    )
