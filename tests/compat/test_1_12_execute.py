"""Spec 1.12, 1.13 and 3.7: external programs."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rain.client import (
    Client,
    Input,
    InputDir,
    Output,
    OutputDir,
    Program,
    Session,
    Task,
    blob,
    directory,
    tasks,
)
from rain.client.rpc.common import TaskState
from tests.compat.running import failure, result, results
from tests.support.modes import in_processes

pytestmark = pytest.mark.whole


def said(args: Any, **options: Any) -> bytes:
    """What a program prints."""
    return result(tasks.Execute(args, stdout=True, **options))


def test_a_command_line_is_split_and_no_shell_sees_it(session: Session) -> None:
    assert said("echo '$HOME  x' \"a b\"") == b"$HOME  x a b\n"
    assert said(["echo", "a  b", "x$HOME"]) == b"a  b x$HOME\n"
    assert said(["echo", "a  b", "$HOME"], shell=False) == b"a  b $HOME\n"


def test_a_shell_gets_the_words_joined_and_unquoted(session: Session) -> None:
    assert said(["echo", "a  b;", "echo", "$((1 + 1))"], shell=True) == b"a b\n2\n"
    assert said(["cat", blob("abc"), "| tr b x"], shell=True) == b"axc"
    assert said("echo one | tr o 0", shell=True) == b"0ne\n"


def test_bare_objects_are_different_files_whatever_their_labels(session: Session) -> None:
    first, second, third = blob("1"), blob("2"), tasks.Concat([blob("3")])
    own = Input("own", path="const", dataobj=blob("4"))

    assert said(["cat", first, second, third, own, first]) == b"12341"


def test_files_are_where_the_paths_say(session: Session) -> None:
    task = tasks.Execute(
        ["sh", "-c", "cat in/side/file - > out/side/file; ls in", "sh"],
        stdin=Input("text", dataobj=blob("stdin")),
        stdout=Output("names", content_type="text"),
        input_paths=[Input("x", path="in/side/file", dataobj=blob("file "))],
        output_paths=[Output("y", path="out/side/file")],
    )

    names, written = results(task)

    assert task.outputs.labels == ["names", "y"]
    assert names.load() == "side\n"
    assert written.get_bytes() == b"file stdin"


def test_without_stdin_a_program_reads_nothing(session: Session) -> None:
    assert said("cat") == b""


def test_directories_go_in_and_come_out(session: Session) -> None:
    task = tasks.Execute(
        ["cp", "-r", directory({"a": "1", "empty": {}}), OutputDir("copy")], stdout="printed"
    )

    assert said(["ls", task.outputs["copy"]]) == b"a\nempty\n"
    assert said(["cat", Input(dataobj=tasks.SliceDirectory(task.outputs["copy"], "a"))]) == b"1"


@pytest.mark.parametrize("size", [10, 300_000])
def test_a_writable_input_is_a_copy_of_its_own(session: Session, size: int) -> None:
    data = blob(bytes(size))
    changed = tasks.Execute(
        ["sh", "-c", "test ! -L text && echo more >> text"],
        input_paths=[Input("text", dataobj=data, write=True)],
        output_paths=["text"],
    )
    same = tasks.Concat([data])

    first, second = results(changed, same)

    assert first.get_bytes() == bytes(size) + b"more\n"
    assert second.get_bytes() == bytes(size)


def test_a_large_input_is_a_link_to_a_file_that_is_read_only(session: Session) -> None:
    line = 'test -L data && stat -L -c %a data && stat -L -c %a "folder/file"'
    task = tasks.Execute(
        ["sh", "-c", line],
        stdout=True,
        input_paths=[
            Input("data", dataobj=blob(bytes(300_000))),
            InputDir("folder", dataobj=directory({"file": bytes(300_000)})),
        ],
    )

    assert result(task) == b"444\n444\n"


def test_an_input_may_be_an_output_at_the_same_time(session: Session) -> None:
    data = blob(bytes(300_000))
    task = tasks.Execute(["true"], input_paths=[Input("data", dataobj=data)], output_paths=["data"])

    assert result(task) == bytes(300_000)
    assert result(tasks.Concat([task])) == bytes(300_000)


def test_links_in_a_directory_that_was_made_become_copies(session: Session) -> None:
    line = "mkdir made; ln -s $PWD/data made/link; ln -s link made/relative"
    task = tasks.Execute(
        ["sh", "-c", line],
        input_paths=[Input("data", dataobj=blob(bytes(300_000)))],
        output_paths=[OutputDir("made")],
    )
    parts = [tasks.SliceDirectory(task, "link"), tasks.SliceDirectory(task, "relative")]

    assert [found.get_bytes() for found in results(*parts)] == [bytes(300_000)] * 2


@in_processes
def test_a_program_that_nobody_waits_for_ends_with_its_session(client: Client) -> None:
    with client.new_session("ended") as session:
        task = tasks.Execute(["sh", "-c", "echo $$ >&2; sleep 61 & sleep 61"])
        session.submit()
        while task.state is not TaskState.running:
            task.update()
    while any(governor["tasks"] for governor in client.get_server_info()["governors"]):
        pass
    while any("sleep\x0061\x00" in line for line in command_lines()):
        pass


def command_lines() -> list[str]:
    """Those of all processes of this machine."""
    found: list[str] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it may have ended meanwhile
                found.append((folder / "cmdline").read_text(errors="replace"))
    return found


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: tasks.Execute(["sh", "-c", "echo out; echo bad >&2; exit 3"]),
            ["exit code 3", "bad"],
        ),
        (
            lambda: tasks.Execute(["sh", "-c", "echo bad >&2; kill -9 $$"]),
            ["killed by SIGKILL", "bad"],
        ),
        (lambda: tasks.Execute("no-such-program x"), ["no-such-program", "No such file"]),
        (lambda: tasks.Execute("true", output_paths=["missing"]), ["'missing'"]),
        (lambda: tasks.Execute("mkdir o", output_paths=["o"]), ["'o'", "a file"]),
        (lambda: tasks.Execute("touch o", output_paths=[OutputDir("o")]), ["'o'", "a directory"]),
        (
            lambda: tasks.Execute(
                "touch o", output_paths=[OutputDir("lab", path="o", content_type="dir")]
            ),
            ["'lab'", "'dir'"],
        ),
    ],
)
def test_a_program_that_fails_says_how(
    client: Client, build: Callable[[], Task], words: list[str]
) -> None:
    message = failure(client, build)

    assert [word for word in words if word not in message] == []


def test_all_that_a_program_wrote_to_stderr_is_told(client: Client) -> None:
    line = "i=0; while [ $i -lt 2000 ]; do echo line $i. >&2; i=$((i + 1)); done; exit 1"

    message = failure(client, lambda: tasks.Execute(["sh", "-c", line]))

    assert "line 0." in message
    assert "line 1999." in message


def test_a_program_is_called_with_objects_and_tasks(session: Session) -> None:
    paste = Program(
        ["paste", "-d", ",", Input("left"), Input("right", path="sub/right")],
        stdout=Output("pasted", content_type="text"),
        name="paste",
    )
    inner = paste(left=blob("a"), right=blob("b"))
    outer = paste("outer", left=inner, right=tasks.Concat([blob("c")]), output=Output("ignored"))

    assert (inner.name, outer.name) == ("paste", "outer")
    assert results(outer)[0].load() == "a,b,c\n"
    with pytest.raises(KeyError, match="right"):
        paste(left=blob("a"))


def test_a_program_reads_stdin_and_further_files(session: Session) -> None:
    tee = Program(
        ["sh", "-c", "cat > copy; cat extra >> copy"],
        stdin="text",
        input_paths=["extra"],
        output_paths=[Output("copy", content_type="text")],
    )

    (found,) = results(tee(text=blob("1"), extra=blob("2")))

    assert found.load() == "12"
    assert found.content_type == "text"
