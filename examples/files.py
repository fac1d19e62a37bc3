"""A pipeline of external programs on files: the addresses with most errors in a folder of logs.
Run it with `python files.py [FOLDER]`; without a folder it writes some logs first."""

import random
import sys
import tempfile
from pathlib import Path

from rain.client import Client, Program, tasks

errors = Program("grep ERROR", stdin="log", stdout=True)
addresses = Program(["cut", "-d", " ", "-f", "2"], stdin="lines", stdout=True)
ranking = Program("sort | uniq -c | sort -rn", stdin="addresses", stdout=True, shell=True)


def write_logs(folder):
    chance = random.Random(1)
    for number in range(4):
        lines = [
            f"{chance.choice(['INFO', 'WARNING', 'ERROR'])} 10.0.0.{chance.randrange(9)} request"
            for _ in range(1000)
        ]
        (folder / f"day-{number}.log").write_text("\n".join(lines) + "\n")


def main(folder):
    result = folder / "ranking.txt"
    with Client() as client, client.new_session("errors in logs"):
        found = [
            addresses(lines=errors(log=tasks.Load(log))) for log in sorted(folder.glob("*.log"))
        ]
        stored = tasks.Store(ranking(addresses=tasks.Concat(found)), result)
        stored.session.submit()
        stored.wait()
    first = result.read_text().splitlines()[0].split()
    print(f"most errors: {first[1]} with {first[0]}; all of them are in {result.name}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            write_logs(Path(made))
            main(Path(made))
