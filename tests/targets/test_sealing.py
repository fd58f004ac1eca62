"""Encrypted files of a target: what is written, what stays untouched, and what can be told without a key."""

from __future__ import annotations

import re
import subprocess
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from osm_gitops.commands.rekey.rekeying import Rotation, rekeyed_files, write_rekeyed
from osm_gitops.errors import Code, TargetError
from osm_gitops.model.desired import Desired
from osm_gitops.model.plan import Action, ClusterPlan
from osm_gitops.plan.guards import Limits, MaxDelete, PlanOptions
from osm_gitops.sops.document import encrypt
from osm_gitops.sops.keys import new_identity
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.targets.file_encryption import NO_ENCRYPTION, FileEncryption
from osm_gitops.targets.files import place_files, stage_files
from osm_gitops.targets.folder import FolderTarget, render_to
from osm_gitops.targets.target import plan_for
from osm_gitops.yaml.emit import dump
from tests.faults import Expected, refused
from tests.plan.objects import desired

_ANY = PlanOptions(limits=Limits(allow_empty=True, max_delete=MaxDelete(100, percent=True)))
_CONFIG = "prod/management/operatingsystemconfigs/a-kube-system-config.yaml"
_SECRET = "prod/worker/secrets/a-kube-system-provisioning-config.yaml"
_DIGEST_KEY = {"OSM_GITOPS_DIGEST_KEY": "0123456789abcdef0123456789abcdef"}


@dataclass(frozen=True)
class Person:
    key: str
    recipient: str

    @property
    def environment(self) -> Mapping[str, str]:
        return {"SOPS_AGE_KEY": self.key}


@pytest.fixture
def person() -> Person:
    return Person(*new_identity())


@pytest.fixture(autouse=True)
def _no_keys_of_this_machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_CONFIG_HOME", "USERPROFILE", "APPDATA"):
        monkeypatch.setenv(name, str(home))


def _rules(root: Path, *recipients: str, more: str = "") -> None:
    (root / ".sops.yaml").write_text(f"creation_rules:\n- age: {','.join(recipients)}\n{more}")


def _plan(root: Path, wanted: Desired, environment: Mapping[str, str]) -> ClusterPlan:
    return plan_for(FolderTarget(root, FileEncryption(environment)), wanted, _ANY)


def _write(root: Path, wanted: Desired, environment: Mapping[str, str]) -> ClusterPlan:
    encryption = FileEncryption(environment)
    plan = plan_for(FolderTarget(root, encryption), wanted, _ANY)
    place_files(root, stage_files(root, FolderTarget(root, encryption).changes(plan)))
    return plan


def _texts(root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text() for path in sorted((root / "prod").rglob("*.yaml"))}


def _changed_lines(before: str, after: str) -> set[str]:
    """The keys of the lines that differ."""
    old, new = before.splitlines(), after.splitlines()
    assert len(old) == len(new)
    return {re.split("[: ]", line.strip(" -#"))[0] for line, other in zip(old, new, strict=True) if line != other}


def test_secrets_are_encrypted_and_names_stay_readable(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "token-in-a-script\n"}), person.environment)
    texts = _texts(tmp_path)
    whole = "".join(texts.values())
    assert "token-in-a-script" not in whole
    assert b64encode(b"token-in-a-script").decode()[:20] not in whole
    for path in (_CONFIG, _SECRET):
        assert "name: a-kube-system-" in texts[path]
        assert "app.kubernetes.io/managed-by: osm-gitops" in texts[path]
        assert f"recipient: {person.recipient}" in texts[path]


def test_unchanged_content_leaves_every_file_as_it_is(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    wanted = desired({"a": "x\n", "b": "y\n"})
    _write(tmp_path, wanted, person.environment)
    before = _texts(tmp_path)
    plan = _write(tmp_path, wanted, person.environment)
    assert not plan.has_changes
    assert _texts(tmp_path) == before


def test_a_change_touches_only_what_it_must(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "x\n", "b": "y\n"}), person.environment)
    before = _texts(tmp_path)
    plan = _write(tmp_path, desired({"a": "z\n", "b": "y\n"}), person.environment)
    after = _texts(tmp_path)
    assert {change.reason for change in plan.effective} == {"changed: provisioning /opt/bin/setup"}
    assert {path for path in before if before[path] != after[path]} == {_CONFIG, _SECRET}
    assert _changed_lines(before[_CONFIG], after[_CONFIG]) <= {"Encrypted", "data", "mac", "lastmodified"}
    assert _changed_lines(before[_SECRET], after[_SECRET]) <= {"Encrypted", "cloud-config", "mac", "lastmodified"}


def test_another_key_of_the_same_file_sees_no_change_either(tmp_path: Path, person: Person) -> None:
    other = Person(*new_identity())
    _rules(tmp_path, person.recipient, other.recipient)
    wanted = desired({"a": "x\n"})
    _write(tmp_path, wanted, person.environment)
    assert not _plan(tmp_path, wanted, other.environment).has_changes


