"""Keep one pull request, and one comment on a pull request, as they should be.

Each function looks first and changes only what differs, so a second run changes nothing, and the next run completes
what an interrupted one began.
"""

from __future__ import annotations

from dataclasses import dataclass

from osm_gitops.errors import Code, ForgeError, Problem
from osm_gitops.forge.forge import Comment, Forge, Proposal, PullRequest

_CONFLICTS = frozenset({409, 422})


@dataclass(frozen=True, slots=True)
class Kept:
    """A pull request, what was done with it as a part of a sentence, and what the forge refused."""

    request: PullRequest
    done: str
    problems: tuple[Problem, ...] = ()

    @property
    def sentence(self) -> str:
        return f"pull request {self.request.url} {self.done}"


def keep_pull_request(forge: Forge, proposal: Proposal, *, rewrite: bool = True) -> Kept:
    """Open the pull request of a proposal, or update it. Raises ForgeError. Without ``rewrite`` an existing text stays.

    Somebody may have closed it: then it stays closed until the branch has another commit. Labels and reviewers are
    added to those that are there; the draft state is set only at the beginning. What is refused of these is in
    ``problems``.
    """
    found = forge.find(proposal.head, proposal.base)
    if found is None or not found.is_open:
        if found is not None and not found.is_merged and found.commit == proposal.commit:
            return Kept(found, "was closed by somebody, and stays closed until the proposal changes")
        found, done = _open(forge, proposal), "opened"
    else:
        done = "is up to date"
    if rewrite and (_differs(found.title, proposal.title) or _differs(found.body, proposal.body)):
        forge.edit(found, proposal.title, proposal.body)
        done = "updated"
    problems: list[Problem] = []
    labels = [label for label in dict.fromkeys(proposal.labels) if label not in found.labels]
    if labels:
        try:
            forge.label(found, labels)
        except ForgeError as refusal:
            problems += refusal.problems
    try:
        _ask(forge, found, proposal)
    except ForgeError as refusal:
        problems += refusal.problems
    if proposal.auto_merge and not found.merges:
        try:
            later = not forge.merge_when_ready(found, proposal.auto_merge)
            done += f"; {forge.name} takes auto-merge only later, so the next run asks again" if later else ""
        except ForgeError as refusal:
            problems += refusal.problems
    return Kept(found, done, tuple(problems))


def _open(forge: Forge, proposal: Proposal) -> PullRequest:
    try:
        return forge.open(proposal)
    except ForgeError as refusal:
        if refusal.status not in _CONFLICTS:
            raise
        # Another run opened it, or this one without getting the answer.
        found = forge.find(proposal.head, proposal.base)
        if found is None or not found.is_open:
            raise
        return found


def _ask(forge: Forge, request: PullRequest, proposal: Proposal) -> None:
    """Ask for the reviews that were never asked for."""
    known = {name.lower() for name in request.reviewers}

    def lacks(name: str) -> bool:
        team = f"/{name.partition('/')[2]}" if "/" in name else name
        return team.lower() not in known

    missing = [name for name in dict.fromkeys(proposal.reviewers) if lacks(name)]
    if missing:
        known |= {name.lower() for name in forge.reviewed_by(request)}
        missing = [name for name in missing if lacks(name)]
    if missing:
        forge.ask(request, missing)


def close_pull_request(forge: Forge, head: str, base: str) -> Kept | None:
    """Close the open pull request between two branches; ``None`` if there is none. Raises ForgeError."""
    found = forge.find(head, base)
    if found is None or not found.is_open:
        return None
    forge.shut(found)
    return Kept(found, "closed, because nothing is left to change")


@dataclass(frozen=True, slots=True)
class OwnComment:
    """A comment that is kept up to date: its ``author``, and the hidden ``marker`` that it begins with.

    Anybody may write a marker, so both count.
    """

    author: str
    marker: str
    text: str


def keep_comment(forge: Forge, number: int, own: OwnComment, *, begin: bool = True) -> str:
    """Write the comment, or update it; what was done, as a sentence. Raises ForgeError.

    ``begin``: write it if there is none. Further ones, which a lost answer may have caused, are removed.
    """
    body = f"{own.marker}\n{own.text}"
    if len(body) > forge.longest:
        what = f"the comment has {len(body):,} characters, and {forge.name} takes at most {forge.longest:,}"
        fix = "Cut the plan: osm-gitops plan -o markdown --max-length N"
        raise ForgeError([Problem(Code.FORGE_REFUSED, what, fix=fix)])
    ours = _ours(forge, number, own)
    for other in ours[1:]:
        forge.remove_comment(number, other)
    if not ours:
        if not begin:
            return "There is no comment, and none is begun."
        forge.comment(number, body)
        return "Wrote a comment on the pull request."
    if not _differs(ours[0].body, body):
        return "The comment on the pull request is up to date."
    forge.edit_comment(number, ours[0], body)
    return "Updated the comment on the pull request."


def _ours(forge: Forge, number: int, own: OwnComment) -> list[Comment]:
    return [
        each
        for each in forge.comments(number)
        if each.author.lower() == own.author.lower() and each.body.replace("\r\n", "\n").startswith(own.marker)
    ]


def _differs(there: str, wanted: str) -> bool:
    """Whether two texts differ, except in how forges store line breaks and the end."""
    return there.replace("\r\n", "\n").strip() != wanted.strip()
