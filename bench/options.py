"""Shared code of all commands: options, and the output of results.

A command is a module with a click command named `command`; `bench/__main__.py` names the module.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import click
from attrs import frozen
from rich.console import Console

from bench.machine import describe_machine
from bench.sheet import Sheet

F = TypeVar("F", bound=Callable[..., object])

WRITABLE = click.Path(path_type=Path, dir_okay=False, writable=True)


def new_console(*, stderr: bool = False) -> Console:
    """A console that does not shrink tables when its output is not a terminal."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=160)


@frozen
class Delivery:
    """Where results go: always to the console, and to a file if one is given."""

    json_file: Path | None
    markdown: bool

    def deliver(
        self,
        console: Console,
        benchmark: str,
        sheets: Sequence[Sheet],
        values: dict[str, object],
        distributions: Iterable[str],
    ) -> None:
        """Show the tables and write their values."""
        for sheet in sheets:
            if self.markdown:
                print(f"\n{sheet.markdown()}")
            else:
                console.print(sheet.table())
        if self.json_file:
            whole = {"benchmark": benchmark, "machine": describe_machine(distributions), **values}
            self.json_file.write_text(json.dumps(whole, indent=2) + "\n")


def delivery_options(command: F) -> F:
    """`--json` and `--markdown`: `Delivery(json_file, markdown)`."""
    command = click.option(
        "--json", "json_file", type=WRITABLE, help="Write all measurements to this file."
    )(command)
    return click.option(
        "--markdown", is_flag=True, help="Print the tables in the form of docs/performance.md."
    )(command)


def repeat_option(default: int) -> Callable[[F], F]:
    return click.option(
        "--repeat",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        help="How often everything is measured.",
    )


def read_numbers(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    """Parses numbers of at least 1, separated by commas."""
    try:
        numbers = tuple(int(number) for number in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a list of numbers", ctx, param) from error
    if min(numbers) < 1:
        raise click.BadParameter("each must be at least 1", ctx, param)
    return numbers


def numbers_option(*names: str, default: str, explained: str) -> Callable[[F], F]:
    return click.option(
        *names, callback=read_numbers, default=default, show_default=True, help=explained
    )


def names_option(name: str, known: Iterable[str], *, explained: str) -> Callable[[F], F]:
    """An option for some of the known names, separated by commas; default all."""
    names = tuple(known)

    def read(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
        chosen = tuple(one.strip() for one in value.split(",") if one.strip())
        for one in chosen:
            if one not in names:
                raise click.BadParameter(f"{one!r} is not one of {', '.join(names)}", ctx, param)
        return chosen

    return click.option(
        name, callback=read, default=",".join(names), show_default=True, help=explained
    )
