"""An executor of one's own in Python, which counts words.

A governor starts it; see the guide's page on executors.
"""

import os
import socket
from pathlib import Path
from typing import Any

from rain.common.comm import SocketWrapper


def read_blob(entry: dict[str, Any]) -> bytes:
    """The bytes of an input: they come along, or are in a file that may only be read."""
    where, what = entry["location"]
    return what if where == "memory" else Path(what).read_bytes()


def answer(call: dict[str, Any]) -> dict[str, Any]:
    """Runs one task."""
    spec = call["spec"]
    if spec["task_type"] != "words/count":
        error = f"there is no task {spec['task_type']}"
        return {"task": spec["id"], "success": False, "info": {"error": error}}
    words = sum(len(read_blob(entry).split()) for entry in call["inputs"])
    output = {"info": {"content_type": "json"}, "location": ["memory", str(words).encode()]}
    return {"task": spec["id"], "success": True, "info": {}, "outputs": [output]}


def main() -> None:
    """Answers calls until the governor has gone."""
    path = Path(os.environ["RAIN_EXECUTOR_SOCKET"])
    os.chdir(path.parent)  # where it started; the path itself may be too long for a socket
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path.name)
    governor = SocketWrapper(connection)
    number = int(os.environ["RAIN_EXECUTOR_ID"])
    governor.send_message(
        "register", {"protocol": "cbor-1", "executor_id": number, "executor_type": "words"}
    )
    while True:
        try:
            name, fields = governor.receive_message()
        except EOFError:
            return
        if name == "call":
            governor.send_message("result", answer(fields))


if __name__ == "__main__":
    main()
