"""The log of a daemon, on a disk that is full."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rain.daemon.logs import LogFile
from tests.support.full_disk import files_no_larger_than


def test_a_log_on_a_full_disk_is_incomplete_which_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # given
    file = tmp_path / "server.log"
    handler = LogFile(file, encoding="utf-8")
    # when
    with files_no_larger_than(100):
        for _ in range(20):
            handler.handle(logging.makeLogRecord({"msg": "x" * 19}))
        handler.close()
    # then
    assert file.read_text() == ("x" * 19 + "\n") * 5
    assert capsys.readouterr().err == f"rain: the log {file} is incomplete: File too large\n"
