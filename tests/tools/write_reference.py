"""Write the generated parts of the documents: ``python -m tests.tools.write_reference``, or ``make reference``.

A page has prose around blocks: ``<!-- generated: NAME -->`` … ``<!-- end -->``. What is in a block comes from the
parser of the command line, from the tables of settings, rules and messages, from the JSON schemas, and from the
mistakes that tests plant.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from pathlib import Path
from typing import Any

from osm_gitops.commands.explain_code import messages
from osm_gitops.commands.schema import SCHEMAS, Described
from osm_gitops.commands.validate.linter import all_rules
from osm_gitops.config.fleet_keys import fleet_schema
from osm_gitops.config.overlay_keys import overlay_schema
from osm_gitops.config.setting_names import DEFAULT_TEXTS, PASSED_OVER, SETTINGS, Kind
from tests.cli.running import command_group
from tests.commands.validate import test_mutations
from tests.lint.rules import boot_mistakes, mutations, test_kubelet_flags, test_settings

# Panels of options that most commands have: listed once.
SHARED_PANELS = {"What to work on", "Which clusters, where a source or the target is cluster"}
DOCS = Path(__file__).resolve().parents[2] / "docs"
_BLOCK = re.compile(r"(?<=<!-- generated: )([a-z-]+)( -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """The pages with a generated block."""
    return [path for path in sorted(DOCS.rglob("*.md")) if _BLOCK.search(path.read_text("utf-8"))]


def rewritten(text: str) -> str:
    """A page with its blocks as the code has them."""
    return _BLOCK.sub(lambda block: f"{block[1]}{block[2]}\n{BLOCKS[block[1]]().strip()}\n", text)


# --- Markdown ---


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    columns = [*head]
    lines = [columns, ["---"] * len(columns), *([*row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(text: str) -> str:
    """Prose in a cell: one line, and no border, tag or emphasis of its own."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split())).replace("<", "&lt;").replace("*", "\\*")


def _code(text: str) -> str:
    """Code in a cell; a border inside of it is escaped, as GitHub wants it."""
    return f"`{text}`".replace("|", "\\|")


def _linked(text: str) -> str:
    """Documents that a text names, as links from docs/reference."""
    return re.sub(r"\bdocs/((?:[\w-]+/)+([\w-]+)\.md)", r"[\2](../\1)", text)


# --- commands ---


