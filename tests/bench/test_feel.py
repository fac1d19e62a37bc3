"""What users feel, told as a table and as values; the measurement itself is a benchmark."""

from io import StringIO

from rich.console import Console

from bench.feel import Feeling, feel_sheet, feel_values


def test_a_figure_is_good_when_every_round_was_quick_enough() -> None:
    good = Feeling("a close", 0.2, (0.1, 0.2))
    bad = Feeling("a kill", 0.25, (0.1, 0.3, 0.1))

    assert (good.is_good, bad.is_good) == (True, False)
    console = Console(width=100, file=StringIO(), record=True)
    console.print(feel_sheet([good, bad]).table())
    lines = console.export_text().splitlines()
    assert any("a close" in line and "0.150" in line and "yes" in line for line in lines)
    assert any("a kill" in line and "0.300" in line and "no" in line for line in lines)


def test_the_values_are_all_rounds() -> None:
    values = feel_values([Feeling("a kill", 0.25, (0.1, 0.3, 0.2))])

    assert values == {
        "a kill": {"limit": 0.25, "seconds": [0.1, 0.3, 0.2], "median": 0.2, "good": False}
    }
