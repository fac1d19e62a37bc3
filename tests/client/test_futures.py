"""Futures of a client: what is sent, when, and what becomes of the answers. There is no server."""

import asyncio
import gc
import io
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest
import trio
from rich.console import Console

from rain.base.errors import ConnectionLostError, RefusedError, SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.wire import Delivery, Submission, WaitAnswer
from rain.client import CancelledError, Client, Future, TaskException, as_completed
from rain.client.async_client import AsCompleted
from rain.client.futures.futures import SENT_AT
from rain.client.futures.progress import show_progress
from rain.client.futures.sender import Sender
from rain.common.content_type import encode_value
from rain.common.errors import ConnectionException, RainException
from tests.client.fake import FakeConnection
from tests.support.waiting import until_now


def add(a: int, b: int = 0) -> int:
    return a + b


class Server:
    """Answers what the futures of one client ask, when a test says so."""

    def __init__(self) -> None:
        self.connection = FakeConnection()
        self.client = Client.over(self.connection)

    @property
    def submission(self) -> Submission:
        """The last one."""
        return self.connection.submissions[-1]

    @property
    def told(self) -> int:
        return sum(len(one.tasks.ids) for one in self.connection.submissions)

    def outputs(self) -> list[ObjectId]:
        return [one for each in self.connection.submissions for one in each.tasks.outputs]

    def news(
        self, finished: Sequence[tuple[ObjectId, Any]], failed: Sequence[ObjectId] = ()
    ) -> None:
        """Answers the follower: these have finished with these values, and those have failed."""
        answer = WaitAnswer(objects=[*(one for one, _ in finished), *failed], failed=list(failed))
        answer.tasks = [TaskId(one) for one in answer.objects]  # only their number counts
        for object_id, value in finished:
            _deliver(answer.delivery, object_id, value)
        _, then = self.connection.followed.pop()
        then(answer)

    def why(self, error: Exception) -> None:
        """Answers who asks why a call has failed."""
        _, then = self.connection.asked_why.pop()
        task = self.submission.tasks.ids[0]
        then(SessionFailedError(SessionFailure("oh", task=task, exception=_pickled(error))))

    def arrived(self, value: Any) -> None:
        """Answers the submission of a call that somebody waits for."""
        (wanted, then) = self.connection.answers.pop()
        answer = WaitAnswer(objects=list(wanted))
        _deliver(answer.delivery, wanted[0], value)
        then(answer)


def _deliver(delivery: Delivery, object_id: ObjectId, value: Any) -> None:
    data = encode_value(value, "pickle")
    delivery.ids.append(object_id)
    delivery.sizes.append(len(data))
    delivery.content_types.append("")
    delivery.data.append(data)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Generator[Server]:
    """A client whose calls are sent when somebody waits, or by `map`, so that tests know when."""
    monkeypatch.setattr(Sender, "soon", Sender.sent)
    made = Server()
    try:
        yield made
    finally:
        made.connection.errors.clear()
        made.client.close()


def test_map_sends_all_calls_together_and_the_function_once(server: Server) -> None:
    futures = server.client.map(add, range(5), range(5))

    assert [len(one.tasks.ids) for one in server.connection.submissions] == [5]
    assert len(server.submission.constants.ids) == 1
    assert not any(future.done() for future in futures)


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
        "Traceback: KeyError", task=server.submission.tasks.ids[0], exception=_pickled(KeyError(7))
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


def _pickled(error: Exception) -> bytes:
    return encode_value(error, "cloudpickle")


def test_a_failure_that_is_told_twice_counts_once(server: Server) -> None:
    server.client.map(add, [1])  # so that the server is asked for news
    future = server.client.submit(add, 2)
    future.home.send(awaited=True)
    server.news([], failed=[future.handle.packed_id])
    _, then = server.connection.answers.pop()
    then(SessionFailedError(SessionFailure("oh", task=TaskId(7), exception=_pickled(OSError(1)))))
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

    with pytest.raises(CancelledError, match="was cancelled"):
        future.result()


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


def test_a_large_value_that_the_server_cannot_store_is_refused_where_it_is_put(
    server: Server,
) -> None:
    server.connection.errors["submit"] = RefusedError("no space left")
    with pytest.raises(RainException, match="no space left"):
        server.client.put(bytes(1_000_000))
    del server.connection.errors["submit"]

    (good,) = server.client.map(add, [1])

    assert len(server.submission.constants.ids) == 1, "only the function"
    assert not good.done()


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


