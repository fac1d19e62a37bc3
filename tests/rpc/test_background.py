"""The client's thread: in scripts, beside asyncio, after a fork, at exit, and under Ctrl-C.

Each program here is a process of its own where every warning is an error, beside a server in ours.
"""

import asyncio
import os
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from rain.base.failures import OnFailure
from rain.base.wire import WaitAnswer
from rain.rpc import host
from rain.rpc.background import background
from rain.rpc.handlers import Reply
from rain.rpc.server_endpoint import listen
from tests.rpc.fakes import FakeServer

ROOT = Path(__file__).parents[2]

PRELUDE = """
import asyncio, os, signal, sys, threading
from rain.base.errors import ConnectionLostError, RefusedError
from rain.base.ids import ObjectId, SessionId
from rain.base.wire import Submission
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.client_requests import Box
from rain.rpc.client_submit import encode_submission
port = int(sys.argv[1])
"""


def run_script(script: str) -> FakeServer:
    """Runs a program that finds a server at the port in its first argument.

    No wait is answered; of each the program can read a line from its standard input.
    """
    servers: list[FakeServer] = []
    source = PRELUDE + textwrap.dedent(script)
    heard, tell = os.pipe()

    def unanswered(reply: Reply[WaitAnswer]) -> None:
        os.write(tell, b"a wait\n")

    async def main() -> int:
        server = FakeServer(rules=dict.fromkeys(("wait", "compute"), unanswered))
        servers.append(server)
        listener = listen("127.0.0.1", 0, server)
        with trio.fail_after(60):
            done = await trio.run_process(
                [sys.executable, "-W", "error", "-X", "dev", "-c", source, str(listener.port)],
                stdin=heard,
                cwd=ROOT,
                check=False,
                capture_stdout=True,
                capture_stderr=True,
            )
            joined = len(server.journal.named("client joined"))
            await server.journal.until("client left", joined)
        listener.close()
        assert done.stderr.decode() == ""
        assert (done.returncode, done.stdout.decode()) == (0, "done\n")
        return 0

    try:
        host.run(main)
    finally:
        os.close(heard)
        os.close(tell)
    return servers[0]


pytestmark = pytest.mark.whole


def test_a_script_may_end_without_closing_anything() -> None:
    server = run_script("""
        client = ClientConnection("127.0.0.1", port)
        client.open_session("x")
        threading.Thread(target=lambda: client.wait(1, [], [], "session"), daemon=True).start()
        sys.stdin.readline()
        print("done")
    """)
    assert len(server.journal.named("abandoned")) == 1


def test_a_client_works_beside_a_running_asyncio_loop() -> None:
    run_script("""
        async def notebook():
            # In debug mode it would tell of each step that takes 0.1 s, as on a loaded machine.
            asyncio.get_running_loop().slow_callback_duration = 60.0
            client = ClientConnection("127.0.0.1", port)
            assert client.open_session("x") == 1
            client.close()
            await asyncio.sleep(0)
            print("done")

        asyncio.run(notebook())
    """)


def test_ctrl_c_ends_a_wait_at_once_and_the_server_hears_of_it() -> None:
    server = run_script("""
        client = ClientConnection("127.0.0.1", port)
        def interrupt():
            sys.stdin.readline()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            client.wait(1, [], [], "session")
        except KeyboardInterrupt:
            client.server_info()
            print("done")
    """)
    names = [entry[0] for entry in server.journal.entries]
    assert names == ["client joined", "wait", "abandoned", "server_info", "client left"]


@pytest.mark.parametrize("begin", ["wait", "submit_and_wait"])
def test_a_wait_that_is_interrupted_while_it_is_sent_is_given_up(begin: str) -> None:
    server = run_script(f"""
        client = ClientConnection("127.0.0.1", port)
        begin = dict(
            wait=lambda: client.wait(1, [], [], "session"),
            submit_and_wait=lambda: client.submit_and_wait(Submission(1), [ObjectId(1)])(),
        )
        connection = client._calls.requests._connection
        say_now = connection.say_now
        def interrupted(message):
            say_now(message)
            raise KeyboardInterrupt
        connection.say_now = interrupted
        try:
            begin["{begin}"]()
        except KeyboardInterrupt:
            client.server_info()
            print("done")
    """)
    asked = "wait" if begin == "wait" else "compute"
    names = [entry[0] for entry in server.journal.entries]
    assert names == ["client joined", asked, "abandoned", "server_info", "client left"]


