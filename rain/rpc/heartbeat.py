"""Signs of life on a connection, and the end of one whose other side gives none."""

import asyncio
import time
from collections.abc import Callable

from rain.base.silence import BEAT, Silence


class Heartbeat:
    """Says signs of life, and asks whether the other side was heard, until it is stopped."""

    def __init__(
        self,
        limit: float | None,
        say: Callable[[], object],
        heard: Callable[[], bool],
        give_up: Callable[[float], object],
        beat: float = BEAT,
    ) -> None:
        self._silence = Silence(limit, beat)
        self._say = say
        self._heard = heard
        self._give_up = give_up  # gets the seconds of silence
        self._seconds = beat
        self._loop = asyncio.get_running_loop()
        self._sleep()

    def stop(self) -> None:
        self._timer.cancel()

    def _sleep(self) -> None:
        self._since = time.monotonic()
        self._timer = self._loop.call_later(self._seconds, self._wake)

    def _wake(self) -> None:
        self._say()
        if self._silence.is_too_long(time.monotonic() - self._since, heard=self._heard()):
            self._give_up(self._silence.seconds)
        else:
            self._sleep()
