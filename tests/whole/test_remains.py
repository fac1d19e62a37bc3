"""Nothing stays of a part that was killed: docs/reliability.md has the table that this holds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rain.client import Client, Input, blob, create_file, tasks
from rain.daemon.private import temporary_folder
from rain.files.local import part_of
from rain.governor.executors.links import LOGS_OF_ENDED
from rain.stream.spare_files import FOLDER as SPARE_FOLDER
from rain.stream.spare_uploads import TAKEN
from tests.support.waiting import until_now
from tests.whole.daemons import children, governor, server, wait_for_end

pytestmark = pytest.mark.whole

LARGE = 2_000_000

LOCK = ".rain-work-folder"

# A client that uploads, keeps and runs something, says so, and waits until it is killed.
BUSY_CLIENT = """
import sys, time
from rain.client import Client
client = Client("127.0.0.1", int(sys.argv[1]))
kept = client.submit(bytes, 2_000_000)
kept.result()
held = client.submit(len, bytes(3_000_000))
held.result()
running = client.submit(time.sleep, 600)
print("busy", flush=True)
time.sleep(600)
"""

# A program with a cluster inside of it, which has stored something.
BUSY_LOCAL = """
import sys, time
from rain.client import Client
client = Client(local=True)
future = client.submit(bytes, 2_000_000)
future.result()
print("busy", flush=True)
time.sleep(600)
"""


def stage_and_die() -> None:
    """Leaves a file in the program's folder, and nothing of its own will clean up."""
    Path("left").write_bytes(bytes(LARGE))
    os.kill(os.getpid(), signal.SIGKILL)


def write_half_and_die(path: str) -> bytes:
    """The first run is killed in the middle; the next one writes all of it."""
    is_first = not part_of(Path(path)).exists()
    with create_file(path) as stream:
        stream.write(bytes(LARGE))
        if is_first:
            stream.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    return b"written"


# A program that is killed while it downloads, or else writes, a file.
HALF_WRITTEN = """
import sys, time
from pathlib import Path
from rain.files.local import part_beside
with part_beside(Path(sys.argv[1])) as part:
    part.write_bytes(bytes(2_000_000))
    print("busy", flush=True)
    time.sleep(600)
"""


def files_below(*folders: Path) -> list[Path]:
    """All but the empty folders of spare files."""
    found = [path for folder in folders for path in folder.rglob("*")]
    return [path for path in found if path.name not in {SPARE_FOLDER, TAKEN}]


def links_into(folder: Path) -> list[Path]:
    """By which the next start would find work folders there."""
    links = [path for path in (temporary_folder() / "work").iterdir() if path.is_symlink()]
    return [path for path in links if path.readlink().is_relative_to(folder)]


def killed_when_busy(*arguments: str) -> None:
    """Runs a program until it says that it is busy, and kills it."""
    with subprocess.Popen([sys.executable, "-c", *arguments], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"busy\n"
        program.kill()


def test_nothing_stays_of_a_client_that_is_killed_on_the_server_and_the_governor(
    tmp_path: Path,
) -> None:
    with (
        server(tmp_path, "--workdir", str(tmp_path / "server-work"), "--no-http") as serving,
        governor(tmp_path, "one", serving.address, 2) as one,
    ):
        work = tmp_path / "one-work"
        killed_when_busy(BUSY_CLIENT, str(serving.port))
        until_now(lambda: not files_below(work / "data", work / "tasks"))
        until_now(lambda: [path.name for path in files_below(tmp_path / "server-work")] == [LOCK])
        assert one.end() == 0
        assert not work.exists()
        assert serving.end() == 0
        assert not (tmp_path / "server-work").exists()
        assert not links_into(tmp_path)


def test_nothing_stays_of_executors_that_are_killed_but_the_logs_of_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where plain functions of this program write
    with (
        server(tmp_path, "--no-http") as serving,
        governor(tmp_path, "one", serving.address, 1),
        Client("127.0.0.1", serving.port) as client,
    ):
        work, logs = tmp_path / "one-work", tmp_path / "one-logs" / "executors"
        for _ in range(LOGS_OF_ENDED + 3):
            assert client.options(crash_tries=1).submit(stage_and_die).exception()
        assert client.submit(abs, -1).result() == 1
        until_now(lambda: len(list((work / "executors" / "work").iterdir())) == 1)
        assert not files_below(work / "data")
        until_now(lambda: len(list(logs.iterdir())) == 2 * (LOGS_OF_ENDED + 1))


def test_nothing_stays_of_half_a_file_when_the_next_one_writes_it(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with (
        server(tmp_path, "--no-http") as serving,
        governor(tmp_path, "one", serving.address, 1),
        Client("127.0.0.1", serving.port) as client,
    ):
        future = client.options(crash_tries=2).submit(write_half_and_die, str(target / "called"))
        assert future.result() == b"written"
        assert len(future.info().runs) == 2
        killed_when_busy(HALF_WRITTEN, str(target / "downloaded"))
        assert len(files_below(target)) == 2
        with client.new_session("download") as session:
            data = blob(bytes(LARGE))
            data.keep()
            session.submit()
            data.download(target / "downloaded")
        assert sorted(path.name for path in files_below(target)) == ["called", "downloaded"]
        assert not files_below(tmp_path / "one-work" / "tasks")


def test_nothing_stays_of_a_governor_that_is_killed_with_programs_and_executors_at_work(
    tmp_path: Path,
) -> None:
    with (
        server(tmp_path, "--no-http") as serving,
        governor(tmp_path, "one", serving.address, 4) as one,
        Client("127.0.0.1", serving.port) as client,
        client.new_session("programs") as session,
    ):
        os.mkfifo(tmp_path / "endless")
        tasks.Fetch(tmp_path / "endless")
        kept = client.submit(bytes, LARGE)
        assert len(kept.result()) == LARGE
        client.submit(time.sleep, 600)
        tasks.Execute(["sleep", "600"], input_paths=[Input("in", dataobj=blob(bytes(LARGE)))])
        session.submit()
        work = tmp_path / "one-work"
        until_now(lambda: files_below(work / "tasks"))
        with (tmp_path / "endless").open("wb") as endless:
            until_now(lambda: [path for path in files_below(work) if path.name == "fetched"])
            endless.write(bytes(LARGE))
            started = children(one.process.pid)
            one.kill()
            for pid in started:
                wait_for_end(pid)
        until_now(lambda: not work.exists() and not links_into(tmp_path))


@pytest.mark.parametrize("place", ["server-work", "elsewhere"])
def test_nothing_stays_of_a_server_that_is_killed_when_the_next_one_starts(
    tmp_path: Path, place: str
) -> None:
    work = tmp_path / "server-work"
    with (
        server(tmp_path, "--workdir", str(work), "--no-http") as first,
        subprocess.Popen(
            [sys.executable, "-c", BUSY_CLIENT, str(first.port)], stderr=subprocess.DEVNULL
        ) as client,
    ):
        until_now(lambda: files_below(work))
        first.kill()
        client.kill()
    assert files_below(work)
    with server(tmp_path, "--workdir", str(tmp_path / place), "--no-http"):
        assert [path.name for path in files_below(tmp_path / place)] == [LOCK]
        until_now(lambda: work.exists() == (place == "server-work"))


def test_nothing_stays_of_a_program_with_a_cluster_inside_when_the_next_one_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    killed_when_busy(BUSY_LOCAL)
    (folder,) = tmp_path.glob("rain-here-*")
    with Client(local=True):
        assert not folder.exists()
    assert not list(tmp_path.glob("rain-here-*"))
