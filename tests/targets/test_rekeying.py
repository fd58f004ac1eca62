"""Encrypted files get other recipients: all of them or none, and nothing else in them changes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from osm_gitops.commands.rekey.rekeying import RekeyedFile, Rekeying, Rotation, rekeyed_files, write_rekeyed
from osm_gitops.errors import Code, OsmGitopsError
from osm_gitops.sops.document import decrypt, encrypt, recipients_of
from osm_gitops.sops.keys import find_keys, new_identity
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.targets.file_encryption import FileEncryption
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents
from tests.faults import Expected, refused
from tests.plan.objects import desired
from tests.targets.test_sealing import Person, _plan, _rules, _texts, _write

_NOW = "2026-01-02T03:04:05Z"
_SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"}, "stringData": {"password": "hunter22"}}


@pytest.fixture
def before() -> Person:
    return Person(*new_identity())


@pytest.fixture
def after() -> Person:
    return Person(*new_identity())


def _rekey(root: Path, person: Person, *, rotated: bool = False) -> tuple[RekeyedFile, ...]:
    return _rekeying(root, person, Rotation(rotated)).files


def _rekeying(root: Path, person: Person, rotation: Rotation) -> Rekeying:
    found = rekeyed_files([root], FileEncryption(person.environment), rotation)
    write_rekeyed(found.files)
    return found


def _ciphertexts(text: str) -> set[str]:
    """The encrypted values, without the MAC."""
    return {line for line in text.splitlines() if "ENC[" in line and "mac:" not in line}


def _by_hand(path: Path, *recipients: str) -> str:
    """A file that somebody else than us wrote: comments, a document on top of another."""
    rule = Rule(recipients, Selection(encrypted_regex="^stringData$"))
    text = "# the pull secret\n---\n" + dump(encrypt(_SECRET, rule, now=_NOW)) + "# the end\n"
    path.write_text(text)
    return text


def test_files_get_the_recipients_of_the_rules_and_keep_every_encrypted_value(
    tmp_path: Path, before: Person, after: Person
) -> None:
    wanted = desired({"a": "a token\n", "b": "another\n"})
    _rules(tmp_path, before.recipient)
    _write(tmp_path, wanted, before.environment)
    old = _texts(tmp_path)
    _rules(tmp_path, before.recipient, after.recipient)
    files = _rekey(tmp_path, before)
    new = _texts(tmp_path)
    sealed = {path for path, text in old.items() if "ENC[" in text}
    assert {file.path.relative_to(tmp_path).as_posix() for file in files} == sealed
    assert {path for path in old if old[path] != new[path]} == sealed
    for path in sealed:
        assert _ciphertexts(new[path]) == _ciphertexts(old[path])
        assert before.recipient in new[path]
        assert after.recipient in new[path]
    assert not _plan(tmp_path, wanted, after.environment).effective
    assert _rekey(tmp_path, after) == ()


def test_who_was_removed_reads_no_more_and_with_rotate_nothing_that_they_knew_stays(
    tmp_path: Path, before: Person, after: Person
) -> None:
    wanted = desired({"a": "a token\n"})
    _rules(tmp_path, before.recipient, after.recipient)
    _write(tmp_path, wanted, before.environment)
    old = _texts(tmp_path)
    _rules(tmp_path, after.recipient)
    _rekey(tmp_path, after, rotated=True)
    new = _texts(tmp_path)
    for path in (path for path, text in old.items() if "ENC[" in text):
        assert not _ciphertexts(new[path]) & _ciphertexts(old[path])
        assert before.recipient not in new[path]
    assert not _plan(tmp_path, wanted, after.environment).effective


def test_who_was_removed_has_no_key_to_what_is_written_later(tmp_path: Path, before: Person, after: Person) -> None:
    _rules(tmp_path, before.recipient, after.recipient)
    _write(tmp_path, desired({"a": "a token\n"}), before.environment)
    old = _texts(tmp_path)
    _by_hand(tmp_path / "pull.yaml", before.recipient, after.recipient)
    _rules(tmp_path, after.recipient)
    files = _rekey(tmp_path, after)
    new = _texts(tmp_path)
    for path in (path for path, text in old.items() if "ENC[" in text):
        assert not _ciphertexts(new[path]) & _ciphertexts(old[path])
    assert [file.path.name for file in files if file.known] == ["pull.yaml"]


def test_in_files_of_others_only_the_recipients_change(tmp_path: Path, before: Person, after: Person) -> None:
    _rules(tmp_path, before.recipient, after.recipient)
    path = tmp_path / "pull.yaml"
    old = _by_hand(path, before.recipient)
    path.chmod(0o640)
    _rekey(tmp_path, before)
    new = path.read_text()
    assert new.startswith("# the pull secret\n---\n")
    assert new.endswith("# the end\n")
    assert [line for line in old.splitlines() if line not in new.splitlines()] == []
    body = load_documents(new.encode(), "")[0].value
    assert recipients_of(body) == (before.recipient, after.recipient)
    assert decrypt([body], find_keys(after.environment)) == [_SECRET]
    assert path.stat().st_mode & 0o777 == 0o640


def test_one_file_that_no_key_opens_and_all_stay_as_they_are(tmp_path: Path, before: Person, after: Person) -> None:
    _rules(tmp_path, before.recipient)
    _write(tmp_path, desired({"a": "a token\n"}), before.environment)
    stranger = Person(*new_identity())
    _by_hand(tmp_path / "strange.yaml", stranger.recipient)
    (tmp_path / "broken.yaml").write_text("a: ENC[AES256_GCM,\n b: [")
    _rules(tmp_path, after.recipient)
    old = {path: path.read_bytes() for path in tmp_path.rglob("*.yaml")}
    with pytest.raises(OsmGitopsError) as caught:
        _rekey(tmp_path, before)
    told = [str(problem) for problem in caught.value.problems]
    assert len(told) == 2
    assert any("strange.yaml" in each and stranger.recipient in each for each in told)
    assert any("broken.yaml" in each for each in told)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.yaml")} == old


def test_a_rotation_leaves_files_of_others_alone_and_names_them(tmp_path: Path, before: Person) -> None:
    """The repository that `init` makes: sources that people encrypted with sops, beside the desired state."""
    _rules(tmp_path, before.recipient)
    _write(tmp_path, desired({"a": "a token\n"}), before.environment)
    theirs = _by_hand(tmp_path / "pull.yaml", before.recipient)
    old = _texts(tmp_path)
    found = _rekeying(tmp_path, before, Rotation(all_ours=True))
    assert {file.path.relative_to(tmp_path).as_posix() for file in found.files} == {
        path for path, text in old.items() if "ENC[" in text
    }
    assert found.kept == (tmp_path / "pull.yaml",)
    assert (tmp_path / "pull.yaml").read_text() == theirs


def test_a_rotation_of_files_of_others_that_are_named_keeps_comments_layout_order_and_types(
    tmp_path: Path, before: Person, after: Person
) -> None:
    _rules(tmp_path, before.recipient)
    body = {"stringData": {"z": 1.50, "b": ["x", True, 7], "a": "x"}, "kind": "Secret", "metadata": {"name": "pull"}}
    rule = Rule((before.recipient, after.recipient), Selection(encrypted_regex="^stringData$"))
    sealed = dump(encrypt(body, rule, now=_NOW))
    path = tmp_path / "sources" / "pull.yaml"
    path.parent.mkdir()
    path.write_text("# the pull secret\n---\n" + sealed.replace("kind: Secret", "kind:   Secret # spaced") + "# end\n")
    old = path.read_text()
    found = _rekeying(tmp_path, before, Rotation(included=(path.parent,)))
    new = path.read_text()
    assert (found.kept, found.unverified, [file.known for file in found.files]) == ((), (), [False])
    kept = [line for line in old.splitlines() if "ENC[" not in line]
    assert [line for line in kept[: kept.index("sops:")] if line not in new.splitlines()] == []
    assert new.endswith("# end\n")
    assert not _ciphertexts(new) & _ciphertexts(old)
    loaded = load_documents(new.encode(), "")[0].value
    assert recipients_of(loaded) == (before.recipient,)
    assert dump(decrypt([loaded], find_keys(before.environment))[0]) == dump(body)
    with refused(Code.NO_KEY_OPENS, kind=OsmGitopsError):
        decrypt([loaded], find_keys(after.environment))


def test_a_file_with_a_damaged_encrypted_comment_is_left_to_sops(tmp_path: Path, before: Person) -> None:
    _rules(tmp_path, before.recipient)
    path = tmp_path / "pull.yaml"
    text = _by_hand(path, before.recipient)
    comment = "stringData:\n  #ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:comment]"
    path.write_text(text.replace("stringData:", comment))
    with refused(Expected(Code.SOPS_LAYOUT, "sops rotate"), kind=OsmGitopsError):
        _rekeying(tmp_path, before, Rotation(included=(path,)))


def test_without_a_rule_nothing_says_for_whom(tmp_path: Path, before: Person) -> None:
    _by_hand(tmp_path / "pull.yaml", before.recipient)
    with refused(Expected(Code.NO_SOPS_RULE_MATCHES, "--age-recipient"), kind=OsmGitopsError):
        _rekey(tmp_path, before)


def test_where_a_file_went_meanwhile_none_is_written_and_nothing_is_left(tmp_path: Path, before: Person) -> None:
    _rules(tmp_path, before.recipient, Person(*new_identity()).recipient)
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    old = _by_hand(first, before.recipient)
    _by_hand(second, before.recipient)
    files = rekeyed_files([tmp_path], FileEncryption(before.environment), Rotation()).files
    second.unlink()
    with refused(Expected(Code.FILE_UNREADABLE, "b.yaml"), kind=OsmGitopsError):
        write_rekeyed(files)
    assert first.read_text() == old
    assert sorted(path.name for path in tmp_path.iterdir()) == [".sops.yaml", "a.yaml"]


def test_what_a_killed_rekey_left_beside_a_file_goes_with_the_next(tmp_path: Path, before: Person) -> None:
    _rules(tmp_path, before.recipient, Person(*new_identity()).recipient)
    path = tmp_path / "pull.yaml"
    _by_hand(path, before.recipient)
    files = rekeyed_files([tmp_path], FileEncryption(before.environment), Rotation()).files
    process = multiprocessing.get_context("fork").Process(target=_killed_before_placing, args=(files,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".osm-gitops-*"))) == 1
    _rekey(tmp_path, before)
    assert sorted(each.name for each in tmp_path.iterdir()) == [".sops.yaml", "pull.yaml"]


def _killed_before_placing(files: tuple[RekeyedFile, ...]) -> None:
    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    pytest.MonkeyPatch().setattr("osm_gitops.commands.rekey.rekeying.place_file", die)
    write_rekeyed(files)
