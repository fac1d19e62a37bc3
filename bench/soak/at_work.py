"""A client of a soak, a process of its own: `python -m bench.soak.at_work ADDRESS SEED FOLDER`.

It runs random jobs until the file `stop` is in its folder, a job fails, or it is killed. Each
line it prints is one job, begun or ended.
"""

from __future__ import annotations

import faulthandler
import json
import signal
import sys
import time
import traceback
from pathlib import Path
from random import Random

from bench.soak.cluster import PATIENCE
from bench.soak.jobs import JOBS
from rain.client import Client


def say(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


def work(client: Client, random: Random, folder: Path) -> None:
    """Runs jobs until it is time to stop."""
    while not (folder / "stop").exists():
        kind = random.choice(list(JOBS))
        seed = random.randrange(10**9)
        say(begun=kind, seed=seed)
        start = time.monotonic()
        try:
            found, right = JOBS[kind](client, Random(seed))
        except Exception:  # noqa: BLE001 # no error at all should reach a user here
            say(failed=kind, seed=seed, why=traceback.format_exc())
            sys.exit(1)
        if found == right:
            say(done=kind, seconds=round(time.monotonic() - start, 2))
        else:
            say(wrong=kind, seed=seed, why=f"{str(found)[:200]} instead of {str(right)[:200]}")


def main() -> None:
    say(lives=True)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    address, seed, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    with Client(address, wait_for_server=float(PATIENCE)) as client:
        work(client, Random(seed), folder)
    say(ended=True)


if __name__ == "__main__":
    main()
