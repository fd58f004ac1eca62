"""GitHub's API of comments as a small server: pages, limits, and tokens that only read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

BOT = "github-actions[bot]"
WRITING, READING = "ghs_writing", "ghs_reading"
MOST_CHARACTERS = 65_536
_PATH = re.compile(r"/repos/org/nodes/issues/(?:(?P<issue>\d+)/comments|comments/(?P<comment>\d+))")


@dataclass(slots=True)
class GitHub:
    """The comments of pull request 7, and every request as ``METHOD path?query``."""

    url: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def add(self, login: str, body: str) -> dict[str, Any]:
        comment = {"id": 100 + len(self.comments), "user": {"login": login}, "body": body}
        self.comments.append(comment)
        return comment

    def answer(self, method: str, target: str, token: str, content: Any) -> tuple[int, Any, str]:
        """Status, content, and the header Link."""
        self.requests.append(f"{method} {target}")
        parts = urlsplit(target)
        place = _PATH.fullmatch(parts.path)
        if token not in {WRITING, READING}:
            return 401, {"message": "Bad credentials"}, ""
        if place is None or place["issue"] not in {None, "7"}:
            return 404, {"message": "Not Found"}, ""
        if method == "GET":
            query = {name: int(values[0]) for name, values in parse_qs(parts.query).items()}
            return self._page(query.get("page", 1), min(query.get("per_page", 30), 100))
        if token == READING:
            return 403, {"message": "Resource not accessible by integration"}, ""
        if len(content["body"]) > MOST_CHARACTERS:
            return 422, {"message": "Body is too long"}, ""
        if method == "POST":
            return 201, self.add(BOT, content["body"]), ""
        found = next(comment for comment in self.comments if comment["id"] == int(place["comment"]))
        found["body"] = content["body"]
        return 200, found, ""

    def _page(self, page: int, size: int) -> tuple[int, Any, str]:
        more = page * size < len(self.comments)
        following = f"{self.url}/repos/org/nodes/issues/7/comments?per_page={size}&page={page + 1}"
        links = [f'<{following}>; rel="next"', f'<{self.url}/last>; rel="last"'] if more else []
        return 200, self.comments[(page - 1) * size : page * size], ", ".join(links)


@contextmanager
def serving() -> Iterator[GitHub]:
    """The server, until the end of the block."""
    github = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            content = json.loads(self.rfile.read(length)) if length else None
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            status, body, link = github.answer(self.command, self.path, token, content)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if link:
                self.send_header("Link", link)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = _do  # noqa: N815 - the names that the base class calls

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the base class has
            """Nothing: the requests are kept."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    github.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield github
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
