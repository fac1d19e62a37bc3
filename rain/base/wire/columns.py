"""Checks that the columns of a message fit together, and says what is wrong if not."""

from collections.abc import Sequence, Sized

from rain.base.errors import ProtocolError


def uneven(what: str, *columns: Sized) -> ProtocolError:
    lengths = sorted({len(column) for column in columns})
    return ProtocolError(f"{what}: the columns have different lengths {lengths}")


def outputs_of_nobody(what: str) -> ProtocolError:
    """Checks that there are no outputs without tasks; the kinds of tasks say how many each has."""
    return ProtocolError(f"{what}: there are outputs, but no task")


def check_counts(what: str, counts: Sequence[int], entries: Sized) -> None:
    """Checks that the counts of all rows add up to the number of entries."""
    if sum(counts) != len(entries):
        raise ProtocolError(f"{what} do not add up to how many there are")
    if counts and min(counts) < 0:
        raise ProtocolError(f"{what} are below zero")
