"""What configuration files lead to, and what systemd units run."""

from __future__ import annotations

import pytest

from osm_gitops.downloads.files import asked_by_modules, asked_in, mentioned
from osm_gitops.downloads.gathering import commands_of, variables_of
from osm_gitops.lint.rules.boot_file import BootFile
from osm_gitops.model.profile import Modules

_OLDER = """\
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "h/pause:3.9"
[plugins."io.containerd.grpc.v1.cri".registry.mirrors."docker.io"]
endpoint = ["https://m"]
"""


def _asked(path: str, text: str) -> list[str]:
    return [f"{line} {each.kind.value} {each.name}" for line, each in asked_in(path, text)]


@pytest.mark.parametrize(
    ("path", "text", "asked"),
    [
        (
            "/etc/apt/sources.list.d/docker.list",
            "# deb x\ndeb [arch=amd64 signed-by=/k] https://h/ubuntu noble stable\n",
            ["2 repository https://h/ubuntu noble stable"],
        ),
        ("/etc/apt/sources.list.d/x.sources", "Types: deb\nURIs: https://h/a https://h/b\n",
         ["2 repository https://h/a", "2 repository https://h/b"]),
        (
            "/etc/yum.repos.d/x.repo",
            "[x]\nbaseurl=https://h/$releasever\ngpgkey=file:///etc/k\ngpgkey = https://h/k\n#baseurl=https://h/no\n",
            ["2 repository https://h/$releasever", "4 url https://h/k"],
        ),
        (
            "/etc/containerd/certs.d/docker.io/hosts.toml",
            'server = "https://registry-1.docker.io"\n\n[host."https://mirror"]\n',
            ["1 registry https://registry-1.docker.io", "3 registry https://mirror"],
        ),
        (
            "/etc/containerd/config.toml",
            'version = 3\n[plugins."io.containerd.cri.v1.images".pinned_images]\nsandbox = "h/pause:3.10"\n',
            ["3 image h/pause:3.10"],
        ),
        (
            "/etc/containerd/config.toml",
            _OLDER,
            ["2 image h/pause:3.9", "4 registry https://m"],
        ),
        ("/etc/containerd/config.toml", "this is = no [toml https://h", []),
        ("/etc/kubernetes/manifests/x.yaml", "containers:\n- image: h/a:1 # x\n", ["2 image h/a:1"]),
        ("/etc/motd", "see https://h and baseurl=https://h\n", []),
    ],
)  # fmt: skip
def test_a_file_is_read_for_what_it_is(path: str, text: str, asked: list[str]) -> None:
    assert _asked(path, text) == asked


def test_modules_of_cloud_init_lead_to_repositories_and_to_red_hat() -> None:
    repository = {"baseurl": "https://h/r", "gpgkey": "https://h/k", "enabled": "true"}
    own = Modules(yum_repos={"x": repository}, rh_subscription={"username": "u", "password": "p"})
    satellite = {"org": "o", "server-hostname": "sat.example.com", "rhsm-baseurl": "https://sat.example.com/pulp/repos"}
    assert [each.name for _, each in asked_by_modules(own)] == [
        "https://h/r",
        "https://h/k",
        "https://subscription.rhsm.redhat.com/subscription",
        "https://cdn.redhat.com",
    ]
    found = [each.name for _, each in asked_by_modules(Modules(rh_subscription=satellite))]
    assert found == ["https://sat.example.com", "https://sat.example.com/pulp/repos"]


def test_urls_in_comments_and_documentation_are_not_mentioned() -> None:
    text = "# https://h/a\nDocumentation=https://h/b\nX=https://h/c, (https://h/d)\n"
    assert list(mentioned(text)) == [(3, "https://h/c"), (3, "https://h/d")]


def test_a_unit_tells_its_commands_and_its_variables() -> None:
    text = (
        '[Service]\nEnvironment="A=b c" D=e\nEnvironmentFile=-/etc/environment\n'
        "ExecStartPre=-/bin/x\nExecStart=\nExecStart=@/bin/y \\\n  --z\nExecStop=+/bin/w\n"
    )
    unit = BootFile("/etc/systemd/system/a.service", text, 644, "bootstrap")
    assert list(commands_of(unit)) == [(4, "/bin/x"), (6, "/bin/y \\\n  --z"), (8, "/bin/w")]
    files = {"/etc/environment": 'HTTP_PROXY="http://p"\n# no\n'}
    assert list(variables_of(unit, files)) == [("A", "b c"), ("D", "e"), ("HTTP_PROXY", "http://p")]
    assert list(commands_of(BootFile("/etc/a.txt", text, 644, "bootstrap"))) == []
