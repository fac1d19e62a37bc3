"""A scheduler moves calls from governor to governor all the time, and each begins once."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, Output, remote
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole

CALLS = 400

RESTLESS = """
from collections import Counter

from rain.base.states import TaskRow


class Restless:
    def __init__(self):
        self.moves = Counter()

    def schedule(self, graph, news, plan):
        places = list(graph.governors.values())
        for task in graph.tasks.values():
            if task.row in (TaskRow.READY, TaskRow.WAITING):
                plan.assign(task, places[task.order % len(places)])
            elif task.row is TaskRow.ASSIGNED and self.moves[task.id] < 5:
                self.moves[task.id] += 1
                other = places[places.index(task.scheduled) - 1]
                plan.take_back(task)
                plan.assign(task, other)
        plan.run_again()
"""


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def noted(ctx: Any, folder: str, number: int) -> int:
    """Leaves a line for each of its starts."""
    descriptor = os.open(f"{folder}/{number}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, b"begun\n")
    os.close(descriptor)
    time.sleep(0.001 * (number % 7))
    return number


def test_no_call_begins_twice_however_often_it_is_moved(tmp_path: Path) -> None:
    # given: two governors, and a scheduler that moves whatever was sent
    marks = tmp_path / "marks"
    marks.mkdir()
    plugin = tmp_path / "restless.py"
    plugin.write_text(RESTLESS, encoding="ascii")
    with (
        server(tmp_path, "--scheduler", f"{plugin}:Restless") as serving,
        governor(tmp_path, "one", serving.address),
        governor(tmp_path, "two", serving.address),
        Client("127.0.0.1", serving.port) as client,
        client.new_session("moves") as session,
    ):
        # when
        calls = [noted(str(marks), number) for number in range(CALLS)]
        session.keep_all()
        session.submit()
        session.wait_all()
        # then
        assert [call.output.fetch().load() for call in calls] == list(range(CALLS))
        session.update(calls)
        runs = [run for call in calls if call.info for run in call.info.runs]
        assert any(run.cause == "taken back" for run in runs), "calls were moved"
    starts = [len(mark.read_text(encoding="ascii").split()) for mark in marks.iterdir()]
    assert starts == [1] * CALLS
