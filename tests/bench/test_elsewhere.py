"""What other programs take from a turn."""

import os
import subprocess
import sys

import pytest

from bench.elsewhere import Clocks, available, busy_seconds
from bench.marks import MARK

BUSY = """
import time
while time.process_time() < 0.3:
    pass
print(flush=True)
input()
"""


def burn(mark: str) -> subprocess.Popen[bytes]:
    """A program that has computed for a while, and then waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, MARK: mark},
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_all_that_is_not_idle_is_busy() -> None:
    tick = os.sysconf("SC_CLK_TCK")

    stat = f"cpu  {tick} {tick} {tick} 999 999 {tick} {tick} {tick} 50 50\ncpu0 1 2 3\n"

    assert busy_seconds(stat) == 6.0


def test_the_time_of_marked_processes_is_that_of_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARK, "this")
    with burn("this") as ours, burn("another") as theirs:
        clocks = Clocks.read()
        ours.communicate(b"\n")
        theirs.communicate(b"\n")

    assert theirs.pid not in clocks.turn
    assert clocks.turn[ours.pid] >= 0.3


def test_what_neither_this_turn_nor_idleness_had_was_elsewhere() -> None:
    before = Clocks(time=10.0, machine=100.0, turn={1: 5.0, 2: 7.0})
    after = Clocks(time=12.0, machine=104.0, turn={2: 8.0, 3: 0.5})

    assert after.elsewhere_since(before) == pytest.approx((4.0 - 1.5) / 2)


def test_others_take_the_spare_cpus_first() -> None:
    assert available(2, elsewhere=3.0, machine_cpus=8) == 2
    assert available(2, elsewhere=0.5, machine_cpus=2) == 1.5
    assert available(2, elsewhere=9.0, machine_cpus=2) == 0
