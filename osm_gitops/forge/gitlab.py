"""GitLab: REST API version 4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from osm_gitops.errors import ForgeError
from osm_gitops.forge.api import Access, Api, segment
from osm_gitops.forge.forge import Comment, Proposal, PullRequest
from osm_gitops.forge.place import Place
from osm_gitops.forge.reading import comment_of, first_match, mappings, named, number, split_draft, text

Json = Any

_DRAFTS: Final = ("Draft:", "[Draft]", "(Draft)")
_NOT_YET: Final = frozenset({405, 422})
"""GitLab still prepares the merge request, or its pipeline does not exist yet."""


class GitLab:
    """A project at GitLab."""

    name = "GitLab"
    longest = 1_048_576

    def __init__(self, place: Place, access: Access) -> None:
        self._api = Api(place.api, access, name=self.name)
        self._requests = f"/projects/{segment(place.repository)}/merge_requests"

    def close(self) -> None:
        self._api.close()

    def find(self, head: str, base: str) -> PullRequest | None:
        found = self._api.get(self._requests, source_branch=head, target_branch=base, state="all", per_page="100")
        own = (each for each in mappings(found) if each.get("source_project_id") == each.get("target_project_id"))
        return first_match(map(_request, own))

    def open(self, proposal: Proposal) -> PullRequest:
        body = {
            "source_branch": proposal.head,
            "target_branch": proposal.base,
            "title": f"{_DRAFTS[0]} {proposal.title}" if proposal.draft else proposal.title,
            "description": proposal.body,
        }
        return _request(self._api.send("POST", self._requests, body))

    def edit(self, request: PullRequest, title: str, body: str) -> None:
        self._api.send("PUT", self._request(request), {"title": f"{request.draft}{title}", "description": body})

    def shut(self, request: PullRequest) -> None:
        self._api.send("PUT", self._request(request), {"state_event": "close"})

    def label(self, request: PullRequest, labels: Iterable[str]) -> None:
        self._api.send("PUT", self._request(request), {"add_labels": ",".join(labels)})

    def reviewed_by(self, _request: PullRequest) -> frozenset[str]:
        return frozenset()  # who has reviewed stays a reviewer

    def ask(self, request: PullRequest, reviewers: Iterable[str]) -> None:
        wanted = sorted({*request.reviewers, *reviewers})
        identities = [self._identity(name) for name in wanted]
        self._api.send("PUT", self._request(request), {"reviewer_ids": identities})

    def _identity(self, name: str) -> int:
        found = next(mappings(self._api.get("/users", username=name)), None)
        if found is None:
            raise self._api.refused("the review", f'there is no user "{name}", and groups cannot review')
        return number(found, "id")

    def merge_when_ready(self, request: PullRequest, how: str) -> bool:
        # Newer versions call it auto_merge and take this name too. Whether to rebase is a setting of the project.
        body = {"merge_when_pipeline_succeeds": True, "squash": how == "squash", "sha": request.commit}
        try:
            self._api.send("PUT", f"{self._request(request)}/merge", body)
        except ForgeError as refusal:
            if refusal.status in _NOT_YET:
                return False
            raise
        return True

    def account(self) -> str:
        return text(self._api.get("/user"), "username")

    def comments(self, number: int) -> Iterator[Comment]:
        for each in self._api.pages(f"{self._requests}/{number}/notes", sort="asc"):
            yield comment_of(each, "author", "username")

    def comment(self, number: int, body: str) -> None:
        self._api.send("POST", f"{self._requests}/{number}/notes", {"body": body})

    def edit_comment(self, number: int, comment: Comment, body: str) -> None:
        self._api.send("PUT", f"{self._requests}/{number}/notes/{comment.identity}", {"body": body})

    def remove_comment(self, number: int, comment: Comment) -> None:
        self._api.send("DELETE", f"{self._requests}/{number}/notes/{comment.identity}", allow=404)

    def _request(self, request: PullRequest) -> str:
        return f"{self._requests}/{request.number}"


def _request(body: Json) -> PullRequest:
    draft, title = split_draft(text(body, "title"), _DRAFTS)
    labels = body.get("labels") if isinstance(body, Mapping) else None
    return PullRequest(
        number=number(body, "iid"),
        url=text(body, "web_url"),
        title=title,
        body=text(body, "description"),
        commit=text(body, "sha"),
        is_open=text(body, "state") == "opened",
        is_merged=text(body, "state") == "merged",
        draft=draft,
        labels=frozenset(each for each in labels or () if isinstance(each, str)),
        reviewers=named(body.get("reviewers"), "username"),
        merges=body.get("merge_when_pipeline_succeeds") is True,
    )
