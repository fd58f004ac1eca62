"""Print and save reports of plans."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from osm_gitops import __version__
from osm_gitops.cli.console import console
from osm_gitops.cli.options import option
from osm_gitops.errors import Code, InputError, Problem, input_error

if TYPE_CHECKING:
    from osm_gitops.model.plan import View
    from osm_gitops.pipeline.options import Outcome

LEAST_LENGTH: Final = 2_000
"""The least length of a cut report, in bytes: head, counts and the note that it was cut have room."""


class Format(Enum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


_ENDINGS = {".txt": Format.TEXT, ".json": Format.JSON, ".md": Format.MARKDOWN, ".html": Format.HTML}

Output = Annotated[Format, option("--output,-o", "Format of the plan.")]
ReportFiles = Annotated[
    list[Path] | None,
    option(
        "--report",
        f"Also write the plan to a file; its ending selects the format ({', '.join(_ENDINGS)}). May be repeated.",
        metavar="FILE",
        show_default=False,
    ),
]
MaxLength = Annotated[
    int | None,
    option(
        "--max-length",
        "With -o markdown: cut the plan to this many bytes, between objects or lines.",
        metavar="N",
        min=LEAST_LENGTH,
        show_default=False,
    ),
]
FullReportAt = Annotated[
    str,
    option(
        "--full-report-at",
        "Where the whole plan is, for the note in a plan that was cut.",
        metavar="TEXT|URL",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """The reports of a ``command``'s plan: one on stdout, others in files. ``untrusted``: contents of files that
    contain secrets are not shown."""

    command: str = "plan"
    form: Format = Format.TEXT
    verbose: bool = False
    files: tuple[Path, ...] = ()
    max_length: int | None = None
    whole_at: str = ""
    untrusted: bool = False

    def check(self) -> None:
        """Raise InputError for invalid options, before the run starts."""
        problems = [
            Problem(
                Code.INVALID_OPTION,
                "has no ending of a known format",
                where=f"--report {path}",
                fix=f"Use one of {', '.join(_ENDINGS)}",
            )
            for path in self.files
            if path.suffix not in _ENDINGS
        ]
        if self.max_length is not None and self.form is not Format.MARKDOWN:
            problems.append(
                Problem(Code.OPTIONS_CONFLICT, "only Markdown can be cut", where="--max-length", fix="Add -o markdown")
            )
        if problems:
            raise InputError(problems)

    @property
    def views(self) -> tuple[View, ...]:
        """What the reports show of a plan."""
        from osm_gitops.model.plan import View  # noqa: PLC0415 - slow

        forms = (self.form, *(_ENDINGS[path.suffix] for path in self.files))
        every = (
            View(whole=self.verbose, together=form is not Format.JSON, hide_secret_files=self.untrusted)
            for form in forms
        )
        return tuple(dict.fromkeys(every))

    def save(self, outcome: Outcome) -> None:
        """Write the files."""
        for path in self.files:
            _write(path, self._pieces(outcome, _ENDINGS[path.suffix]))

    def show(self, outcome: Outcome) -> None:
        """Print the plan on stdout."""
        # If no cluster could be planned, there are only problems, on stderr.
        if self.form is not Format.TEXT or outcome.plan.clusters:
            for piece in self._pieces(outcome, self.form, self.max_length, color=console.colours()):
                console.out(piece)

    def _pieces(
        self, outcome: Outcome, form: Format, max_length: int | None = None, *, color: bool = False
    ) -> Iterable[str]:
        match form:
            case Format.JSON:
                from osm_gitops.report.json_report import plan_json  # noqa: PLC0415 - slow

                return plan_json(outcome.plan, whole=self.verbose, hide_secret_files=self.untrusted)
            case Format.MARKDOWN:
                from osm_gitops.report.markdown import Markdown, format_markdown  # noqa: PLC0415 - slow

                markdown = Markdown(
                    command=self.command,
                    verbose=self.verbose,
                    hide_secret_files=self.untrusted,
                    max_length=max_length,
                    whole_at=self.whole_at,
                )
                return format_markdown(outcome.plan, markdown, outcome.problems)
            case Format.HTML:
                from osm_gitops.report.html import Page, format_html  # noqa: PLC0415 - slow

                page = Page(
                    command=self.command,
                    verbose=self.verbose,
                    hide_secret_files=self.untrusted,
                    version=__version__,
                    made=f"{page_time():%Y-%m-%d %H:%M} UTC",
                )
                return format_html(outcome.plan, page, outcome.problems)
            case Format.TEXT:
                from osm_gitops.report.text import Style, format_plan  # noqa: PLC0415 - slow

                style = Style(color=color, verbose=self.verbose, hide_secret_files=self.untrusted)
                return [format_plan(outcome.plan, style)]


def page_time() -> datetime:
    """The time of a page, in UTC. ``SOURCE_DATE_EPOCH`` sets it for reproducible pages."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as fault:
        raise input_error(
            Code.INVALID_OPTION, "is not a time in seconds since 1970", where="SOURCE_DATE_EPOCH"
        ) from fault


def show_problems(outcome: Outcome) -> None:
    """Print what failed on stderr: first clusters and sources, then pools, which may have failed because of them."""
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow

    masker = Masker(value for each in outcome.plan.clusters for value in each.sensitive)
    only = outcome.plan.clusters[0].cluster if len(outcome.plan.clusters) == 1 else ""
    console.problems(outcome.problems, masker=masker, cluster=only)
    for cluster in outcome.plan.clusters:
        console.failures(cluster.cluster, cluster.failed, Masker(cluster.sensitive))
    console.problems(outcome.warnings, label="Warning", masker=masker, cluster=only)


def _write(path: Path, pieces: Iterable[str]) -> None:
    try:
        with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(pieces)
    except OSError as fault:
        raise input_error(
            Code.FILE_UNWRITABLE, f"cannot be written: {fault.strerror}", where=f"--report {path}"
        ) from fault
