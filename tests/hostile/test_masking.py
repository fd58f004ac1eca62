"""An author of templates who reads plans: what they do to a secret does not bring it into any report (issue 11, 4).

Each attack prints the getter token in a form that no list of encodings has, in a line that says which attack it is.
What must not be found is that line, whatever it says, in any form that a plan or an explanation has.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.commands.explain.explaining import Loaded, explanation
from osm_gitops.commands.explain.report import explanation_json, explanation_text, file_text, masker_of, user_data_text
from osm_gitops.config.spec import ClusterSpec, SourceSpec, TreeRef
from osm_gitops.errors import Code
from osm_gitops.model.plan import CurrentState, Plan, View
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.load import load_inputs
from osm_gitops.pipeline.planning import excerpted
from osm_gitops.pipeline.rendering import render_cluster
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.report.excerpts import without_bodies
from osm_gitops.report.html import Page, format_html
from osm_gitops.report.json_report import plan_json
from osm_gitops.report.markdown import Markdown, format_markdown
from osm_gitops.report.mask import MIN_BYTES
from osm_gitops.report.secret_diffs import CONTENTS_NOT_SHOWN
from osm_gitops.report.text import Style, format_plan
from tests.cli.running import osm_gitops
from tests.cli.scenes import file, pool, profile, secret, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository, pin_git
from tests.sources.sealed import KEY, sealed

_TOKEN = "Xq7-Zw9_kB3.vT5mJ8"
_PATH = "/opt/bin/attack"
_FORMS = ("text", "json", "markdown", "html")

_GO = {
    "hex": '{{ range $c := splitList "" .Token }}{{ printf "%x" $c }}{{ end }}',
    "quoted hex": '{{ printf "% #X" .Token }}',
    "go syntax": '{{ printf "%+q %U" .Token .Token }}',
    "base32": "{{ .Token | b32enc }}",
    "double base64": "{{ .Token | b64enc | b64enc }}",
    "triple base64": '{{ printf "padding%s" .Token | b64enc | b64enc | b64enc }}',
    "upper": "{{ .Token | upper }}",
    "lower": "{{ .Token | lower }}",
    "title": "{{ .Token | lower | title }}",
    "swapped": "{{ .Token | swapcase }}",
    "joined": '{{ splitList "" .Token | join "," }}',
    "reversed": '{{ $r := "" }}{{ range $c := splitList "" .Token }}{{ $r = print $c $r }}{{ end }}{{ $r }}',
    "piece": "{{ .Token | substr 2 6 }}",
    "end": "{{ trunc -3 .Token }}",
    "sha1": "{{ .Token | sha1sum }}",
    "sha256": "{{ .Token | sha256sum }}",
    "adler32": "{{ .Token | adler32sum }}",
    "replaced": '{{ .Token | replace "-" "~" }}',
    "json": "{{ .Token | toJson | toJson }}",
    "yaml": "{{ dict .Token true | toYaml }}",
    "toml": "{{ dict .Token true | toToml }}",
    "bytes": '{{ printf "%d" (len .Token) }}',
    "wrapped": '{{ .Token | wrapWith 4 "~" }}',
    "snippet": '~{{ template "snippet" . }}',
}
_JINJA = {
    "base32": "{% for c in Token %}{{ c | b32enc }}{% endfor %}.",
    "double base64": "{{ Token | b64enc | b64enc }}",
    "upper": "{{ Token | upper }}",
    "title": "{{ Token | title }}",
    "reversed": "{{ Token[::-1] }}",
    "joined": "{{ Token | list | join(',') }}",
    "sorted": "{{ Token | list | sort | join('') }}",
    "piece": "{{ Token[2:6] }}",
    "sha256": "{{ Token | sha256sum }}",
    "json": "{{ Token | toJson | toJson }}",
    "length": "{{ Token | length }}",
    "variable": "{% set x = Token ~ '!' %}{{ x | lower }}",
    "macro": "{% macro m(x) %}{{ x | replace('-', '~') }}{% endmacro %}{{ m(Token) }}",
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)
    monkeypatch.chdir(tmp_path)


def _profile(script: str, *, jinja: bool = False, encoding: str = "b64", **spec: Any) -> dict[str, Any]:
    attack = {"path": _PATH, "permissions": 755, "content": {"inline": {"encoding": encoding, "data": script}}}
    version = "{{ KubeVersion }}" if jinja else "{{ .KubeVersion }}"
    other = {"files": [file("/opt/bin/setup", f"#!/bin/sh\necho {version}\n")]}
    body = profile(**{"bootstrapConfig": {"files": [attack]}, "provisioningConfig": other} | spec)
    if jinja:
        body["metadata"]["annotations"] = {"osm-gitops.io/template": "jinja2/v1"}
    return body


def _rendered(script: str, *, jinja: bool = False, token: str = _TOKEN, **more: Any) -> list[str]:
    """The lines of the attack as they are rendered; the tree stays."""
    write_tree(Path("tree"), _profile(script, jinja=jinja, **more), pool(), token=token)
    ran = osm_gitops("render", "--from", "tree", "--to", "-")
    assert ran.code == 0, ran.err
    for body in yaml.safe_load_all(ran.out):
        if body["kind"] == "OperatingSystemConfig":
            (found,) = body["spec"]["bootstrapConfig"]["files"][:1]
            return str(found["content"]["inline"]["data"]).split("\n")
    raise AssertionError("nothing was rendered")


def _reports() -> str:
    """All that reports of the tree say, but for the profile, which is the attacker's own text."""
    runs = [osm_gitops("plan", "--from", "tree", "--to", "out", "-v", "-o", form) for form in _FORMS]
    source = ("--from", "tree")
    runs += [osm_gitops("explain", "workers", *source, *more) for more in (("--file", _PATH), ("-o", "json"), ())]
    runs += [osm_gitops("explain", "workers", *source, "--user-data", half) for half in ("bootstrap", "provisioning")]
    runs.append(osm_gitops("explain", "workers", *source, "--downloads"))
    assert [run.code for run in runs] == [0] * len(runs), [run.err for run in runs]
    return "\n".join(run.out + run.err for run in runs)


