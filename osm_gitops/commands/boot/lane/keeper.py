"""Keeps programs running as long as somebody holds its standard input open, then removes their folder.

A program of its own, which knows nothing but Python: however the process that started it ends, the kernel closes the
pipe that it holds, and neither the programs nor their data stay behind. A program that ends by itself takes the others
with it; the folder with the logs then stays.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path


def keep(folder: Path, commands: dict[str, list[str]]) -> int:
    """Run the commands with logs ``NAME.log``; 0 when the input ended, 1 when one of them did."""
    ended, ends = os.pipe()
    os.set_blocking(ends, False)
    signal.set_wakeup_fd(ends)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for name, command in commands.items():
            with (folder / f"{name}.log").open("wb") as log:
                running.append(subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        if ended in select.select([sys.stdin, ended], [], [])[0]:
            return 1
    finally:
        for program in running:
            program.kill()
        for program in running:
            program.wait()
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(keep(Path(sys.argv[1]), json.loads(sys.argv[2])))
