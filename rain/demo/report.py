"""Prints the progress of the demo, and its result."""

import gzip
from collections import Counter

from attrs import frozen
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from rain.client import RainException, Session, Task
from rain.demo.pipeline import Pipeline

LOOK_EVERY = 0.25
"""Seconds after which the bar is drawn anew, also when nothing has finished."""

WORDS_SHOWN = 10


@frozen
class Answer:
    """The words and how often they come, and the sizes before and after gzip."""

    totals: "Counter[bytes]"
    plain: int
    packed: int


def follow(console: Console, session: Session, tasks: list[Task]) -> None:
    """Shows a bar until all tasks are finished."""
    columns = (
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    waiting = dict.fromkeys(tasks)
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("tasks", total=len(tasks))
        while waiting:
            finished, _ = session.wait_some(waiting, timeout=LOOK_EVERY)
            for task in finished:
                del waiting[task]
            progress.advance(bar, len(finished))


def failure_line(pipeline: Pipeline) -> str:
    """What became of the task that fails at first."""
    task = pipeline.shaky
    task.update()
    tries = [] if task.info is None else task.info.failed_tries
    if not tries:
        raise RainException(f"{task.name} should have failed when it ran for the first time")
    said = tries[0].error.strip().splitlines()[-1]
    return f"{task.name} has failed once ({said}), was tried again, and has finished"


def verified_answer(pipeline: Pipeline, text: bytes) -> Answer:
    """The results, compared with those of a plain computation."""
    totals: Counter[bytes] = pipeline.totals.fetch().load()
    packed = pipeline.archive.fetch().get_bytes()
    if totals != Counter(text.split()):
        raise RainException("the counted words are not those of the text")
    if gzip.decompress(packed) != text:
        raise RainException("the compressed parts do not make up the text")
    return Answer(totals, len(text), len(packed))


def answer_table(answer: Answer) -> Table:
    """The most frequent words."""
    table = Table()
    table.add_column("word")
    table.add_column("count", justify="right")
    for word, count in answer.totals.most_common(WORDS_SHOWN):
        table.add_row(word.decode(), f"{count:,}")
    return table


def answer_line(answer: Answer) -> str:
    """What the table does not show."""
    return (
        f"{answer.totals.total():,} words, {len(answer.totals):,} different;"
        f" gzip leaves {answer.packed / answer.plain:.0%} of the bytes"
    )
