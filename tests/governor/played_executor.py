"""An executor process as a governor meets it, played."""

from collections import deque

from attrs import Factory, define

from rain.base.ids import KindId, ObjectId, SessionId, TaskId, session_of
from rain.governor.core.effects import CallExecutor, CallRow
from rain.governor.core.events import CallsDone
from rain.governor.core.results import NOT_RUN, Failed, Outputs


@define
class PlayedExecutor:
    """An executor process as the governor meets it."""

    runner: str
    ready: bool = False
    killed: bool = False
    calls: deque[CallRow] = Factory(deque)  # not started: one for each token
    running: CallRow | None = None
    started: int = 0  # how many calls, in its life
    interrupted: TaskId | None = None  # what was interrupted last
    waits: bool = False  # the running call waits for other tasks
    refused: int = 0  # how often it was told that it may not
    able: bool = True  # to run it: all of its inputs were there
    unread: CallsDone | None = None  # answers that nobody has collected yet
    kinds: set[KindId] = Factory(set)
    remembered: set[ObjectId] = Factory(set)
    gpus: tuple[str, ...] = ()  # of the calls that it got last
    made: set[ObjectId] = Factory(set)  # what it has made lately

    def lacks(self, call: CallRow) -> bool:
        """Whether an input of the call came without content, and is not there."""
        return any(
            isinstance(row, tuple) and row[5] is None and row[0] not in self.made for row in call[3]
        )

    def get(self, effect: CallExecutor) -> None:
        """Calls arrive, and what must be known before they can be read."""
        assert self.ready
        assert not self.killed
        self.kinds.update(kind.id for kind in effect.task_kinds)
        self.kinds.update(kind.id for kind in effect.object_kinds)
        for row in effect.remembered:
            assert isinstance(row, tuple)
            self.remembered.add(row[0])
        for call in effect.calls:
            assert call[1] in self.kinds
            for row in call[3]:
                assert (row[1] in self.kinds) if isinstance(row, tuple) else row in self.remembered
        self.gpus = effect.gpus or ()
        self.calls.extend(effect.calls)

    @property
    def unstarted(self) -> int:
        """How many calls it would leave behind if it died now."""
        return len(self.calls)

    def take_back(self) -> int:
        """The governor takes tokens out; how many."""
        taken = len(self.calls)
        self.calls.clear()
        return taken

    def drop(self, objects: list[ObjectId], sessions: list[SessionId]) -> None:
        """It need not remember them any more."""
        assert self.remembered.issuperset(objects)
        self.remembered.difference_update(objects)
        self.kinds = {kind for kind in self.kinds if session_of(kind) not in sessions}

    def interrupt(self, call: int) -> None:
        """It runs the call, and has no other."""
        assert not self.killed
        assert not self.calls
        assert self.running is not None
        assert call == self.started
        self.interrupted = self.running[0]

    def start(self) -> CallRow:
        """It takes a token, and comes to its next call."""
        self.started += 1
        self.running = call = self.calls.popleft()
        self.able = not self.lacks(call)
        return call

    def answer(
        self,
        number: int,
        result: Outputs | Failed | None,
        duration: float,
        peak: int = 0,
        mapped: int = 0,
    ) -> None:
        """What runs ends, and its answer lies in the pipe."""
        call = self.running
        assert call is not None
        assert not self.waits
        self.running = None
        if self.unread is None:
            self.unread = CallsDone(number, [], [], [])
        self.unread.tasks.append(call[0])
        self.unread.durations.append(duration)
        self.unread.peaks.append(peak)
        self.unread.mapped = mapped
        self.made.difference_update(call[4])
        if not self.able:
            self.unread.results.append(NOT_RUN)
            return
        made: Outputs | Failed = [b"x" for _ in call[4]] if result is None else result
        self.unread.results.append(made)
        if isinstance(made, list) and len(made) == len(call[4]):
            self.made.update(
                output
                for output, what in zip(call[4], made, strict=True)
                if isinstance(what, bytes) or isinstance(what.content, bytes)
            )
