"""A small GitHub runner: composite actions step by step, with real bash, and the expressions that ours use."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
ACTIONS = ROOT / ".github" / "actions"
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_TOKEN = re.compile(r"\s*('[^']*'|&&|\|\||==|!=|[!()]|[A-Za-z_][\w.-]*)")
_WORDS = {"&&": " and ", "||": " or ", "!": " not ", "==": "==", "!=": "!=", "(": "(", ")": ")", "'": ""}


@dataclass(slots=True)
class Job:
    """What the steps of a job know and leave behind."""

    temp: Path
    workspace: Path
    github: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    uploads: dict[str, Path] = field(default_factory=dict)
    log: str = ""
    failed: bool = False

    @property
    def summary(self) -> str:
        return (self.temp / "summary").read_text("utf-8") if (self.temp / "summary").exists() else ""

    def run(self, action: str, **inputs: str) -> Job:
        """Run all steps of an action; inputs are named with ``_`` for ``-``."""
        definition = load(ACTIONS / action / "action.yml")
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert given.keys() <= definition["inputs"].keys()
        values = {name: given.get(name, self.text(each["default"], {})) for name, each in definition["inputs"].items()}
        for step in definition["runs"]["steps"]:
            condition = step.get("if", "${{ success() }}")
            wanted = evaluate(_EXPRESSION.fullmatch(condition.strip())[1], self._lookup(values))  # type: ignore[index]
            if not wanted or (self.failed and "cancelled()" not in condition):
                continue
            if "uses" in step:
                self._use(step, values)
            elif step.get("id") != "setup":  # installed once for all jobs
                self._run(step, values, ACTIONS / action)
        return self

    def install(self) -> None:
        """Run the step that every action begins with."""
        step = load(ACTIONS / "plan" / "action.yml")["runs"]["steps"][0]
        self._run(step, {}, ACTIONS / "plan")

    def text(self, template: str, inputs: Mapping[str, str]) -> str:
        """A text with its expressions in place."""
        return _EXPRESSION.sub(lambda found: shown(evaluate(found[1], self._lookup(inputs))), template)

    def _use(self, step: Mapping[str, Any], inputs: Mapping[str, str]) -> None:
        assert step["uses"].startswith("actions/upload-artifact@")
        self.uploads[self.text(step["with"]["name"], inputs)] = Path(self.text(step["with"]["path"], inputs))

    def _run(self, step: Mapping[str, Any], inputs: Mapping[str, str], folder: Path) -> None:
        assert step["shell"] == "bash"
        written = self.temp / "output"
        written.write_text("", "utf-8")
        given = {name: self.text(value, inputs) for name, value in step.get("env", {}).items()}
        files = {"GITHUB_OUTPUT": str(written), "GITHUB_STEP_SUMMARY": str(self.temp / "summary")}
        names = {f"GITHUB_{name.upper()}": value for name, value in self.github.items() if "." not in name}
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.workspace / self.text(step.get("working-directory", "."), inputs),
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.temp),
                "RUNNER_TEMP": str(self.temp),
                "GITHUB_ACTION_PATH": str(folder),
                **names,
                **files,
                **self.environment,
                **given,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.log += ran.stdout
        self.failed |= ran.returncode != 0
        for line in written.read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            self.outputs[f"{step['id']}.{name}"] = value

    def _lookup(self, inputs: Mapping[str, str]) -> Callable[[str], object]:
        def value(name: str) -> object:
            context, _, rest = name.partition(".")
            if context == "inputs":
                return inputs[rest]
            if context == "steps":
                return self.outputs.get(rest.replace(".outputs.", "."), "")
            assert context == "github", name
            return self.github.get(rest, "")

        return value


def load(path: Path) -> Any:
    """A workflow or an action."""
    return yaml.safe_load(path.read_text("utf-8"))


def evaluate(expression: str, lookup: Callable[[str], object]) -> object:
    """The value of an expression made of names, texts, comparisons and the status functions."""
    parts = []
    at = 0
    while expression[at:].strip():
        token = _TOKEN.match(expression, at)
        assert token, expression[at:]
        at, word = token.end(), token[1]
        if word in _WORDS or word[0] == "'":
            parts.append(_WORDS.get(word, repr(word[1:-1])))
        elif word in {"success", "cancelled"}:
            at += len("()")
            parts.append(str(word == "success"))
        else:
            parts.append(repr(lookup(word)))
    return eval("".join(parts), {"__builtins__": {}})  # of texts in this repository


def shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
