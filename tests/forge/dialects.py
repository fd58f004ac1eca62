"""The REST APIs of GitHub, GitLab and Gitea, as far as osm-gitops asks: methods, paths, and the shapes of their public
documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tests.forge.repository import BOT, REPOSITORY, Asked, FakeForge, Note, Pull

Json = Any

Route = tuple[str, str, Callable[..., tuple[int, Json]]]


def _page(found: list[Json], asked: Asked, size: str = "per_page") -> list[Json]:
    page, most = int(asked.query.get("page", "1")), min(int(asked.query.get(size, "20")), 100)
    return found[(page - 1) * most : page * most]


def _newest_first(forge: FakeForge) -> list[Pull]:
    return sorted(forge.pulls, key=lambda pull: -pull.number)


def _too_long(text: str) -> bool:
    return len(text) > 65_536


class GitHubDialect:
    """REST as version 2022-11-28 has it, and the one mutation of GraphQL."""

    def __init__(self, forge: FakeForge) -> None:
        self.forge = forge

    def shown(self, pull: Pull) -> Json:
        place = "someone/nodes" if pull.fork else REPOSITORY
        return {
            "number": pull.number,
            "node_id": f"PR_{pull.number}",
            "html_url": f"https://forge.example/{REPOSITORY}/pull/{pull.number}",
            "state": pull.state,
            "draft": pull.draft,
            "title": pull.title,
            "body": pull.body,
            "merged_at": "2026-01-01T00:00:00Z" if pull.merged else None,
            "head": {"ref": pull.head, "sha": self.forge.commit_of(pull), "repo": {"full_name": place}},
            "base": {"ref": pull.base, "repo": {"full_name": REPOSITORY}},
            "labels": [{"name": label} for label in pull.labels],
            "requested_reviewers": [{"login": name} for name in pull.reviewers],
            "requested_teams": [{"slug": name} for name in pull.teams],
            "auto_merge": {"merge_method": pull.auto_merge} if pull.auto_merge else None,
        }

    def listed(self, asked: Asked) -> tuple[int, Json]:
        owner, _, head = asked.query["head"].partition(":")
        found = [
            pull
            for pull in _newest_first(self.forge)
            if (pull.head, pull.base) == (head, asked.query["base"]) and (pull.fork or owner == "org")
        ]
        return 200, _page([self.shown(pull) for pull in found], asked)

    def created(self, asked: Asked) -> tuple[int, Json]:
        body = asked.body
        if _too_long(body["body"]):
            return 422, {"message": "Validation Failed", "errors": [{"code": "custom", "message": "body is too long"}]}
        pull = self.forge.create(body["head"], body["base"], body["title"], body["body"], draft=body["draft"])
        if pull is None:
            message = f"A pull request already exists for org:{body['head']}."
            return 422, {"message": "Validation Failed", "errors": [{"code": "custom", "message": message}]}
        return 201, self.shown(pull)

    def edited(self, asked: Asked, number: int) -> tuple[int, Json]:
        pull = self.forge.pull(number)
        for key in ("title", "body", "state"):
            setattr(pull, key, asked.body.get(key, getattr(pull, key)))
        return 200, self.shown(pull)

    def labelled(self, asked: Asked, number: int) -> tuple[int, Json]:
        self.forge.pull(number).add_labels(asked.body["labels"])  # makes those that are missing
        return 200, []

    def reviews(self, asked: Asked, number: int) -> tuple[int, Json]:
        return 200, _page(
            [{"user": {"login": name}, "state": "APPROVED"} for name in self.forge.pull(number).reviewed], asked
        )

    def requested(self, asked: Asked, number: int) -> tuple[int, Json]:
        if not set(asked.body["reviewers"]) <= self.forge.users.keys():
            return 422, {"message": "Reviews may only be requested from collaborators."}
        self.forge.pull(number).ask(asked.body["reviewers"], asked.body["team_reviewers"])
        return 201, self.shown(self.forge.pull(number))

    def graphql(self, asked: Asked) -> tuple[int, Json]:
        if self.forge.no_auto_merge:
            message = "Pull request Auto merge is not allowed for this repository"
            return 200, {"data": {"enablePullRequestAutoMerge": None}, "errors": [{"message": message}]}
        variables = asked.body["variables"]
        self.forge.pull(int(variables["id"].removeprefix("PR_"))).auto_merge = variables["how"].lower()
        return 200, {"data": {"enablePullRequestAutoMerge": {"clientMutationId": None}}}

    @property
    def routes(self) -> list[Route]:
        repository, api = f"/repos/{REPOSITORY}", "/api/v3"
        return [
            (f"{api}{repository}/pulls", "GET", self.listed),
            (f"{api}{repository}/pulls", "POST", self.created),
            (rf"{api}{repository}/pulls/(\d+)", "PATCH", self.edited),
            (rf"{api}{repository}/issues/(\d+)/labels", "POST", self.labelled),
            (rf"{api}{repository}/pulls/(\d+)/reviews", "GET", self.reviews),
            (rf"{api}{repository}/pulls/(\d+)/requested_reviewers", "POST", self.requested),
            ("/api/graphql", "POST", self.graphql),
            (f"{api}/user", "GET", lambda _: (200, {"login": BOT})),
            *_issue_comments(self.forge, f"{api}{repository}", paged=True),
        ]


def _issue_comments(forge: FakeForge, repository: str, *, paged: bool) -> list[Route]:
    """Comments as GitHub and Gitea have them."""

    def shown(note: Note) -> Json:
        return {"id": note.identity, "user": {"login": note.author} if note.author else None, "body": note.body}

    def listed(asked: Asked, _: int) -> tuple[int, Json]:
        found = [shown(note) for note in forge.notes]
        return 200, _page(found, asked) if paged else found

    def created(asked: Asked, _: int) -> tuple[int, Json]:
        return 201, shown(forge.add_note(BOT, asked.body["body"]))

    def edited(asked: Asked, identity: int) -> tuple[int, Json]:
        note = next(note for note in forge.notes if note.identity == identity)
        note.body = asked.body["body"]
        return 200, shown(note)

    def removed(_: Asked, identity: int) -> tuple[int, Json]:
        forge.notes = [note for note in forge.notes if note.identity != identity]
        return 204, None

    return [
        (rf"{repository}/issues/(\d+)/comments", "GET", listed),
        (rf"{repository}/issues/(\d+)/comments", "POST", created),
        (rf"{repository}/issues/comments/(\d+)", "PATCH", edited),
        (rf"{repository}/issues/comments/(\d+)", "DELETE", removed),
    ]


class GitLabDialect:
    """REST version 4."""

    def __init__(self, forge: FakeForge) -> None:
        self.forge = forge

    def shown(self, pull: Pull) -> Json:
        return {
            "iid": pull.number,
            "web_url": f"https://forge.example/{REPOSITORY}/-/merge_requests/{pull.number}",
            "state": "merged" if pull.merged else {"open": "opened"}.get(pull.state, pull.state),
            "draft": pull.title.startswith("Draft:"),
            "title": pull.title,
            "description": pull.body,
            "sha": self.forge.commit_of(pull),
            "source_branch": pull.head,
            "target_branch": pull.base,
            "source_project_id": 2 if pull.fork else 1,
            "target_project_id": 1,
            "labels": pull.labels,
            "reviewers": [{"id": self.forge.users[name], "username": name} for name in pull.reviewers],
            "merge_when_pipeline_succeeds": bool(pull.auto_merge),
        }

    def listed(self, asked: Asked) -> tuple[int, Json]:
        wanted = asked.query["source_branch"], asked.query["target_branch"]
        found = [self.shown(pull) for pull in _newest_first(self.forge) if (pull.head, pull.base) == wanted]
        return 200, _page(found, asked)

    def created(self, asked: Asked) -> tuple[int, Json]:
        body = asked.body
        pull = self.forge.create(
            body["source_branch"], body["target_branch"], body["title"], body["description"], draft=False
        )
        if pull is None:
            return 409, {"message": ["Another open merge request already exists for this source branch: !7"]}
        return 201, self.shown(pull)

    def edited(self, asked: Asked, number: int) -> tuple[int, Json]:
        pull, body = self.forge.pull(number), asked.body
        pull.title, pull.body = body.get("title", pull.title), body.get("description", pull.body)
        pull.state = "closed" if body.get("state_event") == "close" else pull.state
        pull.add_labels([label for label in body.get("add_labels", "").split(",") if label])
        if "reviewer_ids" in body:
            names = {identity: name for name, identity in self.forge.users.items()}
            pull.reviewers = [names[identity] for identity in body["reviewer_ids"]]
        return 200, self.shown(pull)

    def merged(self, asked: Asked, number: int) -> tuple[int, Json]:
        if self.forge.no_auto_merge:
            return 401, {"message": "401 Unauthorized"}
        if self.forge.not_ready:
            return 405, {"message": "405 Method Not Allowed"}
        self.forge.pull(number).auto_merge = "squash" if asked.body["squash"] else "merge"
        return 200, self.shown(self.forge.pull(number))

    def note_shown(self, note: Note) -> Json:
        author = {"username": note.author} if note.author else {}
        return {"id": note.identity, "author": author, "body": note.body, "system": False}

    def noted(self, asked: Asked, _: int) -> tuple[int, Json]:
        return 201, self.note_shown(self.forge.add_note(BOT, asked.body["body"]))

    def note_edited(self, asked: Asked, _: int, identity: int) -> tuple[int, Json]:
        note = next(note for note in self.forge.notes if note.identity == identity)
        note.body = asked.body["body"]
        return 200, self.note_shown(note)

    def note_removed(self, _: Asked, __: int, identity: int) -> tuple[int, Json]:
        self.forge.notes = [note for note in self.forge.notes if note.identity != identity]
        return 204, None

    def users(self, asked: Asked) -> tuple[int, Json]:
        name = asked.query["username"]
        return 200, [{"id": self.forge.users[name], "username": name}] if name in self.forge.users else []

    @property
    def routes(self) -> list[Route]:
        project = "/api/v4/projects/org/nodes/merge_requests"
        return [
            (project, "GET", self.listed),
            (project, "POST", self.created),
            (rf"{project}/(\d+)", "PUT", self.edited),
            (rf"{project}/(\d+)/merge", "PUT", self.merged),
            (
                rf"{project}/(\d+)/notes",
                "GET",
                lambda asked, _: (200, _page([*map(self.note_shown, self.forge.notes)], asked)),
            ),
            (rf"{project}/(\d+)/notes", "POST", self.noted),
            (rf"{project}/(\d+)/notes/(\d+)", "PUT", self.note_edited),
            (rf"{project}/(\d+)/notes/(\d+)", "DELETE", self.note_removed),
            ("/api/v4/users", "GET", self.users),
            ("/api/v4/user", "GET", lambda _: (200, {"username": BOT})),
        ]


class GiteaDialect:
    """REST version 1."""

    def __init__(self, forge: FakeForge) -> None:
        self.forge = forge

    def shown(self, pull: Pull) -> Json:
        return {
            "number": pull.number,
            "html_url": f"https://forge.example/{REPOSITORY}/pulls/{pull.number}",
            "state": pull.state,
            "merged": pull.merged,
            "title": pull.title,
            "body": pull.body,
            "head": {"ref": pull.head, "sha": self.forge.commit_of(pull), "repo_id": 2 if pull.fork else 1},
            "base": {"ref": pull.base, "repo_id": 1},
            "labels": [{"id": self.forge.labels[label], "name": label} for label in pull.labels],
            "requested_reviewers": [{"login": name} for name in pull.reviewers] or None,
            "requested_reviewers_teams": [{"name": name} for name in pull.teams] or None,
        }

    def listed(self, asked: Asked) -> tuple[int, Json]:
        found = [self.shown(pull) for pull in _newest_first(self.forge) if pull.state == asked.query["state"]]
        return 200, _page(found, asked, "limit")

    def created(self, asked: Asked) -> tuple[int, Json]:
        body = asked.body
        pull = self.forge.create(body["head"], body["base"], body["title"], body["body"], draft=False)
        if pull is None:
            return 409, {"message": "pull request already exists for these targets", "url": self.forge.address}
        return 201, self.shown(pull)

    def edited(self, asked: Asked, number: int) -> tuple[int, Json]:
        pull = self.forge.pull(number)
        for key in ("title", "body", "state"):
            setattr(pull, key, asked.body.get(key, getattr(pull, key)))
        return 201, self.shown(pull)

    def labelled(self, asked: Asked, number: int) -> tuple[int, Json]:
        names = {identity: name for name, identity in self.forge.labels.items()}
        self.forge.pull(number).add_labels([names[identity] for identity in asked.body["labels"]])
        return 200, []

    def reviews(self, asked: Asked, number: int) -> tuple[int, Json]:
        found = [{"user": {"login": name}, "state": "APPROVED"} for name in self.forge.pull(number).reviewed]
        return 200, _page(found, asked, "limit")

    def requested(self, asked: Asked, number: int) -> tuple[int, Json]:
        if not set(asked.body["reviewers"]) <= self.forge.users.keys():
            return 404, {"message": "user does not exist"}
        self.forge.pull(number).ask(asked.body["reviewers"], asked.body["team_reviewers"])
        return 201, []

    def merged(self, asked: Asked, number: int) -> tuple[int, Json]:
        if self.forge.no_auto_merge:
            return 403, {"message": "User not allowed to merge PR"}
        if self.forge.not_ready:
            return 405, {"message": "Please try again later"}
        if self.forge.pull(number).auto_merge:
            return 409, {"message": "already scheduled"}
        self.forge.pull(number).auto_merge = asked.body["Do"]
        return 201, None

    def known(self, asked: Asked) -> tuple[int, Json]:
        return 200, _page(
            [{"id": identity, "name": name} for name, identity in self.forge.labels.items()], asked, "limit"
        )

    @property
    def routes(self) -> list[Route]:
        repository = f"/api/v1/repos/{REPOSITORY}"
        return [
            (f"{repository}/pulls", "GET", self.listed),
            (f"{repository}/pulls", "POST", self.created),
            (rf"{repository}/pulls/(\d+)", "PATCH", self.edited),
            (rf"{repository}/pulls/(\d+)/reviews", "GET", self.reviews),
            (rf"{repository}/pulls/(\d+)/requested_reviewers", "POST", self.requested),
            (rf"{repository}/pulls/(\d+)/merge", "POST", self.merged),
            (rf"{repository}/issues/(\d+)/labels", "POST", self.labelled),
            (f"{repository}/labels", "GET", self.known),
            ("/api/v1/user", "GET", lambda _: (200, {"login": BOT})),
            *_issue_comments(self.forge, repository, paged=False),
        ]


class Dialect(Protocol):
    """What a forge answers."""

    @property
    def routes(self) -> list[Route]: ...
