"""A parameter sweep: one plain function, called for every combination of its parameters.
Run it with `python sweep.py [STEPS]`; the best combinations are printed as they get known."""

import sys
from itertools import product

from rain.client import Client, as_completed


def simulate(rate, capacity, steps):
    """Logistic growth with a harvest; how much is harvested in the end."""
    population, harvested = 1.0, 0.0
    for _ in range(steps):
        population += rate * population * (1 - population / capacity)
        taken = 0.1 * population
        population -= taken
        harvested += taken
    return harvested


def main(steps):
    parameters = list(product([0.1, 0.2, 0.4, 0.8], [50, 100, 200]))
    best = 0.0
    with Client() as client:
        futures = {
            client.submit(simulate, rate, capacity, steps): (rate, capacity)
            for rate, capacity in parameters
        }
        for future in as_completed(futures):
            if future.result() > best:
                best = future.result()
                rate, capacity = futures[future]
                print(f"rate {rate}, capacity {capacity}: {best:.1f}")
    print(f"{len(parameters)} combinations, the best harvest is {best:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
