"""Two users of one machine share a folder that they have named, each with a private umask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

GROUP = 64_321

_USER = """
import os, sys
from pathlib import Path
from rain.cache.folder import FoundEntry
from tests.cache.support import a_cache, a_key, add
user, group, folder, made = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
if os.geteuid() == 0:
    os.setgroups([group]); os.setgid(user); os.setuid(user)
os.umask(0o077)
large = folder.parent / f"large-{user}"
large.write_bytes(bytes(3000))
cache = a_cache(folder, 10_000)
for name in ("1", "2", "3"):
    key = a_key(function=name)
    print("found" if isinstance(cache.find(key), FoundEntry) else cache.find(key))
for name in made.split(","):
    add(cache, a_key(function=name), large)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for the group that other users can reach, unlike those of pytest."""
    above = Path("/tmp") / f"rain-test-cache-{os.getpid()}"
    above.mkdir()
    above.chmod(0o777)
    made = above / "results"
    made.mkdir()
    if os.geteuid() == 0:
        os.chown(made, -1, GROUP)
    try:
        yield made
    finally:
        shutil.rmtree(above)


def as_user(user: int, folder: Path, *made: str) -> list[str]:
    """What a user finds of three results, before it makes others."""
    command = [sys.executable, "-c", _USER, str(user), str(GROUP), str(folder), ",".join(made)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split("\n")[:-1]


@pytest.mark.parametrize("rights", [0o2770, 0o770, 0o2775, 0o777])
def test_each_finds_what_the_other_one_has_made_and_both_keep_to_the_limit(
    folder: Path, rights: int
) -> None:
    folder.chmod(rights)

    assert as_user(64_001, folder, "1", "2", "3") == ["no entry"] * 3
    assert as_user(64_002, folder, "4", "5", "6") == ["found"] * 3
    # then: what the second one has added was too much, and the first one's results have gone
    assert set(as_user(64_001, folder, "7", "8", "9")) == {"its entry was evicted"}
    assert not list((folder / "new").iterdir())