@pytest.mark.parametrize(("attacks", "jinja"), [(_GO, False), (_JINJA, True)], ids=["go", "jinja2"])
def test_a_line_is_masked_whatever_was_done_to_the_secret(attacks: dict[str, str], jinja: bool) -> None:
    script = "#!/bin/sh\nfirst\n" + "".join(f"<{name}>{attack}\n" for name, attack in attacks.items()) + "last\n"
    half = {
        "files": [file(_PATH, script)],
        "templates": {} if jinja else {"snippet": "<snippet>{{ .Token | lower | b64enc }}"},
    }
    lines = _rendered(script, jinja=jinja, bootstrapConfig=half)
    made = [line for line in lines if line.startswith("<") and not line.endswith("~")]
    assert len(made) == len(attacks)
    reports = _reports()
    templates = set(script.split("\n"))
    assert [line for line in made if line in reports and line not in templates] == []
    for line in made:
        payload = line.partition(">")[2]
        assert len(payload) < 4 or payload not in reports, line
    # What stands beside it is shown.
    shown = osm_gitops("explain", "workers", "--from", "tree", "--file", _PATH, "--half", "bootstrap").out.split("\n")
    assert (shown[1], shown[-2]) == ("first", "last")


@pytest.mark.parametrize(
    ("script", "jinja"),
    [
        ('begin\n{{ range $c := splitList "" .Token }}{{ $c }}\n{{ end }}end\n', False),
        ('begin\n{{ range $c := splitList "" .Token }}{{ printf "%x" $c | trunc 1 }}\n{{ end }}end\n', False),
        ('begin\n{{ range $c := splitList "" .Token }}{{ printf "%x" $c | trunc -1 }}\n{{ end }}end\n', False),
        ('begin\n{{ range $c := splitList "" (b32enc .Token) }}{{ $c }}\n{{ end }}end\n', False),
        ("begin\n{% for c in Token %}\n{{ c }}\n{% endfor %}\nend\n", True),
    ],
)
def test_no_line_of_one_character_is_shown(script: str, jinja: bool) -> None:
    _rendered(script, jinja=jinja)
    ran = osm_gitops("explain", "workers", "--from", "tree", "--file", _PATH)
    first, *between, last, _ = ran.out.split("\n")
    assert (first, last) == ("begin", "end")
    assert set(between) <= {"***", "", "="}  # the padding of base32 tells the length alone
    assert between.count("***") >= len(_TOKEN)


