"""A data key that an attacker chose: they may push to the repository and cannot decrypt what is in it.

Anyone can encrypt for a public recipient, and no MAC of SOPS covers the list of recipients. So an attacker makes a
file whose data key they know, takes their own entry out and waits until a secret is written into it. Every test ends
with the attempt to read the new file with everything that the attacker kept: the old entry, and the data key itself.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyrage
import pytest
import yaml
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from osm_gitops.commands.rekey.rekeying import Rotation, rekeyed_files, write_rekeyed
from osm_gitops.errors import Code, EncryptionError, OsmGitopsError
from osm_gitops.model.desired import Desired
from osm_gitops.sops.document import decrypt, encrypt, rekey
from osm_gitops.sops.envelope import read_envelope
from osm_gitops.sops.keys import find_keys, new_identity
from osm_gitops.sops.leaves import BrokenLeaf, unseal
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.targets.file_encryption import HIDDEN, FileEncryption
from osm_gitops.targets.git import data_keys
from osm_gitops.yaml.emit import dump
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, write_tree
from tests.faults import Expected, refused
from tests.git.repos import git, new_repository, pin_git
from tests.plan.objects import desired
from tests.real_tools import real_tool
from tests.targets.test_sealing import Person, _plan, _rules, _texts, _write

Json = Any

_NOW = "2026-01-02T03:04:05Z"
_FOLDER = "prod/worker/secrets"
_NEW_KEY = "with a new data key"
_DIGEST_KEY = {"OSM_GITOPS_DIGEST_KEY": "0123456789abcdef0123456789abcdef"}


@dataclass(frozen=True)
class Attacker:
    """Someone with a key pair of their own. ``kept`` is what they note of a file that they plant."""

    key: str
    recipient: str

    def data_key(self, body: Mapping[str, Json]) -> bytes:
        return read_envelope(body).data_key(find_keys({"SOPS_AGE_KEY": self.key}))

    def entry(self, body: Mapping[str, Json]) -> dict[str, str]:
        return next(dict(each) for each in body["sops"]["age"] if each["recipient"] == self.recipient)


@pytest.fixture
def person() -> Person:
    return Person(*new_identity())


@pytest.fixture
def attacker() -> Attacker:
    return Attacker(*new_identity())


@pytest.fixture(autouse=True)
def _no_keys_of_this_machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_CONFIG_HOME", "USERPROFILE", "APPDATA"):
        monkeypatch.setenv(name, str(home))


def _body(text: bytes | str) -> dict[str, Json]:
    body: dict[str, Json] = yaml.safe_load(text)
    return body


def _bait(name: str, *, label: bool = True) -> dict[str, Json]:
    labels = {"app.kubernetes.io/managed-by": "osm-gitops"} if label else {}
    metadata = {"name": name, "namespace": "cloud-init-settings", "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": metadata,
        "data": {"cloud-config": "eA=="},
    }


@dataclass(frozen=True)
class Planted:
    """A file as the attacker commits it, and what they keep of it."""

    text: str
    data_key: bytes
    entry: Mapping[str, str]

    def check_reads_nothing(self, path: Path, attacker: Attacker) -> None:
        """Try everything that the attacker has on the file that is there now."""
        body = _body(path.read_bytes())
        opened = {**body, "sops": {**body["sops"], "age": [dict(self.entry), *body["sops"]["age"]]}}
        with pytest.raises(EncryptionError):
            decrypt([opened], find_keys({"SOPS_AGE_KEY": attacker.key}))
        values = [value for value in body["data"].values() if value]
        assert values
        for value in values:
            with pytest.raises(BrokenLeaf):
                unseal(AESGCM(self.data_key), value, "data:cloud-config:")
        assert not any(attacker_opens(attacker, entry) for entry in body["sops"]["age"])


def attacker_opens(attacker: Attacker, entry: Mapping[str, str]) -> bool:
    try:
        pyrage.decrypt(entry["enc"].encode(), [pyrage.x25519.Identity.from_str(attacker.key.split()[-1])])
    except pyrage.DecryptError:
        return False
    return True


def _stanza_taken_out(bait: Mapping[str, Json], person: Person, attacker: Attacker) -> Planted:
    body = encrypt(bait, Rule((person.recipient, attacker.recipient), Selection(HIDDEN)), now=_NOW)
    return _without_theirs(body, attacker)


def _without_theirs(body: Mapping[str, Json], attacker: Attacker) -> Planted:
    data_key, entry = attacker.data_key(body), attacker.entry(body)
    rest = [each for each in body["sops"]["age"] if each != entry]
    return Planted(dump({**body, "sops": {**body["sops"], "age": rest}}), data_key, entry)


def _two_of_one_label(bait: Mapping[str, Json], person: Person, attacker: Attacker) -> Planted:
    body = encrypt(bait, Rule((person.recipient, attacker.recipient), Selection(HIDDEN)), now=_NOW)
    data_key, entry = attacker.data_key(body), attacker.entry(body)
    entries = [{**each, "recipient": person.recipient} for each in body["sops"]["age"]]
    return Planted(dump({**body, "sops": {**body["sops"], "age": entries}}), data_key, entry)


def _two_in_one_age_file(bait: Mapping[str, Json], person: Person, attacker: Attacker) -> Planted:
    """One entry with the right name, and an age file in it that opens with two keys."""
    body = encrypt(bait, Rule((person.recipient, attacker.recipient), Selection(HIDDEN)), now=_NOW)
    data_key, entry = attacker.data_key(body), attacker.entry(body)
    both = [pyrage.x25519.Recipient.from_str(each) for each in (attacker.recipient, person.recipient)]
    enc = pyrage.encrypt(data_key, both, armored=True).decode()
    entries = [{"recipient": person.recipient, "enc": enc}]
    return Planted(dump({**body, "sops": {**body["sops"], "age": entries}}), data_key, entry)


def _with_a_line(line: str) -> Callable[[Mapping[str, Json], Person, Attacker], Planted]:
    def plant(bait: Mapping[str, Json], person: Person, attacker: Attacker) -> Planted:
        planted = _stanza_taken_out(bait, person, attacker)
        return Planted(line + planted.text, planted.data_key, planted.entry)

    return plant


_HEX = "0123456789abcdef" * 4
_PLANTS = pytest.mark.parametrize(
    "plant",
    [
        pytest.param(_stanza_taken_out, id="stanza taken out"),
        pytest.param(_two_of_one_label, id="two entries of one name"),
        pytest.param(_two_in_one_age_file, id="two recipients in one age file"),
        pytest.param(_with_a_line(f"# Encrypted by osm-gitops, digest {_HEX}\n"), id="line of an earlier version"),
        pytest.param(_with_a_line(f"# Encrypted by osm-gitops, digest {_HEX}, seal {_HEX}\n"), id="forged seal"),
        pytest.param(_with_a_line("# Encrypted by osm-gitops, digest , seal \n"), id="broken line"),
    ],
)
Plant = Callable[[Mapping[str, Json], Person, Attacker], Planted]


@_PLANTS
@pytest.mark.parametrize("name", ["a", "b"], ids=["pool that exists", "new pool"])
@pytest.mark.parametrize("digest_key", [{}, _DIGEST_KEY], ids=["derived key", "digest key"])
def test_a_planted_data_key_encrypts_nothing_and_the_plan_names_the_file(
    tmp_path: Path, person: Person, attacker: Attacker, plant: Plant, name: str, digest_key: Mapping[str, str]
) -> None:
    environment = {**person.environment, **digest_key}
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "x\n"}), environment)
    path = tmp_path / _FOLDER / f"{name}-kube-system-provisioning-config.yaml"
    wanted = desired({"a": "x\n", "b": "a secret\n"})
    for label in (True, False):
        planted = plant(_bait(path.stem, label=label), person, attacker)
        path.write_text(planted.text)
        plan = _write(tmp_path, wanted, environment)
        (change,) = (each for each in plan.effective if each.ref.name == path.stem)
        assert change.reason.endswith(_NEW_KEY)
        planted.check_reads_nothing(path, attacker)
        assert not _plan(tmp_path, wanted, environment).has_changes


def test_an_encrypted_file_at_the_name_of_a_pool_to_come_is_named_before_the_pool_comes(
    tmp_path: Path, person: Person, attacker: Attacker
) -> None:
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "x\n"}), person.environment)
    path = tmp_path / _FOLDER / "b-kube-system-provisioning-config.yaml"
    planted = _stanza_taken_out(_bait(path.stem, label=False), person, attacker)
    path.write_text(planted.text)
    plan = _plan(tmp_path, desired({"a": "x\n"}), person.environment)
    assert not plan.has_changes  # design.md, "Guards": what does not carry our label is not deleted
    (warning,) = (each for each in plan.warnings if each == Expected(Code.DATA_KEY_NOT_OURS))
    assert path.name in warning.what
    assert _NEW_KEY in warning.fix
    found = data_keys(tmp_path, ["prod"], FileEncryption(person.environment))
    assert found.foreign == [path.relative_to(tmp_path)]


@_PLANTS
def test_a_run_with_a_digest_key_only_writes_under_a_new_data_key_too(
    tmp_path: Path, person: Person, attacker: Attacker, plant: Plant
) -> None:
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "x\n"}), _DIGEST_KEY)
    path = tmp_path / _FOLDER / "a-kube-system-provisioning-config.yaml"
    planted = plant(_bait(path.stem), person, attacker)
    path.write_text(planted.text)
    plan = _write(tmp_path, desired({"a": "a secret\n"}), _DIGEST_KEY)
    assert any(each.reason.endswith(_NEW_KEY) for each in plan.effective if each.ref.name == path.stem)
    planted.check_reads_nothing(path, attacker)


@_PLANTS
@pytest.mark.parametrize("added", [False, True], ids=["rotate", "recipient added"])
def test_rekey_makes_no_planted_data_key_our_own(
    tmp_path: Path, person: Person, attacker: Attacker, plant: Plant, added: bool
) -> None:
    """A rekey that kept the data key would put our seal above it, and the next apply would write a secret under it."""
    other = Person(*new_identity())
    recipients = (person.recipient, other.recipient) if added else (person.recipient,)
    _rules(tmp_path, *recipients)
    path = tmp_path / _FOLDER / "a-kube-system-provisioning-config.yaml"
    path.parent.mkdir(parents=True)
    planted = plant(_bait(path.stem), person, attacker)
    path.write_text(planted.text)
    write_rekeyed(rekeyed_files([tmp_path], FileEncryption(person.environment), Rotation(all_ours=not added)).files)
    planted.check_reads_nothing(path, attacker)
    _write(tmp_path, desired({"a": "a secret\n"}), person.environment)
    planted.check_reads_nothing(path, attacker)


@_PLANTS
def test_rekey_and_doctor_find_planted_files(tmp_path: Path, person: Person, attacker: Attacker, plant: Plant) -> None:
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "x\n"}), person.environment)
    path = tmp_path / _FOLDER / "a-kube-system-provisioning-config.yaml"
    path.write_text(plant(_bait(path.stem), person, attacker).text)
    encryption = FileEncryption(person.environment)
    found = data_keys(tmp_path, ["prod"], encryption)
    assert {*found.former, *found.unverified, *found.foreign, *found.repeated} == {path.relative_to(tmp_path)}
    rekeying = rekeyed_files([tmp_path], encryption, Rotation())
    assert {*rekeying.unverified, *(file.path for file in rekeying.files)} == {path}


def _former_line(key: bytes, plain: str, rest: str) -> str:
    """The first line as earlier versions made it, which kept the data key of any file."""
    covered = hashlib.sha256(plain.encode()).digest() + hashlib.sha256(rest.encode()).digest()
    return f"# Encrypted by osm-gitops, digest {hmac.new(key, covered, hashlib.sha256).hexdigest()}\n"


def _filled_by_an_earlier_version(
    root: Path, wanted: Desired, person: Person, attacker: Attacker
) -> dict[Path, Planted]:
    """All files as an earlier version left them: planted, then filled under the planted data key."""
    (key,) = find_keys(person.environment).digest_keys()
    made = {}
    for item in (each for each in wanted.objects if each.ref.kind == "Secret"):
        planted = _stanza_taken_out(item.body, person, attacker)
        path = root / _FOLDER / f"{item.ref.name}.yaml"
        path.write_text(_former_line(key, dump(item.body), planted.text) + planted.text)
        made[path] = planted
    return made


def test_files_of_earlier_versions_stay_until_they_change_and_get_a_new_data_key_then(
    tmp_path: Path, person: Person, attacker: Attacker
) -> None:
    _rules(tmp_path, person.recipient)
    wanted = desired({"a": "x\n", "b": "y\n"})
    _write(tmp_path, wanted, person.environment)
    made = _filled_by_an_earlier_version(tmp_path, wanted, person, attacker)
    before = _texts(tmp_path)
    plan = _write(tmp_path, wanted, person.environment)
    assert not plan.has_changes
    assert _texts(tmp_path) == before
    (warning,) = plan.warnings
    assert warning.fix == "Run osm-gitops rekey --rotate once"
    former = data_keys(tmp_path, ["prod"], FileEncryption(person.environment)).former
    assert {tmp_path / path for path in former} == set(made)
    plan = _write(tmp_path, desired({"a": "a secret\n", "b": "y\n"}), person.environment)
    (changed,) = (each for each in plan.effective if each.ref.kind == "Secret")
    assert changed.reason.endswith("its digest is of an earlier version: gets a new data key")
    path = tmp_path / _FOLDER / f"{changed.ref.name}.yaml"
    made[path].check_reads_nothing(path, attacker)
    # What the attacker could read before this version they can read until the files are rotated.
    write_rekeyed(rekeyed_files([tmp_path], FileEncryption(person.environment), Rotation(all_ours=True)).files)
    for path, planted in made.items():
        planted.check_reads_nothing(path, attacker)
    plan = _plan(tmp_path, desired({"a": "a secret\n", "b": "y\n"}), person.environment)
    assert not plan.has_changes
    assert plan.warnings == ()


def test_a_line_of_another_file_or_version_lets_no_data_key_be_kept(
    tmp_path: Path, person: Person, attacker: Attacker
) -> None:
    _rules(tmp_path, person.recipient)
    wanted = desired({"a": "x\n", "b": "y\n"})
    _write(tmp_path, wanted, person.environment)
    path = tmp_path / _FOLDER / "a-kube-system-provisioning-config.yaml"
    other = tmp_path / _FOLDER / "b-kube-system-provisioning-config.yaml"
    for source in (path, other):
        line = source.read_text().splitlines(keepends=True)[0]
        planted = _stanza_taken_out(_bait(path.stem), person, attacker)
        path.write_text(line + planted.text)
        plan = _write(tmp_path, wanted, person.environment)
        assert [each.reason.endswith(_NEW_KEY) for each in plan.effective] == [True]
        planted.check_reads_nothing(path, attacker)


def _set_entries(text: str, change: Callable[[list[dict[str, str]]], list[dict[str, str]]]) -> str:
    line, rest = text.split("\n", 1)
    body = _body(rest)
    return f"{line}\n" + dump({**body, "sops": {**body["sops"], "age": change(body["sops"]["age"])}})


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda entries: entries[::-1], id="order"),
        pytest.param(lambda entries: [entries[0], entries[0]], id="the same one twice"),
        pytest.param(lambda entries: entries[:1], id="one taken out"),
        pytest.param(
            lambda entries: [
                {"recipient": entries[0]["recipient"], "enc": entries[1]["enc"]},
                {"recipient": entries[1]["recipient"], "enc": entries[0]["enc"]},
            ],
            id="names swapped",
        ),
    ],
)
def test_every_change_of_the_entries_breaks_the_seal(
    tmp_path: Path, person: Person, change: Callable[[list[dict[str, str]]], list[dict[str, str]]]
) -> None:
    other = Person(*new_identity())
    _rules(tmp_path, person.recipient, other.recipient)
    _write(tmp_path, desired({"a": "x\n"}), person.environment)
    path = tmp_path / _FOLDER / "a-kube-system-provisioning-config.yaml"
    text = path.read_text()
    encryption = FileEncryption(person.environment)
    assert encryption.is_sealed(text.encode())
    assert _set_entries(text, lambda entries: entries) == text
    changed = _set_entries(text, change)
    assert not encryption.is_sealed(changed.encode())
    path.write_text(changed)
    _write(tmp_path, desired({"a": "z\n"}), person.environment)
    before, after = (_ciphertexts(each) for each in (text, path.read_text()))
    assert not before & after


def _ciphertexts(text: str) -> set[str]:
    return {line for line in text.splitlines() if "ENC[" in line}


def test_two_of_our_files_that_were_swapped_are_set_right_under_new_data_keys(tmp_path: Path, person: Person) -> None:
    _rules(tmp_path, person.recipient)
    wanted = desired({"a": "x\n", "b": "y\n"})
    _write(tmp_path, wanted, person.environment)
    first, second = (tmp_path / _FOLDER / f"{name}-kube-system-provisioning-config.yaml" for name in "ab")
    one, two = first.read_text(), second.read_text()
    first.write_text(two)
    second.write_text(one)
    plan = _write(tmp_path, wanted, person.environment)
    assert {each.ref.name for each in plan.effective} == {first.stem, second.stem}
    for path in (first, second):
        assert not _ciphertexts(path.read_text()) & (_ciphertexts(one) | _ciphertexts(two))
    assert not _plan(tmp_path, wanted, person.environment).has_changes


def test_a_file_of_before_a_recipient_was_removed_does_not_bring_their_data_key_back(
    tmp_path: Path, person: Person
) -> None:
    """A replay from git's history: our seal, and an entry of somebody who is no recipient any more."""
    removed = Person(*new_identity())
    _rules(tmp_path, person.recipient, removed.recipient)
    _write(tmp_path, desired({"a": "x\n"}), person.environment)
    path = tmp_path / _FOLDER / "a-kube-system-provisioning-config.yaml"
    old = path.read_text()
    key = read_envelope(_body(old)).data_key(find_keys(removed.environment))
    _rules(tmp_path, person.recipient)
    write_rekeyed(rekeyed_files([tmp_path], FileEncryption(person.environment), Rotation()).files)
    for replay in (old, _set_entries(old, lambda entries: entries[:1])):
        path.write_text(replay)
        _write(tmp_path, desired({"a": "a secret\n"}), person.environment)
        with pytest.raises(BrokenLeaf):
            unseal(AESGCM(key), _body(path.read_text())["data"]["cloud-config"], "data:cloud-config:")


