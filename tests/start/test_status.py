"""What `rain status` asks, and how it shows the answers."""

import io
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from rich.console import Console

from rain.base.errors import StartError
from rain.base.ids import ObjectId, TaskId
from rain.base.wire.answers import DataLink, DurableReport, GovernorReport
from rain.base.wire.usage import SessionUsage, UsageReport
from rain.start.choice import server_of
from rain.start.status import (
    ClusterStatus,
    GovernorLine,
    SessionLine,
    ask,
    ask_http,
    once_each,
    read_governors,
    read_sessions,
    sessions_of_user,
    with_troubles,
)
from rain.start.status_tables import print_status
from tests.start.world import World

SESSION: dict[str, Any] = {
    "session": 3,
    "name": "count [words]",
    "client": "1",
    "tasks": 10,
    "unfinished": 4,
    "objects": 12,
    "failure": "",
}
FAILED = {**SESSION, "session": 4, "failure": "Traceback\nmore\n"}


@contextmanager
def http(status: int, body: str) -> Generator[str]:
    """An HTTP server that always gives the same answer; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/status" else 404)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- its name
            del format, args

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def shown(status: ClusterStatus) -> list[str]:
    """The lines of the tables, with their words alone."""
    console = Console(file=io.StringIO(), width=120)
    print_status(status, console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    return [" ".join(line.replace("│", " ").replace("┃", " ").split()) for line in lines]


def test_governors_are_shown_by_address_with_what_they_have_and_do() -> None:
    reports = [
        GovernorReport("b:1", (TaskId(1), TaskId(2)), (ObjectId(3),), (), (("cpus", 4),)),
        GovernorReport("a:1", (), (), (), (("cpus", 8), ("gpus", 2))),
    ]

    governors = read_governors(reports)

    assert governors == (
        GovernorLine("a:1", 8, {"gpus": 2}, 0, 0),
        GovernorLine("b:1", 4, {}, 2, 1),
    )
    lines = shown(ClusterStatus("a:7210", governors, ()))
    assert lines[0] == "Server a:7210"
    assert "address cpus tasks objects gpus" in lines
    assert "a:1 8 0 0 2" in lines
    assert "b:1 4 2 1 0" in lines
    assert lines[-1] == "No sessions."


def test_the_memory_in_use_is_shown_with_the_name_that_has_most_of_it() -> None:
    memory = (("limit", 8 << 30), ("tasks", 3 << 30), ("stored", 1 << 20), ("held", 1 << 20))
    running = (("train", 2 << 30), ("load", 1 << 20))
    reports = [
        GovernorReport("a:1", (), (), (), (("cpus", 4), ("memory", 8 << 30)), memory, running),
        GovernorReport("b:1", (), (), (), (("cpus", 4), ("memory", 8 << 30)), (("tasks", 0),)),
    ]

    lines = shown(ClusterStatus("a:7210", read_governors(reports), ()))

    assert "address cpus tasks objects memory tasks have data" in lines
    assert "a:1 4 0 0 8GiB 3GiB (train) 2MiB" in lines
    assert "b:1 4 0 0 8GiB 0B 0B" in lines


def test_a_governor_that_rests_is_shown_with_the_reason() -> None:
    governors = (GovernorLine("a:1", 8, {}, 0, 0), GovernorLine("b:1", 4, {}, 2, 1))
    told = [
        {
            "governor": "b:1",
            "state": "rests",
            "rests": 7.6,
            "rests_why": "Too many open files",
            "holds_back": "",
            "away_why": "",
        },
        {
            "governor": "a:1",
            "state": "works",
            "rests": 0.0,
            "rests_why": "",
            "holds_back": "",
            "away_why": "",
        },
    ]

    lines = shown(ClusterStatus("a:7210", with_troubles(governors, {"governors": told}), ()))

    assert "b:1 gets no tasks for 8 s: Too many open files" in lines
    assert not any(line.startswith("a:1 gets") for line in lines)


def test_a_governor_that_is_away_is_shown_though_it_cannot_report() -> None:
    told = {
        "governor": "b:1",
        "resources": {"cpus": 4, "gpus": 1},
        "assigned": 3,
        "objects": 2,
        "state": "works",
        "rests": 0.0,
        "rests_why": "",
        "holds_back": "",
        "away": 12.2,
        "away_why": "the server was away",
    }

    governors = with_troubles((), {"governors": [told]})

    lines = shown(ClusterStatus("a:7210", governors, ()))
    assert "b:1 4 3 2 1" in lines
    assert "b:1 has been away for 12 s: the server was away" in lines


def test_the_time_that_governors_have_left_is_shown_if_any_must_be_gone() -> None:
    governors = (GovernorLine("a:1", 8, {}, 0, 0), GovernorLine("b:1", 4, {}, 0, 0))
    lines = shown(ClusterStatus("a:7210", governors, ()))
    assert not any("left" in line for line in lines)
    works = {"state": "works", "rests": 0.0, "rests_why": "", "away_why": ""}
    told = [{"governor": "a:1"} | works, {"governor": "b:1", "time_left": 5400.4} | works]
    known = with_troubles(governors, {"governors": told})
    lines = shown(ClusterStatus("a:7210", known, ()))
    assert "address cpus tasks objects time left" in lines
    assert {"a:1 8 0 0", "b:1 4 0 0 90 min"} <= {*lines}


def test_a_governor_that_drains_is_shown_as_such() -> None:
    told = [
        {
            "governor": "a:1",
            "state": "drains",
            "rests": 0.0,
            "rests_why": "",
            "holds_back": "",
            "away_why": "",
        }
    ]
    governors = with_troubles((GovernorLine("a:1", 8, {}, 0, 0),), {"governors": told})
    lines = shown(ClusterStatus("a:7210", governors, ()))
    assert "a:1 drains: it gets no tasks, and leaves when it can" in lines


@pytest.mark.parametrize("text", ["{}", '{"governors": [{}]}', '{"governors": 3}'])
def test_a_status_without_governors_is_told(text: str) -> None:
    with pytest.raises(StartError, match="/status cannot be parsed"):
        with_troubles((), json.loads(text))


def test_what_to_open_in_a_browser_is_shown_uncut_and_kept_out_of_json() -> None:
    url = f"http://rain:{'0' * 64}@very-long-name-of-a-machine.example.org:7222/" + "x" * 40

    status = ClusterStatus("a:7210", (), (), dashboard=url)

    assert f"Dashboard {url}" in shown(status)
    assert url not in status.as_json()


def test_sessions_are_shown_with_their_progress_and_their_failure() -> None:
    sessions = read_sessions({"sessions": [SESSION, FAILED]})

    assert sessions[0] == SessionLine(3, "count [words]", 10, 4, 12, "")
    lines = shown(ClusterStatus("a:7210", (), sessions))
    assert "No governors." in lines
    assert "3 count [words] 6 10 12 open" in lines
    assert "4 count [words] 6 10 12 failed: Traceback" in lines


def test_the_user_of_each_session_is_shown_where_there_are_users() -> None:
    sessions = read_sessions({"sessions": [SESSION, {**SESSION, "session": 4, "user": "ada"}]})
    lines = shown(ClusterStatus("a:7210", (), sessions))
    assert "3 (owner) count [words] 6 10 12 open" in lines
    assert "4 ada count [words] 6 10 12 open" in lines


def test_a_user_sees_the_sessions_of_that_user() -> None:
    mine = SessionUsage("ada", 4, "sweep", 2, 1, 3, 1.5, 9, -1.0, "all cpus are taken")
    sessions = sessions_of_user(UsageReport((), (mine,)))
    lines = shown(ClusterStatus("a:7210", (), sessions))
    assert "4 ada sweep 3 6 held up: all cpus are taken" in lines


def test_a_durable_session_is_shown_once_though_several_clients_have_opened_it() -> None:
    opened = {**SESSION, "name": "sweep", "durable": True}
    lines = read_sessions(
        {"sessions": [opened, {**SESSION, "session": 4}, {**opened, "session": 5, "held_up": "x"}]}
    )

    sessions = once_each(lines, [DurableReport("sweep", 0.0, 2, 10, 5, 1, 1000)])

    assert sessions == (
        SessionLine(3, "sweep", 10, 4, 24, "", "x", durable=True, clients=2),
        SessionLine(4, "count [words]", 10, 4, 12, ""),
    )
    kept = once_each(lines[:1], [DurableReport("sweep", 0.0, 0, 10, 10, 0, 1000)])
    assert "3 sweep 10 10 12 durable, 0 clients" in shown(ClusterStatus("a:7210", (), kept))


def test_a_session_that_was_durable_a_moment_ago_is_shown_as_it_is() -> None:
    lines = read_sessions({"sessions": [{**SESSION, "durable": True}]})

    assert once_each(lines, []) == lines


def test_why_sessions_are_not_shown_is_said() -> None:
    lines = shown(ClusterStatus("a:7210", (), None, "no HTTP"))

    assert lines[-1] == "Sessions are not shown: no HTTP."


def test_ways_that_are_closed_are_told() -> None:
    why = "b:1: no answer within 3 seconds"
    closed = GovernorLine("a:1", 8, {}, 0, 0, out_of_reach={"b:1": why})

    lines = shown(ClusterStatus("a:7210", (closed,), ()))

    assert any(f"a:1 cannot connect to b:1: {why}" in line for line in lines)


def test_links_for_which_data_was_compressed_are_told() -> None:
    slow = DataLink("b", 200 << 20, 199 << 20, 54 << 20, 11 << 20)
    fast = DataLink("c", 200 << 20, 0, 201 << 20, 900 << 20)
    line = GovernorLine("a:1", 8, {}, 0, 0, links=(slow, fast))

    lines = shown(ClusterStatus("a:7210", (line,), ()))

    told = [line for line in lines if "has sent" in line]
    assert told == ["a:1 has sent 200MiB to b as 54MiB, compressed for a link of 11MiB per second"]


def test_the_answer_as_json_holds_everything() -> None:
    status = ClusterStatus(
        "a:7210", (GovernorLine("a:1", 8, {"gpus": 2}, 0, 0),), (SessionLine(3, "x", 1, 0, 2, ""),)
    )

    assert json.loads(status.as_json()) == {
        "address": "a:7210",
        "governors": [
            {
                "address": "a:1",
                "cpus": 8,
                "other_resources": {"gpus": 2},
                "tasks": 0,
                "objects": 0,
                "state": "works",
                "rests": 0.0,
                "rests_why": "",
                "holds_back": "",
                "away": 0.0,
                "away_why": "",
                "memory": {},
                "running": {},
                "time_left": None,
                "out_of_reach": {},
                "links": [],
            }
        ],
        "sessions": [
            {
                "id": 3,
                "name": "x",
                "tasks": 1,
                "unfinished": 0,
                "objects": 2,
                "failure": "",
                "held_up": "",
                "durable": False,
                "clients": 1,
                "user": "",
            }
        ],
        "sessions_unknown": "",
        "jobs": [],
        "jobs_unknown": "",
        "scaling": {},
        "scaler_ended": False,
        "ended": {},
        "servers": {},
    }


def test_sessions_are_asked_for_over_http() -> None:
    with http(200, json.dumps({"sessions": [SESSION]})) as address:
        assert ask_http(address) == {"sessions": [SESSION]}


@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [
        (500, "{}", "answers 500"),
        (200, "<html>", "cannot be parsed"),
        (200, "[]", "cannot be parsed: it is not an object"),
    ],
)
def test_a_strange_answer_over_http_is_told(status: int, body: str, complaint: str) -> None:
    with http(status, body) as address, pytest.raises(StartError, match=complaint):
        ask_http(address)


@pytest.mark.parametrize("text", ["{}", '{"sessions": [{}]}', '{"sessions": 3}'])
def test_a_status_without_sessions_is_told(text: str) -> None:
    status: dict[str, Any] = json.loads(text)

    with pytest.raises(StartError, match="/status cannot be parsed"):
        read_sessions(status)


def test_a_server_that_cannot_be_reached_is_named() -> None:
    with http(200, "") as address:
        pass  # its port was free a moment ago, and nobody listens there now

    with pytest.raises(StartError, match=f"cannot reach the server at {address}"):
        ask(address, "")
    with pytest.raises(StartError, match=f"http://{address}/status cannot be reached"):
        ask_http(address)


def test_the_server_of_the_only_cluster_is_meant_unless_another_is_named(world: World) -> None:
    assert server_of(world.index, "") is None

    world.start(1)

    meant = server_of(world.index, "")
    assert meant is not None
    assert (meant.address, meant.http) == ("127.0.0.1:7210", "127.0.0.1:7222")
    meant = server_of(world.index, "7210")
    assert meant is not None
    assert (meant.address, meant.http) == ("127.0.0.1:7210", "127.0.0.1:7222")
    assert server_of(world.index, "node:7210") is None


def test_a_session_that_is_held_up_says_why() -> None:
    shown = Console(width=200, record=True, file=io.StringIO())
    why = "py/ 'wide' needs cpus=4, which the only governor does not have (cpus=1)"
    line = SessionLine(3, "x", 1, 1, 2, "", why)

    print_status(ClusterStatus("a:7210", (), (line,)), shown)

    assert f"held up: {why}" in shown.export_text()
