"""The resources that a governor offers, from its options and from what its machine has."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from rain.base.errors import StartError
from rain.base.resources import CPUS, GPUS, MEMORY, Resources, read_named
from rain.governor.core.reactor_settings import Offer
from rain.governor.machine.budget import DETECT
from rain.governor.machine.detecting import Machine


@frozen
class MachineShare:
    """The part of the detected resources that this governor takes, if several share a machine."""

    number: int = 0
    of: int = 1

    @staticmethod
    def read(text: str) -> MachineShare:
        """Parses a share: `0/2` is the first of two parts."""
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and int(number) < int(of)):
            raise StartError(f"--share {text!r} is not a part: write for instance 0/2")
        return MachineShare(int(number), int(of))


def read_offer(
    cpus: int, memory: int, gpus: str, named: Sequence[str], machine: Machine, share: MachineShare
) -> Offer:
    """Makes the offer from command-line options; raises a one-line StartError for bad ones.

    The bytes of memory are those of the `Budget`.
    """
    amounts = {CPUS: cpus, MEMORY: memory}
    names = _gpus(gpus, machine, share)
    amounts[GPUS] = len(names)
    for entry in named:
        try:
            name, amount = read_named(entry)
        except ValueError as error:
            raise StartError(f"--resource {error}") from None
        if name in amounts:
            raise StartError(f"--resource {entry!r}: {name!r} is named twice")
        amounts[name] = amount
    return Offer(Resources.of(amounts), names)


def _gpus(text: str, machine: Machine, share: MachineShare) -> tuple[str, ...]:
    if text == DETECT:
        return machine.gpus()[share.number :: share.of]
    if not text.isdecimal():
        raise StartError(f"--gpus {text!r} is neither a number nor 'detect'")
    count = int(text)
    there = machine.gpus()
    if there and count > len(there):
        raise StartError(f"--gpus {count} is more than the {len(there)} gpus that are here")
    return there[:count] if there else tuple(str(number) for number in range(count))
