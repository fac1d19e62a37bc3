"""The schedulers that come with Rain, by the names that `--scheduler` takes."""

from __future__ import annotations

from collections.abc import Callable

from rain.scheduler.api import Scheduler
from rain.scheduler.rain import RainScheduler
from rain.scheduler.round_robin import RoundRobinScheduler

DEFAULT = "rain"

SCHEDULERS: dict[str, Callable[..., Scheduler]] = {
    "rain": RainScheduler,
    "round-robin": RoundRobinScheduler,
}
