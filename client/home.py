"""The interface of clients that futures use (`rain.client.futures.futures.Futures`)."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rain.base.ids import ObjectId
from rain.common.references import Reference

if TYPE_CHECKING:
    from rain.client.connection import Here
    from rain.client.data import DataObject
    from rain.common.data_instance import DataInstance


class Home(Protocol):
    """What all futures of a client share."""

    def send(self, *, awaited: bool = False) -> None:
        """Sends all calls that were not sent yet; somebody waits for one of them if `awaited`."""
        ...

    def send_or_leave(self, *, awaited: bool = False) -> None:
        """The same, but inside of a loop uploads are left to another thread."""
        ...

    @property
    def here(self) -> Here | None:
        """The cluster, if it is in this process."""
        ...

    def work_until(self, is_done: Callable[[], bool], timeout: float | None) -> None:
        """Runs calls of a cluster that is in this process."""
        ...

    def work_for(self, is_done: Callable[[], bool]) -> None:
        """The same in another thread."""
        ...

    @property
    def is_interrupted_here(self) -> bool:
        """Whether this is a signal handler that came while its own thread was submitting."""
        ...

    def expect_free(self, handle: DataObject) -> None:
        """Refuses to wait for this in such a handler, if it could never be there."""
        ...

    def save(
        self, future: Any, url: str, storage_options: Mapping[str, Any], *, overwrite: bool
    ) -> Any:
        """The future of a call that saves the result of this one."""
        ...

    def cancel(self, handle: DataObject, *, recursive: bool, grace: float | None) -> None:
        """Cancels this result."""
        ...

    def fetch(self, future: Any) -> Any:
        """The value of a result that has not come by itself."""
        ...

    def was_fetched(self, future: Any) -> bool:
        """Whether it was fetched ahead, for the loop that reads it next."""
        ...

    def find(self, object_id: ObjectId) -> Any:
        """The future of an object, or None if nobody has it."""
        ...

    def fetch_all(self, handles: Sequence[DataObject]) -> Sequence[DataInstance]:
        """The data of several of these, side by side."""
        ...

    @property
    def ended(self) -> list[Callable[[Any], object]]:
        """What is called with each future that is done, in whatever thread; it never blocks."""
        ...

    def hold(self, future: object) -> None:
        """Keeps a future alive until `call_back` is called with it."""
        ...

    def call_back(self, fn: Callable[[Any], object], future: object) -> None:
        """Calls a user's function with a future, in a thread of the client."""
        ...

    @property
    def cluster(self) -> bytes:
        """The cluster in which the ids of their objects are valid."""
        ...

    def borrow(self, object_id: ObjectId, name: str) -> concurrent.futures.Future[Any]:
        """A future of an object, no matter who has submitted it."""
        ...

    def settle(self) -> None:
        """The server knows all calls when this returns."""
        ...

    def secure(self, references: Sequence[Reference]) -> None:
        """The server knows these when this returns, and keeps them until the run has ended."""
        ...
