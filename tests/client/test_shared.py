"""Sessions that several share, as the client sees them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from rain.base.ids import FIRST_SHARED, SHARED_RANGE, SessionId
from rain.client import Client, Output, RainException, remote, task_session
from rain.client.client import NUMBERS_AT_MOST
from rain.client.numbers import SharedNumbers
from rain.client.rpc.common import DataObjectState
from tests.client.fake import World
from tests.support.waiting import until_now


def test_a_new_range_is_asked_for_when_one_is_used_up() -> None:
    ranges = iter([100_000, 900_000])
    numbers = SharedNumbers(lambda: next(ranges))
    given = [numbers() for _ in range(SHARED_RANGE + 2)]
    assert given[0] == 100_000
    assert given[SHARED_RANGE - 1 :] == [100_000 + SHARED_RANGE - 1, 900_000, 900_001]


@remote()
def work(ctx: Any, value: Any = None) -> Any:
    return value


def test_a_joined_session_has_numbers_of_its_own_and_is_only_left(here: World) -> None:
    with here.client.join_session(SessionId(7)) as session:
        task = work()
        task.output.keep()
        assert task.id.id >= FIRST_SHARED
        session.submit()
        kept = task.output.packed_id
    assert "close_session" not in here.server.calls
    assert [kept] in [[one for one in ids if one == kept] for ids in here.server.unkept]


def test_a_handle_of_what_others_made_is_taken_and_let_go_like_any_other(here: World) -> None:
    with here.client.join_session(SessionId(7)) as session:
        first, second = session.data_object((7, 10)), session.data_object((7, 11), keep=True)
        assert here.server.taken == [(first.packed_id, False), (second.packed_id, True)]
        id_of_first, id_of_second = first.packed_id, second.packed_id
        del first
        here.client.housekeeper.flush()
        assert [id_of_first] in here.server.unkept
    assert here.server.unkept[-1] == [id_of_second], "what was kept here is let go at the end"


def test_a_handle_outlives_a_session_that_was_only_left(here: World) -> None:
    with here.client.join_session(SessionId(7)) as session:
        found = session.data_object((7, 10))
    gone = found.packed_id
    here.server.unkept.clear()
    del found
    here.client.housekeeper.flush()
    assert here.server.unkept == [[gone]]


def test_a_client_that_joins_a_session_again_goes_on_with_the_same_numbers(here: World) -> None:
    used: list[int] = []
    for _ in range(3):
        with here.client.join_session(SessionId(7)):
            used.append(work().id.id)
    assert here.server.calls.count("join_session") == 4  # three joined, one asked for numbers
    assert len(set(used)) == 3
    assert max(used) < FIRST_SHARED + SHARED_RANGE


def test_the_latest_of_very_many_joined_sessions_are_remembered(here: World) -> None:
    def number_in(session: int) -> int:
        with here.client.join_session(SessionId(session)):
            return work().id.id

    first = [number_in(session) for session in range(7, 7 + NUMBERS_AT_MOST)]
    assert number_in(7) - first[0] == number_in(8) - first[1] < SHARED_RANGE  # both go on
    for session in range(1007, 1007 + NUMBERS_AT_MOST):
        here.client.join_session(SessionId(session)).close()
    assert number_in(7) > max(first)  # it has asked again


def test_outside_of_tasks_there_is_no_session_of_the_task() -> None:
    assert "RAIN_SERVER" not in os.environ
    with pytest.raises(RainException, match="functions that run as tasks"):
        task_session(None)


@remote(cpus=0, outputs=[Output(encode="pickle")])
def sum_of_squares(ctx: Any, numbers: list[int]) -> int:
    """Lets a task of its own square each number."""
    with task_session(ctx) as session:
        squares = [square(number) for number in numbers]
        session.keep_all()
        session.submit()
        return sum(one.output.fetch().load() for one in squares)


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def square(ctx: Any, number: int) -> int:
    return number * number


LEFT_BEHIND = """
import sys
from rain.client import Client, blob

client = Client(sys.argv[1], sys.argv[2], secret=bytes.fromhex(sys.argv[3]))
with client.join_session("shared").bind_only() as session:
    made = blob(b"x" * 100_000)
    made.keep()
    session.submit()
    print(made.id.id, flush=True)
    sys.stdin.read()
"""


@pytest.mark.whole
def test_what_a_client_has_kept_goes_when_it_is_killed() -> None:
    with Client(cpus=1) as client, client.new_session("shared") as session:
        cluster: Any = client.housekeeper.cluster
        where = [cluster.host, str(cluster.port), cluster.secret.key.hex()]
        with subprocess.Popen(
            [sys.executable, "-c", LEFT_BEHIND, *where],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as guest:
            assert guest.stdout is not None
            found = session.data_object((session.session_id, int(guest.stdout.readline())))
            copied = found.fetch().get_bytes()
            guest.kill()

        def is_removed() -> bool:
            found.update()
            return found.state is DataObjectState.removed

        assert len(copied) == 100_000
        assert until_now(is_removed)
        with pytest.raises(RainException, match="is not kept"):
            session.data_object(found.id, keep=True)


@pytest.mark.whole
def test_tasks_extend_their_session_and_other_clients_join_it() -> None:
    with Client(cpus=1) as client, client.new_session("nested") as session:
        several = [sum_of_squares([1, 2, 3]), sum_of_squares([4, 5])]
        session.keep_all()
        session.submit()
        assert [task.output.fetch().load() for task in several] == [14, 41]

        cluster: Any = client.housekeeper.cluster
        where = (cluster.host, cluster.port)
        with Client(*where, secret=cluster.secret.key) as guest:
            joined = guest.join_session("nested")
            found = joined.data_object(several[0].output.id)
            assert found.fetch().load() == 14
            with joined:
                more = square(found)
                more.output.keep()
                joined.submit()
                joined.wait([more])
        assert several[0].output.fetch().load() == 14
