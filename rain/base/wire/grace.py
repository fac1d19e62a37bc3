"""The grace of a cancelled run: how many seconds it has to clean up, and which are allowed."""

from rain.base.errors import ProtocolError

OWN_GRACE = -1.0
"""In place of seconds: the cancelled run gets the grace time of its governor."""

LONGEST_GRACE = 86_400.0
"""More seconds are never given."""


def check_seconds(grace: object) -> None:
    """Checks the seconds of a user; raises ValueError. None means the grace time of the
    governor.
    """
    if grace is None:
        return
    if not isinstance(grace, int | float) or not 0 <= grace <= LONGEST_GRACE:
        raise ValueError(
            f"grace is {grace!r}; it must be a number of seconds from 0 to {LONGEST_GRACE:g}"
        )


def check_grace(grace: float) -> None:
    """ProtocolError for what is no number of seconds to clean up."""
    if not (0 <= grace <= LONGEST_GRACE or grace == OWN_GRACE):
        raise ProtocolError(f"{grace} is no number of seconds to clean up")
