"""A governor loads nothing at its start that it does not need yet: twenty may start at once."""

import socket
import subprocess
import sys
from pathlib import Path

SELDOM = {
    "cbor2",  # executors of other languages
    "cloudpickle",
    "decimal",  # sizes that people have written
    "h11",  # the server's HTTP
    "numpy",  # schedulers
    "pygments",
    "rain.governor.programs.builtin_files",  # tasks that run inside the governor
    "rain.governor.programs.run",
    "rain.governor.executors.cbor_link",
    "rain.scheduler.api",
    "rain.server",
    "rich.console",  # tracebacks for people, and tables
    "tomllib",  # a configuration
    "sysconfig",  # an environment of tasks
}

MODULES_AT_MOST = 630
"""There are 622 today, with those of Python itself, whose versions differ."""


def test_a_governor_loads_only_what_it_needs_to_begin(tmp_path: Path) -> None:
    # given: an address where nobody listens, so that the governor ends after all is loaded
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        # when
        command = [sys.executable, "-X", "importtime", "-m", "rain", "governor"]
        ended = subprocess.run(
            [*command, f"127.0.0.1:{port}", "--logdir", str(tmp_path)],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
    # then
    assert "cannot reach the server" in ended.stderr
    lines = [line for line in ended.stderr.splitlines() if line.startswith("import time:")]
    loaded = {line.rpartition("|")[2].strip() for line in lines}
    assert {"rain.governor.main", "rain.rpc.governor_endpoint"} <= loaded
    assert loaded & SELDOM == set()
    print(f"{len(loaded)} modules")  # noqa: T201 # -rP shows it
    assert len(loaded) <= MODULES_AT_MOST
