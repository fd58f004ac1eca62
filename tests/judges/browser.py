"""A real browser that opens our pages: Debian's Chromium, driven by its chromedriver, and axe-core, which judges them.

``python -m tests.judges.browser`` installs what is missing: the packages with apt, which takes root or a sudo that asks
for no password, and axe-core with npm, as ``tests/judges/axe/package-lock.json`` pins it.

The driver speaks the WebDriver protocol of the W3C: a JSON object by HTTP for each command.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.image.base import as_root

ROOT: Final = Path(__file__).resolve().parent.parent.parent
_LOCK: Final = Path(__file__).parent / "axe"
_AXE: Final = ROOT / ".tools" / "axe"
_PACKAGES: Final = {"chromium": "chromium", "chromedriver": "chromium-driver", "npm": "npm"}
_SECONDS: Final = 120
# Tests may run as root, where Chromium's own sandbox refuses to start; the pages are ours.
_ARGUMENTS: Final = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--force-device-scale-factor=1",
    ),
)


TAB: Final = "\ue004"
ENTER: Final = "\ue007"


class Browser:
    """One window. Raises AssertionError with the browser's message where a command fails."""

    def __init__(self, address: str, capabilities: dict[str, Any]) -> None:
        self._session = address
        answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self._session = f"{address}/session/{answer['sessionId']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._session + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def open(self, page: Path, fragment: str = "") -> None:
        self._ask("POST", "/url", {"url": page.resolve().as_uri() + fragment})

    def run(self, script: str, *arguments: Any) -> Any:
        """The result of the body of a function; one that returns a promise is waited for."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol, such as to print."""
        return self._ask("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def find(self, selector: str) -> str:
        """The one element that a CSS selector finds first."""
        found: dict[str, str] = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        return next(iter(found.values()))

    def click(self, selector: str) -> None:
        """A click as a user makes it, who scrolls there first: it fails if something covers the element."""
        self.run("document.querySelector(arguments[0])?.scrollIntoView({block: 'center'})", selector)
        self._ask("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self._ask("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys: str) -> None:
        """Press keys one after the other, where the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def log(self) -> list[str]:
        """What the page wrote to the console since the last call, and what the browser refused it."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def resize(self, width: int, height: int) -> None:
        self._ask("POST", "/window/rect", {"width": width, "height": height})

    def emulate(self, *, dark: bool = False, media: str = "screen") -> None:
        """The colours that the reader prefers, and whether the page is printed."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def scripts(self, *, on: bool) -> None:
        """Whether pages that are opened from now on may run scripts."""
        self.command("Emulation.setScriptExecutionDisabled", value=not on)

    def picture(self) -> bytes:
        """The window as PNG."""
        return b64decode(self._ask("GET", "/screenshot"))

    def printed(self) -> bytes:
        """The page as PDF, as it is printed."""
        return b64decode(self._ask("POST", "/print", {}))

    def quit(self) -> None:
        self._ask("DELETE", "")


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with a profile of its own. It reaches no network: every name is unknown to it."""
    assert shutil.which("chromedriver"), "chromedriver is missing: run `make test-all`, which installs it"
    with TemporaryDirectory() as folder:
        arguments = [*_ARGUMENTS, f"--user-data-dir={folder}", "--host-resolver-rules=MAP * ~NOTFOUND"]
        driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert driver.stdout is not None
        try:
            port = next(
                line.split("port ")[1].rstrip(".\n") for line in driver.stdout if "started successfully" in line
            )
            made = Browser(
                f"http://127.0.0.1:{port}",
                {
                    "browserName": "chrome",
                    "goog:chromeOptions": {"args": arguments},
                    "goog:loggingPrefs": {"browser": "ALL"},
                },
            )
            try:
                yield made
            finally:
                made.quit()
        finally:
            driver.terminate()
            driver.stdout.close()
            driver.wait()


def offences(window: Browser) -> list[str]:
    """What axe-core finds wrong with the page: its rules for WCAG 2.2 A and AA and its best practices."""
    window.run(_axe())
    found = window.run("return axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['target']}: {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


@cache
def _axe() -> str:
    path = _AXE / "node_modules" / "axe-core" / "axe.min.js"
    assert path.is_file(), f"{path} is missing: run `make test-all`, which fetches it"
    return path.read_text("utf-8")


def main() -> None:
    """Install what is missing."""
    missing = [package for program, package in _PACKAGES.items() if shutil.which(program) is None]
    if missing:
        apt = (*as_root(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq")
        subprocess.run([*apt, "update"], check=True)
        subprocess.run([*apt, "install", "--yes", "--no-install-recommends", *missing, "fonts-dejavu-core"], check=True)
    if not (_AXE / "package-lock.json").is_file() or not _is_current():
        shutil.rmtree(_AXE, ignore_errors=True)
        shutil.copytree(_LOCK, _AXE)
        subprocess.run(["npm", "ci", "--silent", "--ignore-scripts"], cwd=_AXE, check=True, env={**os.environ})


def _is_current() -> bool:
    fetched = (_AXE / "node_modules" / "axe-core" / "axe.min.js").is_file()
    return fetched and (_AXE / "package-lock.json").read_bytes() == (_LOCK / "package-lock.json").read_bytes()


if __name__ == "__main__":
    main()
