"""Two passes (osm-behaviour.md, "Two renderings" and "Consequences of two renderings"): templates into files, also when
their results are templates again."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from tests.oracle_tests.bodies import Bodies
from tests.oracle_tests.comparison import Half, compare
from tests.oracle_tests.random_data import random_data

pytestmark = pytest.mark.oracle

_NAMES: Final = ("x", "y", "safe-net", "a b", "", "/t")
_PATHS: Final = ("/t", "/etc/a.conf", "/opt/bin/b")
_RESULTS: Final = (
    *(
        "",
        " ",
        "\n",
        "hello",
        "  hello\n\n\n",
        "\n\nhello",
        "\u00a0\n",
        "x\v\n",
        "{{",
        "}}",
        '{{ "{{ . }}" }}',
        '{{ "{{" }}',
    ),
    *(
        '{{ "{{ template \\"y\\" . }}" }}',
        '{{ "{{ end }}" }}',
        '{{ "{{ nope }}" }}',
        "{{ .HTTPProxy }}",
        "{{ .InitialTaints }}\n",
    ),
    *(
        '{{ "{{ define \\"x\\" }}Z{{ end }}" }}',
        '{{ "{{- 1 -}}" }} ',
        '{{ "{{/* c */}}" }}',
        "{{ `{{ range $i, $e := list 1 2 }}{{ $e }}{{ end }}` }}",
    ),
    *(
        '{{ "{{ $x := 1 }}{{ $x }}" }}',
        '{{ "{{ .KubeVersion }}" }}',
        '{{ template "y" }}',
        '{{ "{%" }} {{ "{#" }}',
        "a{{ 1 -}} \n",
        "\t{{- 1 }}\n \n",
    ),
    *(
        "{{ if .HTTPProxy }}\nexport P={{ .HTTPProxy }}\n{{ end }}",
        '{{ "{{ break }}" }}',
        '{{ "{{ block \\"q\\" . }}Q{{ end }}" }}',
        "\r\n x \r\n",
    ),
)
_CALLS: Final = (
    *(
        '{{ template "NAME" }}',
        '{{- template "NAME" }}',
        '{{ template "NAME" . }}',
        '{{ template "NAME" .KubeVersion }}',
    ),
    *('{{ template "NAME" $ -}}', '{{ range .ClusterDNSIPs }}{{ template "NAME" . }}{{ end }}'),
)
_PARTS: Final = (
    *('{{ define "x" }}OWN{{ end }}', '{{ block "y" . }}B{{ end }}', '{{ template "nope" }}', '{{ template "/t" }}'),
    *("text\n", "\n", "text\n", "{{ .KubeVersion }}", '{{ "{{ . }}" }}', "#!/bin/sh\n", "  ", "\n\n"),
)


def random_half(random: Random) -> Half:
    usual = random.choice((3, len(_RESULTS)))
    templates = {
        name: "".join(
            random.choice(_RESULTS[:: len(_RESULTS) // usual or 1]) for _ in range(random.choice((1, 1, 2, 3)))
        )
        for name in random.sample(_NAMES, random.randrange(4))
    }
    if random.random() < 0.3:
        templates["x"] = Bodies(random, 0.0).template()
    files = {path: _file(random, list(templates)) for path in random.sample(_PATHS, random.randint(1, 2))}
    return Half(files, random_data(random), templates)


def _file(random: Random, names: list[str]) -> str:
    calls = [random.choice(_CALLS).replace("NAME", random.choice(names)) for _ in range(random.randrange(3)) if names]
    parts = calls + [random.choice(_PARTS if random.random() < 0.1 else _PARTS[4:]) for _ in range(random.randrange(3))]
    random.shuffle(parts)
    return "".join(parts)


@pytest.mark.parametrize("seed", range(3))
def test_templates_come_into_files_as_in_go(seed: int) -> None:
    random = Random(seed)
    compare([random_half(random) for _ in range(800)]).check(most_refused=0.1)
