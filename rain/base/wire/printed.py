"""Lines that tasks print while a client watches, and whose lines are watched."""

from attrs import frozen

from rain.base.ids import NO_SESSION, SessionId, TaskId, session_of


@frozen
class PrintedLines:
    """Whole lines that a task has printed, for clients that watch it."""

    task: TaskId
    name: str = ""  # of the task
    errors: bool = False  # on stderr
    text: str = ""
    left_out: int = 0  # bytes before the text that are not told
    governor: str = ""  # its address; the server knows it


@frozen
class Watch:
    """Whose lines are told: those of all tasks of these sessions, and those of these tasks.

    What tasks of these sessions have submitted belongs to them, however deep it is.
    """

    sessions: frozenset[SessionId] = frozenset()
    tasks: frozenset[TaskId] = frozenset()

    def has(self, task: TaskId, root: SessionId = NO_SESSION) -> bool:
        """Whether it is for this task, which may be inside of a task of the session `root`."""
        return session_of(task) in self.sessions or root in self.sessions or task in self.tasks
