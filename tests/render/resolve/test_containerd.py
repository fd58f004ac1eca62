from __future__ import annotations

import tomllib

from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.containerd import Credential, config_toml

PLAIN = """version = 3

[metrics]
address = "127.0.0.1:1338"

[plugins]
[plugins."io.containerd.cri.v1.images"]
discard_unpacked_layers = false
[plugins."io.containerd.cri.v1.images".registry]
config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime"]
device_ownership_from_security_context = false
[plugins."io.containerd.cri.v1.runtime".containerd]
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes]
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["/opt/cni/bin"]
conf_dir = "/etc/cni/net.d"
"""


def test_the_plain_file() -> None:
    assert config_toml(Settings(), {}) == PLAIN


def test_a_pause_image_is_pinned() -> None:
    text = config_toml(Settings(pause_image='reg/pause:"3"'), {})
    assert 'pinned_images]\nsandbox = "reg/pause:\\"3\\""\n[plugins."io.containerd.cri.v1.images".registry]\n' in text


def test_device_ownership_is_switched_on() -> None:
    setting = "device_ownership_from_security_context"
    text = config_toml(Settings(device_ownership_from_security_context=True), {})
    assert text == PLAIN.replace(f"{setting} = false", f"{setting} = true")


def test_credentials_are_sorted_and_print_only_what_they_have() -> None:
    credentials = {
        "gcr.io:5000": Credential(identitytoken="t", auth="a"),
        "": Credential(),
        "localhost": Credential("u", "p"),
    }
    table = '[plugins."io.containerd.cri.v1.images".registry.configs'
    assert (
        f'{table}]\n{table}.""]\n{table}."".auth]\n'
        f'{table}."gcr.io:5000"]\n{table}."gcr.io:5000".auth]\nauth = "a"\nidentitytoken = "t"\n'
        f'{table}.localhost]\n{table}.localhost.auth]\nusername = "u"\npassword = "p"\n'
        '[plugins."io.containerd.cri.v1.runtime"]\n'
    ) in config_toml(Settings(), credentials)


def test_the_file_is_toml_whatever_the_values() -> None:
    odd = 'a"\\\n\t\x01\x7fé'
    document = tomllib.loads(config_toml(Settings(pause_image=odd), {odd: Credential(odd, odd, odd, odd)}))
    images = document["plugins"]["io.containerd.cri.v1.images"]
    assert images["pinned_images"]["sandbox"] == odd
    assert images["registry"]["configs"][odd]["auth"] == dict.fromkeys(
        ("username", "password", "auth", "identitytoken"), odd
    )
