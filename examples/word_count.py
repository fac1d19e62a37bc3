"""Word count as map and reduce: the counts of parts are merged two by two on the cluster.
Run it with `python word_count.py [FILE ...]`; without files it counts a text of its own."""

import sys
from collections import Counter
from pathlib import Path

from rain.client import Client

TEXT = "the rain in spain stays mainly in the plain and the rain goes on\n" * 2000
LINES = 500


def count(lines):
    counts = Counter()
    for line in lines:
        counts.update(line.lower().split())
    return counts


def merge(some, others):
    return some + others


def main(files):
    text = "\n".join(Path(file).read_text() for file in files) if files else TEXT
    lines = text.splitlines()
    parts = [lines[start : start + LINES] for start in range(0, len(lines), LINES)]
    with Client() as client:
        counts = client.map(count, parts)
        while len(counts) > 1:  # futures are arguments: no count comes here before the last one
            rest = counts[len(counts) // 2 * 2 :]
            counts = client.map(merge, counts[0::2], counts[1::2]) + rest
        for word, times in counts[0].result().most_common(3):
            print(f"{times:6} {word}")


if __name__ == "__main__":
    main(sys.argv[1:])
