"""A governor on another machine: its data comes over the network, and no more than was asked."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from random import Random

import fsspec.asyn
import pytest

from rain.client import Client, File, OutputDir, create_file, open_files, tasks
from rain.common.secret_file import make_secret_file
from tests.support.s3 import s3_server
from tests.support.second_machine import second_machine
from tests.whole.daemons import daemon, governor

pytestmark = pytest.mark.whole

fsspec.asyn.get_loop()  # its thread stays from then on

LINE = 1000
SIZE = 20_000 * LINE


def text() -> bytes:
    """Lines that no link makes smaller by compressing them."""
    random = Random(1)
    lines = (random.randbytes(LINE - 1).replace(b"\n", b"r") for _ in range(SIZE // LINE))
    return b"\n".join(lines) + b"\n"


def write(url: str) -> File:
    with create_file(url) as stream:
        stream.write(text())
    return open_files(url)[0]


def first_line(block: File) -> bytes:
    with block as stream:
        line: bytes = stream.readline()
        return line


def test_a_governor_on_a_second_machine_reads_a_store_itself_and_gives_ranges(
    tmp_path: Path,
) -> None:
    make_secret_file(tmp_path / "secret")
    secret = ("--secret-file", str(tmp_path / "secret"))
    with ExitStack() as stack:
        # given: the server and the store are here, the only governor is there
        there = stack.enter_context(second_machine())
        s3 = stack.enter_context(s3_server(tmp_path, there.here))
        listen = ("--listen", f"{there.here}:0", "--no-http")
        serving = stack.enter_context(daemon(tmp_path, "server", "server", *listen, *secret))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in s3.environment().items():
            patch.setenv(name, value)
        listen = ("--listen", f"{there.there}:0", "--no-share-store")
        far = stack.enter_context(
            governor(tmp_path, "far", serving.address, 2, *listen, *secret, on=there.command)
        )
        assert far.address.startswith(there.there)
        client = stack.enter_context(
            Client(there.here, serving.port, secret_file=tmp_path / "secret")
        )
        # when
        url = f"s3://{s3.bucket}/far.txt"
        file = client.submit(write, url).result()
        blocks = client.submit(open_files, url, block_size=SIZE // 2).result()
        right = text()
        half = SIZE // 2
        first = [right[:LINE], right[half : half + LINE]]
        assert client.gather(client.map(first_line, blocks)) == first
        session = stack.enter_context(client.new_session("ranges"))
        made = tasks.Execute(
            ["sh", "-c", 'mkdir made && cp "$0" made/text', file],
            shell=False,
            output_paths=[OutputDir("made")],
        )
        session.keep_all()
        session.submit()
        session.wait_all()
        # then
        before = there.bytes_from_there()
        with made.output.open("text") as stream:
            stream.seek(SIZE - LINE)
            assert stream.read() == right[-LINE:]
        assert there.bytes_from_there() - before < SIZE // 100
        # and when all of it is wanted, it comes
        assert made.output.fetch_range(path="text") == right
        assert there.bytes_from_there() - before > SIZE
