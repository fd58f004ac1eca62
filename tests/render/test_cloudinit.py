from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.errors import Code
from osm_gitops.model.profile import ConfigHalf, DropIn, File, Modules, OperatingSystemConfig, Unit
from osm_gitops.render.user_data import Kind, Pool, permissions_text, render_cloud_init, unique_keys, user_data
from tests.faults import refused

HEAD = "#cloud-config\n\nssh_pwauth: false\n\nssh_authorized_keys:\nwrite_files:"


def _render(half: ConfigHalf) -> str:
    return render_cloud_init(half, (), None, dist_upgrade=False)


def _tail(half: ConfigHalf) -> str:
    text = _render(half)
    assert text.startswith(HEAD)
    return text.removeprefix(HEAD)


def _config(half: ConfigHalf, provider: str, utility: str = "cloud-init") -> OperatingSystemConfig:
    return OperatingSystemConfig("c", "kube-system", "ubuntu", "24.04", provider, {}, utility, half, half)


def test_the_example_of_the_contract() -> None:
    half = ConfigHalf((File("/a", "x"),), modules=Modules(runcmd=("c",)))
    assert user_data("bootstrap", _config(half, "azure"), half, Pool("p", "cloud-init")) == (
        "#cloud-config\nhostname: <MACHINE_NAME>\n\nssh_pwauth: false\n\nssh_authorized_keys:\nwrite_files:\n"
        "- path: '/a'\n  permissions: '0644'\n  content: |-\n    x\n\n"
        "- path: /etc/machine-name\n  permissions: '0600'\n  content: |-\n        <MACHINE_NAME>\n\nruncmd:\n- c\n"
    )


def test_case_a_of_the_contract_has_the_observed_length() -> None:
    script = "#!/bin/sh\n\nexport P=http://proxy.example.com:3128\necho md-a-kube-system-provisioning-config\n"
    keys = ("ssh-ed25519 AAAA a@b", "ssh-ed25519 AAAA a@b\n")
    half = ConfigHalf(
        (File("/opt/boot", script, 755, "b64"),), (), keys, Modules(runcmd=("systemctl restart boot.service",))
    )
    text = user_data("bootstrap", _config(half, "hetzner"), half, Pool("md-a", "cloud-init", dist_upgrade=True))
    assert len(text.encode()) == 504
    assert text.startswith("#cloud-config\nhostname: <MACHINE_NAME>\n\npackage_upgrade: true\npackage_reboot_if_requi")
    assert text.count("ssh-ed25519") == 1


@pytest.mark.parametrize(
    ("kind", "provider", "name"),
    [
        ("bootstrap", "hetzner", "<MACHINE_NAME>"),
        ("bootstrap", "edge", "md"),
        ("bootstrap", "aws", None),
        ("provisioning", "hetzner", None),
        ("provisioning", "edge", None),
    ],
)
def test_who_gets_a_machine_name(kind: Kind, provider: str, name: str | None) -> None:
    half = ConfigHalf((File("/a", "<MACHINE_NAME> stays in files"),))
    text = user_data(kind, _config(half, provider), half, Pool("md", "cloud-init"))
    assert ("/etc/machine-name" in text) is (name is not None)
    assert (f"hostname: {name}\n" in text) is (name is not None)
    assert "<MACHINE_NAME> stays in files" in text


def test_without_files_the_text_ends_in_write_files() -> None:
    assert _render(ConfigHalf()) == HEAD


def test_units_without_files_are_glued_to_write_files_as_in_osm() -> None:
    assert _tail(ConfigHalf(units=(Unit("a"),))) == (
        'coreos:\n  units:\n  - name: "a"\n    enable: false\n    \n    mask: false\n\n'
    )


def test_units_with_content_and_drop_ins() -> None:
    unit = Unit("b.service", enable=True, mask=True, content="x\ny", drop_ins=(DropIn("d", "l\nm"), DropIn("e", "n")))
    assert _tail(ConfigHalf(units=(unit,))) == (
        'coreos:\n  units:\n  - name: "b.service"\n    enable: true\n    command: start\n    mask: true\n'
        "\n    content: |\n      x\n      y\n"
        '\n    drop_ins:\n      - name: "d"\n        content: |\n          l\n          m'
        '\n      - name: "e"\n        content: |\n          n'
    )


def test_all_modules_in_osms_order_sorted_by_bytes_and_unquoted() -> None:
    modules = Modules(
        bootcmd=("b: 1",),
        rh_subscription={"password": "", "auto-attach": "true", "Z": "a: b"},
        runcmd=("r", "s"),
        yum_repos={"r2": {"b": "1", "a": "2"}, "R1": {}},
        yum_repo_dir="/etc/y",
    )
    assert _tail(ConfigHalf(modules=modules)) == (
        "\nbootcmd:\n- b: 1\n\nruncmd:\n- r\n- s\n"
        "\nrh_subscription:\n    Z: a: b\n    auto-attach: true\n    password: \n"
        "\nyum_repos:\n    R1:\n    r2:\n       a: 2\n       b: 1\n\nyum_repo_dir: /etc/y"
    )


def test_empty_modules_print_nothing() -> None:
    assert _tail(ConfigHalf(modules=Modules())) == ""


@pytest.mark.parametrize(
    ("encoding", "content"), [("b64", "eAo="), ("base64", "x\n    "), ("gz+b64", "x\n    "), ("B64", "x\n    ")]
)
def test_only_the_encoding_b64_encodes(encoding: str, content: str) -> None:
    assert _tail(ConfigHalf((File("/a", "x\n", 600, encoding),))) == (
        f"\n- path: '/a'\n  permissions: '0600'\n  encoding: '{encoding}'\n  content: |-\n    {content}\n"
    )


def test_nothing_is_quoted() -> None:
    text = render_cloud_init(ConfigHalf((File("/it's", "x"),)), ("it's",), None, dist_upgrade=False)
    assert "- 'it's'\n" in text
    assert "- path: '/it's'\n" in text


@pytest.mark.parametrize(
    ("number", "text"), [(644, "0644"), (75, "75"), (1755, "1755"), (-12, "0-12"), (0, "0"), (755, "0755")]
)
def test_permissions_are_digits_with_a_zero_before_three(number: int, text: str) -> None:
    assert permissions_text(number) == text


def test_ssh_keys_are_trimmed_and_unique_in_their_first_order() -> None:
    assert unique_keys(["b\n", " ", "\u2003a", "b", "", "a\t", "\x1fc"]) == ("b", "a", "\x1fc")


def test_utilities_that_disagree_are_refused() -> None:
    half = ConfigHalf()
    with refused(Code.UTILITY_MISMATCH):
        user_data("bootstrap", _config(half, "aws", "ignition"), half, Pool("p", "cloud-init"))


def test_a_configuration_without_a_utility_takes_the_pools() -> None:
    half = ConfigHalf()
    assert user_data("bootstrap", _config(half, "aws", ""), half, Pool("p", "cloud-init")) == HEAD


@given(st.text(), st.text(alphabet="\n x"))
def test_contents_come_back_when_the_indentation_is_taken_away(path: str, content: str) -> None:
    tail = _tail(ConfigHalf((File(path, content),)))
    head = f"\n- path: '{path}'\n  permissions: '0644'\n  content: |-\n"
    assert tail.startswith(head)
    assert [line[4:] for line in tail.removeprefix(head).removesuffix("\n").split("\n")] == content.split("\n")
