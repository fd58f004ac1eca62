"""The real sops and age read what ours writes, and ours reads what they write: values, MACs, keys, rules."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from osm_gitops.errors import EncryptionError
from osm_gitops.sops.document import decrypt, encrypt, recipients_of, rekey, rotate
from osm_gitops.sops.keys import find_keys
from osm_gitops.sops.recipients import wrap
from osm_gitops.sops.rules import CreationRules, Rule, Selection
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents
from tests.real_tools import real_tool
from tests.sops.scenes import ANNA, BERT, CLEO, LATER, NOW, OURS, SECRET, Person, documents, replaced, selections

pytestmark = pytest.mark.oracle
Json = Any
_SLOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
_WRONG_MAC, _NO_KEY, _BROKEN = 51, 128, 25


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(real_tool("sops")), "--disable-version-check", *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _sops(folder: Path, *arguments: str, **environment: str) -> str:
    done = _run(folder, *arguments, **{"SOPS_AGE_KEY": ANNA.key, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


def _written(folder: Path, *bodies: Mapping[str, Json], name: str = "a.yaml") -> Path:
    path = folder / name
    path.write_text("---\n".join(map(dump, bodies)))
    return path


def _read(text: str) -> list[Json]:
    return [document.value for document in load_documents(text, "a.yaml")]


def _opened(path: Path, person: Person = ANNA) -> list[str]:
    return list(map(dump, decrypt(_read(path.read_text()), person.keyring)))


@_SLOW
@given(documents, selections)
def test_sops_opens_what_ours_encrypts_and_finds_its_mac_right(
    folder: Path, body: dict[str, Json], selection: Selection
) -> None:
    assume("-0.0" not in dump(body))  # which JSON and sops know as 0
    path = _written(folder, encrypt(body, ANNA.rule(selection), now=NOW))
    # Its YAML has faults of its own: texts that begin with an empty line come out broken.
    opened = json.loads(_sops(folder, "decrypt", "--output-type", "json", path.name))
    assert dump(opened) == dump(body)


@_SLOW
@given(documents.filter(bool), selections)
def test_ours_opens_what_sops_encrypts_and_finds_its_mac_right(
    folder: Path, body: dict[str, Json], selection: Selection
) -> None:
    assume("-0.0" not in dump(body))  # sops writes it as -0 and then finds its own MAC wrong
    path = folder / "a.json"  # sops' YAML has faults of its own
    path.write_text(json.dumps(body, sort_keys=True))
    rule = {"age": ANNA.recipient, **asdict(selection)}
    (folder / "rules.yaml").write_text(dump({"creation_rules": [rule]}))
    _sops(folder, "--config", "rules.yaml", "encrypt", "--in-place", path.name)
    assert _opened(path) == [dump(body)]
    (there,) = _read(path.read_text())
    assert encrypt(body, ANNA.rule(selection), now=LATER, previous=there, keyring=ANNA.keyring) == there


def test_sops_knows_an_encrypted_file_without_a_key(folder: Path) -> None:
    path = _written(folder, encrypt(SECRET, ANNA.rule(), now=NOW))
    assert json.loads(_sops(folder, "filestatus", path.name, SOPS_AGE_KEY="")) == {"encrypted": True}


def test_a_value_that_sops_sets_is_read_and_all_else_is_kept(folder: Path) -> None:
    before = encrypt(SECRET, ANNA.rule(), now=NOW)
    path = _written(folder, before)
    _sops(folder, "set", path.name, '["data"]["token"]', '"changed"')
    (there,) = _read(path.read_text())
    wanted = replaced(SECRET, ("data", "token"), "changed")
    assert _opened(path) == [dump(wanted)]
    assert there["data"]["other"] == before["data"]["other"]
    assert encrypt(wanted, ANNA.rule(), now=LATER, previous=there, keyring=ANNA.keyring) == there
    _sops(folder, "unset", path.name, '["stringData"]["list"][0]')
    assert _opened(path) == [dump(replaced(wanted, ("stringData", "list"), SECRET["stringData"]["list"][1:]))]


def test_an_edited_file_is_read_with_its_new_comments_and_fields(folder: Path) -> None:
    path = _written(folder, encrypt(SECRET, ANNA.rule(Selection(unencrypted_regex="^metadata$")), now=NOW))
    script = (
        "import sys; text = open(sys.argv[1]).read();"
        "open(sys.argv[1], 'w').write(f'# hello\\n{text}more: [1, 2] # x\\n')"
    )
    _sops(folder, path.name, SOPS_EDITOR=f"{sys.executable} -c {shlex.quote(script)}")
    assert "type:comment" in path.read_text()
    assert _opened(path) == [dump(SECRET | {"more": [1, 2]})]


def test_updatekeys_and_rotate_of_sops_take_what_ours_wrote(folder: Path) -> None:
    path = _written(folder, encrypt(SECRET, ANNA.rule(), now=NOW), name="rotated.yaml")
    (folder / ".sops.yaml").write_text(f"creation_rules: [{{age: '{ANNA.recipient},{BERT.recipient}'}}]")
    _sops(folder, "updatekeys", "--yes", path.name)
    _sops(folder, "rotate", "--in-place", path.name)
    (folder / ".sops.yaml").unlink()
    assert _opened(path) == _opened(path, BERT) == [dump(SECRET)]
    assert recipients_of(_read(path.read_text())[0]) == (ANNA.recipient, BERT.recipient)


def test_rekey_and_rotate_of_ours_take_what_sops_wrote_documents_and_all(folder: Path) -> None:
    plain = [SECRET, SECRET | {"metadata": {"name": "other"}}]
    path = _written(folder, *plain)
    chosen = ("--age", ANNA.recipient, "--encrypted-regex", OURS.encrypted_regex)
    _sops(folder, "encrypt", "--in-place", *chosen, path.name)
    there = _read(path.read_text())
    for now in (
        rekey(there, [BERT.recipient], keyring=ANNA.keyring),
        rotate(there, [BERT.recipient], now=LATER, keyring=ANNA.keyring),
    ):
        _written(folder, *now)
        assert _run(folder, "decrypt", path.name, SOPS_AGE_KEY=ANNA.key).returncode == _NO_KEY
        assert _read(_sops(folder, "decrypt", path.name, SOPS_AGE_KEY=BERT.key)) == plain


def _tampered() -> Iterator[tuple[str, int, dict[str, Json]]]:
    sealed = encrypt(SECRET, ANNA.rule(), now=NOW)
    data, sops = sealed["data"], sealed["sops"]
    yield "clear value", _WRONG_MAC, sealed | {"kind": "Other"}
    yield "removed value", _WRONG_MAC, sealed | {"data": {"token": data["token"]}}
    yield "moved value", _BROKEN, sealed | {"data": data | {"other": data["token"]}}
    yield "plain value", _BROKEN, sealed | {"data": data | {"other": "plain"}}
    yield "type", _WRONG_MAC, sealed | {"data": data | {"other": data["other"].replace("type:str", "type:comment")}}
    yield "no MAC", _WRONG_MAC, sealed | {"sops": sops | {"mac": ""}}
    yield "date", _WRONG_MAC, sealed | {"sops": sops | {"lastmodified": LATER}}
    yield "selection", _WRONG_MAC, sealed | {"sops": sops | {"encrypted_regex": "^data$"}}


@pytest.mark.parametrize(("code", "body"), [case[1:] for case in _tampered()], ids=[case[0] for case in _tampered()])
def test_what_sops_refuses_ours_refuses(code: int, body: dict[str, Json], folder: Path) -> None:
    path = _written(folder, body)
    assert _run(folder, "decrypt", path.name, SOPS_AGE_KEY=ANNA.key).returncode == code
    with pytest.raises(EncryptionError):
        _opened(path)


def test_age_opens_the_data_key_and_ours_what_age_encrypted(folder: Path) -> None:
    (folder / "key.txt").write_text(ANNA.key)
    key = bytes(range(32))
    (stanza,) = wrap(key, [ANNA.recipient])
    done = _age("--decrypt", "--identity", str(folder / "key.txt"), given=stanza.enc.encode())
    assert done == key
    enc = _age("--encrypt", "--armor", "--recipient", ANNA.recipient, given=key).decode()
    assert ANNA.keyring.open(enc, ANNA.recipient) == key
    assert BERT.keyring.open(enc, ANNA.recipient) is None
    locked = _age("--encrypt", "--armor", "--recipient", BERT.recipient, "--recipient", ANNA.recipient, given=key)
    assert ANNA.keyring.open(locked.decode(), "") == key


def _age(*arguments: str, given: bytes) -> bytes:
    return subprocess.run([real_tool("age"), *arguments], input=given, capture_output=True, check=True).stdout


def test_a_key_of_age_keygen_is_read(folder: Path) -> None:
    path = folder / "generated.txt"
    subprocess.run([real_tool("age-keygen"), "-o", path], check=True, capture_output=True)
    recipient = subprocess.run([real_tool("age-keygen"), "-y", path], check=True, capture_output=True, text=True).stdout
    assert find_keys({"SOPS_AGE_KEY_FILE": str(path)}).recipients == (recipient.strip(),)


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_keys_of_ssh_open_both_ways(kind: str, tmp_path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "anna@example.com", "-f", str(tmp_path / "key")]
    subprocess.run(command, check=True)
    recipient = (tmp_path / "key.pub").read_text().strip()
    environment = {"SOPS_AGE_SSH_PRIVATE_KEY_FILE": str(tmp_path / "key"), "SOPS_AGE_KEY": ""}
    path = _written(tmp_path, encrypt(SECRET, Rule((recipient,), OURS), now=NOW))
    assert _read(_sops(tmp_path, "decrypt", path.name, **environment)) == [SECRET]
    path = _written(tmp_path, SECRET)
    _sops(tmp_path, "encrypt", "--in-place", "--age", recipient, path.name)
    assert decrypt(_read(path.read_text()), find_keys(environment)) == [SECRET]


_PLACES: Sequence[tuple[str, Mapping[str, str]]] = (
    ("printed", {"SOPS_AGE_KEY_CMD": "cat 'a folder/keys.txt'"}),
    ("a file", {"SOPS_AGE_KEY_FILE": "a folder/keys.txt"}),
    ("the default", {"XDG_CONFIG_HOME": "FOLDER/config"}),
    ("below home", {"HOME": "FOLDER/home"}),
)


@pytest.mark.parametrize("environment", [place for _, place in _PLACES], ids=[name for name, _ in _PLACES])
def test_a_key_is_found_where_sops_finds_it(
    environment: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("a folder", "config/sops/age", "home/.config/sops/age"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "keys.txt").write_text(ANNA.key)
    variables = {name: text.replace("FOLDER", str(tmp_path)) for name, text in environment.items()}
    path = _written(tmp_path, encrypt(SECRET, ANNA.rule(), now=NOW))
    done = _run(tmp_path, "decrypt", path.name, **variables)
    assert done.returncode == 0, done.stderr
    found = find_keys({"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **variables})
    assert found.recipients == (ANNA.recipient,)


_RULES = f"""\
creation_rules:
- path_regex: ^clusters/prod/.*secret
  encrypted_regex: ^data$
  age: {ANNA.recipient}
