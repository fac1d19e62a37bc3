"""Starts governors inside a Dask cluster: one on each worker, as long as that worker lives."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rain.base.errors import StartError
from rain.launchers import holding
from rain.launchers.extras import load
from rain.launchers.interface import Job, JobState, Standing

_SECONDS = 10.0
_SCHEME = "tcp://"


class InDask:
    """The launcher `dask`. Its option is the address of the scheduler.

    The number of a job is WORKER/GOVERNOR@SCHEDULER: everything by which it is found again.
    """

    name = "dask"
    cpus_variable = holding.CPUS

    def room(self, options: Sequence[str]) -> int:
        with _client(_address(options)) as client:
            return len(_workers(client))

    def submit(self, job: Job) -> str:
        scheduler = _address(job.options)
        with _client(scheduler) as client:
            workers = _workers(client)
            counts = _run(client, holding.count)
            if not counts:
                raise StartError(f"the Dask cluster at {scheduler} has no workers")
            worker = min(counts, key=lambda address: (counts[address], address))
            cpus = job.cpus or workers[worker]["nthreads"]
            told = _run(client, holding.begin, job.script, str(job.output), cpus, workers=[worker])
            held = told[worker]
        return f"{worker.removeprefix(_SCHEME)}/{held}@{scheduler.removeprefix(_SCHEME)}"

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        found: dict[str, Standing] = {}
        for scheduler, jobs in _by_scheduler(numbers).items():
            with _client(scheduler) as client:
                present = _workers(client)
                for number, (worker, held) in jobs.items():
                    if worker not in present:
                        found[number] = Standing(JobState.ENDED, "its worker has gone")
                        continue
                    told = _run(client, holding.look, held, workers=[worker])[worker]
                    if told is not None:
                        found[number] = told
        return found

    def cancel(self, numbers: Sequence[str]) -> None:
        for scheduler, jobs in _by_scheduler(numbers).items():
            try:
                with _client(scheduler) as client:
                    present = _workers(client)
                    for worker, held in jobs.values():
                        if worker in present:
                            _run(client, holding.end, held, workers=[worker])
            except StartError:
                continue  # workers end without their scheduler, and governors without their worker


def _address(options: Sequence[str]) -> str:
    if len(options) != 1 or options[0].startswith("-"):
        raise StartError("name the scheduler of the Dask cluster: rain start dask HOST:PORT")
    scheme, _, rest = options[0].rpartition("://")
    if scheme not in {"", "tcp"}:
        raise StartError(
            f"the Dask cluster at {options[0]} cannot hold governors: they need workers that are"
            " processes, and are reached by tcp://"
        )
    return f"{_SCHEME}{rest}"


def _by_scheduler(numbers: Sequence[str]) -> dict[str, dict[str, tuple[str, str]]]:
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for number in numbers:
        place, _, scheduler = number.rpartition("@")
        worker, _, held = place.rpartition("/")
        found.setdefault(f"{_SCHEME}{scheduler}", {})[number] = (f"{_SCHEME}{worker}", held)
    return found


@contextmanager
def _client(scheduler: str) -> Generator[Any]:
    distributed = load("distributed", "dask")
    try:
        client = distributed.Client(scheduler, timeout=_SECONDS, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise StartError(f"no Dask scheduler answers at {scheduler}: {error}") from error
    with client:
        yield client


def _run(client: Any, function: Callable[..., object], *arguments: object, **more: object) -> Any:
    """What a function returns on workers; StartError if it cannot be called there."""
    try:
        return client.run(function, *arguments, **more)
    except (ImportError, OSError) as error:
        raise StartError(f"the workers of Dask cannot hold governors: {error}") from error


def _workers(client: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    return found
