"""Random bodies of Go templates: what authors of profiles write, and what they might mistype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from osm_gitops.gotemplate.functions import FUNCTIONS
from tests.oracle_tests.expressions import Expressions

_TEXTS: Final = (
    *(
        "a",
        "b\n",
        "\n",
        "  ",
        "\n\n",
        "\t",
        "x ",
        " - ",
        "é",
        "\r\n",
        "\r",
        "{",
        "}",
        "{%",
        "%}",
        "{#",
        "#}",
        "{ {",
        '"',
        "\\",
    ),
    *(
        "#!/usr/bin/env bash\nset -xeuo pipefail\n",
        "if [[ ${#nodes[@]} -gt 0 ]]; then\n",
        'echo "${X:-y}"\n',
        "fi\n",
        "\u00a0",
    ),
    *(
        "cat <<EOF | tee /etc/x.conf\n  key = {value}\nEOF\n",
        "awk '{print $1}' | sed -e 's/a/b/'\n",
        "jq '.a[]|{b:.c}'\n",
    ),
    *(
        "ExecStart=/bin/x %i %% ${A}\n",
        "[Service]\n",
        "x: {a: {b: 1}}\n",
        "modprobe ip_vs \n",
        "${a}}",
        "{a{b}}",
        "# {% raw %}\n",
        "\u2028",
    ),
    *(
        "{%- if x -%}",
        "<no value>",
        "line\n    indented\n",
        " \n",
        "$x",
        "|",
        "##",
        "-",
        "\v",
        "\x85",
        "\x00",
    ),
)
_CALLS: Final = tuple(
    FUNCTIONS[name]
    for name in (
        *(
            "eq",
            "ne",
            "lt",
            "gt",
            "le",
            "ge",
            "not",
            "print",
            "printf",
            "len",
            "index",
            "quote",
            "squote",
            "indent",
            "nindent",
        ),
        *(
            "default",
            "ternary",
            "empty",
            "coalesce",
            "upper",
            "lower",
            "trim",
            "trimSuffix",
            "trimPrefix",
            "replace",
            "contains",
        ),
        *(
            "hasPrefix",
            "hasSuffix",
            "semverCompare",
            "toYaml",
            "fromYaml",
            "toJson",
            "fromJson",
            "dict",
            "list",
            "split",
        ),
        *(
            "splitList",
            "join",
            "regexReplaceAll",
            "regexMatch",
            "b64enc",
            "add",
            "sub",
            "int",
            "toString",
            "hasKey",
            "get",
            "set",
        ),
        *("first", "last", "has", "append", "until", "substr", "trunc", "kindOf", "typeOf", "html", "println", "merge"),
    )
)
_SOURCES: Final = (
    *(
        "$.ClusterDNSIPs",
        "$.KubeletFeatureGates",
        "$.EvictionHard",
        "$.KubeReserved",
        "$.NetworkConfig.DNS.Servers",
        "(list)",
    ),
    *(
        '(list 1 "a" nil)',
        "(until 3)",
        "3",
        "0",
        '(dict "a" 1 "b" "x")',
        '(splitList "," "a,b")',
        "$.SystemReserved",
        "nil",
        '"ab"',
    ),
    *(
        '(list (list 1 2) (dict "k" "v"))',
        "(rest (list 1 2 3))",
        "$.RHSubscription",
        "-1",
        "2.0",
        "$.NoProxy",
        '(split "," "x,y")',
    ),
)
_NAMES: Final = ("x", "y", "z", "item", "é1", "_")


@dataclass(slots=True)
class Bodies:
    """Writes bodies; ``defined`` are names that ``template`` may call, ``wild`` how often something is wrong."""

    random: Random
    wild: float = 0.01
    defined: Sequence[str] = ()
    loops: int = 0
    scopes: list[list[str]] = field(default_factory=lambda: [[]])
    inner: bool = False

    def template(self) -> str:
        """A whole template, sometimes with definitions before or after its body."""
        body = self.body(0)
        for name in self.defined:
            if self.random.random() < 0.9:
                definition = (
                    self._action(f'define "{name}"') + Bodies(self.random, self.wild).body(2) + self._action("end")
                )
                body = definition + body if self.random.random() < 0.7 else body + definition
        return body

    def body(self, depth: int) -> str:
        most = 4 - min(depth, 3)
        made = "".join(self._text() + self._statement(depth) for _ in range(self.random.randint(0, most)))
        return made + self._text()

    def _text(self) -> str:
        made = "".join(self.random.choice(_TEXTS) for _ in range(self.random.choice((0, 1, 1, 2))))
        made = made.replace("{{", "{ {")
        return made + " " if made.endswith("{") else made

    def _action(self, command: str) -> str:
        left = self.random.choice(("{{", "{{ ", "{{ ", "{{- ", "{{- ", "{{-\n "))
        right = self.random.choice(("}}", " }}", " }}", " -}}", " -}}", "\n}}"))
        return left + command + right

    def _variables(self) -> list[str]:
        return [name for scope in self.scopes for name in scope]

    def _pipeline(self) -> str:
        random = self.random
        if self.inner and random.random() < 0.2:
            return random.choice((".", ".", ". | quote", ". | toString | upper", "eq . 1", ".a", "print ."))
        if random.random() < 0.15:
            return random.choice(("and ", "or ")) + " ".join(self._operand() for _ in range(random.randint(1, 3)))
        dot = "$" if self.inner else random.choice(("", "", "$"))
        return Expressions(random, _CALLS, self.wild, 2, dot, [f"${name}" for name in self._variables()]).pipeline()

    def _operand(self) -> str:
        dot = "$" if self.inner else ""
        names = [f"${name}" for name in self._variables()]
        return Expressions(self.random, _CALLS, self.wild, 2, dot, names).operand("any", 1)

    def _statement(self, depth: int) -> str:
        random = self.random
        choice = random.random() * (1 if depth < 4 else 0.6)
        if choice < 0.3:
            return self._action(self._pipeline())
        if choice < 0.42:
            return self._declaration()
        if choice < 0.48:
            comment = random.choice(("/* c */", "/**/", "/* {{ x }} */", "/* #} {% raw %}\n */", "/* a */"))
            return random.choice(("{{", "{{- ")) + comment + random.choice(("}}", " -}}"))
        if choice < 0.51 and self.loops:
            return (
                self._action("if " + self._pipeline())
                + self._action(random.choice(("break", "continue")))
                + "{{ end }}"
            )
        if choice < 0.56 and self.defined:
            return self._action(
                f'template "{random.choice(self.defined)}"{random.choice(("", " .", " $", " 1", " (list)"))}'
            )
        if choice < 0.57:
            return self._mistake()
        return self._block(depth)

    def _mistake(self) -> str:
        mistakes = (
            "end",
            "else",
            "break",
            "if",
            "range",
            "$nope",
            ".Nope",
            "nope 1",
            '"a" | "b"',
            "end if",
            'template "nope"',
        )
        return self._action(self.random.choice(mistakes)) if self.random.random() < self.wild * 10 else ""

    def _declaration(self) -> str:
        names = self._variables()
        if names and self.random.random() < 0.5:
            return self._action(f"${self.random.choice(names)} = {self._pipeline()}")
        command = self._pipeline()
        name = self.random.choice(_NAMES)
        self.scopes[-1].append(name)
        return self._action(f"${name} := {command}")

    def _block(self, depth: int) -> str:
        outer = self.inner
        kind = self.random.choice(("if", "if", "if", "if", "with", "range", "range"))
        self.scopes.append([])
        made = self._range(depth) if kind == "range" else self._condition(kind, depth)
        self.inner = outer
        if self.random.random() < 0.4:
            made += self._action("else") + self._inside(depth)
        self.scopes.pop()
        return made + self._action("end")

    def _inside(self, depth: int) -> str:
        self.scopes.append([])
        made = self.body(depth + 1)
        self.scopes.pop()
        return made

    def _condition(self, kind: str, depth: int) -> str:
        command, name = self._pipeline(), self.random.choice(_NAMES)
        declared = self.random.random() < 0.2
        opening = self._action(f"{kind} ${name} := {command}" if declared else f"{kind} {command}")
        if declared:
            self.scopes[-1].append(name)
        outer, self.inner = self.inner, self.inner or kind == "with"
        made = opening + self._inside(depth)
        self.inner = outer
        while self.random.random() < 0.2:
            self.inner = outer
            made += self._action(f"else {kind} {self._pipeline()}")
            self.inner = outer or kind == "with"
            made += self._inside(depth)
        return made

    def _range(self, depth: int) -> str:
        source = self.random.choice(_SOURCES)
        names = self.random.choice(((), (), ("e",), ("i", "e"), ("k", "v")))
        declared = ", ".join(f"${name}" for name in names) + " := " if names else ""
        opening = self._action(f"range {declared}{source}")
        self.scopes[-1].extend(names)
        self.inner = True
        self.loops += 1
        made = opening + self._inside(depth)
        self.loops -= 1
        return made
