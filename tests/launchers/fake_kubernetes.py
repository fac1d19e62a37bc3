"""A small fake of Kubernetes: its API over real HTTP, and pods that are programs of this machine.

No API server can be installed where these tests run. It knows pods and secrets of one namespace.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from attrs import Factory, define, field

ROOT = Path(__file__).parents[2]
_STATUS = {"name": "governor", "image": "rain:1", "imageID": "sha256:1", "restartCount": 0}
BASE = "/api/v1/namespaces/science"


@define
class Fake:
    """What the API server knows; pods are run below a folder, if there is one."""

    folder: Path | None = None
    refuses: str = ""
    pods: dict[str, dict[str, Any]] = Factory(dict)
    secrets: dict[str, dict[str, Any]] = Factory(dict)
    _running: dict[str, subprocess.Popen[bytes]] = Factory(dict)
    _lock: Lock = field(factory=Lock, init=False)

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self._lock:
            plain = path.partition("?")[0].removeprefix(BASE)
            if self.refuses and method == "POST":
                return 403, {"kind": "Status", "message": self.refuses, "code": 403}
            match method, plain.split("/")[1:]:
                case "POST", ["pods"]:
                    body["metadata"]["uid"] = f"uid-{len(self.pods)}"
                    body["status"] = {"phase": "Pending"}
                    self.pods[body["metadata"]["name"]] = body
                    return 201, body
                case "POST", ["secrets"]:
                    self.secrets[body["metadata"]["name"]] = body
                    self._begin(body["metadata"]["name"])
                    return 201, body
                case "GET", ["pods"]:
                    for name in self._running:
                        self._look(name)
                    items = list(self.pods.values())
                    return 200, {"kind": "PodList", "apiVersion": "v1", "items": items}
                case "DELETE", ["pods", name] if name in self.pods:
                    self._end(name)
                    self.secrets.pop(name, None)  # which it owns
                    return 200, self.pods.pop(name)
                case _:
                    return 404, {"kind": "Status", "message": f"{plain} not found", "code": 404}

    def _begin(self, name: str) -> None:
        """Does what a node does with a pod whose secret is there."""
        if self.folder is None:
            return
        place = self.folder / name
        files, programs = place / "etc", place / "bin"
        for folder in (files, programs, place / "var", place / "run"):
            folder.mkdir(parents=True)
        for key, value in self.secrets[name]["data"].items():
            (files / key).write_bytes(base64.b64decode(value))
        python = programs / "python3"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        (container,) = self.pods[name]["spec"]["containers"]
        command = container["command"]
        for path, folder in (("/etc", files), ("/var/lib", place / "var"), ("/run", place / "run")):
            command = [word.replace(f"{path}/rain", str(folder)) for word in command]
        told = {one["name"]: one["value"] for one in container.get("env", [])}
        with (place / "log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                command,
                cwd=place,
                env={
                    **os.environ,
                    **told,
                    "PATH": f"{programs}:{os.environ['PATH']}",
                    "PYTHONPATH": str(ROOT),
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _look(self, name: str) -> None:
        assert self.folder is not None
        if name not in self.pods:
            return
        status = self._running[name].poll()
        if status is None:
            ready = self.folder / name / "var" / "ready"
            state = {**_STATUS, "ready": ready.exists(), "state": {"running": {}}}
            self.pods[name]["status"] = {
                "phase": "Running",
                "podIP": "10.1.2.3",
                "containerStatuses": [state],
            }
        else:
            ended = {"exitCode": status, "reason": "Error"}
            state = {**_STATUS, "ready": False, "state": {"terminated": ended}}
            self.pods[name]["status"] = {"phase": "Failed", "containerStatuses": [state]}

    def _end(self, name: str) -> None:
        process = self._running.pop(name, None)
        if process is not None:
            process.terminate()
            process.wait()


@contextmanager
def fake_kubernetes(fake: Fake, folder: Path) -> Generator[Path]:
    """Serves it; the value for KUBECONFIG."""

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            status, told = fake.answer(self.command, self.path, body)
            text = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = _any  # noqa: N815 -- as the library calls them

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- as above
            pass  # it would write to the output of the tests

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    settings = folder / "kubeconfig"
    cluster = {"server": f"http://127.0.0.1:{server.server_port}"}
    context = {"cluster": "fake", "user": "me", "namespace": "science"}
    settings.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "fake", "cluster": cluster}],
                "users": [{"name": "me", "user": {}}],
                "contexts": [{"name": "lab", "context": context}],
                "current-context": "lab",
            }
        )
    )
    try:
        yield settings
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
