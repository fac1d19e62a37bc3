"""A client: `python -m bench.soak.beside.at_work SYSTEM ADDRESS SEED FOLDER`.

It runs work until the file `stop` is in its folder, or some work fails: after an error the next
client begins anew, on all systems. Each line that it prints is one event.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from bench.soak.at_work import say
from bench.soak.beside.callers import CALLERS
from bench.soak.beside.works import WORKS, Caller


def work(caller: Caller, random: Random, folder: Path) -> None:
    """Runs work until it is time to stop."""
    while not (folder / "stop").exists():
        kind = random.choice(list(WORKS))
        seed = random.randrange(10**9)
        say(begun=kind, seed=seed)
        try:
            found, right = WORKS[kind](caller, Random(seed))
        except Exception as error:  # noqa: BLE001 # whatever a system tells its user
            say(failed=kind, why=f"{type(error).__name__}: {error}"[:300])
            break
        if found == right:
            say(done=kind)
        else:
            say(wrong=kind, seed=seed, why=f"{str(found)[:200]} instead of {str(right)[:200]}")
    say(ended=True)


def main() -> None:
    system, address, seed, folder = sys.argv[1:]
    say(connecting=system)
    with CALLERS[system](address) as caller:
        work(caller, Random(int(seed)), Path(folder))


if __name__ == "__main__":
    main()
