"""The graph of the demo.

text -> cut -> part 0 -> count -> merge -> totals
                      -> gzip  -> join  -> archive
               part 1 -> ...

One of the counts fails when it runs for the first time, and is tried again.
"""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from attrs import frozen

from rain.client import DataObject, Input, Output, Program, Task, blob, remote, tasks
from rain.common import DataInstance


@frozen
class Pipeline:
    """All tasks, the one that fails at first, and the two results."""

    tasks: list[Task]
    shaky: Task
    totals: DataObject
    archive: DataObject


def cut(ctx: Any, text: DataInstance) -> list[bytes]:
    """The lines of a text in as many parts as the task has outputs."""
    lines = text.get_bytes().splitlines(keepends=True)
    count = len(ctx.spec.outputs)
    ends = [len(lines) * i // count for i in range(count + 1)]
    return [b"".join(lines[start:end]) for start, end in pairwise(ends)]


@remote(auto_encode="pickle", tries=3)
def count_words(ctx: Any, part: DataInstance, mark: str) -> "Counter[bytes]":
    """How often each word comes in one part. With the path of a mark it fails until that exists."""
    if mark and not Path(mark).exists():
        Path(mark).touch()
        raise TimeoutError("a disk did not answer in time")
    return Counter(part.get_bytes().split())


@remote(auto_load=True, auto_encode="pickle")
def merge(ctx: Any, counts: "list[Counter[bytes]]") -> "Counter[bytes]":
    """The sum of all counts."""
    total: Counter[bytes] = Counter()
    for one in counts:
        total.update(one)
    return total


compress = Program("gzip --stdout --no-name", stdin=Input("part"), stdout=Output("packed"))


def build(text: bytes, parts: int, mark: Path) -> Pipeline:
    """Builds the graph in the active session; `mark` is where its failure leaves a mark."""
    cutting = remote(outputs=parts)(cut)(blob(text, "text"))
    counting = [
        count_words(part, "" if i else str(mark), name=f"count/{i}")
        for i, part in enumerate(cutting.outputs)
    ]
    packing = [compress(f"gzip/{i}", part=part) for i, part in enumerate(cutting.outputs)]
    merging = merge(counting)
    # One gzip file after the other is a gzip file.
    joining = tasks.Concat(packing, name="join")
    merging.keep_outputs()
    joining.keep_outputs()
    return Pipeline(
        [cutting, *counting, *packing, merging, joining],
        counting[0],
        merging.output,
        joining.output,
    )
