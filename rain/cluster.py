"""Clusters from Python: what `rain start` does, as a context manager.

with Cluster.slurm(10, cpus=16, time="1:00:00") as cluster, cluster.client() as client:
    print(client.gather(client.map(work, range(1000))))
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from attrs import frozen

from rain.base.durations import parse_duration
from rain.base.errors import StartError
from rain.base.sizes import parse_size
from rain.cli.cluster_file import read_cluster_file, read_order, read_start_options
from rain.client import Client
from rain.start.add import remove_kind
from rain.start.asked import how_many
from rain.start.choice import find_cluster
from rain.start.clusters import ClusterDescription as Started
from rain.start.clusters import read_cluster, user_index
from rain.start.ending import GRACE
from rain.start.governors import (
    SSH,
    BatchGovernors,
    Governors,
    LocalGovernors,
    RemoteGovernors,
    Scale,
    as_user,
    read_scale,
    through,
)
from rain.start.interrupts import InterruptedStartError
from rain.start.jobs import JobLine, look_at_jobs
from rain.start.keywords import JobOptions, ScaleOptions, ServerOptions, SshOptions
from rain.start.options import AnyPath, StartRequest
from rain.start.stop import stop_cluster


@frozen(repr=False)
class Cluster:
    """A server and governors that this program has started.

    They run until `stop()`, or until the end of the `with` block. If the program is killed, they go
    on: `rain stop` lists and ends them. Only the main thread can start a cluster.

    >>> with Cluster.local([1, 1], listen="0") as cluster, cluster.client() as client:
    ...     client.submit(pow, 2, 3).result()
    8
    """

    _started: Started

    def __repr__(self) -> str:
        return f"<Cluster at {self.address}, logs in {self.log_folder}>"

    @classmethod
    def local(
        cls, cpus: Sequence[int] | int | None = None, **options: Unpack[ScaleOptions]
    ) -> Self:
        """Starts governors on this machine: one for each number of cpus, or one with all cpus.

        With `maximum=` they are started when tasks wait for them, each with `cpus` cpus.
        """
        scale = _scale(None, options)
        counts = (cpus,) if cpus is None or isinstance(cpus, int) else tuple(cpus)
        if scale is not None and len(counts) > 1:
            raise StartError("with maximum= all governors are alike: give one number of cpus")
        return cls._start(LocalGovernors(counts), options, scale=scale)

    @classmethod
    def ssh(cls, hosts: Iterable[str], **options: Unpack[SshOptions]) -> Self:
        """Starts a governor on each of these hosts, which are reached through ssh.

        With `maximum=` governors are started on them when tasks wait, and ended after that.
        """
        scale = _scale(None, options)
        command = tuple(shlex.split(options.pop("ssh", SSH)))
        user, jump = options.pop("user", ""), options.pop("jump", "")
        governors = as_user(RemoteGovernors(tuple(hosts)), user)
        more = read_start_options(options)  # what is left are those of all
        return cls._start_order(
            StartRequest(more, governors, ssh=through(command, jump), scale=scale)
        )

    @classmethod
    def slurm(cls, governors: int | None = None, **options: Unpack[JobOptions]) -> Self:
        """Starts a server here, and governors as jobs of Slurm; `JobOptions` has the options."""
        return cls.batch("slurm", governors, **options)

    @classmethod
    def batch(
        cls, launcher: str, governors: int | None = None, **options: Unpack[JobOptions]
    ) -> Self:
        """Starts a server here, and governors as jobs of a batch system.

        Args:
            launcher: "slurm", "sge", "pbs", "lsf", or one that another package offers.
            governors: how many jobs; each runs one governor. With `maximum=` in its place there are
                as many as the work needs.
            options: what each job gets, and the options of the server; see `JobOptions`.
        """
        scale = _scale(governors, options)
        if scale is None and not governors:
            raise StartError("give the number of governors, or maximum= if it follows the work")
        memory, time = options.pop("memory", None), options.pop("time", None)
        asked = BatchGovernors(
            launcher,
            governors or 0,
            options.pop("cpus", None),
            parse_size(memory) if isinstance(memory, str) else memory,
            options.pop("gpus", None),
            parse_duration(time) if isinstance(time, str) else time,
            tuple(options.pop("options", ())),
            options.pop("wait", 0),
        )
        return cls._start(asked, options, scale=scale)

    @classmethod
    def dask(
        cls, scheduler: Any, /, governors: int | None = None, **options: Unpack[JobOptions]
    ) -> Self:
        """Starts a server here, and a governor on each worker of a Dask cluster.

        Args:
            scheduler: a client of Dask, or the address of its scheduler.
            governors: how many, if not one on each worker.
            options: what each governor gets, and the options of the server; see `JobOptions`.
        """
        address = scheduler if isinstance(scheduler, str) else str(scheduler.scheduler.address)
        return cls._inside("dask", address, governors, options)

    @classmethod
    def ray(
        cls, address: str = "auto", governors: int | None = None, **options: Unpack[JobOptions]
    ) -> Self:
        """Starts a server here, and a governor in an actor on each node of a Ray cluster.

        Args:
            address: of the head of the Ray cluster; "auto" is that of this machine.
            governors: how many, if not one on each node.
            options: what each governor gets, and the options of the server; see `JobOptions`.
        """
        return cls._inside("ray", address, governors, options)

    @classmethod
    def kubernetes(
        cls, image: str, governors: int | None = None, **options: Unpack[JobOptions]
    ) -> Self:
        """Starts a server here, and governors as pods of Kubernetes.

        Args:
            image: a container image with Rain in it.
            governors: how many pods; each runs one governor.
            options: what each pod gets, and the options of the server; see `JobOptions`, where
                `options` are more words of `rain start kubernetes`, as ["--namespace=science"].
        """
        options["options"] = [image, *options.get("options", ())]
        return cls.batch("kubernetes", governors, **options)

    @classmethod
    def _inside(
        cls, launcher: str, address: str, governors: int | None, options: JobOptions
    ) -> Self:
        options["options"] = [address]
        if "maximum" not in options:
            governors = how_many(launcher, governors, [address])
        return cls.batch(launcher, governors, **options)

    @classmethod
    def from_file(cls, file: AnyPath, **options: Any) -> Self:
        """Starts the cluster that a file describes, as `rain start cluster.toml` does.

        Args:
            file: says which governors there are, and everything else that `rain start` can be told.
            options: win over the file, under their names there.
        """
        return cls._start_order(read_cluster_file(Path(file)).order(options))

    @classmethod
    def running(cls, which: str = "") -> Self:
        """The cluster that `rain start` has started on this machine.

        Args:
            which: its log folder or its address, if several of them run.
        """
        return cls(find_cluster(user_index(), which))

    @property
    def address(self) -> str:
        """The address of the server, as HOST:PORT."""
        return self._started.address

    @property
    def log_folder(self) -> Path:
        """The folder of all logs."""
        return self._started.log_folder

    def add(self, launcher: str, **options: Any) -> None:
        """Adds governors: here, on other hosts, or as jobs, whatever the cluster has already.

        With `max=` and the `kind=` of governors that are there, these become what is said now.

        >>> with Cluster.local([1], listen="0") as cluster:
        ...     cluster.add("local", governors=2, cpus=1)

        Args:
            launcher: "local", "ssh", or a batch system.
            options: those of `rain add LAUNCHER`, as governors=4, cpus=16, hosts=["node1"]; what
                follows `--` is `options`.
        """
        order = read_order(launcher, options)
        try:
            order.add_to(self._now())
        except InterruptedStartError as interrupted:
            raise KeyboardInterrupt from interrupted

    def remove(self, kind: str) -> None:
        """Removes a kind of governors that scales: its governors drain, and no others are started.

        Args:
            kind: its name, as in `rain status`.
        """
        remove_kind(self._now(), kind)

    def jobs(self) -> list[JobLine]:
        """The governors that are jobs, and how far each of them is. Asks the batch system."""
        return look_at_jobs(self._now())

    def client(self, **options: Any) -> Client:
        """A client of this cluster, wherever its server is; takes the options of `Client`."""
        if self._started.secret_file:
            options.setdefault("secret_file", self._started.secret_file)
        if self._started.tls:
            options.setdefault("tls", self._started.tls)
        return Client(self._started.addresses, **options)

    def stop(self, grace: float = GRACE) -> None:
        """Ends the server and all governors, and cancels the jobs that still wait."""
        stopped = stop_cluster(self._now(), user_index(), grace)
        if stopped.unreached:
            raise StartError("\n".join(stopped.unreached))

    def _now(self) -> Started:
        """With the governors that have been added since."""
        return read_cluster(self._started.log_folder) or self._started

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @classmethod
    def _start(
        cls, governors: Governors, options: ServerOptions, scale: Scale | None = None
    ) -> Self:
        return cls._start_order(StartRequest(read_start_options(options), governors, scale=scale))

    @classmethod
    def _start_order(cls, order: StartRequest) -> Self:
        try:
            started = order.start()
        except InterruptedStartError as interrupted:
            raise KeyboardInterrupt from interrupted
        return cls(started.cluster)


_WORDS = {
    "--governors": "governors",
    "--max": "maximum=",
    "--min": "minimum=",
    "--idle": "idle=",
    "--largest": "largest=",
    "--kind": "kind=",
}
"""What programs call these options."""


def _scale(governors: int | None, options: ScaleOptions) -> Scale | None:
    """Takes what is said of a number that follows the work."""
    idle = options.pop("idle", None)
    try:
        return read_scale(
            governors,
            options.pop("maximum", None),
            options.pop("minimum", None),
            parse_duration(idle) if isinstance(idle, str) else idle,
            options.pop("largest", None),
            options.pop("kind", None),
        )
    except ValueError as error:
        told = str(error)
        for option, word in _WORDS.items():
            told = told.replace(option, word)
        raise StartError(told) from None