def test_it_is_seen_for_whom_a_file_is_encrypted_keys_of_ssh_too(tmp_path: Path, person: Person) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a b", "-f", str(tmp_path / "key")], check=True
    )
    ssh = (tmp_path / "key.pub").read_text().strip()
    _rules(tmp_path, person.recipient, ssh)
    _write(tmp_path, desired({"a": "recipient: somebody\n"}), person.environment)
    for path in (_CONFIG, _SECRET):
        text = (tmp_path / path).read_bytes()
        _rules(tmp_path, ssh, person.recipient)
        assert FileEncryption({}).is_for(tmp_path / path, text)
        _rules(tmp_path, person.recipient)
        assert not FileEncryption({}).is_for(tmp_path / path, text)


def test_plain_files_are_encrypted_once_recipients_are_known(tmp_path: Path, person: Person) -> None:
    wanted = desired({"a": "x\n"})
    render_to(tmp_path, wanted, NO_ENCRYPTION)
    _rules(tmp_path, person.recipient)
    plan = _write(tmp_path, wanted, person.environment)
    assert {change.reason for change in plan.effective} == {"in plain text so far"}
    assert plan.pools.changed == 0
    assert not _plan(tmp_path, wanted, person.environment).has_changes


def test_with_a_digest_key_a_run_without_a_private_key_sees_and_writes_changes(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "x\n"}), _DIGEST_KEY)
    assert not _plan(tmp_path, desired({"a": "x\n"}), _DIGEST_KEY).has_changes
    plan = _write(tmp_path, desired({"a": "z\n"}), _DIGEST_KEY)
    assert {(change.action, change.reason) for change in plan.effective} == {
        (Action.UPDATE, "encrypted content changed (visible with a private key)")
    }
    assert not _plan(tmp_path, desired({"a": "z\n"}), {**person.environment, **_DIGEST_KEY}).has_changes


