"""Time servers of values take the place of the image's, which are on the internet, whoever keeps the time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.profiles.pools import every_node
from tests.profiles.rendering import render
from tests.profiles.sandbox import Machine

_SERVERS: Final = ["ntp-1.example.com", "ntp-2.example.com"]
_BEGIN: Final = "for conf in /etc/chrony.conf"
_CHRONY: Final = (
    "# comment\npool 2.pool.ntp.org iburst\nserver 169.254.169.123\nsourcedir /run/chrony-dhcp\ndriftfile /x\n"
)


def _script(profile: str, provider: str) -> str:
    setup = render(profile, provider, values={"time": {"servers": _SERVERS}}).file("/opt/bin/setup")
    begin = setup.index(_BEGIN)
    return "set -euo pipefail\n" + setup[begin : setup.index("\n", setup.index("systemctl try-restart", begin))] + "\n"


def test_chrony_and_systemds_client_ask_the_servers_of_values_also_after_a_second_run(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.write("/etc/chrony/chrony.conf", _CHRONY)
    for _ in range(2):
        result = machine.run(_script("osp-ubuntu", "hetzner"))
        assert result.returncode == 0, result.stderr
        conf = machine.path("/etc/chrony/chrony.conf").read_text().replace(str(tmp_path), "")
        asked = [line for line in conf.splitlines() if not line.startswith("#")]
        assert asked == ["driftfile /x", "include /etc/chrony/chrony.servers"]
        servers = machine.path("/etc/chrony/chrony.servers").read_text()
        assert servers == "server ntp-1.example.com iburst\nserver ntp-2.example.com iburst\n"
        client = machine.path("/etc/systemd/timesyncd.conf.d/kubernetes.conf").read_text()
        assert client == "[Time]\nNTP=ntp-1.example.com ntp-2.example.com\nFallbackNTP=\n"
    assert not machine.path("/etc/chrony.conf").exists()


@every_node
def test_every_node_asks_them_and_without_them_those_of_its_image(profile: str, provider: str) -> None:
    assert "ntp-1.example.com" in _script(profile, provider)
    assert _BEGIN not in render(profile, provider).file("/opt/bin/setup")
