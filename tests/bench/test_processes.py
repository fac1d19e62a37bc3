"""What the kernel says about a process is read right."""

from bench.processes import cpu_seconds


def test_user_and_system_time_are_added() -> None:
    stat = "42 (python) S 1 1 1 0 -1 4194560 900 0 0 0 250 50 7 9 20 0 3 0 1000 1 1"

    assert cpu_seconds(stat, ticks_per_second=100) == 3.0


def test_a_name_with_blanks_and_brackets_does_not_shift_the_fields() -> None:
    stat = "42 (a (b) c) S 1 1 1 0 -1 4194560 900 0 0 0 250 50 7 9 20 0 3 0 1000 1 1"

    assert cpu_seconds(stat, ticks_per_second=100) == 3.0
