"""Spec 4.9 to 4.11 and 3.3: a server seen over HTTP, and governors that forget at once."""

import json
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from rain.client import Client, RainException, blob, remote, tasks
from rain.common import ID
from tests.whole.daemons import governor, http_password, server

pytestmark = pytest.mark.whole


@frozen
class Served:
    """A server, its one governor, and a client."""

    client: Client
    url: str
    governor: str
    password: dict[str, str]

    def ask(self, path: str, body: bytes | None = None) -> urllib.request.Request:
        """A request of the user whom the server belongs to."""
        return urllib.request.Request(self.url + path, body, self.password)

    def events(self, session: int, *types: str) -> list[dict[str, Any]]:
        """The events of a session, of these types."""
        query = {
            "session": {"value": session, "mode": "="},
            "event_types": [{"value": name, "mode": "="} for name in types],
        }
        request = self.ask("/events", json.dumps(query).encode())
        with closing(urllib.request.urlopen(request)) as answer:
            assert "access-control-allow-origin" not in answer.headers
            found: list[dict[str, Any]] = json.load(answer)
        return found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with (
        server(folder) as serving,
        governor(folder, "one", serving.address, 2) as working,
        Client("127.0.0.1", str(serving.port)) as client,
    ):
        yield Served(client, f"http://{serving.http}", working.address, http_password(serving.http))


@remote()
def fail(ctx: Any) -> bytes:
    raise ValueError("in the log")


def test_the_events_of_a_session_can_be_read_while_the_server_runs(served: Served) -> None:
    with served.client.new_session("logged") as session:
        constant = blob("x")
        task = tasks.Concat([constant], name="join")
        task.output.keep()
        session.submit()
        session.wait_all()
        task.output.unkeep()
    wanted = ["SessionNew", "ClientSubmit", "TaskStarted", "TaskFinished", "SessionClosed"]

    found: list[dict[str, Any]] = []
    while len(found) < len(wanted):  # a second at most, as Rain 0.4 promises
        found = served.events(session.session_id, *wanted)

    assert [entry["event"]["type"] for entry in found] == wanted
    assert [entry["id"] for entry in found] == sorted(entry["id"] for entry in found)
    new, submitted, started, finished, closed = [entry["event"] for entry in found]
    assert new["spec"] == {"name": "logged"}
    assert submitted["tasks"][0]["name"] == "join"
    assert submitted["tasks"][0]["task_type"] == "buildin/concat"
    assert {obj["id"][1] for obj in submitted["dataobjs"]} == {constant.id.id, task.output.id.id}
    assert started["task"] == finished["task"] == list(task.id)
    assert finished["info"]["governor"] == served.governor
    assert closed["reason"] == "ClientClose"


def test_a_failed_task_is_in_the_log_with_its_error(served: Served) -> None:
    with served.client.new_session("bad") as session:
        task = fail()
        session.submit()
        with pytest.raises(RainException):
            task.wait()

    found: list[dict[str, Any]] = []
    while len(found) < 2:
        found = served.events(session.session_id, "TaskFinished", "SessionClosed")

    finished, closed = [entry["event"] for entry in found]
    assert "ValueError: in the log" in finished["info"]["error"]
    assert closed["reason"] == "Error"
    assert "ValueError: in the log" in closed["message"]


def test_the_lite_page_names_the_governors(served: Served) -> None:
    for path in ("/lite", "/lite/"):
        with closing(urllib.request.urlopen(served.ask(path))) as answer:
            assert served.governor in answer.read().decode()


def test_bad_questions_are_refused(served: Served) -> None:
    bad = served.ask("/events", b'{"id": 3}')
    for question, status in ((bad, 400), (served.ask("/nothing"), 404)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(question)
        assert caught.value.code == status
        caught.value.close()


def test_data_goes_at_once_where_nothing_lingers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAIN_DELETE_LIST_TIMEOUT", "0")
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address),
        Client("127.0.0.1", serving.port) as client,
        client.new_session("at once") as session,
    ):
        task = tasks.Concat([blob(bytes(100_000))])
        task.output.keep()
        session.submit()
        session.wait_all()
        assert task.output.id in reported(client, "objects")
        task.output.unkeep()

        while task.output.id in reported(client, "objects"):
            assert task.output.id not in reported(client, "objects_to_delete")


def reported(client: Client, which: str) -> set[ID]:
    """Ids that the governors tell under a name."""
    return {number for found in client.get_server_info()["governors"] for number in found[which]}
