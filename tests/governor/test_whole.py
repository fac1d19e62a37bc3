"""The governor as a program: its start, its ends, and what is left behind."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from rain.base.errors import StartError
from rain.base.ids import SessionId
from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.client import Client, ConnectionException, RainException, blob, remote, tasks
from rain.daemon.work_folder import WorkFolder
from rain.governor.main import run_governor
from rain.governor.settings import GovernorSettings
from rain.governor.uplink import Lost, Stopped
from rain.governor.zero import ZeroService
from rain.rpc.background import Background
from tests.governor.running import PlayedServer, is_alive
from tests.governor.words import add_task, object_id, python_kind, task_id
from tests.support.swallowing import SwallowingProxy
from tests.support.waiting import until_now

pytestmark = pytest.mark.whole

PATIENCE = 30.0


class Program:
    """A daemon that is ready."""

    def __init__(self, folder: Path, *args: str) -> None:
        reading, writing = os.pipe()
        self.folder = folder
        folder.mkdir()
        self.errors = folder / "stderr"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "rain", *args),
                    *("--logdir", str(folder / "logs"), "--ready-fd", str(writing)),
                ],
                pass_fds=[writing],
                stdin=subprocess.DEVNULL,
                stderr=errors,
                env={**os.environ, "RAIN_DEBUG_MODE": "1"},
            )
        os.close(writing)
        with os.fdopen(reading) as ready:
            assert select.select([ready], [], [], PATIENCE)[0]
            self.address = ready.readline().removeprefix("ready ").strip()

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends it, and gives its exit status."""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    @property
    def said(self) -> str:
        return self.errors.read_text()


@contextmanager
def running(tmp_path: Path) -> Generator[tuple[Program, Program]]:
    """A server and a governor."""
    server = Program(tmp_path / "server", "server", "--listen", "127.0.0.1:0", "--no-http")
    try:
        governor = Program(
            tmp_path / "governor",
            *("governor", server.address, "--cpus", "2", "--workdir", str(tmp_path / "work")),
            *("--drain-seconds", "0"),  # whatever the signal, it waits for no task
        )
        try:
            yield server, governor
        finally:
            governor.process.kill()
            governor.process.wait()
    finally:
        server.process.kill()
        server.process.wait()


def processes_of(folder: Path) -> list[int]:
    """All processes that work in a folder."""
    found: list[int] = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
        except OSError:
            continue
    return found


@remote()
def start_and_wait(ctx: Any, path: str) -> bytes:
    child = subprocess.Popen(["sleep", "60"])
    draft = Path(path + ".draft")
    draft.write_text(str(child.pid))
    draft.rename(path)
    child.wait()
    return b""


@remote(auto_encode="pickle")
def double(ctx: Any, value: int) -> int:
    return 2 * value


@contextmanager
def busy(server: Program, pid_file: Path) -> Generator[int]:
    """While a task runs that has started a process, which is given."""
    name, _, port = server.address.rpartition(":")
    client = Client(name, port)
    session = client.new_session("busy")
    with session.bind_only():
        start_and_wait(str(pid_file))
        session.submit()
    until_now(pid_file.exists)
    yield int(pid_file.read_text())


def test_a_governor_works_until_it_is_told_to_end(tmp_path: Path) -> None:
    with running(tmp_path) as (server, governor):
        name, _, port = server.address.rpartition(":")
        with Client(name, port).new_session("s") as session:
            tasks = [double(number) for number in range(100)]
            for task in tasks:
                task.keep_outputs()
            session.submit()
            assert [task.output.fetch().load() for task in tasks] == list(range(0, 200, 2))
        assert processes_of(tmp_path / "work")
        assert governor.end() == 0
        assert not (tmp_path / "work").exists()
        assert not processes_of(tmp_path / "work")
        assert "governor stops" in governor.said


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_however_a_busy_governor_ends(tmp_path: Path, how: signal.Signals) -> None:
    with running(tmp_path) as (server, governor), busy(server, tmp_path / "pid") as child:
        work = tmp_path / "work"
        executors = processes_of(work)
        assert is_alive(child)
        status = governor.end(how)
        assert status == (-how if how is signal.SIGKILL else 0)
        until_now(lambda: not any(map(is_alive, (child, *executors))))
        until_now(lambda: not work.exists())


def test_a_governor_that_has_lost_its_server_cleans_up_and_says_so(tmp_path: Path) -> None:
    with running(tmp_path) as (server, governor), busy(server, tmp_path / "pid") as child:
        server.end(signal.SIGKILL)
        assert governor.process.wait(PATIENCE) == 1
        assert "lost the server, the governor stops" in governor.said
        assert "Traceback" not in governor.said
        assert not is_alive(child)
        assert not (tmp_path / "work").exists()


def test_a_governor_ends_with_its_server(tmp_path: Path) -> None:
    with running(tmp_path) as (server, governor):
        server.end()
        governor.process.wait(PATIENCE)
        assert not (tmp_path / "work").exists()


def test_an_unreachable_server_is_one_clear_line(tmp_path: Path) -> None:
    settings = GovernorSettings(
        servers=(("127.0.0.1", 1),), work_folder=tmp_path / "work", log_folder=tmp_path / "logs"
    )
    with pytest.raises(StartError, match=r"cannot reach the server at 127\.0\.0\.1:1"):
        run_governor(settings)
    assert not (tmp_path / "work").exists()


