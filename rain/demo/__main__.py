"""Shows Rain on this machine: a sweep that loses a governor, and a pipeline with a failing step."""

import argparse
import logging
import shutil
import sys
from collections.abc import Sequence

from rich.console import Console

from rain.base.admission import http_url
from rain.client import Client, RainException
from rain.client.connection import connect
from rain.client.local import LocalCluster
from rain.demo.corpus import make_corpus
from rain.demo.pipeline import build
from rain.demo.report import answer_line, answer_table, failure_line, follow, verified_answer
from rain.demo.sweep import sweep
from rain.tls.keys import Keys

INTERRUPTED = 130
"""The exit status of a program that Ctrl-C has ended."""


class ToConsole(logging.Handler):
    """What the client logs, as a line among the others."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(record.getMessage(), markup=False, style="dim")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demo; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rain.demo", description=__doc__)
    parser.add_argument("--calls", type=int, default=200, help="how many calls the sweep has")
    parser.add_argument("--megabytes", type=float, default=4.0, help="length of the text")
    parser.add_argument("--parts", type=int, default=16, help="how many parts it is cut into")
    parser.add_argument("--seed", type=int, default=1, help="what the text is made from")
    parser.add_argument("--governors", type=int, default=2, help="how many governors to start")
    options = parser.parse_args(arguments)
    console = Console()
    logging.getLogger("rain.client").addHandler(ToConsole(console))
    try:
        run(console, options)
    except KeyboardInterrupt:
        console.print("\ninterrupted; everything is stopped")
        return INTERRUPTED
    except RainException as error:
        Console(stderr=True).print(f"the demo has failed: {error}", markup=False)
        return 1
    return 0


def run(console: Console, options: argparse.Namespace) -> None:
    """The whole of it, on a cluster that lives as long as this function."""
    text = make_corpus(int(options.megabytes * 1024 * 1024), options.seed)
    with console.status("starting a server and governors on this machine"):
        cluster = LocalCluster(None, options.governors, dashboard=True)
    try:
        connection = connect(
            [(cluster.host, cluster.port)], Keys(cluster.secret), why_lost=cluster.why_lost
        )
        cluster.watch(connection.give_up)
        with Client.over(connection, cluster) as client:
            show(console, client, cluster, text, options)
    finally:
        cluster.close()
        shutil.rmtree(cluster.folder, ignore_errors=True)  # it stays when a governor has died
    console.print("The answers are those of plain loops; everything is stopped.")


def show(
    console: Console,
    client: Client,
    cluster: LocalCluster,
    text: bytes,
    options: argparse.Namespace,
) -> None:
    """The sweep and the pipeline, on a cluster that is there."""
    cpus = [entry["resources"]["cpus"] for entry in client.get_server_info()["governors"]]
    console.print(f"{len(cpus)} governor(s) with {sum(cpus)} cpus, {len(text):,} bytes of text")
    console.print(f"dashboard: {http_url(cluster.secret, cluster.http)}", soft_wrap=True)
    sweep(console, client, cluster, options.calls)
    with client.new_session("pipeline") as session:
        pipeline = build(text, options.parts, cluster.folder / "mark")
        session.submit()
        follow(console, session, pipeline.tasks)
        console.print(failure_line(pipeline), markup=False)
        answer = verified_answer(pipeline, text)
    console.print(answer_table(answer))
    console.print(answer_line(answer))
    if console.is_terminal and sys.stdin.isatty():
        console.input("The dashboard can be opened now; Enter stops the cluster. ")


if __name__ == "__main__":
    sys.exit(main())
