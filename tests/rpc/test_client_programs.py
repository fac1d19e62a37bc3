"""The client in programs: in scripts, beside asyncio, after a fork, at exit, and under Ctrl-C.

Each program here is a process of its own where every warning is an error, beside a server in ours.
"""

import os
import sys
import textwrap
from pathlib import Path

import pytest
import trio

from rain.base.failures import OnFailure
from rain.base.wire.answers import WaitAnswer
from rain.daemon import program
from rain.rpc.handlers import Reply
from tests.rpc.fakes import FakeServer, serving

ROOT = Path(__file__).parents[2]

PRELUDE = """
import asyncio, os, signal, sys, threading
from rain.base.errors import ConnectionLostError, RefusedError
from rain.base.ids import ObjectId, SessionId
from rain.base.wire.requests import HandlesGone, OpenSession, ReportsOf, ServerInfo, Submit, WaitFor
from rain.base.wire.submission import Submission
from rain.rpc.client_endpoint import ClientConnection
from rain.base.wire.submission import ConstantColumns
port = int(sys.argv[1])
"""


def run_script(script: str, *, measured: bool = True) -> FakeServer:
    """Runs a program that finds a server at the port in its first argument.

    No wait is answered; of each the program can read a line from its standard input.
    What measures coverage takes locks of its own around each step, which no signal may interrupt.
    """
    servers: list[FakeServer] = []
    source = PRELUDE + textwrap.dedent(script)
    heard, tell = os.pipe()
    environment = {
        key: text for key, text in os.environ.items() if measured or not key.startswith("COV")
    }

    def unanswered(reply: Reply[WaitAnswer]) -> None:
        os.write(tell, b"a wait\n")

    async def main() -> int:
        server = FakeServer(rules=dict.fromkeys(("wait", "compute"), unanswered))
        servers.append(server)
        async with serving(server) as here:
            done = await trio.run_process(
                [sys.executable, "-W", "error", "-X", "dev", "-c", source, str(here.port)],
                stdin=heard,
                cwd=ROOT,
                env=environment,
                check=False,
                capture_stdout=True,
                capture_stderr=True,
            )
            joined = len(server.journal.named("client joined"))
            await server.journal.until("client left", joined)
        assert done.stderr.decode() == ""
        assert (done.returncode, done.stdout.decode()) == (0, "done\n")
        return 0

    try:
        program.run(main)
    finally:
        os.close(heard)
        os.close(tell)
    return servers[0]


pytestmark = pytest.mark.whole


def test_a_script_may_end_without_closing_anything() -> None:
    server = run_script("""
        client = ClientConnection("127.0.0.1", port)
        client.ask(OpenSession("x"))
        wait = WaitFor(1, (), (), "session")
        threading.Thread(target=client.ask, args=[wait], daemon=True).start()
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
            assert client.ask(OpenSession("x")) == 1
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
            client.ask(WaitFor(1, (), (), "session"))
        except KeyboardInterrupt:
            client.ask(ServerInfo())
            print("done")
    """)
    names = [entry[0] for entry in server.journal.entries]
    assert names == ["client joined", "wait", "abandoned", "server_info", "client left"]


@pytest.mark.parametrize("begin", ["wait", "compute"])
def test_a_wait_that_is_interrupted_while_it_is_sent_is_given_up(begin: str) -> None:
    server = run_script(f"""
        client = ClientConnection("127.0.0.1", port)
        begin = dict(
            wait=lambda: client.ask(WaitFor(1, (), (), "session")),
            compute=lambda: client.begin(Submit(Submission(1), (ObjectId(1),)))(),
        )
        caller = client._calls._caller
        send = caller._send
        def interrupted():
            caller._send = send
            send()
            raise KeyboardInterrupt
        caller._send = interrupted
        try:
            begin["{begin}"]()
        except KeyboardInterrupt:
            client.ask(ServerInfo())
            print("done")
    """)
    asked = "wait" if begin == "wait" else "compute"
    names = [entry[0] for entry in server.journal.entries]
    assert names == ["client joined", asked, "abandoned", "server_info", "client left"]


