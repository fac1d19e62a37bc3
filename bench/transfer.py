"""`python -m bench transfer`: how fast one large object is transferred.

It measures transfers between two governors of this machine, to a client, and from a client to the
server: once through sockets, as between machines, and once with the shared store. For comparison,
it sends the same bytes with `sendfile` through a bare loopback socket to a reader that discards
them, which is the limit for any socket here. It also measures a task that loads a numpy array of
that size, and `client.put` and calls with such arrays beside a copy into memory that is there
already.
"""

import os
import socket
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any

import click
import numpy as np
from attrs import Factory, define
from rich.console import Console

from bench.options import Delivery, delivery_options, new_console, repeat_option
from bench.runners import OURS
from bench.sheet import Sheet
from bench.summary import Summary, summarize
from rain.client import Client, Session, Task, blob, pickled, remote
from rain.client.local import LocalCluster
from rain.rpc.client_endpoint import ClientConnection

MIB = 1 << 20


@define
class Way:
    """One kind of transfer: seconds of each round, and bytes through the client's socket."""

    name: str
    seconds: list[float] = Factory(list)
    through_sockets: int | None = None  # bytes of one round
    cpu: list[float] = Factory(list)  # seconds of the client alone

    def time(self, run: Callable[[], object]) -> None:
        """Measures one round, and what of it is work of this process."""
        before = process_time()
        self.seconds.append(_timed(run))
        self.cpu.append(process_time() - before)

    @property
    def summary(self) -> Summary:
        return summarize(self.seconds)


LIMIT = Way("sendfile on loopback, discarded")


def _make(ctx: Any, mebibytes: int) -> bytes:
    return os.urandom(MIB) * mebibytes


def _look(ctx: Any, data: Any) -> str:
    return str(data.info.size)


@remote(auto_encode="json")
def _load(ctx: Any, data: Any) -> Any:
    start = perf_counter()
    array = data.load()
    loaded = perf_counter() - start
    array.sum()
    return [loaded, perf_counter() - start, bool(array.flags.owndata)]


def _through_loopback(file: Path, size: int) -> float:
    """Seconds to send a file through a socket to a reader that discards it."""
    with socket.create_server(("127.0.0.1", 0)) as port:

        def send() -> None:
            connected, _ = port.accept()
            with connected, file.open("rb") as source:
                sent = 0
                while sent < size:
                    sent += os.sendfile(connected.fileno(), source.fileno(), sent, size - sent)

        sender = threading.Thread(target=send)
        sender.start()
        room = bytearray(MIB)
        with socket.create_connection(port.getsockname()) as connected:
            start = perf_counter()
            while connected.recv_into(room):
                pass
            seconds = perf_counter() - start
        sender.join()
    return seconds


def _timed(run: Callable[[], object]) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def _finish(session: Session, *started: Task) -> None:
    session.submit()
    session.wait(started)


def _received(client: Client) -> int:
    connection = client.connection
    return connection.bytes_received if isinstance(connection, ClientConnection) else 0


