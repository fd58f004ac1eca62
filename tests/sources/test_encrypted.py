"""SOPS-encrypted manifests in a source tree."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osm_gitops.errors import Code
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.sops.document import hidden
from osm_gitops.sops.keys import KeySearch, new_identity
from osm_gitops.sources.revision import open_revision
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents
from tests.faults import Expected, placed, refused
from tests.git.repos import git, new_repository, pin_git
from tests.sources.sealed import KEY_FILE, MADE_BY_SOPS, RECIPIENT, WITH_KEY, sealed
from tests.sources.trees import MACHINE, PROFILE, found, problems, read

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: ns}\nstringData: {a: value-1, b: value-2}\n"
TWO = (MADE_BY_SOPS / "two-documents.yaml").read_text("utf-8")
OURS = SECRET.replace("namespace: ns", f"namespace: ns, labels: {{{MANAGED_BY_LABEL}: {MANAGED_BY}}}")


def without_keys() -> KeySearch:
    return KeySearch({}, without_keys=True)


def test_all_documents_of_a_file_of_sops_are_read(tmp_path: Path) -> None:
    inputs = read(tmp_path, {"a.yaml": TWO}, environment=WITH_KEY)
    assert problems(inputs) == []
    secret = inputs.facts.secrets["cloud-init-settings", "cloud-init-getter-token"]
    assert (secret.data, str(secret.origin)) == ({"token": b"getter-token-1"}, "t/a.yaml:2")
    config_map = inputs.facts.config_maps["kube-public", "cluster-info"]
    assert "server: https://api.example.com:6443" in config_map.data["kubeconfig"]
    assert str(config_map.origin) == "t/a.yaml:26"


def test_lists_of_sops_with_comments_between_their_entries_are_read(tmp_path: Path) -> None:
    text = (MADE_BY_SOPS / "list.yaml").read_text("utf-8")
    inputs = read(tmp_path, {"a.yaml": text}, environment=WITH_KEY)
    assert problems(inputs) == []
    assert {key: (secret.data, secret.origin.line) for key, secret in inputs.facts.secrets.items()} == {
        ("ns", "a"): ({"a": b"hello"}, 5),
        ("ns", "b"): ({"b": b"hello"}, 11),
    }


def test_json_of_sops_is_read_with_its_numbers(tmp_path: Path) -> None:
    text = (MADE_BY_SOPS / "pool.json").read_text("utf-8")
    inputs = read(tmp_path, {"a.json": text}, environment=WITH_KEY)
    (machine,) = inputs.machines
    assert machine.provider_spec["cloudProviderSpec"] == {
        "token": "hetzner-token-1",
        "serverType": "cx22",
        "retries": 1234567,
    }
    assert inputs.sensitive == {"hetzner-token-1", "1234567"}


def test_a_single_file_and_a_key_file_do(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TWO)
    environment = {"SOPS_AGE_KEY_FILE": str(KEY_FILE)}
    inputs = read_tree(Folder(path, "a.yaml"), management_namespace="x", environment=environment)
    assert list(inputs.facts.secrets) == [("cloud-init-settings", "cloud-init-getter-token")]


def test_a_revision_is_decrypted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)
    repo = new_repository(tmp_path / "repo")
    (repo / "a.yaml").write_text(TWO)
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "secrets")
    (repo / "a.yaml").unlink()
    with open_revision(repo, "main", "t") as files:
        inputs = read_tree(files, management_namespace="x", environment=WITH_KEY)
        refused = read_tree(files, management_namespace="x", environment={})
    assert inputs.facts.secrets["cloud-init-settings", "cloud-init-getter-token"].data == {"token": b"getter-token-1"}
    assert str(inputs.facts.config_maps["kube-public", "cluster-info"].origin) == "t/a.yaml@main:26"
    assert inputs.warnings == ()
    assert placed(problems(refused)[:1]) == [
        (Code.NO_KEY_OPENS, "t/a.yaml@main:2: Secret cloud-init-settings/cloud-init-getter-token: sops")
    ]


def test_without_a_key_the_object_its_recipients_and_the_way_out_are_named(tmp_path: Path) -> None:
    _, recipient = new_identity()
    other, _ = new_identity()
    inputs = read(tmp_path, {"a.yaml": PROFILE + "---\n" + sealed(SECRET)}, environment={"SOPS_AGE_KEY": other})
    assert recipient not in str(inputs.unreadable)
    assert found(inputs) == [(Code.NO_KEY_OPENS, "t/a.yaml:19: Secret ns/s: sops")]
    (problem,) = inputs.unreadable
    assert problem == Expected(Code.NO_KEY_OPENS, RECIPIENT)
    assert problem.fix.count("SOPS_AGE_KEY") == 2
    assert list(inputs.profiles) == [("kube-system", "osp-a")]


def test_of_many_files_without_a_key_some_are_named_and_all_counted(tmp_path: Path) -> None:
    text = sealed(SECRET)
    files = {f"{number:03}.yaml": text.replace("name: s", f"name: s{number}") for number in range(113)}
    found = problems(read(tmp_path, files))
    assert len(found) == 11
    assert placed(found[9:10]) == [(Code.NO_KEY_OPENS, "t/009.yaml:1: Secret ns/s9: sops")]
    assert found[10] == Expected(Code.NO_KEY_OPENS, "103")


def test_a_key_that_is_named_and_cannot_be_read_is_told(tmp_path: Path) -> None:
    environment = {"SOPS_AGE_KEY_FILE": str(tmp_path / "gone.txt")}
    with refused(Expected(Code.FILE_UNREADABLE, "SOPS_AGE_KEY_FILE")):
        read(tmp_path, {"a.yaml": sealed(SECRET)}, environment=environment)
    assert problems(read(tmp_path, {"a.yaml": SECRET}, environment=environment)) == []


def test_what_was_tampered_with_is_refused_with_every_place(tmp_path: Path) -> None:
    text = sealed(SECRET)
    moved = text.replace("  a: ENC", "  x: ENC").replace("  b: ENC", "  a: ENC").replace("  x: ENC", "  b: ENC")
    broken = text.replace("namespace: ns", "namespace: elsewhere")
    found = problems(read(tmp_path, {"a.yaml": moved, "b.yaml": broken}, environment=WITH_KEY))
    first = moved.splitlines().index("stringData:") + 2
    assert placed(found) == [
        (Code.SOPS_DAMAGED, f"t/a.yaml:{first}: Secret ns/s: stringData.b"),
        (Code.SOPS_DAMAGED, f"t/a.yaml:{first + 1}: Secret ns/s: stringData.a"),
        (Code.SOPS_DAMAGED, "t/b.yaml:1: Secret elsewhere/s: sops.mac"),
    ]
    assert "ENC[" not in str(found)


def test_of_several_documents_the_broken_one_is_told(tmp_path: Path) -> None:
    cut = TWO.replace("iMvaqUNkHf", "iMvaqUNkHF")
    (found,) = problems(read(tmp_path, {"a.yaml": cut}, environment=WITH_KEY))
    assert found == Expected(Code.SOPS_DAMAGED, "t/a.yaml: document 2: data.kubeconfig: ")


def test_documents_that_were_encrypted_apart_may_share_a_file_with_plain_ones(tmp_path: Path) -> None:
    other = SECRET.replace("name: s", "name: t")
    text = "---\n".join([sealed(SECRET), MACHINE, sealed(other)])
    inputs = read(tmp_path, {"a.yaml": text}, environment=WITH_KEY)
    assert problems(inputs) == []
    assert list(inputs.facts.secrets) == [("ns", "s"), ("ns", "t")]
    assert [machine.name for machine in inputs.machines] == ["pool"]


def test_what_is_not_read_needs_no_key(tmp_path: Path) -> None:
    release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\ndata: {a: b}\n"
    files = {"a.yaml": sealed(release), "values.yaml": sealed("data: {kind: b}\n"), "ours.yaml": sealed(OURS)}
    inputs = read(tmp_path, files, environment={"SOPS_AGE_KEY_FILE": "nowhere"})
    assert (problems(inputs), inputs.facts.secrets) == ([], {})
    assert inputs.notes == (
        "t/values.yaml: holds no Kubernetes objects",
        "1 of kind HelmRelease ignored",
        "1 of kind Secret, encrypted and written by osm-gitops, ignored",
    )


def test_a_document_whose_kind_is_encrypted_is_opened_to_see_what_it_is(tmp_path: Path) -> None:
    text = (MADE_BY_SOPS / "all-hidden.yaml").read_text("utf-8")
    assert list(read(tmp_path, {"a.yaml": text}, environment=WITH_KEY).facts.secrets) == [("ns", "hidden")]
    (found,) = problems(read(tmp_path, {"a.yaml": text}))
    assert found == Expected(Code.NO_KEY_OPENS, "t/a.yaml:1")
    (found,) = problems(read(tmp_path, {"a.yaml": text}, keys=without_keys()))
    assert found == Expected(Code.ENCRYPTED_NAME)


def test_texts_that_stand_encrypted_are_sensitive_wherever_they_stand(tmp_path: Path) -> None:
    machine = MACHINE.replace("cloudProvider: aws", "{cloudProvider: aws, flag: true, port: 12345}").replace(
        "name: pool", "name: pool\n  annotations: {a/b: annotated}"
    )
    files = {
        "a.yaml": sealed(machine, "^(value|metadata|kind)$"),
        "b.yaml": sealed(PROFILE, "^data$"),
        "c.yaml": sealed(SECRET, "^(stringData|metadata)$"),
    }
    inputs = read(tmp_path, files, environment=WITH_KEY)
    assert problems(inputs) == []
    assert inputs.sensitive == {"aws", "12345", "annotated", "x"}


def test_a_secret_whose_document_is_encrypted_and_whose_data_is_not_is_plain(tmp_path: Path) -> None:
    files = {"a.yaml": sealed(SECRET), "b.yaml": sealed(SECRET.replace("name: s", "name: t"), "^data$")}
    inputs = read(tmp_path, files, in_git=True, environment=WITH_KEY)
    (warning,) = inputs.warnings
    assert placed([warning]) == [(Code.SECRET_IN_PLAIN_TEXT, "t/b.yaml:1: Secret ns/t")]


def test_without_keys_values_have_stand_ins_that_follow_from_their_ciphertext(tmp_path: Path) -> None:
    text = sealed(SECRET)
    inputs = read(tmp_path, {"a.yaml": text}, keys=without_keys())
    again = read(tmp_path, {"a.yaml": text}, keys=without_keys())
    assert problems(inputs) == []
    (secret,) = inputs.facts.secrets.values()
    assert secret.data == again.facts.secrets["ns", "s"].data
    assert len(set(secret.data.values())) == 2
    assert b"value" not in b"".join(secret.data.values())
    (warning,) = inputs.warnings
    assert placed([warning]) == [(Code.READ_WITHOUT_KEY, "t")]
    assert warning == Expected(Code.READ_WITHOUT_KEY, "1 ")


def test_stand_ins_have_the_types_and_forms_that_readers_ask_for(tmp_path: Path) -> None:
    data = {
        ".dockerconfigjson": "{}",
        "a.example.com": "{}",
        "kubeconfig": "x",
        "expiration": "x",
        "serviceAccount": "x",
    }
    secret = SECRET.replace("{a: value-1, b: value-2}", json.dumps(data))
    encoded = secret.replace("name: s", "name: t").replace("stringData", "data").replace('"x"', '"eA=="')
    machine = MACHINE.replace("cloudProvider: aws", "{a: 5, b: 1.5, c: true, d: text, e: [1, x], f: '', g: null}")
    files = {"a.yaml": sealed(secret), "b.yaml": sealed(encoded), "c.yaml": sealed(machine, "^value$")}
    inputs = read(tmp_path, files, keys=without_keys())
    assert problems(inputs) == []
    for name in ("s", "t"):
        found = inputs.facts.secrets["ns", name].data
        (login,) = json.loads(found[".dockerconfigjson"])["auths"].values()
        assert set(login) == set(json.loads(found["a.example.com"])) == {"username", "password"}
        assert json.loads(found["kubeconfig"])["clusters"][0]["cluster"]["server"].startswith("https://")
        assert found["expiration"] == b"2099-01-01T00:00:00Z"
        assert set(json.loads(base64.b64decode(found["serviceAccount"]))) == {"encrypted"}
    spec = inputs.machines[0].provider_spec
    assert [type(spec[name]).__name__ for name in "abcdefg"] == [
        "int",
        "float",
        "bool",
        "str",
        "list",
        "str",
        "NoneType",
    ]
    assert (type(spec["e"][0]), spec["f"]) == (int, "")
    assert spec["d"] in inputs.sensitive


def test_without_keys_lists_and_files_of_several_documents_are_read(tmp_path: Path) -> None:
    inputs = read(tmp_path, {"a.yaml": TWO}, keys=without_keys())
    assert problems(inputs) == []
    assert len(inputs.facts.secrets) == len(inputs.facts.config_maps) == 1
    assert inputs.warnings[0] == Expected(Code.READ_WITHOUT_KEY, "2 ")


def test_a_thousand_encrypted_files_are_opened_with_one_search_for_keys(tmp_path: Path) -> None:
    counter = tmp_path / "runs"
    command = tmp_path / "print-key"
    command.write_text(f"#!/bin/sh\necho run >> {counter}\ncat {KEY_FILE}\n")
    command.chmod(0o700)
    text = sealed(SECRET, mac_only_encrypted=True)  # so that another name fits the MAC
    files = {f"{number:04}.yaml": text.replace("name: s", f"name: s{number}") for number in range(1000)}
    inputs = read(tmp_path / "tree", files, environment={"SOPS_AGE_KEY_CMD": str(command)})
    assert problems(inputs) == []
    assert [secret.data["a"] for secret in inputs.facts.secrets.values()] == [b"value-1"] * 1000
    assert counter.read_text() == "run\n"


def test_pools_and_profiles_that_no_key_opens_fail_by_name_and_stop_no_other(tmp_path: Path) -> None:
    files = {
        "a.yaml": sealed(MACHINE, "^value$"),
        "b.yaml": sealed(PROFILE, "^files$"),
        "c.yaml": MACHINE.replace("name: pool", "name: other"),
    }
    inputs = read(tmp_path, files)
    assert inputs.unreadable == ()
    assert [machine.name for machine in inputs.machines] == ["other"]
    assert {str(ref): problem.where for ref, (problem,) in inputs.broken.items()} == {
        "MachineDeployment kube-system/pool": "t/a.yaml:1",
        "OperatingSystemProfile kube-system/osp-a": "t/b.yaml:1",
    }


def test_a_document_that_was_taken_out_of_its_file_is_missed(tmp_path: Path) -> None:
    first, _ = TWO.split("\n---\n")
    (found,) = problems(read(tmp_path, {"a.yaml": first}, environment=WITH_KEY))
    assert found == Expected(Code.SOPS_DAMAGED, "t/a.yaml", "sops.mac: ")


_BODIES = [document.value for document in load_documents(TWO, "t")]
_JUNK: list[Any] = [None, True, 1, "", "x", "Secret", "List", [], {}, [{}], {"a": "b"}]
_JUNK += [f"ENC[AES256_GCM,data:AA==,iv:AA==,tag:AA==,type:{kind}]" for kind in ("str", "comment", "int", "bool", "x")]


def _trails(value: Any, trail: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*trail, key)
        yield from _trails(inner, (*trail, key))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(trail=st.sampled_from(list(_trails(_BODIES))), junk=st.sampled_from(_JUNK))
def test_whatever_is_changed_in_an_encrypted_file_it_is_read_or_named(
    tmp_path: Path, trail: tuple[Any, ...], junk: Any
) -> None:
    bodies = copy.deepcopy(_BODIES)
    *above, last = trail
    place: Any = bodies
    for key in above:
        place = place[key]
    place[last] = junk
    text = "\n---\n".join(map(json.dumps, bodies))
    for keys in (KeySearch(WITH_KEY), KeySearch({}), without_keys()):
        inputs = read(tmp_path, {"a.yaml": text}, keys=keys)
        told = [*map(str, problems(inputs)), *map(str, inputs.warnings), *inputs.notes]
        assert "getter-token-1" not in str(told)
        assert all("t/a.yaml" in line or line.startswith(("t: ", "1 ", "2 ")) for line in told)


def test_ciphertext_without_its_map_is_no_value(tmp_path: Path) -> None:
    def stripped(text: str, encrypted_regex: str) -> str:
        return dump(hidden(load_documents(sealed(text, encrypted_regex), "t")[0].value))

    files = {"a.yaml": stripped(SECRET, "^(data|stringData)$"), "b.yaml": stripped(MACHINE, "^value$")}
    inputs = read(tmp_path, files, environment=WITH_KEY)
    said = [problem for found in (inputs.unreadable, *inputs.broken.values()) for problem in found]
    assert [problem.where for problem in said] == ["t/a.yaml:1", "t/b.yaml:1"]
    assert all(problem == Expected(Code.CIPHERTEXT_WITHOUT_SOPS) for problem in said)
    assert (inputs.machines, inputs.facts.secrets) == ((), {})
