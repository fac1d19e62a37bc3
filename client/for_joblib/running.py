"""Keeps track of running batches, and waits for those of one `joblib.Parallel`."""

import threading
from typing import Any

from rain.client.future import Future


class RunningBatches:
    """Several `Parallel` may use one backend at a time: one may give its results one by one."""

    def __init__(self) -> None:
        self._sent_by: dict[Future[Any], Any] = {}
        self._changed = threading.Condition()

    def aborted(self) -> list[Future[Any]]:
        """The batches of which nobody wants the results."""
        with self._changed:
            return [one for one, parallel in self._sent_by.items() if _is_aborting(parallel)]

    def add(self, future: Future[Any], parallel: Any) -> None:
        """A `Parallel` sends a batch; one that is aborting meanwhile does not want it."""
        with self._changed:
            self._sent_by[future] = parallel
        if _is_aborting(parallel):
            future.cancel()

    def remove(self, future: Future[Any]) -> None:
        """A batch is done, and joblib knows it."""
        with self._changed:
            if _is_over(self._sent_by.pop(future), self._sent_by):
                self._changed.notify_all()

    def wait_for_all(self, parallel: Any) -> None:
        """Returns when all batches of it are done, or one has failed."""
        with self._changed:
            self._changed.wait_for(lambda: _is_over(parallel, self._sent_by))


def _is_over(parallel: Any, sent_by: dict[Future[Any], Any]) -> bool:
    return parallel not in sent_by.values() or _is_aborting(parallel)


def _is_aborting(parallel: Any) -> bool:
    aborting: bool = parallel._aborting  # joblib tells it nowhere else
    return aborting