def test_a_future_as_an_argument_is_an_input_of_the_call(server: Server) -> None:
    first = server.client.submit(add, 1)
    server.client.submit(add, first, b=first)
    server.client.map(add, [])

    one, _ = server.outputs()
    tasks = server.submission.tasks
    assert list(tasks.input_counts) == [1, 3]  # the function, and the future twice
    assert list(tasks.inputs).count(one) == 2


def test_a_large_argument_is_uploaded_once_for_equal_ones(server: Server) -> None:
    data = bytes(1_000_000)
    futures = server.client.map(add, [data, data, bytearray(data)])

    sizes = sorted(map(len, server.submission.constants.data))
    assert len(sizes) == 3  # the function, the bytes and the bytearray
    assert len(futures) == 3
    assert max(map(len, server.submission.tasks.configs)) < 1000


def run_in_asyncio(main: Callable[[], Any]) -> Any:
    return asyncio.run(main())


@pytest.mark.parametrize("run", [run_in_asyncio, trio.run], ids=["asyncio", "trio"])
def test_a_loop_goes_on_while_large_arguments_are_uploaded(run: Callable[[Any], Any]) -> None:
    server = Server()
    threads: list[int] = []
    server.connection.on_submit = lambda: threads.append(threading.get_ident())

    def answer() -> None:
        until_now(lambda: server.told == 2 and bool(server.connection.followed))
        server.news([(one, 3) for one in server.outputs()])

    async def main() -> list[Any]:
        called = server.client.submit(len, bytes(1_000_000))
        (mapped,) = server.client.map(len, [bytes(2_000_000)])
        completed = AsCompleted([called, mapped])
        answering = threading.Thread(target=answer)
        answering.start()
        return [await called, await mapped, len([one async for one in completed])]

    assert run(main) == [3, 3, 2]
    assert threading.get_ident() not in threads
    server.client.close()


def test_an_argument_of_another_cluster_is_refused_at_the_call(server: Server) -> None:
    other = Server()
    foreign = other.client.submit(add, 1)
    with pytest.raises(RainException, match="belongs to another cluster"):
        server.client.submit(add, foreign)
    other.client.close()


@pytest.mark.parametrize(
    ("args", "keywords"), [((), {}), ((1, 2, 3), {}), ((1,), {"c": 2}), ((1,), {"a": 2})]
)
def test_wrong_arguments_raise_at_the_call(
    server: Server, args: tuple[int, ...], keywords: dict[str, int]
) -> None:
    submit: Any = server.client.submit
    with pytest.raises(TypeError, match=r"add\(\)"):
        submit(add, *args, **keywords)
    assert server.told == 0


def test_what_cannot_be_called_is_refused(server: Server) -> None:
    submit: Any = server.client.submit
    with pytest.raises(TypeError, match="cannot be called"):
        submit(3)


def test_an_async_function_is_refused_by_name(server: Server) -> None:
    async def fetch() -> None:
        pass

    with pytest.raises(TypeError, match=r"fetch is an async function.*asyncio\.run"):
        server.client.submit(fetch)
    assert server.told == 0


def test_a_dropped_future_lets_its_result_go(server: Server) -> None:
    futures = server.client.map(add, [1, 2])
    one, two = server.outputs()
    del futures[0]
    gc.collect()
    server.client.housekeeper.flush()

    assert server.connection.unkept == [[one]]
    server.news([(one, 1), (two, 2)])
    assert futures[0].result() == 2


def test_callbacks_run_in_another_thread_than_the_one_that_hears_and_may_wait(
    server: Server,
) -> None:
    first, second = server.client.map(add, [1, 2])
    one, two = server.outputs()
    seen: list[int] = []
    done = threading.Event()

    def note(future: Future[int]) -> None:
        seen.append(future.result() + second.result())  # which has not come yet
        done.set()

    first.add_done_callback(note)
    server.news([(one, 1)])
    server.news([(two, 2)])
    assert done.wait(10)
    assert seen == [3]
    second.add_done_callback(lambda future: seen.append(future.result()))
    assert seen == [3, 2]  # at once, since it is done