def test_a_work_folder_that_exists_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "precious").touch()
    settings = GovernorSettings(work_folder=tmp_path / "work", log_folder=tmp_path / "logs")
    with pytest.raises(StartError, match=r"the work folder .*work exists already"):
        run_governor(settings)
    assert (tmp_path / "work" / "precious").exists()


def test_a_work_folder_that_cannot_be_made_is_refused_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match=r"the work folder .*file/work cannot be made"):
        WorkFolder.make(tmp_path / "file" / "work", "governor")


def test_a_lingering_time_that_is_no_number_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAIN_DELETE_LIST_TIMEOUT", "soon")
    settings = GovernorSettings(work_folder=tmp_path / "work", log_folder=tmp_path / "logs")
    with pytest.raises(StartError, match="RAIN_DELETE_LIST_TIMEOUT is 'soon'"):
        run_governor(settings)


def test_a_zero_governor_finishes_everything_at_once(tmp_path: Path) -> None:
    server = Program(tmp_path / "server", "server", "--listen", "127.0.0.1:0", "--no-http")
    try:
        governor = Program(tmp_path / "governor", "governor", server.address, "--zero")
        name, _, port = server.address.rpartition(":")
        with Client(name, port).new_session("s") as session:
            tasks = [double(number) for number in range(100)]
            session.submit()
            session.wait_all()
            assert len(tasks) == 100
        assert governor.end() == 0
    finally:
        server.end()


def test_a_zero_governor_answers_orders_with_one_update() -> None:
    async def scenario(background: Background) -> None:
        server = PlayedServer()
        uplink = server.uplink()
        service = ZeroService(Resources(2), background, uplink)
        kind = python_kind(outputs=2)
        orders = Orders(task_kinds=[kind])
        outputs = [object_id(200), object_id(201)]
        add_task(orders.tasks, task_id(100), kind, [], outputs)
        # Orders may come before the registration is complete
        service.order(orders)
        await uplink.register(service, 0.0)
        service.start()
        assert server.finished == {task_id(100): [(0, b""), (0, b"")]}
        assert service.report().resources == (("cpus", 2),)
        assert service.report().address == "me:1"
        again = Orders(forget_sessions=[SessionId(1)])
        service.order(again)
        service.stop("")
        await uplink.ended()
        assert isinstance(uplink.end, Stopped)
        service.left("")
        assert isinstance(uplink.end, Stopped)  # its end was announced

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            await scenario(Background(nursery))
            nursery.cancel_scope.cancel()

    trio.run(main)


def test_a_zero_governor_does_not_wait_for_a_server_that_comes_back() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = PlayedServer()
            server.returns = True
            uplink = server.uplink()
            service = ZeroService(Resources(2), Background(nursery), uplink)
            await uplink.register(service, 0.0)
            service.left("cut")
            await uplink.ended()
            assert uplink.end == Lost("cut")

    trio.run(main)


def test_a_governor_that_hears_nothing_of_its_server_stops_its_work(tmp_path: Path) -> None:
    server = Program(
        tmp_path / "server", "server", "--listen", "127.0.0.1:0", "--no-http", "--insecure"
    )
    host_name, _, port = server.address.rpartition(":")
    work = tmp_path / "work"
    try:
        with SwallowingProxy(host_name, int(port)) as link:
            governor = Program(
                tmp_path / "governor",
                *("governor", link.address, "--cpus", "1", "--workdir", str(work)),
                *("--server-timeout", "3", "--insecure"),
            )

            @remote()
            def held(ctx: Any, mark: str) -> str:
                Path(mark).write_text(str(os.getpid()))
                signal.pause()
                return ""

            mark = tmp_path / "mark"
            with (
                Client(host_name, int(port), insecure=True) as client,
                client.new_session("cut") as session,
            ):
                held(str(mark))
                session.submit()
                until_now(lambda: mark.exists() and mark.read_text() != "")
                executor = int(mark.read_text())

                link.cut()

                assert governor.process.wait(PATIENCE) == 1
                assert not is_alive(executor)
                assert "lost the server, the governor stops" in governor.said
                assert "nothing was received from the other side for 3 seconds" in governor.said
                assert link.address in governor.said
                assert not work.exists()
    finally:
        server.process.kill()
        server.process.wait()


def test_a_client_of_a_stopped_server_is_told_which_one_and_for_how_long(tmp_path: Path) -> None:
    server = Program(tmp_path / "server", "server", "--listen", "127.0.0.1:0", "--no-http")
    host_name, _, port = server.address.rpartition(":")
    try:
        client = Client(host_name, int(port), server_timeout=3)
        with client.new_session("stopped") as session:
            task = tasks.Sleep(blob(b"x"), 0.0)
            session.keep_all()
            session.submit()
            server.process.send_signal(signal.SIGSTOP)
            told = f"the server at {server.address} has been silent for 3 seconds"
            with pytest.raises(ConnectionException, match=told):
                task.wait()
            with pytest.raises(ConnectionException, match=told):
                task.output.fetch()
            tasks.Sleep(blob(b"x"), 0.0)
            with pytest.raises(ConnectionException, match=told):
                session.submit()
        client.close()
    finally:
        server.process.kill()
        server.process.wait()


def test_a_limit_that_a_healthy_server_could_miss_is_refused() -> None:
    with pytest.raises(RainException, match=r"server_timeout is 0\.5; .* must be 3 or more"):
        Client("127.0.0.1", 1, server_timeout=0.5)
