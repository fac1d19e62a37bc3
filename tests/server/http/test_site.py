"""What the server tells over HTTP."""

from __future__ import annotations

import http.client
import json
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest
import trio
from attrs import evolve

import rain
from rain.base.admission import Secret
from rain.base.ids import unpack
from rain.server.core.state import State
from rain.server.history.reader import EventReader, Pages
from rain.server.history.store import FILE, open_store
from rain.server.http.listener import MOST_CONNECTIONS
from rain.server.http.site import HttpSite
from tests.server.http.asking import Got, ask, serving, site, write_all
from tests.support.events import listen
from tests.support.world import World, new_world

SECRET = Secret.of("0123456789abcdef")


def _one(
    asked: HttpSite,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Got:
    """One request, one response."""
    got: list[Got] = []

    async def use(address: str) -> None:
        got.append(await ask(address, method, path, body, headers))

    serving(asked.answer, use)
    return got[0]


def _lived(folder: Path) -> tuple[World, EventReader, int]:
    """A world in which a session has lived and another one lives, and its log."""
    world = new_world()
    happenings = listen(world)
    governor, client = world.governor(cpus=4, gpus=2), world.client()
    draft = client.session("first <b>")
    task, _ = draft.task()
    client.submit(draft)
    governor.start(task)
    governor.finish(task)
    client.close(draft.session)
    living = client.session("second <b>")
    living.task(gpus=1)
    client.submit(living)
    with closing(open_store(folder / FILE)) as store:
        write_all(store, happenings)
    return world, EventReader(folder / FILE), task


def test_all_events_come_in_order_with_id_and_time(tmp_path: Path) -> None:
    world, events, task = _lived(tmp_path)

    got = _one(site(world.state, events), "POST", "/events", b"{}")

    assert got.status == 200
    assert got.headers["content-type"] == "application/json"
    assert "access-control-allow-origin" not in got.headers
    assert [row["id"] for row in got.json] == [*range(1, len(got.json) + 1)]
    assert [row["event"]["type"] for row in got.json] == [
        "GovernorNew",
        "ClientNew",
        "SessionNew",
        "ClientSubmit",
        "TaskStarted",
        "TaskFinished",
        "SessionClosed",
        "SessionNew",
        "ClientSubmit",
    ]
    assert set(got.json[0]) == {"id", "time", "event"}
    assert got.json[4]["event"]["task"] == [*unpack(task)]
    assert got.json[0]["time"] < got.json[5]["time"]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"id": {"value": 7, "mode": ">"}}, [8, 9]),
        ({"id": {"value": 7, "mode": "="}}, [7]),
        ({"id": {"value": 100, "mode": ">"}}, []),
        ({"session": {"value": 2, "mode": "="}}, [8, 9]),
        ({"event_types": [{"value": "SessionNew", "mode": "="}]}, [3, 8]),
        (
            {
                "event_types": [
                    {"value": "SessionNew", "mode": "="},
                    {"value": "SessionClosed", "mode": "="},
                ],
                "session": {"value": 1, "mode": "<="},
            },
            [3, 7],
        ),
    ],
)
def test_a_query_chooses_events(tmp_path: Path, query: object, ids: list[int]) -> None:
    world, events, _ = _lived(tmp_path)

    got = _one(site(world.state, events), "POST", "/events", json.dumps(query).encode())

    assert [row["id"] for row in got.json] == ids


def test_a_long_answer_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, events, _ = _lived(tmp_path)
    monkeypatch.setattr("rain.server.history.reader.PAGE_ROWS", 2)

    got = _one(site(world.state, events), "POST", "/events", b"{}")

    assert got.headers["transfer-encoding"] == "chunked"
    assert [row["id"] for row in got.json] == [*range(1, 10)]


def test_a_bad_query_is_answered_with_400_and_one_line(tmp_path: Path) -> None:
    world, events, _ = _lived(tmp_path)

    got = _one(site(world.state, events), "POST", "/events", b'{"id": {"value": 1, "mode": "~"}}')

    assert got.status == 400
    assert got.body == b"id: the mode must be one of = < > <= >=\n"


