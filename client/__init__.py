"""The client library: call functions on a cluster, build graphs of tasks, and fetch the results.

>>> from rain.client import Client
>>> with Client(cpus=2) as client:
...     client.submit(pow, 2, 10).result()
1024

* `Client` calls plain functions with `submit` and `map`, and gives a `Future` for each call.
  `AsyncClient` does this for asyncio and trio, and `client.executor()` is an executor of
  `concurrent.futures`.
* `get_client` and `then` are for tasks that call tasks.
* `Env` says which packages, variables and files tasks need; `open_files` and `create_file` are for
  files and object stores; `register_joblib` and `client.dask` are for joblib and Dask.
* `Session`, `remote`, `Program` and `tasks` build graphs of tasks, with `blob`, `pickled` and
  `directory` for data of the program.
* A call that fails raises what its function has raised; `TaskException`, `CancelledError`,
  `ConnectionException` and `TimeoutException` are what else a wait can raise.

In the examples of this package all of its names are imported, `client` is a client, and `session`
is an open session of it: the active one. The other modules of the package are no part of what users
are promised.
"""

import sys
from typing import TYPE_CHECKING, NoReturn

from rain.client import tasks as tasks
from rain.client.async_client import AsyncClient
from rain.client.by_name import FutureSession
from rain.client.client import Client
from rain.client.constants import blob, directory, pickled
from rain.client.data import DataObject
from rain.client.environments import Env
from rain.client.errors import CancelledError
from rain.client.explaining.misspelled import unknown_name
from rain.client.future import Future
from rain.client.futures.task_function import task
from rain.client.futures.waiting import as_completed
from rain.client.input import Input, InputBase, InputDir
from rain.client.nested import get_client, task_session, then
from rain.client.output import Output, OutputBase, OutputDir
from rain.client.program import Program
from rain.client.remote import Remote, remote
from rain.client.session import Session
from rain.client.task import Task
from rain.common.errors import (
    ConnectionException,
    RainException,
    RainWarning,
    SessionException,
    TaskException,
    TaskTimeout,
    TimeoutException,
)
from rain.common.joblib_backend import register_joblib, register_with_joblib
from rain.files.file import File
from rain.files.finding import open_files
from rain.files.publishing import create_file

__all__ = [
    "AsyncClient",
    "CancelledError",
    "Client",
    "ConnectionException",
    "DataObject",
    "Env",
    "File",
    "Future",
    "FutureSession",
    "Input",
    "InputBase",
    "InputDir",
    "Output",
    "OutputBase",
    "OutputDir",
    "Program",
    "RainException",
    "RainWarning",
    "Remote",
    "Session",
    "SessionException",
    "Task",
    "TaskException",
    "TaskTimeout",
    "TimeoutException",
    "as_completed",
    "blob",
    "create_file",
    "directory",
    "get_client",
    "open_files",
    "pickled",
    "register_joblib",
    "remote",
    "task",
    "task_session",
    "tasks",
    "then",
]

register_with_joblib()


if not TYPE_CHECKING:  # for type checkers there are no other names

    def __getattr__(name: str) -> NoReturn:
        raise unknown_name(__name__, name, sys._getframe(1))
