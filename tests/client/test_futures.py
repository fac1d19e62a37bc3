"""Futures of a client: what is sent, when, and what becomes of the answers. There is no server."""

import gc
import pickle
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from rain.base.errors import ConnectionLostError, RefusedError, SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import TaskId
from rain.client import CancelledError, Client, TaskException
from rain.client.futures.sending import SENT_AT
from rain.common.errors import ConnectionException, RainException
from tests.client.fake import FakeConnection
from tests.client.futures_server import Server, add, pickled, server

__all__ = ["server"]  # a fixture


def test_map_sends_all_calls_together_and_the_function_once(server: Server) -> None:
    futures = server.client.map(add, range(5), range(5))

    assert [len(one.tasks.ids) for one in server.connection.submissions] == [5]
    assert len(server.submission.constants.ids) == 1
    assert not any(future.done() for future in futures)


def test_the_calls_of_a_map_that_fails_are_cancelled(server: Server) -> None:
    def numbers() -> Iterator[int]:
        yield from (1, 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        server.client.map(add, numbers())
    assert server.connection.cancelled == [([], server.outputs(), False)]
    assert server.told == 2


def test_a_call_is_sent_though_nobody_waits() -> None:
    server = Server()
    sent = threading.Event()
    server.connection.on_submit = sent.set
    future = server.client.submit(add, 1)

    assert sent.wait(10)
    assert server.outputs() == [future.handle.packed_id]
    server.client.close()


def test_many_calls_are_sent_before_anybody_waits(server: Server) -> None:
    futures = [server.client.submit(add, i) for i in range(SENT_AT)]

    assert server.told == SENT_AT
    assert len(futures) == SENT_AT


def test_news_bring_results_that_need_no_further_call(server: Server) -> None:
    first, second = server.client.map(add, [1, 2])
    one, two = server.outputs()

    server.news([(two, 20), (one, 10)])

    assert [first.result(), second.result()] == [10, 20]
    assert "fetch" not in server.connection.calls


def test_the_server_is_asked_for_more_news_only_while_calls_are_open(server: Server) -> None:
    futures = server.client.map(add, [1, 2])
    one, two = server.outputs()

    server.news([(one, 1)])
    assert [since for since, _ in server.connection.followed] == [1]
    server.news([(two, 2)])
    assert not server.connection.followed
    assert server.client.gather(futures) == [1, 2]

    server.client.map(add, [3])
    assert [since for since, _ in server.connection.followed] == [2]


def test_the_same_news_for_two_threads_count_once(server: Server) -> None:
    server.client.map(add, [1, 2, 3])
    one, *_ = server.outputs()
    since, then = server.connection.followed[0]
    server.connection.followed.append((since, then))  # the other thread has asked, too

    server.news([(one, 1)])
    server.connection.followed.pop()
    server.connection.followed = [(since, then)]
    server.news([(one, 1)])
    assert [since for since, _ in server.connection.followed] == [1]


def test_one_call_that_is_awaited_takes_its_wait_along(server: Server) -> None:
    future = server.client.submit(add, 1)
    answering = threading.Thread(target=lambda: _when_sent(server, lambda: server.arrived(5)))
    answering.start()

    assert future.result() == 5
    answering.join()
    assert "follow" not in server.connection.calls


def _when_sent(server: Server, then: Any) -> None:
    while not server.connection.answers:
        threading.Event().wait(0.001)
    then()


def test_a_failed_call_is_asked_why_and_raises_what_the_function_raised(server: Server) -> None:
    future, reader = server.client.map(add, [1, 2])
    one, two = server.outputs()
    server.news([], failed=[one, two])

    failure = SessionFailure(
        "Traceback: KeyError", task=server.submission.tasks.ids[0], exception=pickled(KeyError(7))
    )
    for object_id, then in server.connection.asked_why:
        assert object_id in {one, two}
        then(SessionFailedError(failure))

    for one_of_them in (future, reader):
        with pytest.raises(KeyError) as raised:
            one_of_them.result()
        assert raised.value.args == (7,)
        assert isinstance(raised.value.__cause__, TaskException)
        assert "Traceback: KeyError" in str(raised.value.__cause__)
        assert one_of_them.status == "error"


def test_a_failure_that_is_told_twice_counts_once(server: Server) -> None:
    server.client.map(add, [1])  # so that the server is asked for news
    future = server.client.submit(add, 2)
    future.home.sending.send(awaited=True)
    server.news([], failed=[future.handle.packed_id])
    _, then = server.connection.answers.pop()
    then(SessionFailedError(SessionFailure("oh", task=TaskId(7), exception=pickled(OSError(1)))))
    server.why(OSError(2))

    assert repr(future.exception()) == "OSError(1)"


def test_an_exception_that_cannot_be_read_is_told_in_words(server: Server) -> None:
    (future,) = server.client.map(add, [1])
    server.news([], failed=server.outputs())
    failure = SessionFailure("it broke", task=server.submission.tasks.ids[0], exception=b"nonsense")
    server.connection.asked_why[0][1](SessionFailedError(failure))

    with pytest.raises(TaskException, match="it broke"):
        future.result()


def test_a_cancelled_call_raises_for_who_waits_and_its_late_end_changes_nothing(
    server: Server,
) -> None:
    (future,) = server.client.map(add, [1])
    (output,) = server.outputs()

    assert future.cancel()
    assert server.connection.cancelled == [([], [output], False)]
    assert server.connection.always
    with pytest.raises(CancelledError):
        future.result()
    server.news([(output, 1)])
    assert future.status == "cancelled"
    assert not future.cancel() or future.cancelled()


def test_a_call_that_another_cancellation_took_along_is_cancelled(server: Server) -> None:
    (future,) = server.client.map(add, [1])
    server.news([], failed=server.outputs())
    failure = SessionFailure(
        "it was cancelled", task=server.submission.tasks.ids[0], cancelled=True
    )
    server.connection.asked_why[0][1](SessionFailedError(failure))

    for ask in (future.result, future.exception):
        with pytest.raises(CancelledError, match="it was cancelled"):
            ask()
    assert future.cancelled()
    assert future.status == "cancelled"


def test_a_call_whose_function_raised_a_cancellation_has_failed(server: Server) -> None:
    (future,) = server.client.map(add, [1])
    server.news([], failed=server.outputs())
    raised = pickle.dumps(CancelledError("another call was cancelled"))
    failure = SessionFailure("it raised", task=server.submission.tasks.ids[0], exception=raised)
    server.connection.asked_why[0][1](SessionFailedError(failure))

    assert isinstance(future.exception(), CancelledError)
    assert not future.cancelled()
    assert future.status == "error"


def test_a_refused_submission_fails_its_calls_and_no_others(server: Server) -> None:
    (good,) = server.client.map(add, [1])
    (bad,) = server.client.map(add, [2])
    (_, then) = server.connection.answers.pop()
    then(RefusedError("no such thing"))

    with pytest.raises(RainException, match="no such thing"):
        bad.result()
    assert not good.done()


def test_what_a_refused_submission_has_told_is_told_anew(server: Server) -> None:
    server.client.map(add, [1])
    kinds, functions = server.submission.task_kinds, server.submission.constants.ids
    (_, then) = server.connection.answers.pop()
    then(RefusedError("no space left"))

    server.client.map(add, [2])

    told = server.submission
    assert len(told.task_kinds) == len(kinds) == 1
    assert len(told.constants.ids) == len(functions) == 1
    assert told.tasks.kinds[0] == told.task_kinds[0].id
    assert told.tasks.inputs[0] == told.constants.ids[0]


def test_what_cannot_be_sent_has_failed_and_is_not_sent_again(server: Server) -> None:
    server.connection.errors["submit"] = RefusedError("too large")
    (bad,) = server.client.map(add, [1])
    del server.connection.errors["submit"]
    server.client.map(add, [2])

    with pytest.raises(RainException, match="too large"):
        bad.result()
    assert server.told == 1


def test_a_lost_connection_ends_every_wait(server: Server) -> None:
    futures = server.client.map(add, [1, 2])
    _, then = server.connection.followed.pop()
    then(ConnectionLostError("the server has gone"))

    for future in futures:
        with pytest.raises(ConnectionException, match="the server has gone"):
            future.result()


def test_a_dropped_future_lets_its_result_go(server: Server) -> None:
    futures = server.client.map(add, [1, 2])
    one, two = server.outputs()
    del futures[0]
    gc.collect()
    server.client.housekeeper.flush()

    assert server.connection.unkept == [[one]]
    server.news([(one, 1), (two, 2)])
    assert futures[0].result() == 2


def test_a_client_that_has_called_nothing_goes_with_its_last_reference() -> None:
    client = Client.over(FakeConnection())
    housekeeper = client.housekeeper
    gc.disable()
    try:
        gone = weakref.ref(client)
        del client
        assert gone() is None
    finally:
        gc.enable()
    housekeeper.join()


def test_a_client_goes_though_the_server_was_asked_for_news() -> None:
    server = Server()
    server.client.map(add, [1])
    housekeeper, gone = server.client.housekeeper, weakref.ref(server.client)
    connection = server.connection
    connection.answers.clear()  # the submission was answered
    del server
    gc.collect()

    assert gone() is None
    housekeeper.join()
    assert connection.closed
