"""One work on one system: `python -m bench.memory.one SYSTEM WORK TOTAL PART LIMIT FOLDER GROUP`.

The process joins the control group first, so that all that it starts is in there. It writes the
seconds and the answer to a file in the folder; if it fails, the end of its stderr says why.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.memory import ray_works, works
from bench.memory.works import Sizes
from bench.processes import HOST, rain_daemon
from rain.client import Client

CPUS = 2

ANSWER = "answer.json"

Work = Callable[[Sizes], float]
Started = Generator[dict[str, Work], None, None]


@contextmanager
def _rain(limit: int, folder: Path, bounded: bool) -> Started:
    """A server and a governor; in a control group they find the limit by themselves."""
    dask: Any = import_module("dask")
    told = [] if bounded else ["--memory", str(limit * 7 // 10), "--store", str(limit * 3 // 10)]
    with ExitStack() as stack:
        server = ("server", "--listen", f"{HOST}:0", "--no-http", "--journal", "none")
        _, address = stack.enter_context(rain_daemon("server", *server, folder=folder))
        governor = ["governor", address, "--cpus", str(CPUS), "--workdir", str(folder / "work")]
        stack.enter_context(rain_daemon("governor", *governor, *told, folder=folder))
        client = stack.enter_context(Client(address))
        stack.enter_context(dask.config.set(scheduler=client.dask))
        yield works.WORKS


@contextmanager
def _dask(limit: int, folder: Path, bounded: bool) -> Started:
    """Workers with one thread each, which have all of the limit together."""
    distributed: Any = import_module("distributed")
    with (
        distributed.LocalCluster(
            n_workers=CPUS,
            threads_per_worker=1,
            memory_limit=limit // CPUS,
            local_directory=str(folder),
            dashboard_address=None,
        ) as local,
        distributed.Client(local),
    ):
        yield works.WORKS


@contextmanager
def _ray(limit: int, folder: Path, bounded: bool) -> Started:
    """Three tenths of the limit for its object store, which is Ray's own default."""
    ray: Any = import_module("ray")
    ray.init(
        num_cpus=CPUS,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=max(limit * 3 // 10, 80_000_000),
        _memory=limit * 7 // 10,
        _temp_dir=str(folder / "r"),
    )
    try:
        yield ray_works.WORKS
    finally:
        ray.shutdown()


SYSTEMS = {"rain": _rain, "dask": _dask, "ray": _ray}


def main(words: list[str]) -> None:
    """Runs it, and prints what came out."""
    system, work, total, part, limit, folder, group = words
    if group:
        (Path(group) / "cgroup.procs").write_text(str(os.getpid()))
    with SYSTEMS[system](int(limit), Path(folder), bool(group)) as parts:
        began = time.perf_counter()
        answer = parts[work](Sizes(int(total), int(part)))
        seconds = time.perf_counter() - began
        (Path(folder) / ANSWER).write_text(json.dumps({"seconds": seconds, "answer": answer}))


if __name__ == "__main__":
    main(sys.argv[1:])
