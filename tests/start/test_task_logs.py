"""`rain logs`: what a task has printed, while it runs and when its session is over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import Factory, define

from rain.base.errors import RefusedError, StartError
from rain.base.ids import TaskId, pack
from rain.base.states import TaskState
from rain.base.wire.answers import TaskReport
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.requests import ReportsOf, Request, TakePrinted, WatchPrinted
from rain.client import Client
from rain.client.local import LocalCluster
from rain.start.reaching import ReachedServer
from rain.start.task_logs import follow_task, logs_in_event_log, parse_task, read_logs
from rain.tls.keys import NO_KEYS
from tests.support.pipes import named_pipe

TASK = TaskId(pack(3, 12))


def test_the_id_of_a_task_is_read_as_it_is_shown() -> None:
    assert parse_task("3/12") == TASK


@pytest.mark.parametrize("text", ["", "3", "3/", "/12", "a/b", "3/-1", "0/1", "3/12/1", "³/1"])
def test_what_is_no_id_of_a_task_is_refused_by_name(text: str) -> None:
    with pytest.raises(StartError, match="is not the id of a task: write it as 3/12"):
        parse_task(text)


@define(eq=False)
class Played:
    """A server: at each look the state of the task, and the lines since the last look."""

    looks: list[tuple[TaskState, list[PrintedLines]]]
    watched: list[Watch | None] = Factory(list)

    def ask(self, request: Request[Any]) -> Any:
        match request:
            case ReportsOf((task,), (), False):
                return [TaskReport(task, self.looks[0][0])], []
            case ReportsOf((task,), (), True):
                return [TaskReport(task, TaskState.FINISHED, logs="all of it\n")], []
            case _:
                assert request == TakePrinted(wait=False)
                return self.looks.pop(0)[1]

    def say(self, said: WatchPrinted) -> None:
        self.watched.append(said.watch)


def followed(*looks: tuple[TaskState, list[PrintedLines]]) -> list[tuple[str, bool]]:
    server = Played([*looks])
    written: list[tuple[str, bool]] = []
    follow_task(server, TASK, lambda text, errors: written.append((text, errors)), lambda _: None)
    assert server.looks == []
    assert server.watched == [Watch(tasks=frozenset([TASK]))]
    return written


def test_following_a_task_shows_its_lines_until_it_has_ended() -> None:
    assert followed(
        (TaskState.READY, []),
        (TaskState.RUNNING, [PrintedLines(TASK, text="one\n")]),
        (TaskState.RUNNING, [PrintedLines(TASK, errors=True, text=" 50%")]),
        (TaskState.FINISHED, [PrintedLines(TASK, text="end\n", left_out=7)]),
    ) == [
        ("one\n", False),
        (" 50%\n", True),
        ("[... 7 bytes are left out here ...]\n", False),
        ("end\n", False),
    ]


def test_following_a_task_that_has_ended_shows_all_of_its_lines() -> None:
    assert followed((TaskState.FAILED, [])) == [("all of it\n", False)]


def test_the_event_log_tells_the_last_output_of_a_task() -> None:
    story = [
        {"event": "TaskStarted", "info": {}},
        {"event": "TaskFinished", "info": {"logs": "first"}},
        {"event": "TaskStarted", "info": {}},
        {"event": "TaskFinished", "info": {"logs": "second"}},
    ]
    assert read_logs({"story": story}, TASK) == "second"
    assert read_logs({"story": story[:1]}, TASK) == ""
    with pytest.raises(StartError, match="the answer of the server about 3/12 cannot be parsed"):
        read_logs({"story": None}, TASK)


def test_a_session_that_is_over_on_a_server_without_http_is_refused_by_name() -> None:
    with pytest.raises(StartError, match="no such session, and without HTTP its event log"):
        logs_in_event_log(
            ReachedServer("here:1", "", NO_KEYS), TASK, RefusedError("no such session")
        )


def rain_logs(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "rain", "logs", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def talk_and_wait(pipe: str) -> None:
    print("so far")  # noqa: T201 # as users do
    with Path(pipe).open() as words:
        words.readline()
    print("trouble", file=sys.stderr)  # noqa: T201 # as users do
    print("the end")  # noqa: T201 # as users do


@pytest.mark.whole
def test_the_command_follows_a_task_and_prints_what_has_ended(tmp_path: Path) -> None:
    with named_pipe(tmp_path / "pipe") as pipe, Client(cpus=1) as client:
        cluster = client.housekeeper.cluster
        assert isinstance(cluster, LocalCluster)
        reach = (client.address, "--secret-file", str(cluster.secret_file))
        future = client.submit(talk_and_wait, pipe.path)
        client.open_futures().sending.send()
        task = future.task
        assert task is not None
        name = f"{task.session.session_id}/{task.packed_id & 0xFFFFFFFF}"
        following = rain_logs(name, *reach, "--follow")
        assert following.stdout is not None
        assert following.stdout.readline() == "so far\n"
        assert rain_logs(name, *reach).communicate() == ("so far\n", "")
        pipe.say()
        assert following.communicate() == ("the end\n", "trouble\n")
        assert following.returncode == 0
        future.result()
        whole = rain_logs(name, *reach)
        assert whole.communicate() == ("so far\nthe end\n[stderr]\ntrouble\n", "")
        unknown = rain_logs("99/1", *reach)
        _, complaint = unknown.communicate()
        assert unknown.returncode == 1
        assert complaint.startswith("rain: there is no open session 99, and without HTTP")
