"""A governor of another release of Python: what is served there, and what is refused by name."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import numpy as np
import pytest

from rain.client import Client, tasks
from rain.common.code import OtherPythonError
from tests.support.other_python import other_python
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole


@pytest.fixture
def python() -> str:
    return other_python()


@pytest.fixture
def client(tmp_path: Path, python: str) -> Generator[Client]:
    """Of a cluster that has this governor alone."""
    with (
        server(tmp_path) as head,
        governor(tmp_path, "other", head.address, 1, python=python),
        Client("127.0.0.1", head.port) as client,
    ):
        yield client


def test_functions_of_modules_programs_and_data_work_and_code_that_travels_is_refused(
    client: Client, python: str
) -> None:
    ask = [python, "-c", "import platform; print(platform.python_version())"]
    there = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    assert there != platform.python_version()

    # functions that can be imported there, with data in both directions
    assert client.submit(platform.python_version).result() == there
    doubled = client.submit(np.multiply, np.arange(100_000), 2).result()
    assert np.array_equal(doubled, np.arange(0, 200_000, 2))
    # external programs
    with client.new_session("programs") as session:
        said = tasks.Execute(["echo", "hello"], stdout=True)
        said.output.keep()
        session.submit()
        assert said.output.fetch().get_bytes() == b"hello\n"
    # a function that travels with its code
    travels: Callable[[int], int] = lambda number: number + 1  # noqa: E731 -- it has no name
    with pytest.raises(OtherPythonError, match="was pickled with its code by Python") as refused:
        client.submit(travels, 1).result()
    here, other = (".".join(one.split(".")[:2]) for one in (platform.python_version(), there))
    assert f"by Python {here}, and Python {other} cannot run that" in str(refused.value)
    # which costs that call alone
    assert client.submit(abs, -1).result() == 1
