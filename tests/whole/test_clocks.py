"""Machines whose clocks are an hour apart: nothing compares the clocks of two machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, remote
from tests.whole.daemons import daemon, governor

pytestmark = pytest.mark.whole

MARGIN = timedelta(minutes=10)


def found() -> Iterator[Path]:
    for folder in Path("/usr/lib").glob("*/faketime"):
        yield folder / "libfaketime.so.1"


FAKETIME = next(found(), None)


def clock(ahead: str) -> tuple[str, ...]:
    """A program that starts another one under a clock that goes wrong."""
    # The monotonic clock is never wrong, whatever the time of the day is.
    return (
        "env",
        f"LD_PRELOAD={FAKETIME}",
        f"FAKETIME={ahead}",
        "FAKETIME_DONT_FAKE_MONOTONIC=1",
    )


def now_there(ctx: Any) -> bytes:
    return datetime.now(UTC).isoformat().encode()


NOW = {name: remote(resources={name: 1})(now_there) for name in ("ahead", "behind")}


@pytest.mark.skipif(FAKETIME is None, reason="apt install libfaketime")
def test_tasks_of_governors_whose_clocks_are_wrong_have_the_times_of_the_server(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        listen = ("--listen", "127.0.0.1:0", "--no-http", "--journal", str(tmp_path / "journal"))
        server = stack.enter_context(daemon(tmp_path, "server", "server", *listen))
        for name, ahead in (("ahead", "+3600s"), ("behind", "-3600s")):
            words = ("--resource", f"{name}=1", "--time-limit", "1800s")
            started = governor(tmp_path, name, server.address, 1, *words, on=clock(ahead))
            stack.enter_context(started)
        client = stack.enter_context(Client("127.0.0.1", server.port))
        # Data goes from one to the other and back, and every call ends.
        before = datetime.now(UTC) - MARGIN
        with client.new_session() as session:
            tasks = {name: NOW[name]() for name in NOW}
            for task in tasks.values():
                task.output.keep()
            session.submit()
            session.wait_all()
            for name, task in tasks.items():
                task.update()
                there = datetime.fromisoformat(task.output.fetch().get_bytes().decode())
                assert task.info is not None
                began = datetime.fromisoformat(task.info.start_time)
                after = datetime.now(UTC) + MARGIN
                # Its own clock is wrong, and what the server says of it is right.
                hour = timedelta(hours=1 if name == "ahead" else -1)
                assert before + hour < there < after + hour
                assert before < began < after
        governors = client.get_server_info()["governors"]
        assert len(governors) == 2
