"""Monte Carlo with asyncio: batches of samples until the estimate of pi is good enough.
Run it with `python monte_carlo.py [ERROR]`; the loop is free while the cluster works."""

import asyncio
import math
import random
import sys

from rain.client import AsyncClient

BATCH = 20_000
AT_ONCE = 8


def inside(samples, seed):
    """How many random points of the unit square are in the circle."""
    chance = random.Random(seed)
    return sum(chance.random() ** 2 + chance.random() ** 2 < 1 for _ in range(samples))


async def main(wanted):
    hits = samples = seed = 0
    error = math.inf
    async with AsyncClient() as client:
        while error > wanted:
            futures = [client.submit(inside, BATCH, seed + i) for i in range(AT_ONCE)]
            seed += AT_ONCE
            async for future in client.as_completed(futures):
                hits += await future
                samples += BATCH
            share = hits / samples
            error = 4 * math.sqrt(share * (1 - share) / samples)
    print(f"pi is about {4 * share:.2f}, after {samples:,} samples")


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.002))
