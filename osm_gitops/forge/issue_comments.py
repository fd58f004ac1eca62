"""What the APIs of GitHub and Gitea have in common: a pull request is an issue, and both are asked alike."""

from __future__ import annotations

from collections.abc import Iterable

from osm_gitops.forge.api import Api
from osm_gitops.forge.forge import Comment, PullRequest
from osm_gitops.forge.reading import named, text


class IssueComments:
    """A repository (``OWNER/NAME``) of an API. ``pages`` are the parameter that limits a page, and the limit."""

    def __init__(self, api: Api, repository: str, pages: tuple[str, int] = ("per_page", 100)) -> None:
        self._api = api
        self._repository = f"/repos/{repository}"
        self._pages = pages

    def close(self) -> None:
        self._api.close()

    def shut(self, request: PullRequest) -> None:
        self._api.send("PATCH", self._pull(request), {"state": "closed"})

    def reviewed_by(self, request: PullRequest) -> frozenset[str]:
        # A reviewer who has answered is no longer a requested one.
        return named(self._api.pages(f"{self._pull(request)}/reviews", *self._pages), "user", "login")

    def ask(self, request: PullRequest, reviewers: Iterable[str]) -> None:
        names = list(reviewers)
        body = {
            "reviewers": [name for name in names if "/" not in name],
            "team_reviewers": [name.partition("/")[2] for name in names if "/" in name],
        }
        self._api.send("POST", f"{self._pull(request)}/requested_reviewers", body)

    def account(self) -> str:
        return text(self._api.get("/user"), "login")

    def comment(self, number: int, body: str) -> None:
        self._api.send("POST", f"{self._repository}/issues/{number}/comments", {"body": body})

    def edit_comment(self, _number: int, comment: Comment, body: str) -> None:
        self._api.send("PATCH", f"{self._repository}/issues/comments/{comment.identity}", {"body": body})

    def remove_comment(self, _number: int, comment: Comment) -> None:
        self._api.send("DELETE", f"{self._repository}/issues/comments/{comment.identity}", allow=404)

    def _pull(self, request: PullRequest) -> str:
        return f"{self._repository}/pulls/{request.number}"
