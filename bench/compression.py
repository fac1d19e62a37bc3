"""`python -m bench compression`: what compressing transfers gains on links of several speeds.

One reader here reads one file from a holder in a network namespace (`shaped_link.py`), as it is and
in blocks. Each row has a holder of its own, which knows nothing of its link at first.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import click
import numpy as np
from attrs import Factory, define

from bench.options import Delivery, delivery_options, new_console, repeat_option
from bench.processes import cpu_seconds
from bench.runners import OURS
from bench.shaped_link import ShapedMachine, shaped_machine
from bench.sheet import Sheet
from rain.base.ids import ObjectId
from rain.stream.admission import introduce
from rain.stream.blocks import body_of
from rain.stream.protocol import HELLO, Ask, StreamRequest
from rain.stream.reading import ask
from rain.stream.sockets import receive_file, send

MB = 1_000_000
LINKS = ("100mbit", "1gbit", "")


def integers(size: int) -> bytes:
    """`int64` below 1,000: a quarter is left of them."""
    return np.random.default_rng(1).integers(0, 1000, size // 8).tobytes()


def noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)


CONTENTS: dict[str, Callable[[int], bytes]] = {"integers": integers, "noise": noise}


@define
class Row:
    """Transfers of one kind over one link."""

    link: str
    content: str
    blocks: bool
    seconds: list[float] = Factory(list)
    cpu: list[float] = Factory(list)  # of the holder
    came: list[int] = Factory(list)  # bytes over the link, headers of packets included

    def cells(self) -> tuple[str, ...]:
        return (
            self.link or "not shaped",
            self.content,
            "in blocks" if self.blocks else "plain",
            f"{median(self.seconds):.2f}",
            f"{self.seconds[-1]:.2f}",
            f"{median(self.cpu):.2f}",
            f"{median(self.came) / MB:.0f}",
        )


def compression_sheet(size: int, rows: Sequence[Row]) -> Sheet:
    return Sheet(
        f"One file of {size / MB:.0f} MB over a link",
        ("Link", "Content", "Sent", "Seconds", "Last", "CPU of the holder", "MB on the link"),
        tuple(row.cells() for row in rows),
        "Medians, and the seconds of the last transfer, when the holder knows its link best.",
        words=3,
    )


@contextmanager
def holder(machine: ShapedMachine, file: Path) -> Generator[tuple[int, int]]:
    """A holder of the file; its port and its process."""
    words = (*machine.command, sys.executable, "-m", "bench.holder_there", machine.address)
    with subprocess.Popen(
        [*words, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as there:
        assert there.stdin is not None
        assert there.stdout is not None
        try:
            yield int(there.stdout.readline()), there.pid
        finally:
            there.stdin.close()


def transfer(machine: ShapedMachine, port: int, target: int, *, blocks: bool) -> None:
    """Reads the file into another one."""
    with socket.create_connection((machine.address, port)) as connected:
        introduce(connected, None)
        send(connected, HELLO)
        answer = ask(connected, StreamRequest(Ask.READ, ObjectId(0), blocks=blocks))
        receive_file(body_of(connected, answer), target, answer.length)


def measure(row: Row, machine: ShapedMachine, file: Path, repeat: int) -> None:
    """Makes the transfers of a row."""
    with holder(machine, file) as (port, pid), file.with_suffix(".copy").open("w+b") as copy:
        for _ in range(repeat):
            os.ftruncate(copy.fileno(), 0)
            came, cpu, began = machine.sent(), cpu_seconds(pid), perf_counter()
            transfer(machine, port, copy.fileno(), blocks=row.blocks)
            row.seconds.append(perf_counter() - began)
            row.cpu.append(cpu_seconds(pid) - cpu)
            row.came.append(machine.sent() - came)
        copy.seek(0)
        if copy.read() != file.read_bytes():
            raise click.ClickException(f"{row.content} came wrong over {row.link}")


@click.command(name="compression")
@click.option("--megabytes", default=200, show_default=True, help="Size of the file.")
@click.option(
    "--link",
    "links",
    multiple=True,
    help="Speed of the link, as tc says it: 100mbit. Again for more.  [100mbit, 1gbit, no limit]",
)
@repeat_option(3)
@delivery_options
def command(
    megabytes: int, links: tuple[str, ...], repeat: int, json_file: Path | None, markdown: bool
) -> None:
    """Compare transfers as they are with transfers in blocks, over links of several speeds.

    Needs a user who may make network namespaces.
    """
    rows: list[Row] = []
    with TemporaryDirectory(prefix="rain-bench-") as folder:
        for link in links or LINKS:
            try:
                with shaped_machine(link) as machine:
                    for content, make in CONTENTS.items():
                        file = Path(folder, content)
                        if not file.exists():
                            file.write_bytes(make(megabytes * MB))
                        for blocks in (False, True):
                            rows.append(Row(link, content, blocks))
                            measure(rows[-1], machine, file, repeat)
            except OSError as error:
                raise click.ClickException(str(error.strerror)) from None
    values: dict[str, object] = {
        "rows": [
            {
                "link": row.link,
                "content": row.content,
                "blocks": row.blocks,
                "seconds": row.seconds,
                "cpu": row.cpu,
                "bytes": row.came,
            }
            for row in rows
        ]
    }
    sheet = compression_sheet(megabytes * MB, rows)
    delivery = Delivery(json_file, markdown)
    delivery.deliver(new_console(), "compression", [sheet], values, [OURS.distribution])
