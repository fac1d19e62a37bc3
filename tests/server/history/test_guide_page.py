"""The queries of the guide's page on events work."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from rain.server.history.query import parse
from rain.server.history.store import FILE, open_store
from tests.support.events import listen
from tests.support.world import new_world

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "events.md"


def _blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_json_queries_are_understood() -> None:
    queries = [parse(block.encode()) for block in _blocks("json")]

    assert len(queries) == 2
    assert len(queries[0].event_types) == 2


def test_the_sql_queries_answer_their_questions(tmp_path: Path) -> None:
    world = new_world()
    happenings = listen(world)
    governor, client = world.governor(cpus=4), world.client()
    good, bad = client.session(), client.session()
    tasks = [good.task()[0], good.task()[0]]
    client.submit(good)
    failing, _ = bad.task()
    client.submit(bad)
    governor.finish(*tasks)
    governor.fail(failing, "it broke")
    client.close(good.session)
    with closing(open_store(tmp_path / FILE)) as store:
        store.write(1000.0, happenings.take().happenings, 0)

    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        durations, failures = [database.execute(block).fetchall() for block in _blocks("sql")]

    assert [row[:2] for row in durations] == [("work", 3)]
    assert [(row[0], row[2]) for row in failures] == [(2, "it broke")]


def test_the_page_names_every_event_type() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))

    assert named == {
        "GovernorNew",
        "GovernorRemoved",
        "GovernorRests",
        "GovernorDrains",
        "Monitoring",
        "ClientNew",
        "SchedulerFailed",
        "ClientRemoved",
        "ClientInvalidRequest",
        "SessionNew",
        "SessionClosed",
        "ClientSubmit",
        "ClientUnkeep",
        "TaskStarted",
        "TaskFinished",
        "TaskRunFailed",
        "TaskSecondRun",
        "TaskSkipped",
        "TaskCancelled",
        "DataObjectFinished",
        "EventsLost",
    }