def test_without_an_event_log_its_place_says_so() -> None:
    got = _one(site(State()), "POST", "/events", b"{}")

    assert got.status == 404
    assert b"this server keeps no event log" in got.body


def test_an_event_log_that_cannot_be_read_is_an_answer_and_not_the_end(tmp_path: Path) -> None:
    got = _one(site(State(), EventReader(tmp_path / "gone.db")), "POST", "/events", b"{}")

    assert got.status == 503
    assert got.body == b"the event log cannot be read: unable to open database file\n"


def test_an_answer_that_cannot_be_finished_is_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, events, _ = _lived(tmp_path)
    monkeypatch.setattr("rain.server.history.reader.PAGE_ROWS", 2)
    read = Pages.next
    calls: list[int] = []

    def breaking(pages: Pages) -> str:
        calls.append(1)
        if len(calls) == 3:
            raise sqlite3.OperationalError("disk I/O error")
        return read(pages)

    monkeypatch.setattr(Pages, "next", breaking)
    broken_off: list[http.client.IncompleteRead] = []

    async def use(address: str) -> None:
        try:
            await ask(address, "POST", "/events", b"{}")
        except http.client.IncompleteRead as error:
            broken_off.append(error)

    serving(site(world.state, events).answer, use)
    assert len(broken_off) == 1


def test_the_status_counts_what_is_there(tmp_path: Path) -> None:
    world, _, _ = _lived(tmp_path)

    got = _one(site(world.state), "GET", "/status")

    assert got.json == {
        "version": rain.__version__,
        "time": 2000.0,
        "clients": 1,
        "tasks": 1,
        "objects": 1,
        "scheduler": {
            "name": "",
            "runs": 9,
            "seconds": 0.0,
            "faults": 0,
            "last_fault": "",
            "rests": 0.0,
        },
        "governors": [
            {
                "governor": world.governors[0].address,
                "resources": {"cpus": 4, "gpus": 2},
                "task_memory": 0,
                "assigned": 1,
                "queued": 0,
                "objects": 0,
                "heard": 2000.0 - world.governors[0].node.heard,
                "state": "works",
                "rests": 0.0,
                "rests_why": "",
                "holds_back": "",
                "closed_ways": {},
                "sent_data": 0,
                "sent_compressed": 0,
                "sent_on_links": 0,
                "away": 0.0,
                "away_why": "",
                "time_left": None,
            }
        ],
        "sessions": [
            {
                "session": 2,
                "name": "second <b>",
                "client": "1",
                "durable": False,
                "tasks": 1,
                "unfinished": 1,
                "second_runs": 0,
                "objects": 1,
                "failure": "",
                "held_up": "",
                "user": "",
            }
        ],
    }


def test_the_page_shows_governors_and_sessions_and_no_markup_of_users(tmp_path: Path) -> None:
    world, _, _ = _lived(tmp_path)
    asked = site(world.state)

    for path in ("/lite", "/lite/"):
        got = _one(asked, "GET", path)
        page = got.body.decode()
        assert got.headers["content-type"] == "text/html; charset=utf-8"
        assert f"<td>{world.governors[0].address}</td><td>4</td><td>gpus 2</td>" in page
        assert "<td>second &lt;b&gt;</td>" in page
        assert "<b>" not in page


def test_the_page_shows_why_a_session_failed() -> None:
    world = new_world()
    governor, client = world.governor(), world.client()
    draft = client.session()
    task, _ = draft.task()
    client.submit(draft)
    governor.fail(task, "division by zero")

    assert b"<td>division by zero</td>" in _one(site(world.state), "GET", "/lite/").body


def test_the_root_leads_to_the_dashboard_and_any_other_path_is_unknown() -> None:
    root, other = _one(site(State()), "GET", "/"), _one(site(State()), "GET", "/nothing?a=b")

    location = root.headers["location"]
    assert root.status == 302
    assert location.startswith("//127.0.0.1:")
    assert location.endswith("/dashboard/")
    assert other.status == 404
    assert other.body.startswith(
        b"there is nothing at this path; there are /, /dashboard/, /lite/, /status, /metrics,"
        b" /events and, as JSON, /api/"
    )
    named = other.body.decode().rstrip().partition("as JSON, ")[2].split(", ")
    assert "/api/sessions" in named
    assert not any(
        b"nothing at this path" in _one(site(State()), "GET", path).body for path in named
    )


