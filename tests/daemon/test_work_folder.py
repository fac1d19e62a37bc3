"""Work folders go with the process that holds them, however it ends."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from rain.base.errors import StartError
from rain.daemon import work_folder
from rain.daemon.work_folder import (
    LOCK,
    SHARED_MEMORY,
    WorkFolder,
    remove_abandoned,
    remove_abandoned_clusters,
)
from rain.stream.removing import remove

_HOLD = """
import sys, time
from pathlib import Path
from rain.daemon.work_folder import WorkFolder
place = sys.argv[1]
if place == "cluster":
    held = WorkFolder.of_cluster("cluster")
elif place == "memory":
    held = WorkFolder.in_shared_memory("governor")
else:
    held = WorkFolder.make(Path(place) if place else None, "governor")
inner = held.path / "data" / "folder"
inner.mkdir(parents=True)
(inner / "file").write_bytes(b"data")
inner.chmod(0o500)
print(held.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A temporary folder that other users could use, too."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        yield Path(name)


def holder(temporary: Path, path: str = "") -> tuple[subprocess.Popen[bytes], Path]:
    """A process with a work folder that has something in it."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, path],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().decode().strip())


def end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.fixture
def killed(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in its default place of a process that was killed."""
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    process, folder = holder(temporary)
    end(process)
    assert (folder / "data" / "folder" / "file").exists()
    return folder


def tidy() -> None:
    remove_abandoned(structlog.get_logger())


def test_the_folder_of_a_killed_process_goes_with_the_next_start(killed: Path) -> None:
    tidy()
    assert not killed.exists()


def test_so_does_the_folder_in_shared_memory(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    process, folder = holder(temporary, "memory")
    assert folder.parent == SHARED_MEMORY
    tidy()
    assert (folder / "data" / "folder" / "file").exists()
    end(process)
    tidy()
    assert not folder.exists()


def test_a_folder_that_is_in_use_stays(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    process, folder = holder(temporary)
    mine = WorkFolder.make(None, "server")
    tidy()
    assert (folder / "data" / "folder" / "file").exists()
    assert mine.path.exists()
    mine.remove()
    assert not mine.path.exists()
    end(process)


def test_a_removal_that_was_interrupted_is_taken_up(
    killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path) -> None:
        if path == killed:
            raise OSError("interrupted")
        remove(path)

    with monkeypatch.context() as patched:
        patched.setattr(work_folder, "remove", interrupted)
        tidy()
    assert [path.name for path in killed.iterdir()] == [LOCK]
    tidy()
    assert not killed.exists()


def test_the_folder_of_a_cluster_inside_of_a_killed_program_goes_with_the_next_start(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    process, folder = holder(temporary, "cluster")
    remove_abandoned_clusters("cluster")
    assert folder.exists()
    end(process)
    remove_abandoned_clusters("other")
    assert folder.exists()
    remove_abandoned_clusters("cluster")
    assert not folder.exists()


def test_a_daemon_removes_them_too_and_leaves_what_was_kept_for_its_user(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    process, folder = holder(temporary, "cluster")
    end(process)
    kept = WorkFolder.of_cluster("local")
    kept.keep()
    tidy()
    assert not folder.exists()
    assert kept.path.exists()


def test_the_lock_of_a_folder_may_be_held_by_another_process_alone(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    work = WorkFolder.of_cluster("local")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=work.lock) as other:
        work.let_go()
        tidy()
        assert work.path.exists()
        other.communicate()
    tidy()
    assert not work.path.exists()


def test_folders_of_other_machines_and_of_nobody_stay(killed: Path) -> None:
    elsewhere = killed.rename(str(killed).replace(f"-{socket.gethostname()}-", "-elsewhere-"))
    unknown = killed.with_name(f"governor-{socket.gethostname()}-unknown")
    unknown.mkdir()
    tidy()
    assert elsewhere.exists()
    assert unknown.exists()


def test_a_killed_process_does_not_keep_its_place(temporary: Path) -> None:
    place = temporary / "work"
    process, _ = holder(temporary, str(place))
    with pytest.raises(StartError, match="work exists already; choose a new one"):
        WorkFolder.make(place, "governor")
    end(process)
    folder = WorkFolder.make(place, "governor")
    assert [path.name for path in place.iterdir()] == [LOCK]
    folder.remove()


def links(temporary: Path) -> list[Path]:
    return [path for path in temporary.rglob("*") if path.is_symlink()]


def test_a_folder_elsewhere_is_found_by_a_link_in_the_default_place(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    process, folder = holder(temporary, str(tmp_path / "one" / "work"))
    tidy()
    assert (folder / "data" / "folder" / "file").exists()
    assert [link.readlink() for link in links(temporary)] == [folder]
    end(process)
    tidy()
    assert not folder.exists()
    assert not links(temporary)


def test_a_link_goes_with_its_folder_however_that_is_removed(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    mine = WorkFolder.make(tmp_path / "mine", "server")
    kept = WorkFolder.make(tmp_path / "kept", "server")
    gone = WorkFolder.make(tmp_path / "gone", "server")
    assert len(links(temporary)) == 3
    mine.remove()
    kept.keep()
    assert [link.readlink() for link in links(temporary)] == [gone.path]
    remove(gone.path)
    tidy()
    assert not links(temporary)
    assert kept.path.exists()
    gone.let_go()


def test_a_folder_inside_of_a_clusters_needs_no_link_and_leaves_nothing(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    cluster = WorkFolder.of_cluster("test")
    inside = WorkFolder.make(cluster.path / "work-0", "governor")
    tidy()
    assert inside.link is None
    inside.remove()
    cluster.remove()
    assert not list(temporary.iterdir())


def test_what_a_link_leads_to_is_left_when_it_is_no_work_folder(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    folder = WorkFolder.make(tmp_path / "work", "server")
    folder.let_go()
    (folder.path / LOCK).unlink()
    (folder.path / "precious").touch()
    tidy()
    assert (folder.path / "precious").exists()


def test_where_the_temporary_folder_is_not_safe_there_is_no_link(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary.chmod(0o777)  # others may rename what is in it
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    folder = WorkFolder.make(tmp_path / "work", "server")
    assert folder.link is None
    tidy()  # says so, and goes on
    folder.remove()
    assert not folder.path.exists()


def test_a_folder_of_a_user_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "precious").touch()
    with pytest.raises(StartError, match="exists already"):
        WorkFolder.make(tmp_path / "work", "governor")
    assert (tmp_path / "work" / "precious").exists()


def test_where_there_are_no_locks_a_folder_is_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError("Function not implemented")

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", unsupported)
        folder = WorkFolder.make(tmp_path / "work", "governor")
    with pytest.raises(StartError, match="exists already"):
        WorkFolder.make(tmp_path / "work", "governor")
    folder.remove()
    assert not (tmp_path / "work").exists()
