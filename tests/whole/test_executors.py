"""Executors of the user's own, from the client to the process and back, and the guide's page."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cbor2
import pytest

from rain.client import Client, Session, Task, TaskException, blob
from rain.common.comm import SocketWrapper
from tests.whole.daemons import END_SECONDS, governor, server

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parent.parent.parent
CPP = ROOT / "examples" / "cpp-executor" / "executor.cpp"
WORDS = ROOT / "examples" / "python-executor" / "executor.py"
PAGE = ROOT / "docs" / "guide" / "executors.md"

COMPILER = shutil.which("g++")
# On a machine that must have a compiler, the tests that need it fail rather than vanish.
WITH_A_COMPILER = [COMPILER or "g++"] if COMPILER or os.environ.get("CI") == "true" else []


class Hello(Task):
    TASK_TYPE = "cpp/hello"

    def __init__(self, *names: Any) -> None:
        super().__init__(names, 1)


class Count(Task):
    TASK_TYPE = "cpp/count"

    def __init__(self, text: Any) -> None:
        super().__init__([text], ["counts"])


class Words(Task):
    TASK_TYPE = "words/count"

    def __init__(self, *texts: Any) -> None:
        super().__init__(texts, 1)


@pytest.fixture(scope="module", params=WITH_A_COMPILER)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C++ example, built as its first lines say."""
    program = tmp_path_factory.mktemp("built") / "executor"
    subprocess.run(
        [request.param, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, CPP],
        check=True,
    )
    return program


def config(folder: Path, **commands: str | list[str]) -> Path:
    path = folder / "rain.toml"
    lines = (
        f"[executors.{name}]\ncommand = {json.dumps(words)}\n" for name, words in commands.items()
    )
    path.write_text("".join(lines))
    return path


@contextmanager
def cluster(folder: Path, config: Path) -> Generator[int, None, None]:
    """A server and a governor with the configuration; the server's port."""
    with (
        server(folder) as serving,
        governor(folder, "one", serving.address, 2, "--config", str(config)),
    ):
        yield serving.port


@contextmanager
def session_of(folder: Path, config: Path) -> Generator[Session, None, None]:
    with (
        cluster(folder, config) as port,
        Client("127.0.0.1", port) as client,
        client.new_session("executors") as session,
    ):
        yield session


def fetched(session: Session, *tasks: Task) -> list[bytes]:
    """What the single outputs of the tasks are."""
    session.keep_all()
    session.submit()
    return [task.output.fetch().get_bytes() for task in tasks]


def test_tasks_in_cpp_run_and_read_each_others_outputs(tmp_path: Path, built: Path) -> None:
    # Given the example beside its configuration
    shutil.copy(built, tmp_path / "executor")
    with session_of(tmp_path, config(tmp_path, cpp="./executor")) as session:
        # When tasks of both types use small and large data
        hello = Hello(blob("World"))
        counts = Count(hello)
        large = Count(blob("a b\n" * 300_000))
        many = [Hello(blob(str(number))) for number in range(100)]
        # Then all is there
        assert fetched(session, hello, counts, large) == [
            b"Hello World!",
            b"Hello 1\nWorld! 1\n",
            b"a 300000\nb 300000\n",
        ]
        found = [task.output.fetch().get_bytes() for task in many]
        assert found == [f"Hello {number}!".encode() for number in range(100)]


def test_a_failure_in_cpp_reaches_the_client(tmp_path: Path, built: Path) -> None:
    with session_of(tmp_path, config(tmp_path, cpp=str(built))) as session:
        Hello(blob("a"), blob("b"))
        session.submit()
        with pytest.raises(TaskException, match="cpp/hello has 2 inputs instead of 1"):
            session.wait_all()


def test_a_task_type_that_the_program_does_not_know_fails_by_name(
    tmp_path: Path, built: Path
) -> None:
    with session_of(tmp_path, config(tmp_path, cpp=str(built))) as session:
        Task((), 1, task_type="cpp/no")
        session.submit()
        with pytest.raises(TaskException, match="there is no task cpp/no"):
            session.wait_all()


def test_logs_of_executors_are_in_the_log_folder(tmp_path: Path, built: Path) -> None:
    with session_of(tmp_path, config(tmp_path, cpp=str(built))) as session:
        fetched(session, Hello(blob("a")))
        logs = tmp_path / "one-logs" / "executors"
        assert sorted(path.name for path in logs.iterdir()) == ["executor-1.err", "executor-1.out"]