def test_the_attack_is_one(person: Person, attacker: Attacker) -> None:
    """What the tests above try would read a file whose data key was kept: encryption itself does not stop it."""
    planted = _stanza_taken_out(_bait("a"), person, attacker)
    filled = encrypt(
        _bait("a") | {"data": {"cloud-config": "a secret"}},
        Rule((person.recipient,), Selection(HIDDEN)),
        now=_NOW,
        previous=_body(planted.text),
        keyring=find_keys(person.environment),
    )
    opened = {**filled, "sops": {**filled["sops"], "age": [dict(planted.entry)]}}
    (body,) = decrypt([opened], find_keys({"SOPS_AGE_KEY": attacker.key}))
    assert body["data"] == {"cloud-config": "a secret"}


def test_two_entries_of_one_name_are_refused_where_a_data_key_would_be_kept(person: Person, attacker: Attacker) -> None:
    body = _body(_two_of_one_label(_bait("a"), person, attacker).text)
    with refused(Code.SOPS_REPEATED_RECIPIENT, kind=OsmGitopsError):
        rekey([body], [person.recipient], keyring=find_keys(person.environment))
    again = encrypt(
        _bait("a"),
        Rule((person.recipient,), Selection(HIDDEN)),
        now=_NOW,
        previous=body,
        keyring=find_keys(person.environment),
    )
    entries = [each for each in body["sops"]["age"] if attacker_opens(attacker, each)]
    assert len(entries) == 1
    key = attacker.data_key({**body, "sops": {**body["sops"], "age": entries}})
    with pytest.raises(BrokenLeaf):
        unseal(AESGCM(key), again["data"]["cloud-config"], "data:cloud-config:")


