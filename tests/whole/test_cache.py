"""Results that are kept for other runs: scripts with clusters of their own, and one cache."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rain.base.caching import TAKEN
from rain.cache.limits import entries_of
from rain.cache.places import open_place
from rain.client import (
    Client,
    Input,
    InputDir,
    OutputDir,
    Program,
    RainException,
    Session,
    Task,
    blob,
    directory,
    remote,
)

pytestmark = pytest.mark.whole


def said_of(session: Session, *made: Task) -> list[str]:
    session.submit()
    session.wait_all()
    session.update(made)
    return [task.info.cache for task in made if task.info is not None]


def once(work: Callable[[Client], Any]) -> Any:
    """The work on a cluster that has never seen it."""
    with Client(cpus=2) as client:
        return work(client)


def test_calls_of_plain_functions_run_once(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    ran.mkdir()

    def double(x: int) -> int:
        (ran / f"{x}-{time.monotonic_ns()}").touch()
        return 2 * x

    def add(numbers: list[int], *more: int) -> int:
        return sum([*numbers, *more])

    def work(client: Client) -> list[str]:
        keeping = client.options(cache=tmp_path / "cache")
        doubled = keeping.map(double, [1, 2])
        total = keeping.submit(add, [1], *doubled)
        assert total.result() == 7
        return [future.info().cache for future in (*doubled, total)]

    assert once(work) == ["ran: no entry"] * 3
    assert once(work) == [TAKEN] * 3
    assert len(list(ran.iterdir())) == 2


def test_what_has_changed_is_said_and_runs(tmp_path: Path) -> None:
    def work(client: Client, power: int, text: str, cell: str) -> list[str]:
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(cell, names)  # noqa: S102 # a cell of a notebook
        keeping = client.options(cache=tmp_path / "cache")
        called = keeping.submit(names["f"], 2, power)
        called.result()
        with client.new_session("programs") as session:
            count = Program(["wc", "-c"], stdin="text", stdout=True, cache=tmp_path / "cache")
            (counted,) = said_of(session, count(text=blob(text)))
        return [called.info().cache, counted]

    cell = "def f(x, power): return x ** power"
    assert once(lambda c: work(c, 3, "a", cell)) == ["ran: no entry", "ran: no entry"]
    assert once(lambda c: work(c, 4, "b", cell)) == [
        "ran: argument power changed",
        "ran: input text changed",
    ]
    assert once(lambda c: work(c, 4, "b", cell + "+ 1")) == [
        "ran: function changed",
        TAKEN,
    ]
    assert once(lambda c: work(c, 3, "a", cell)) == [TAKEN, TAKEN]


def test_large_results_and_folders_come_from_the_cache(tmp_path: Path) -> None:
    @remote(outputs=2, cache=tmp_path / "cache")
    def large(ctx: Any, size: int) -> tuple[bytes, bytes]:
        return bytes(size), b"small"

    parts = Program(
        ["sh", "-c", "mkdir parts; cp text parts/a; ln -s a parts/b"],
        input_paths=[Input("text")],
        output_paths=[OutputDir("parts")],
        cache=tmp_path / "cache",
    )
    seen = Program(
        ["cat", "folder/inner"],
        input_paths=[InputDir("folder")],
        stdout=True,
        cache=tmp_path / "cache",
    )

    def work(client: Client) -> list[str]:
        with client.new_session("large") as session:
            made = large(1_000_000)
            split = parts(text=blob("text"))
            read = seen(folder=directory({"inner": "deep"}))
            for task in (made, split, read):
                for output in task.outputs:
                    output.keep()
            whys = said_of(session, made, split, read)
            assert len(made.outputs[0].fetch().get_bytes()) == 1_000_000
            target = tmp_path / f"out-{time.monotonic_ns()}"
            split.output.download(target)
            assert (target / "b").read_text() == "text"
            assert read.output.fetch().get_str() == "deep"
            return whys

    assert once(work) == ["ran: no entry"] * 3
    assert once(work) == [TAKEN] * 3


def test_a_failed_call_is_called_again(tmp_path: Path) -> None:
    flag = tmp_path / "works now"

    def fragile() -> str:
        if not flag.exists():
            raise OSError("not yet")
        return "done"

    with Client(cpus=1) as client:
        keeping = client.options(cache=tmp_path / "cache")
        assert isinstance(keeping.submit(fragile).exception(), OSError)
        flag.touch()
        again = keeping.submit(fragile)
        assert again.result() == "done"
        assert again.info().cache == "ran: no entry"


def test_another_cache_key_runs_again(tmp_path: Path) -> None:
    def work(client: Client, version: str) -> str:
        keeping = client.options(cache=tmp_path / "cache", cache_key=version)
        future = keeping.submit(pow, 2, 3)
        future.result()
        return future.info().cache

    assert once(lambda client: work(client, "1")) == "ran: no entry"
    assert once(lambda client: work(client, "2")) == "ran: cache_key changed"
    assert once(lambda client: work(client, "1")) == TAKEN


def test_a_cache_that_cannot_be_used_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with Client(cpus=1) as client:
        future = client.options(cache=tmp_path / "file").submit(pow, 2, 3)
        assert future.result() == 8
        assert "cannot be used" in future.info().cache


PIPELINE = """
    import os, sys, time
    from pathlib import Path
    from rain.client import Client

    folder = Path(sys.argv[1])

    def step(previous, number):
        (folder / f"step {number} {time.monotonic_ns()}").touch()
        while number == 3 and not (folder / "go on").exists():
            time.sleep(0.01)
        return previous + [number]

    with Client(cpus=1) as client:
        keeping = client.options(cache=folder / "cache")
        value = []
        for number in range(6):
            value = keeping.submit(step, value, number)
        print(value.result())
