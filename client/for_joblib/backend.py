"""A backend for joblib: it runs the batches that `joblib.Parallel` makes.

joblib decides how many calls are in a batch and how many batches are sent at a time. Its callback,
which sends the next batch, runs in the client's thread for callbacks.
"""

# joblib is not annotated, and what pyright guesses of its base classes is wrong.
# pyright: reportIncompatibleMethodOverride=false, reportUnknownMemberType=false

import concurrent.futures
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from joblib import parallel

from rain.client.client import Client
from rain.client.explaining.stack import Stack, outside_libraries
from rain.client.for_joblib.batches import BatchSizes
from rain.client.for_joblib.bundle import UploadedArrays, bundled
from rain.client.for_joblib.running import RunningBatches
from rain.client.future import Future
from rain.client.futures.submitting import Submitting
from rain.client.nested import process_client
from rain.common.bundles import call_bundle
from rain.common.by_value import travels
from rain.common.running import running_call, waiting_for_tasks
from rain.common.unpicklable import UNPICKLABLE, what_cannot_be_sent

FEWEST_JOBS = 2
"""With a single job joblib would run the calls in this process, however busy it is."""


AnyFuture: TypeAlias = "concurrent.futures.Future[Any]"


class RainBackend(parallel.ParallelBackendBase):  # type: ignore[misc] # joblib is not annotated
    """Runs batches as calls of a client.

    Args:
        nesting_level: given by joblib: inside of how many calls this one is.
        inner_max_num_threads: refused by joblib, since a call has as many threads as it has cpus.
        client: the client. Without one it is that of the running task. In a program the backend
            starts a cluster on this machine with its first call, which ends with the backend.
        options: what each batch needs, as in `Client.options`.
    """

    supports_retrieve_callback = True
    default_n_jobs = -1

    def __init__(
        self,
        nesting_level: int | None = None,
        inner_max_num_threads: int | None = None,
        client: Client | None = None,
        **options: Any,
    ) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        _expect_client(client)
        self.parallel: Any = None  # while a `Parallel` uses this
        self._in_use = client
        self._options = options
        self._by_name: dict[str, Submitting] = {}
        self._running = RunningBatches()
        self._uploads = UploadedArrays()
        self._batches = BatchSizes()
        self._waiting = waiting_for_tasks()
        self._called_at: Stack = ()  # joblib sends most batches from other threads

    # joblib asks these before and after a call.

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """How many batches can run at a time, as joblib asks for it."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is not None and n_jobs > 0:
            return n_jobs
        governors = self._client().get_server_info()["governors"]
        cpus: int = sum(governor["resources"]["cpus"] for governor in governors)
        return max(cpus + 1 + (-1 if n_jobs is None else n_jobs), FEWEST_JOBS)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **_: Any) -> int:
        """A `Parallel` begins to use this; gives the number of its jobs."""
        self.parallel = parallel
        self._called_at = outside_libraries()
        return self.effective_n_jobs(n_jobs)

    def start_call(self) -> None:
        """A `Parallel` runs: a task lends its cpus until it has the results."""
        self._waiting.__enter__()

    def stop_call(self) -> None:
        """All results are there: from now on the arrays may be changed."""
        self._waiting.__exit__(None, None, None)
        self._uploads.clear()

    def terminate(self) -> None:
        """The `Parallel` does not use this any more; without the reference the backend can be
        collected.
        """
        self._uploads.clear()
        self._batches = BatchSizes()
        self.parallel = None

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """A `Parallel` is aborting, as when a call of it has failed: it wants no more results."""
        for future in self._running.aborted():
            future.cancel()

    def get_nested_backend(self) -> tuple[Any, None]:
        """The backend of a `Parallel` inside a call: the call's thread, which has one cpu."""
        level = (self.nesting_level or 0) + 1
        return parallel.SequentialBackend(nesting_level=level), None

    @contextmanager
    def retrieval_context(self) -> Generator[None]:
        """joblib takes the results inside of this, and looks for them every 10 ms.

        So results that it takes all at once are awaited here, unless it has to heed a timeout.
        """
        used_by = self.parallel
        if used_by is not None and used_by.timeout is None and not used_by.return_generator:
            self._running.wait_for_all(used_by)
        yield

    # Batches.

    def compute_batch_size(self) -> int:
        """How many calls the next batch has."""
        return self._batches.next

    def batch_completed(self, batch_size: int, duration: float) -> None:
        """A batch is done, this many seconds after it was sent."""
        self._batches.completed(batch_size, duration)

    def submit(self, func: Any, callback: Any) -> AnyFuture:
        """Sends a batch. The callback is called with the future when it is done.

        What cannot be sent is done at once: joblib sends most batches in callbacks, and would wait
        for ever for one for which this has raised.
        """
        try:
            return self._sent(func, callback)
        # To be pickled, a value may do anything.
        except Exception as error:  # noqa: BLE001
            if isinstance(error, UNPICKLABLE):
                _note_culprit(func, error)
            failed: AnyFuture = concurrent.futures.Future()
            failed.set_exception(error)
            callback(failed)
            return failed

    def _sent(self, func: Any, callback: Any) -> Future[Any]:
        data, values = bundled(func, self._uploads, partial(self._client().put, name="array"))
        future: Future[Any] = self._submitting(func).submit(call_bundle, data, *values)
        assert future.task is not None
        future.task.created_at = self._called_at
        self._running.add(future, callback.parallel)
        future.add_done_callback(partial(self._done, callback))
        future.home.sending.send_or_leave(awaited=True)  # a batch waits for no others to go with it
        return future

    def retrieve_result_callback(self, out: AnyFuture) -> Any:
        """The results of a batch, inside of its callback."""
        return out.result()

    def _done(self, callback: Any, future: Future[Any]) -> None:
        callback(future)  # it may send the next batch, so this one counts until then
        self._running.remove(future)

    def _submitting(self, func: Any) -> Submitting:
        """With the options of this backend, under the name of the batch's first function."""
        fn = func.items[0][0] if getattr(func, "items", None) else func
        name: str = getattr(fn, "__name__", None) or type(fn).__name__
        known = self._by_name.get(name)
        if known is None:
            options: dict[str, Any] = {"name": name, **self._options}
            known = self._by_name[name] = self._client().options(**options)
        return known

    def _client(self) -> Client:
        if self._in_use is None and running_call() is not None:
            self._in_use = process_client()
        if self._in_use is None:
            self._in_use = Client()
            weakref.finalize(self, self._in_use.housekeeper.stop_soon)
        return self._in_use


def _expect_client(client: object) -> None:
    if not isinstance(client, Client | None):
        raise TypeError(
            f"the joblib backend 'rain' takes a client, and {client!r:.80} is none: write"
            " client=Client(...)"
        )


def _note_culprit(batch: Any, error: Exception) -> None:
    calls: list[tuple[Any, tuple[Any, ...], dict[Any, Any]]] = batch.items
    for fn, args, kwargs in calls:
        arguments: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        if not travels(arguments):
            what = what_cannot_be_sent(arguments, error, "its arguments")
            error.add_note(f"A call of {getattr(fn, '__name__', fn)} cannot be sent{what}")
            return
