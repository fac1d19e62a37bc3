"""The lab's errors, told as a table and as values; the measurement itself is a benchmark."""

from bench.prediction import Prediction, prediction_sheet, prediction_values

GOOD = Prediction("tree", 31, 15, 10.0, 9.0, 20.0, 21.0)
BAD = Prediction("stencil", 65, 60, 10.0, 9.0, 20.0, 25.0)


def test_a_prediction_is_good_when_both_of_its_errors_are_small() -> None:
    assert (GOOD.is_good, BAD.is_good) == (True, False)
    lines = prediction_sheet([GOOD, BAD]).markdown().splitlines()
    assert lines[2].startswith("| tree | 31 | 15 | 10.00 | 9.00 | -10.0% | 20.00 | 21.00 | +5.0% |")
    assert lines[3].endswith("| +25.0% | no |")


def test_the_values_hold_what_was_measured() -> None:
    (value,) = prediction_values([BAD])
    assert value["measured"] == 10.0
    assert value["error_elsewhere"] == 0.25
    assert value["good"] is False
