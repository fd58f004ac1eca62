"""What commands ask for, told from their words."""

from __future__ import annotations

import pytest

from osm_gitops.downloads.commands import IMAGE_REPOSITORIES, asked_by
from osm_gitops.shell.state import Command, unknown


def _asked(command: str, given: str | None = None) -> list[str]:
    ran = Command(tuple(command.split()), "/x", 1, given)
    return [f"{each.kind.value} {each.name}" for each in asked_by(ran) if each.name != IMAGE_REPOSITORIES]


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("curl -fsSL --retry 5 -o /x https://h/a", ["url https://h/a"]),
        ("curl -Lfo /opt/x https://h/a", ["url https://h/a"]),
        ("curl -s -k --header Authorization: https://h/a -x http://proxy:3128", ["url https://h/a"]),
        ("curl --url=https://h/a --proxy http://p --output-dir /x", ["url https://h/a"]),
        ("curl --proto =https --tlsv1.2 -sSf https://h/a", ["url https://h/a"]),
        ("curl h.example.com/a", ["url http://h.example.com/a"]),
        ("/usr/bin/curl -O https://h/a -O https://h/b", ["url https://h/a", "url https://h/b"]),
        ("wget -q -O /x https://h/a --header A:b", ["url https://h/a"]),
        ("wget -P /x --tries 3 https://h/a", ["url https://h/a"]),
        ("apt-get -o Dpkg::Options::=--force install -y curl jq=1.*", ["package curl", "package jq=1.*"]),
        ("apt-get update", []),
        ("apt install -t noble-backports x ./local.deb", ["package x"]),
        ("apt-mark hold x", []),
        ("apt-get dist-upgrade", ["package all newer packages"]),
        ("yum -y --enablerepo=x install a-1.7* b", ["package a-1.7*", "package b"]),
        ("yum install -y https://h/a.rpm", ["url https://h/a.rpm"]),
        ("dnf config-manager --add-repo https://h/a.repo", ["url https://h/a.repo"]),
        ("yum-config-manager --add-repo=https://h/a.repo", ["url https://h/a.repo"]),
        ("yum versionlock add containerd", []),
        ("rpm --import https://h/key", ["url https://h/key"]),
        ("rpm -Uvh https://h/a.rpm", ["url https://h/a.rpm"]),
        ("rpm -q curl", []),
        ("zypper in -y curl", ["package curl"]),
        ("snap install x --classic", ["package x", "repository https://api.snapcraft.io"]),
        ("pip3 install --index-url https://h/simple awscli", ["package awscli", "repository https://h/simple"]),
        ("pip install awscli", ["package awscli", "repository https://pypi.org/simple"]),
        ("pip install -r /x.txt", []),
        ("add-apt-repository -y ppa:a/b", ["repository https://ppa.launchpadcontent.net/a/b/ubuntu"]),
        ("add-apt-repository https://h/a", ["repository https://h/a"]),
        ("aws s3 cp s3://bucket/a /x", ["mentioned s3://bucket/a"]),
        ("python3 -c get('https://h/a')", ["mentioned https://h/a"]),
        ("amazon-linux-extras install docker", ["package docker"]),
        ("git clone --depth 1 https://h/a.git /x", ["url https://h/a.git"]),
        ("ctr -n k8s.io images pull --platform linux/amd64 docker.io/a:1", ["image docker.io/a:1"]),
        ("crictl pull registry.k8s.io/pause:3.10", ["image registry.k8s.io/pause:3.10"]),
        ("docker run --rm -dp 80:80 -v /a:/b --name c -e D=e h/x:1 serve h/y", ["image h/x:1"]),
        ("ctr -n k8s.io run --rm --mount type=bind docker.io/a:1 b", ["image docker.io/a:1"]),
        ("crictl run c.json", []),
        ("docker ps", []),
        ("skopeo copy docker://h/a:1 dir:/x", ["image h/a:1"]),
        ("/opt/bin/kubelet --config=/x --pod-infra-container-image=h/pause:3.9", ["image h/pause:3.9"]),
        ("subscription-manager register --org x", ["url https://subscription.rhsm.redhat.com/subscription"]),
        ("apt-key adv --keyserver hkps://keys.example.com --recv 1", ["url hkps://keys.example.com"]),
        ("install-thing --from https://h/a,https://h/b", ["mentioned https://h/a,https://h/b"]),
        ("logger https://h/a", []),
        ("systemctl restart containerd", []),
    ],
)
def test_each_command_asks_in_its_own_way(command: str, asked: list[str]) -> None:
    assert _asked(command) == asked


def test_package_managers_ask_the_repositories_of_the_image() -> None:
    for command, manager in (("apt-get update", "apt"), ("yum -y install x", "yum")):
        found = [each for each in asked_by(Command(tuple(command.split()), "/x", 1)) if each.name == IMAGE_REPOSITORIES]
        assert [each.by for each in found] == [manager]


def test_a_configuration_of_curl_on_standard_input_is_read() -> None:
    assert _asked("curl --config -", 'fail\nurl = "https://h/a"\nheader = "X: y"\n') == ["url https://h/a"]
    assert _asked("curl --config - https://h/b", "fail\n") == ["url https://h/b"]


def test_parts_that_are_not_known_are_named_and_kept_as_the_shell_has_them() -> None:
    ran = Command(("curl", f"https://h/{unknown('${V}')}/a"), "/x", 1)
    (found,) = asked_by(ran)
    assert (found.name, found.unresolved, found.host) == ("https://h/${V}/a", ("${V}",), "h")
    (found,) = asked_by(Command(("curl", f"{unknown('$base')}/a"), "/x", 1))
    assert (found.name, found.unresolved, found.host) == ("$base/a", ("$base",), "")


@pytest.mark.parametrize(
    ("image", "host"),
    [
        ("registry.k8s.io/pause:3.10", "registry.k8s.io"),
        ("pause:3.10", "docker.io"),
        ("library/pause", "docker.io"),
        ("localhost:5000/x", "localhost:5000"),
    ],
)
def test_the_registry_of_an_image_is_its_host(image: str, host: str) -> None:
    (found,) = asked_by(Command(("crictl", "pull", image), "/x", 1))
    assert found.host == host


def test_credentials_in_a_url_are_no_part_of_its_host() -> None:
    (found,) = asked_by(Command(("curl", "https://user:pass@h.example.com:8443/a"), "/x", 1))
    assert found.host == "h.example.com:8443"