@pytest.mark.parametrize("word", ["abc", "x", "true", "ubuntu", "1", "attack", "!!!", "/opt/bin/attack", "Opaque"])
@pytest.mark.parametrize("jinja", [False, True], ids=["go", "jinja2"])
def test_secrets_that_are_short_or_words_are_masked_too(word: str, jinja: bool) -> None:
    field = "Token" if jinja else ".Token"
    script = f"#!/bin/sh\nplain={{{{ {field} }}}}\nupper={{{{ {field} | upper }}}}\nkeep\n"
    made = _rendered(script, jinja=jinja, token=word)[1:3]
    reports = _reports()
    assert made[0] == f"plain={word}"
    assert [line for line in made if line in reports] == []
    # A short word may stand elsewhere: what it is equal to is shown as ever. Longer ones are looked for everywhere.
    shown = osm_gitops("explain", "workers", "--from", "tree", "--file", _PATH).out
    assert shown == "#!/bin/sh\n***\n***\nkeep\n"
    assert _PATH in osm_gitops("plan", "--from", "tree", "--to", "out", "-v").out or len(word) >= MIN_BYTES


def test_what_is_packed_and_encoded_is_masked_as_it_stands() -> None:
    packed = b64encode(gzip.compress(f"token={_TOKEN}".encode(), mtime=0)).decode()
    # A template cannot pack, but a secret can stand packed in its source, and a file can say that it is packed.
    lines = _rendered("{{ .Token }}", token=packed, encoding="gzip+b64")
    assert lines == [packed]
    reports = _reports()
    assert packed[8:40] not in reports
    assert packed not in reports


@pytest.mark.parametrize("os", ["flatcar", "ubuntu"])
def test_user_data_of_ignition_and_cloud_init_is_masked(os: str) -> None:
    script = "#!/bin/sh\nkeep\n{{ .Token | b64enc | b64enc }}\n"
    write_tree(Path("tree"), _profile(script, osName=os), pool(operatingSystem=os), token=_TOKEN)
    if os == "flatcar":
        write_tree(Path("tree"), _profile(script, osName=os, provisioningUtility="ignition"), token=_TOKEN)
    reports = _reports()
    twice = b64encode(b64encode(_TOKEN.encode())).decode()
    assert twice not in reports
    assert twice[:12] not in reports
    assert _PATH in osm_gitops("explain", "workers", "--from", "tree", "--user-data", "bootstrap").out


