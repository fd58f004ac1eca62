"""Whole lines give way to the mask: of what is desired, and of what is there."""

from __future__ import annotations

from osm_gitops.model.desired import ALL_SECRET, NO_SECRETS, SecretTexts
from osm_gitops.model.plan import TextChange
from osm_gitops.report.diff import text_diff
from osm_gitops.report.secret_diffs import CONTENTS_NOT_SHOWN, Secrecy, masked_texts

_NAME = "bootstrap /f"
_SECRET = SecretTexts(frozenset({"new secret"}), frozenset({_NAME}), known=frozenset({_NAME, "bootstrap /g"}))


def _shown(before: str | None, after: str | None, secrecy: Secrecy, name: str = _NAME) -> list[str]:
    diff = secrecy.masked(text_diff(TextChange(name, before, after)))
    return [diff.instead] if diff.instead else list(diff.lines)


def test_a_line_is_masked_with_its_indentation_kept() -> None:
    assert _shown("a\n", "a\n    new secret\n", Secrecy(_SECRET, None)) == ["@@ -1 +1,2 @@", " a", "+    ***"]
    assert masked_texts("a\n\tnew secret\n", _SECRET) == "a\n\t***\n"


def test_that_a_secret_line_became_another_one_shows() -> None:
    told = _shown("a\nold secret\n", "a\nnew secret\n", Secrecy(_SECRET, None))
    assert told == ["@@ -1,2 +1,2 @@", " a", "-*** (before)", "+*** (after)"]


def test_an_old_line_is_shown_where_a_public_one_took_its_place() -> None:
    told = _shown("one\ntwo\nthree\n", "uno\nnew secret\n", Secrecy(_SECRET, None))
    assert told[1:] == ["-one", "-*** (before)", "-*** (before)", "+uno", "+*** (after)"]


def test_of_a_text_without_secrets_everything_is_shown() -> None:
    assert _shown("one\ntwo\n", "uno\n", Secrecy(_SECRET, None), "bootstrap /g")[1:] == ["-one", "-two", "+uno"]


def test_of_a_revision_it_is_known_which_lines_were_secret() -> None:
    earlier = SecretTexts(frozenset({"two"}), frozenset({_NAME}), known=frozenset({_NAME}))
    told = _shown("one\ntwo\n", "uno\ndos\n", Secrecy(NO_SECRETS, earlier))
    assert told[1:] == ["-one", "-***", "+uno", "+dos"]


def test_what_is_said_of_the_end_of_a_line_stays() -> None:
    told = _shown("x\n", "new secret", Secrecy(_SECRET, None))
    assert told[1:] == ["-*** (before)", "+*** (after)", "\\ No newline at end of file"]


def test_where_nothing_is_known_nothing_is_shown() -> None:
    assert _shown(None, "a\n", Secrecy(ALL_SECRET, None)) == ["@@ -0,0 +1 @@", "+***"]
    # A text in another form than usual holds what the object holds.
    assert _shown(None, "{}\n", Secrecy(_SECRET, None), "data cloud-config")[1:] == ["+***"]


def test_metadata_is_made_by_no_template() -> None:
    assert _shown(None, "new secret\n", Secrecy(_SECRET, None, hidden=True), "metadata")[1:] == ["+new secret"]


def test_to_the_untrusted_nothing_of_such_files_is_shown_nor_of_unknown_ones() -> None:
    hidden = Secrecy(_SECRET, None, hidden=True)
    assert _shown("a\n", "b\n", hidden) == [CONTENTS_NOT_SHOWN]
    assert _shown("a\n", None, hidden, "bootstrap /gone") == [CONTENTS_NOT_SHOWN]
    assert _shown("old\n", "b\n", hidden, "bootstrap /g")[1:] == ["-***", "+b"]
    reading = SecretTexts(reading=frozenset({_NAME}), known=frozenset({_NAME}))
    assert _shown(None, "b\n", Secrecy(reading, None, hidden=True)) == [CONTENTS_NOT_SHOWN]
