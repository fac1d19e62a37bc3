"""How many bytes a governor may use: all of its budgets are computed here.

* `memory`: what the executors may hold together. It is what the governor offers as the resource
  `memory`, and what `watch` keeps them within.
* `store`: data objects in shared memory. Whatever is mapped from there counts here, and not as the
  memory of the executors that map it.

Each is told by an option, or detected. Of the memory that the machine or a control group around
this process allows, the store gets `STORE_TENTHS` and the executors get the rest, so that both
together fit. An amount of 0 means that nothing is known, or that there is none. The disk of the
work folder has no budget: only what is free there bounds it.
"""

from __future__ import annotations

from attrs import frozen

from rain.base.errors import StartError
from rain.base.resources import MEMORY, checked_amount
from rain.governor.machine import Machine

DETECT = "detect"

STORE_TENTHS = 3
"""How much of the memory is for stored objects."""

FILL_TENTHS = 9
"""How much of a file system may be filled: others write there, too."""


@frozen
class Budget:
    """Bytes for executors, and for objects in shared memory."""

    memory: int = 0
    store: int = 0


@frozen
class Room:
    """What one governor has: a part of the machine, if several governors share it."""

    memory: int  # that the machine and the control groups allow
    shared: int  # free in the file system of shared memory

    @staticmethod
    def of(machine: Machine, parts: int) -> Room:
        """Measures it."""
        return Room(machine.memory() // parts, machine.free("dev/shm") // parts)


def read_budget(memory: str, store: str, room: Room) -> Budget:
    """Makes the budgets from the options; raises a one-line StartError for bad ones."""
    told_memory = _told("--memory", memory)
    told_store = _told("--store", store)
    for_store = _detected_store(told_memory, room) if told_store is None else told_store
    for_executors = max(room.memory - for_store, 0) if told_memory is None else told_memory
    return Budget(for_executors, for_store)


def _detected_store(told_memory: int | None, room: Room) -> int:
    """Its part of the machine, or the part that goes with the memory option, if that is less."""
    most = min(room.memory * STORE_TENTHS // 10, room.shared * FILL_TENTHS // 10)
    if told_memory is None:
        return most
    return min(most, told_memory * STORE_TENTHS // (10 - STORE_TENTHS))


def _told(option: str, text: str) -> int | None:
    if text == DETECT:
        return None
    try:
        return checked_amount(MEMORY, text)
    except ValueError:
        raise StartError(
            f"{option} {text!r} is neither a size, such as 4G or 512MiB, nor 'detect'"
        ) from None
