"""Schedulers of strangers that fail in a real server: work goes on, is told about, and replays."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, Output, RainWarning, remote
from rain.server.core.messages import SchedulerFailed
from rain.server.core.reactor import TurnOutput
from rain.server.plugins import maker_of
from rain.server.recording import Recording, replay
from tests.support.waiting import until_now
from tests.whole.daemons import END_SECONDS, Daemon, governor, http_password, server

pytestmark = pytest.mark.whole

LIMIT = 0.3

PLUGIN = """
import time


class Loops:
    made = 0

    def __init__(self, good: int = 1):
        self.good = good
        self.left = good if type(self).made == 0 else 0  # runs with tasks that end
        type(self).made += 1

    def schedule(self, graph, news, plan):
        governors = list(graph.governors.values())
        for task in news.submitted if governors else ():
            if task.scheduled is None:
                plan.assign(task, governors[0])
        if news.submitted:
            self.left -= 1
            if self.left < 0:
                self.hang()

    def hang(self):
        while True:
            pass


class Swallows(Loops):
    def hang(self):
        while True:
            try:
                super().hang()
            except BaseException:
                pass


class Slow(Loops):
    def hang(self):
        time.sleep(1000.0)


class Raises(Loops):
    def hang(self):
        raise LookupError(f"no room after {self.good} runs")
"""


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def double(ctx: Any, number: int) -> int:
    return 2 * number


def doubles(client: Client, count: int) -> list[int]:
    with client.new_session("doubles") as session:
        tasks = [double(number) for number in range(count)]
        for task in tasks:
            task.output.keep()
        session.submit()
        return [task.output.fetch().load() for task in tasks]


def ask(serving: Daemon, method: str, path: str, query: object = None) -> Any:
    host, _, port = serving.http.rpartition(":")
    asked = HTTPConnection(host.rpartition("/")[2], int(port), timeout=END_SECONDS)
    try:
        asked.request(
            method, path, None if query is None else json.dumps(query), http_password(serving.http)
        )
        return json.loads(asked.getresponse().read())
    finally:
        asked.close()


def status(serving: Daemon) -> dict[str, Any]:
    told: dict[str, Any] = ask(serving, "GET", "/status")["scheduler"]
    return told


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    file = tmp_path / "strange.py"
    file.write_text(PLUGIN)
    return file


def replayed(record: Path, scheduler: str) -> Iterator[TurnOutput]:
    with record.open("rb") as file:
        yield from replay(Recording(file), maker_of(scheduler))


@pytest.mark.parametrize("name", ["Loops", "Swallows", "Slow"])
def test_a_scheduler_that_never_returns_holds_nobody_for_longer_than_its_limit(
    name: str, plugin: Path, tmp_path: Path
) -> None:
    # given: a scheduler that plans well once, and hangs for ever when new tasks come then
    record = tmp_path / "run.record"
    scheduler = f"{plugin}:{name}"
    with (
        server(
            tmp_path,
            *("--scheduler", scheduler, "--scheduler-limit", str(LIMIT)),
            *("--governor-timeout", "5", "--record", str(record)),
        ) as serving,
        governor(tmp_path, "one", serving.address, 2),
        Client("127.0.0.1", serving.port) as client,
        Client("127.0.0.1", serving.port) as other,
    ):
        assert doubles(client, 5) == [0, 2, 4, 6, 8]
        assert status(serving)["faults"] == 0
        # when
        made = doubles(client, 20)
        # then
        assert made == [2 * number for number in range(20)]
        assert doubles(other, 3) == [0, 2, 4]
        assert len(ask(serving, "GET", "/status")["governors"]) == 1
        told = status(serving)
        assert told["faults"] >= 1
        assert "it was interrupted after 0.3 seconds; rain plans" in told["last_fault"]
        serving.send(signal.SIGTERM)
        assert serving.process.wait(END_SECONDS) == 0
        assert "Traceback" not in serving.errors.read_text(encoding="utf-8")

    # and: the run is made again with the same interruptions, without any clock
    one, two = list(replayed(record, scheduler)), list(replayed(record, scheduler))
    assert [output.effects for output in one] == [output.effects for output in two]
    cut = [output for output in one if output.interrupted_after is not None]
    assert cut[0].interrupted_after == 20
    assert len(cut) == told["faults"]
    assert any(isinstance(effect, SchedulerFailed) for effect in cut[0].effects)


def test_the_option_of_a_plugin_reaches_it_and_its_error_the_event_log_and_the_program(
    plugin: Path, tmp_path: Path
) -> None:
    # given: a scheduler that raises in its third run with tasks
    scheduler = f"{plugin}:Raises"
    with (
        server(tmp_path, "--scheduler", scheduler, "--scheduler-option", "good=2") as serving,
        governor(tmp_path, "one", serving.address, 2),
        Client("127.0.0.1", serving.port) as client,
    ):
        for _ in range(2):
            assert doubles(client, 3) == [0, 2, 4]
        assert status(serving)["faults"] == 0
        # when
        assert doubles(client, 4) == [0, 2, 4, 6]
        # then
        told = status(serving)
        assert told["name"] == f"{scheduler}?good=2"
        assert told["last_fault"].startswith("it raised LookupError: no room after 2 runs (")
        assert told["rests"] == 0.0
        query = {"event_types": [{"value": "SchedulerFailed", "mode": "="}]}
        found = until_now(lambda: ask(serving, "POST", "/events", query))
        assert [one["event"] for one in found] == [
            {
                "type": "SchedulerFailed",
                "scheduler": told["name"],
                "error_msg": told["last_fault"],
            }
        ]
        with pytest.warns(RainWarning, match="has failed: it raised LookupError: no room after 2"):
            client.close()
