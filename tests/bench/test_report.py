"""The table and the JSON say what was measured."""

import json

import pytest

from bench.plot import heights
from bench.report import results_sheet, results_values
from bench.results import Quantity, Results, Unit
from bench.sheet import Sheet

MANY = Quantity("independent", 1000, Unit.TASKS_PER_SECOND)
CHAIN = Quantity("chain", 10)


def results(**seconds: dict[str, list[float]]) -> Results:
    found = Results((MANY, CHAIN), tuple(seconds))
    for system, by_name in seconds.items():
        for name, values in by_name.items():
            for value in values:
                found.add(system, name, value)
    return found


ALL = results(
    rain={"independent": [0.1, 0.09, 0.11], "chain": [0.01, 0.01, 0.01]},
    dask={"independent": [2.0, 2.0, 2.0], "chain": [0.2, 0.2, 0.2]},
    ray={"independent": [1.0, 1.0, 1.0], "chain": [0.005, 0.005, 0.005]},
    pool={"independent": [0.05, 0.05, 0.05]},
)
ALONE = results(rain={"independent": [0.1], "chain": [0.01]})


def row(sheet: Sheet, name: str) -> dict[str, str]:
    (found,) = (row for row in sheet.rows if row[0] == name)
    return dict(zip(sheet.columns, found, strict=True))


def test_the_table_shows_medians_spreads_and_ratios() -> None:
    sheet = results_sheet("Overhead", ALL)

    assert row(sheet, "independent") == {
        "what": "independent",
        "unit": "tasks/s",
        "tasks": "1,000",
        "rain": "10,000 ±10%",
        "dask": "500 ±0%",
        "ray": "1,000 ±0%",
        "vs peers": "10x",
        "pool": "20,000 ±0%",
        "vs pool": "0.5x",
    }
    assert row(sheet, "chain")["rain"] == "1 ±0%"
    assert row(sheet, "chain")["vs peers"] == "0.5x"


def test_what_a_system_cannot_do_is_left_open() -> None:
    chain = row(results_sheet("Overhead", ALL), "chain")

    assert (chain["pool"], chain["vs pool"]) == ("-", "-")


def test_without_peers_there_is_no_ratio() -> None:
    sheet = results_sheet("Overhead", ALONE)

    assert sheet.columns == ("what", "unit", "tasks", "rain")
    assert "Medians of 1 turn and" in sheet.caption


def test_a_system_that_failed_says_why_and_leaves_the_others_their_figures() -> None:
    found = results(rain={}, dask={"chain": [0.1]})
    found.fail("rain", "rain failed:\nTraceback\nError: a client has ended")
    sheet = results_sheet("Overhead", found)

    assert row(sheet, "chain")["rain"] == "failed"
    assert sheet.caption.endswith(" A turn failed, rain: Error: a client has ended")
    assert row(sheet, "chain")["dask"] == "10 ±0%"
    assert row(sheet, "chain")["vs peers"] == "-"


def test_the_json_holds_every_measurement() -> None:
    values = json.loads(json.dumps(results_values(ALL)))

    independent = values["quantities"]["independent"]
    assert independent["seconds"]["rain"] == [0.1, 0.09, 0.11]
    assert independent["median"] == {"rain": 0.1, "dask": 2.0, "ray": 1.0, "pool": 0.05}
    assert independent["times_faster_than_best_peer"] == pytest.approx(10)
    assert independent["times_faster_than_limit"] == {"pool": pytest.approx(0.5)}
    assert values["quantities"]["chain"]["tasks"] == 10


def test_what_goes_with_a_figure_is_kept() -> None:
    found = results(rain={})
    found.add("rain", "chain", None, [1, 2])

    quantity = results_values(found)["quantities"]

    assert isinstance(quantity, dict)
    assert quantity["chain"]["details"] == {"rain": [[1, 2]]}
    assert quantity["chain"]["seconds"] == {"rain": []}


def test_a_plot_shows_milliseconds_a_task() -> None:
    assert heights(ALL)["dask"] == pytest.approx([2.0, 20.0])
    assert heights(ALL)["pool"] == pytest.approx([0.05, 0.0])
