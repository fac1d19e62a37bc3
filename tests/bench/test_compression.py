"""What `python -m bench compression` measures, and how it is told."""

import subprocess
from pathlib import Path

import pytest

from bench.compression import MB, Row, compression_sheet, integers, measure
from bench.shaped_link import shaped_machine


def test_each_row_has_medians_and_the_last_transfer() -> None:
    row = Row("100mbit", "integers", True, [4.0, 2.0, 1.0], [0.5, 0.3, 0.1], [60 * MB] * 3)
    sheet = compression_sheet(200 * MB, [row, Row("", "noise", False, [1.0], [0.0], [MB])])
    assert sheet.title == "One file of 200 MB over a link"
    assert sheet.rows == (
        ("100mbit", "integers", "in blocks", "2.00", "1.00", "0.30", "60"),
        ("not shaped", "noise", "plain", "1.00", "1.00", "0.00", "1"),
    )


def test_blocks_bring_the_same_file_in_fewer_bytes(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(integers(8 * MB))
    rows = [Row("100mbit", "integers", blocks) for blocks in (False, True)]
    try:
        with shaped_machine("100mbit") as machine:
            for row in rows:
                measure(row, machine, file, 1)
    except OSError as error:
        pytest.skip(f"this user may not make networks: {error.strerror}")
    plain, packed = (row.came[0] for row in rows)
    assert packed < plain / 2
    left = subprocess.run(["ip", "netns"], check=True, capture_output=True, text=True).stdout
    assert machine.namespace not in left
