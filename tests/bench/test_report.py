"""The table and the JSON say what was measured."""

import json
from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from bench.plot import heights
from bench.report import overhead_sheet, overhead_values
from bench.results import Results
from bench.shapes import chain, independent

SHAPES = (independent(1000), chain(10))
BOTH = Results(
    SHAPES,
    ("rain", "dask", "ray"),
    {
        "rain": {"independent": [0.1, 0.09, 0.11], "chain": [0.01, 0.01, 0.01]},
        "dask": {"independent": [2.0, 2.0, 2.0], "chain": [0.2, 0.2, 0.2]},
        "ray": {"independent": [1.0, 1.0, 1.0], "chain": [0.005, 0.005, 0.005]},
    },
)
ALONE = Results(SHAPES, ("rain",), {"rain": {"independent": [0.1], "chain": [0.01]}})


def text_of(table: Table) -> str:
    console = Console(width=200, record=True, file=StringIO())
    console.print(table)
    return console.export_text()


def test_the_table_shows_medians_spreads_and_ratios() -> None:
    lines = text_of(overhead_sheet(BOTH).table()).splitlines()

    (independent_row,) = (line for line in lines if "independent" in line)
    assert "tasks/s" in independent_row
    assert "10,000 ±10%" in independent_row
    assert "500 ±0%" in independent_row
    assert "10.0x" in independent_row
    (chain_row,) = (line for line in lines if "chain" in line)
    assert " 1 ±0%" in chain_row
    assert "0.5x" in chain_row


def test_without_peers_there_is_no_ratio() -> None:
    text = text_of(overhead_sheet(ALONE).table())

    assert "x" not in text.split("chain")[1].splitlines()[0]
    assert "Medians of 1 turn and" in text


def test_the_json_holds_every_measurement() -> None:
    values = json.loads(json.dumps(overhead_values(BOTH)))

    assert values["independent"]["seconds"]["rain"] == [0.1, 0.09, 0.11]
    assert values["independent"]["median"] == {"rain": 0.1, "dask": 2.0, "ray": 1.0}
    assert values["independent"]["times_faster_than_better_peer"] == pytest.approx(10)
    assert values["chain"]["tasks"] == 10


def test_a_plot_shows_milliseconds_a_task() -> None:
    assert heights(BOTH)["dask"] == pytest.approx([2.0, 20.0])