@pytest.mark.parametrize(
    ("script", "jinja"),
    [
        ('{{ fail (printf "got %x" .Token) }}', False),
        ("{{ .Token | b32enc | mustToDate .Token }}", False),
        ("{{ .Token | upper | fail }}", False),
        ("{{ fail('got ' ~ Token | lower) }}", True),
        ("{{ {}[Token | upper].x }}", True),
        ("{% include Token | lower %}", True),
    ],
)
def test_no_sentence_of_a_template_that_fails_tells_a_secret(script: str, jinja: bool) -> None:
    write_tree(Path("tree"), _profile(script, jinja=jinja), pool(), token=_TOKEN)
    source = ("--from", "tree")
    runs = [osm_gitops("plan", *source, "--to", "out", "-o", form) for form in _FORMS]
    runs += [
        osm_gitops("render", *source, "--to", "out"),
        osm_gitops("validate", "tree"),
        osm_gitops("status", *source),
    ]
    runs += [osm_gitops("explain", "workers", *source, *more) for more in ((), ("--downloads",), ("-o", "json"))]
    told = "\n".join(run.out + run.err for run in runs)
    for guise in (_TOKEN, _TOKEN.upper(), _TOKEN.lower(), _TOKEN.encode().hex()):
        assert guise not in told
    assert "made from secrets" in runs[0].err
    # Where it fails is told all the same.
    assert "OperatingSystemProfile-osp-a.yaml:" in runs[0].err


def test_no_warning_tells_a_secret() -> None:
    """YAML allows no control characters: a warning names the one that was found."""
    script = 'x{{ if eq (trunc 1 .Token) "X" }}\x07{{ else }}\x08{{ end }}x\n'
    write_tree(Path("tree"), _profile(script, encoding=""), pool(), token=_TOKEN)
    flags = ("--from", "tree")
    runs = [osm_gitops("plan", *flags, "--to", "out"), osm_gitops("explain", "workers", *flags)]
    runs.append(osm_gitops("validate", "tree"))
    told = "\n".join(run.out + run.err for run in runs)
    assert "U+0007" not in told
    assert "made from secrets" in runs[0].out
    assert "made from secrets" in runs[1].out


def test_a_sentence_that_is_made_of_no_secret_is_shown() -> None:
    write_tree(
        Path("tree"), _profile('{{ .Token | upper }}{{ fail (print "no " .KubeVersion) }}'), pool(), token=_TOKEN
    )
    assert Expected(Code.TEMPLATE_REFUSES_POOL, "v1.34.2") in told(
        osm_gitops("plan", "--from", "tree", "--to", "out").err
    )


def test_what_a_template_asks_for_in_values_tells_no_secret() -> None:
    script = "{{ value('seen', Token | upper) }}\n{{ value(Token | lower, 'x') }}\n{{ value('kept', 'well') }}\n"
    write_tree(Path("tree"), _profile(script, jinja=True), pool(), token=_TOKEN)
    for more in ((), ("-o", "json")):
        ran = osm_gitops("explain", "workers", "--from", "tree", *more)
        assert ran.code == 0, ran.out
        assert _TOKEN.lower() not in ran.out
        assert _TOKEN.upper() not in ran.out
        assert "well" in ran.out


def test_what_scripts_download_tells_no_secret() -> None:
    script = (
        "#!/bin/sh\ncurl -O https://x.example.com/{{ .Token | b32enc | lower }}\ncurl -O https://x.example.com/keep\n"
    )
    made = _rendered(script)[1].rpartition("/")[2]
    for more in ((), ("-o", "json")):
        for name in (("workers",), ()):
            ran = osm_gitops("explain", *name, "--downloads", "--from", "tree", *more)
            assert ran.code == 0, ran.err
            assert made not in ran.out
            assert "https://x.example.com/keep" in ran.out


def test_no_finding_of_validate_tells_a_secret() -> None:
    unit = '[Service]\nExecStart=/bin/true\n{{ printf "K%x" .Token }}=1\n'
    body = profile(bootstrapConfig={"files": [file("/etc/systemd/system/a.service", unit, 644)]})
    write_tree(Path("tree"), body, pool(), token=_TOKEN)
    for form in ("text", "json", "sarif", "junit", "github"):
        ran = osm_gitops("validate", "tree", "-o", form)
        assert _TOKEN.encode().hex() not in (ran.out + ran.err).lower()


