"""Starts a cluster on this machine, counts the words of a text on it, and stops it again."""

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console

from rain.client import Client, RainException
from rain.demo.corpus import make_corpus
from rain.demo.pipeline import build
from rain.demo.report import answer_line, answer_table, follow, verified_answer

INTERRUPTED = 130
"""The exit status of a program that Ctrl-C has ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demo; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rain.demo", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=4.0, help="length of the text")
    parser.add_argument("--parts", type=int, default=16, help="how many parts it is cut into")
    parser.add_argument("--seed", type=int, default=1, help="what the text is made from")
    parser.add_argument("--governors", type=int, default=1, help="how many governors to start")
    options = parser.parse_args(arguments)
    console = Console()
    try:
        run(console, options.megabytes, options.parts, options.seed, options.governors)
    except KeyboardInterrupt:
        console.print("\ninterrupted; everything is stopped")
        return INTERRUPTED
    except RainException as error:
        Console(stderr=True).print(f"the demo has failed: {error}", markup=False)
        return 1
    return 0


def run(console: Console, megabytes: float, parts: int, seed: int, governors: int) -> None:
    """The whole of it, on a cluster that lives as long as this function."""
    text = make_corpus(int(megabytes * 1024 * 1024), seed)
    with console.status("starting a server and governors on this machine"):
        client = Client(governors=governors)
    with client:
        cpus = [entry["resources"]["cpus"] for entry in client.get_server_info()["governors"]]
        console.print(f"{len(cpus)} governor(s) with {sum(cpus)} cpus, {len(text):,} bytes of text")
        with client.new_session("demo") as session:
            pipeline = build(text, parts)
            session.submit()
            follow(console, session, pipeline.tasks)
            answer = verified_answer(pipeline, text)
    console.print(answer_table(answer))
    console.print(answer_line(answer))
    console.print("The answer is the same as that of a plain loop; everything is stopped.")


if __name__ == "__main__":
    sys.exit(main())
