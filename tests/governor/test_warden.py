"""The warden removes the folders of a governor that was killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE = 60.0

_GOVERN = """
import sys
from pathlib import Path
import trio
from rain.governor.machine.warden import Warden
from rain.rpc.background import Background

async def main():
    async with trio.open_nursery() as nursery:
        work, shared, link = map(Path, sys.argv[1:])
        warden = Warden(work, Background(nursery), shared, link=link)
        print(warden._process.pid, flush=True)
        await trio.sleep_forever()

trio.run(main)
"""

_FAILS_FIRST = """#!/bin/sh
if [ -e "$0.ran" ]; then exec {real} "$@"; fi
: > "$0.ran"
exit 1
"""


@pytest.mark.parametrize("program", ["chmod", "rm"])
def test_it_bears_that_what_was_killed_removes_and_makes_files_meanwhile(
    tmp_path: Path, program: str
) -> None:
    # given: a program that fails once, as it does when a file goes or comes under it
    stub = tmp_path / "bin" / program
    stub.parent.mkdir()
    stub.write_text(_FAILS_FIRST.format(real=f"/bin/{program}"))
    stub.chmod(0o700)
    folder = tmp_path / "work"
    (folder / "data").mkdir(parents=True)
    shared = tmp_path / "shared"
    (shared / "stage-1").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(folder)
    path = f"{stub.parent}{os.pathsep}{os.environ['PATH']}"
    # when
    governor = subprocess.Popen(
        [sys.executable, "-c", _GOVERN, str(folder), str(shared), str(link)],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
    )
    assert governor.stdout is not None
    warden = os.pidfd_open(int(governor.stdout.readline()))
    governor.send_signal(signal.SIGKILL)
    governor.communicate()
    # then
    wait_for(warden)
    assert (stub.parent / f"{program}.ran").exists()
    assert not folder.exists()
    assert not shared.exists()
    assert not link.is_symlink()


def wait_for(process: int) -> None:
    """Returns when a process that is no child has ended."""
    try:
        assert select.select([process], [], [], PATIENCE)[0]
    finally:
        os.close(process)