"""


def test_a_pipeline_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    script = tmp_path / "pipeline.py"
    script.write_text(textwrap.dedent(PIPELINE))
    command = [sys.executable, str(script), str(tmp_path)]
    # given: everything of it is killed in its fourth step
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    place = open_place(str(tmp_path / "cache"))
    while not (list(tmp_path.glob("step 3 *")) and len(list(entries_of(place))) == 3):
        assert first.poll() is None
        time.sleep(0.01)
    _kill_family(first.pid)
    first.wait()
    # when
    (tmp_path / "go on").touch()
    second = subprocess.run(command, check=True, capture_output=True, text=True)
    # then
    assert second.stdout == "[0, 1, 2, 3, 4, 5]\n"
    ran = [len(list(tmp_path.glob(f"step {number} *"))) for number in range(6)]
    assert ran == [1, 1, 1, 2, 1, 1]


def _kill_family(root: int) -> None:
    """Kills a process and all that descend from it, none of them because another one has died.

    All are stopped first, from the top: a stopped process neither starts nor reaps others. Killed
    from the bottom, each process is still there when its turn comes.
    """
    family = [root]
    for process in family:  # grows while it is walked
        os.kill(process, signal.SIGSTOP)
        family += _children(process)
    for process in reversed(family):
        os.kill(process, signal.SIGKILL)


def _children(parent: int) -> list[int]:
    children: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == parent:
            children.append(int(stat.parent.name))
    return children


def test_the_calls_of_an_executor_keep_their_results_also_in_chunks(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()

    def double(x: int) -> int:
        (marks / f"{x}-{os.urandom(4).hex()}").touch()
        return 2 * x

    for _ in range(2):
        with Client(cpus=1, cache_limit="1GiB") as client:
            with client.executor(cache=tmp_path / "cache") as pool:
                assert list(pool.map(double, range(3), chunksize=2)) == [0, 2, 4]
                assert pool.submit(double, 7).result() == 14
            with pytest.raises(ValueError, match="leave cache or initializer out"):
                client.executor(cache=True, initializer=print)
    assert len(list(marks.iterdir())) == 4


def test_a_limit_of_the_cache_is_that_of_the_governors_of_the_client(tmp_path: Path) -> None:
    with Client(cpus=1, cache_limit=100) as client:
        future = client.options(cache=tmp_path / "cache").submit(bytes, 1000)
        future.result()
    place = open_place(str(tmp_path / "cache"))
    assert list(entries_of(place)) == []
    with pytest.raises(RainException, match="cache_limit: "):
        Client(cache_limit="much")
    with pytest.raises(
        RainException, match=r"^cache_limit would describe a cluster that starts now"
    ):
        Client("127.0.0.1", 1, cache_limit=1)
