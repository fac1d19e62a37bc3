from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bench.machines import machines
from bench.namespaces import FOLDER, LINKS, remove_abandoned

KILLED = """
import os, signal
from bench.machines import machines
with machines(2):
    print(os.getpid(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def of_process(pid: int) -> list[str]:
    """The namespaces and links of a process that are there."""
    return [
        path.name
        for form, folder in (("rain-of-{}-*", FOLDER), ("rl{}-*", LINKS))
        for path in folder.glob(form.format(pid))
    ]


def test_what_a_killed_program_has_left_is_removed_by_the_next_one() -> None:
    # given
    done = subprocess.run(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, check=False, text=True
    )
    if not done.stdout:
        pytest.skip("this user may not make networks")
    killed = int(done.stdout)
    assert len(of_process(killed)) == 5

    # when
    with machines(1):
        # then
        assert of_process(killed) == []

        # when
        remove_abandoned()

        # then
        assert len(of_process(os.getpid())) == 3
