"""Keys are found where sops finds them, and are never shown."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyrage
import pytest

from osm_gitops.errors import Code, EncryptionError, InputError, Problem
from osm_gitops.sops.document import decrypt, encrypt
from osm_gitops.sops.keys import default_key_file, find_keys, new_identity
from osm_gitops.sops.rules import Rule
from tests.faults import Expected, refused
from tests.sops.scenes import ANNA, BERT, CLEO, NOW, OURS, SECRET, VECTOR_KEYS


def _ssh_key(path: Path, kind: str, *, passphrase: str = "", form: str = "RFC4716") -> str:
    """A key of ssh in a file; its recipient, as authorized_keys has it, with a comment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "anna@example.com", "-m", form, "-f", str(path)]
    subprocess.run([*command, *(["-b", "2048"] if kind == "rsa" else [])], check=True)
    return path.with_suffix(".pub").read_text().strip()


def _problems(environment: Mapping[str, str]) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        find_keys(environment)
    return list(caught.value.problems)


def test_keys_come_from_every_place_where_sops_looks_and_each_once(tmp_path: Path) -> None:
    file = tmp_path / "my keys.txt"
    file.write_text(BERT.key + "\n\n" + ANNA.key)
    default = tmp_path / "config" / "sops" / "age" / "keys.txt"
    default.parent.mkdir(parents=True)
    default.write_text("# created: some day\n" + CLEO.key)
    printed, recipient = new_identity()
    (tmp_path / "printed").write_text(printed)
    found = find_keys(
        {
            "SOPS_AGE_KEY": ANNA.key,
            "SOPS_AGE_KEY_FILE": str(file),
            "SOPS_AGE_KEY_CMD": f"{sys.executable} -c 'print(open(\"{tmp_path}/printed\").read())'",
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "HOME": str(tmp_path),
        }
    )
    assert found.recipients == (ANNA.recipient, BERT.recipient, recipient, CLEO.recipient)
    assert found.notes == ()


def test_without_any_place_there_are_no_keys(tmp_path: Path) -> None:
    for environment in ({}, {"HOME": str(tmp_path)}, {"SOPS_AGE_KEY": "", "SOPS_AGE_KEY_FILE": ""}):
        assert not find_keys(environment)
        assert find_keys(environment).recipients == ()


def test_several_keys_in_one_variable_may_stand_in_a_line() -> None:
    secrets = [person.key.splitlines()[-1] for person in (ANNA, BERT)]
    assert find_keys({"SOPS_AGE_KEY": " ".join(secrets)}).recipients == (ANNA.recipient, BERT.recipient)


