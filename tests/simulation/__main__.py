"""Plays runs of whole clusters in virtual time: `python -m tests.simulation [FIRST [LAST]]`.

One seed is one run, and always the same. With `--shrink` a run that goes wrong is made smaller.
"""

from __future__ import annotations

import argparse
import sys

from tests.simulation.plan import plan_of
from tests.simulation.play import play, shrink


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("first", type=int, nargs="?", default=0, help="the first seed")
    parser.add_argument("last", type=int, nargs="?", help="and the last one; the first if left out")
    parser.add_argument("--shrink", action="store_true", help="look for less that fails alike")
    options = parser.parse_args()
    last = options.first if options.last is None else options.last
    failed = 0
    for seed in range(options.first, last + 1):
        failure = play(plan_of(seed))
        if failure is not None:
            failed += 1
            told = shrink(failure) if options.shrink else failure
            sys.stdout.write(f"{told}\n\n")
            sys.stdout.flush()
    sys.stdout.write(f"{last - options.first + 1} runs, {failed} went wrong\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
