"""A start whose governors are copies of one process: what becomes of that process."""

import os
from pathlib import Path

import pytest
from attrs import evolve

from rain.base.errors import StartError
from rain.daemon.template import reaps_orphans
from rain.start.governors import LocalGovernors, RemoteGovernors
from rain.start.interrupts import InterruptedStartError
from rain.start.plan import plan_template
from tests.start.world import World


@pytest.fixture
def copied() -> bool:
    return True


def test_governors_of_this_machine_are_copies_unless_each_has_a_prefix(world: World) -> None:
    here = world.settings(LocalGovernors((1, 1)))

    assert plan_template(here) is not None
    assert plan_template(evolve(here, run_prefix=("strace",))) is None
    assert plan_template(world.settings(RemoteGovernors(("alpha",)))) is None


def test_a_copy_is_told_what_a_program_would_be(world: World) -> None:
    world.start(2)

    for number in (0, 1):
        arguments = world.notes(f"governor-{number}")["arguments"]
        assert arguments[:4] == ["governor", "127.0.0.1:7210", "--cpus=1", f"--share={number}/2"]
        pid = world.notes(f"governor-{number}")["pid"]
        assert Path(f"/proc/{pid}/comm").read_text() == f"governor-{number}\n"


def test_only_the_copies_stay(world: World) -> None:
    before = _children()

    cluster = world.start(2).cluster

    assert _children() - before == {member.mark.pid for member in cluster.members}
    assert not reaps_orphans()


def _children() -> set[int]:
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return {int(pid) for pid in text.split()}


def test_a_process_that_dies_before_it_was_copied_is_told_with_its_log(world: World) -> None:
    with pytest.raises(StartError) as caught:
        world.start(2, template="dies")

    assert str(caught.value) == (
        "governors ended with status 3 before any was started; the log"
        f" {world.logs}/governors.err ends with:\n  | port 7210 is in use"
    )
    assert world.left() == []


def test_a_signal_before_the_first_copy_ends_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARTER", str(os.getpid()))

    with pytest.raises(InterruptedStartError):
        world.start(2, template="interrupts")

    assert world.left() == []
    assert not reaps_orphans()
