"""The fixture that users have in their tests."""

import subprocess
import sys
import tomllib
from pathlib import Path
from textwrap import dedent

PROJECT = Path(__file__).parent.parent.parent

USERS_TESTS = """
    import os

    def square(x):
        return x * x

    def test_here(rain_client):
        assert rain_client.submit(os.getpid).result() == os.getpid()

    def test_a_function_of_the_test_file(rain_client):
        assert rain_client.gather(rain_client.map(square, range(3))) == [0, 1, 4]

    def test_that_fails(rain_client):
        assert rain_client.submit(square, "two").result() == 4
"""


def test_tests_of_users_have_a_local_client(tmp_path: Path) -> None:
    (tmp_path / "test_users.py").write_text(dedent(USERS_TESTS))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "rain.local.pytest_plugin", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(PROJECT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert "1 failed, 2 passed" in ran.stdout, ran.stdout + ran.stderr
    assert ">       return x * x" in ran.stdout, "pytest shows the line of the function"


def test_pytest_finds_it_by_its_entry_point_and_loads_no_client_for_it() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = project["entry-points"]["pytest11"]["rain"]
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys, pytest, {module}; print('rain.client' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
        cwd=PROJECT,
    )
    assert loaded.stdout == "False\n"
