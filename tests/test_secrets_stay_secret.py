"""Canaries in every place that a secret can come from: none shows where people read (design.md, "Masking")."""

from __future__ import annotations

import json
import shlex
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from osm_gitops.config.spec import ClusterSpec, SourceSpec, TreeRef
from osm_gitops.errors import Code
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.load import load_inputs
from osm_gitops.pipeline.rendering import render_cluster
from osm_gitops.sops.keys import KeySearch, new_identity
from osm_gitops.yaml.emit import dump
from tests.apiserver.after_osm import REVISION, AfterOsm
from tests.apiserver.cluster import Cluster
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import file, pool, profile, secret, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository, pin_git, write_hook
from tests.sources.sealed import KEY, RECIPIENT, sealed

_SPECIAL = "/+ \"'\\$&<>é%"
_TOKEN_ID = "abcdef"
_GETTER = "CnGetter-token-of-a-live-cluster-0123456789"


@dataclass(slots=True)
class Canaries:
    """Secrets that can be told from anything else, by the place they are planted in."""

    planted: dict[str, str] = field(default_factory=dict)
    generation: str = ""

    def new(self, place: str, *, special: bool = False, size: int = 24) -> str:
        place = f"{self.generation}{place}"
        value = "Cn" + sha256(place.encode()).hexdigest()[:size]
        value = f"{value[:8]}{_SPECIAL}{value[8:]}" if special else value
        self.planted[place] = value
        return value

    def seen_in(self, text: str) -> list[str]:
        """Places whose secret shows, in whatever guise."""
        return [place for place, value in self.planted.items() if any(guise in text for guise in _guises(value))]


def _guises(value: str) -> Iterator[str]:
    # A part is as bad as the whole; special characters differ between encodings, so the longest plain part counts too.
    yield value
    yield value[-16:]
    yield from (quote(value), quote(value, safe=""), shlex.quote(value))
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    yield yaml.safe_dump(value, width=1000).strip()
    yield escape(value)
    for offset in range(3):
        encoded = b64encode(b"\0" * offset + value.encode()).decode()
        yield encoded[4:-4] if offset else encoded[:-4]


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pin_git(monkeypatch)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def canaries() -> Canaries:
    return Canaries()


def _inline_specs(new: Any) -> dict[str, dict[str, Any]]:
    """Provider specs with credentials written into them, by provider."""
    return {
        "aws": {"accessKeyId": new("aws id"), "secretAccessKey": new("aws key"), "region": "eu", "diskSize": 1},
        "azure": {
            "tenantID": "tenant",
            "clientID": "client",
            "clientSecret": {"value": new("azure secret", special=True)},
            "subscriptionID": "sub",
            "location": "west",
            "vmSize": "a",
        },
        "gce": {"serviceAccount": b64encode(json.dumps(_account(new)).encode()).decode(), "zone": "eu-a"},
        "openstack": {
            "identityEndpoint": "https://os.example.com/v3",
            "username": "someone",
            "password": new("openstack password", special=True),
            "applicationCredentialID": "id",
            "applicationCredentialSecret": {"value": new("openstack application")},
            "domainName": "d",
            "projectName": "p",
            "region": "r",
        },
        "vsphere": {
            "username": "someone",
            "password": new("vsphere password"),
            "vsphereURL": f"https://u:{new('vsphere url')}@vc.example.com",
            "datacenter": "dc",
            "cluster": "c",
            "folder": "f",
            "datastore": "d",
            "templateVMName": "t",
        },
        "kubevirt": {"auth": {"kubeconfig": {"value": _user_kubeconfig(new("kubevirt token"))}}},
        "hetzner": {"token": new("hetzner token"), "serverType": "cx22"},
    }


def _account(new: Any) -> dict[str, str]:
    key = f"-----BEGIN PRIVATE KEY-----\n{new('gce key', size=40)}\n-----END PRIVATE KEY-----\n"
    return {"type": "service_account", "project_id": "p", "private_key_id": new("gce key id"), "private_key": key}


def _user_kubeconfig(token: str) -> str:
    text = (
        "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: https://kv.example.com}\n"
        f"users:\n- name: u\n  user:\n    token: {token}\n"
    )
    return b64encode(text.encode()).decode()


