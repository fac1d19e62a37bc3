"""Copies of one process are daemons of their own, and children of whatever asked for them."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rain.daemon.template import DaemonCopy, Template, reaps_orphans

# Becomes the copies that it is asked for; each does what it is told in Python.
PLAYER = """
import os, signal, socket, sys
from rain.daemon.copies import become
words = become(socket.socket(fileno=os.dup(0)))
if words is not None:
    exec(words[0])
"""
PATIENCE = 20.0

pytestmark = pytest.mark.whole


@contextmanager
def template(folder: Path, code: str = PLAYER, new_session: bool = True) -> Generator[Template]:
    with (folder / "template").open("wb") as output:
        made = Template((sys.executable, "-c", code), output, output, new_session=new_session)
    with made:
        yield made


def ask(made: Template, folder: Path, name: str, code: str, **options: int) -> None:
    with (folder / name).open("wb") as output, (folder / f"{name}.err").open("wb") as errors:
        given = {f"--{option}": descriptor for option, descriptor in options.items()}
        made.order(name, [code], output, errors, given)


def until_complete(made: Template) -> None:
    while not made.complete:
        assert select.select([made], [], [], PATIENCE)[0], "a copy is missing"
        assert made.hear(), "the template has ended"


def run(folder: Path, *codes: str, new_session: bool = True) -> list[DaemonCopy]:
    """A copy for each piece of code."""
    with template(folder, new_session=new_session) as made:
        for number, code in enumerate(codes):
            ask(made, folder, f"copy-{number}", code)
        until_complete(made)
        copies = made.copies()
        made.release()
    return copies


def test_each_copy_does_what_it_was_told_and_ends_with_its_own_status(tmp_path: Path) -> None:
    copies = run(tmp_path, "sys.exit(3)", "os.kill(os.getpid(), signal.SIGKILL)", "pass")

    assert [copy.wait(PATIENCE) for copy in copies] == [3, -signal.SIGKILL, 0]


def test_each_copy_writes_to_its_own_files(tmp_path: Path) -> None:
    for copy in run(tmp_path, "print('rain')", "sys.exit('falls')"):
        copy.wait(PATIENCE)

    assert (tmp_path / "copy-0").read_text() == "rain\n"
    assert (tmp_path / "copy-0.err").read_text() == ""
    assert (tmp_path / "copy-1").read_text() == ""
    assert (tmp_path / "copy-1.err").read_text() == "falls\n"


@pytest.mark.parametrize("new_session", [True, False], ids=["sessions", "groups"])
def test_a_copy_leads_a_session_or_at_least_a_group(tmp_path: Path, new_session: bool) -> None:
    (copy,) = run(tmp_path, "print(os.getpgid(0), os.getsid(0))", new_session=new_session)
    copy.wait(PATIENCE)

    group, session = map(int, (tmp_path / "copy-0").read_text().split())
    assert group == copy.pid
    assert session == (copy.pid if new_session else os.getsid(0))


def test_a_copy_has_the_descriptors_that_it_was_given_and_no_others(tmp_path: Path) -> None:
    listing = "print(*map(os.path.realpath, os.scandir('/proc/self/fd')))"
    reader, writer = os.pipe()
    with template(tmp_path) as made:
        ask(made, tmp_path, "one", "os.write(int(words[2]), words[1].encode())", ready=writer)
        ask(made, tmp_path, "two", listing)
        os.close(writer)
        until_complete(made)
        copies = made.copies()
        made.release()
    for copy in copies:
        copy.wait(PATIENCE)

    assert os.read(reader, 64) == b"--ready"
    assert os.read(reader, 64) == b""  # nobody else has it
    os.close(reader)
    held = (tmp_path / "two").read_text().split()
    assert not [name for name in held if "pipe:" in name or "socket:" in name]


def test_nothing_begins_before_it_is_released(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with template(tmp_path) as made:
        ask(made, tmp_path, "copy", f"open({str(begun)!r}, 'w')")
        until_complete(made)
        (copy,) = made.copies()
        # It is left without being released.

    assert not begun.exists()
    assert (tmp_path / "copy.err").read_text() == "copy was not wanted any more\n"
    assert not Path(f"/proc/{copy.pid}").exists()


def test_a_template_that_ends_too_early_is_noticed(tmp_path: Path) -> None:
    with template(tmp_path, "import sys; sys.exit('no such module')") as made:
        made.process.wait()
        ask(made, tmp_path, "copy", "pass")

        assert select.select([made], [], [], PATIENCE)[0]
        assert not made.hear()
        assert not made.complete
    assert (tmp_path / "template").read_text() == "no such module\n"


def test_copies_do_not_outlive_a_starter_that_is_killed_before_it_releases_them(
    tmp_path: Path,
) -> None:
    starter = f"""
import sys, time
from pathlib import Path
from tests.daemon.test_template import ask, template, until_complete
folder = Path({str(tmp_path)!r})
with template(folder) as made:
    ask(made, folder, "copy", "signal.pause()")
    until_complete(made)
    print(made.copies()[0].pid, flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        copy = os.pidfd_open(int(process.stdout.readline()))
        process.kill()

    assert select.select([copy], [], [], PATIENCE)[0], "it still lives"
    os.close(copy)


def test_a_copy_that_does_not_end_in_time_is_told_as_one(tmp_path: Path) -> None:
    (copy,) = run(tmp_path, "signal.pause()")

    assert copy.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        copy.wait(0.0)

    copy.terminate()
    assert copy.wait() == -signal.SIGTERM
    assert copy.poll() == -signal.SIGTERM


def test_a_copy_that_somebody_else_has_asked_about_has_ended_all_the_same(tmp_path: Path) -> None:
    first, second = run(tmp_path, "sys.exit(3)", "sys.exit(3)")
    for copy in (first, second):
        os.waitpid(copy.pid, 0)

    assert first.wait(PATIENCE) == 0  # what subprocess says of such a process, too
    second.terminate()
    assert second.returncode == 0


def test_orphans_are_wanted_while_any_template_runs(tmp_path: Path) -> None:
    assert not reaps_orphans()
    with template(tmp_path) as first:
        with template(tmp_path) as second:
            second.release()
            assert reaps_orphans()
        first.release()
    assert not reaps_orphans()
