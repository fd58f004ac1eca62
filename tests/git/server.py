"""A git server over HTTP on this machine that wants a password, and looks at the processes while it serves."""

from __future__ import annotations

import os
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(slots=True)
class GitServer:
    """Repositories of a folder by HTTP; with a ``token`` that is the password of every user."""

    folder: Path
    token: str = ""
    address: str = ""
    users: set[str] = field(default_factory=set)
    processes: set[bytes] = field(default_factory=set)

    def accepts(self, authorization: str) -> bool:
        for user in ("x-access-token", "oauth2"):
            if authorization == f"Basic {b64encode(f'{user}:{self.token}'.encode()).decode()}":
                self.users.add(user)
                return True
        return not self.token

    def look_around(self) -> None:
        """Keep command line and environment of all processes but this one."""
        for folder in Path("/proc").glob("[0-9]*"):
            if folder.name != str(os.getpid()):
                for name in ("cmdline", "environ"):
                    try:
                        self.processes.add((folder / name).read_bytes())
                    except OSError:  # gone, or somebody else's
                        continue


@contextmanager
def serving(folder: Path, token: str = "") -> Iterator[GitServer]:
    """Serve the repositories of ``folder``; pushes are allowed to who knows the token."""
    state = GitServer(folder, token)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            state.look_around()
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            if not state.accepts(self.headers.get("Authorization", "")):
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            answer = _backend(state.folder, self, body)
            head, _, content = answer.partition(b"\r\n\r\n")
            lines = [line.split(": ", 1) for line in head.decode().split("\r\n")]
            status = next((value for name, value in lines if name == "Status"), "200")
            self.send_response(int(status[:3]))
            for name, value in lines:
                if name != "Status":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _backend(folder: Path, request: BaseHTTPRequestHandler, body: bytes) -> bytes:
    path, _, query = request.path.partition("?")
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PROJECT_ROOT": str(folder),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "REQUEST_METHOD": request.command,
        "REMOTE_USER": "someone",  # lets it push
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
    }
    done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
    return done.stdout