_PRINT_ALL = (
    "#!/bin/sh\nauth='{{ .Token }}'\necho {{ .Token | b64enc }} {{ .Token | quote }} {{ .CloudConfig | b64enc }}\n"
    "{{ .CloudConfig }}\n{{ .BootstrapKubeconfig }}\n{{ .ContainerRuntimeConfig }}\n{{ .HTTPProxy }}\n"
    "{{ .RhelConfig.RHELSubscriptionManagerPassword }} {{ .RhelConfig.RHELActivationKey }}\n"
    "{{ .RhelConfig.RHSMOfflineToken }} {{ .RhelConfig.RHELSubscriptionManagerUser }}\n"
)


def _profile(os: str = "ubuntu", name: str = "osp-a", script: str = _PRINT_ALL) -> dict[str, Any]:
    providers = [{"name": name} for name in ("aws", "azure", "gce", "openstack", "vsphere", "kubevirt", "hetzner")]
    files = {
        "files": [file("/opt/bin/all", script), {**file("/etc/plain", script, 600), "content": _plain_text(script)}]
    }
    return profile(name, osName=os, supportedCloudProviders=providers, bootstrapConfig=files, provisioningConfig=files)


def _plain_text(script: str) -> dict[str, Any]:
    return {"inline": {"data": script}}


