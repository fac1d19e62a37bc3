"""The protocol between a governor and its Python executors.

Executors start for every slot, so this file imports next to nothing. Four channels join the two,
all made by the governor and inherited by the executor, whose environment names their descriptors:

* A stream socket with frames (a little-endian length of four bytes, and a msgpack array [what,
  ...]). Downwards: CALLS with an epoch, new kinds, objects to remember, calls, and the gpus that
  these may use (nil where there are none at all); DROP with objects and sessions to forget.
  Upwards: REGISTER with the protocol's name and the executor's number, once; LOOK whenever there
  are answers that the governor should read now; BLOCKED and RESUMED when the running call begins
  to wait for other tasks and when it goes on, in turns, after a LOOK for what was answered before;
  LACKS with a text as the last message of an executor that ends because the machine lacks something
  for its own part of the work, for instance descriptors: then the running call is not to blame.
* A pipe of tokens downwards. A token is the epoch of its call in four bytes. Tokens are written
  before the frame with their calls. The side that takes a call's token decides on the call: the
  executor starts it, or the governor takes it back, which it always does with all tokens that are
  there; after that the governor begins a new epoch. So a call at the head of the executor's queue
  whose epoch is not that of the token in hand was taken back, and is thrown away.
* A pipe of stops downwards, each of which is the number of a call in five bytes (little-endian):
  how many calls the executor had started when it started that one, itself included. Three bytes
  follow, which are 0. A stop is written before SIGINT is sent to the process. The executor raises
  KeyboardInterrupt if it runs exactly that call, or as soon as it does, and ignores the signal
  otherwise. If the last three bytes are a number, the call is not stopped, but may not wait for
  other tasks: one less than that number of calls do already. If it waits, it gets an exception that
  says so.
* A pipe of answers upwards: msgpack arrays one after the other, one for each call that was started,
  each written before the next token is taken. The governor reads them at LOOK, from time to time,
  and after the executor's death.

An input may come without content: an earlier call of the same executor has made it. The executor
keeps its latest small outputs for this. If it does not have such an input, it answers nil instead
of outputs and does not run the call.
"""

from typing import Final, NamedTuple

SERVER: Final = "RAIN_SERVER"
"""The variable with the server's address for tasks: HOST:PORT, and its standbys after commas."""

PROTOCOL: Final = "rain-py-10"

SOCKET_FD: Final = "RAIN_EXECUTOR_SOCKET_FD"
TOKENS_FD: Final = "RAIN_EXECUTOR_TOKENS_FD"
STOPS_FD: Final = "RAIN_EXECUTOR_STOPS_FD"
ANSWERS_FD: Final = "RAIN_EXECUTOR_ANSWERS_FD"
GOVERNOR_PID: Final = "RAIN_EXECUTOR_GOVERNOR_PID"
EXECUTOR_ID: Final = "RAIN_EXECUTOR_ID"
ORIGIN: Final = "RAIN_ORIGIN"
"""Words that say what started a process, so that it can be found and killed afterwards."""

DATA_FOLDER: Final = "RAIN_EXECUTOR_DATA"
"""The folder where the governor keeps stored objects, each under its number."""

SHARED_FOLDER: Final = "RAIN_EXECUTOR_SHARED"
"""Its folder in shared memory for objects; without the variable there is none."""

SHARED: Final = 1 << 40
"""Set in the numbers of files that were made in shared memory. Later they may be on the disk."""

PLACE_FILE: Final = "place"
"""File in the executor's folder: the running call of a unit, from 1, or 0; read after its death."""

PLACE: Final = 4
"""The size of that number in bytes, little-endian."""

REGISTER: Final = "register"
LOOK: Final = "look"
CALLS: Final = "calls"
DROP: Final = "drop"
BLOCKED: Final = "blocked"
RESUMED: Final = "resumed"
LACKS: Final = "lacks"

HEADER: Final = 4
TOKEN: Final = 4
STOP: Final = 8
_CALL: Final = 5  # bytes of a stop
_LONGEST_TEXT: Final = 255  # bytes
LACKS_HEAD: Final = bytes([0x92, 0xA0 + len(LACKS), *LACKS.encode(), 0xD9])
"""The beginning of the body of such a frame: a list of this text and another one, in msgpack."""

VISIBLE_GPUS: Final = "CUDA_VISIBLE_DEVICES"
"""The variable that tells CUDA programs which gpus they may use."""

CPUS: Final = "cpus"
"""Key in the resources of a task kind (importing `rain.base.resources` takes too long)."""

INLINE_RESULT: Final = 64 * 1024
"""Larger results are written to a file, which the governor moves into its store."""

DATA_OR_PICKLE: Final = "data or pickle"
"""In the place of an encoding: bytes, `str` and data stay as they are, other values are pickled."""

PLAIN: Final = "plain"
"""In the config of a call: the function gets its arguments only, and no context."""

LOOK_EVERY: Final = 0.001
"""Seconds between two LOOK messages of an executor that is busy with short calls."""


def stop(call: int) -> bytes:
    """Interrupts a call."""
    return refusal(call, -1)


def refusal(call: int, most: int) -> bytes:
    """Says that a call may not wait for other tasks, because `most` calls wait already."""
    return call.to_bytes(_CALL, "little") + (most + 1).to_bytes(STOP - _CALL, "little")


def read_stop(record: bytes) -> tuple[int, int]:
    """The call of a stop; and if it may only not wait, how many calls wait, else -1."""
    first, rest = record[:_CALL], record[_CALL:]
    return int.from_bytes(first, "little"), int.from_bytes(rest, "little") - 1


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
    retry_on: bytes  # a pickled tuple of exception classes; empty for all


class CallInput(NamedTuple):
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
    inputs: list[int | CallInput]
    outputs: list[int]


# An answer is [task, start, end, outputs] or, where there is more to say, [task, start, end,
# outputs or error text, debug lines, user JSON, what was printed, the pickled exception, whether
# this failure is not worth another try, whether it could not read its part of a shuffle, the size
# of an output for which the disk had no room] without the last words that are empty, or
# [task, 0.0, 0.0, nil] for a call that was not run. Start and end are in seconds on the monotonic
# clock, which the processes of a machine share. What was printed is "" or, for stdout and for
# stderr, [bytes that are kept, size of all].
# An output is its bytes, or [what, content, content type, user JSON] and, if there are futures
# inside of its data, the list of the objects that these stand for. Instead of the outputs there may
# be a map, {"handed on": objects}: other tasks make the outputs, and these are what they make.
# `what` is one of these:
BYTES: Final = 0  # content: the bytes
FILE: Final = 1  # content: a path in the executor's folder, whose file is moved away
INPUT: Final = 2  # content: the id of an input that is passed on unchanged

HANDED_ON: Final = "handed on"


def lacks_frame(text: str) -> bytes:
    """The frame of LACKS, without msgpack: there may be no descriptor left to import it."""
    said = text.encode(errors="replace")[:_LONGEST_TEXT]
    body = LACKS_HEAD + bytes([len(said)]) + said
    return len(body).to_bytes(HEADER, "little") + body


def lack_of(body: bytes) -> str:
    """What the executor lacks, from the body of such a frame."""
    return body[len(LACKS_HEAD) + 1 :].decode(errors="ignore")
