"""The failed tries of a task, for its info and its exception."""

from attrs import asdict, define


@define
class FailedTry:
    """One failed try of a task.

    `cause` is "task" for an error of the task itself, "executor" if its process died, "governor" if
    its governor was lost, which does not count as a try, and "not started" if no governor had the
    resources to start it.
    """

    cause: str
    error: str = ""
    governor: str = ""
    debug: str = ""

    def to_json(self) -> dict[str, str]:
        """Converts to a dictionary of texts, without empty ones."""
        return {name: text for name, text in asdict(self).items() if text}