def _cluster(tree: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster in which every known place holds a secret."""
    new = canaries.new
    pools = [
        pool(provider, cloudProvider=provider, cloudProviderSpec=spec, kubelet="1.28.9")
        for provider, spec in _inline_specs(new).items()
    ]
    rhel = {
        "rhelSubscriptionManagerUser": new("rhel user"),
        "rhelSubscriptionManagerPassword": new("rhel password", special=True),
        "rhsmOfflineToken": new("rhel offline token"),
        "rhelOrganizationName": "org",
        "rhelActivationKey": new("rhel activation key"),
    }
    reference = {"secretKeyRef": {"name": "credentials", "namespace": "kube-system", "key": "password"}}
    openstack = _inline_specs(Canaries().new)["openstack"]
    del openstack["applicationCredentialSecret"], openstack["applicationCredentialID"]
    from_environment = {key: value for key, value in openstack.items() if key not in {"username", "password"}}
    pools += [
        pool("red-hat", profile="osp-rhel", operatingSystem="rhel", operatingSystemSpec=rhel),
        pool(
            "referring",
            cloudProvider="openstack",
            cloudProviderSpec={**openstack, "password": reference},
            kubelet="1.28.9",
        ),
        pool("environment", cloudProvider="openstack", cloudProviderSpec=from_environment, kubelet="1.28.9"),
        pool("overwritten", overwriteCloudConfig=f"[all]\nx = {new('overwritten cloud config', special=False)}\n"),
    ]
    monkeypatch.setenv("OS_USER_NAME", "somebody")
    monkeypatch.setenv("OS_PASSWORD", new("environment"))
    token = {"token-id": _TOKEN_ID, "token-secret": new("bootstrap token", size=14), "usage-bootstrap-signing": "true"}
    docker = {"auths": {"a.example.com": _registry(new, "docker")}}
    tokens = [
        secret(
            f"bootstrap-token-{_TOKEN_ID[:-2]}{number:02}",
            "kube-system",
            {**token, "token-id": f"{_TOKEN_ID[:-2]}{number:02}", "expiration": "2099-01-01T00:00:00Z"},
            type="bootstrap.kubernetes.io/token",
            metadata={"labels": {"machinedeployment.k8s.io/name": f"kube-system-{each['metadata']['name']}"}},
        )
        for number, each in enumerate(pools)
    ]
    write_tree(
        tree,
        _profile(),
        _profile("rhel", "osp-rhel"),
        *pools,
        *tokens,
        secret("credentials", "kube-system", {"password": new("referred password", special=True)}),
        secret("unused", "somewhere", {"anything": new("unused secret")}),
        secret(
            "docker", "kube-system", {".dockerconfigjson": json.dumps(docker)}, type="kubernetes.io/dockerconfigjson"
        ),
        secret("registries", "kube-system", {"b.example.com": json.dumps(_registry(new, "plain"))}),
        token=new("getter token", size=48),
    )


def _registry(new: Any, which: str) -> dict[str, str]:
    user, password = new(f"{which} user"), new(f"{which} password", special=True)
    auth = b64encode(f"{new(f'{which} auth user')}:{new(f'{which} auth password')}".encode()).decode()
    return {"username": user, "password": password, "auth": auth, "identitytoken": new(f"{which} identity")}


def _flags(canaries: Canaries, credentials: str = "kube-system/docker") -> list[str]:
    new = canaries.new
    return [
        f"--node-http-proxy=http://proxy:{new('proxy password')}@proxy.example.com:3128",
        f"--node-containerd-registry-mirrors=quay.io=https://m:{new('mirror password')}@mirror.example.com",
        f"--node-registry-mirrors=https://m:{new('docker.io mirror')}@mirror.example.com",
        f"--node-registry-credentials-secret={credentials}",
    ]


_FORMS = (("-o", "json"), ("-o", "markdown"), ("-o", "html"))


def _said(*runs: Ran) -> str:
    return "\n".join(run.out + run.err for run in runs)


@pytest.mark.parametrize("credentials", ["kube-system/docker", "kube-system/registries"])
def test_nothing_shows_in_plans_commits_and_what_commands_say(
    credentials: str, tmp_path: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cluster(tmp_path / "tree", canaries, monkeypatch)
    source = ["--from", "tree", *_flags(canaries, credentials)]
    repository = new_repository(tmp_path / "repo")
    to = ["--to", "repo/clusters", "--dangerously-plaintext-secrets"]
    forms = ("text", "json", "markdown", "html")
    runs = [osm_gitops("plan", *source, *to, "-o", form, *more) for form in forms for more in ((), ("-v",))]
    runs += [osm_gitops("report", *source, *to, "-o", form) for form in ("text", "json", "html")]
    runs.append(osm_gitops("render", *source, "--to", "out", "-v"))
    runs.append(osm_gitops("apply", "--yes", *source, *to, "-v"))
    assert [run.code for run in runs] == [0] * 13, runs[0].err
    assert canaries.seen_in(_said(*runs)) == []
    assert canaries.seen_in(git(repository, "log", "--format=%B", "--name-only")) == []
    # The counter-proof: on stdout nothing is masked.
    rendered = osm_gitops("render", *source, "--to", "-")
    assert canaries.seen_in(rendered.err) == []
    assert {"getter token", "rhel activation key", "docker.io mirror"} <= set(canaries.seen_in(rendered.out))


@pytest.mark.parametrize(
    "credentials", ["kube-system/docker", pytest.param("kube-system/registries", marks=pytest.mark.exhaustive)]
)
def test_nothing_shows_in_what_explains_a_pool(
    credentials: str, tmp_path: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cluster(tmp_path / "tree", canaries, monkeypatch)
    source = ["--from", "tree", *_flags(canaries, credentials)]
    texts = (
        *((), ("-o", "json"), ("--downloads",), ("--user-data", "bootstrap"), ("--user-data", "provisioning")),
        *(("--file", path, "--half", "bootstrap") for path in ("/opt/bin/all", "/etc/plain")),
    )
    for name in ("azure", "gce", "openstack", "vsphere", "kubevirt", "red-hat", "referring", "overwritten"):
        runs = [osm_gitops("explain", name, *source, *text) for text in texts]
        assert [run.code for run in runs] == [0] * len(texts), runs[0].err + runs[0].out
        assert canaries.seen_in(_said(*runs)) == []
        assert "***" in runs[-1].out


def test_no_object_of_git_holds_a_secret_once_there_are_recipients(
    tmp_path: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, recipient = new_identity()
    monkeypatch.setenv("SOPS_AGE_KEY", key)
    repository = new_repository(tmp_path / "repo")
    flags = ["--from", "tree", "--to", "repo/clusters", "--age-recipient", recipient]
    runs = []
    for generation in ("", "new "):
        canaries.generation = generation
        _cluster(tmp_path / "tree", canaries, monkeypatch)
        runs += [osm_gitops(*command, *flags, *_flags(canaries), "-v") for command in (("apply", "--yes"), ("plan",))]
    assert [run.code for run in runs] == [0] * 4, runs[0].err
    assert " 0 to update" not in runs[2].out
    assert canaries.seen_in(_said(*runs)) == []
    everything = ["git", "cat-file", "--batch", "--batch-all-objects"]
    objects = subprocess.run(everything, cwd=repository, check=True, capture_output=True).stdout.decode("latin-1")
    assert "ENC[AES256_GCM," in objects
    assert canaries.seen_in(objects) == []
    assert key.splitlines()[-1] not in _said(*runs) + objects


def test_neither_the_old_nor_the_new_value_of_a_rotation_shows(
    tmp_path: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cluster(tmp_path / "tree", canaries, monkeypatch)
    before = ["--from", "tree", *_flags(canaries)]
    assert osm_gitops("render", *before, "--to", "out").code == 0
    canaries.generation = "new "
    _cluster(tmp_path / "tree", canaries, monkeypatch)
    after = ["--from", "tree", *_flags(canaries)]
    runs = [osm_gitops("plan", *after, "--to", "out", *more) for more in ((), ("-v",), *_FORMS)]
    assert " 0 to update" not in runs[0].out
    assert canaries.seen_in(_said(*runs)) == []


_ENCRYPTED = "^(data|stringData|cloudProviderSpec|operatingSystemSpec|overwriteCloudConfig)$"


def _encrypt(tree: Path) -> None:
    for path in tree.glob("*.yaml"):
        path.write_text(sealed(path.read_text(), _ENCRYPTED))


def test_nothing_shows_of_sources_that_are_encrypted(
    tmp_path: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address of the API server and user names are secrets here too: who encrypts them takes them for that."""
    _cluster(tmp_path / "tree", canaries, monkeypatch)
    _encrypt(tmp_path / "tree")
    monkeypatch.setenv("SOPS_AGE_KEY", KEY)
    new_repository(tmp_path / "repo")
    flags = ["--from", "tree", *_flags(canaries), "--to", "repo/clusters"]
    flags += ["--age-recipient", RECIPIENT]
    runs = [osm_gitops("plan", *flags, *more) for more in ((), ("-v",), ("-o", "json", "-v"))]
    runs.append(osm_gitops("apply", "--yes", *flags, "-v"))
    assert [run.code for run in runs] == [0] * 4, runs[0].err
    assert canaries.seen_in(_said(*runs)) == []
    for text in ("https://api.example.com", "someone"):
        assert text not in _said(*runs)


def test_without_keys_every_pool_renders_and_holds_nothing_of_what_is_encrypted(
    tmp_path: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cluster(tmp_path / "tree", canaries, monkeypatch)
    _encrypt(tmp_path / "tree")
    tree = TreeRef(tmp_path / "tree", "tree")
    for credentials in ("docker", "registries"):
        settings = replace(Settings(), registry_credentials_secret=("kube-system", credentials))
        spec = ClusterSpec("c", SourceSpec(tree, tree, tree), (), None)
        inputs = load_inputs(spec, settings, {}, KeySearch({}, without_keys=True))
        desired = render_cluster("c", inputs, settings).desired
        assert (inputs.unreadable, desired.failed) == ((), {})
        assert len(desired.pools) == len(_inline_specs(canaries.new)) + 4
        assert canaries.seen_in("\n".join(map(dump, (dict(each.body) for each in desired.objects)))) == []


@pytest.mark.parametrize(
    "script",
    [
        "{{ fail .Token }}",
        '{{ fail (printf "the token is %s" .Token) }}',
        "{{ .Token | atoi | fail }}",
        "{{ .Token | b64enc | fail }}",
        "{{ .Token | b64dec | b64dec | fail }}",
        "{{ .Token | upper | fail }}",
        "{{ fail .CloudConfig }}",
        "{{ fail .BootstrapKubeconfig }}",
        "{{ fail .ContainerRuntimeConfig }}",
        "{{ fail .HTTPProxy }}",
        "{{ semver .Token }}",
        '{{ semverCompare .Token "1.2.3" }}',
        '{{ mustRegexMatch (printf "(%s" .Token) "x" }}',
        "{{ mustFromJson .Token }}",
        "{{ fromYaml .Token }}",
        "{{ mustToDate .Token .Token }}",
        '{{ urlParse (printf "%%%s" .Token) }}',
        "{{ template .Token }}",
        "{{ index .Token .Token }}",
        "{{ index (dict) .Token | int | seq | fail }}",
        "{{ .Token.Something }}",
        "{{ call .Token }}",
        "{{ add .Token .Token | div 0 }}",
        "{{ duration .Token }}",
        "{{ mustSlice .Token 1 }}",
        '{{ fail (regexFind "Cn.*" .Token) }}',
        "{{ genPrivateKey .Token }}",
        "{{ range $i := until (len .Token | mul 1000000000 | int) }}{{ end }}",
        "{{ dict .Token | fail }}",
        '{{ printf "%d" .Token | fail }}',
        "{{ .Token | toString | trunc 20 | fail }}",
        "{{ htmlDate .Token }}",
        "{{ mustDateModify .Token now }}",
        "{{ decryptAES .Token .Token }}",
        "{{ mustToDuration .Token }}",
        "{{ mustMerge .Token .Token }}",
    ],
)
@pytest.mark.parametrize("engine", ["go", "jinja"])
def test_a_template_cannot_bring_a_secret_into_an_error(
    script: str, engine: str, tmp_path: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = canaries.new
    monkeypatch.delenv("OS_PASSWORD", raising=False)
    body = profile(script=script)
    if engine == "jinja":
        body["metadata"]["annotations"] = {"osm-gitops.io/template": "jinja2/v1"}
        body["spec"]["bootstrapConfig"]["files"][0]["content"]["inline"]["data"] = _as_jinja(script)
    token = {
        "token-id": "abcdef",
        "token-secret": new("bootstrap token", size=14),
        "expiration": "2099-01-01T00:00:00Z",
    }
    write_tree(
        tmp_path / "tree",
        body,
        pool(overwriteCloudConfig=new("cloud config")),
        secret(
            "bootstrap-token-abcdef",
            "kube-system",
            token,
            type="bootstrap.kubernetes.io/token",
            metadata={"labels": {"machinedeployment.k8s.io/name": "kube-system-workers"}},
        ),
        secret("registries", "kube-system", {"b.example.com": json.dumps(_registry(new, "plain"))}),
        token=new("getter token"),
    )
    source = ["--from", "tree", *_flags(canaries, "kube-system/registries")]
    runs = [osm_gitops("plan", *source, "--to", "out"), osm_gitops("render", *source, "--to", "out", "-v")]
    assert {run.code for run in runs} <= {0, 1}
    assert "this is a bug" not in _said(*runs)
    assert canaries.seen_in(_said(*runs)) == []


def _as_jinja(script: str) -> str:
    """Roughly the same in Jinja2: fields without their dot. What is no Jinja2 is an error, and that is shown too."""
    return script.replace(" .", " ").replace("(.", "(").replace("fail ", "fail(") + " {{ Token.x }}{{ fail(Token) }}"


def _broken_inputs(canaries: Canaries) -> Mapping[str, str]:
    new = canaries.new
    head = "apiVersion: v1\nkind: Secret\nmetadata: {name: cloud-init-getter-token, namespace: cloud-init-settings}\n"
    return {
        "bad base64": f"{head}data:\n  token: '{new('bad base64')}!'\n",
        "a number": f"{head}stringData:\n  token: {int(sha256(b'x').hexdigest()[:12], 16)}\n",
        "a list": f"{head}stringData:\n  token: [{new('list')}]\n",
        "data is a text": f"{head}data: {new('data')}\n",
        "a syntax error on its line": f'{head}stringData:\n  token: "{new("quote")}\n',
        "a syntax error behind it": f"{head}stringData:\n  token: {new('colon')}: x\n",
        "a tab": f"{head}stringData:\n\ttoken: {new('tab')}\n",
        "a duplicate": f"{head}stringData:\n  token: {new('first')}\n  token: {new('second')}\n",
        "an alias": f"{head}stringData:\n  token: *{new('alias')}\n",
        "a flow": f"{head}stringData: {{token: {new('flow')}, [\n",
        "a control character": f"{head}stringData:\n  token: {new('control')}\x01\n",
    }


@pytest.mark.parametrize("kind", list(_broken_inputs(Canaries())))
def test_a_broken_secret_is_told_without_its_value(kind: str, tmp_path: Path, canaries: Canaries) -> None:
    text = _broken_inputs(canaries)[kind]
    tree = write_tree(tmp_path / "tree", profile(), pool())
    (tree / "Secret-cloud-init-getter-token.yaml").write_text(text)
    runs = [osm_gitops(command, "--from", "tree", "--to", "out", "-v") for command in ("plan", "render")]
    assert [run.code for run in runs] == [1, 1], runs[0].out
    assert "Secret-cloud-init-getter-token.yaml" in _said(*runs)
    assert canaries.seen_in(_said(*runs)) == []


def test_broken_credentials_are_told_without_their_values(tmp_path: Path, canaries: Canaries) -> None:
    new = canaries.new
    texts = {
        "a": f'{{"username": "{new("cut off")}',
        "b": f'{{"password": 12, "username": ["{new("list")}"]}}',
        "c": new("no json"),
    }
    write_tree(tmp_path / "tree", profile(), pool(), secret("registries", "kube-system", texts))
    ran = osm_gitops(
        "plan", "--from", "tree", "--to", "out", "--node-registry-credentials-secret", "kube-system/registries"
    )
    assert ran.code == 1
    assert canaries.seen_in(_said(ran)) == []


@pytest.mark.parametrize("provider", list(_inline_specs(Canaries().new)))
def test_broken_provider_specs_are_told_without_their_values(provider: str, tmp_path: Path, canaries: Canaries) -> None:
    """Each credential wrapped into what it must not be."""
    spec = _inline_specs(canaries.new)[provider]
    variants = [
        {**spec, key: wrapped}
        for key, value in spec.items()
        for wrapped in ([value], {"values": value}, {"value": [value]})
    ]
    pools = [
        pool(f"p{number}", cloudProvider=provider, cloudProviderSpec=each, kubelet="1.28.9")
        for number, each in enumerate(variants)
    ]
    write_tree(tmp_path / "tree", _profile(script="x"), *pools)
    ran = osm_gitops("plan", "--from", "tree", "--to", "out", "-v")
    assert "this is a bug" not in ran.err
    assert canaries.seen_in(_said(ran)) == []


@pytest.mark.parametrize(
    "flag",
    [
        "--node-http-proxy=http://user:{}@proxy:99999999",
        "--node-registry-mirrors=https://user:{}@bad host",
        "--node-containerd-registry-mirrors=a=https://user:{}@host:port?kubermatic=x",
        "--override-bootstrap-kubelet-apiserver=https://user:{}@[api",
        "--node-registry-mirrors=http://user:{}@%zz",
    ],
)
def test_an_address_with_a_password_that_is_refused_is_told_without_it(
    flag: str, tmp_path: Path, canaries: Canaries
) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    ran = osm_gitops("plan", "--from", "tree", "--to", "out", flag.format(canaries.new("password")))
    assert canaries.seen_in(_said(ran)) == []


def test_a_git_hook_that_prints_what_it_found_is_masked(tmp_path: Path, canaries: Canaries) -> None:
    write_tree(tmp_path / "tree", profile(), pool(), token=canaries.new("getter token"))
    repository = new_repository(tmp_path / "repo")
    write_hook(repository, "pre-commit", "git diff --cached | head -c 3000 >&2; cat clusters/*/*/*/*.yaml >&2; exit 1")
    ran = osm_gitops("apply", "--yes", "--from", "tree", "--to", "repo/clusters", "--dangerously-plaintext-secrets")
    assert ran.code == 1
    assert Expected(Code.GIT_COMMAND_FAILED) in told(ran.err)
    assert canaries.seen_in(_said(ran)) == []


def test_a_profile_that_stands_encrypted_in_the_source_gets_into_git_encrypted(
    tmp_path: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY", KEY)
    script = f"#!/bin/sh\njoin {canaries.new('a profile')}\n"
    tree = write_tree(tmp_path / "tree", profile(script=script), profile("osp-b"), pool(), pool("b", "osp-b"))
    hidden = tree / "OperatingSystemProfile-osp-a.yaml"
    hidden.write_text(sealed(hidden.read_text(), "^files$"))
    repository = new_repository(tmp_path / "repo")
    command = ("--from", "tree", "--to", "repo/clusters")
    assert osm_gitops("apply", "--yes", *command, "--age-recipient", RECIPIENT).code == 0
    written = {path.name: path.read_text() for path in (repository / "clusters").rglob("osp-*.yaml")}
    assert canaries.seen_in(git(repository, "log", "-p")) == []
    assert "recipient: " in written["osp-a.yaml"]
    assert "recipient: " not in written["osp-b.yaml"]
    assert osm_gitops("plan", *command, "--age-recipient", RECIPIENT, "--detailed-exitcode").code == 0
    assert "osp-a.yaml" in osm_gitops("plan", *command, "--age-recipient", new_identity()[1]).out


# --- live clusters ---


def _served(cluster: Cluster, tree: Path) -> None:
    """The objects of a tree in a cluster, with the MachineSets that let pools be written."""
    loaded = AfterOsm(cluster, cluster)
    for name in ("cloud-init-settings", "somewhere"):
        cluster.namespace(name)
    for path in sorted(tree.glob("*.yaml")):
        body = yaml.safe_load(path.read_text("utf-8"))
        if body["metadata"]["name"].startswith("bootstrap-token-"):
            continue  # a run makes them
        if body["kind"] == "MachineDeployment":
            body["metadata"]["annotations"][REVISION] = "1"
            body["spec"]["template"]["metadata"] = {"labels": {"pool": body["metadata"]["name"]}}
        loaded.create(body, "kubectl")
    for name in loaded.pools():
        loaded.machine_set(name)


def _plant_live(cluster: Cluster, canaries: Canaries) -> None:
    """The tokens that runs have made."""
    for namespace in ("kube-system", "cloud-init-settings"):
        for found in cluster.client().get(f"/api/v1/namespaces/{namespace}/secrets")["items"]:
            data = {key: b64decode(value).decode() for key, value in (found.get("data") or {}).items()}
            if "token-secret" in data:
                canaries.planted[found["metadata"]["name"]] = data["token-secret"]
            if "kubeconfig" in data:
                (user,) = yaml.safe_load(data["kubeconfig"])["users"]
                canaries.planted[found["metadata"]["name"]] = user["user"]["token"]


def _left_behind(cluster: Cluster) -> str:
    """What runs leave in a cluster for people to see."""
    client = cluster.client()
    paths = ("/api/v1/events", "/api/v1/namespaces/kube-system/configmaps")
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    return "\n".join(json.dumps(client.get(path)) for path in (*paths, leases))


def test_nothing_shows_of_live_clusters_nor_of_what_runs_leave_in_them(
    management: Cluster, tmp_path: Path, canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cluster(tmp_path / "tree", canaries, monkeypatch)
    write_tree(tmp_path / "tree", profile("osp-loud", "{{ fail .Token }}"), pool("loud", "osp-loud"), token=_GETTER)
    _served(management, tmp_path / "tree")
    canaries.planted |= {"kubeconfig": management.tokens["admin"], "getter token": _GETTER}
    config = json.loads(management.kubeconfig(tmp_path / "config").read_text("utf-8"))
    server = f"https://someone:{canaries.new('server password')}@{management.server.removeprefix('https://')}"
    config["clusters"][0]["cluster"]["server"] = server
    (tmp_path / "config").write_text(json.dumps(config), "utf-8")
    monkeypatch.setenv("KUBECONFIG", "config")
    monkeypatch.setenv("OSM_GITOPS_PUSHGATEWAY", f"http://someone:{canaries.new('pushgateway')}@127.0.0.1:1")
    live = ["--from", "cluster", *_flags(canaries), "-v"]
    both = [*live, "--to", "cluster"]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nodes", "namespace": "kube-system"}}
    management.client().create(account)
    apply = ("apply", "--yes", *both, "--settle", "0s", "--metrics-file", "figures.prom", "--report", "done.html")
    runs = [osm_gitops("plan", *both, "--out", "plan.json", *form) for form in ((), ("-o", "json"))]
    runs += [osm_gitops(*apply, "--log-format", "json"), osm_gitops("status", *live)]
    runs += [osm_gitops("status", *live, "-o", "json"), osm_gitops("doctor"), osm_gitops("refresh", "-v")]
    runs += [osm_gitops("report", *live[:-1], "--to", to, "-o", "html") for to in ("cluster", "out")]
    _plant_live(management, canaries)
    named = ("--bootstrap-token-service-account-name", "kube-system/nodes")
    runs += [
        osm_gitops("refresh", "-v", *named),
        osm_gitops("install", "--from", "cluster", "--image", "x"),
        osm_gitops("apply", "--yes", *both, *named),
    ]
    left = _left_behind(management)
    runs.append(osm_gitops("uninstall", "--yes", "-v"))
    _plant_live(management, canaries)
    files = [(tmp_path / name).read_text("utf-8") for name in ("plan.json", "figures.prom", "done.html")]
    assert "default: 11 pools written" in runs[2].err, runs[2].err
    assert "RenderingFailed" in left
    assert sum("bootstrap-token-" in place for place in canaries.planted) > 5
    assert canaries.seen_in(_said(*runs)) == []
    assert canaries.seen_in("\n".join((*files, left))) == []
