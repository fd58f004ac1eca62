"""Small files of a node, the paths and permissions of files, and what is in each other's way."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace

import pytest

from osm_gitops.lint.rules.boot_file import BootDocument, BootFile, BootUnit, Half
from osm_gitops.lint.rules.catalogue import RULES
from osm_gitops.lint.rules.cloud_config import check_user_data_size
from osm_gitops.lint.rules.files import check_node_file
from osm_gitops.model.profile import ConfigHalf, File
from tests.lint.rules.documents import document, findings_of

_SOURCES = "Types: deb\nURIs: https://a.example.com\nSuites: noble\n"
_FILES = {
    "sysctl": (
        "/etc/sysctl.d/k8s.conf",
        "# a\nnet.ipv4.ip_forward = 1\n-kernel.panic=10\nvm.a 1\n",
        "sysctl-syntax",
        4,
    ),
    "modules": ("/etc/modules-load.d/a.conf", "overlay\nbr_netfilter ip_vs\n", "modules-load-syntax", 2),
    "apt": (
        "/etc/apt/sources.list.d/a.list",
        "deb [signed-by=/a] https://a.example.com noble main\nded b\n",
        "apt-source-syntax",
        2,
    ),
    "apt sources": (
        "/etc/apt/sources.list.d/a.sources",
        f"{_SOURCES}Components: a\n\n{_SOURCES}",
        "apt-source-syntax",
        6,
    ),
    "netplan": ("/etc/netplan/a.yaml", "network:\n  version: 2\n  ethernet: {}\n", "netplan", 3),
    "netplan version": ("/etc/netplan/a.yaml", "network:\n  ethernets: {}\n", "netplan", 1),
    "crictl": ("/etc/crictl.yaml", "runtime-endpoint: unix:///a\nruntime_endpoint: b\n", "crictl-config", 2),
    "YAML": ("/etc/kubernetes/manifests/a.yaml", "a: 1\na: 2\n", "yaml-syntax", 2),
    "JSON": ("/etc/cni/net.d/10-a.conflist", '{"a": 1,\n}\n', "json-syntax", 2),
    "JSON list": ("/etc/cni/net.d/10-a.conflist", "[1,\n\n]\n", "json-syntax", 3),
    "environment": ("/etc/environment", "A=b\nexport C=d\necho e\n", "environment-syntax", 3),
}


@pytest.mark.parametrize(("path", "text", "finding", "line"), _FILES.values(), ids=_FILES)
def test_a_line_that_nothing_can_read_is_told(path: str, text: str, finding: str, line: int) -> None:
    remarks = list(check_node_file(BootFile(path, text, 644, "provisioning")))

    assert [(remark.rule.id, remark.line) for remark in remarks] == [(finding, line)]


def test_files_of_systemd_that_are_no_units_are_read_as_well() -> None:
    text = "[Match]\nName=eth*\n\n[Network]\nDHCP yes\n"
    assert _ids(File("/etc/systemd/network/10-a.network", text)) == ["systemd-syntax"]
    assert _ids(File("/etc/systemd/network/10-a.network", text.replace(" ", "="))) == []


def _with(*files: File) -> BootDocument:
    return document(
        {"bootstrap": ConfigHalf(files=files), "provisioning": ConfigHalf()},
        {"bootstrap": b"#cloud-config\n", "provisioning": b"#cloud-config\n"},
    )


def _ids(*files: File) -> list[str]:
    found = [finding.id for finding in findings_of(_with(*files))]
    return [each for each in found if each != "cloud-config-syntax"]


_TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"


@pytest.mark.parametrize(
    ("text", "permissions", "secret"),
    [
        (f"curl -H 'Authorization: Bearer {_TOKEN}'\n", 755, True),
        (f"curl -H 'Authorization: Bearer {_TOKEN}'\n", 700, False),
        ('curl -H "Authorization: Bearer $token"\n', 755, False),
        ("user:\n  client-key-data: YWJjZGVmZ2g=\n", 644, True),
        ("-----BEGIN EC PRIVATE KEY-----\n", 644, True),
        ("-----BEGIN CERTIFICATE-----\n", 644, False),
        ("HTTPS_PROXY=http://user:password@proxy:3128\n", 644, True),
        ("HTTPS_PROXY=http://proxy:3128\n", 644, False),
        ('password = "hunter2hunter2"\n', 644, True),
        ("--token-auth-file=/etc/tokens\n", 644, False),
        ('token="$(cat /run/token)"\n', 644, False),
        ("automountServiceAccountToken: false\n", 640, False),
    ],
)
def test_a_secret_is_told_where_everybody_may_read_it_and_its_value_is_not(
    text: str, permissions: int, secret: bool
) -> None:
    findings = findings_of(_with(File("/opt/a", text, permissions)))

    assert ("world-readable-secret" in {finding.id for finding in findings}) == secret
    assert not any(_TOKEN in finding.message or "hunter2" in finding.message for finding in findings)


@pytest.mark.parametrize(
    ("file", "ids"),
    [
        (File("etc/a", "b\n"), ["unclean-path"]),
        (File("/etc//a", "b\n"), ["unclean-path"]),
        (File("/etc/a/../b", "b\n"), ["unclean-path"]),
        (File("/etc/a", "b\n", 420), ["permissions"]),
        (File("/etc/a", "b\n", 688), ["permissions"]),
        (File("/etc/a", "b\n", 7), ["permissions"]),
        (File("/etc/a", "b\n", 666), ["world-writable"]),
        (File("/etc/a", "b\r\nc\r\n"), ["carriage-returns"]),
        (File("/opt/bin/a", "\n#!/bin/bash\n", 755), ["shebang"]),
        (File("/opt/bin/a", "echo b\n", 755), ["shebang"]),
        (File("/opt/bin/a", "#!bash\n", 755), ["shebang"]),
        (File("/etc/a", "b: <no value>\n"), ["template-left-over"]),
        (File("/etc/a", "b: %!s(MISSING)\n"), ["template-left-over"]),
        (File("/etc/a", "b: &Duration{Duration:2m0s,}\n"), ["template-left-over"]),
        (File("/etc/a", "b: {{ .KubeVersion }}\n"), ["template-left-over"]),
        (File("/etc/a", 'b: {{ value("c") }}\n'), ["template-left-over"]),
        (File("/etc/systemd/system/a.service", "[Service]\nExecStart=/b {{ .C }}\n"), ["template-left-over"]),
        (File("/etc/a", "b: {% if c %}\n"), ["template-left-over"]),
        (File("/opt/bin/a", "#!/bin/bash\ncrictl inspect --template '{{ .pid }}'\n", 755), []),
        (File("/etc/systemd/system/a.service", "[Service]\nExecStart=/b ps --format '{{.Names}}'\n"), []),
        (File("/etc/docker/daemon.json", '{"log-opts": {"tag": "{{.Name}}"}}'), []),
        (File("/etc/prometheus/rules.yaml", "summary: '{{ $labels.node }} is down'\n"), []),
        (File("/etc/nsswitch.conf", "passwd: compat systemd\n"), []),
        (File("/etc/a", "# The kubelet asks for bearer authentication.\n"), []),
        (File("/etc/a", "curl -H 'Authorization: Bearer a-token-of-words'\n"), ["world-readable-secret"]),
        (File("/opt/bin/a", "#!/bin/bash\ncat > /etc/b <<E\nkind: KubeletConfiguration\nc: d\nE\n", 755), []),
        (File("/etc/a.py", 'd = {"password": read_password("b")}\n'), []),
        (File("/opt/bin/a", '#!/bin/bash\necho "${b%%c}" "${#d}"\n', 755), []),
    ],
)
def test_what_is_wrong_with_a_file_alone_is_told(file: File, ids: list[str]) -> None:
    assert _ids(file) == ids


@pytest.mark.parametrize(
    ("paths", "ids"),
    [
        (("/etc/a", "/etc/a"), ["duplicate-path"]),
        (("/etc/a", "/etc/a/b"), ["file-below-file"]),
        (("/etc/a/b", "/etc/a"), ["file-below-file"]),
        (("/etc/a", "/etc/ab"), []),
    ],
)
def test_two_files_in_each_others_way_are_told(paths: tuple[str, ...], ids: list[str]) -> None:
    assert _ids(*(File(path, "b\n") for path in paths)) == ids


def test_units_in_the_way_of_files_or_of_each_other_are_told() -> None:
    text = "[Service]\nExecStart=/opt/bin/a\n"
    drop_in = BootFile("/etc/systemd/system/a.service.d/10.cnf", "[Service]\nRestart=no\n", 644, "bootstrap")
    content = BootFile("/etc/systemd/system/a.service", text, 644, "bootstrap")
    unit = BootUnit("a.service", enable=True, mask=None, half="bootstrap", content=content, drop_ins=(drop_in,))
    plain = _with(File("/etc/systemd/system/a.service", text), File("/opt/bin/a", "#!/bin/bash\n", 644))

    found = {finding.id for finding in findings_of(replace(plain, units=(unit, unit, replace(unit, name="b"))))}

    assert found >= {
        *("file-and-unit", "duplicate-unit", "systemd-unit-name", "drop-in-name"),
        *("not-executable", "unit-without-install"),
    }


@pytest.mark.parametrize(
    ("command", "mode", "ids"),
    [
        ("/bin/bash -c 'for i in 1 2; do /opt/bin/a && exit 0; done'", 644, ["not-executable"]),
        ("/bin/sh -ec '/opt/bin/a'", 600, ["not-executable"]),
        ("/bin/sh -ec '/opt/bin/a'", 700, []),
        ("/bin/bash -c '[ -e \"/opt/bin/a\" ] && bash /opt/bin/a'", 644, []),
        ("/bin/bash -c 'chmod +x /opt/bin/a && /opt/bin/a'", 644, []),
        ("/bin/bash /opt/bin/a", 644, []),
    ],
)
def test_a_script_that_a_unit_runs_by_a_shell_needs_permission_too(command: str, mode: int, ids: list[str]) -> None:
    unit = File("/etc/systemd/system/a.service", f"[Service]\nExecStart={command}\n")

    assert _ids(unit, File("/opt/bin/a", "#!/bin/bash\ntrue\n", mode)) == ids


def test_user_data_beyond_what_a_provider_takes_is_told_with_its_numbers() -> None:
    # Random enough that gzip, as which AWS gets it, makes nothing of it.
    noise = b64encode(bytes((7 * at * at + at // 3) % 251 for at in range(90_000)))
    plain = _with()

    for size, ids in ((100, []), (62_000, ["user-data-headroom"]), (70_000, ["user-data-too-large"])):
        whole = replace(plain, provider="azure", user_data={"bootstrap": noise[:size], "provisioning": b""})
        assert [finding.id for finding in check_user_data_size(whole)] == ids
    (finding,) = check_user_data_size(
        replace(plain, provider="azure", user_data={"bootstrap": noise[:70_000], "provisioning": b""})
    )
    assert "70,000 bytes of 65,535, which is 4,465 too many" in finding.message


def test_user_data_that_is_too_large_is_told_at_the_largest_file_of_its_half() -> None:
    def file(path: str, size: int, half: Half) -> BootFile:
        return BootFile(path, "x" * size, 644, half, lambda line: f"overlay.yaml:{len(path) + line}")

    files = (file("/a", 10, "bootstrap"), file("/largest", 99, "bootstrap"), file("/b", 999, "provisioning"))
    noise = b64encode(bytes((7 * at * at + at // 3) % 251 for at in range(90_000)))
    whole = replace(_with(), provider="azure", user_data={"bootstrap": noise[:70_000], "provisioning": b""})
    (finding,) = check_user_data_size(replace(whole, files=files))
    assert finding.where == "overlay.yaml:8"
    assert finding.fix.endswith("the largest file there is /largest")


def test_every_rule_has_an_id_of_its_own() -> None:
    ids = [rule.id for rule in set(RULES)]
    assert len(set(ids)) == len(ids)
