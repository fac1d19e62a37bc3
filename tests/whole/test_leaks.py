"""What looks for leaks after each test finds them: here are some of each kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rain.client import Client
from tests.support.leaks import Footprint, left_since, none_left

pytestmark = pytest.mark.whole

# Starts a process in a session of its own, and ends: nobody is its parent any more.
ORPHAN = """
import subprocess
process = subprocess.Popen(
    ["sleep", "1000"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
print(process.pid, flush=True)
process.returncode = 0  # nobody waits for it
"""


@contextmanager
def found(what: str) -> Generator[None]:
    """What is made in this block, and lives at its end, is found as a leak with these words."""
    before = Footprint.now()
    yield
    (left,) = left_since(before, patience=0.5)
    assert what in left


def test_a_process_that_has_no_parent_any_more_is_a_leak() -> None:
    with found("sleep 1000"):
        done = subprocess.run([sys.executable, "-c", ORPHAN], check=True, stdout=subprocess.PIPE)
    os.kill(int(done.stdout), signal.SIGKILL)


def test_a_thread_is_a_leak() -> None:
    told = threading.Event()
    thread = threading.Thread(target=told.wait, name="forgotten")
    try:
        with found("thread: forgotten"):
            thread.start()
    finally:
        told.set()
    thread.join()


def test_an_open_descriptor_is_a_leak() -> None:
    with found("descriptor: "):
        reading, writing = os.pipe()
        os.close(writing)
    os.close(reading)


def test_a_folder_in_the_temporary_folder_is_a_leak() -> None:
    with found("file: forgotten-"):
        folder = tempfile.mkdtemp(prefix="forgotten-")
    Path(folder).rmdir()


def test_what_is_in_the_memory_of_the_system_is_a_leak() -> None:
    place = Path(f"/dev/shm/rain-forgotten-{os.getpid()}")
    with found(str(place)):
        place.touch()
    place.unlink()


def test_a_cluster_that_nobody_has_ended_is_a_leak_of_processes_threads_and_a_folder() -> None:
    before = Footprint.now()
    client = Client(cpus=1)
    left = "\n".join(left_since(before, patience=0.5))
    client.close()
    for what in ("rain embedded", "rain-janitor", "thread: rain-", "file: rain-local-"):
        assert what in left
    assert left_since(before) == []


def test_a_file_by_which_python_has_tried_the_temporary_folder_is_no_leak() -> None:
    before = Footprint.now()
    trial = Path(tempfile.gettempdir()) / "702u25_h"
    trial.write_bytes(b"blat")
    left = Footprint.now().beyond(before)
    trial.unlink()
    assert left == []


def test_what_goes_by_itself_is_no_leak() -> None:
    before = Footprint.now()
    process = subprocess.Popen(["sleep", "0.3"])
    thread = threading.Thread(target=process.wait)
    thread.start()
    assert Footprint.now().beyond(before)
    assert left_since(before) == []


def test_an_executor_of_a_cluster_that_was_there_before_is_no_leak() -> None:
    with Client(cpus=1) as client:
        assert client.submit(abs, -1).result() == 1
        before = Footprint.now()
        assert client.options(crash_tries=1).submit(os._exit, 1).exception()
        assert client.submit(abs, -1).result() == 1
        assert Footprint.now().processes.keys() - before.processes.keys()
        assert left_since(before, patience=0.5) == []


def test_a_test_that_leaves_something_fails_by_its_name() -> None:
    around = none_left(starts_processes=True)
    next(around)
    reading, writing = os.pipe()
    with pytest.raises(
        AssertionError, match=r"this is left:\ndescriptor: \d+ of this process, pipe"
    ):
        next(around, None)
    os.close(reading)
    os.close(writing)
