"""The arithmetic of the server's measurement; the measurement itself is no test."""

from io import StringIO

import pytest
from rich.console import Console

from bench.server_alone import Sample, rounds_for, server_sheet, server_values, shapes_of
from bench.shapes import merge

SAMPLE = Sample(merge(999), seconds=(0.1, 0.05), server_cpu_seconds=0.03)


def test_small_shapes_run_until_the_clock_can_be_read() -> None:
    assert rounds_for(1000, repeat=3) == 20
    assert rounds_for(100_000, repeat=3) == 3


def test_each_size_is_measured_in_two_shapes() -> None:
    shapes = shapes_of([10, 100])

    assert [(shape.name, shape.task_count) for shape in shapes] == [
        ("merge", 11),
        ("tree", 7),
        ("merge", 101),
        ("tree", 63),
    ]


def test_cpu_time_is_shared_among_the_tasks_of_all_rounds() -> None:
    assert SAMPLE.microseconds_per_task == pytest.approx(15)
    assert SAMPLE.tasks_per_second.median == pytest.approx(15_000)


def test_the_table_and_the_values_show_both_figures() -> None:
    console = Console(width=120, record=True, file=StringIO())
    console.print(server_sheet([SAMPLE], governors=1).table())

    text = console.export_text()
    assert "15,000 ±33%" in text
    assert "15.0 µs" in text
    (values,) = server_values([SAMPLE])
    assert values["seconds"] == [0.1, 0.05]
