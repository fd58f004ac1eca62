"""Help pages of commands, and checks that the options of all commands share.

The page of a command is the docstring of its module, or of its function in a group such as ``osp``: paragraphs, then a
line ``Examples:`` and indented command lines, each with an optional ``# remark``. A test parses the examples.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from osm_gitops.cli.console import VARIABLE, LogFormat

_EXAMPLES = "Examples:"
_VARIABLES = (
    "Every option can also be given as a variable: OSM_GITOPS_ and its name in capitals, {variable} for {flag}. "
    "A flag wins over a variable, that over the fleet file, that over the default."
)


_LogFormat = Annotated[
    LogFormat,
    typer.Option(
        "--log-format", help="Format of stderr; json writes one object per line.", envvar=VARIABLE, case_sensitive=False
    ),
]


class HelpfulCommand(TyperCommand):
    """A command whose help page reads well on a plain terminal, and that drops no value of an option."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        for option in self.params:
            option.show_envvar = False  # type: ignore[attr-defined] # the epilog describes all variables
        self.help, self.examples = _split(self.help)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments, and refuse repeated options."""
        _refuse_repeats(self, ctx, args)
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Examples first, then the options by panel, as they come."""
        _write_examples(self.examples, formatter)
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None:
                own = "Arguments" if option.param_type_name == "argument" else "Options"
                panels.setdefault(getattr(option, "rich_help_panel", None) or own, []).append(record)
        for panel, records in panels.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Describe environment variables, with an option of this command as the example."""
        super().format_epilog(ctx, formatter)
        flags = [(option.opts[0], option.envvar) for option in self.params if option.envvar]
        if flags:
            # A flag of several words shows the rule best.
            flag, variable = next((pair for pair in flags if "-" in pair[0][2:]), flags[0])
            with formatter.section("Environment"):
                formatter.write_text(_VARIABLES.format(variable=variable, flag=flag))


class HelpfulGroup(TyperGroup):
    """A group of commands with examples on its page."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.help, self.examples = _split(self.help)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments, and refuse repeated options."""
        _refuse_repeats(self, ctx, args)
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Examples, commands, options."""
        _write_examples(self.examples, formatter)
        super().format_options(ctx, formatter)


class CommandLine(typer.Typer):
    """A typer whose commands and groups have these help pages, and whose commands have the option ``--log-format``."""

    def __init__(self, *, cls: type[HelpfulGroup] = HelpfulGroup, **more: Any) -> None:
        super().__init__(cls=cls, **more)

    def command(self, name: str | None = None, **more: Any) -> Callable[..., Any]:
        """Like typer's method, with :class:`HelpfulCommand`."""
        register = super().command(name, cls=HelpfulCommand, **more)
        return lambda command: register(_with_log_format(command))


def _with_log_format(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option for help and parsing; its value is ignored, because ``wanted_format`` has read it before."""

    @functools.wraps(command)
    def called(**given: Any) -> Any:
        del given["log_format"]
        return command(**given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = inspect.Parameter("log_format", keyword, annotation=_LogFormat, default=LogFormat.TEXT)
    signature = inspect.signature(command, eval_str=True)
    parameters = [*(each.replace(kind=keyword) for each in signature.parameters.values()), own]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # see options.py
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def _refuse_repeats(command: Any, ctx: Any, args: list[str]) -> None:
    """Refuse options with one value that are given more than once, of which the parser would take the last. A flag may
    be repeated, but not together with its negation."""
    if ctx.resilient_parsing:
        return
    _, _, given = command.make_parser(ctx).parse_args(args=list(args))
    times = Counter(each for each in given if each.param_type_name == "option" and not each.multiple)
    repeated = [option for option, number in times.items() if number > 1]
    values = [option.opts[0] for option in repeated if not getattr(option, "is_flag", False)]
    if len(values) == 1:
        ctx.fail(f"{values[0]} is given more than once, but has one value. Give it once.")
    if values:
        names = f"{', '.join(values[:-1])} and {values[-1]}"
        ctx.fail(f"{names} are given more than once, but have one value each. Give each once.")
    for flag in repeated:
        if {*flag.opts} & {*args} and {*flag.secondary_opts} & {*args}:
            ctx.fail(f"{flag.opts[0]} and {flag.secondary_opts[0]} are both given. Give one of them.")


def _split(page: str | None) -> tuple[str, list[str]]:
    prose, _, examples = inspect.cleandoc(page or "").partition(f"\n{_EXAMPLES}\n")
    return prose.strip(), inspect.cleandoc(examples).splitlines() if examples else []


def _write_examples(examples: list[str], formatter: Any) -> None:
    if examples:
        with formatter.section(_EXAMPLES.removesuffix(":")):
            # Never wrapped: lines to copy.
            formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in examples))