def test_a_wait_that_is_interrupted_behind_an_upload_is_never_sent() -> None:
    server = run_script("""
        client = ClientConnection("127.0.0.1", port)
        requests = client._calls.requests
        uploaded = asyncio.Event()
        (submission,), _ = encode_submission(1000, Submission(1))
        requests.ask_after(1000, [submission], lambda answer: None, uploaded.wait)
        ask_after = requests.ask_after
        def interrupted(*arguments, **words):
            ask_after(*arguments, **words)
            raise KeyboardInterrupt
        requests.ask_after = interrupted
        try:
            client.wait(1, [], [], "session")
        except KeyboardInterrupt:
            client._thread.soon(uploaded.set)
            client.update([], [])
            print("done")
    """)
    names = [entry[0] for entry in server.journal.entries]
    assert names == ["client joined", "submit", "update", "client left"]


def test_a_computation_that_is_given_up_behind_an_upload_is_submitted_all_the_same() -> None:
    server = run_script("""
        client = ClientConnection("127.0.0.1", port)
        uploaded = asyncio.Event()
        (submission,), _ = encode_submission(1000, Submission(1))
        requests = client._calls.requests
        requests.ask_after(1000, [submission], lambda answer: None, uploaded.wait)
        waiting = client.submit_and_wait(Submission(1), [ObjectId(1)])
        def interrupted(*arguments):
            raise KeyboardInterrupt
        Box.take = interrupted
        try:
            waiting()
        except KeyboardInterrupt:
            client._thread.soon(uploaded.set)
            client.update([], [])
            print("done")
    """)
    names = [entry[0] for entry in server.journal.entries if entry[0] != "abandoned"]
    assert names == ["client joined", "submit", "compute", "update", "client left"]


def test_a_call_that_is_interrupted_while_it_starts_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thread, started, cancelled = background(), threading.Event(), threading.Event()
    soon = thread.soon

    async def endless() -> None:
        started.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def interrupted(start: Callable[[], object]) -> bool:
        monkeypatch.undo()
        soon(start)
        assert started.wait(timeout=60)
        raise KeyboardInterrupt

    monkeypatch.setattr(thread, "soon", interrupted)
    with pytest.raises(KeyboardInterrupt):
        thread.run(endless)
    assert cancelled.wait(timeout=60)


def test_a_forked_child_gets_a_thread_of_its_own() -> None:
    server = run_script("""
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        client = ClientConnection("127.0.0.1", port)
        pid = os.fork()
        if pid == 0:
            try:
                client.open_session("inherited")
            except ConnectionLostError:
                own = ClientConnection("127.0.0.1", port)
                own.open_session("child")
                own.close()
                sys.exit(0)
            sys.exit(1)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        client.open_session("parent")
        print("done")
    """)
    assert server.journal.named("open_session") == [
        ("child", "", OnFailure.STOP),
        ("parent", "", OnFailure.STOP),
    ]


def test_the_last_reference_closes_the_connection() -> None:
    server = run_script("""
        client = ClientConnection("127.0.0.1", port)
        del client
        other = ClientConnection("127.0.0.1", port)
        while True:
            other.open_session("look")
            if not any("never" in t.name for t in threading.enumerate()):
                break
        print("done")
    """)
    assert [entry[0] for entry in server.journal.entries][:3] == [
        "client joined",
        "client left",
        "client joined",
    ]


def test_a_program_that_never_connects_starts_no_thread() -> None:
    run_script("""
        assert threading.active_count() == 1
        print("done")
    """)
