"""The sweep of the demo: a plain function for many parameters, while a governor is killed."""

import os
import signal

from rich.console import Console

from rain.client import Client, RainException
from rain.client.local import LocalCluster

STEPS = 50_000


def harvest(share: float) -> float:
    """What a growing population gives in the end, if this share of it is taken with each step."""
    population, taken = 1.0, 0.0
    for _ in range(STEPS):
        population += 0.5 * population * (1 - population / 100)
        taken += share * population
        population -= share * population
    return taken


def sweep(console: Console, client: Client, cluster: LocalCluster, calls: int) -> None:
    """Kills a governor in the middle; every call has its result all the same."""
    shares = [number / calls for number in range(calls)]
    futures = client.map(harvest, shares)
    client.wait(futures, num_returns=max(1, calls // 4))
    victim = cluster.pids[1]
    os.kill(victim, signal.SIGKILL)
    console.print(f"killed the governor with the pid {victim} in the middle of the sweep")
    client.progress(futures)
    best, share = max(zip(client.gather(futures), shares, strict=True))
    if best != harvest(share):
        raise RainException("the sweep has found something else than a plain call")
    console.print(f"all {calls} calls are done: take {share:.0%} of the population")