def test_a_callback_that_fails_does_not_keep_others_from_being_called(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    (future,) = server.client.map(add, [1])
    done = threading.Event()
    future.add_done_callback(lambda _: 1 // 0)
    future.add_done_callback(lambda _: done.set())
    server.news([(server.outputs()[0], 1)])

    assert done.wait(10)
    assert "a callback of <Future 'add' finished> has failed" in caplog.text


def test_a_callback_is_called_though_nobody_holds_the_future(server: Server) -> None:
    done = threading.Event()
    server.client.map(add, [1])[0].add_done_callback(lambda _: done.set())
    gc.collect()
    server.news([(server.outputs()[0], 1)])
    assert done.wait(10)


def test_wait_gives_what_is_done_and_the_others_in_their_order(server: Server) -> None:
    futures = server.client.map(add, range(4))
    outputs = server.outputs()
    server.news([(outputs[2], 2), (outputs[0], 0)])

    done, others = server.client.wait(futures, num_returns=2)
    assert done == [futures[0], futures[2]]
    assert others == [futures[1], futures[3]]
    assert server.client.wait(futures, timeout=0) == (done, others)
    with pytest.raises(ValueError, match="num_returns is 5"):
        server.client.wait(futures, num_returns=5)


def test_as_completed_gives_each_future_once_as_it_gets_done(server: Server) -> None:
    futures = server.client.map(add, range(3))
    outputs = server.outputs()
    server.news([(outputs[1], 1)])
    found = as_completed(futures)
    assert next(found) is futures[1]
    server.news([(outputs[2], 2), (outputs[0], 0)])
    assert set(found) == {futures[0], futures[2]}


def test_gather_keeps_the_shape_of_what_it_is_given(server: Server) -> None:
    first, second = server.client.map(add, [1, 2])
    one, two = server.outputs()
    server.news([(one, 1), (two, 2)])

    given = {"a": [first, (second, 7)], "b": {first}}
    assert server.client.gather(given) == {"a": [1, (2, 7)], "b": {1}}
    assert server.client.get(first) == 1
    assert server.client.get([second, first]) == [2, 1]


def test_gather_raises_the_first_failure_before_the_others_are_done(server: Server) -> None:
    futures = server.client.map(add, [1, 2])
    one, _ = server.outputs()
    server.news([], failed=[one])
    failure = SessionFailure(
        "oh", task=server.submission.tasks.ids[0], exception=_pickled(OSError(5))
    )
    server.connection.asked_why[0][1](SessionFailedError(failure))

    with pytest.raises(OSError, match="5"):
        server.client.gather(futures)


def test_gather_can_skip_failures_or_return_them(server: Server) -> None:
    futures = server.client.map(add, [1, 2])
    one, two = server.outputs()
    server.news([(two, 2)], failed=[one])
    failure = SessionFailure(
        "oh", task=server.submission.tasks.ids[0], exception=_pickled(OSError(5))
    )
    server.connection.asked_why[0][1](SessionFailedError(failure))

    assert server.client.gather(futures, errors="skip") == [2]
    error, value = server.client.gather(futures, errors="return")
    assert isinstance(error, OSError)
    assert value == 2
    with pytest.raises(ValueError, match="errors is 'ignore'"):
        server.client.gather(futures, errors="ignore")


def test_a_bar_for_each_name_counts_what_is_done_and_what_has_failed(server: Server) -> None:
    futures = server.client.map(add, [1, 2])
    named = server.client.options(name="named").map(add, [3])
    one, two, three = server.outputs()
    server.news([(one, 1), (three, 3)], failed=[two])
    server.why(OSError(5))
    shown = io.StringIO()

    show_progress([*futures, *named], Console(file=shown, force_terminal=True, width=80))

    lines = shown.getvalue()
    assert "add (1 failed)" in lines
    assert "2/2" in lines
    assert "named" in lines
    assert "1/1" in lines


def test_where_nobody_sees_it_progress_only_waits(server: Server) -> None:
    futures = server.client.map(add, [1])
    server.news([(server.outputs()[0], 1)])
    shown = io.StringIO()

    show_progress(futures, Console(file=shown))

    assert shown.getvalue().strip() == ""


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
