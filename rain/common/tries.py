"""The tries of a task that have failed, as its info and its exception tell them."""

from attrs import asdict, define


@define
class FailedTry:
    """One try of a task that has failed.

    `cause` is "task" for what it has done itself, "executor" when the process that ran it has ended
    under it, "governor" when its governor was lost, which costs it no try, and "not started" when
    no governor had room to start it.
    """

    cause: str
    error: str = ""
    governor: str = ""
    debug: str = ""

    def to_json(self) -> dict[str, str]:
        """A dictionary of its texts; what is empty is left out."""
        return {name: text for name, text in asdict(self).items() if text}
