"""`python -m bench broadcast`: one large object that a hundred governors read.

Each governor stands for a machine: it has an address of its own (127.0.1.1, 127.0.1.2, ...) and
shares no files with the others. All are forks of one process. The readers run inside of the
governors, so nothing but data moves. Each governor counts what it sends to other machines.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import IO, Any

import click
from attrs import asdict, frozen

from bench.options import Delivery, delivery_options, new_console
from bench.processes import HOST, rain_daemon
from bench.sheet import Sheet
from rain.client import Client, DataObject, Task, blob
from rain.daemon.template import Template

MIB = 1 << 20
LOOK_EVERY = 0.1
PATIENCE = 120.0
"""Seconds that governors may take to begin, to tell what they have sent, and to end."""


@frozen
class Broadcast:
    """How an object came from one governor to all others."""

    governors: int
    mebibytes: int
    seconds: float
    server_seconds: float  # of CPU
    sends: Mapping[str, int]  # how often each governor has sent it, by its address
    first: int  # the same of the governor where it was made

    @property
    def most(self) -> int:
        """How often that one has sent it which has sent it most often."""
        return max(self.sends.values())


def measure(governors: int, mebibytes: int) -> Broadcast:
    """The first governor makes the object, and then all others read it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        words = ("server", "--listen", f"{HOST}:0", "--no-event-log", "--no-http")
        server, address = stack.enter_context(rain_daemon("server", *words, folder=folder))
        addresses = stack.enter_context(machines(governors, address, folder))
        client = stack.enter_context(Client(address))
        with client.new_session() as session:
            half = blob(bytes(range(256)) * (mebibytes * MIB // 512))
            made = _at(addresses[0], "buildin/concat", (half, half))
            made.output.keep()
            session.submit()
            session.wait_all()
            for reader in addresses[1:]:
                _at(reader, "buildin/sleep", (made.output,), 0.0)
            used, start = server.cpu_seconds(), perf_counter()
            session.submit()
            session.wait_all()
            seconds, used = perf_counter() - start, server.cpu_seconds() - used
            sent = _all_sent(client, (governors - 1) * mebibytes * MIB)
    sends = {one: count // (mebibytes * MIB) for one, count in sent.items()}
    return Broadcast(governors, mebibytes, seconds, used, sends, sends[addresses[0]])


def _at(address: str, task_type: str, inputs: tuple[DataObject, ...], config: Any = None) -> Task:
    """A task that runs inside of the governor at this address."""
    return Task(inputs, 1, config=config, task_type=task_type, constraints={"pin": address})


@contextmanager
def machines(count: int, server: str, folder: Path) -> Generator[list[str]]:
    """Governors with an address each; yields the addresses."""
    ready: list[int] = []
    with ExitStack() as stack:
        log = stack.enter_context((folder / "governors.log").open("wb"))
        command = (sys.executable, "-m", "rain")
        with Template(command, log, log, new_session=False) as template:
            for number in range(1, count + 1):
                ready.append(_order(template, number, server, folder, log))
                stack.callback(os.close, ready[-1])
            while not template.complete:
                if not template.hear():
                    raise click.ClickException((folder / "governors.log").read_text())
            copies = template.copies()
            template.release()
        try:
            yield [_told(reports, folder) for reports in ready]
        finally:
            for copy in copies:
                copy.terminate()
            for copy in copies:
                copy.wait(PATIENCE)


def _told(reports: int, folder: Path) -> str:
    """The address of a governor, when it is ready."""
    readable, _, _ = select.select([reports], [], [], PATIENCE)
    words = os.read(reports, 1024).decode().split() if readable else []
    if words[:1] != ["ready"]:
        raise click.ClickException(f"no governor:\n{(folder / 'governors.log').read_text()}")
    return words[1]


def _order(template: Template, number: int, server: str, folder: Path, log: IO[bytes]) -> int:
    """Orders one governor; returns where it reports that it is ready."""
    host = f"127.0.{1 + number // 250}.{1 + number % 250}"
    words = [
        *("governor", server, "--listen", f"{host}:0", "--cpus", "1", "--no-share-store"),
        *("--workdir", str(folder / f"work-{number}"), "--logdir", str(folder / f"log-{number}")),
        *("--monitoring", "0", "--store", "0"),
    ]
    reports, theirs = os.pipe()
    try:
        template.order(f"governor {number}", words, log, log, {"--ready-fd": theirs})
    finally:
        os.close(theirs)
    return reports


def _all_sent(client: Client, expected: int) -> dict[str, int]:
    """The bytes that each governor has sent. A sender counts a transfer a little after its end."""
    sent: dict[str, int] = {}
    for _ in range(int(PATIENCE / LOOK_EVERY)):
        told = client.get_server_info()["governors"]
        sent = {
            one["governor_id"]: sum(link["bytes"] for link in one["links"].values()) for one in told
        }
        if sum(sent.values()) >= expected:
            return sent
        sleep(LOOK_EVERY)
    raise click.ClickException(f"{sum(sent.values())} bytes were sent instead of {expected}")


@click.command(name="broadcast")
@click.option("--governors", default=100, show_default=True, type=click.IntRange(2, 500))
@click.option("--mebibytes", default=32, show_default=True, type=click.IntRange(2))
@delivery_options
def command(governors: int, mebibytes: int, json_file: Path | None, *, markdown: bool) -> None:
    """Measure how one object reaches many governors, and who sends it."""
    found = measure(governors, mebibytes)
    sheet = Sheet(
        title=f"An object of {found.mebibytes} MiB, made by one governor and read by all",
        columns=(
            "governors",
            "everywhere after",
            "server CPU",
            "sent by the first",
            "by any at most",
            "senders",
        ),
        rows=(
            (
                f"{found.governors:,}",
                f"{found.seconds:.2f} s",
                f"{found.server_seconds:.2f} s",
                f"{found.first} times",
                f"{found.most} times",
                f"{sum(count > 0 for count in found.sends.values())}",
            ),
        ),
        caption="Each governor has an address of its own, and shares no files with others.",
        words=0,
    )
    Delivery(json_file, markdown).deliver(
        new_console(), "broadcast", [sheet], {"broadcast": asdict(found)}, ()
    )
