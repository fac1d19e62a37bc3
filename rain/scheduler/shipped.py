"""The schedulers that come with Rain, by the names that `--scheduler` takes."""

from __future__ import annotations

from collections.abc import Callable

from rain.scheduler.api import Scheduler
from rain.scheduler.blevel import BlevelScheduler
from rain.scheduler.heft import HeftScheduler
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.mars import MarsScheduler
from rain.scheduler.rain import RainScheduler
from rain.scheduler.random_choice import RandomScheduler
from rain.scheduler.round_robin import RoundRobinScheduler
from rain.scheduler.stealing import StealingScheduler

SCHEDULERS: dict[str, Callable[..., Scheduler]] = {
    "horizon": HorizonScheduler,
    "rain": RainScheduler,
    "blevel": BlevelScheduler,
    "heft": HeftScheduler,
    "mars": MarsScheduler,
    "stealing": StealingScheduler,
    "random": RandomScheduler,
    "round-robin": RoundRobinScheduler,
}
