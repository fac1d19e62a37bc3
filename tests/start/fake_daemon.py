"""Plays a daemon of a cluster: takes the command line of one and does what a test says.

The first argument is JSON: for the name of a daemon (that of its log folder) what it does.
"ready" (unless told otherwise) says so and waits for its end; "dies" ends with a message; "crashes"
is killed; "silent" never gets ready; "dies later" ends after it was ready; "stubborn" is ready and
does not end when asked; "mute" closes the descriptor of its readiness without a word; "forks" is
ready and has a child in its process group; "interrupts" sends a signal to the process that the
environment variable STARTER names, and never gets ready; "refuses" says that it would not start.

It also plays the process that governors are copies of, under the name "template".
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def die() -> None:
    sys.stderr.write("port 7210 is in use\n")
    sys.exit(3)


def check(does: str) -> NoReturn:
    if does == "refuses":
        die()
    sys.exit(0)


def interrupt() -> None:
    os.kill(int(os.environ["STARTER"]), signal.SIGINT)


def play_template() -> None:
    does = json.loads(sys.argv[1]).get("template")
    if does == "dies":
        die()
    if does == "interrupts":
        interrupt()
        signal.pause()
    sys.path.insert(0, str(Path(__file__).parents[2]))  # this Rain, whichever is installed
    from rain.daemon.copies import become  # noqa: PLC0415 # others need none of it

    arguments = become(socket.socket(fileno=os.dup(0)))
    if arguments is None:
        sys.exit(0)
    sys.argv[2:] = arguments


def main() -> None:
    if sys.argv[2] == "template":
        play_template()
    folder = Path(option("--logdir"))
    does = json.loads(sys.argv[1]).get(folder.name, "ready")
    if "--check" in sys.argv:
        check(does)
    ready = int(option("--ready-fd"))
    if does == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # The test reads what this daemon was told, and looks for what is left of it.
    notes = {"pid": os.getpid(), "arguments": sys.argv[2:], "folder": str(Path.cwd())}
    notes["init"] = os.environ.get("FROM_INIT", "")
    if does == "forks" and (child := os.fork()):
        notes["child"] = child
    elif does == "forks":
        os.close(ready)
        signal.pause()
    draft = folder.with_suffix(".draft")
    draft.write_text(json.dumps(notes))
    draft.rename(folder.with_suffix(".notes"))
    if does == "dies":
        die()
    if does == "interrupts":
        interrupt()
    if does == "crashes":
        os.kill(os.getpid(), signal.SIGKILL)
    if does not in {"silent", "mute", "interrupts"}:
        note = b"note goes on with 1 session\n" if does == "goes on" else b""
        serves = b"127.0.0.1:7211" if folder.name == "standby" else b"127.0.0.1:7210 127.0.0.1:7222"
        os.write(ready, b"ready " + serves + b"\n" + note)
    if does not in {"silent", "interrupts"}:
        os.close(ready)
    if does != "dies later":
        signal.pause()


main()
