"""One comment on a pull request, kept up to date."""

from __future__ import annotations

from contextlib import suppress

import pytest

from osm_gitops.errors import Code, ForgeError
from osm_gitops.forge.forge import Forge
from osm_gitops.forge.keeping import OwnComment, keep_comment
from tests.faults import Expected, refused
from tests.forge.repository import BOT, FakeForge, Fault

MARKER = "<!-- osm-gitops plan: fleet -->"


def _own(text: str) -> OwnComment:
    return OwnComment(BOT, MARKER, text)


def _bodies(server: FakeForge) -> list[str]:
    return [note.body for note in server.notes]


def test_a_comment_is_written_once_and_updated_from_then_on(forge: Forge, server: FakeForge) -> None:
    keep_comment(forge, 7, _own("one"))
    keep_comment(forge, 7, _own("two"))
    assert _bodies(server) == [f"{MARKER}\ntwo"]
    asked = len(server.asked)
    keep_comment(forge, 7, _own("two"))
    assert {each.method for each in server.asked[asked:]} == {"GET"}


def test_comments_of_others_stay_whatever_marker_they_bear(forge: Forge, server: FakeForge) -> None:
    server.add_note("someone", f"{MARKER}\nI was here first")
    server.add_note(BOT, "<!-- osm-gitops plan: other -->\nanother fleet")
    server.add_note(None, f"{MARKER}\nmy account is gone")
    before = _bodies(server)
    keep_comment(forge, 7, _own("plan"))
    assert _bodies(server) == [*before, f"{MARKER}\nplan"]


def test_ours_is_found_behind_many_others(forge: Forge, server: FakeForge) -> None:
    for number in range(250):
        server.add_note("someone", f"opinion {number}")
    server.add_note(BOT, f"{MARKER}\nold")
    keep_comment(forge, 7, _own("new"))
    assert (_bodies(server)[-1], len(server.notes)) == (f"{MARKER}\nnew", 251)


def test_none_is_begun_where_there_is_nothing_to_say(forge: Forge, server: FakeForge) -> None:
    keep_comment(forge, 7, _own("No changes."), begin=False)
    assert server.notes == []
    keep_comment(forge, 7, _own("changes"))
    keep_comment(forge, 7, _own("No changes."), begin=False)
    assert _bodies(server) == [f"{MARKER}\nNo changes."]


def test_a_second_one_that_a_lost_answer_caused_is_removed_by_the_next_run(forge: Forge, server: FakeForge) -> None:
    server.faults = {2: Fault.UNSURE}
    keep_comment(forge, 7, _own("plan"))
    assert len(server.notes) == 2
    keep_comment(forge, 7, _own("plan"))
    assert _bodies(server) == [f"{MARKER}\nplan"]


def test_the_account_of_the_token_has_a_name(forge: Forge) -> None:
    assert forge.account() == BOT


@pytest.mark.parametrize("fault", [each for each in Fault if each is not Fault.TIMEOUT], ids=lambda fault: fault.name)
def test_a_fault_at_any_request_leaves_one_comment_after_the_next_run(
    fault: Fault, forge: Forge, server: FakeForge
) -> None:
    for at in (1, 2, 3):
        server.notes.clear()
        server.asked.clear()
        server.faults = {at: fault}
        with suppress(ForgeError):
            keep_comment(forge, 7, _own("plan"))
        server.faults = {}
        keep_comment(forge, 7, _own("plan"))
        assert _bodies(server) == [f"{MARKER}\nplan"]


def test_a_text_that_the_forge_would_not_take_is_not_sent(forge: Forge, server: FakeForge) -> None:
    with refused(Expected(Code.FORGE_REFUSED, "--max-length"), kind=ForgeError):
        keep_comment(forge, 7, _own("x" * forge.longest))
    assert server.asked == []