def test_without_any_key_files_cannot_be_compared_and_are_not_touched(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    wanted = desired({"a": "x\n"})
    first = _write(tmp_path, wanted, {})
    assert Expected(Code.NO_KEY_FOR_NEXT_RUN) in first.warnings
    with refused(Code.FILES_NOT_COMPARABLE, kind=TargetError):
        _plan(tmp_path, wanted, {})
    assert not _plan(tmp_path, wanted, person.environment).effective


def test_a_digest_made_with_another_key_is_renewed_by_a_run_that_can_read(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    wanted = desired({"a": "x\n"})
    _write(tmp_path, wanted, person.environment)
    before = _texts(tmp_path)
    plan = _write(tmp_path, wanted, {**person.environment, **_DIGEST_KEY})
    assert {change.reason for change in plan.effective} == {"its digest was not made with this OSM_GITOPS_DIGEST_KEY"}
    assert plan.pools.changed == 0
    assert _changed_lines(before[_SECRET], _texts(tmp_path)[_SECRET]) == {"Encrypted"}
    assert not _plan(tmp_path, wanted, _DIGEST_KEY).has_changes


def test_a_digest_key_that_can_be_guessed_is_refused(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    with refused(Expected(Code.DIGEST_KEY_TOO_SHORT, "16")):
        _plan(tmp_path, desired({"a": "x\n"}), {"OSM_GITOPS_DIGEST_KEY": "short"})


def test_an_edited_file_is_read_for_real(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    wanted = desired({"a": "x\n"})
    _write(tmp_path, wanted, person.environment)
    path = tmp_path / _SECRET
    good = path.read_text()
    path.write_text(good.replace("type: Opaque", "type: Opaque # edited"))
    assert not _plan(tmp_path, wanted, person.environment).has_changes
    path.write_text(re.sub(r"cloud-config: ENC\[AES256_GCM,data:..", "cloud-config: ENC[AES256_GCM,data:AA", good))
    (change,) = _plan(tmp_path, wanted, person.environment).effective
    assert change.reason.startswith("the existing object could not be read: ")


def test_files_for_others_than_the_rules_name_are_warned_about(tmp_path: Path, person: Person) -> None:
    other = Person(*new_identity())
    _rules(tmp_path, person.recipient)
    wanted = desired({"a": "x\n"})
    _write(tmp_path, wanted, person.environment)
    before = _texts(tmp_path)
    _rules(tmp_path, person.recipient, other.recipient)
    plan = _write(tmp_path, wanted, person.environment)
    assert not plan.has_changes
    assert [problem.fix for problem in plan.warnings] == ["Run osm-gitops rekey"]
    assert _texts(tmp_path) == before


@pytest.mark.parametrize(
    ("regex", "fault"),
    [
        ("^(data|stringData)$", Expected(Code.SOPS_RULE_TOO_NARROW, "OperatingSystemConfig")),
        ("^(name|data|spec)$", Expected(Code.SOPS_RULE_TOO_NARROW)),
    ],
)
def test_rules_that_would_leave_a_secret_or_hide_a_name_are_refused(
    tmp_path: Path, person: Person, regex: str, fault: Expected
) -> None:
    _rules(tmp_path, person.recipient, more=f"  encrypted_regex: {regex}\n")
    for attempt in (_plan, _write):  # a plan must not promise what apply refuses
        with refused(fault, kind=TargetError):
            attempt(tmp_path, desired({"a": "x\n"}), person.environment)
    assert _texts(tmp_path) == {}


def test_a_flag_wins_over_the_rules(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, Person(*new_identity()).recipient)
    wanted = desired({"a": "x\n"})
    render_to(tmp_path / "out", wanted, FileEncryption(person.environment, (person.recipient,)))
    assert f"recipient: {person.recipient}" in (tmp_path / "out" / _SECRET).read_text()


def test_a_file_that_is_encrypted_in_part_only_is_written_anew(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    wanted = desired({"a": "a token\n"})
    _write(tmp_path, wanted, person.environment)
    (body,) = (each.body for each in wanted.objects if each.ref.kind == "OperatingSystemConfig")
    half = Rule((person.recipient,), Selection(encrypted_regex="^osName$"))
    (tmp_path / _CONFIG).write_text(dump(encrypt(body, half, now="2026-01-02T03:04:05Z")))
    both = (person.recipient, Person(*new_identity()).recipient)
    _rules(tmp_path, *both)
    write_rekeyed(rekeyed_files([tmp_path], FileEncryption(person.environment), Rotation()).files)
    assert "a token" in (tmp_path / _CONFIG).read_text()
    plan = _write(tmp_path, wanted, person.environment)
    why = "a part of its secrets in plain text so far; not written by osm-gitops: replaced, with a new data key"
    assert [change.reason for change in plan.effective] == [why]
    assert "a token" not in (tmp_path / _CONFIG).read_text()
    assert not _plan(tmp_path, wanted, person.environment).has_changes


def test_a_digest_key_that_fits_no_file_is_told_from_changes(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    wanted = desired({"a": "x\n", "b": "x\n"})
    _write(tmp_path, wanted, _DIGEST_KEY)
    other = {"OSM_GITOPS_DIGEST_KEY": "another key of enough bytes"}
    (warning,) = _plan(tmp_path, wanted, other).warnings
    assert warning == Expected(Code.DIGEST_KEY_CHANGED, "OSM_GITOPS_DIGEST_KEY")
    assert _plan(tmp_path, desired({"a": "z\n", "b": "x\n"}), _DIGEST_KEY).warnings == ()


def _encrypted(text: str) -> list[str]:
    return re.findall(r"ENC\[[^\]]*\]", text)


def test_a_file_that_was_opened_to_be_compared_is_not_opened_again_to_be_written(
    tmp_path: Path, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "x\n"}), person.environment)
    before = _texts(tmp_path)
    encryption = FileEncryption(person.environment)
    plan = plan_for(FolderTarget(tmp_path, encryption), desired({"a": "z\n"}), _ANY)

    def unseal(*_: object) -> None:
        raise AssertionError("decrypted again")

    monkeypatch.setattr("osm_gitops.sops.encryption.unseal", unseal)
    place_files(tmp_path, stage_files(tmp_path, FolderTarget(tmp_path, encryption).changes(plan)))
    after = _texts(tmp_path)
    for path in (_CONFIG, _SECRET):
        old, new = _encrypted(before[path]), _encrypted(after[path])
        # One value and the MAC.
        assert [one == other for one, other in zip(old, new, strict=True)].count(False) == 2


def test_the_same_texts_stay_whether_a_file_was_opened_to_be_compared_or_not(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "x\n"}), person.environment)
    path = tmp_path / _CONFIG
    encryption = FileEncryption(person.environment)
    (config,) = (each for each in desired({"a": "z\n"}).objects if each.ref.kind == "OperatingSystemConfig")
    text = path.read_bytes()
    known = encryption.content(path, config, text)  # by opening the file
    encryption.open(path, text, secret=True)
    learnt = encryption.content(path, config, text)  # by what was kept of it
    old, one, two = _encrypted(text.decode()), _encrypted(known.decode()), _encrypted(learnt.decode())
    kept = [each if each in old else "new" for each in one]
    assert kept == [each if each in old else "new" for each in two]
    assert kept != ["new"] * len(kept)


def test_a_file_that_changed_since_it_was_compared_is_opened_again(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "x\n"}), person.environment)
    path = tmp_path / _CONFIG
    encryption = FileEncryption(person.environment)
    encryption.open(path, path.read_bytes(), secret=True)
    _write(tmp_path, desired({"a": "y\n"}), person.environment)
    there = path.read_bytes()
    (config,) = (each for each in desired({"a": "x\n"}).objects if each.ref.kind == "OperatingSystemConfig")
    written = encryption.content(path, config, there)
    path.write_bytes(written)
    found = encryption.open(path, written, secret=True)
    assert found.body == config.body
