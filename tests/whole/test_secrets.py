"""A secret is in the files that were made for it, and nowhere else that others may see."""

from __future__ import annotations

import os
import urllib.request
from pathlib import Path

import pytest

from rain.client import Client, get_client
from rain.common.secret_file import make_secret_file
from tests.support.leaks import Footprint
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole


def fails(number: int) -> None:
    raise ValueError(number)


def surroundings_of_tasks(count: int) -> list[str]:
    """What tasks of a task, which are clients of the cluster, see of themselves."""
    said = [*os.environ.values()]
    if count:
        said += get_client().submit(surroundings_of_tasks, count - 1).result()
    return said


def test_a_secret_is_in_no_command_line_environment_log_event_answer_or_journal(
    tmp_path: Path,
) -> None:
    # given: a cluster at work, in which something goes wrong
    secret = make_secret_file(tmp_path / "secret")
    word, token = secret.key, secret.http_token().encode()
    given = ("--secret-file", str(tmp_path / "secret"))
    with (
        server(tmp_path, *given, "--journal", str(tmp_path / "journal")) as serving,
        governor(tmp_path, "one", serving.address, 2, *given),
        Client("127.0.0.1", serving.port, secret_file=tmp_path / "secret") as client,
    ):
        seen = client.submit(surroundings_of_tasks, 1).result()
        error = client.submit(fails, 7).exception()
        asked = urllib.request.Request(
            f"http://{serving.http}/status",
            headers={"authorization": f"Bearer {secret.http_token()}"},
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            said: list[bytes] = [answer.read(), repr(error).encode(), *map(str.encode, seen)]
        processes = Footprint.now().processes
        assert len(processes) >= 3
        for pid in processes:
            said += [Path(f"/proc/{pid}/{what}").read_bytes() for what in ("cmdline", "environ")]
    # then
    for one in said:
        assert word not in one
        assert token not in one
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if word in path.read_bytes()] == [tmp_path / "secret"]
    # The URL of the dashboard has the password in it, in the log that its owner alone can read.
    for path in files:
        if token in path.read_bytes():
            assert path.name in {"server.err", "server.log"}
            assert not path.stat().st_mode & 0o077 or path.name == "server.err"
