"""Keep one comment on a pull request up to date: written once, found again by its marker, updated from then on.

Takes all from the environment, see ``action.yml``. Exits with 1 where GitHub refuses, except that a pull request from a
fork may not be commented on with the token that GitHub gives for it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

_SECONDS = 30
_NEXT = re.compile(r'<([^>]+)>; rel="next"')
_FORBIDDEN = 403


@dataclass(frozen=True, slots=True)
class GitHub:
    """The REST API of one repository."""

    api: str
    repository: str
    token: str

    def comments(self, number: str) -> Iterator[dict[str, Any]]:
        """All comments of an issue or pull request, page by page."""
        url = f"{self._url(f'issues/{number}/comments')}?per_page=100"
        while url:
            found, following = self._call("GET", url)
            yield from found
            url = following if following.startswith(f"{self.api}/") else ""

    def create(self, number: str, body: str) -> None:
        self._call("POST", self._url(f"issues/{number}/comments"), {"body": body})

    def update(self, comment: int, body: str) -> None:
        self._call("PATCH", self._url(f"issues/comments/{comment}"), {"body": body})

    def _url(self, path: str) -> str:
        return f"{self.api}/repos/{self.repository}/{path}"

    def _call(self, method: str, url: str, content: Any = None) -> tuple[Any, str]:
        """The answer, and the address of the next page."""
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "User-Agent": "osm-gitops",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        data = None if content is None else json.dumps(content).encode()
        with urlopen(Request(url, data, headers, method=method), timeout=_SECONDS) as answer:
            following = _NEXT.search(answer.headers.get("Link", ""))
            return json.load(answer), following[1] if following else ""


def keep_comment(github: GitHub, number: str, author: str, text: str, marker: str, *, changes: bool) -> str:
    """Update our comment, or write it where there is something to say; what was done, as a sentence.

    Ours is the first by ``author`` that begins with the marker: anybody may write a marker.
    """
    body = f"{marker}\n{text}"
    for comment in github.comments(number):
        user = comment["user"] or {}  # none where the account is gone
        if user.get("login") == author and comment["body"].startswith(marker):
            if comment["body"] == body:
                return "The comment on the pull request says so already."
            github.update(comment["id"], body)
            return "Updated the comment on the pull request."
    if not changes:
        return "Nothing changes, and there is no comment that says otherwise."
    github.create(number, body)
    return "Wrote a comment on the pull request."


def main() -> int:
    get = os.environ.__getitem__
    github = GitHub(get("GITHUB_API_URL"), get("GITHUB_REPOSITORY"), get("TOKEN"))
    marker = f"<!-- osm-gitops plan: {get('NAME')} -->"
    text = Path(get("COMMENT")).read_text("utf-8")
    try:
        done = keep_comment(
            github, get("PULL_REQUEST"), get("COMMENT_AUTHOR"), text, marker, changes=get("CHANGES") != "false"
        )
    except HTTPError as refusal:
        if refusal.code == _FORBIDDEN and get("STRANGER") == "true":
            print("::notice::The token of this run may not write comments: the plan is in the step summary.")
            return 0
        print(
            f"::error::GitHub refused the comment: {refusal.code} {refusal.reason}. See docs/how-to/github-actions.md"
        )
        return 1
    except OSError as fault:  # an answer that stops half-way too
        print(f"::error::GitHub cannot be reached: {getattr(fault, 'reason', fault)}")
        return 1
    print(done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
