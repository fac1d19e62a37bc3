"""What one task may have besides memory, with real daemons: descriptors."""

from __future__ import annotations

from pathlib import Path

import pytest

from rain.client import Client, Program
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole


def leak() -> None:
    """Opens files and closes none."""
    kept = []
    while True:
        kept.append(open("/dev/null"))  # noqa: PTH123, SIM115 # it leaks


def test_a_task_that_leaks_descriptors_is_told_the_limit_of_its_governor(tmp_path: Path) -> None:
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1, "--task-descriptors", "90"),
        Client("127.0.0.1", serving.port) as client,
    ):
        with pytest.raises(OSError, match="Too many open files") as leaked:
            client.submit(leak).result()
        told = str(leaked.value.__notes__)
        assert "may have 90 files, sockets and pipes open" in told
        assert "--task-descriptors" in told

        # A program has the same limit, and cannot raise it.
        program = Program(["sh", "-c", "ulimit -Hn"], stdout=True)
        with client.new_session("program") as session:
            task = program()
            task.keep_outputs()
            session.submit()
            session.wait_all()
            assert task.output.fetch().get_bytes() == b"90\n"
