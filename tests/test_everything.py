"""`make test` leaves out no test, and no failure goes unseen."""

from pathlib import Path

import pytest

from tests import everything
from tests.everything import HERE, LONGEST, MEASURED, Ended, Part, command, parts_of, report, status
from tests.everything import summary as summary_of

FILES = sorted(file.relative_to(HERE) for file in HERE.rglob("test_*.py"))


def ended(name: str, code: int, output: str) -> Ended:
    return Ended(Part(name, (name,)), code, output)


def test_each_file_of_tests_is_in_exactly_one_part() -> None:
    parts = parts_of(FILES)

    for file in FILES:
        holding = [
            part.name
            for part in parts
            if any(file.is_relative_to(Path(path)) for path in part.paths)
        ]
        assert len(holding) == 1, file


def test_the_folders_that_are_named_are_there_and_start_in_this_order() -> None:
    names = [part.name for part in parts_of(FILES)]

    assert names[: len(LONGEST)] == [*LONGEST]
    assert {*MEASURED} <= {*names}


def test_only_a_measured_part_pays_for_coverage() -> None:
    part = Part("graph", ("graph",))

    assert "--cov" in command(part, measured=True)
    assert "--cov" not in command(part, measured=False)


def test_only_the_last_line_is_shown_of_a_part_in_which_all_went_well() -> None:
    assert report(ended("rpc", 0, ".... [100%]\n7 passed in 1.2s\n")).split() == (
        ["rpc", "7", "passed", "in", "1.2s"]
    )


@pytest.mark.parametrize("code", [1, 2, 5, -9])
def test_a_part_that_has_failed_in_any_way_is_shown_whole_and_named_at_the_end(code: int) -> None:
    good, bad = ended("rpc", 0, "..\n2 passed in 1s\n"), ended("lab", code, "F.\nwhy it failed\n")

    assert "F.\nwhy it failed" in report(bad)
    assert status([good, bad]) == 1
    assert summary_of([good, bad], 3.0).endswith("; failed in: lab\n")


def test_the_last_line_counts_the_tests_of_all_parts() -> None:
    parts = [
        ended("rpc", 0, "2 passed, 1 skipped in 1s\n"),
        ended("lab", 0, "40 passed in 1s (0:00:01)\n"),
    ]

    assert status(parts) == 0
    assert summary_of(parts, 3.4) == "42 passed, 1 skipped in 3 s\n"


def test_a_run_of_pytest_that_fails_fails_everything(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def two_parts(files: object) -> list[Part]:
        return [Part("missing", ("missing",)), Part("cli", ("cli",))]

    monkeypatch.setattr(everything, "parts_of", two_parts)

    assert everything.main([]) == 1

    shown = capsys.readouterr().out
    assert "file or directory not found: tests/missing" in shown
    assert any(line.startswith("cli ") and " passed in " in line for line in shown.splitlines())
    assert shown.endswith("; failed in: missing\n")
