"""Calls of local mode that are cancelled, killed or debugged, and clusters that end."""

import bdb
import os
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

from rain.base.errors import InvariantError
from rain.client import (
    CancelledError,
    Client,
    ConnectionException,
    RainException,
    TaskException,
    blob,
    tasks,
)
from rain.local.cluster import HereCluster
from rain.local.governor import Governor


def fail(value: int) -> int:
    wrong = value + 1
    raise ValueError(f"bad {wrong}")


def test_the_frames_of_the_function_are_there_for_a_debugger(client: Client) -> None:
    with pytest.raises(ValueError, match="bad 4") as caught:
        client.submit(fail, 3).result()

    innermost = list(traceback.walk_tb(caught.value.__traceback__))[-1][0]
    assert (innermost.f_code.co_name, innermost.f_locals["wrong"]) == ("fail", 4)
    assert isinstance(caught.value.__cause__, TaskException)


def test_a_debugger_that_quits_ends_the_program(client: Client) -> None:
    def quits() -> None:
        raise bdb.BdbQuit

    future = client.submit(quits)
    with pytest.raises(bdb.BdbQuit):
        future.result()
    assert client.submit(abs, -1).result() == 1


def test_ctrl_c_in_a_call_cancels_it_and_comes_out_of_the_wait(client: Client) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    future = client.submit(interrupted)
    with pytest.raises(KeyboardInterrupt):
        future.result()
    assert future.cancelled()
    assert client.submit(abs, -1).result() == 1


def test_a_forked_child_is_refused_by_name_and_the_parent_goes_on(client: Client) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, str(client.submit(abs, -1).exception()).encode())
        except ConnectionException as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as told:  # noqa: PTH123 # a descriptor
        assert told.read().endswith("was forked from: make a Client in each process")
    os.waitpid(child, 0)
    assert client.submit(abs, -1).result() == 1


def spin(started: str, ended: str) -> None:
    try:
        Path(started).mkdir()  # `touch` could be interrupted between opening a file and closing it
        while True:
            time.sleep(0.001)
    except KeyboardInterrupt:
        Path(ended).touch()
        raise


def test_another_thread_cancels_the_call_that_runs(client: Client, tmp_path: Path) -> None:
    started, ended = tmp_path / "started", tmp_path / "ended"
    future = client.submit(spin, str(started), str(ended))

    def cancel() -> None:
        while not started.exists():
            time.sleep(0.001)
        future.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(CancelledError):
        future.result()
    canceller.join()
    assert client.submit(abs, -1).result() == 1
    assert ended.exists()


def test_time_does_not_go_by_at_a_breakpoint(client: Client) -> None:
    with client.new_session("time") as session:
        sleeps = tasks.Sleep(blob("x"), 0.2)
        session.submit()
        sleeps.wait()
        sleeps.update()
    assert sleeps.info is not None
    assert sleeps.info.duration == pytest.approx(0.1)


started = threading.Event()


def stays() -> None:
    started.set()
    while True:
        time.sleep(0.001)  # an interruption comes between two lines


def test_a_cluster_that_is_closed_while_a_call_runs_is_cleaned_up_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cleaned: list[str] = []
    end = Governor.end

    def counted(governor: Governor) -> None:
        cleaned.append(threading.current_thread().name)
        end(governor)

    monkeypatch.setattr(Governor, "end", counted)
    started.clear()
    client = Client(local=True)
    future = client.submit(stays)
    future.add_done_callback(id)  # so that a thread of the cluster runs it
    assert started.wait(60)
    client.close()
    assert cleaned == [threading.current_thread().name]


def test_a_call_that_is_killed_while_its_answer_is_on_its_way_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = HereCluster.run

    def answer_late(cluster: HereCluster, runner: Any) -> Any:
        event = run(cluster, runner)
        with cluster.held():  # another thread takes turns now, and the grace of a stop is over
            cluster.clock.jump(cluster.clock.now + 60)
            cluster.settle()
        return event

    monkeypatch.setattr(HereCluster, "run", answer_late)
    started.clear()
    with Client(local=True) as client:
        future = client.submit(stays)
        future.add_done_callback(id)  # so that a thread of the cluster runs it
        assert started.wait(60)
        future.cancel()
        assert client.submit(abs, -3).result() == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_ever_when_the_thread_of_the_cluster_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(cluster: HereCluster, runner: Any) -> Any:
        raise InvariantError("broken on purpose")

    with Client(local=True) as client:
        monkeypatch.setattr(HereCluster, "run", broken)
        future = client.submit(abs, -3)
        heard = threading.Event()
        future.add_done_callback(lambda _: heard.set())
        assert heard.wait(60)
        with pytest.raises(RainException, match="the local cluster has failed"):
            client.submit(abs, -3).result()


def stop_while_traced() -> None:
    """A program of its own: if its threads hang, they cannot be ended in another way."""

    def trace(*_: object) -> None:
        """As debuggers and coverage tools do."""

    sys.settrace(trace)
    threading.settrace(trace)
    with Client(local=True) as client:
        future = client.submit(stays)
        future.add_done_callback(id)  # so that a thread of the cluster runs it
        started.wait()
        future.cancel()
        heard = threading.Event()
        client.submit(abs, -3).add_done_callback(lambda _: heard.set())
        heard.wait()
    sys.stdout.write("it went on\n")


def test_a_cancelled_call_ends_while_a_debugger_traces() -> None:
    program = f"from {__name__} import stop_while_traced as run; run()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "it went on\n", done.stderr
