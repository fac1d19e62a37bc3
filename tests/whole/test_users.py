"""A server of this machine lets its own user in, and nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rain.client import Client
from rain.daemon.user_key import user_key
from tests.whole.daemons import daemon

_OTHER = """
import os, sys
import encodings.idna
from rain.client import Client
from rain.client.connection import ConnectionException
try:
    Client("localhost", 1)  # loads all that it needs, while the files of Rain can be read
except ConnectionException:
    pass
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.environ["XDG_STATE_HOME"] = sys.argv[2]
try:
    Client("localhost", sys.argv[1])
except ConnectionException as error:
    print(error)
"""


def test_the_same_user_gets_in_unasked_and_another_one_is_told_what_to_do(tmp_path: Path) -> None:
    # Another user has another key; who may become nobody is one for real.
    other = Path("/tmp") / f"rain-test-{os.getpid()}"
    other.mkdir()
    other.chmod(0o777)
    try:
        options = ("--listen", "127.0.0.1:0", "--no-http")
        with daemon(tmp_path, "server", "server", *options) as serving:
            with Client("localhost", serving.port) as client:
                assert client.get_server_info() == {"governors": []}
            finished = subprocess.run(
                [sys.executable, "-c", _OTHER, str(serving.port), str(other)],
                capture_output=True,
                text=True,
                check=True,
            )
            assert "ask its owner to start it with --secret-file" in finished.stdout
            assert len(finished.stdout.splitlines()) == 1
            assert user_key()[0].key.decode() not in serving.errors.read_text()
    finally:
        subprocess.run(["rm", "-rf", str(other)], check=True)
