"""A folder on another filesystem than the temporary one, where the machine has two."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def another_filesystem() -> Generator[Path]:
    """In memory, as every Linux has it; to be removed at the end."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:  # that is meant
        yield Path(folder)
