"""The protocol between a governor and its Python executors.

An executor starts for every slot, so this file imports almost nothing. Three channels connect the
two. The governor creates them, the executor inherits them, and its environment names the
descriptors:

* A stream socket with frames (a little-endian length of four bytes, and a msgpack array
  [what, ...]). To the executor: CALLS with an epoch, new kinds, objects to remember, calls, and the
  gpus that these may use (nil on a machine without gpus); DROP with objects and sessions to forget.
  To the governor: REGISTER with the protocol's name and the executor's number, once; LOOK if
  there are answers that the governor should read now; the answer to a call that was sent alone.
* A pipe of tokens to the executor. A token is the epoch of its call in four bytes. Tokens are
  written before the frame with their calls. The side that reads the token of a call claims it:
  the executor to start it, or the governor to take it back. The governor always takes back all
  tokens in the pipe and then begins a new epoch. So if the epoch of the call at the head of the
  executor's queue differs from that of its token, the call was taken back and is dropped.
* A pipe of answers to the governor: a sequence of msgpack arrays, one for each started call, each
  written before the next token is read. The governor reads them on LOOK, from time to time, and
  after the executor's death.

**A call that is sent alone**, to an executor without other calls or unread answers, has the epoch
ALONE and no token: it counts as started when it was sent, unless the executor dies before it reads
the frame. Its answer is a separate frame. So a single task takes one message in each direction. All
later answers are read after it.

An input may come without content: an earlier call of the same executor has made it. The executor
keeps its latest small outputs for this. If it does not have such an input, it answers nil instead
of outputs and does not run the call.
"""

from typing import Final, NamedTuple

PROTOCOL: Final = "rain-py-2"

SOCKET_FD: Final = "RAIN_EXECUTOR_SOCKET_FD"
TOKENS_FD: Final = "RAIN_EXECUTOR_TOKENS_FD"
ANSWERS_FD: Final = "RAIN_EXECUTOR_ANSWERS_FD"
GOVERNOR_PID: Final = "RAIN_EXECUTOR_GOVERNOR_PID"
EXECUTOR_ID: Final = "RAIN_EXECUTOR_ID"
ORIGIN: Final = "RAIN_ORIGIN"
"""Words that say what started a process, so that it can be found and killed afterwards."""

DATA_FOLDER: Final = "RAIN_EXECUTOR_DATA"
"""The folder where the governor keeps stored objects, each under its number."""

PLACE_FILE: Final = "place"
"""File in the executor's folder: the running call of a unit, from 1, or 0; read after its death."""

PLACE: Final = 4
"""The size of that number in bytes, little-endian."""

REGISTER: Final = "register"
LOOK: Final = "look"
CALLS: Final = "calls"
DROP: Final = "drop"

HEADER: Final = 4
TOKEN: Final = 4

ALONE: Final = 0
"""The epoch of a call without a token; other epochs begin with 1."""

CPUS: Final = "cpus"
"""Key in the resources of a task kind (importing `rain.base.resources` takes too long)."""

INLINE_RESULT: Final = 64 * 1024
"""Larger results are written to a file, which the governor moves into its store."""

LOOK_EVERY: Final = 0.001
"""Seconds between two LOOK messages of an executor that is busy with short calls."""


class ObjectKindRow(NamedTuple):
    """A kind of objects, as sent to an executor."""

    id: int
    label: str
    content_type: str
    data_type: str
    user: str


class TaskKindRow(NamedTuple):
    """A kind of tasks, as sent to an executor."""

    id: int
    task_type: str
    name: str
    resources: list[tuple[str, int]]
    input_labels: list[str]
    outputs: list[int]
    user: str


class ObjectRow(NamedTuple):
    """An input, as sent to an executor.

    The content is bytes, the number of a stored file, or None if the executor has made it.
    """

    id: int
    kind: int
    content_type: str
    user: str
    size: int
    content: bytes | int | None


class Call(NamedTuple):
    """One call; an input that the executor remembers is only its id."""

    task: int
    kind: int
    config: bytes
    inputs: list[int | ObjectRow]
    outputs: list[int]


# An answer is [task, seconds, outputs], or the longer form [task, seconds, outputs or error text,
# debug lines, user JSON], or [task, 0.0, nil] for a call that was not run.
# An output is its bytes, or [what, content, content type, user JSON] with one of these:
BYTES: Final = 0  # content: the bytes
FILE: Final = 1  # content: a path in the executor's folder, whose file is moved away
INPUT: Final = 2  # content: the id of an input that is passed on unchanged
