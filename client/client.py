"""The client: a connection to a server, and the sessions on it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from rain.base.errors import RainError
from rain.base.failures import OnFailure
from rain.base.ids import SessionId, TaskId, pack
from rain.base.silence import AWAY_LIMIT, SILENCE_LIMIT, ClientLimits
from rain.base.wire.requests import (
    CloseSession,
    JoinSession,
    OpenSession,
)
from rain.client.brought.uploads import Uploads
from rain.client.by_name import FutureSession, check_durable
from rain.client.connection import Asking, Connection
from rain.client.data import DataObject
from rain.client.display.transfer_bars import TransferBars
from rain.client.environments import Env, checked_env
from rain.client.explaining.lookout import Lookout, warn_aside
from rain.client.explaining.misspelled import names_misspelled
from rain.client.explaining.tracebacks import hides_frames
from rain.client.failure import noting_failure
from rain.client.futures.futures import Futures
from rain.client.housekeeper import Closable
from rain.client.items import asked_ids, note_reports
from rain.client.kept_results import KeptResults
from rain.client.looking import Looking, nameless_failure
from rain.client.numbers import SharedNumbers
from rain.client.reaching.cluster import Embedded, Reached, reach, reach_here
from rain.client.reaching.credentials import Credentials
from rain.client.references import note_client
from rain.client.reports import ask_reports
from rain.client.session import Session
from rain.client.session_options import SessionOptions
from rain.client.shapes import checked_idempotent
from rain.client.task import Task
from rain.common.errors import RainException
from rain.files.file import File
from rain.files.finding import open_files

if TYPE_CHECKING:
    from rain.client.for_dask.scheduler import DaskScheduler

NUMBERS_AT_MOST = 256
"""Joined sessions of which a client remembers the numbers that it has left."""


def _of_the_task() -> "Client":
    """The client of the running task: a client that is pickled into a task becomes this one."""
    client: Client = import_module("rain.client").get_client()
    return client


class Client(Looking):
    """A connection to a cluster, which runs the calls and tasks of this program.

    Several threads may use it.

    Without an address the client starts a server and governors on this machine. It stops them when
    it is closed or garbage-collected, and when the program ends.

    >>> with Client(cpus=2) as client:
    ...     squares = client.map(lambda x: x * x, range(4))
    ...     client.gather(squares)
    [0, 1, 4, 9]

    With `local=True` everything runs in this process, in the threads that wait.

    >>> with Client(local=True) as client:
    ...     client.submit(pow, 2, 3).result()
    8

    Args:
        address: the host of a server that runs already, "host:port", or the URL of its dashboard.
            If it has standbys, a list of all addresses, or one text with commas between them.
        port: the port of that server; 7210, if neither says one.
        cpus: the cpus of each governor that is started; by default they share all of the machine.
        governors: how many governors are started.
        folder: keep the results of all calls in this folder. A program that was killed and runs
            again finds there what it had computed.
        cache_limit: the most bytes in a cache of results, as "50GiB"; by default a tenth of its
            disk.
        memory: how much memory the tasks of each governor may use, as "8G"; by default what is
            there.
        resources: what else each governor offers, as {"licence": 2}; {"gpus": 1} in the place of
            the gpus that are there.
        scheduler: which scheduler plans, by its name or as "FILE.py:CLASS".
        secret: the secret of the cluster.
        secret_file: a file with the secret. Without both, the file that `RAIN_SECRET_FILE` names
            is read. A server of the same user that listens on this machine only needs none.
        tls: the file of a client's certificate, or the folder of `rain keys`, for a server that
            encrypts. Without it, what `RAIN_TLS` names is used.
        local: run everything in this process, one call after the other, in the threads that wait:
            for debuggers, tests and notebooks. `cpus` is then only a number.
        server_timeout: seconds without a heartbeat of the server after which calls that wait
            raise `ConnectionException`; 30 by default, and 0 means never.
        server_away: seconds for which the client looks for a server with a journal that has died.
            Calls wait meanwhile, and go on when it is back. 600 by default; 0 means that they do
            not wait.
        wait_for_server: seconds to wait here for a server that is not there yet. By default one
            that cannot be reached is told at once.
        insecure: connect to a server that was started with `--insecure`.
        env: the environment of all tasks: packages, variables, files (see `Env`).
        show_transfers: show a bar for large data that is sent or received for longer than a second,
            in terminals and notebooks.
    """

    env: Env | None = None  # that of its tasks, unless they say another one
    kept_results: KeptResults | None  # of all calls, in a folder
    _is_of_tasks = False
    _is_patient = False  # waits for a server that is not there when it is made

    @hides_frames
    @names_misspelled
    def __init__(
        self,
        address: str | Sequence[str] = "",
        port: int | str | None = None,
        *,
        cpus: int | None = None,
        governors: int = 1,
        folder: str | PathLike[str] | None = None,
        cache_limit: int | str | None = None,
        memory: int | str | None = None,
        resources: Mapping[str, int] | None = None,
        scheduler: str | None = None,
        secret: str | bytes | None = None,
        secret_file: str | PathLike[str] | None = None,
        tls: str | PathLike[str] | None = None,
        server_timeout: float = SILENCE_LIMIT,
        server_away: float = AWAY_LIMIT,
        wait_for_server: float = 0.0,
        insecure: bool = False,
        local: bool = False,
        env: Env | None = None,
        show_transfers: bool = True,
    ) -> None:
        self.env = checked_env("Client", env)
        embedded = Embedded(cpus, governors, folder, cache_limit, memory, resources, scheduler)
        credentials = Credentials(secret, secret_file, tls, insecure)
        waits = server_away if self._is_patient and address else wait_for_server
        limits = ClientLimits(server_timeout, server_away, waits)
        if local:
            reached = reach_here(address, port, embedded, credentials, limits, env=env)
        else:
            watch = TransferBars() if show_transfers else None
            reached = reach(address, port, embedded, credentials, limits, watch)
        self._take_over(reached)

    @classmethod
    def over(cls, connection: Connection, cluster: Closable | None = None) -> Self:
        """A client on a connection that exists already."""
        client = cls.__new__(cls)
        client._take_over(Reached(connection, cluster))
        return client

    def _take_over(self, reached: Reached) -> None:
        super().__init__(reached)
        connection, housekeeper = self.connection, self.housekeeper
        self._lookout = Lookout(connection, warn_aside)
        housekeeper.at_close.append(self._lookout.look_back)
        self.kept_results = reached.kept_results
        if self.kept_results is not None:
            housekeeper.at_close.append(self.kept_results.close)
        self.uploads = Uploads()
        self._numbers: dict[SessionId, SharedNumbers] = {}  # of joined sessions
        if not self._is_of_tasks:  # else code that unpickles a future in a task finds it
            note_client(self.open_futures, connection.cluster, lambda: housekeeper.closed)

    def __reduce__(self) -> tuple[Any, ...]:
        """In a task it is the client of the task, so an object that holds a client can be sent."""
        return _of_the_task, ()

    def __del__(self) -> None:
        housekeeper = self.__dict__.get("housekeeper")
        if housekeeper is not None and not housekeeper.closed:
            housekeeper.stop_soon()

    def close(self) -> None:
        """Closes the connection. This ends its sessions, and the cluster that it has started.

        >>> other = Client(cpus=1)
        >>> other.close()
        >>> repr(other).endswith("closed>")
        True
        """
        self.housekeeper.close()

    def new_session(
        self,
        name: str = "Unnamed Session",
        default: bool = False,
        *,
        on_failure: str | None = None,
        fuse: bool = False,
        durable: bool = False,
        idempotent: bool = False,
        env: Env | None = None,
    ) -> Session:
        """Opens a session.

        >>> with client.new_session("greeting") as session:
        ...     text = tasks.Concat((blob("ra"), blob("in")))
        ...     session.compute(text).get_str()
        'rain'

        Args:
            name: what the dashboard and `join_session` call it.
            default: use it wherever no other session is active.
            on_failure: what happens when a task fails. "stop" ends the session, "continue" fails
                only the tasks that depend on it. The default is "continue" for the default session
                of a cluster that this client has started, and "stop" otherwise.
            fuse: run straight chains of remote functions as one task (see `Session.submit`).
            durable: keep what it makes under its name, also when this client has gone (see
                `Client.session`). Such a session goes on after failures.
            idempotent: its tasks may run twice at a time, unless they say `idempotent=False`: one
                that is much slower than the others of its name is run once more elsewhere.
            env: the environment of its tasks, on top of that of the client (see `Env`).
        """
        checked_idempotent("new_session", idempotent)
        checked_env("new_session", env)
        if durable:
            check_durable(self, name, on_failure)
            choice = OnFailure.CONTINUE
        elif on_failure is None:
            goes_on = default and self.housekeeper.cluster is not None
            choice = OnFailure.CONTINUE if goes_on else OnFailure.STOP
        else:
            choice = _checked_on_failure(on_failure)
        with Asking(nameless_failure):
            asked = OpenSession(str(name), "", choice, self._parent(), durable)
            session_id = self.connection.ask(asked)
        self._note_open(session_id)
        return Session(
            self,
            session_id,
            default,
            SessionOptions(str(name), choice, fuse=fuse, is_durable=durable, idempotent=idempotent),
            self.env if env is None else env.over(self.env),
        )

    def session(
        self,
        name: str,
        *,
        durable: bool = False,
        idempotent: bool = False,
        env: Env | None = None,
    ) -> FutureSession:
        """Opens a session for calls of plain functions, with `submit`, `map` and so on.

        The results of a durable session stay under its name after this client has gone, and its
        calls go on. A program that opens the name again and makes the same calls gets the results
        of the first ones: nothing is computed twice.

        >>> with client.session("sweep", durable=True) as friday:
        ...     futures = friday.map(abs, range(-3, 0))
        >>> with client.session("sweep", durable=True) as monday:  # usually in another program
        ...     client.gather(monday.map(abs, range(-3, 0)))
        [3, 2, 1]
        >>> client.remove_session("sweep")

        Args:
            name: what the dashboard and `sessions` call it.
            durable: keep what it makes until `remove_session`. The server should have a journal.
            idempotent: its calls may run twice at a time, unless they say `idempotent=False`: one
                that is much slower than the others of its name is run once more elsewhere.
            env: the environment of its calls, on top of that of the client (see `Env`).
        """
        return FutureSession(self, name, durable=durable, idempotent=idempotent, env=env)

    def _note_open(self, session_id: SessionId) -> None:
        self.housekeeper.open_sessions.add(session_id)
        self._lookout.begin()
        self.showing.opened()

    def _parent(self) -> TaskId | None:
        """The running task that opens the sessions of this client, if there is one."""
        return None

    def _new_futures(self) -> Futures:
        session = self.new_session("futures", on_failure=OnFailure.CONTINUE.value)
        return Futures(session, self.housekeeper)

    def open_files(
        self,
        urls: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        block_size: int | str | None = None,
        delimiter: bytes = b"\n",
        storage_options: Mapping[str, Any] | None = None,
        near: str | Iterable[str] | None = None,
    ) -> list[File]:
        """Handles of the files that match, as arguments of calls and inputs of programs.

        The files are listed now, by this program, and read by the tasks that open them.

        >>> from pathlib import Path
        >>> for number in range(3):
        ...     _ = Path(f"part-{number}.txt").write_text("rain\\n" * number)
        >>> def count_lines(file):
        ...     with file as stream:
        ...         return len(stream.readlines())
        >>> client.gather(client.map(count_lines, client.open_files("part-*.txt")))
        [0, 1, 2]

        Args:
            urls: URLs that fsspec knows, paths, or patterns of such: `s3://bucket/*.parquet`.
            block_size: give handles of blocks of about this size, as "64MiB", instead of files.
            delimiter: what ends a record; a record is in one block. b"" cuts anywhere.
            storage_options: what the file system is made with, as for pandas. Without them it looks
                for credentials in the environment of each process.
            near: where the files are read fastest: governors ("host:port"), hosts, or a resource
                that the governors there offer. Tasks run there by preference.
        """
        return open_files(
            urls,
            block_size=block_size,
            delimiter=delimiter,
            storage_options=storage_options,
            near=near,
        )

    def upload(self, path: str | PathLike[str]) -> list[str]:
        """Uploads your own modules, for governors on machines that do not have them.

        Functions that are called after it can import them, on every governor. To upload again
        replaces the code, also for functions that were called before. Gives the names of the
        modules.

        >>> from pathlib import Path
        >>> _ = Path("helpers.py").write_text("def double(x): return 2 * x")
        >>> client.upload("helpers.py")
        ['helpers']
        >>> def use_helpers(x):
        ...     import helpers
        ...     return helpers.double(x)
        >>> client.submit(use_helpers, 21).result()
        42

        Args:
            path: a `.py` file, the folder of a package, a `.zip` of such, or a wheel without
                compiled parts. Packages with compiled parts must be installed.
        """
        return self.uploads.add(path)

    @property
    def dask(self) -> "DaskScheduler":
        """A scheduler for Dask: `dask.config.set(scheduler=client.dask)`.

        >>> import dask
        >>> from rain.client import Client
        >>> with Client(cpus=1) as client:
        ...     dask.delayed(sum)([1, 2, 3]).compute(scheduler=client.dask)
        6
        """
        try:
            from rain.client.for_dask.scheduler import DaskScheduler  # noqa: PLC0415 # an extra
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "client.dask needs the package dask: pip install 'rain-tasks[dask]'"
            ) from error
        return DaskScheduler(self.open_futures)

    def join_session(self, session: int | str, *, fuse: bool = False) -> Session:
        """Joins an open session of another client, by its id or by its name.

        The session ends when the client that has opened it closes it; closing it here only leaves
        it. `fuse` concerns what is submitted here, as in `new_session`.

        >>> with client.new_session("shared") as mine:
        ...     same = client.join_session("shared")
        ...     same.session_id == mine.session_id
        True
        """
        wanted, name = (SessionId(0), session) if isinstance(session, str) else (session, "")
        with Asking(nameless_failure):
            asked = JoinSession(SessionId(wanted), name, numbers=False, parent=self._parent())
            joined = self.connection.ask(asked)
        session_id = joined.session
        self._note_open(session_id)
        numbers = self._numbers_of(session_id)
        options = SessionOptions(joined.name, joined.on_failure, numbers, fuse=fuse)
        return Session(self, session_id, options=options, env=self.env)

    def _numbers_of(self, session_id: SessionId) -> SharedNumbers:
        """The numbers for new nodes, one object however often this client joins the session."""

        def next_range() -> int:
            with Asking(nameless_failure):
                joined = self.connection.ask(JoinSession(session_id, "", numbers=True))
            return pack(session_id, joined.first)

        numbers = self._numbers.pop(session_id, None) or SharedNumbers(next_range)
        self._numbers[session_id] = numbers  # the last one that is forgotten
        if len(self._numbers) > NUMBERS_AT_MOST:
            del self._numbers[next(iter(self._numbers))]
        return numbers

    def end_session(self, session_id: SessionId) -> None:
        """Tells the server that a session is closed, unless it has already failed or gone.

        This does not wait for an answer: later requests are handled after it in any case.
        """
        self.housekeeper.open_sessions.discard(session_id)
        if not self.housekeeper.closed:
            with suppress(RainError):
                self.connection.say(CloseSession(session_id))

    def update(self, items: Iterable[Task | DataObject]) -> None:
        """Asks the server for the current states and infos of tasks and objects of any session.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> text.wait()
        >>> client.update([text])
        >>> text.info.governor.startswith("127.0.0.1:")
        True
        """
        by_session: dict[Session, tuple[list[Task], list[DataObject]]] = {}
        for item in items:
            if not isinstance(item, Task | DataObject):  # pyright: ignore[reportUnnecessaryIsInstance] # users call it
                raise RainException(f"{item!r} is neither a task nor a data object")
            if not item.submission:
                raise RainException(f"{item!r} was not submitted: call session.submit() first")
            tasks, objects = by_session.setdefault(item.session, ([], []))
            if isinstance(item, Task):
                tasks.append(item)
            else:
                objects.append(item)
        self.housekeeper.flush()
        for session, (tasks, objects) in by_session.items():
            self._update(session, tasks, objects)

    def _update(self, session: Session, tasks: list[Task], objects: list[DataObject]) -> None:
        with noting_failure(tasks), session.asking():
            reports = ask_reports(self.connection, *asked_ids(tasks, objects))
        note_reports(tasks, objects, *reports)


def _checked_on_failure(given: str) -> OnFailure:
    try:
        return OnFailure(given)
    except ValueError:
        words = " or ".join(f'"{choice.value}"' for choice in OnFailure)
        raise RainException(f"on_failure is {given!r}; it must be {words}") from None
