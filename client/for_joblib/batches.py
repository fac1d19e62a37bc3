"""Chooses how many calls a batch has: enough to take about a fifth of a second.

joblib's own rule doubles the size of a batch with each round, which is right if a round takes no
time. Here a round is a round trip to the server, so sizes grow faster.
"""

GOAL = 0.2
"""Seconds that a batch should take at least, so that the round trip does not matter,"""

MOST = 2.0
"""and at most, so that it does not keep others waiting."""

GROWTH = 8
"""A batch has at most this factor more calls than the one before."""


class BatchSizes:
    """The size of the next batch, by what earlier ones took."""

    def __init__(self) -> None:
        self.next = 1

    def completed(self, size: int, seconds: float) -> None:
        """A batch is done. Those of earlier sizes say nothing new."""
        if size != self.next or seconds <= 0:
            return
        fitting = max(int(size * GOAL / seconds), 1)
        if seconds < GOAL:
            self.next = min(2 * fitting, GROWTH * size)
        elif seconds > MOST:
            self.next = fitting
