"""What `python -m bench transfer` shows of its measurements."""

from bench.transfer import MIB, Way, transfer_sheet, transfer_values


def test_every_way_is_compared_with_the_limit() -> None:
    way = Way("a way", [1.0, 2.0, 1.0], through_sockets=1024, cpu=[0.25, 0.5, 0.125])
    ways = [Way("limit", [0.5, 0.4, 0.6]), way]

    sheet = transfer_sheet(1024 * MIB, ways)

    assert sheet.title == "One object of 1024 MiB"
    assert sheet.rows == (
        ("limit", "0.5000", "0.4000 - 0.6000", "2.15", "1.00", "", ""),
        ("a way", "1.0000", "1.0000 - 2.0000", "1.07", "0.50", "1,024", "0.25"),
    )


def test_everything_measured_is_written_down() -> None:
    values = transfer_values(MIB, [Way("limit", [0.5])])

    assert values == {
        "bytes": MIB,
        "ways": {"limit": {"seconds": [0.5], "median": 0.5, "through_sockets": None, "cpu": []}},
    }