def test_an_executor_in_python_runs_beside_python_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    commands = config(tmp_path, words=[sys.executable, str(WORDS)])
    with session_of(tmp_path, commands) as session:
        task = Words(blob("one two"), blob("three\nfour"))
        session.keep_all()
        session.submit()
        assert task.output.fetch().load() == 4


def test_what_an_executor_prints_is_in_the_logs_and_the_errors_of_its_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    talking = tmp_path / "talking.py"
    asked = '    spec = call["spec"]\n'
    said = f"{asked}    print('asked for', spec['task_type'], flush=True)\n"
    talking.write_text(WORDS.read_text().replace(asked, said))
    commands = config(tmp_path, words=[sys.executable, str(talking)])
    with session_of(tmp_path, commands) as session:
        session.show_output()
        task = Words(blob("one two"))
        assert fetched(session, task) == [b"2"]
        assert task.logs() == "asked for words/count\n"
        failing = Task((), 1, task_type="words/no")
        session.submit()
        with pytest.raises(
            TaskException, match="no task words/no\nIts stdout:\nasked for words/no"
        ):
            failing.wait()
    assert "] asked for words/count\n" in capsys.readouterr().out


def test_a_task_of_an_unknown_executor_fails_and_the_known_ones_are_named(tmp_path: Path) -> None:
    with session_of(tmp_path, config(tmp_path, words="words")) as session:
        Hello(blob("a"))
        session.submit()
        known = r"no executor 'cpp' is registered .* knows buildin, py, words"
        with pytest.raises(TaskException, match=known):
            session.wait_all()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "cannot be read: No such file or directory"),
        ("[executors", "is wrong: it is not TOML"),
        ("", "is wrong: the table [executors] is missing"),
        ("[executors.cpp]\ncommand = 1\n", "is wrong: executors.cpp.command must be a text"),
        ("[executors]\n[more]\n", "is wrong: the file has the unknown 'more'"),
    ],
)
def test_a_wrong_configuration_is_one_line_and_status_one(
    tmp_path: Path, text: str | None, complaint: str
) -> None:
    path = tmp_path / "rain.toml"
    if text is not None:
        path.write_text(text)
    finished = subprocess.run(
        [sys.executable, "-m", "rain", "governor", "127.0.0.1:1", "--config", str(path)],
        capture_output=True,
        text=True,
        timeout=END_SECONDS,
        check=False,
    )
    assert finished.returncode == 1
    (line,) = finished.stderr.splitlines()
    assert line.startswith(f"rain: the configuration {path} ")
    assert complaint in line


def test_the_guides_program_runs(tmp_path: Path, built: Path) -> None:
    (program,) = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    with cluster(tmp_path, config(tmp_path, cpp=str(built))) as port:
        code = compile(program.replace("7210", str(port)), str(PAGE), "exec")
        exec(code, {"__name__": "__main__"})  # noqa: S102 # that is the test


def test_the_example_in_cpp_reads_short_floating_point_numbers(
    tmp_path: Path, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given numbers that fit into halves, as encoders send them that save bytes
    numbers = [0.0, 1.0, 1.5, -2.0, 65504.0, 2.0**-24, 3 * 2.0**-24, 2.0**-14, -(2.0**-15)]
    numbers += [math.inf, -math.inf, math.nan]
    call: list[Any] = ["call", {"spec": {"id": numbers, "task_type": "none"}, "inputs": []}]
    body = cbor2.dumps(call, canonical=True)
    assert body.count(b"\xf9") == len(numbers)
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        listening.listen(1)
        listening.settimeout(END_SECONDS)
        environment = {"RAIN_EXECUTOR_SOCKET": f"{tmp_path}/socket", "RAIN_EXECUTOR_ID": "1"}
        with subprocess.Popen([built], env=environment) as running:
            connected, _ = listening.accept()
            with connected:
                governor_side = SocketWrapper(connected)
                assert governor_side.receive_message()[0] == "register"
                # When they are the id of a call, which the executor sends back
                connected.sendall(struct.pack("<I", len(body)) + body)
                _, fields = governor_side.receive_message()
            assert running.wait(END_SECONDS) == 0
    # Then they have come through
    assert fields["task"][:-1] == numbers[:-1]
    assert math.isnan(fields["task"][-1])
