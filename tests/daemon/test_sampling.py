"""A process that is asked to writes down where it spends its CPU time."""

import inspect
import subprocess
import sys
from pathlib import Path

from rain.daemon.sampling import VARIABLE, stack_of

BUSY = """
import signal, sys
from rain.daemon.sampling import start_if_asked
start_if_asked("burner")
def burn(file):
    while not (file and open(file).read().count("\\n") >= 3):
        sum(range(10_000))
        if not file:
            break
burn(sys.argv[1] if len(sys.argv) > 1 else "")
print(signal.getitimer(signal.ITIMER_PROF)[1])
"""

FIND_OWN = """
import os, pathlib
class Own:
    def __new__(cls): return f"{os.environ['RAIN_PROFILE']}/burner-{os.getpid()}.stacks"
import sys; sys.argv.append(Own())
"""


def outermost_first() -> str:
    return stack_of(inspect.currentframe())


def test_a_stack_names_its_functions_outermost_first() -> None:
    names = outermost_first().split(";")

    assert names[-1] == f"{__name__}.outermost_first"
    assert names[-2] == f"{__name__}.test_a_stack_names_its_functions_outermost_first"


def test_every_sample_is_one_line_of_a_file_of_the_process(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FIND_OWN + BUSY],
        env={VARIABLE: str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("burner-")
    lines = file.read_text().splitlines()
    assert len(lines) >= 3
    assert any(line.split(";")[-1] == "__main__.burn" for line in lines)


def test_nothing_is_sampled_unless_it_is_asked_for(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", BUSY],
        env={"PYTHONPATH": ":".join(sys.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.stdout == "0.0\n", ran.stderr
    assert list(tmp_path.iterdir()) == []
