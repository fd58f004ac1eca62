"""One pull request, kept as it should be at each forge, by real HTTP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from osm_gitops.errors import Code, ForgeError
from osm_gitops.forge.forge import Forge, Proposal
from osm_gitops.forge.keeping import close_pull_request, keep_pull_request
from osm_gitops.forge.place import ForgeKind
from tests.faults import Expected, refused
from tests.forge.repository import TOKEN, FakeForge, Fault, Pull

HEAD, BASE, COMMIT = "osm-gitops/update", "main", "c" * 40
PROPOSAL = Proposal(head=HEAD, base=BASE, commit=COMMIT, title="osm-gitops: prod", body="the plan\n")


def _writes(server: FakeForge) -> list[str]:
    return [str(each) for each in server.asked if each.method != "GET"]


def test_a_pull_request_is_opened_once_and_a_second_run_changes_nothing(forge: Forge, server: FakeForge) -> None:
    wanted = replace(PROPOSAL, labels=("nodes", "automated"), reviewers=("ann", "ben"), auto_merge="squash")
    kept = keep_pull_request(forge, wanted)
    assert (kept.done, kept.problems) == ("opened", ())
    (pull,) = server.pulls
    assert (pull.head, pull.base, pull.title, pull.body) == (HEAD, BASE, "osm-gitops: prod", "the plan\n")
    assert sorted(pull.labels) == ["automated", "nodes"]
    assert (sorted(pull.reviewers), pull.auto_merge) == (["ann", "ben"], "squash")
    assert kept.request.url.startswith("https://forge.example/org/nodes/")
    before = len(_writes(server))
    again = keep_pull_request(forge, wanted)
    assert (again.done, again.problems) == ("is up to date", ())
    # Gitea does not say of a pull request that its merge is scheduled, so it is asked again.
    assert len(_writes(server)) - before == (1 if server.kind is ForgeKind.GITEA else 0)


def test_what_differs_is_updated_and_what_people_added_stays(forge: Forge, server: FakeForge) -> None:
    server.pulls = [Pull(7, HEAD, BASE, "old", "old", labels=["automated"], reviewers=["ben"])]
    kept = keep_pull_request(forge, replace(PROPOSAL, labels=("nodes",), reviewers=("ann",)))
    assert (kept.done, kept.request.number) == ("updated", 7)
    (pull,) = server.pulls
    assert (pull.title, pull.body) == (PROPOSAL.title, PROPOSAL.body)
    assert (pull.labels, sorted(pull.reviewers)) == (["automated", "nodes"], ["ann", "ben"])


def test_line_ends_of_the_forge_are_no_difference(forge: Forge, server: FakeForge) -> None:
    server.pulls = [Pull(7, HEAD, BASE, PROPOSAL.title, "one\r\ntwo")]
    assert keep_pull_request(forge, replace(PROPOSAL, body="one\ntwo\n")).done == "is up to date"
    assert _writes(server) == []


def test_a_draft_is_one_at_its_beginning_and_people_decide_later(forge: Forge, server: FakeForge) -> None:
    wanted = replace(PROPOSAL, draft=True)
    keep_pull_request(forge, wanted)
    (pull,) = server.pulls
    prefix = {ForgeKind.GITHUB: "", ForgeKind.GITLAB: "Draft: ", ForgeKind.GITEA: "WIP: "}[server.kind]
    assert (pull.title, pull.draft) == (f"{prefix}{PROPOSAL.title}", server.kind is ForgeKind.GITHUB)
    keep_pull_request(forge, replace(wanted, title="osm-gitops: other"))
    assert pull.title == f"{prefix}osm-gitops: other"
    pull.title = "osm-gitops: other"  # somebody made it ready
    keep_pull_request(forge, replace(wanted, title="osm-gitops: third"))
    assert pull.title == "osm-gitops: third"


def test_teams_are_asked_where_the_forge_has_them(forge: Forge, server: FakeForge) -> None:
    wanted = replace(PROPOSAL, reviewers=("org/platform",))
    kept = keep_pull_request(forge, wanted)
    if server.kind is ForgeKind.GITLAB:
        assert list(kept.problems) == [Expected(Code.FORGE_REFUSED, "org/platform")]
        return
    assert (kept.problems, server.pulls[0].teams) == ((), ["platform"])
    before = len(_writes(server))
    keep_pull_request(forge, wanted)
    assert len(_writes(server)) == before


def test_a_reviewer_who_has_answered_is_not_asked_again(forge: Forge, server: FakeForge) -> None:
    reviewers = ["ann"] if server.kind is ForgeKind.GITLAB else []  # which keeps them
    server.pulls = [Pull(7, HEAD, BASE, PROPOSAL.title, PROPOSAL.body, reviewed=["ann"], reviewers=reviewers)]
    keep_pull_request(forge, replace(PROPOSAL, reviewers=("Ann",)))
    assert _writes(server) == []


def test_pull_requests_of_forks_and_of_other_branches_are_others(forge: Forge, server: FakeForge) -> None:
    server.pulls = [
        Pull(1, HEAD, BASE, "from a fork", "theirs", fork=True),
        Pull(2, HEAD, "release", "to another branch", "theirs"),
        Pull(3, "other", BASE, "from another branch", "theirs"),
    ]
    assert keep_pull_request(forge, PROPOSAL).done == "opened"
    assert [pull.body for pull in server.pulls] == ["theirs", "theirs", "theirs", PROPOSAL.body]
    assert close_pull_request(forge, HEAD, BASE) is not None
    assert [pull.state for pull in server.pulls] == ["open", "open", "open", "closed"]


def test_one_that_somebody_closed_stays_closed_until_the_proposal_changes(forge: Forge, server: FakeForge) -> None:
    server.pulls = [Pull(7, HEAD, BASE, "old", "old", state="closed", commit=COMMIT)]
    kept = keep_pull_request(forge, PROPOSAL)
    assert ("stays closed" in kept.done, len(server.pulls)) == (True, 1)
    server.tip = lambda _: "d" * 40
    assert keep_pull_request(forge, replace(PROPOSAL, commit="d" * 40)).done == "opened"
    assert [pull.state for pull in server.pulls] == ["closed", "open"]


def test_one_that_was_merged_is_followed_by_another(forge: Forge, server: FakeForge) -> None:
    server.pulls = [Pull(7, HEAD, BASE, "old", "old", state="closed", merged=True, commit=COMMIT)]
    assert keep_pull_request(forge, PROPOSAL).done == "opened"


def test_many_pull_requests_of_others_do_not_hide_ours(forge: Forge, server: FakeForge) -> None:
    ours = Pull(1, HEAD, BASE, PROPOSAL.title, PROPOSAL.body)
    server.pulls = [ours, *(Pull(number, f"branch-{number}", BASE, "x", "x") for number in range(2, 130))]
    kept = keep_pull_request(forge, PROPOSAL)
    assert (kept.request.number, kept.done) == (1, "is up to date")


def test_what_the_forge_does_not_allow_is_told_and_the_rest_is_done(forge: Forge, server: FakeForge) -> None:
    server.no_auto_merge = True
    wanted = replace(PROPOSAL, labels=("nodes", "unknown"), reviewers=("ann", "nobody"), auto_merge="merge")
    kept = keep_pull_request(forge, wanted)
    assert kept.done == "opened"
    found = {problem.code for problem in kept.problems}
    assert found <= {Code.FORGE_REFUSED, Code.FORGE_TOKEN}
    # Only Gitea has labels that must exist.
    assert len(kept.problems) == (3 if server.kind is ForgeKind.GITEA else 2)
    assert server.open_pulls


def test_auto_merge_that_is_taken_only_later_is_asked_for_again(forge: Forge, server: FakeForge) -> None:
    server.not_ready = True
    wanted = replace(PROPOSAL, auto_merge="merge")
    kept = keep_pull_request(forge, wanted)
    assert kept.problems == ()
    assert ("later" in kept.done) == (server.kind is not ForgeKind.GITHUB)
    server.not_ready = False
    keep_pull_request(forge, wanted)
    assert server.pulls[0].auto_merge == "merge"


def test_an_opening_whose_answer_was_lost_is_found_again(forge: Forge, server: FakeForge) -> None:
    looks = 2 if server.kind is ForgeKind.GITEA else 1
    server.faults = {looks + 1: Fault.UNSURE}
    assert keep_pull_request(forge, PROPOSAL).problems == ()
    assert len(server.pulls) == 1


def test_closing_is_done_once(forge: Forge, server: FakeForge) -> None:
    keep_pull_request(forge, PROPOSAL)
    kept = close_pull_request(forge, HEAD, BASE)
    assert kept is not None
    assert server.open_pulls == []
    assert close_pull_request(forge, HEAD, BASE) is None


_CODES = {
    Fault.UNAUTHORIZED: Code.FORGE_TOKEN,
    Fault.REDIRECT: Code.NOT_A_FORGE,
    Fault.NOT_JSON: Code.NOT_A_FORGE,
    Fault.TIMEOUT: Code.FORGE_UNREACHABLE,
    Fault.HUGE: Code.FORGE_UNREACHABLE,
}
_MENDED = {Fault.TOO_MANY, Fault.BROKEN, Fault.RESET, Fault.UNSURE}
"""A second attempt succeeds, or finds what the first one did."""


def _requests(server: FakeForge, wanted: Proposal, forge: Forge) -> int:
    """How many requests it takes to open a pull request with everything."""
    keep_pull_request(forge, wanted)
    count = len(server.asked)
    server.pulls.clear()
    server.asked.clear()
    return count


@pytest.mark.parametrize("fault", [each for each in Fault if each is not Fault.TIMEOUT], ids=lambda fault: fault.name)
def test_a_fault_at_any_request_is_a_problem_without_the_token_and_the_next_run_completes(
    fault: Fault, forge: Forge, server: FakeForge
) -> None:
    wanted = replace(PROPOSAL, labels=("nodes",), reviewers=("ann",), auto_merge="merge")
    for at in range(1, _requests(server, wanted, forge) + 1):
        server.pulls.clear()
        server.asked.clear()
        server.faults = {at: fault}
        try:
            problems = keep_pull_request(forge, wanted).problems
        except ForgeError as failure:
            problems = failure.problems
        text = "".join(str(problem) for problem in problems)
        assert TOKEN not in text
        if fault in _MENDED:
            assert problems == ()
        elif problems:  # an absence or a conflict may be an answer
            assert all(problem.code is _CODES.get(fault, Code.FORGE_REFUSED) for problem in problems)
        server.faults = {}
        assert keep_pull_request(forge, wanted).problems == ()
        (pull,) = server.open_pulls
        assert (pull.labels, pull.reviewers, pull.auto_merge) == (["nodes"], ["ann"], "merge")


def test_a_server_that_is_down_or_silent_is_a_problem_after_some_attempts(forge: Forge, server: FakeForge) -> None:
    server.faults = dict.fromkeys(range(1, 9), Fault.BROKEN)
    with refused(Expected(Code.FORGE_UNREACHABLE, "500"), kind=ForgeError):
        keep_pull_request(forge, PROPOSAL)
    server.faults = dict.fromkeys(range(1, 99), Fault.RESET)
    with refused(Code.FORGE_UNREACHABLE, kind=ForgeError):
        keep_pull_request(forge, PROPOSAL)
    assert len(server.asked) == 6
