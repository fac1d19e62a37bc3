"""A program that does what the embedded cluster asks of a daemon, and nothing else.

The environment variable DOUBLE says how it misbehaves: "die" (the last governor), "mute",
"stubborn", "none" (what governors are copies of ends before there are any), or "short" (governors
that end as soon as they were ready).
"""

import os
import select
import signal
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # this Rain, whichever is installed

from rain.daemon.copies import become


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def main() -> int:
    behaviour = os.environ.get("DOUBLE", "")
    if sys.argv[1] == "template":
        if behaviour == "none":
            sys.stderr.write("pycapnp is not installed\n")
            return 1
        arguments = become(socket.socket(fileno=os.dup(0)))
        if arguments is None:
            return 0
        sys.argv[1:] = arguments
    role = sys.argv[1]
    Path(option("--logdir")).mkdir()
    if role == "governor":
        Path(option("--workdir")).mkdir()
        number, several = option("--share").split("/")
        if behaviour == "die" and int(number) == int(several) - 1:
            sys.stderr.write("cannot listen: the address is in use\n")
            return 1
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if behaviour != "mute":
        os.write(int(option("--ready-fd")), b"ready 127.0.0.1:12345\n")
    if behaviour == "short" and role == "governor":
        return 3
    select.select([int(option("--parent-fd"))], [], [])
    return 0


if __name__ == "__main__":
    sys.exit(main())
