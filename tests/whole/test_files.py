"""Files in a real S3 server: listed once, read and written by tasks, and secrets stay secret."""

from __future__ import annotations

import os
import signal
import urllib.request
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import fsspec.asyn
import pytest

from rain.client import (
    Client,
    File,
    Input,
    OutputDir,
    Program,
    RainException,
    create_file,
    directory,
    open_files,
    tasks,
)
from rain.files import AccessError, ChangedFileError, FileExistsAlready, MissingFileError
from tests.support.leaks import Footprint
from tests.support.s3 import KEY, S3, SECRET, s3_server
from tests.whole.daemons import Daemon, governor, http_password, server

pytestmark = pytest.mark.whole

fsspec.asyn.get_loop()  # its thread stays from then on

LINES = [f"line {number}\n" for number in range(10_000)]


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Generator[S3, None, None]:
    with s3_server(tmp_path_factory.mktemp("s3")) as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def serving(folder: Path) -> Generator[Daemon, None, None]:
    with server(folder, "--journal", str(folder / "journal")) as made:
        yield made


@pytest.fixture(scope="module")
def client(s3: S3, serving: Daemon, folder: Path) -> Generator[Client, None, None]:
    """Its governor has the credentials in its environment; the tests do not."""
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in s3.environment().items():
                patch.setenv(name, value)
            stack.enter_context(governor(folder, "one", serving.address, 2))
        yield stack.enter_context(Client("127.0.0.1", serving.port))


def write_lines(url: str, number: int) -> File:
    with create_file(f"{url}/part-{number}.txt") as stream:
        stream.writelines(line.encode() for line in LINES[number::4])
    return open_files(f"{url}/part-{number}.txt")[0]


def lines_of(file: File) -> list[str]:
    with file.open("r") as stream:
        return stream.readlines()


def name_and_options(file: File) -> tuple[str, list[str]]:
    return file.name, sorted(file.storage_options)


def die_in_the_middle(url: str) -> None:
    with create_file(url) as stream:
        stream.write(bytes(60_000_000))  # more than a piece: some of it is sent
        os.kill(os.getpid(), signal.SIGKILL)


def test_files_are_written_listed_cut_and_read_by_tasks(client: Client, s3: S3) -> None:
    url = f"s3://{s3.bucket}/lines"
    written = client.gather(client.map(write_lines, [url] * 4, range(4)))

    found = client.submit(open_files, f"{url}/*.txt").result()
    blocks = client.submit(open_files, f"{url}/*.txt", block_size="8KiB").result()
    read = client.gather(client.map(lines_of, blocks))

    assert found == written
    assert len(blocks) > 8
    assert [line for lines in read for line in lines] == [
        line for number in range(4) for line in LINES[number::4]
    ]


def test_programs_get_files_that_were_fetched_once(client: Client, s3: S3) -> None:
    file = client.submit(write_lines, f"s3://{s3.bucket}/program", 1).result()
    count = Program(["wc", "-l", Input("text")], stdout=True)
    with client.new_session("programs") as session:
        counts = [count(text=file), tasks.Execute(["cat", file], stdout=True)]
        assert len({id(task.inputs[0]) for task in counts}) == 1
        session.keep_all()
        session.submit()
        session.wait_all()
        assert counts[0].output.fetch().get_str().split()[0] == "2500"
        assert counts[1].output.fetch().get_str().splitlines(keepends=True) == LINES[1::4]


def test_a_file_that_has_changed_in_its_store_is_named(client: Client, s3: S3) -> None:
    url = f"s3://{s3.bucket}/changing"
    file = client.submit(write_lines, url, 0).result()
    client.submit(bytes, 3).save(file.url, overwrite=True).result()
    assert isinstance(client.submit(lines_of, file).exception(), ChangedFileError)


def test_results_and_directories_are_saved_whole_or_not(client: Client, s3: S3) -> None:
    url = f"s3://{s3.bucket}/saved"
    saved = client.submit(str, 42).save(f"{url}/answer")
    assert client.submit(File.read_text, saved).result() == "42"
    refused = client.submit(str, 43).save(f"{url}/answer").exception()
    assert isinstance(refused, FileExistsAlready)
    assert isinstance(client.submit(dict).save(f"{url}/x").exception(), TypeError)
    with client.new_session("save") as session:
        made = directory({"one": "1", "sub/two": "2"})
        files = session.compute(tasks.Save(made, f"{url}/folder")).load()
        again = directory({"one": "1", "three": "3"})
        over = session.compute(tasks.Save(again, f"{url}/folder", overwrite=True)).load()
    assert [file.name for file in files] == ["_SUCCESS", "one", "two"]
    assert [file.name for file in over] == ["_SUCCESS", "one", "three"]


