"""Finds the futures inside of a value while it is pickled.

A client or an executor that makes data reports the futures inside, so that the cluster keeps their
results as long as the data. A future registers itself here when it is pickled, whatever pickler
does it.
"""

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol


class Home(Protocol):
    """The client of a future, as far as pickling needs it."""

    def secure(self, references: "Sequence[Reference]") -> None:
        """The server knows these when this returns, and keeps them until the run has ended."""
        ...


class Reference(Protocol):
    """A future."""

    @property
    def object_id(self) -> int:
        """The packed id of the object that it stands for."""
        ...

    @property
    def home(self) -> Home: ...


class _Finders(threading.local):
    here: "list[dict[int, Reference]] | None" = None  # one inside the other


_finders = _Finders()


class finding_references:  # noqa: N801 # it reads as what happens inside
    """Finds the futures that this thread pickles inside of this, each once, by their objects."""

    __slots__ = ("_found",)

    def __enter__(self) -> "dict[int, Reference]":
        self._found: dict[int, Reference] = {}
        if _finders.here is None:
            _finders.here = []
        _finders.here.append(self._found)
        return self._found

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        assert _finders.here is not None
        _finders.here.pop()


def note_reference(reference: Reference) -> None:
    """This future is being pickled."""
    if _finders.here:
        _finders.here[-1][reference.object_id] = reference


def secure(found: "dict[int, Reference]") -> list[int]:
    """Called before data leaves a task: the results of futures inside stay until the server knows
    of them.
    """
    homes = {id(one.home): one.home for one in found.values()}
    for home in homes.values():
        home.secure([one for one in found.values() if one.home is home])
    return [*found]
