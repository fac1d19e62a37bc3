"""What a governor offers: what it is told, and what it finds on a machine of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.governor.core.reactor_settings import Offer
from rain.governor.machine.budget import Room, read_budget
from rain.governor.machine.detecting import Machine
from rain.governor.machine.offer import MachineShare, read_offer

GIB = 1024**3
NO_ENVIRONMENT: Mapping[str, str] = {}


def a_machine(root: Path, environment: Mapping[str, str] = NO_ENVIRONMENT, **files: str) -> Machine:
    """A machine with these files; `__` stands for a slash and `_dot_` for a dot."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Machine(root, environment)


def offer(
    machine: Machine,
    memory: str = "detect",
    gpus: str = "detect",
    named: tuple[str, ...] = (),
    share: str = "0/1",
) -> Offer:
    part = MachineShare.read(share)
    budget = read_budget(memory, "0", Room.of(machine, part.of, Path("/")))
    return read_offer(2, budget.memory, gpus, named, machine, part)


def test_the_memory_is_what_the_machine_has(tmp_path: Path) -> None:
    machine = a_machine(tmp_path, proc__meminfo=f"MemTotal: {8 * GIB // 1024} kB\nMemFree: 1 kB\n")
    assert offer(machine).resources.as_dict() == {"cpus": 2, "memory": 8 * GIB}


def test_the_memory_is_what_the_control_group_allows_or_one_around_it(tmp_path: Path) -> None:
    machine = a_machine(
        tmp_path,
        proc__meminfo=f"MemTotal: {8 * GIB // 1024} kB\n",
        proc__self__cgroup="0::/user/me\n",
        sys__fs__cgroup__user__me__memory_dot_max="max\n",
        sys__fs__cgroup__user__memory_dot_max=f"{3 * GIB}\n",
    )
    assert machine.memory() == 3 * GIB


def test_control_groups_of_the_first_version_are_understood(tmp_path: Path) -> None:
    machine = a_machine(
        tmp_path,
        proc__meminfo=f"MemTotal: {8 * GIB // 1024} kB\n",
        proc__self__cgroup="4:cpu,cpuacct:/box\n3:memory:/box\n",
        sys__fs__cgroup__memory__box__memory_dot_limit_in_bytes=f"{2 * GIB}\n",
    )
    assert machine.memory() == 2 * GIB


def test_a_machine_that_tells_nothing_offers_no_memory_and_no_gpus(tmp_path: Path) -> None:
    assert offer(Machine(tmp_path, {})) == offer(Machine(tmp_path, {}), memory="0", gpus="0")


def test_gpus_are_found_by_their_driver(tmp_path: Path) -> None:
    machine = a_machine(
        tmp_path,
        proc__driver__nvidia__gpus__a__information="",
        proc__driver__nvidia__gpus__b__information="",
    )
    assert offer(machine).gpus == ("0", "1")
    assert offer(machine).resources.amount("gpus") == 2


def test_gpus_are_found_by_their_devices(tmp_path: Path) -> None:
    machine = a_machine(tmp_path, dev__nvidia0="", dev__nvidia1="", dev__nvidiactl="")
    assert machine.gpus() == ("0", "1")


@pytest.mark.parametrize(
    ("environment", "gpus"),
    [
        ({"CUDA_VISIBLE_DEVICES": "3,GPU-7"}, ("3", "GPU-7")),
        ({"CUDA_VISIBLE_DEVICES": "3,-1,4"}, ("3",)),
        ({"CUDA_VISIBLE_DEVICES": ""}, ()),
        ({"NVIDIA_VISIBLE_DEVICES": "GPU-5,GPU-6,GPU-7"}, ("0", "1", "2")),
        ({"NVIDIA_VISIBLE_DEVICES": "void"}, ()),
        ({"NVIDIA_VISIBLE_DEVICES": "all"}, ("0",)),
        ({"NVIDIA_VISIBLE_DEVICES": "all", "CUDA_VISIBLE_DEVICES": "2"}, ("2",)),
    ],
)
def test_the_environment_says_which_gpus_are_meant(
    environment: dict[str, str], gpus: tuple[str, ...], tmp_path: Path
) -> None:
    assert a_machine(tmp_path, environment, dev__nvidia0="").gpus() == gpus


def test_what_is_told_is_offered(tmp_path: Path) -> None:
    told = offer(Machine(tmp_path, {}), "4G", "2", ("licence=3", "disk.fast=10"))
    assert told.gpus == ("0", "1")
    assert told.resources.as_dict() == {
        "cpus": 2,
        "disk.fast": 10,
        "gpus": 2,
        "licence": 3,
        "memory": 4 * GIB,
    }


def test_a_number_of_gpus_means_the_first_ones_that_are_visible(tmp_path: Path) -> None:
    machine = Machine(tmp_path, {"CUDA_VISIBLE_DEVICES": "4,2"})
    assert offer(machine, gpus="1").gpus == ("4",)


def test_several_governors_of_one_machine_divide_what_is_detected(tmp_path: Path) -> None:
    machine = a_machine(
        tmp_path,
        {"CUDA_VISIBLE_DEVICES": "0,1,2"},
        proc__meminfo=f"MemTotal: {4 * GIB // 1024} kB\n",
    )
    parts = [offer(machine, share=f"{number}/2") for number in range(2)]
    assert [part.gpus for part in parts] == [("0", "2"), ("1",)]
    assert [part.resources.amount("memory") for part in parts] == [2 * GIB, 2 * GIB]


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"memory": "much"}, "--memory 'much' is neither a size"),
        ({"memory": "-1"}, "--memory '-1' is neither a size"),
        ({"gpus": "some"}, "--gpus 'some' is neither a number nor 'detect'"),
        ({"gpus": "3"}, "--gpus 3 is more than the 1 gpus that are here"),
        ({"named": ("licence",)}, "--resource 'licence' is not NAME=AMOUNT"),
        ({"named": ("licence=-1",)}, "--resource 'licence=-1' is not NAME=AMOUNT"),
        ({"named": ("a b=1",)}, "--resource 'a b=1': 'a b' is not the name of a resource"),
        ({"named": ("gpus=1",)}, "--resource 'gpus=1': use --gpus"),
        ({"named": ("x=1", "x=2")}, "--resource 'x=2': 'x' is named twice"),
        ({"share": "2/2"}, "--share '2/2' is not a part"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_line(
    told: dict[str, object], text: str, tmp_path: Path
) -> None:
    machine = a_machine(tmp_path, dev__nvidia0="")
    with pytest.raises(StartError) as refused:
        offer(machine, **told)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # mixed
    assert str(refused.value).startswith(text)
    assert "\n" not in str(refused.value)