- path_regex: \\.json$
  key_groups: [{{merge: [{{age: ['{BERT.recipient}']}}], age: ['{ANNA.recipient}', '{BERT.recipient}']}}]
- path_regex: (?i)CONFIG
  unencrypted_suffix: ame
  mac_only_encrypted: true
  age: >-
    {CLEO.recipient},
    {ANNA.recipient}
- age: ['{BERT.recipient}']
"""


@pytest.mark.parametrize("name", ["clusters/prod/a-secret.yaml", "clusters/secret.yaml", "a.json", "x/y/config.yaml"])
def test_the_rule_of_a_file_is_the_one_that_sops_takes(name: str, tmp_path: Path) -> None:
    (tmp_path / ".sops.yaml").write_text(_RULES)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(SECRET) if name.endswith("json") else dump(SECRET))
    rule = CreationRules().rule_for(path)
    assert rule
    _sops(tmp_path, "encrypt", "--in-place", name)
    (there,) = _read(path.read_text())
    assert recipients_of(there) == rule.recipients
    ours = encrypt(SECRET, rule, now=NOW)
    assert there["sops"].keys() == ours["sops"].keys()
    assert {key: there["sops"][key] for key in there["sops"] if key not in {"age", "mac", "lastmodified"}} == {
        key: ours["sops"][key] for key in ours["sops"] if key not in {"age", "mac", "lastmodified"}
    }
