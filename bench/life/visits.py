"""A program of clients: `python -m bench.life.visits PORT SEED FOLDER VISITS SESSIONS AT_ONCE`.

Each visit is a client of its own, which runs some work in sessions of its own and leaves. Several
visits take place at the same time. Each line it prints is one visit that has ended.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

from bench.soak.jobs import JOBS
from bench.soak.steps import step
from rain.client import Client, TaskException

LARGE = 200_000


def fails(number: int) -> int:
    raise ValueError(number)


def durable(client: Client, random: Random) -> tuple[object, object]:
    """A durable session that is opened twice, and removed."""
    name, start = f"life-{random.randrange(10**9)}", random.randrange(1000)
    found: list[object] = []
    for _ in range(2):
        with client.session(name, durable=True) as session:
            found.append(session.gather(session.map(step, range(5), [start] * 5)))
    client.remove_session(name)
    return found, [[(value * 31 + start) % 1_000_003 for value in range(5)]] * 2


def forgotten(client: Client, random: Random) -> tuple[object, object]:
    """Calls whose futures are dropped at once, with arguments that are uploaded."""
    client.map(len, [random.randbytes(LARGE) for _ in range(3)])
    return client.submit(len, b"abc").result(), 3


def failing(client: Client, random: Random) -> tuple[object, object]:
    """Calls that raise, and others that need them."""
    bad = client.submit(fails, 7)
    after = client.submit(step, bad, random.randrange(10))
    try:
        after.result()
    except (ValueError, TaskException):
        return "raised", "raised"
    return "nothing was raised", "raised"


def left_open(client: Client, random: Random) -> tuple[object, object]:
    """A session that nobody closes: it goes with its client."""
    session = client.session("left open")
    session.submit(time.sleep, 0.2)
    return session.submit(step, 7, random.randrange(1, 2)).result(), 218


KINDS: dict[str, Callable[[Client, Random], tuple[object, object]]] = {
    **JOBS,
    "durable": durable,
    "forgotten": forgotten,
    "failing": failing,
    "left open": left_open,
}


def visit(port: int, seed: int, sessions: int) -> None:
    """One client, from its coming to its going."""
    random = Random(seed)
    wrong: list[str] = []
    with Client("127.0.0.1", port) as client:
        for _ in range(sessions):
            kind = random.choice(list(KINDS))
            found, right = KINDS[kind](client, random)
            if found != right:
                wrong.append(f"{kind}: {str(found)[:200]} instead of {str(right)[:200]}")
    sys.stdout.write(json.dumps({"sessions": sessions, "wrong": wrong}) + "\n")
    sys.stdout.flush()


def main() -> None:
    port, seed, visits, sessions, at_once = map(int, sys.argv[1:])
    with ThreadPoolExecutor(at_once) as pool:
        seeds = range(seed, seed + visits)
        for done in [pool.submit(visit, port, one, sessions) for one in seeds]:
            done.result()


if __name__ == "__main__":
    main()
