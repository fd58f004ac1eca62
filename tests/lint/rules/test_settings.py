"""Values of settings that OSM accepts and that nodes cannot use, and values that they can."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from osm_gitops.config.setting_names import DEFAULT_TEXTS
from osm_gitops.lint.rules.boot_file import Remark
from osm_gitops.lint.rules.settings import GivenSetting, missing_no_proxy, refused_gates, setting_remarks
from tests.judges import asking

_PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
_DIGEST = f"sha256:{'0' * 64}"


def _remarks(flag: str, *texts: str, content: str = "", minors: Collection[int] = (36,)) -> list[Remark]:
    return list(setting_remarks(GivenSetting(flag, texts, "flag", content), minors))


SOUND = (
    *(((flag, text)) for flag, text in DEFAULT_TEXTS.items()),
    ("cluster-dns", "10.96.0.10"),
    ("cluster-dns", "169.254.20.10"),
    ("cluster-dns", "10.240.16.10, fd00:10::a"),
    ("pause-image", "registry.k8s.io/pause:3.10"),
    ("pause-image", "localhost:5000/a/b__c/pause-3:v1.2_x"),
    ("pause-image", f"registry.example.com:5000/pause@{_DIGEST}"),
    ("pause-image", f"registry.example.com/pause:3.10@{_DIGEST}"),
    ("pause-image", "[fd00::1]:5000/pause:3.10"),
    ("initial-taints", "node.cilium.io/agent-not-ready=true:NoExecute"),
    ("initial-taints", "a:NoSchedule,a:NoExecute,b=:PreferNoSchedule,c_d.e=F-1:NoSchedule"),
    ("node-http-proxy", "http://proxy.example.com:3128"),
    ("node-http-proxy", "https://someone:p%40ss@proxy.example.com"),
    ("node-http-proxy", "http://[fd00::1]:3128/"),
    ("node-http-proxy", "http://10.0.0.1:3128"),
    ("node-http-proxy", "HTTP://someone@PROXY_1.example.com:3128"),
    ("node-no-proxy", ".svc,.cluster.local,localhost,127.0.0.1,10.0.0.0/8,fd00::/8,::1,a.example.com,"),
    ("node-insecure-registries", "registry.example.com:5000, 10.0.0.1:5000,[fd00::1]:5000,localhost,reg_a"),
    ("node-registry-mirrors", "https://mirror.example.com,mirror.example.com:5000/v2,quay.io=mirror-2.example.com"),
    ("node-containerd-registry-mirrors", "docker.io=https://mirror.example.com/hub?kubermatic=override_path%3Dtrue"),
    ("node-containerd-registry-mirrors", "registry.example.com:5000=http://mirror.example.com:5000"),
    ("node-containerd-registry-mirrors", "_default=mirror.example.com:5000"),
    ("node-containerd-registry-mirrors", "*=https://[fd00::1]:5000"),
    ("node-registry-credentials-secret", "kube-system/registry.credentials-1"),
    ("bootstrap-token-service-account-name", "kube-system/bootstrap"),
    ("override-bootstrap-kubelet-apiserver", "https://api.example.com:6443"),
    ("override-bootstrap-kubelet-apiserver", "https://[fd00::1]:6443"),
    ("node-kubelet-feature-gates", "NodeSwap=true,RotateKubeletServerCertificate=true"),
    ("external-cloud-provider", ""),
)  # fmt: skip


@pytest.mark.parametrize(("flag", "text"), SOUND, ids=str)
def test_a_value_that_nodes_can_use_has_no_finding(flag: str, text: str) -> None:
    assert _remarks(flag, text) == []


MISTAKES = (
    ("initial-taints", "dedicated=gpu", "taint"),
    ("initial-taints", "dedicated=gpu:NoSchedul", "taint"),
    ("initial-taints", "dedicated=gpu:noschedule", "taint"),
    ("initial-taints", "dedicated:gpu:NoSchedule", "taint"),
    ("initial-taints", "dedicated==gpu:NoSchedule", "taint"),
    ("initial-taints", "dedicated=gpu node:NoSchedule", "taint"),
    ("initial-taints", "a=b:NoSchedule, c=d:NoSchedule", "taint"),
    ("initial-taints", "a=b:NoSchedule;c=d:NoSchedule", "taint"),
    ("initial-taints", "a=b:NoSchedule,", "taint"),
    ("initial-taints", "a=b:NoSchedule,a=c:NoSchedule", "taint"),
    ("initial-taints", "a=b:NoSchedule-", "taint"),
    ("initial-taints", "Example.com/a=b:NoSchedule", "taint"),
    ("initial-taints", "-a=b:NoSchedule", "taint"),
    ("initial-taints", f"{'a' * 64}=b:NoSchedule", "taint"),
    ("pause-image", "https://registry.k8s.io/pause:3.10", "image-reference"),
    ("pause-image", "docker://registry.k8s.io/pause:3.10", "image-reference"),
    ("pause-image", "registry.k8s.io/Pause:3.10", "image-reference"),
    ("pause-image", "registry.k8s.io/pause:", "image-reference"),
    ("pause-image", "registry.k8s.io/pause:3.10 ", "image-reference"),
    ("pause-image", "registry.k8s.io/pause:3:10", "image-reference"),
    ("pause-image", "registry.k8s.io/pause@sha256:abc", "image-reference"),
    ("pause-image", "registry.k8s.io//pause:3.10", "image-reference"),
    ("pause-image", "registry.example.com:500000/pause:3.10", "image-reference"),
    ("pause-image", "pause:3.10", "image-unusual"),
    ("pause-image", "registry.k8s.io/pause", "image-unusual"),
    ("pause-image", "k8s.gcr.io/pause:3.5", "image-unusual"),
    ("node-http-proxy", "http://fd00::1:3128", "proxy-url"),
    ("node-http-proxy", "http://proxy.example.com:port", "proxy-url"),
    ("node-http-proxy", "http://proxy.example.com:99999", "proxy-url"),
    ("node-http-proxy", "http://proxy.example.com:", "proxy-url"),
    ("node-http-proxy", "htp://proxy.example.com:3128", "proxy-url"),
    ("node-http-proxy", "http:/proxy.example.com:3128", "proxy-url"),
    ("node-http-proxy", "http//proxy.example.com:3128", "proxy-url"),
    ("node-http-proxy", "http://:3128", "proxy-url"),
    ("node-http-proxy", "http://proxy .example.com:3128", "proxy-url"),
    ("node-http-proxy", "http://proxy.example.com:3128 ", "proxy-url"),
    ("node-http-proxy", '"http://proxy.example.com:3128"', "proxy-url"),
    ("node-http-proxy", "http://someone:p@ss@proxy.example.com:3128", "proxy-url"),
    ("node-http-proxy", "http://someone:p%ss@proxy.example.com:3128", "proxy-url"),
    ("node-http-proxy", "http://someone:p/ss@proxy.example.com:3128", "proxy-url"),
    ("node-http-proxy", "http://10.0.0.256:3128", "proxy-url"),
    ("node-http-proxy", "http://localhost:3128", "proxy-url"),
    ("node-http-proxy", "proxy.example.com:3128", "proxy-scheme"),
    ("node-http-proxy", "socks5://proxy.example.com:1080", "proxy-scheme"),
    ("node-http-proxy", "http://proxy.example.com:3128/proxy.pac", "proxy-scheme"),
    ("node-no-proxy", "localhost, 127.0.0.1", "no-proxy"),
    ("node-no-proxy", "localhost 127.0.0.1", "no-proxy"),
    ("node-no-proxy", "localhost;127.0.0.1", "no-proxy"),
    ("node-no-proxy", "*", "no-proxy"),
    ("node-no-proxy", "*.example.com", "no-proxy"),
    ("node-no-proxy", "10.0.0.*", "no-proxy"),
    ("node-no-proxy", "10.0.0.0/33", "no-proxy"),
    ("node-no-proxy", "10.0.0/8", "no-proxy"),
    ("node-no-proxy", "10.0.0.300", "no-proxy"),
    ("node-no-proxy", "10.0.0.0-10.0.0.255", "no-proxy"),
    ("node-no-proxy", "https://api.example.com", "no-proxy"),
    ("node-no-proxy", "api.example.com/path", "no-proxy"),
    ("node-no-proxy", "api.example.com:6443", "no-proxy"),
    ("node-no-proxy", "[fd00::1]", "no-proxy"),
    ("node-insecure-registries", "http://registry.example.com:5000", "registry"),
    ("node-insecure-registries", "registry.example.com:5000/library", "registry"),
    ("node-insecure-registries", "registry.example.com:port", "registry"),
    ("node-insecure-registries", "fd00::1", "registry"),
    ("node-insecure-registries", "registry.example.com 10.0.0.1", "registry"),
    ("node-registry-mirrors", "registry:5000=mirror.example.com", "registry"),
    ("node-registry-mirrors", "a_b=mirror.example.com", "registry"),
    ("node-registry-mirrors", "quay.io=ftp://mirror.example.com", "registry"),
    ("node-registry-mirrors", "https://", "registry"),
    ("node-registry-mirrors", "httpbin.example.com", "registry"),
    ("node-registry-mirrors", "index.docker.io=mirror.example.com", "registry-unused"),
    ("node-containerd-registry-mirrors", "https://quay.io=https://mirror.example.com", "registry"),
    ("node-containerd-registry-mirrors", "quay.io/org=https://mirror.example.com", "registry"),
    ("node-containerd-registry-mirrors", "*.example.com=https://mirror.example.com", "registry"),
    ("node-containerd-registry-mirrors", "=https://mirror.example.com", "registry"),
    ("node-containerd-registry-mirrors", "quay.io=", "registry"),
    ("node-containerd-registry-mirrors", "quay.io=oci://mirror.example.com", "registry"),
    ("node-containerd-registry-mirrors", "quay.io=https://fd00::1:5000", "registry"),
    ("node-containerd-registry-mirrors", "docker.io=https://docker.io", "registry"),
    ("node-containerd-registry-mirrors", "Quay.io=https://mirror.example.com", "registry-unused"),
    ("node-containerd-registry-mirrors", "registry-1.docker.io=https://mirror.example.com", "registry-unused"),
    ("node-containerd-registry-mirrors", "docker.com=https://mirror.example.com", "registry-unused"),
    ("node-containerd-registry-mirrors", "quay.io=https://a:b@mirror.example.com", "registry-unused"),
    ("node-registry-credentials-secret", "/credentials", "setting-reference"),
    ("node-registry-credentials-secret", "kube-system/", "setting-reference"),
    ("node-registry-credentials-secret", "kube-system/Credentials", "setting-reference"),
    ("bootstrap-token-service-account-name", "kube system/bootstrap", "setting-reference"),
    ("namespace", "Kube-System", "setting-reference"),
    ("override-bootstrap-kubelet-apiserver", "api.example.com:6443", "api-server-url"),
    ("override-bootstrap-kubelet-apiserver", "http://api.example.com:6443", "api-server-url"),
    ("override-bootstrap-kubelet-apiserver", "https://fd00::1:6443", "api-server-url"),
    ("override-bootstrap-kubelet-apiserver", "https://api.example.com:6443/", "api-server-url"),
    ("override-bootstrap-kubelet-apiserver", "https://api.example.com:6443/api", "api-server-url"),
    ("override-bootstrap-kubelet-apiserver", "https://api.example.com:64433333", "api-server-url"),
    ("override-bootstrap-kubelet-apiserver", "https://127.0.0.1:6443", "api-server-url"),
    ("override-bootstrap-kubelet-apiserver", "https://kubernetes.default.svc", "api-server-url"),
    ("cluster-dns", "127.0.0.53", "cluster-dns"),
    ("cluster-dns", "0.0.0.0", "cluster-dns"),
    ("cluster-dns", "224.0.0.1", "cluster-dns"),
    ("cluster-dns", "169.254.169.254", "cluster-dns"),
    ("cluster-dns", "fe80::1", "cluster-dns"),
    ("cluster-dns", "8.8.8.8", "cluster-dns-unusual"),
    ("cluster-dns", "10.96.0.1", "cluster-dns-unusual"),
    ("cluster-dns", "fd00:10::", "cluster-dns-unusual"),
    ("cluster-dns", "10.96.0.0", "cluster-dns-unusual"),
    ("cluster-dns", "10.96.0.10,10.96.0.10", "cluster-dns-unusual"),
    ("cluster-dns", "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4", "cluster-dns-unusual"),
    ("node-kubelet-feature-gates", "NodeSwapp=true", "kubelet-feature-gate"),
    ("node-kubelet-feature-gates", "RotateKubeletServerCertificate=false", "kubelet-feature-gate"),
)  # fmt: skip


@pytest.mark.parametrize(("flag", "text", "rule"), MISTAKES, ids=str)
def test_a_value_that_nodes_cannot_use_is_found(flag: str, text: str, rule: str) -> None:
    assert {remark.rule.id for remark in _remarks(flag, text)} == {rule}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (DEFAULT_TEXTS["node-no-proxy"], False),
        ("localhost, 127.0.0.0/8", False),
        (".svc,.cluster.local", True),
        ("localhost,.svc", True),
        ("127.0.0.1", True),
    ],
)
def test_no_proxy_that_replaces_the_default_keeps_the_node_itself(text: str, found: bool) -> None:
    setting = GivenSetting("node-no-proxy", (text,), "flag")
    assert [remark.rule.id for remark in missing_no_proxy(setting)] == ["no-proxy"] * found


@pytest.mark.parametrize("flag", ["node-http-proxy", "node-containerd-registry-mirrors", "node-no-proxy"])
def test_a_finding_does_not_quote_a_password(flag: str) -> None:
    prefix = "quay.io=" if flag.endswith("mirrors") else ""
    for address in ("fd00::1:port", "proxy.example.com:99999", "proxy.example.com:1/a#b", "a b"):
        told = _remarks(flag, f"{prefix}http://someone:pass-word@{address}")
        assert told
        assert not any("pass-word" in remark.message or "pass-word" in remark.fix for remark in told)


def test_a_feature_gate_is_judged_for_the_kubelets_of_the_pools() -> None:
    gate = "InPlacePodVerticalScalingExclusiveCPUs"
    assert refused_gates({gate: True}, {36}) == {}
    assert list(refused_gates({gate: True}, {31, 36})) == [gate]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (_PEM, False),
        (f"# a comment\n{_PEM}\n{_PEM}", False),
        (f"{_PEM}-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\n", True),
        (f"{_PEM}-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n", True),
        (f"{_PEM}-----BEGIN CERTIFICATE-----\nMIIB\n", True),
        (f"MIIB\n-----END CERTIFICATE-----\n{_PEM}", True),
    ],
    ids=["one", "several", "a private key", "a request", "without its end", "without its begin"],
)
def test_a_ca_bundle_has_whole_certificates_and_nothing_else(content: str, found: bool) -> None:
    told = _remarks("host-ca-bundle", "ca.pem", content=content)
    assert [remark.rule.id for remark in told] == ["ca-bundle"] * found


def test_very_long_values_are_checked_too() -> None:
    many = 50_000
    assert len(_remarks("initial-taints", ",".join(["a"] * many))) == many
    assert len(_remarks("cluster-dns", ",".join(["8.8.8.8"] * many))) == many + 1
    assert len(_remarks("node-no-proxy", "1." * many)) == 1
    assert len(_remarks("pause-image", "a-" * many)) == 1
    assert len(_remarks("host-ca-bundle", "ca.pem", content="-----BEGIN CERTIFICATE-----\n" * many)) == many


# --- the programs as judges ---


_KUBELET_FLAGS = {
    "initial-taints": "register-with-taints",
    "cluster-dns": "cluster-dns",
    "node-kubelet-feature-gates": "feature-gates",
}
# Their reader takes them, and what it does with them fails.
_TAKEN_BY_THE_JUDGE = {
    "a=b:NoSchedule-",
    "RotateKubeletServerCertificate=false",
    "registry.example.com:500000/pause:3.10",
}


def _verdicts(flag: str, texts: list[str]) -> list[list[str]]:
    if flag == "pause-image":
        return asking.images(texts)
    return asking.kubelet_arguments([[f"--{_KUBELET_FLAGS[flag]}={text}"] for text in texts])


@pytest.mark.oracle
@pytest.mark.parametrize("flag", ["pause-image", *_KUBELET_FLAGS])
def test_the_program_that_reads_a_value_says_the_same(flag: str) -> None:
    sound = [text.replace(" ", "") for name, text in SOUND if name == flag]
    assert _verdicts(flag, sound) == [[]] * len(sound)
    rules = {"pause-image": "image-reference", "initial-taints": "taint"}
    wrong = [text for name, text, rule in MISTAKES if name == flag and rule == rules.get(flag, "kubelet-feature-gate")]
    taken = [text for text, verdict in zip(wrong, _verdicts(flag, wrong), strict=True) if not verdict]
    assert set(taken) <= _TAKEN_BY_THE_JUDGE
