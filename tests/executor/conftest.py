from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.executor.child import Child, child


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[Child]:
    with child(tmp_path) as running:
        yield running
