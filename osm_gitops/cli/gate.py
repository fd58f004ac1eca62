"""The one error handler: it turns every outcome into an exit code and messages.

0 done; 1 failed, also for usage errors; 2 changes, only with ``--detailed-exitcode``; 130 interrupted (design.md,
"Output and exit codes").
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from osm_gitops import __version__
from osm_gitops.cli.console import console, wanted_format
from osm_gitops.errors import OsmGitopsError, UnexpectedError, shortened
from osm_gitops.report.visible import visible

if TYPE_CHECKING:
    from typer.exceptions import TyperException

DONE = 0
FAILED = 1
INTERRUPTED = 130

CommandLine: TypeAlias = Callable[[], Callable[..., Any]]
"""Returns the function that parses arguments and runs a command."""


def run(arguments: Sequence[str], command_line: CommandLine) -> int:
    """Run one command line and return its exit code."""
    if list(arguments) == ["--version"]:  # fast, because scripts call it often
        console.out(f"osm-gitops {__version__}\n")
        return DONE
    console.form = wanted_format(arguments, os.environ)
    try:
        return _run(arguments, command_line)
    except OsmGitopsError as failure:
        console.problems(failure.problems)
        return FAILED
    except KeyboardInterrupt:
        console.say("Interrupted. Each object and file is either unchanged or completely written.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has ended (`| head`). Without this Python reports it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as fault:  # a full disk or a deleted folder: not a bug
        console.fail(f"{visible(shortened(_prefix(fault)))}{fault.strerror or type(fault).__name__}")
        return FAILED
    except Exception as bug:  # noqa: BLE001 - the last line of defence: a traceback may contain secrets
        console.fail(_bug(bug))
        return FAILED


def _run(arguments: Sequence[str], command_line: CommandLine) -> int:
    import typer  # noqa: PLC0415 - slow
    from typer.exceptions import TyperException  # noqa: PLC0415

    from osm_gitops.config.go_flags import normalise_arguments  # noqa: PLC0415

    normalised = normalise_arguments(arguments)
    for note in normalised.notes:
        console.say(note)
    try:
        code = command_line()(list(normalised.args), prog_name="osm-gitops", standalone_mode=False)
    except TyperException as wrong:
        _show_usage_error(wrong)
        return FAILED
    except typer.Exit as end:
        return end.exit_code
    if code == INTERRUPTED:  # how typer reports an interrupt
        raise KeyboardInterrupt
    return code if isinstance(code, int) else DONE


def _prefix(fault: OSError) -> str:
    if isinstance(fault, FileNotFoundError) and fault.filename is None:  # only os.getcwd() fails without a name
        return "the current folder: "
    return f"{os.fsdecode(fault.filename)}: " if isinstance(fault.filename, str | bytes) else ""


def _show_usage_error(wrong: TyperException) -> None:
    message = wrong.format_message().replace(": Value error, ", ": ")
    if message.startswith("Usage: "):  # a group without arguments: its help
        console.say(message)
        return
    context = getattr(wrong, "ctx", None)
    command = context.command_path if context is not None else "osm-gitops"
    console.fail(f"{message}\nSee {command} --help.")


def _bug(bug: Exception) -> str:
    """The place of a bug, without the message of the exception, which may contain values."""
    return (
        f"this is a bug in osm-gitops {__version__}: {UnexpectedError.of(bug)}. "
        "No partial result is left. Please report it with the command line and this place."
    )
