"""Garbage through the whole command line: sentences, never a traceback, never a hang; good pools are rendered."""

from __future__ import annotations

import copy
import json
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osm_gitops.config.setting_names import SETTINGS_BY_FLAG
from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, pool, profile, secret
from tests.faults import Expected, told

# The template engine raises the limit when it is first used.
pytestmark = pytest.mark.filterwarnings("ignore:The recursion limit will not be reset")

_SECONDS = 30
_EXAMPLES = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
_GOOD = ("OperatingSystemConfig", "good-kube-system-config")


class HangError(BaseException):
    """Not an Exception, so that no handler of the program takes it for a bug of its own."""


@contextmanager
def _no_hang() -> Iterator[None]:
    def strike(_signal: int, _frame: FrameType | None) -> None:
        raise HangError(f"no end after {_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, strike)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _render(files: dict[str, bytes], *more: str) -> Ran:
    """Render files beside a good pool, and check what holds for any input."""
    with tempfile.TemporaryDirectory() as folder, _no_hang():
        tree = Path(folder, "tree")
        tree.mkdir()
        good = [profile("osp-good"), pool("good", profile="osp-good"), *facts()]
        for name, content in {"good.json": _list(good), **files}.items():
            (tree / name).write_bytes(content)
        ran = osm_gitops("render", "--from", str(tree), "--to", "-", *more)
    assert ran.code in {0, 1}
    for sign in ("this is a bug", "Traceback", "Exception", "Error: ."):
        assert sign not in ran.err
    if ran.code:
        assert "Error: " in ran.err
    return ran


def _list(objects: list[Any]) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


def _renders_the_good_pool(ran: Ran) -> bool:
    """By its text: what garbage makes may be no YAML that PyYAML can read."""
    return f"\n  name: {_GOOD[1]}\n" in ran.out


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        ["", "x" * 5000, "0", "-1", "1e999", "{{", "null", "../../x", "a/b", "\0", "\ud800", "2024-01-01"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@_EXAMPLES
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_beside_a_good_pool_are_told_or_passed_over(content: bytes) -> None:
    ran = _render({"garbage.yaml": content, "kind.yaml": b"apiVersion: v1\nkind: Secret\n" + content})
    assert _renders_the_good_pool(ran)


_YAML_PIECES = r"""
apiVersion: v1|kind: Secret|kind: List|items:|metadata: {name: a}|data: {a: b}|---|...|- |  |: |? |* |&a |*a|<<: *a
|!!binary x|!!int x|!x|'|"|[|]|{|}|{{ .x }}|# c|\t|\n|\n|\n|\n  |\n- |%YAML 1.1|>|  text||-|~|.inf|0o7|0x1|1_000|@|`
|spec:|spec: {template: 1}|kind: MachineDeployment|apiVersion: cluster.k8s.io/v1alpha1
"""
_YAML_SOUP = st.lists(
    st.sampled_from(_YAML_PIECES.replace("\n", "").replace(r"\n", "\n").replace(r"\t", "\t").split("|")), max_size=30
).map("".join)


@_EXAMPLES
@given(_YAML_SOUP)
def test_yaml_soup_is_told_or_passed_over(text: str) -> None:
    assert _renders_the_good_pool(_render({"soup.yaml": text.encode()}))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from _paths(below, (*path, key))


_DROPPED = object()


def _mutated(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(body)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    if value is _DROPPED:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return changed


def _mutations(body: Any, *, most: int = 3) -> st.SearchStrategy[Any]:
    """The body with some fields dropped or replaced by any JSON."""
    step = st.tuples(st.sampled_from(sorted(_paths(body), key=str)), st.just(_DROPPED) | _JSON)

    def apply(steps: list[tuple[tuple[Any, ...], Any]]) -> Any:
        changed = body
        for path, value in steps:
            try:
                changed = _mutated(changed, path, value)
            except (KeyError, IndexError, TypeError):  # an earlier step took its place away
                continue
        return changed

    return st.lists(step, min_size=1, max_size=most).map(apply)


_RICH_POOL = pool(
    "rich",
    kubelet="1.28.9",
    annotations={
        "machinedeployment.clusters.k8s.io/revision": "1",
        "v1.kubelet-config.machine-controller.kubermatic.io/MaxPods": "110",
        "v1.kubelet-config.machine-controller.kubermatic.io/EvictionHard": "memory.available<30Mi",
        "v1.kubelet-config.machine-controller.kubermatic.io/ImageMinimumGCAge": "2m",
    },
    sshPublicKeys=["ssh-ed25519 AAAA a"],
    caPublicKey="ca",
    network={"cidr": "10.0.0.2/24", "gateway": "10.0.0.1", "dns": {"servers": ["1.1.1.1"]}, "ipFamily": "IPv4"},
    operatingSystem="flatcar",
    operatingSystemSpec={"disableAutoUpdate": True, "provisioningUtility": "ignition"},
    cloudProvider="openstack",
    cloudProviderSpec={
        "identityEndpoint": "https://os.example.com/v3",
        "username": {"value": "u"},
        "password": {"secretKeyRef": {"name": "credentials", "namespace": "kube-system", "key": "password"}},
        "domainName": "d",
        "projectName": "p",
        "region": "r",
        "trustDevicePath": False,
        "nodeVolumeAttachLimit": 20,
    },
)
_RICH_PROFILE = profile(
    "osp-a",
    osName="flatcar",
    provisioningUtility="ignition",
    supportedCloudProviders=[{"name": "openstack", "spec": {"a": 1}}],
    bootstrapConfig={
        "files": [
            {"path": "/a", "permissions": 644, "content": {"inline": {"encoding": "b64", "data": "{{ .CloudConfig }}"}}}
        ],
        "units": [
            {
                "name": "a.service",
                "enable": True,
                "mask": False,
                "content": "[Unit]\n",
                "dropIns": [{"name": "a", "content": "b"}],
            }
        ],
        "templates": {"t": "{{ .Token }}"},
        "supportedContainerRuntimes": [
            {
                "name": "containerd",
                "files": [{"path": "/c", "content": {"inline": {"data": "x"}}}],
                "templates": {"u": "v"},
            }
        ],
        "modules": {"bootcmd": ["a"], "runcmd": ["b"], "yum_repos": {"r": {"a": "b"}}, "rh_subscription": {"a": "b"}},
    },
)
_CREDENTIALS = secret("credentials", "kube-system", {"password": "p"})


@_EXAMPLES
@given(_mutations(_RICH_POOL))
def test_any_machine_deployment_stops_no_other(body: Any) -> None:
    assert _renders_the_good_pool(
        _render({"rest.json": _list([_RICH_PROFILE, _CREDENTIALS]), "md.json": _list([body])})
    )


@_EXAMPLES
@given(_mutations(_RICH_PROFILE))
def test_any_profile_stops_no_other(body: Any) -> None:
    assert _renders_the_good_pool(_render({"rest.json": _list([_RICH_POOL, _CREDENTIALS]), "osp.json": _list([body])}))


@_EXAMPLES
@given(_mutations(_RICH_POOL["spec"]["template"]["spec"]["providerSpec"]["value"]))
def test_any_provider_config_stops_no_other(value: Any) -> None:
    body = copy.deepcopy(_RICH_POOL)
    body["spec"]["template"]["spec"]["providerSpec"]["value"] = value
    assert _renders_the_good_pool(_render({"rest.json": _list([_RICH_PROFILE, _CREDENTIALS, body])}))


_FACTS = [
    *facts(),
    secret("registries", "kube-system", {"a.example.com": '{"username": "u", "password": "p"}'}),
    {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "addressType": "IPv4",
        "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "endpoints": [{"addresses": ["10.0.0.1"]}],
        "ports": [{"name": "https", "port": 6443}],
    },
    secret(
        "bootstrap-token-abcdef",
        "kube-system",
        {"token-id": "abcdef", "token-secret": "0123456789abcdef", "expiration": "2099-01-01T00:00:00Z"},
        type="bootstrap.kubernetes.io/token",
        metadata={"labels": {"machinedeployment.k8s.io/name": "kube-system-workers"}},
    ),
]


@_EXAMPLES
@given(_mutations(_FACTS, most=2), st.booleans())
def test_any_facts_are_told_or_used(objects: Any, registries: bool) -> None:
    flags = ["--node-registry-credentials-secret", "kube-system/registries"] if registries else []
    with tempfile.TemporaryDirectory() as folder, _no_hang():
        Path(folder, "all.json").write_bytes(_list([profile(), pool(), *objects]))
        ran = osm_gitops("render", "--from", folder, "--to", "-", *flags)
    assert ran.code in {0, 1}
    assert "this is a bug" not in ran.err
    assert ran.code == 0 or "Error: " in ran.err


_GO_PIECES = r"""
. .Token .KubeVersion .Nothing .Token.x $ $x $x:=1 := = | ( ) , 1 -1 0x1F 1e9 'a' "a" `a` true nil if else end with
range break continue define template block "t" eq and or not index slice printf print len call html js urlquery
dict list until seq repeat indent nindent trunc substr regexReplaceAll fail required default ternary toJson fromJson
toYaml fromYaml toToml semver semverCompare add div mod int float64 first last initial sortAlpha join splitList
b64enc b64dec sha256sum date dateModify duration merge deepCopy omit pick get set tuple now env keys genCA
/* */ - {{ }} {{- -}} \ " ` .ClusterDNSIPs .NetworkConfig .MaxPods .KubeReserved .FlatcarConfig .KubeletFeatureGates
"""
_JINJA_PIECES = r"""
{{ }} {% %} {# #} {%- -%} {{- -}} if else elif endif for in endfor set = block endblock macro endmacro call endcall
filter endfilter include import from extends with endwith raw endraw Token KubeVersion Nothing x loop loop.index
| . [ ] ( ) , : ' " 1 2**99 [].append().__class__ ''.__class__.__mro__ self namespace() range(9) cycler lipsum
joiner quote b64enc toJson indent(9) safe attr('x') map('x') join sort groupby('x') tojson is not and or ~ * // % \ 't'
"""


def _soup(pieces: str, opening: str, closing: str) -> st.SearchStrategy[str]:
    words = st.sampled_from(pieces.split()) | st.text(max_size=6)
    action = st.lists(words, max_size=8).map(lambda found: f"{opening} {' '.join(found)} {closing}")
    return st.lists(action | st.text(max_size=20) | words, max_size=8).map("".join)


def _with_templates(text: str, other: str, *, jinja: bool) -> dict[str, bytes]:
    body = profile(
        provisioningConfig={
            "files": [{"path": "/x", "content": {"inline": {"data": other}}}],
            "templates": {"t": text, "u": other},
        },
        script=text,
    )
    if jinja:
        body["metadata"]["annotations"] = {"osm-gitops.io/template": "jinja2/v1"}
    return {"bad.json": _list([body, pool()])}


@_EXAMPLES
@given(_soup(_GO_PIECES, "{{", "}}"), _soup(_GO_PIECES, "{{", "}}"))
def test_any_go_template_stops_no_other_pool(text: str, other: str) -> None:
    assert _renders_the_good_pool(_render(_with_templates(text, other, jinja=False)))


@_EXAMPLES
@given(_soup(_JINJA_PIECES, "{%", "%}"), _soup(_JINJA_PIECES, "{{", "}}"))
def test_any_jinja2_template_stops_no_other_pool(text: str, other: str) -> None:
    assert _renders_the_good_pool(_render(_with_templates(text, other, jinja=True)))


_ABSURD: dict[str, Callable[[], str]] = {
    "a long loop": lambda: "{{ range $i := until 1000000000 }}x{{ end }}",
    "loops in loops": lambda: "{{ range until 9999 }}{{ range until 9999 }}x{{ end }}{{ end }}",
    "recursion": lambda: '{{ define "r" }}{{ template "r" . }}{{ end }}{{ template "r" . }}',
    "repeat": lambda: '{{ repeat 1000000000 "x" }}',
    "indent": lambda: '{{ indent 1000000000 "x" }}',
    "nested parentheses": lambda: "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "nested ifs": lambda: "{{ if true }}" * 3000 + "{{ end }}" * 3000,
    "a long pipeline": lambda: "{{ 1" + " | print" * 5000 + " }}",
    "a megabyte of text": lambda: "x" * (1 << 20),
    "many actions": lambda: "{{ .Token }}" * 20_000,
    "a regex that explodes": lambda: '{{ regexMatch "(a+)+$" "' + "a" * 5000 + 'b" }}',
    "a regex of counts": lambda: '{{ regexMatch "((a{100}){100}){100}" "a" }}',
    "doubling": lambda: '{{ $x := "x" }}' + "{{ $x = printf \"%s%s\" $x $x }}" * 60 + "{{ $x }}",
    "wide printf": lambda: '{{ printf "%999999999d" 1 }}',
    "a huge power": lambda: "{{ pow 9 999999999 }}{{ exp 99999 }}",
    "a long number": lambda: "{{ " + "9" * 100_000 + " }}",
    "a list that holds itself": lambda: "{{ $d := dict }}{{ $_ := set $d \"a\" $d }}{{ $d | toJson }}{{ $d }}",
    "deep JSON": lambda: "{{ fromJson `" + "[" * 20_000 + "` }}",
    "deep YAML": lambda: "{{ fromYaml `" + "[" * 20_000 + "` }}",
    "unclosed": lambda: "{{ " * 20_000,
    "a long comment": lambda: "{{/*" + "x" * 100_000 + "*/}}",
}  # fmt: skip


@pytest.mark.parametrize("kind", _ABSURD)
def test_absurd_templates_end_and_stop_no_other_pool(kind: str) -> None:
    assert _renders_the_good_pool(_render(_with_templates(_ABSURD[kind](), "x", jinja=False)))


_ABSURD_JINJA = {
    "a long loop": "{% for i in range(1000000000) %}x{% endfor %}",
    "a power": "{{ 9**9**9 }}",
    "a shift": "{{ 'x' * 1000000000 }}",
    "recursion": "{% macro r() %}{{ r() }}{% endmacro %}{{ r() }}",
    "an include of itself": "{% include 't' %}",
    "attributes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "format": "{{ '%999999999d' % 1 }}",
    "str.format": "{{ '{0.__class__.__init__.__globals__}'.format(Token) }}",
    "nesting": "{% if true %}" * 500 + "{% endif %}" * 500,
    "parentheses": "{{ " + "(" * 2000 + "1" + ")" * 2000 + " }}",
    "a join": "{{ range(99999999)|join('x') }}",
    "a list": "{{ range(99999999)|list|length }}",
    "padding": "{{ 'x'|center(1000000000) }}",
    "a method": "{{ 'x'.ljust(1000000000) }}",
    "replacing": "{{ ('x' * 100000).replace('x', 'y' * 100000) }}",
}


@pytest.mark.parametrize("kind", _ABSURD_JINJA)
def test_absurd_jinja2_ends_and_stops_no_other_pool(kind: str) -> None:
    text = _ABSURD_JINJA[kind]
    assert _renders_the_good_pool(_render(_with_templates(text, "x", jinja=True)))


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 50_000,
        "a: &a ["
        + "x," * 50
        + "]\n"
        + "".join(f"{c}: &{c} [{','.join(['*' + p] * 50)}]\n" for p, c in zip("abcdef", "bcdefg", strict=True)),
        "{" * 50_000,
        "- " * 50_000,
        "? " * 20_000,
        "a:\n" + "".join(" " * depth + "a:\n" for depth in range(2_000)),
        "&a " * 10_000,
        '"' + "\\" * 99_999,
        "k: " + "9" * 1_000_000,
        "kind: Secret\napiVersion: v1\nmetadata: {name: " + "x" * 1_000_000 + "}",
        "\n".join(f"k{number}: v" for number in range(50_000)),
    ],
    ids=["lists", "laughs", "braces", "dashes", "keys", "depth", "anchors", "escapes", "number", "name", "fields"],
)
def test_absurd_yaml_ends_and_stops_no_other_pool(text: str) -> None:
    assert _renders_the_good_pool(_render({"absurd.yaml": b"apiVersion: v1\nkind: Secret\n" + text.encode()}))


_FLEET = {
    "apiVersion": "osm-gitops.io/v1alpha1",
    "kind": "Fleet",
    "defaults": {"settings": {}},
    "clusters": [
        {
            "name": "a",
            "from": "x",
            "to": {"git": {"path": "y", "branch": "b", "remote": "r", "push": True}},
            "settings": {
                "clusterDNS": "1.1.1.1",
                "nodeContainerdRegistryMirrors": ["a=b"],
                "nodeKubeletFeatureGates": {"a": True},
                "externalCloudProvider": True,
                "maxLoopSteps": 5,
                "hostCABundle": "f",
            },
            "management": {"namespace": "n"},
        }
    ],
}


@_EXAMPLES
@given(st.text(max_size=200).map("apiVersion: osm-gitops.io/v1alpha1\n{}".format) | _mutations(_FLEET).map(json.dumps))
def test_any_fleet_file_is_told_or_used(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder, _no_hang():
        fleet = Path(folder, "fleet.yaml")
        fleet.write_bytes(text.encode("utf-8", "surrogatepass"))
        ran = osm_gitops("plan", "--fleet", str(fleet))
    assert ran.code == 1  # its sources are not there
    assert "this is a bug" not in ran.err
    assert ran.err.startswith("Error: ")


_FLAG_VALUES = st.text(max_size=40) | st.sampled_from(
    [
        "",
        "/",
        "=",
        ",",
        ",,",
        "a=b",
        "http://",
        "http://[",
        "%zz",
        "http://u:p@h",
        "::",
        "1.2.3.4,",
        "x" * 5000,
        "\udcff",
        "-1",
    ]
)


@_EXAMPLES
@given(st.sampled_from(sorted(SETTINGS_BY_FLAG)), _FLAG_VALUES)
def test_any_value_of_any_flag_is_told_or_used(flag: str, value: str) -> None:
    with tempfile.TemporaryDirectory() as folder, _no_hang():
        Path(folder, "all.json").write_bytes(_list([profile(), pool(), *facts()]))
        ran = osm_gitops("render", "--from", folder, "--to", "-", f"-{flag}={value}")
    assert ran.code in {0, 1}
    assert "this is a bug" not in ran.err
    assert ran.code == 0 or ran.err.startswith("Error: ")


def test_the_good_pool_alone_is_fine() -> None:
    ran = _render({})
    assert ran.code == 0, ran.err
    kinds = [body["kind"] for body in yaml.safe_load_all(ran.out)]
    assert kinds == ["OperatingSystemProfile", "OperatingSystemConfig", "Secret", "Secret"]


_RICH_OVERLAY = {
    "apiVersion": "osm-gitops.io/v1alpha1",
    "kind": "Overlay",
    "overlays": ["builtin:proxy"],
    "settings": {"pauseImage": "{{ Values.image }}", "clusterDNS": "10.0.0.1"},
    "values": {"image": "a/{{ Values.tag }}", "tag": "1", "proxy": {"url": "http://p", "gone": None}},
    "profiles": ["osp-*"],
    "patches": [
        {
            "target": {"name": "osp-*", "osName": "ubuntu"},
            "merge": {
                "metadata": {"annotations": {"a": "b"}},
                "spec": {
                    "osVersion": "1",
                    "provisioningConfig": {
                        "files": [
                            {"path": "/opt/bin/setup", "$delete": True},
                            {"path": "/new", "content": {"inline": {"data": "{{ .Values.tag }}"}}},
                            {"path": "/file", "content": {"file": "beside"}},
                        ],
                        "templates": {"y": {"file": "beside"}},
                    },
                },
            },
        },
        {"target": {"name": "osp-good"}, "merge": "beside"},
        {
            "target": {"name": "osp-good"},
            "json6902": [
                {"op": "add", "path": "/spec/bootstrapConfig/templates", "value": {"z": "x"}},
                {"op": "move", "from": "/spec/bootstrapConfig/files/0", "path": "/spec/bootstrapConfig/files/-"},
                {"op": "test", "path": "/spec/osName", "value": "ubuntu"},
            ],
        },
    ],
}


def _render_with(files: dict[str, bytes]) -> Ran:
    """Render a good pool with an overlay of these files."""
    with tempfile.TemporaryDirectory() as folder, _no_hang():
        tree, overlay = Path(folder, "tree"), Path(folder, "overlay")
        for path in (tree, overlay):
            path.mkdir()
        (tree / "good.json").write_bytes(_list([profile("osp-good"), pool("good", profile="osp-good"), *facts()]))
        for name, content in files.items():
            (overlay / name).write_bytes(content)
        ran = osm_gitops("render", "--from", str(tree), "--to", "-", "--overlay", str(overlay))
    assert ran.code in {0, 1}
    for sign in ("this is a bug", "Traceback", "Exception", "Error: ."):
        assert sign not in ran.err
    assert bool(ran.code) == ("Error: " in ran.err)
    return ran


def test_the_overlay_that_is_mutated_is_right() -> None:
    ran = _render_with({"overlay.yaml": json.dumps(_RICH_OVERLAY).encode(), "beside": b"spec: {osVersion: x}"})
    assert (ran.code, ran.err) == (0, "")


@_EXAMPLES
@given(_mutations(_RICH_OVERLAY, most=6))
def test_any_overlay_is_applied_or_told(overlay: Any) -> None:
    _render_with({"overlay.yaml": json.dumps(overlay).encode(), "beside": b"spec: {osVersion: x}"})


@_EXAMPLES
@given(_mutations(_RICH_OVERLAY["patches"][0]["merge"], most=6))  # type: ignore[index]
def test_any_patch_is_applied_or_told(merge: Any) -> None:
    overlay = {key: _RICH_OVERLAY[key] for key in ("apiVersion", "kind")}
    overlay["patches"] = [{"target": {"name": "osp-good"}, "merge": merge}]
    _render_with({"overlay.yaml": json.dumps(overlay).encode(), "beside": b"text"})


@_EXAMPLES
@given(st.binary(max_size=200) | _YAML_SOUP.map(str.encode))
def test_any_bytes_as_an_overlay_are_told(content: bytes) -> None:
    head = b"apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\n"
    _render_with({"overlay.yaml": content})
    _render_with({"overlay.yaml": head + content})
    patch = b"patches: [{target: {name: osp-good}, merge: beside}]"
    _render_with({"overlay.yaml": head + patch, "beside": content})


def test_an_overlay_reads_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    head = "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\n"
    secret_file = tmp_path / "secret"
    secret_file.write_text("spec: {osVersion: SECRET}")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "good.json").write_bytes(_list([profile("osp-good"), pool("good", profile="osp-good"), *facts()]))
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "link").symlink_to(secret_file)
    for name in ("../secret", str(secret_file), "link"):
        templates = f"{{templates: {{x: {{file: {name}}}}}}}"
        for patch in (f"merge: {name}", f"merge: {{spec: {{provisioningConfig: {templates}}}}}"):
            (overlay / "overlay.yaml").write_text(f"{head}patches:\n- target: {{name: osp-good}}\n  {patch}\n")
            ran = osm_gitops("render", "--from", str(tree), "--to", "-", "--overlay", str(overlay))
            assert ran.code == 1
            assert Expected(Code.OVERLAY_FILE_NOT_FOUND) in told(ran.err)
            assert "SECRET" not in ran.out + ran.err