def test_what_stands_in_the_target_is_not_shown_where_a_secret_line_took_its_place() -> None:
    """The old side of a change was not rendered in this run: what it was made from is not known."""
    repository = new_repository(Path("repo"))
    flags = ("--from", "tree", "--to", "repo/clusters", "--dangerously-plaintext-secrets")
    made = _rendered("#!/bin/sh\na={{ .KubeVersion }}\nb={{ .Token | upper }}\nlast\n")
    assert osm_gitops("apply", "--yes", *flags).code == 0
    git(repository, "status")
    _rendered("#!/bin/sh\na=other\nb={{ .Token | lower }}\nlast\n")
    for form in _FORMS:
        ran = osm_gitops("plan", *flags, "-o", form)
        assert ran.code == 0, ran.err
        assert made[2] not in ran.out
        assert _TOKEN.upper() not in ran.out
        assert _TOKEN.lower() not in ran.out
        assert "-a=v1.34.2" in ran.out
    # More lines than took their place: of those nothing is known.
    _rendered("#!/bin/sh\nb={{ .Token | lower }}\nlast\n")
    ran = osm_gitops("plan", *flags)
    assert _TOKEN.upper() not in ran.out


def test_a_sealed_template_and_sealed_words_are_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY", KEY)
    body = _profile('#!/bin/sh\n{{ "sealed word" | upper | b64enc }} {{ .KubeVersion }}\npin 123\n')
    tree = write_tree(Path("tree"), body, pool())
    (tree / "OperatingSystemProfile-osp-a.yaml").write_text(sealed(yaml.safe_dump(body), "^data$"))
    reports = _reports()
    for text in (b64encode(b"SEALED WORD").decode(), "sealed word", "pin 123"):
        assert text not in reports


def test_credentials_of_every_source_are_found_by_what_they_make() -> None:
    """A proxy's password, a registry's, a provider's: each printed in hexadecimal."""
    fields = ("HTTPProxy", "ContainerRuntimeConfig", "CloudConfig", "BootstrapKubeconfig")
    script = "#!/bin/sh\n" + "".join(f"<{name}>{{{{ .{name} | b32enc }}}}\n" for name in fields)
    spec = {"token": "hz-123", "identityEndpoint": "https://os", "username": "u", "password": "pw1", "region": "r"}
    spec |= {"domainName": "d", "projectName": "p"}
    body = _profile(script, supportedCloudProviders=[{"name": "openstack"}])
    token = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "expiration": "2099-01-01T00:00:00Z"}
    write_tree(
        Path("tree"),
        body,
        pool(cloudProvider="openstack", cloudProviderSpec=spec, kubelet="1.28.9"),
        secret("reg", "kube-system", {"r.example.com": json.dumps({"username": "q", "password": "pw2"})}),
        secret(
            "bootstrap-token-abcdef",
            "kube-system",
            token,
            type="bootstrap.kubernetes.io/token",
            metadata={"labels": {"machinedeployment.k8s.io/name": "kube-system-workers"}},
        ),
    )
    flags = ("--node-http-proxy=http://pu:pp@proxy:1", "--node-registry-credentials-secret=kube-system/reg")
    ran = osm_gitops("explain", "workers", "--from", "tree", *flags, "--file", _PATH)
    assert (ran.code, ran.out) == (0, "#!/bin/sh\n***\n***\n***\n***\n"), ran.err


# -- for those who are not trusted --


def _pools_of_tree(script: str, *, jinja: bool = False) -> Plan:
    tree = write_tree(Path("tree"), _profile(script, jinja=jinja), pool(), token=_TOKEN)
    spec = ClusterSpec("c", SourceSpec(*(TreeRef(tree, "tree"),) * 3), (), None)
    rendered = render_cluster("c", load_inputs(spec, Settings(), {}), Settings())
    plan = make_cluster_plan(rendered.desired, CurrentState(), PlanOptions())
    # The profile itself is the author's own text.
    plan = replace(plan, changes=plan.changes[1:])
    views = [View(whole=True, together=together, hide_secret_files=True) for together in (True, False)]
    return Plan((without_bodies(excerpted(plan, views, rendered.secrets)),))