def _with_pgp(text: str) -> str:
    body = _body(text)
    return dump({**body, "sops": {**body["sops"], "pgp": [{"fp": "AA", "enc": "BB", "created_at": _NOW}]}})


def test_other_keys_protect_a_file_of_ours_from_a_new_data_key_and_no_planted_one(
    tmp_path: Path, person: Person, attacker: Attacker
) -> None:
    """Whoever added a key of another kind to our file with sops is not locked out without a word."""
    _rules(tmp_path, person.recipient)
    _write(tmp_path, desired({"a": "x\n"}), person.environment)
    path = tmp_path / _FOLDER / "a-kube-system-provisioning-config.yaml"
    line, text = path.read_text().split("\n", 1)
    path.write_text(f"{line}\n{_with_pgp(text)}")
    with refused(Expected(Code.SOPS_OTHER_KEYS, path.name, "PGP"), kind=EncryptionError):
        _write(tmp_path, desired({"a": "z\n"}), person.environment)
    planted = _stanza_taken_out(_bait(path.stem), person, attacker)
    path.write_text(_with_pgp(planted.text))
    _write(tmp_path, desired({"a": "z\n"}), person.environment)
    planted.check_reads_nothing(path, attacker)


# -- the whole way, by the commands and with the real sops --


@pytest.fixture
def repo(tmp_path: Path, person: Person, monkeypatch: pytest.MonkeyPatch) -> Path:
    pin_git(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOPS_AGE_KEY", person.key)
    write_tree(tmp_path / "tree", profile(), pool("a"))
    repository = new_repository(tmp_path / "repo")
    (repository / ".sops.yaml").write_text(f"creation_rules:\n- age: {person.recipient}\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "rules")
    return repository


_SOURCE = ("--from", "tree", "--to", "repo/clusters")
_SECRETS = "clusters/default/worker/secrets"


def _plant_for_b(repo: Path, text: str) -> Path:
    path = repo / _SECRETS / "b-kube-system-provisioning-config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "an innocent file")
    return path


def test_apply_fills_no_planted_file_when_its_pool_comes(
    repo: Path, tmp_path: Path, person: Person, attacker: Attacker
) -> None:
    assert osm_gitops("apply", "--yes", *_SOURCE).code == 0
    planted = _stanza_taken_out(_bait("b-kube-system-provisioning-config", label=False), person, attacker)
    path = _plant_for_b(repo, planted.text)
    ran = osm_gitops("plan", *_SOURCE)
    assert "No changes." in ran.out
    assert "encrypted files that osm-gitops did not write" in ran.out
    assert path.name in ran.out
    write_tree(tmp_path / "tree", pool("b"))
    ran = osm_gitops("plan", *_SOURCE)
    assert "not written by osm-gitops: replaced, with a new data key" in ran.out
    assert osm_gitops("apply", "--yes", *_SOURCE).code == 0
    planted.check_reads_nothing(path, attacker)
    assert "No changes." in osm_gitops("plan", *_SOURCE).out


@pytest.mark.oracle
@pytest.mark.parametrize("how", ["taken out", "two of one name"])
def test_the_real_sops_of_an_attacker_reads_nothing(
    repo: Path, tmp_path: Path, person: Person, attacker: Attacker, how: str
) -> None:
    bait = tmp_path / "bait.yaml"
    bait.write_text(dump(_bait("b-kube-system-provisioning-config")))
    keys = f"{person.recipient},{attacker.recipient}"
    theirs = _sops(attacker, "encrypt", "--age", keys, "--encrypted-regex", HIDDEN, bait)
    assert theirs.returncode == 0, theirs.stderr
    body = _body(theirs.stdout)
    kept = attacker.entry(body)
    if how == "taken out":
        entries = [each for each in body["sops"]["age"] if each["recipient"] != attacker.recipient]
    else:
        entries = [{**each, "recipient": person.recipient} for each in body["sops"]["age"]]
    path = _plant_for_b(repo, dump({**body, "sops": {**body["sops"], "age": entries}}))
    write_tree(tmp_path / "tree", pool("b"))
    assert osm_gitops("apply", "--yes", *_SOURCE).code == 0
    filled = _body(path.read_bytes())
    mine = _sops(person, "decrypt", path)
    assert mine.returncode == 0, mine.stderr
    stolen = tmp_path / "stolen.yaml"
    stolen.write_text(dump({**filled, "sops": {**filled["sops"], "age": [kept]}}))
    read = _sops(attacker, "decrypt", "--ignore-mac", stolen)
    assert read.returncode != 0
    assert "cloud-config" not in read.stdout


def _sops(who: Person | Attacker, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {"SOPS_AGE_KEY": who.key, "HOME": "/nonexistent", "PATH": os.environ["PATH"]}
    return subprocess.run([real_tool("sops"), *arguments], capture_output=True, text=True, check=False, env=environment)
