"""GitHub: REST API version 2022-11-28, and GraphQL for auto-merge, which REST does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from osm_gitops.forge.api import Access, Api
from osm_gitops.forge.forge import Comment, Proposal, PullRequest
from osm_gitops.forge.issue_comments import IssueComments
from osm_gitops.forge.place import Place
from osm_gitops.forge.reading import comment_of, first_match, mappings, named, number, text

Json = Any

_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_AUTO_MERGE = (
    "mutation($id: ID!, $how: PullRequestMergeMethod!) {"
    " enablePullRequestAutoMerge(input: {pullRequestId: $id, mergeMethod: $how}) { clientMutationId } }"
)


class GitHub(IssueComments):
    """A repository at GitHub, GitHub Enterprise Server or a tenant of ghe.com."""

    name = "GitHub"
    longest = 65_536

    def __init__(self, place: Place, access: Access) -> None:
        super().__init__(Api(place.api, access, name=self.name, headers=_HEADERS), place.repository)
        # Enterprise Server has REST at /api/v3 and GraphQL beside it.
        graphql = place.api.removesuffix("/v3")
        self._graphql = Api(graphql, access, name=self.name, headers=_HEADERS)
        self._place = place

    def close(self) -> None:
        super().close()
        self._graphql.close()

    def find(self, head: str, base: str) -> PullRequest | None:
        found = self._api.get(
            f"{self._repository}/pulls", head=f"{self._place.owner}:{head}", base=base, state="all", per_page="100"
        )
        ours = (each for each in mappings(found) if self._is_ours(each, head, base))
        return first_match(map(_request, ours))

    def _is_ours(self, each: Json, head: str, base: str) -> bool:
        place = each.get("head") or {}
        repository = str((place.get("repo") or {}).get("full_name", ""))  # none if the fork was deleted
        own = repository.lower() == self._place.repository.lower()
        return own and place.get("ref") == head and (each.get("base") or {}).get("ref") == base

    def open(self, proposal: Proposal) -> PullRequest:
        body = {
            "title": proposal.title,
            "head": proposal.head,
            "base": proposal.base,
            "body": proposal.body,
            "draft": proposal.draft,
        }
        return _request(self._api.send("POST", f"{self._repository}/pulls", body))

    def edit(self, request: PullRequest, title: str, body: str) -> None:
        self._api.send("PATCH", self._pull(request), {"title": title, "body": body})

    def label(self, request: PullRequest, labels: Iterable[str]) -> None:
        self._api.send("POST", f"{self._repository}/issues/{request.number}/labels", {"labels": list(labels)})

    def merge_when_ready(self, request: PullRequest, how: str) -> bool:
        body = {"query": _AUTO_MERGE, "variables": {"id": request.key, "how": how.upper()}}
        answer = self._graphql.send("POST", "/graphql", body)
        errors = answer.get("errors") if isinstance(answer, dict) else None
        if errors:
            messages = [text(each, "message") for each in errors if isinstance(each, dict)]
            raise self._graphql.refused("auto-merge", "; ".join(messages))
        return True

    def comments(self, number: int) -> Iterator[Comment]:
        for each in self._api.pages(f"{self._repository}/issues/{number}/comments"):
            yield comment_of(each, "user", "login")


def _request(body: Json) -> PullRequest:
    return PullRequest(
        number=number(body, "number"),
        url=text(body, "html_url"),
        title=text(body, "title"),
        body=text(body, "body"),
        commit=text(body.get("head"), "sha"),
        is_open=body.get("state") == "open",
        is_merged=bool(body.get("merged_at")),
        labels=named(body.get("labels"), "name"),
        reviewers=named(body.get("requested_reviewers"), "login")
        | frozenset(f"/{slug}" for slug in named(body.get("requested_teams"), "slug")),
        merges=body.get("auto_merge") is not None,
        key=text(body, "node_id"),
    )