@pytest.mark.parametrize(
    ("method", "path", "allowed"), [("GET", "/events", "POST"), ("POST", "/lite/", "GET, HEAD")]
)
def test_a_wrong_method_is_refused_with_the_right_ones(
    method: str, path: str, allowed: str
) -> None:
    got = _one(site(State()), method, path)

    assert got.status == 405
    assert got.headers["allow"] == allowed


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example:7222"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9"},
    ],
)
def test_a_page_of_another_site_gets_nothing(headers: dict[str, str]) -> None:
    for method, path in (("GET", "/status"), ("POST", "/events"), ("OPTIONS", "/events")):
        got = _one(site(new_world().state), method, path, b"{}", headers)
        assert got.status == 403
        assert not any(name.startswith("access-control") for name in got.headers)


@pytest.mark.parametrize("host", ["localhost:7222", "127.0.0.1", "[::1]:7222", "Node.Example:1"])
def test_names_and_addresses_of_this_machine_are_answered(host: str) -> None:
    asked = evolve(site(new_world().state), names=frozenset({"node.example"}))
    headers = {"host": host, "origin": f"http://{host}"}
    assert _one(asked, "GET", "/status", headers=headers).status == 200


def test_head_tells_without_a_body() -> None:
    got = _one(site(State()), "HEAD", "/lite/")

    assert got.status == 200
    assert got.body == b""


def test_reading_a_slow_log_does_not_hold_up_other_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, events, _ = _lived(tmp_path)
    asked, released = threading.Event(), threading.Event()
    read = Pages.next

    def slow(pages: Pages) -> str:
        asked.set()
        released.wait(60)
        return read(pages)

    monkeypatch.setattr(Pages, "next", slow)

    async def use(address: str) -> None:
        async with trio.open_nursery() as nursery:
            slow_answer: list[Got] = []

            async def ask_slowly() -> None:
                slow_answer.append(await ask(address, "POST", "/events", b"{}"))

            nursery.start_soon(ask_slowly)
            await trio.to_thread.run_sync(asked.wait, 20.0)
            assert (await ask(address, "GET", "/status")).status == 200
            assert not slow_answer
            released.set()
        assert len(slow_answer[0].json) == 9

    serving(site(world.state, events).answer, use)


@pytest.mark.parametrize("path", ["/status", "/events", "/lite/", "/"])
def test_with_a_secret_every_place_asks_for_the_token(path: str) -> None:
    asked = evolve(site(new_world().state, None), secret=SECRET)
    method = "POST" if path == "/events" else "GET"
    for header in ({}, {"authorization": f"Bearer {SECRET.key.decode()}"}):
        got = _one(asked, method, path, headers=header)
        assert got.status == 401
        assert got.headers["www-authenticate"].startswith('Basic realm="Rain"')
        assert "'rain token' prints it" in got.body.decode()
    right = {"authorization": f"Bearer {SECRET.http_token()}"}
    assert _one(asked, method, path, headers=right).status != 401


def test_the_start_leads_to_a_page_whose_address_has_no_password() -> None:
    """Scripts of a page may not fetch what is beside `http://name:password@host/`."""
    asked = evolve(site(new_world().state, None), secret=SECRET)
    right = {"authorization": f"Bearer {SECRET.http_token()}", "host": "localhost:7222"}

    got = _one(asked, "GET", "/", headers=right)

    assert got.status == 302
    assert got.headers["location"] == "//localhost:7222/dashboard/"


def test_connections_that_never_finish_a_request_keep_nobody_out() -> None:
    async def use(address: str) -> None:
        host, _, port = address.rpartition(":")
        async with AsyncExitStack() as stack:
            for _ in range(MOST_CONNECTIONS * 2):
                stream = await trio.open_tcp_stream(host, int(port))
                stack.push_async_callback(trio.aclose_forcefully, stream)
                await stream.send_all(b"GET /status HTTP/1.1\r\n")
            assert (await ask(address, "GET", "/status")).status == 200

    serving(site(new_world().state).answer, use)