def test_a_task_that_is_killed_leaves_no_half_of_a_file(client: Client, s3: S3) -> None:
    url = f"s3://{s3.bucket}/killed/half"
    assert client.options(crash_tries=1).submit(die_in_the_middle, url).exception()
    error = client.submit(open_files, url).exception()
    assert isinstance(error, MissingFileError)


def test_a_range_of_a_file_in_a_directory_moves_without_the_rest(client: Client) -> None:
    with client.new_session("ranges") as session:
        made = tasks.Execute(
            "mkdir -p made/sub && yes rain | head -c 5000000 > made/sub/text",
            shell=True,
            output_paths=[OutputDir("made")],
        )
        text = tasks.SliceDirectory(made, "sub/text")
        session.keep_all()
        session.submit()
        session.wait_all()
        connection: Any = client.connection
        before = connection.bytes_received
        with made.output.open("sub/text") as stream:
            assert stream.seek(-5, 2) == 4_999_995
            assert stream.read() == b"rain\n"
        assert made.output.fetch_range(2, 7, "sub/text") == b"in\nra"
        assert text.output.fetch_range(4_999_999) == b"\n"
        assert connection.bytes_received - before == 5 + 5 + 1
        for ask, message in (
            (made.output.open, "is a directory: name one of its files"),
            (lambda: made.output.open("none"), "it has no file 'none'"),
            (lambda: text.output.open("none"), "is a blob, and has no file 'none'"),
            (lambda: text.output.fetch_range(2, 1), "there are no bytes from 2 to 1"),
        ):
            with pytest.raises(RainException, match=message):
                ask()


def test_what_a_user_gives_for_a_store_is_in_no_log_event_or_command_line(
    client: Client, serving: Daemon, s3: S3, folder: Path
) -> None:
    # given: a client that has the key itself, and a store that refuses another one
    written = client.submit(write_lines, f"s3://{s3.bucket}/secret", 0).result()
    (file,) = open_files(written.url, storage_options=s3.options())
    assert client.submit(name_and_options, file).result() == (
        "part-0.txt",
        ["client_kwargs", "key", "secret"],
    )
    with pytest.raises(AccessError) as wrong:
        open_files(written.url, storage_options=s3.options(secret="wrong-" + SECRET))
    with client.new_session("secret") as session:
        session.compute(tasks.Execute(["cat", file], stdout=True))
        session.compute(tasks.Save(file, written.url, overwrite=True, storage_options=s3.options()))
    failed = client.submit(File.download, file, "/none/x").exception()
    asked = urllib.request.Request(
        f"http://{serving.http}/status", headers=http_password(serving.http)
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        said: list[bytes] = [answer.read()]
    said += [repr(one).encode() for one in (wrong.value, failed, file)]
    processes = Footprint.now().processes
    said += [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes]
    assert any(b"governor" in one for one in said)
    data = (folder / "journal", folder / "one-work")
    for path in folder.rglob("*"):
        if path.is_file() and not any(path.is_relative_to(one) for one in data):
            said.append(path.read_bytes())
    # then
    for one in said:
        assert SECRET.encode() not in one
        assert KEY.encode() not in one


def test_missing_buckets_and_credentials_are_named(s3: S3) -> None:
    with pytest.raises(MissingFileError, match="s3://none-such/x: there is no such bucket"):
        open_files("s3://none-such/x", storage_options=s3.options())
    with pytest.raises(MissingFileError, match=r"s3://bucket/none/\*: there is no such file"):
        open_files(f"s3://{s3.bucket}/none/*", storage_options=s3.options())
    with pytest.raises(AccessError, match="there are no credentials here"):
        open_files(
            f"s3://{s3.bucket}/x", storage_options={"client_kwargs": s3.options()["client_kwargs"]}
        )
    with pytest.raises(AccessError, match="access is refused"):
        open_files(f"s3://{s3.bucket}/x", storage_options=s3.options(secret="wrong"))
