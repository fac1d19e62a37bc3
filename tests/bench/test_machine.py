"""What is said about the machine."""

import json

from bench.machine import describe_machine, processor_name, versions


def test_the_processor_has_the_name_that_the_kernel_gives() -> None:
    assert processor_name("processor\t: 0\nmodel name\t: Abacus 9\n") == "Abacus 9"


def test_a_processor_without_a_name_is_called_by_its_kind() -> None:
    assert processor_name("processor\t: 0\n")


def test_a_distribution_that_is_not_there_has_no_version() -> None:
    assert set(versions(["attrs", "no-such-distribution"])) == {"attrs"}


def test_the_description_can_be_written_as_json() -> None:
    described = json.loads(json.dumps(describe_machine(["attrs"])))

    assert described["cpus"] >= 1
    assert described["memory_gib"] > 0
