"""The demo as a user starts it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rain.demo.corpus import make_corpus

pytestmark = pytest.mark.whole


def start(folder: Path, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "rain.demo", *options],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_demo_loses_a_governor_tries_again_and_leaves_nothing(tmp_path: Path) -> None:
    with start(tmp_path, "--calls", "20", "--megabytes", "0.2", "--parts", "4") as demo:
        output, errors = demo.communicate()

    assert demo.returncode == 0, errors
    assert "2 governor(s)" in output
    assert "11/11" in output
    assert "dashboard: http://" in output
    assert "killed the governor" in output
    assert "another one takes its place" in " ".join(output.split())
    assert "all 20 calls are done" in output
    assert "count/0 has failed once (TimeoutError: a disk did not answer in time)" in output
    assert "The answers are those of plain loops" in output
    assert errors == ""
    # The folder of the cluster goes when the last of its processes has gone.
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_the_demo_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    with start(tmp_path, "--megabytes", "8", "--parts", "64") as demo:
        assert demo.stdout is not None
        line = ""
        while "governor(s)" not in line:
            line = demo.stdout.readline()
            assert line, demo.communicate()[1]

        demo.send_signal(signal.SIGINT)
        output, errors = demo.communicate()

    assert demo.returncode == 130, errors
    assert "interrupted" in output
    assert errors == ""
    assert list(tmp_path.iterdir()) == []


def test_the_text_is_the_same_for_the_same_seed() -> None:
    assert make_corpus(10_000, 1) == make_corpus(10_000, 1)
    assert make_corpus(10_000, 1) != make_corpus(10_000, 2)
    assert 10_000 <= len(make_corpus(10_000, 3)) < 10_200
