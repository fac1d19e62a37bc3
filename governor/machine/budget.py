"""Computes the budgets of a governor: how many bytes of memory, shared memory and disk it may use.

* `memory`: the memory of all executors together. The governor offers it as the resource `memory`,
  and evicts tasks that exceed it.
* `disk`: data objects in files, including those in shared memory (see `disk`).
* `store`: data objects in shared memory. Mapped objects count here, and not as memory of the
  executors that map them.

Each is set by an option, or detected. Of the memory that the machine or the control group of this
process allows, the store gets `STORE_TENTHS` and the executors get the rest, so that both together
fit. An amount of 0 means unknown, or none. The disk may be filled with data up to `FILL_TENTHS` of
what is free when the governor starts.
"""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from rain.base.errors import StartError
from rain.base.resources import MEMORY, checked_amount
from rain.governor.machine.detecting import Machine

DETECT = "detect"

STORE_TENTHS = 3
"""How much of the memory is for stored objects."""

FILL_TENTHS = 9
"""How much of a file system may be filled: others write there, too."""


@frozen
class Budget:
    """Bytes for executors, for objects in shared memory, and for all objects in files."""

    memory: int = 0
    store: int = 0
    disk: int = 0


@frozen
class Room:
    """The budget of one governor: a part of the machine, if several governors share it."""

    memory: int  # that the machine and the control groups allow
    shared: int  # free in the file system of shared memory
    disk: int = 0  # free in that of the work folder

    @staticmethod
    def of(machine: Machine, parts: int, folder: Path) -> Room:
        """Measures it; the work folder will be there, or below."""
        memory, shared = machine.memory(), machine.free("dev/shm")
        return Room(memory // parts, shared // parts, machine.free(str(folder)) // parts)


def read_budget(memory: str, store: str, room: Room, disk: str = DETECT) -> Budget:
    """Makes the budgets from the options; raises a one-line StartError for bad ones."""
    given_memory = _given("--memory", memory)
    given_store = _given("--store", store)
    for_store = _detected_store(given_memory, room) if given_store is None else given_store
    for_executors = max(room.memory - for_store, 0) if given_memory is None else given_memory
    given_disk = _given("--disk", disk)
    for_disk = room.disk * FILL_TENTHS // 10 if given_disk is None else given_disk
    if given_disk == 0:
        raise StartError("--disk 0 leaves no room for data: give a size, or 'detect'")
    return Budget(for_executors, for_store, for_disk)


def _detected_store(given_memory: int | None, room: Room) -> int:
    """Its part of the machine, or the part that goes with the memory option, if that is less."""
    most = min(room.memory * STORE_TENTHS // 10, room.shared * FILL_TENTHS // 10)
    if given_memory is None:
        return most
    return min(most, given_memory * STORE_TENTHS // (10 - STORE_TENTHS))


def _given(option: str, text: str) -> int | None:
    if text == DETECT:
        return None
    try:
        return checked_amount(MEMORY, text)
    except ValueError:
        raise StartError(
            f"{option} {text!r} is neither a size, such as 4G or 512MiB, nor 'detect'"
        ) from None