@pytest.mark.parametrize(("kind", "form"), [("ed25519", "RFC4716"), ("rsa", "RFC4716"), ("rsa", "PEM")])
def test_a_key_of_ssh_opens_what_was_encrypted_for_it(kind: str, form: str, tmp_path: Path) -> None:
    recipient = _ssh_key(tmp_path / ".ssh" / f"id_{kind}", kind, form=form)
    found = find_keys({"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)})
    assert found.recipients == (recipient.removesuffix(" anna@example.com"),)
    sealed = encrypt(SECRET, Rule((ANNA.recipient, recipient), OURS), now=NOW)
    assert decrypt([sealed], found) == [SECRET]
    assert encrypt(SECRET, Rule((ANNA.recipient, recipient), OURS), now=NOW, previous=sealed, keyring=found) == sealed


def test_a_key_of_ssh_is_taken_from_a_named_file_and_from_a_command(tmp_path: Path) -> None:
    one, two = (_ssh_key(tmp_path / name, "ed25519").rpartition(" ")[0] for name in ("one", "two"))
    environment = {
        "SOPS_AGE_SSH_PRIVATE_KEY_FILE": str(tmp_path / "one"),
        "SOPS_AGE_SSH_PRIVATE_KEY_CMD": f"cat '{tmp_path}/two'",
        "PATH": "/usr/bin:/bin",
    }
    assert find_keys(environment).recipients == (one, two)


def test_keys_that_cannot_be_used_become_notes(tmp_path: Path) -> None:
    _ssh_key(tmp_path / ".ssh" / "id_ed25519", "ed25519", passphrase="a passphrase")
    (tmp_path / ".ssh" / "id_rsa").write_text("no key at all")
    (tmp_path / "encrypted").write_text("age-encryption.org/v1\n-> scrypt x 18\n")
    (tmp_path / "config" / "sops" / "age").mkdir(parents=True)
    (tmp_path / "config" / "sops" / "age" / "keys.txt").write_text("# nothing yet\n")
    keys = "AGE-PLUGIN-YUBIKEY-1QQQ\nAGE-SECRET-KEY-PQ-1QQQ"
    file = tmp_path / "encrypted"
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    found = find_keys({**home, "SOPS_AGE_KEY": keys, "SOPS_AGE_KEY_FILE": str(file)})
    assert not found
    assert found.notes == (
        f"{tmp_path}/.ssh/id_ed25519: the ssh key has a passphrase, for which osm-gitops does not ask",
        f"{tmp_path}/.ssh/id_rsa: the file holds no private ssh key",
        "SOPS_AGE_KEY: an identity of an age plugin, which osm-gitops cannot use",
        "SOPS_AGE_KEY: a post-quantum identity, which osm-gitops cannot use",
        "SOPS_AGE_KEY_FILE: the key file is encrypted with a passphrase, for which osm-gitops does not ask",
        f"{tmp_path}/config/sops/age/keys.txt: it holds no key",
    )


def test_all_named_places_that_hold_no_key_are_told_at_once_without_their_text(tmp_path: Path) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_text("# mine\n" + ANNA.key.splitlines()[-1][:-1] + "B\n")  # no letter of bech32
    secret = "AGE-SECRET-KEY-1GEHEIM"
    told = _problems(
        {
            "SOPS_AGE_KEY": f"# a comment\n{secret}",
            "SOPS_AGE_KEY_FILE": str(broken),
            "SOPS_AGE_KEY_CMD": f"{sys.executable} -c 'import sys; print(\"{secret}\", file=sys.stderr); sys.exit(3)'",
            "SOPS_AGE_SSH_PRIVATE_KEY_FILE": str(tmp_path / "missing"),
            "SOPS_AGE_SSH_PRIVATE_KEY_CMD": f"no-such-program {secret}",
        }
    )
    assert told == [
        Expected(Code.FILE_UNREADABLE, "SOPS_AGE_SSH_PRIVATE_KEY_FILE", f"{tmp_path}/missing"),
        Expected(Code.AGE_KEY_COMMAND, "SOPS_AGE_SSH_PRIVATE_KEY_CMD"),
        Expected(Code.AGE_KEY_INVALID, "SOPS_AGE_KEY:2"),
        Expected(Code.AGE_KEY_INVALID, "SOPS_AGE_KEY_FILE:2"),
        Expected(Code.AGE_KEY_COMMAND, "SOPS_AGE_KEY_CMD", "3"),
    ]
    assert "GEHEIM" not in str(told)


def test_key_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert _problems({"SOPS_AGE_KEY_FILE": str(tmp_path / "binary")}) == [
        Expected(Code.FILE_UNREADABLE, f"{tmp_path}/binary")
    ]
    assert _problems({"SOPS_AGE_KEY_FILE": str(tmp_path)}) == [Expected(Code.FILE_UNREADABLE, tmp_path)]
    assert _problems({"SOPS_AGE_KEY_CMD": "'"}) == [Expected(Code.AGE_KEY_COMMAND, "SOPS_AGE_KEY_CMD")]


def test_a_command_that_prints_keys_does_not_read_our_input() -> None:
    command = f"{sys.executable} -c 'import sys; print(sys.stdin.read() or \"{ANNA.key.splitlines()[-1]}\")'"
    assert find_keys({"SOPS_AGE_KEY_CMD": command}).recipients == (ANNA.recipient,)


@pytest.mark.parametrize(
    ("platform", "environment", "place"),
    [
        ("linux", {"HOME": "/home/anna"}, "/home/anna/.config/sops/age/keys.txt"),
        ("linux", {"HOME": "/home/anna", "XDG_CONFIG_HOME": "/xdg"}, "/xdg/sops/age/keys.txt"),
        ("linux", {"HOME": "/home/anna", "XDG_CONFIG_HOME": "relative"}, None),
        ("linux", {}, None),
        ("darwin", {"HOME": "/Users/anna"}, "/Users/anna/Library/Application Support/sops/age/keys.txt"),
        ("darwin", {"HOME": "/Users/anna", "XDG_CONFIG_HOME": "/xdg"}, "/xdg/sops/age/keys.txt"),
        ("win32", {"APPDATA": "C:/Users/anna/AppData"}, "C:/Users/anna/AppData/sops/age/keys.txt"),
        ("win32", {}, None),
    ],
)
def test_the_file_of_sops_is_where_each_system_keeps_settings(
    platform: str, environment: Mapping[str, str], place: str | None
) -> None:
    found = default_key_file(environment, platform)
    assert (found.as_posix() if found else None) == place


def test_digest_keys_follow_from_the_identity_alone_and_tell_nothing_of_it(tmp_path: Path) -> None:
    _ssh_key(tmp_path / ".ssh" / "id_ed25519", "ed25519")
    both = find_keys({"SOPS_AGE_KEY": ANNA.key, "HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}).digest_keys()
    assert [len(key) for key in both] == [32, 32]
    assert both[1:] == ANNA.keyring.digest_keys() == find_keys(ANNA.environment).digest_keys()
    assert len({*both, *BERT.keyring.digest_keys()}) == 3
    # Digests that stand in git depend on it.
    assert VECTOR_KEYS.digest_keys()[0].hex() == "13e7166af3c1ea6b80a448ce796318e8d1e1656ae1d418e2ed3dcaeb7bf2930e"


def test_a_keyring_shows_no_key() -> None:
    secret = ANNA.key.splitlines()[-1].removeprefix("AGE-SECRET-KEY-1")
    for shown in (ANNA.keyring, ANNA.keyring.identities, ANNA.keyring.identities[0]):
        assert secret not in f"{shown!r} {shown}"


def test_a_data_key_is_decrypted_once_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = encrypt(SECRET, Rule((ANNA.recipient,), OURS), now=NOW)
    keyring = find_keys(ANNA.environment)
    assert decrypt([sealed], keyring) == [SECRET]
    (stanza,) = sealed["sops"]["age"]
    key = keyring.open(stanza["enc"], stanza["recipient"])
    assert key is not None
    assert repr(key)[2:-1] not in repr(keyring)
    monkeypatch.setattr(pyrage, "decrypt", lambda *_: pytest.fail("decrypted again"))
    assert decrypt([sealed], keyring) == [SECRET]


def test_a_new_key_file_names_its_recipient_and_is_read_again() -> None:
    text, recipient = new_identity()
    assert text.splitlines()[0] == f"# public key: {recipient}"
    assert find_keys({"SOPS_AGE_KEY": text}).recipients == (recipient,)
    assert new_identity()[1] != recipient


def test_a_damaged_data_key_beside_a_whole_one_hinders_nobody() -> None:
    sealed = encrypt(SECRET, Rule((BERT.recipient, ANNA.recipient), OURS), now=NOW)
    sealed["sops"]["age"][0]["enc"] = "damaged"
    assert decrypt([sealed], ANNA.keyring) == [SECRET]
    with refused(Expected(Code.SOPS_DAMAGED, BERT.recipient), kind=EncryptionError):
        decrypt([sealed], BERT.keyring)