@define
class Rounds:
    """The transfers of one cluster, with or without a shared store."""

    size: int
    to_neighbour: Way
    to_client: Way

    def measure(self, client: Client) -> None:
        """Measures one round."""
        here, there = (g["governor_id"] for g in client.get_server_info()["governors"])
        make = remote(constraints={"pin": here})(_make)
        look = remote(constraints={"pin": there})(_look)
        with client.new_session("transfer") as session:
            # Both governors must have an executor before the measurement.
            _finish(session, make(0), look(blob("")))
            made = make(self.size // MIB)
            made.output.keep()
            _finish(session, made)
            self.to_neighbour.seconds.append(_timed(lambda: _finish(session, look(made))))
            before = _received(client)
            self.to_client.seconds.append(_timed(made.output.fetch))
            self.to_client.through_sockets = _received(client) - before


def _upload(client: Client, data: bytes) -> float:
    with client.new_session("upload") as session:
        blob(data).keep()
        return _timed(session.submit)


def _load_array(client: Client, size: int) -> tuple[float, float]:
    with client.new_session("array") as session:
        _finish(session, _load(pickled(np.ones(1))))
        task = _load(pickled(np.ones(size // 8)))
        task.output.keep()
        _finish(session, task)
        loaded, summed, owned = task.output.fetch().load()
        if owned:
            raise click.ClickException("the array was copied when it was loaded")
        return loaded, summed


def _sum(*arrays: Any) -> float:
    return float(sum(array[0] for array in arrays))


def _call(client: Client, *arrays: Any) -> None:
    client.submit(_sum, *arrays).result()


RELEASED = 1.0
"""Seconds after which all processes know that an array is gone."""

ARGUMENTS = 10
ARGUMENT_SIZE = 40 * MIB


class Arrays:
    """What a client gives to the cluster, where that is on its own machine."""

    def __init__(self) -> None:
        self.copy = Way("numpy copy, warm memory")
        self.put = Way("client.put of an array")
        self.again = Way("client.put in the place of an array that is gone")
        self.call = Way("a call with an array")
        self.many = Way(f"a call with {ARGUMENTS} arrays of {ARGUMENT_SIZE // MIB} MiB")

    @property
    def ways(self) -> list[Way]:
        return [self.copy, self.put, self.again, self.call, self.many]

    def measure(self, client: Client, size: int, number: int) -> None:
        """Measures one round; arrays of two rounds differ, since equal ones are sent once."""
        array = np.full(size // 8, float(number))
        there = array.copy()
        self.copy.time(partial(np.copyto, there, array))
        client.submit(_sum, array[:1]).result()
        self.put.time(partial(client.put, array))
        sleep(RELEASED)
        array[0] += 0.5
        self.again.time(partial(client.put, array))
        self.call.time(partial(_call, client, array))
        few = [np.full(ARGUMENT_SIZE // 8, number + i / 100) for i in range(ARGUMENTS)]
        self.many.time(partial(_call, client, *few))


def measure_all(size: int, repeat: int, console: Console) -> list[Way]:
    limit = Way(LIMIT.name)
    upload, load, load_and_sum = (
        Way("client to server (upload)"),
        Way("a task loads an array"),
        Way("a task loads and sums it"),
    )
    arrays = Arrays()
    sockets = Rounds(size, Way("to a neighbour, socket"), Way("to a client, socket"))
    shared = Rounds(size, Way("to a neighbour, shared store"), Way("to a client, shared store"))
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(size // MIB):
            file.write(os.urandom(MIB))
        file.flush()
        for number in range(repeat):
            with console.status(limit.name):
                limit.seconds.append(_through_loopback(Path(file.name), size))
            for rounds, options in ((sockets, ("--no-share-store",)), (shared, ())):
                with (
                    console.status(rounds.to_neighbour.name),
                    closing(LocalCluster(1, 2, governor_options=options)) as cluster,
                    Client(cluster.host, cluster.port, secret_file=cluster.secret_file) as client,
                ):
                    rounds.measure(client)
                    if rounds is shared:
                        upload.seconds.append(_upload(client, Path(file.name).read_bytes()))
                        loaded, summed = _load_array(client, size)
                        load.seconds.append(loaded)
                        load_and_sum.seconds.append(summed)
                        arrays.measure(client, size, number)
    return [
        limit,
        sockets.to_neighbour,
        sockets.to_client,
        upload,
        shared.to_neighbour,
        shared.to_client,
        load,
        load_and_sum,
        *arrays.ways,
    ]


def transfer_sheet(size: int, ways: list[Way]) -> Sheet:
    fastest = ways[0].summary.median
    return Sheet(
        title=f"One object of {size // MIB} MiB",
        columns=(
            "way",
            "seconds",
            "range, s",
            "GB/s",
            "of the limit",
            "through its socket",
            "CPU of the client, s",
        ),
        rows=tuple(
            (
                way.name,
                f"{way.summary.median:.4f}",
                f"{way.summary.low:.4f} - {way.summary.high:.4f}",
                f"{size / way.summary.median / 1e9:.2f}",
                f"{fastest / way.summary.median:.2f}",
                "" if way.through_sockets is None else f"{way.through_sockets:,}",
                f"{summarize(way.cpu).median:.2f}" if way.cpu else "",
            )
            for way in ways
        ),
        caption=(
            "The ways to a neighbour include the task that needs the object, from its submission to"
            " its end."
        ),
    )


def transfer_values(size: int, ways: list[Way]) -> dict[str, object]:
    """All values of the table, for `--json`."""
    return {
        "bytes": size,
        "ways": {
            way.name: {
                "seconds": list(way.seconds),
                "median": way.summary.median,
                "through_sockets": way.through_sockets,
                "cpu": list(way.cpu),
            }
            for way in ways
        },
    }


@click.command(name="transfer")
@click.option(
    "--mebibytes",
    type=click.IntRange(min=1),
    default=1024,
    show_default=True,
    help="The size of the object.",
)
@repeat_option(3)
@delivery_options
def command(mebibytes: int, repeat: int, json_file: Path | None, markdown: bool) -> None:
    """Measure one large object: between governors, to and from a client, into a task."""
    console = new_console()
    size = mebibytes * MIB
    ways = measure_all(size, repeat, console)
    Delivery(json_file, markdown).deliver(
        console,
        "transfer",
        [transfer_sheet(size, ways)],
        transfer_values(size, ways),
        [OURS.distribution, "numpy", "pycapnp"],
    )
