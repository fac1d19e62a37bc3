"""What the kernel says about a process is read right."""

import os
import time

from bench.processes import cpu_seconds, resident_bytes


def test_the_cpu_time_of_a_process_is_what_it_says_itself() -> None:
    before = time.process_time()
    read = cpu_seconds(os.getpid())
    after = time.process_time()

    assert before <= read <= after


def test_a_process_has_some_memory() -> None:
    assert resident_bytes(os.getpid()) > 1_000_000
