"""How long a task may clean up when it is cancelled."""

from rain.base.wire.grace import LONGEST_GRACE


def check_grace(grace: object) -> None:
    """ValueError for what is no number of seconds; None is as many as the governor gives."""
    if grace is None:
        return
    if not isinstance(grace, int | float) or not 0 <= grace <= LONGEST_GRACE:
        raise ValueError(
            f"grace is {grace!r}; it must be a number of seconds from 0 to {LONGEST_GRACE:g}"
        )
