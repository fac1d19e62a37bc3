"""Resources, with real daemons: what does not fit fails by name, and gpus are one's own."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, Output, Program, TaskException, blob, remote, tasks
from rain.client.rpc.common import TaskState
from rain.daemon.user_key import user_key
from rain.start.status import ask
from rain.tls.keys import Keys
from tests.support.waiting import until_now
from tests.whole.daemons import governor, http_password, server

pytestmark = pytest.mark.whole

VISIBLE = "CUDA_VISIBLE_DEVICES"
PATIENCE = 30.0


@remote(outputs=[Output(encode="json")])
def see_gpus(ctx: Any) -> list[Any]:
    return [os.environ.get(VISIBLE), list(ctx.gpus), ctx.spec.resources]


@remote(outputs=[Output(encode="json")], resources={"gpus": 1})
def hold_gpu(ctx: Any, seconds: float) -> list[Any]:
    began = time.time()
    time.sleep(seconds)
    return [os.environ[VISIBLE], began, time.time()]


@remote(outputs=[Output(encode="json")], cpus=4)
def wide(ctx: Any) -> int:
    return 4


def http_address(folder: Path) -> str:
    """Where the server says that it serves HTTP."""
    log = (folder / "server-logs").glob("*.log")
    for file in log:
        for line in file.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if "http" in str(entry.get("event", "")).lower() and "address" in entry:
                return str(entry["address"])
    raise AssertionError("the server has not said where it serves HTTP")


def post(address: str, query: dict[str, Any]) -> list[dict[str, Any]]:
    host, _, port = address.rpartition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=PATIENCE)) as connection:
        connection.request("POST", "/events", json.dumps(query).encode(), http_password(address))
        found: list[dict[str, Any]] = json.loads(connection.getresponse().read())
        return found


def test_a_task_that_fits_nowhere_fails_by_name_after_the_grace_time(tmp_path: Path) -> None:
    with (
        server(tmp_path, "--infeasible-grace", "0.5") as serving,
        governor(tmp_path, "one", serving.address, 1),
        Client("127.0.0.1", serving.port) as client,
        client.new_session("wide") as session,
    ):
        task = wide()
        session.submit()
        with pytest.raises(TaskException) as failed:
            session.wait_all()
        assert "cannot run: py/ 'wide' needs cpus=4, which the only governor does not have" in str(
            failed.value
        )
        assert "within 0.5 seconds" in str(failed.value)
        assert failed.value.task_id == task.id


def test_it_runs_when_a_governor_that_fits_joins_in_time(tmp_path: Path) -> None:
    with (
        server(tmp_path, "--infeasible-grace", "60") as serving,
        governor(tmp_path, "one", serving.address, 1),
        Client("127.0.0.1", serving.port) as client,
        client.new_session("wide") as session,
    ):
        task = wide()
        task.output.keep()
        session.submit()
        # Those who look are told why it does not run.
        http_at = http_address(tmp_path)
        (held,) = [
            line
            for line in ask(serving.address, http_at, Keys(user_key()[0])).sessions or ()
            if line.name == "wide"
        ]
        assert "needs cpus=4" in held.held_up
        assert "unless such a governor joins" in held.held_up
        with governor(tmp_path, "large", serving.address, 4):
            assert task.output.fetch().load() == 4


def test_each_running_task_has_its_own_gpu_and_the_others_have_none(tmp_path: Path) -> None:
    show = Program(["/bin/sh", "-c", 'printf %s "$CUDA_VISIBLE_DEVICES"'], stdout=True)
    two = Program(
        ["/bin/sh", "-c", 'printf %s "$CUDA_VISIBLE_DEVICES"'], stdout=True, resources={"gpus": 2}
    )
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 4, "--gpus", "2", "--resource", "licence=1"),
        Client("127.0.0.1", serving.port) as client,
        client.new_session("gpus") as session,
    ):
        (info,) = client.get_server_info()["governors"]
        assert info["resources"]["gpus"] == 2
        assert info["resources"]["licence"] == 1
        assert info["resources"]["memory"] > 0
        held = [hold_gpu(0.1) for _ in range(6)]
        none, plain, both = see_gpus(), show(), two()
        session.keep_all()
        session.submit()
        spans = [task.output.fetch().load() for task in held]
        for i, (gpu, began, ended) in enumerate(spans):
            assert gpu in {"0", "1"}
            for other, other_began, other_ended in spans[:i]:
                assert gpu != other or began >= other_ended or other_began >= ended
        assert none.output.fetch().load() == ["", [], {"cpus": 1}]
        assert plain.output.fetch().get_str() == ""
        assert both.output.fetch().get_str() == "0,1"


def test_memory_and_licences_are_never_lent_twice(tmp_path: Path) -> None:
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 4, "--memory", "4G", "--resource", "licence=1"),
        Client("127.0.0.1", serving.port) as client,
    ):
        for needs in ({"memory": "3GiB"}, {"licence": 1}):
            with client.new_session("one at a time") as session:
                made = [
                    Program(["/bin/sh", "-c", "date +%s%N; sleep 0.1; date +%s%N"], stdout=True,
                            resources=needs)()
                    for _ in range(3)
                ]  # fmt: skip
                session.keep_all()
                session.submit()
                spans = sorted(
                    tuple(map(int, task.output.fetch().get_str().split())) for task in made
                )
                assert all(earlier[1] <= later[0] for earlier, later in pairwise(spans))


def test_update_tells_what_has_happened_to_tasks(tmp_path: Path) -> None:
    @remote()
    def talk(ctx: Any) -> bytes:
        ctx.debug("one {}", 2)
        ctx.info.user["answer"] = 42
        time.sleep(0.02)
        return b"12345"

    @remote()
    def fail(ctx: Any) -> bytes:
        ctx.debug("before the end")
        raise ValueError("it broke")

    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1) as working,
        Client("127.0.0.1", serving.port) as client,
    ):
        with client.new_session("good") as session:
            task = talk()
            task.output.keep()
            session.submit()
            session.wait_all()
            assert task.info is None
            assert task.output.info is None
            task.update()
            task.output.update()
            assert task.state is TaskState.finished
            info = task.info
            assert info is not None
            assert info.governor == client.get_server_info()["governors"][0]["governor_id"]
            assert info.governor == working.address
            assert info.start_time.startswith("20")
            assert info.start_time.endswith("+00:00")
            assert info.duration is not None
            assert 0.02 <= info.duration < PATIENCE
            assert info.user == {"answer": 42}
            assert info.debug == "one 2"
            assert info.error == ""
            assert task.output.info is not None
            assert task.output.info.size == 5
        for ask_for in ("wait", "update"):
            with client.new_session("bad") as session:
                bad, other = fail(), talk()
                session.submit()
                if ask_for == "update":
                    with pytest.raises(TaskException):
                        session.wait_all()
                with pytest.raises(TaskException, match="it broke"):
                    getattr(bad, ask_for)()
                assert bad.state is TaskState.failed
                assert bad.info is not None
                assert "ValueError: it broke" in bad.info.error
                assert bad.info.debug == "before the end"
                assert bad.info.governor == working.address
                assert other.info is None


def test_samples_of_the_machine_are_in_the_event_log(tmp_path: Path) -> None:
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1, "--monitoring", "0.05") as working,
    ):
        http_at = http_address(tmp_path)
        query = {"event_types": [{"value": "Monitoring", "mode": "="}]}
        event = until_now(lambda: post(http_at, query))[0]["event"]
        assert event["governor"] == working.address
        assert len(event["cpu_usage"]) == os.cpu_count()
        assert all(0 <= percent <= 100 for percent in (*event["cpu_usage"], event["mem_usage"]))
        assert len(event["net_stat"]["lo"]) == 2


def test_in_test_mode_tasks_follow_data_that_a_test_has_placed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAIN_TEST_MODE", "1")
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1) as one,
        governor(tmp_path, "two", serving.address, 1) as two,
        Client("127.0.0.1", serving.port) as client,
    ):
        for place in (two, one):
            with client.new_session("placed") as session:
                given = blob("tiny")
                given.spec.user["_testing"] = {"governors": [place.address], "size": 10_000_000}
                reader = tasks.Concat((given,))
                session.submit()
                session.wait_all()
                reader.update()
                assert reader.info is not None
                assert reader.info.governor == place.address


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("--memory", "much", "--memory 'much' is neither a size, such as 4G or 512MiB"),
        ("--gpus", "some", "--gpus 'some' is neither a number nor 'detect'"),
        ("--resource", "licence", "--resource 'licence' is not NAME=AMOUNT"),
    ],
)
def test_a_governor_refuses_a_bad_option_in_one_line(option: str, value: str, text: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "rain", "governor", "127.0.0.1:1", option, value],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert finished.returncode == 1
    assert finished.stderr.startswith(f"rain: {text}")
    assert finished.stderr.count("\n") == 1
