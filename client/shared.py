"""Tasks that extend the session that they belong to."""

import os
import threading
from typing import Any

from rain.client.client import Client
from rain.client.session import Session
from rain.common.errors import RainException

SERVER = "RAIN_SERVER"
"""Where governors tell their executors that the server is: HOST:PORT."""


_clients: dict[str, Client] = {}  # of this process, by the address of the server
_lock = threading.Lock()


def task_session(ctx: Any) -> Session:
    """The session of the running task, so that a function can submit tasks to it.

    A task that waits for other tasks holds its cpus, and one of the four places that a governor has
    for each cpu. One waiting task with `cpus=0` is safe. If many tasks wait, or if tasks wait for
    tasks that wait, the cluster can stand still.

    >>> @remote(cpus=0)
    ... def grow(ctx):
    ...     session = task_session(ctx)
    ...     with session.bind_only():
    ...         text = tasks.Concat((blob("ra"), blob("in")))
    ...     return session.compute(text).get_str()
    >>> session.compute(grow()).get_str()
    'rain'
    """
    address = os.environ.get(SERVER, "")
    if not address:
        raise RainException("task_session is for functions that run as tasks")
    with _lock:
        client = _clients.get(address)
        if client is None or client.housekeeper.closed:
            host, _, port = address.rpartition(":")
            client = _clients[address] = Client(host.strip("[]"), port)
    return client.join_session(ctx.spec.id.session_id)
