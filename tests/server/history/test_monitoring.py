"""How busy the machines are, in the event log."""

from __future__ import annotations

import pytest
from attrs import evolve

from rain.base.errors import ProtocolError
from rain.base.wire.update import Monitoring, Update
from rain.server.http.status import gather_status
from tests.support.events import listen, logged
from tests.support.world import new_world

SAMPLE = Monitoring((7, 100), 30, ("lo", 'eth"0'), (1, 2**40), (3, 4), 5 << 30)


def test_a_sample_becomes_an_event_with_the_fields_of_rain() -> None:
    world = new_world()
    governor = world.governor()
    happenings = listen(world)

    governor.send(Update(monitoring=[SAMPLE]))

    (row,) = logged(happenings)
    assert (row.type, row.session) == ("Monitoring", None)
    assert row.event == {
        "type": "Monitoring",
        "governor": governor.address,
        "cpu_usage": [7, 100],
        "mem_usage": 30,
        "task_memory": 5 << 30,
        "net_stat": {"lo": [1, 3], 'eth"0': [2**40, 4]},
    }


def test_the_present_shows_how_much_memory_the_tasks_of_a_governor_have() -> None:
    world = new_world()
    governor = world.governor()
    governor.send(Update(monitoring=[SAMPLE]))
    assert governor.node.task_memory == 5 << 30


def test_the_present_shows_which_ways_a_governor_has_found_closed() -> None:
    world = new_world()
    governor = world.governor()
    closed = (("10.0.0.7:40123", "no answer within 3 seconds"),)
    governor.send(Update(monitoring=[evolve(SAMPLE, closed_ways=closed)]))
    (shown,) = gather_status(world.state, 0.0)["governors"]
    assert shown["closed_ways"] == dict(closed)
    governor.send(Update(monitoring=[SAMPLE]))
    (shown,) = gather_status(world.state, 0.0)["governors"]
    assert shown["closed_ways"] == {}


def test_without_an_event_log_a_sample_changes_nothing() -> None:
    world = new_world()
    governor = world.governor()
    assert not governor.send(Update(monitoring=[SAMPLE]))


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        (Monitoring((), 0, ("lo",), (), ()), "monitoring: the columns have different lengths"),
        (Monitoring((101,), 0, (), (), ()), "busy for more than 100 percent"),
        (Monitoring((), 200, (), (), ()), "busy for more than 100 percent"),
    ],
)
def test_a_sample_that_makes_no_sense_is_the_fault_of_its_governor(
    sample: Monitoring, text: str
) -> None:
    with pytest.raises(ProtocolError, match=text):
        Update(monitoring=[sample]).check()
