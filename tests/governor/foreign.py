"""Executors of other languages, played by short Python programs that speak the protocol as told."""

import sys
from pathlib import Path

from tests.governor.running import Scenario, governed

PRELUDE = """
import os, socket, struct, sys, time
import cbor2

ME = int(os.environ["RAIN_EXECUTOR_ID"])
FOLDER, NAME = os.path.split(os.environ["RAIN_EXECUTOR_SOCKET"])
assert os.getcwd() == FOLDER and NAME == "socket"
link = socket.socket(socket.AF_UNIX)

def connect():
    link.connect(NAME)

def send_raw(body):
    link.sendall(struct.pack("<I", len(body)) + body)

def send(name, fields):
    send_raw(cbor2.dumps([name, fields]))

def read(size):
    data = b""
    while len(data) < size:
        piece = link.recv(size - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data

def receive():
    return cbor2.loads(read(struct.unpack("<I", read(4))[0]))

def register(**changed):
    connect()
    fields = {"protocol": "cbor-1", "executor_id": ME, "executor_type": "wild", **changed}
    send("register", fields)

def call():
    while True:
        name, fields = receive()
        if name == "call":
            return fields

def done(fields, *locations, **more):
    outputs = [{"info": {}, "location": location} for location in locations]
    told = {"task": fields["spec"]["id"], "success": True, "info": {}, "outputs": outputs}
    send("result", {**told, **more})

def failed(fields, error):
    send("result", {"task": fields["spec"]["id"], "success": False, "info": {"error": error}})

def stay():
    while True:
        read(1)
"""


def program(*lines: str) -> tuple[str, ...]:
    """The command of an executor that does this."""
    return (sys.executable, "-c", PRELUDE + "\n".join(lines))


def wild(tmp_path: Path, scenario: Scenario, *lines: str, cpus: int = 1) -> None:
    """Plays a scenario with the executor `wild`, which does this."""
    governed(tmp_path, scenario, cpus=cpus, commands={"wild": program(*lines)})