@pytest.mark.parametrize(
    ("script", "jinja"),
    [
        ("#!/bin/sh\nkept-out\n{{ .Token | upper }}\n", False),
        # It reads the token and prints nothing of it: a condition tells by what it leaves out.
        ('#!/bin/sh\nkept-out\n{{ if hasPrefix "zzz" .Token }}yes{{ end }}\n', False),
        ("#!/bin/sh\nkept-out\n{% if 'zzz' in Token %}yes{% endif %}\n", True),
    ],
)
def test_of_files_that_touch_secrets_nothing_is_shown_to_the_untrusted(script: str, jinja: bool) -> None:
    pools_only = _pools_of_tree(script, jinja=jinja)
    told = [
        format_plan(pools_only, Style(verbose=True, hide_secret_files=True)),
        "".join(plan_json(pools_only, whole=True, hide_secret_files=True)),
        "".join(format_markdown(pools_only, Markdown(verbose=True, hide_secret_files=True))),
        "".join(format_html(pools_only, Page(verbose=True, hide_secret_files=True))),
    ]
    for text in told:
        assert CONTENTS_NOT_SHOWN in text
        assert "kept-out" not in text
        assert "echo v1.34.2" in text  # the other file
    diffs = [each for change in json.loads(told[1])["clusters"][0]["changes"] for each in change["diffs"]]
    hidden = [each for each in diffs if each["instead"]]
    assert hidden
    assert all((each["lines"], each["added"], each["removed"]) == ([], 0, 0) for each in hidden)


def test_explain_shows_nothing_of_such_files_to_the_untrusted_not_even_their_size() -> None:
    tree = write_tree(Path("tree"), _profile("#!/bin/sh\nkept-out {{ .Token | upper }}\n"), pool(), token=_TOKEN)
    spec = ClusterSpec("c", SourceSpec(*(TreeRef(tree, "tree"),) * 3), (), None)
    inputs = load_inputs(spec, Settings(), {})
    told = explanation(Loaded(spec, Settings(), inputs), inputs.machines[0])
    masker, rendering = masker_of(told), told.rendering
    assert rendering is not None
    first, second = rendering.files[:2]
    assert file_text(rendering, first, masker, hide_secret_files=True) == f"{CONTENTS_NOT_SHOWN}\n"
    assert "v1.34.2" in file_text(rendering, second, masker, hide_secret_files=True)
    assert user_data_text(rendering, "bootstrap", masker, hide_secret_files=True) == f"{CONTENTS_NOT_SHOWN}\n"
    assert user_data_text(rendering, "provisioning", masker, hide_secret_files=True).startswith("#cloud-config")
    sizes = json.loads(explanation_json(told, masker, hide_secret_files=True))["rendering"]["files"]
    assert [each["bytes"] for each in sizes][:2] == [None, second.size]
    rows = explanation_text(told, masker, hide_secret_files=True).split("\n")
    assert [row.split()[:4] for row in rows if _PATH in row] == [["bootstrap", "0755", "-", _PATH]]


def test_of_a_revision_it_is_known_what_was_made_from_secrets() -> None:
    """The line is gone and took its secret with it: the earlier side was rendered too, so it is known."""
    repository = new_repository(Path("repo"))
    write_tree(repository / "tree", _profile("first\n{{ .Token | upper }}\nlast\n"), pool(), token=_TOKEN)
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "sources")
    write_tree(repository / "tree", _profile("first\ninnocent\nlast\n"), token=_TOKEN)
    for form in _FORMS:
        ran = osm_gitops("plan", "--from", "repo/tree", "--against", "HEAD", "-o", form)
        assert ran.code == 0, ran.err
        assert _TOKEN.upper() not in ran.out
        assert "+innocent" in ran.out