def commands_of(group: Any, path: str = "") -> dict[str, Any]:
    """All commands by the words that lead to them, without groups."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        found |= commands_of(command, f"{path}{name} ") if hasattr(command, "commands") else {f"{path}{name}": command}
    return found


def options_of(command: Any) -> list[Any]:
    """Options that a command takes; hidden ones are known only to be refused."""
    return [each for each in command.params if each.param_type_name == "option" and not each.hidden]


def _panel(option: Any) -> str:
    return getattr(option, "rich_help_panel", None) or "Options"


def _is_setting(option: Any) -> bool:
    return option.opts[0].removeprefix("--") in {setting.flag for setting in SETTINGS}


def _metavar(parameter: Any) -> str:
    choices = getattr(parameter.type, "choices", None)
    if choices:
        return "|".join(str(choice.value if isinstance(choice, Enum) else choice) for choice in choices)
    return "" if getattr(parameter, "is_flag", False) else parameter.metavar or parameter.type.name.upper()


def _option_row(option: Any) -> list[str]:
    names = [*option.opts, *option.secondary_opts]
    spelled = [_code(f"{names[0]} {_metavar(option)}".strip()), *(_code(name) for name in names[1:])]
    default = option.default.value if isinstance(option.default, Enum) else option.default
    told = _linked(_cell(option.help))
    if option.secondary_opts and option.default:
        told += " On by default."
    elif isinstance(default, str | int) and not isinstance(default, bool) and default != "":
        told += f" Default: {_code(str(default))}."
    return [", ".join(spelled), told]


def _commands() -> str:
    group = command_group()
    commands = commands_of(group)
    takers: dict[str, list[str]] = {}
    shared: dict[str, dict[str, Any]] = {}
    for name, command in commands.items():
        for option in options_of(command):
            if _panel(option) in SHARED_PANELS and not _is_setting(option):
                shared.setdefault(_panel(option), {}).setdefault(option.opts[0], option)
                takers.setdefault(option.opts[0], []).append(name)
    parts = ["## Options of several commands"]
    for panel, options in shared.items():
        rows = [
            [*_option_row(option), ", ".join(f"`{name}`" for name in takers[flag])] for flag, option in options.items()
        ]
        parts += [f"### {panel}", _table(["option", "meaning", "commands"], rows)]
    everywhere = [option for option in options_of(commands["plan"]) if option.opts[0] == "--log-format"]
    rows = [_option_row(option) for option in everywhere]
    rows += [["`--help`, `-h`", "Show the help page, with examples."]]
    parts += ["### All commands", _table(["option", "meaning"], rows)]
    parts += ["### Without a command", _table(["option", "meaning"], [_option_row(each) for each in group.params])]
    for name, command in commands.items():
        parts += _command(name, command)
    return "\n\n".join(parts)


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    spelled = [_metavar(each) if each.required else f"[{_metavar(each).strip('[]')}]" for each in arguments]
    words = " ".join(["osm-gitops", name, "[OPTIONS]", *spelled])
    yield f"## {name}"
    yield f"```text\n{words}\n```"
    yield from (_linked(" ".join(paragraph.split())) for paragraph in command.help.split("\n\n"))
    if arguments:
        rows = [[_code(_metavar(each)), _linked(_cell(each.help))] for each in arguments]
        yield _table(["argument", "meaning"], rows)
    panels: dict[str, list[Any]] = {}
    for option in options_of(command):
        if option.opts[0] != "--log-format":
            panels.setdefault("settings" if _is_setting(option) else _panel(option), []).append(option)
    settings = panels.pop("settings", [])
    others = [option for panel in SHARED_PANELS & panels.keys() for option in panels.pop(panel)]
    for panel, options in panels.items():
        yield _table([panel[0].lower() + panel[1:], "meaning"], map(_option_row, options))
    also = []
    if others:
        flags = ", ".join(f"`{each.opts[0]}`" for each in sorted(others, key=command.params.index))
        also.append(f"[Options of several commands](#options-of-several-commands): {flags}.")
    if len(settings) == len(SETTINGS):
        also.append("All [settings](settings.md).")
    elif settings:
        also.append(f"Of the [settings](settings.md): {', '.join(f'`{each.opts[0]}`' for each in settings)}.")
    if also:
        yield " ".join(also)
    if command.examples:
        yield "```text\n{}\n```".format("\n".join(command.examples))


# --- settings and rules ---


def _settings() -> str:
    rows = []
    for setting in SETTINGS:
        default = DEFAULT_TEXTS.get(setting.flag) or ("false" if setting.kind is Kind.BOOLEAN else "")
        told = [setting.kind.value, _code(default) if default else "–", _cell(setting.help)]
        rows.append([f"`--{setting.flag}`", f"`{setting.key}`", *told])
    return _table(["flag", "key in a fleet file or overlay", "how it is written", "default", "meaning"], rows)


def _ignored_flags() -> str:
    return _table(["flag", "reason"], ([f"`-{flag}`", _cell(reason)] for flag, reason in PASSED_OVER.items()))


def _lint_rules() -> str:
    rows = ([f'<a id="{rule.id}"></a>`{rule.id}`', rule.severity.value, _cell(rule.meaning)] for rule in all_rules())
    return _table(["id", "severity", "what it means"], rows)


# --- JSON schemas ---


@dataclass(frozen=True, slots=True)
class _SchemaPage:
    """Tables of one schema: a section for each object in it, named by its path or definition.

    ``elsewhere`` are sections that are not written, each with what to link instead.
    """

    schema: Mapping[str, Any]
    prefix: str
    level: str
    elsewhere: Mapping[str, str]
    with_defaults: bool

    def sections(self) -> Iterator[str]:
        definitions = self.schema.get("$defs", {})
        waiting = [("", self.schema), *definitions.items()]
        while waiting:
            path, body = waiting.pop(0)
            alternatives = [body, *body.get("anyOf", [])]
            found = next((each for each in alternatives if each.get("properties")), None)
            if found is None or path in self.elsewhere:
                continue
            if path:
                yield f"{self.level} {self._title(path)}"
                if path in definitions and "description" in found:
                    yield found["description"]
            required = set(found.get("required", ()))
            rows, inside = [], []
            for key, value in found["properties"].items():
                below = f"{path}.{key}".removeprefix(".")
                inner = [(below, value), (f"{below}[]", value.get("items", {}))]
                inner += [(below, each) for each in value.get("anyOf", [])]
                inside += [(name, each) for name, each in inner if isinstance(each, dict) and each.get("properties")]
                optional = not self.with_defaults and key not in required
                row = [f"`{key}`", self._type(value, below) + (", optional" if optional else "")]
                if self.with_defaults:
                    default = value.get("default")
                    spelled = str(default).lower() if isinstance(default, bool) else default
                    row.append("required" if key in required else _code(str(spelled)) if default is not None else "")
                rows.append([*row, _cell(value.get("description", ""))])
            waiting = inside + waiting
            yield _table(["key", "value", *(["default"] if self.with_defaults else []), "meaning"], rows)

    def _title(self, path: str) -> str:
        return f"{self.prefix}{path}"

    def _link(self, path: str) -> str:
        if path in self.elsewhere:
            return self.elsewhere[path]
        anchor = re.sub(r"[^\w -]", "", self._title(path).lower()).replace(" ", "-")
        return f"[{path}](#{anchor})"

    def _type(self, value: Mapping[str, Any], path: str) -> str:
        """How a value is written, in words."""
        if "$ref" in value:
            name = value["$ref"].rpartition("/")[2]
            body = self.schema["$defs"][name]
            words = [self._type(each, name) for each in body["anyOf"]] if "anyOf" in body else [self._link(name)]
        elif "anyOf" in value:
            words = [self._type(each, path) for each in value["anyOf"]]
        elif "if" in value:
            words = [self._type(value[key], path) for key in ("else", "then")]
        elif "const" in value:
            words = [_code(str(value["const"]))]
        elif "enum" in value:
            words = [_code(str(each)) if each != "" else "empty" for each in value["enum"] if each is not None]
        else:
            kinds = value.get("type", "object" if "properties" in value else "any value")
            kinds = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"] or ["null"]
            words = [self._simple(kind, value, path) for kind in kinds]
        words = [*dict.fromkeys(words)]
        return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]

    def _simple(self, kind: str, value: Mapping[str, Any], path: str) -> str:
        if kind == "array":
            return f"list of {self._type(value['items'], f'{path}[]')}" if "items" in value else "list"
        if kind == "object" and value.get("properties"):
            return self._link(path)
        inner = value.get("additionalProperties")
        if kind == "object" and isinstance(inner, dict) and "$ref" in inner:
            return f"map of {self._type(inner, path)}"
        return {"string": "text", "boolean": "`true` or `false`", "integer": "number", "object": "map"}.get(kind, kind)


def _fleet() -> str:
    elsewhere = {"settings": "[settings](settings.md)", "defaults": "keys of [cluster](#cluster) but `name`"}
    return "\n\n".join(_SchemaPage(fleet_schema(), "", "##", elsewhere, with_defaults=True).sections())


def _overlay() -> str:
    elsewhere = {"settings": "[settings](settings.md)"}
    return "\n\n".join(_SchemaPage(overlay_schema(), "", "##", elsewhere, with_defaults=True).sections())


def _json() -> str:
    parts = []
    for what in Described:
        if what in {Described.FLEET, Described.OVERLAY}:
            continue
        schema = SCHEMAS[what]()
        parts += [f"## {what.value}", f"`osm-gitops schema {what.value}`: {schema['title']}. {schema['description']}"]
        parts += _SchemaPage(schema, f"{what.value}: ", "###", {}, with_defaults=False).sections()
    return "\n\n".join(parts)


def _messages() -> str:
    parts = []
    for (number, title), group in groupby(messages().values(), lambda each: (each.code.value[:4], each.group)):
        parts.append(f"## {number}: {title}")
        for message in group:
            fix = _linked(f"**What to do:** {message.fix}")
            parts += [f"### {message.code.value}: {message.title}", textwrap.fill(message.means, 120)]
            parts.append(textwrap.fill(fix, 120, break_long_words=False, break_on_hyphens=False))
    return "\n\n".join(parts)


def _planted() -> str:
    """How many mistakes of each kind are planted, and how many texts without any; each is a case of a test."""
    rows = [
        (kind, "1 text", len(mistakes), {each.id for each in mistakes})
        for kind, mistakes in (
            ("configuration of the kubelet", mutations.KUBELET_MUTATIONS),
            ("configuration of containerd", mutations.CONTAINERD_MUTATIONS),
            ("registries of containerd", mutations.HOSTS_MUTATIONS),
            ("units of systemd", mutations.UNIT_MUTATIONS),
            ("cloud-config", mutations.CLOUD_CONFIG_MUTATIONS),
            ("Ignition", mutations.IGNITION_MUTATIONS),
        )
    ]
    rows += [
        (
            "flow of the boot, in default profiles",
            f"6 profiles, {len(boot_mistakes.FINE)} changes",
            len(boot_mistakes.MISTAKES),
            {each.id for each in boot_mistakes.MISTAKES},
        ),
        (
            "command line of the kubelet",
            f"{len(test_kubelet_flags.SOUND)} command lines",
            len(test_kubelet_flags.MISTAKES),
            {rule for _, rule in test_kubelet_flags.MISTAKES},
        ),
        (
            "settings",
            f"{len(test_settings.SOUND)} values",
            len(test_settings.MISTAKES),
            {rule for _, _, rule in test_settings.MISTAKES},
        ),
        (
            "default profiles, end to end",
            "6 profiles",
            len(test_mutations.MISTAKES),
            {each.rule for each in test_mutations.MISTAKES},
        ),
        (
            "overlays, end to end",
            "1 overlay",
            len(test_mutations.OVERLAY_MISTAKES),
            {rule for _, _, rule, _ in test_mutations.OVERLAY_MISTAKES},
        ),
    ]
    total = ("all", "", sum(count for _, _, count, _ in rows), set[str]().union(*(ids for *_, ids in rows)))
    return _table(
        ("kind", "mistakes planted", "found", "by rules", "without a mistake", "false findings"),
        ((kind, str(count), str(count), str(len(ids)), right, "0") for kind, right, count, ids in (*rows, total)),
    )


BLOCKS: Mapping[str, Callable[[], str]] = {
    "commands": _commands,
    "settings": _settings,
    "ignored-flags": _ignored_flags,
    "fleet-file": _fleet,
    "overlay": _overlay,
    "lint-rules": _lint_rules,
    "json": _json,
    "messages": _messages,
    "planted-mistakes": _planted,
}


if __name__ == "__main__":
    for page in pages():
        page.write_text(rewritten(page.read_text("utf-8")), "utf-8")
