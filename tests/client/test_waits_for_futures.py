"""Who waits for futures, in each way, and what callbacks and progress bars see."""

import gc
import io
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Self

import pytest
from rich.console import Console
from rich.progress import Progress

from rain.base.errors import SessionFailedError
from rain.base.failures import SessionFailure
from rain.client import Future, as_completed
from rain.client.futures import progress
from rain.client.futures.progress import show_progress
from tests.client.futures_server import Server, add, pickled, server

__all__ = ["server"]  # a fixture


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


def test_as_completed_takes_further_futures_while_it_runs_and_after_it_has_ended(
    server: Server,
) -> None:
    first, second, third = server.client.map(add, range(3))
    of_first, of_second, of_third = server.outputs()
    found = as_completed([first])
    server.news([(of_first, 0)])
    assert next(found) is first
    found.add(second)
    found.update([third, second])
    server.news([(of_third, 2)])
    assert next(found) is third
    server.news([(of_second, 1)])
    assert list(found) == [second]
    found.add(first)
    assert list(found) == [first]


def test_ctrl_c_cancels_what_as_completed_waits_for_and_leaves_what_is_done(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    futures = server.client.map(add, range(3))
    server.news([(server.outputs()[1], 1)])
    found = as_completed(futures)
    assert next(found) is futures[1]
    monkeypatch.setattr(threading.Event, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(found)
    monkeypatch.undo()
    assert [future.status for future in futures] == ["cancelled", "finished", "cancelled"]


def interrupted(*_: object) -> bool:
    raise KeyboardInterrupt


def test_gather_keeps_the_shape_of_what_it_is_given(server: Server) -> None:
    first, second = server.client.map(add, [1, 2])
    one, two = server.outputs()
    server.news([(one, 1), (two, 2)])

    given = {"a": [first, (second, 7)], "b": {first}}
    assert server.client.gather(given) == {"a": [1, (2, 7)], "b": {1}}
    assert server.client.get(first) == 1
    assert server.client.get([second, first]) == [2, 1]


def test_get_refuses_a_dictionary_of_which_it_would_give_the_keys(server: Server) -> None:
    with pytest.raises(TypeError, match=r"write client.gather\(futures\)"):
        server.client.get({"a": server.client.submit(add, 1)})  # type: ignore[arg-type] # pyright: ignore[reportArgumentType, reportCallIssue] # as somebody may


def test_gather_raises_the_first_failure_before_the_others_are_done(server: Server) -> None:
    futures = server.client.map(add, [1, 2])
    one, _ = server.outputs()
    server.news([], failed=[one])
    failure = SessionFailure(
        "oh", task=server.submission.tasks.ids[0], exception=pickled(OSError(5))
    )
    server.connection.asked_why[0][1](SessionFailedError(failure))

    with pytest.raises(OSError, match="5"):
        server.client.gather(futures)


def test_gather_can_skip_failures_or_return_them(server: Server) -> None:
    futures = server.client.map(add, [1, 2])
    one, two = server.outputs()
    server.news([(two, 2)], failed=[one])
    failure = SessionFailure(
        "oh", task=server.submission.tasks.ids[0], exception=pickled(OSError(5))
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


class Output:
    """The output of a cell, as `IPython.display.display` gives it."""

    def __init__(self) -> None:
        self.shown = ""

    def display(self, bars: Progress, *, display_id: bool) -> Self:
        assert display_id
        self.update(bars)
        return self

    def update(self, bars: Progress) -> None:
        console = Console(file=io.StringIO(), width=80)
        with console.capture() as captured:
            console.print(bars)
        self.shown = captured.get()


def test_a_notebook_shows_the_last_change_and_needs_no_widgets(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = Output()
    monkeypatch.setitem(sys.modules, "IPython.display", output)
    futures = server.client.map(add, [1, 2, 3])
    server.news([(output_id, 1) for output_id in server.outputs()])

    show_progress(futures, Console(file=io.StringIO(), force_jupyter=True, width=80))

    assert "3/3" in output.shown


def test_what_is_printed_beside_progress_goes_where_stdout_goes(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    futures = server.client.map(add, [1])
    server.news([(server.outputs()[0], 1)])
    shown, into_a_file = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", into_a_file)

    def printing(futures: Iterable[Future[int]]) -> Iterator[Future[int]]:
        print("a line")  # noqa: T201 # as a callback does
        return as_completed(futures)

    monkeypatch.setattr(progress, "as_completed", printing)

    progress.show_progress(futures, Console(file=shown, force_terminal=True, width=80))

    assert into_a_file.getvalue() == "a line\n"
    assert "a line" not in shown.getvalue()


def test_where_nobody_sees_it_progress_only_waits(server: Server) -> None:
    futures = server.client.map(add, [1])
    server.news([(server.outputs()[0], 1)])
    shown = io.StringIO()

    show_progress(futures, Console(file=shown))

    assert shown.getvalue().strip() == ""
