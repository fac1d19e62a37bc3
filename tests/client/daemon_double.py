"""A program that does what the embedded cluster asks of a daemon, and nothing else.

The environment variable DOUBLE says how it misbehaves: "die", "mute" or "stubborn".
"""

import os
import select
import signal
import sys
from pathlib import Path


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def main() -> int:
    behaviour = os.environ.get("DOUBLE", "")
    role = sys.argv[1]
    Path(option("--logdir")).mkdir()
    if role == "governor":
        Path(option("--workdir")).mkdir()
        if behaviour == "die":
            sys.stderr.write("cannot listen: the address is in use\n")
            return 1
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if behaviour != "mute":
        os.write(int(option("--ready-fd")), b"ready 127.0.0.1:12345\n")
    select.select([int(option("--parent-fd"))], [], [])
    return 0


if __name__ == "__main__":
    sys.exit(main())
