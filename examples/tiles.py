"""An image in tiles: each is made and smoothed by itself, and a tree of merges joins the results.
Run it with `python tiles.py [SIDE]`; it needs numpy only, and no tile visits this program."""

import sys

import numpy as np

from rain.client import Client

TILES = 4  # in each direction


def make(row, column, side):
    """One tile of a picture: a bright spot on noise."""
    y, x = np.mgrid[row * side : (row + 1) * side, column * side : (column + 1) * side]
    middle = TILES * side / 2
    spot = np.exp(-((x - middle) ** 2 + (y - middle) ** 2) / middle**2)
    return spot + np.random.default_rng(row * TILES + column).normal(0, 0.1, spot.shape)


def smooth(tile):
    """The mean of each pixel and its four neighbours."""
    around = np.pad(tile, 1, mode="edge")
    neighbours = around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
    return (tile + neighbours) / 5


def histogram(tile):
    return np.histogram(tile, bins=8, range=(-0.5, 1.5))[0]


def main(side):
    rows, columns = zip(*np.ndindex(TILES, TILES), strict=True)
    with Client() as client:
        tiles = client.map(make, rows, columns, [side] * len(rows))
        counts = client.map(histogram, client.map(smooth, tiles))
        while len(counts) > 1:
            counts = client.map(np.add, counts[0::2], counts[1::2])
        found = counts[0].result()
    print(f"{found.sum():,} pixels in {len(tiles)} tiles")
    print("histogram:", " ".join(map(str, found)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
