"""Signal handlers that submit and wait wherever they come: that works, or is refused by name."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

PATIENCE = 120.0
HANDLED = 100

SCRIPT = """
import random, signal
from rain.client import Client, RainException, remote

@remote(auto_encode="pickle")
def same(ctx, x):
    return x

def plain(x):
    return x

def submit_and_wait():
    assert client.submit(plain, 5).result() == 5

def submit_a_task():
    with handlers.bind_only():
        task = same(3)
        handlers.submit()
        task.wait()

def wait_for_what_was_submitted():
    if live:
        live[-1].result()

def handle(*_):
    global handled, is_busy
    if is_busy:
        return
    is_busy = True
    try:
        random.choice([submit_and_wait, submit_a_task, wait_for_what_was_submitted])()
        print("works")
    except RainException as error:
        print("refused" if "a signal handler cannot wait here" in str(error) else error)
    finally:
        is_busy = False
        handled += 1

handled, is_busy, live = 0, False, []
with Client(cpus=2) as client:
    handlers, own = client.new_session("handlers"), client.new_session("own")
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.003, 0.0037)
    while handled < HANDLED:
        live = [client.submit(plain, i) for i in range(50)]
        assert [future.result() for future in live] == list(range(50))
        with own.bind_only():
            tasks = [same(i) for i in range(20)]
            own.submit()
            for task in tasks:
                task.wait()
    signal.setitimer(signal.ITIMER_REAL, 0)
"""


def test_a_signal_handler_submits_and_waits_anywhere_or_is_refused_by_name(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("HANDLED", str(HANDLED)))
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ran.returncode == 0, ran.stderr
    said = Counter(ran.stdout.splitlines())
    assert said.keys() <= {"works", "refused"}
    assert said["works"]
