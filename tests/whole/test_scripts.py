"""A script of a user, with a module beside it and classes of its own, twice on one cluster."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole

SCRIPT = """
import sys
from beside import Point, scale
from rain.client import Client, pickled, remote

class Mine:
    def __init__(self, x):
        self.x = x

N = 1

@remote(auto_load=True, auto_encode="pickle")
def f(ctx, given):
    import beside
    return [beside.scale(given.x), Point(N), Mine(given.x)]

with Client("127.0.0.1", int(sys.argv[1])) as client, client.new_session("script") as session:
    scaled, point, mine = session.compute(f(pickled(Point(2)))).load()
    assert type(point) is Point and type(mine) is Mine
    N = 7
    _, after, _ = session.compute(f(Mine(2))).load()
    print(scaled, point.x, mine.x, after.x)
"""

FAILING = """
import sys
from rain.client import Client

def halve(x):
    return 1 / x

def apply(function, x):
    return function(x)

with Client("127.0.0.1", int(sys.argv[1])) as client:
    client.submit(apply, halve, 0).result()
"""


def test_a_script_uses_its_modules_and_classes_and_sees_what_was_changed(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    said: list[str] = []
    with server(tmp_path) as running, governor(tmp_path, "g", running.address):
        for factor in ("10", "1000"):
            (folder / "beside.py").write_text(
                "class Point:\n"
                "    def __init__(self, x):\n"
                "        self.x = x\n"
                f"def scale(x):\n    return {factor} * x\n"
            )
            command = [sys.executable, str(folder / "script.py"), str(running.port)]
            done = subprocess.run(
                command, cwd=elsewhere, capture_output=True, text=True, check=False
            )
            said.append(done.stdout or done.stderr)
    assert said == ["20 1 2 7\n", "2000 1 2 7\n"]


def test_the_error_of_a_call_shows_the_lines_of_the_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(FAILING)
    with server(tmp_path) as running, governor(tmp_path, "g", running.address):
        command = [sys.executable, str(script), str(running.port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f'File "{script}", line 9, in apply\n    return function(x)' in done.stderr
    assert f'File "{script}", line 6, in halve\n    return 1 / x' in done.stderr
    assert done.stderr.endswith("\nZeroDivisionError: division by zero\n")
