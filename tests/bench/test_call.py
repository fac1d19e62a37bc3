"""What is read of processes, and the arithmetic of the table; the measurement itself is no test."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.call import Costs, Used, call_sheet, call_values, descendants, read_used, role_of
from bench.relay import BOTH, relay

COSTS = Costs(
    calls=4,
    seconds=[0.001, 0.002, 0.003, 0.004],
    used=[("client", Used(0.002, 8, 4)), ("server", Used(0.004, 4, 0))],
)


def test_what_all_threads_of_a_process_have_used_is_added_up(tmp_path: Path) -> None:
    for number, (nanoseconds, sleeps) in enumerate([(3_000_000, 5), (1_000_000, 2)]):
        thread = tmp_path / "7" / "task" / str(number)
        thread.mkdir(parents=True)
        (thread / "schedstat").write_text(f"{nanoseconds} 17 4\n")
        (thread / "status").write_text(
            f"Name:\tpython\nvoluntary_ctxt_switches:\t{sleeps}\nnonvoluntary_ctxt_switches:\t1\n"
        )

    assert read_used(7, tmp_path) == Used(0.004, 7, 2)


def test_this_process_has_used_more_later() -> None:
    before = read_used(os.getpid())
    sum(range(1_000_000))

    assert read_used(os.getpid()).since(before).seconds > 0


def test_the_children_of_children_are_found() -> None:
    program = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\n"
        "input()\n"
        "child.communicate(b'over')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        grandchild = int(started.stdout.readline())
        found = list(descendants(os.getpid()))
        started.stdin.write("over\n")

    assert {started.pid, grandchild} <= set(found)


@pytest.mark.parametrize(
    ("command", "role"),
    [
        ("python\0-m\0rain\0server\0--listen\0localhost:0", "server"),
        ("python\0-m\0rain\0embedded\0governor\0localhost:0", BOTH),
        ("python\0-m\0rain\0template", "governor"),
        ("python\0-I\0-m\0rain.executor", "executor"),
        ("/bin/sh\0-c\0read -r word", ""),
    ],
)
def test_processes_have_roles_by_their_commands(command: str, role: str) -> None:
    assert role_of(command) == role


def test_the_table_shows_what_one_call_costs_each_process_and_all_together() -> None:
    rows: list[object] = [*COSTS.rows()]
    assert rows == [
        ("client", pytest.approx(500), 2.0, 1.0),
        ("server", pytest.approx(1000), 1.0, 0.0),
        ("together", pytest.approx(1500), 3.0, 1.0),
    ]
    sheet = call_sheet("compute", COSTS)
    assert sheet.rows[-1] == ("together", "1500 µs", "3.00", "1.00")
    assert sheet.caption == "Median of the calls: 2.50 ms."
    assert call_values("compute", COSTS)["name"] == "compute"


def test_a_relay_answers_as_a_call_does_and_its_processes_end() -> None:
    with relay() as around:
        answers = [around.call(number) for number in range(3)]
        roles = [role for role, _ in around.others]

    assert answers == [1, 2, 3]
    assert roles == [BOTH, "executor"]
    assert not any(Path(f"/proc/{pid}").exists() for _, pid in around.others)