def test_nothing_overtakes_a_submission_that_another_thread_still_uploads_for() -> None:
    server = run_script("""
        client = ClientConnection("127.0.0.1", port)
        uploads, goes_on = threading.Event(), threading.Event()
        upload = client._downloads.reader.upload
        def slow(*arguments):
            uploads.set()
            goes_on.wait()
            upload(*arguments)
        client._downloads.reader.upload = slow
        constants = ConstantColumns([ObjectId(1)], [1], [bytes(1 << 20)])
        submit = Submit(Submission(1, constants=constants))
        submitting = threading.Thread(target=client.ask, args=[submit])
        submitting.start()
        uploads.wait()
        asks = threading.Event()
        let_pass = client._calls._let_upload_pass
        def noted(*arguments):
            asks.set()
            let_pass(*arguments)
        client._calls._let_upload_pass = noted
        asking = threading.Thread(target=client.ask, args=[ReportsOf((), ())])
        asking.start()
        asks.wait()
        goes_on.set()
        for thread in (submitting, asking):
            thread.join()
        print("done")
    """)
    names = [entry[0] for entry in server.journal.entries]
    assert names == ["client joined", "submit", "update", "client left"]


def test_a_submission_whose_upload_is_interrupted_is_never_sent() -> None:
    server = run_script("""
        client = ClientConnection("127.0.0.1", port)
        reader = client._downloads.reader
        upload = reader.upload
        def interrupted(*arguments):
            reader.upload = upload
            upload(*arguments)
            raise KeyboardInterrupt
        reader.upload = interrupted
        constants = ConstantColumns([ObjectId(1)], [1], [bytes(1 << 20)])
        sent = Submission(1, constants=constants)
        try:
            client.ask(Submit(sent))
        except KeyboardInterrupt:
            assert not client.has_left(sent)
            client.ask(Submit(Submission(1, constants=constants)))
            print("done")
    """)
    assert len(server.journal.named("submit")) == 1


@pytest.mark.parametrize("way", ["ask", "say"])
def test_a_client_that_is_interrupted_at_any_step_of_a_submission_knows_whether_it_has_left(
    way: str,
) -> None:
    server = run_script(
        f"""
        def interrupt(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        # No other thread gets the signal, and this one only during a submission.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        client = ClientConnection("127.0.0.1", port)
        for session in range(1, 1500):
            sent = Submission(session)
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.00001 + session % 60 * 0.000008)
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
                    client.{way}(Submit(sent))
                finally:
                    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
                    signal.setitimer(signal.ITIMER_REAL, 0)
                left = True
            except KeyboardInterrupt:
                left = client.has_left(sent)
            if left:
                client.say(HandlesGone((session,), ()))
        client.ask(ServerInfo())
        assert not client.is_waited_for
        print("done")
        """,
        measured=False,
    )
    arrived = {submission.session for (submission,) in server.journal.named("submit")}
    left = {session for (session,), _ in server.journal.named("handles_gone")}
    assert left
    assert left == arrived


def test_a_forked_child_gets_a_thread_of_its_own() -> None:
    server = run_script("""
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        client = ClientConnection("127.0.0.1", port)
        pid = os.fork()
        if pid == 0:
            try:
                client.ask(OpenSession("inherited"))
            except ConnectionLostError:
                own = ClientConnection("127.0.0.1", port)
                own.ask(OpenSession("child"))
                own.close()
                sys.exit(0)
            sys.exit(1)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        client.ask(OpenSession("parent"))
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
            other.ask(OpenSession("look"))
            if len([t for t in threading.enumerate() if t.name == "rain-client"]) == 1:
                break
        print("done")
    """)
    # Its thread has ended while the program went on; the server may hear of it a little later.
    assert len(server.journal.named("client left")) == 2


def test_a_program_that_never_connects_starts_no_thread() -> None:
    run_script("""
        assert threading.active_count() == 1
        print("done")
    """)
