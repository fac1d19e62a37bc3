"""The seam between trio and Cap'n Proto: the one file that knows how the two loops live together.

pycapnp speaks only inside an asyncio loop that carries capnp's own (`capnp.kj_loop`). The server
and the governor are trio programs. So `run` starts the asyncio loop as the host, capnp's loop in
it, and trio as the host's guest (`trio.lowlevel.start_guest_run`): three loops, one thread.

Because it is one thread, plain functions may be called across the seam in both directions, and
most of what happens is done that way:

* From a trio task everything of the host can be called directly: a call over Cap'n Proto can be
  sent, a `Pulse` poked, a timer set. To *wait* for the host there is `in_host`.
* From the host (a `Pulse`, a timer, a handler of a connection) trio's own functions must not be
  called directly, not even `trio.Event.set`: outside its tick trio does not know that it runs, and
  nothing would wake it. `in_trio(event.set)` calls a function inside of trio soon; a `Bell` is an
  event that may be rung from either side.

Waking the guest costs 100 to 150 microseconds, since trio waits for its sockets in a thread of its
own; a callback of the host costs a few at most. That is why whatever happens for every message runs
in a `Pulse`, and trio keeps what is rare and needs structure: start, end, processes, signals,
files.

Whatever our own code raises in the host, in a pulse or in a timer ends the program: `fail` cancels
the trio main and `run` raises that error. Nothing beats any more after a failure, nor after the end
of the trio main.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn, TypeVar, TypeVarTuple

import capnp
import outcome
import trio

from rain.base.errors import InvariantError, ProtocolError, StartError
from rain.rpc.loop import QuietLoop
from rain.rpc.sequel import SequelLoop, running_loop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Host:
    """One running program: the host loop, and the trio run that is its guest."""

    def __init__(self, loop: SequelLoop) -> None:
        self.loop = loop
        self.failure: BaseException | None = None
        # Whether pulses and timers still run: not after a failure, and not after the main.
        self.alive = True
        self._token: trio.lowlevel.TrioToken | None = None
        self._scope = trio.CancelScope()

    async def guest(self, main: Callable[[], Awaitable[int]]) -> int:
        """The trio main, ended by the first failure in the host."""
        self._token = trio.lowlevel.current_trio_token()
        status = None
        with self._scope:
            status = await main()
        if self.failure is not None:
            raise self.failure
        if status is None:
            raise InvariantError("the trio main was cancelled, and nobody failed")
        return status

    def in_trio(self, function: Callable[[*Ts], object], *args: *Ts) -> None:
        """Calls a plain function inside of trio soon; after trio's end there is nobody to call."""
        if self._token is None:
            raise InvariantError("trio has not started yet")
        try:
            self._token.run_sync_soon(function, *args)
        except trio.RunFinishedError:
            return

    def fail(self, error: BaseException) -> None:
        """Ends the program with this error; the first one wins."""
        if self.failure is None:
            self.failure = error
            self.alive = False
            self.in_trio(self._scope.cancel)

    def complain(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Judges what asyncio could give to nobody else.

        A complaint about a socket (a peer that vanished, no descriptor left to accept with) is
        logged: the connection's end is reported to its owner. A call whose caller was closed
        for it, before it was told why, has nobody to tell it any more. All the rest is ours.
        """
        error = context.get("exception")
        if isinstance(error, ProtocolError) and "task" in context:
            return  # pycapnp hands over the task of such a call; `rain.rpc.offer` has judged it
        if isinstance(error, OSError) and ("transport" in context or "socket" in context):
            loop.default_exception_handler(context)
        elif isinstance(error, BaseException):
            self.fail(error)
        else:
            self.fail(InvariantError(str(context.get("message", "the host loop complained"))))


_hosts: dict[asyncio.AbstractEventLoop, Host] = {}


def host() -> Host:
    """The program that runs in this thread."""
    try:
        return _hosts[asyncio.get_running_loop()]
    except (RuntimeError, KeyError):
        raise InvariantError("this is called outside of rain.rpc.host.run") from None


def need_pycapnp() -> None:
    """Without pycapnp, `import capnp` finds the schemas of a checkout, an empty package."""
    if not hasattr(capnp, "kj_loop"):
        raise StartError("pycapnp is not installed in this environment: pip install 'pycapnp>=2.2'")


def run(main: Callable[[], Awaitable[int]]) -> int:
    """Runs a trio main inside of the host loop, and gives what it returns or raises."""
    need_pycapnp()
    with asyncio.Runner(loop_factory=QuietLoop) as runner:
        # Not runner.run: it would take SIGINT for asyncio, and trio would not get its own.
        result = runner.get_loop().run_until_complete(_host_main(main))
    return result.unwrap()


async def _host_main(main: Callable[[], Awaitable[int]]) -> outcome.Outcome[int]:
    loop = running_loop()
    program = Host(loop)
    finished: asyncio.Future[outcome.Outcome[int]] = loop.create_future()
    loop.set_exception_handler(program.complain)
    _hosts[loop] = program
    try:
        async with capnp.kj_loop():
            trio.lowlevel.start_guest_run(
                program.guest,
                main,
                run_sync_soon_threadsafe=loop.call_soon_threadsafe,
                run_sync_soon_not_threadsafe=loop.call_soon,
                done_callback=finished.set_result,
                # A KeyboardInterrupt must not appear in the middle of the host's own code.
                restrict_keyboard_interrupt_to_checkpoints=True,
            )
            result = await finished
            program.alive = False
            return result
    finally:
        del _hosts[loop]


async def in_host(function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts) -> T:
    """From a trio task: runs an asyncio coroutine function in the host and waits for its result.

    When the waiting task is cancelled, the coroutine is cancelled, and waited for.
    """
    await trio.lowlevel.checkpoint_if_cancelled()
    program = host()
    waiting = trio.lowlevel.current_task()
    working = program.loop.create_task(function(*args))
    cancelled: Callable[[], NoReturn] | None = None

    def wake(_: object) -> None:
        program.in_trio(trio.lowlevel.reschedule, waiting)

    def abort(raise_cancel: Callable[[], NoReturn]) -> trio.lowlevel.Abort:
        nonlocal cancelled
        cancelled = raise_cancel
        working.cancel()
        return trio.lowlevel.Abort.FAILED

    working.add_done_callback(wake)
    await trio.lowlevel.wait_task_rescheduled(abort)
    if working.cancelled():
        if cancelled is None:
            raise InvariantError("a coroutine in the host was cancelled from inside of the host")
        cancelled()
    return working.result()


def in_trio(function: Callable[[*Ts], object], *args: *Ts) -> None:
    """From the host (or trio): calls a plain function inside of trio soon."""
    host().in_trio(function, *args)


class Bell:
    """An event that may be rung from the host and from trio, and that one trio task waits for.

    Rings before the wait are kept (as one), so that none is missed.
    """

    def __init__(self) -> None:
        self._host = host()
        self._rung = False
        self._event: trio.Event | None = None

    def ring(self) -> None:
        if not self._rung:
            self._rung = True
            if self._event is not None:
                self._host.in_trio(self._event.set)

    async def wait(self) -> None:
        """Returns once it was rung since the last return."""
        if self._event is not None:
            raise InvariantError("two tasks wait for one bell")
        if self._rung:
            await trio.lowlevel.checkpoint()
        else:
            self._event = trio.Event()
            try:
                await self._event.wait()
            finally:
                self._event = None
        self._rung = False


class Pulse:
    """Runs `beat` once soon in the host, however often it was poked since the last beat.

    What was heard together becomes one beat (see `rain.rpc.sequel`). What nobody waits for is done
    by `rest`: it comes after each beat, when what the beat has said was sent.
    """

    def __init__(
        self, beat: Callable[[], object], rest: Callable[[], object] | None = None
    ) -> None:
        self._host = host()
        self._beat = beat
        self._rest = rest
        self._poked = False  # and not beaten since
        self._stopped = False

    def poke(self) -> None:
        if not self._poked:
            self._poked = True
            self._host.loop.follow(self._run)

    def stop(self) -> None:
        """Beats no more, whoever was or will be poking."""
        self._stopped = True

    def _run(self) -> None:
        self._poked = False
        if self._host.alive and not self._stopped:
            self._beat()
            if self._rest is not None:
                self._host.loop.follow(self._run_rest)

    def _run_rest(self) -> None:
        if self._host.alive and not self._stopped and self._rest is not None:
            self._rest()


class Timer:
    """A plain function that is called in the host after some time, unless it is cancelled."""

    def __init__(self, handle: asyncio.TimerHandle) -> None:
        self._handle = handle

    def cancel(self) -> None:
        self._handle.cancel()


def call_later(seconds: float, function: Callable[[*Ts], object], *args: *Ts) -> Timer:
    """Calls a plain function in the host after so many seconds."""
    program = host()

    def due() -> None:
        if program.alive:
            function(*args)

    return Timer(program.loop.call_later(seconds, due))


def stay_awake(seconds: float) -> None:
    """For so long, or until something has happened, the host does not sleep."""
    host().loop.stay_awake(seconds)


class Watch:
    """Calls a plain function in the host whenever a descriptor can be read, until it is stopped.

    Whoever owns the descriptor stops the watch before closing it.
    """

    def __init__(self, fd: int, on_readable: Callable[[], object]) -> None:
        self._loop = host().loop
        self._fd = fd
        self._loop.add_reader(fd, on_readable)

    def stop(self) -> None:
        self._loop.remove_reader(self._fd)
