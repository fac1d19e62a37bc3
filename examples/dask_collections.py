"""A Dask array and a Dask bag, computed by Rain: only the scheduler is another one.
Run it with `python dask_collections.py [SIZE]`; it needs `pip install 'dask[array]'`."""

import sys

import dask
import dask.array as da
import dask.bag as db

from rain.client import Client


def main(size):
    with Client() as client, dask.config.set(scheduler=client.dask):
        x = da.random.default_rng(seed=1).random((size, size), chunks=(size // 4, size // 4))
        centred = x - x.mean(axis=0)
        covariance = (centred.T @ centred / size).compute()
        print(f"the mean variance of {size} columns is {covariance.diagonal().mean():.3f}")

        numbers = db.from_sequence(range(size), npartitions=8)
        digits = numbers.map(str).map(len).frequencies()
        print(f"numbers by their digits: {dict(sorted(digits.compute()))}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
