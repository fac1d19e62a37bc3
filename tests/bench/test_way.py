"""Lines count for the process, the file and the window in which they ran; those beside do not."""

import json
import subprocess
import sys
from pathlib import Path

from bench.entering import Lines, holds
from bench.way import Way, in_most, together, way_sheet

ROOT = Path(__file__).parents[2]

PROGRAM = """
import json, os, subprocess, sys
from bench.entering import traced_programs
ASK = "from rain.base.sizes import spell_size; print(spell_size(2000)); input(); spell_size(3000)"
with traced_programs() as windows:
    child = subprocess.Popen(
        [sys.executable, "-c", ASK], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    child.stdout.readline()
    with windows.open():
        child.communicate(b"now\\n")
    with windows.open():
        import rain.base.moments
        pids = {"child": child.pid, "here": os.getpid()}
    print(json.dumps({
        who: [sorted(lines) for lines in windows.lines(pid)] for who, pid in pids.items()
    }))
"""


def test_a_file_is_entered_in_the_process_and_the_window_in_which_it_runs() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["child"] == [["rain/base/sizes.py"], []]
    assert found["here"][0] == []
    assert "rain/base/moments.py" in found["here"][1]


HOLDING = """
import json, os
from bench.entering import traced_programs
from rain.base.sizes import parse_size, spell_size
with traced_programs("12 MiB") as windows:
    with windows.open():
        parse_size("12 MiB")
        spell_size(12)
    print(json.dumps([sorted(lines) for lines in windows.lines(os.getpid())]))
    with windows.open():
        spell_size(12)
    print(json.dumps([sorted(lines) for lines in windows.lines(os.getpid())]))
"""


def test_with_a_text_only_functions_that_hold_it_count() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", HOLDING], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 0, answer.stderr
    first, second = map(json.loads, answer.stdout.splitlines())
    assert first == [["rain/base/sizes.py"]]
    assert second == [["rain/base/sizes.py"], []]


def test_what_is_held_is_found_in_bytes_and_containers() -> None:
    assert holds([1, {"a": (b"some text here",)}], "text", 3)
    assert holds(memoryview(b"some text"), "text", 0)
    assert not holds([1, {"a": (b"some text here",)}], "text", 2)
    assert not holds(["other", 1, None], "text", 3)


def test_what_ran_in_few_calls_is_left_out() -> None:
    calls: list[Lines] = [{"a": {1, 2}}, {"a": {1}, "heartbeat": {7}}, {"a": {1, 2}}]

    assert in_most(calls) == {"a": {1, 2}}


def test_processes_of_one_role_are_told_together() -> None:
    assert together([[{"a": {1}}, {}], [{"a": {2}}, {"b": {3}}]]) == [{"a": {1, 2}}, {"b": {3}}]


def test_the_sheet_has_a_row_for_each_file_and_counts_them() -> None:
    way = Way(
        {
            "client": {"rain/cluster.py": {1, 2}},
            "server": {"rain/cluster.py": {3}, "rain/__main__.py": {1}},
            "governor": {},
            "executor": {},
        }
    )

    sheet = way_sheet(way, "Lines")

    assert [row[:3] for row in sheet.rows] == [
        ("rain/__main__.py", "", "1"),
        ("rain/cluster.py", "2", "1"),
        ("2 files", "1", "2"),
    ]
