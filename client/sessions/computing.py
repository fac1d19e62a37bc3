"""Computes, fetches, downloads and releases the results of a session."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgpack

from rain.base.errors import RainError
from rain.base.executor_protocol import DATA_OR_PICKLE
from rain.base.ids import ObjectId
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.requests import Submit, Unkeep
from rain.base.wire.submission import Submission
from rain.client.connection import Connection
from rain.client.data import DataObject, to_dataobj
from rain.client.explaining.tracebacks import hides_frames
from rain.client.failure import noting_failure
from rain.client.items import expect_fetchable, expect_object, mark_finished, not_computable
from rain.client.session_options import SessionOptions
from rain.client.sessions.fetching import Fetching
from rain.client.sessions.following import Following
from rain.client.task import Task
from rain.client.task_parts import PYTHON_TASK
from rain.common.data_instance import DataInstance
from rain.common.errors import RainException

if TYPE_CHECKING:
    from io import BufferedReader

    from rain.client.client import Client

_pack = msgpack.Packer().pack


class Computing(Following):
    """Brings the data of objects."""

    def __init__(self, client: "Client | None", session_id: int, options: SessionOptions) -> None:
        super().__init__(client, session_id, options)
        self._fetching = Fetching(self._waiting, self._results, self._asking)

    @property
    def delivered_count(self) -> int:
        """The number of results that this client has already; fetching them sends no message.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.compute(text).get_str(), session.delivered_count
        ('rain', 1)
        """
        return len(self._results)

    @hides_frames
    def fetch(self, obj: DataObject) -> DataInstance:
        """Waits until a kept object is finished and gives its data.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> session.fetch(text).get_str()
        'rain'
        """
        connection = self._connection()
        expect_fetchable(obj)
        return self._results.delivered(obj) or self._bring(connection, [obj])[0]

    @hides_frames
    def fetch_all(self, objects: Iterable[DataObject]) -> list[DataInstance]:
        """Waits until several kept objects are finished and gives their data, in their order.

        >>> texts = [tasks.Concat((blob(a), blob("in"))).output for a in ("ra", "tra")]
        >>> session.keep_all()
        >>> session.submit()
        >>> [data.get_str() for data in session.fetch_all(texts)]
        ['rain', 'train']
        """
        connection = self._connection()
        wanted = list(objects)
        for obj in wanted:
            expect_fetchable(obj)
        return self._bring(connection, wanted)

    @hides_frames
    def open(self, obj: DataObject, path: str = "") -> "BufferedReader":
        """Opens the data of a kept object as a file; `DataObject.open` says more.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> session.open(text).read(2)
        b'ra'
        """
        connection = self._connection()
        expect_fetchable(obj)
        from rain.client.sessions.ranges import open_object  # noqa: PLC0415 # loads what streams need

        return open_object(self._fetching, connection, obj, path)

    @hides_frames
    def fetch_range(
        self, obj: DataObject, start: int = 0, stop: int | None = None, path: str = ""
    ) -> bytes:
        """Some bytes of a kept object; `DataObject.fetch_range` says more.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> session.fetch_range(text, 1, 3)
        b'ai'
        """
        connection = self._connection()
        expect_fetchable(obj)
        from rain.client.sessions.ranges import fetch_range  # noqa: PLC0415 # as above

        return fetch_range(self._fetching, connection, obj, start, stop, path)

    def _bring(self, connection: Connection, wanted: list[DataObject]) -> list[DataInstance]:
        try:
            return self._fetching.bring(connection, wanted)
        except KeyboardInterrupt:
            self._cancel((), wanted)
            raise

    @hides_frames
    def compute(self, item: Task | DataObject) -> DataInstance:
        """Computes an object, or the single output of a task, and gives its data.

        It keeps the object, submits everything that is not submitted yet, waits and fetches. Small
        data takes one round trip. A refusal is raised as after `submit(soon=True)`. What a remote
        function without an encoding returns is pickled if it is neither bytes nor `str`.

        >>> session.compute(tasks.Concat((blob("ra"), blob("in")))).get_str()
        'rain'
        """
        return self.compute_all([item])[0]

    @hides_frames
    def compute_all(self, items: Iterable[Task | DataObject]) -> list[DataInstance]:
        """Computes several objects, as `compute` does, and gives their data in their order.

        >>> texts = [tasks.Concat((blob(a), blob("in"))) for a in ("ra", "tra")]
        >>> [data.get_str() for data in session.compute_all(texts)]
        ['rain', 'train']
        """
        connection = self._connection()
        wanted: list[DataObject] = []
        ids: list[ObjectId] = []
        tasks: list[Task] = []
        for item in items:  # one loop, since there is usually one item
            obj = to_dataobj(item)
            if obj.session is not self or (obj.submission and not obj.kept):
                raise not_computable(self, obj)
            wanted.append(obj)
            ids.append(obj.packed_id)
            if isinstance(item, Task):
                tasks.append(item)
        for obj in wanted:
            obj.kept = True
        _pickle_what_is_no_data(self._outgoing.pending.tasks[:])
        try:
            waiting = self.submit_by(partial(_begin, connection, tuple(ids)))
            answer = None if waiting is None else waiting()
        except RainError:
            with noting_failure(tasks), self._asking:  # no cost if nothing fails
                raise
        except KeyboardInterrupt:
            self._cancel((), wanted)
            raise
        if answer is not None:
            results = self._results
            results.take_in(answer.delivery)
            mark_finished(tasks, wanted)
            delivered = results.all_delivered(wanted)
            if delivered is not None:
                return delivered
        return self._bring(connection, wanted)

    @hides_frames
    def download(self, obj: DataObject, path: Path | str) -> None:
        """Writes the data of a kept object to a path without holding all of it in memory.

        >>> from pathlib import Path
        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> session.download(text, "text.txt")
        >>> Path("text.txt").read_text()
        'rain'
        """
        connection = self._connection()
        expect_fetchable(obj)
        try:
            self._fetching.download(connection, obj, Path(path))
        except KeyboardInterrupt:
            self._cancel((), [obj])
            raise

    @hides_frames
    def unkeep(self, objects: Iterable[DataObject]) -> None:
        """Lets objects go when no task needs them.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> session.unkeep([text])
        >>> text.is_kept()
        False
        """
        chosen = list(objects)
        for obj in chosen:
            expect_object(obj)
            if not obj.kept:
                raise RainException(f"{obj!r} is not kept")
        submitted = [obj.packed_id for obj in chosen if obj.submission]
        if submitted:
            connection = self._connection()
            with self._asking:
                connection.ask(Unkeep(tuple(submitted)))
        for obj in chosen:
            obj.kept = False
            self._results.drop(obj.packed_id)
            self._lent.discard(obj.packed_id)


def _begin(
    connection: Connection, wanted: tuple[ObjectId, ...], submission: Submission
) -> Callable[[], WaitAnswer | None]:
    """Sends it with a wait for what is wanted; a failure is told by the wait alone."""
    submission.fails_alone = True
    return connection.begin(Submit(submission, wanted))


def _pickle_what_is_no_data(pending: Sequence[Task]) -> None:
    """Lets functions without an encoding return any value.

    In Rain 0.4 such a function returns bytes, `str` or data, and anything else is an error. That
    rule still holds for outputs that a program or a task in another language reads. Outputs that
    only Python reads are pickled: this function changes the configs of their tasks before these are
    sent.
    """
    makers = list[Task]()
    read_as_bytes = set[DataObject]()
    for task in pending:
        if task.wire_shape.task_type != PYTHON_TASK:
            read_as_bytes.update(task.input_objects)
        elif any(obj.wire_shape.content_type is None for obj in task.output_objects):
            makers.append(task)
    for task in makers:
        config: dict[str, Any] = msgpack.unpackb(task.wire_config)
        config["encode_outputs"] = [
            DATA_OR_PICKLE if how is None and obj not in read_as_bytes else how
            for how, obj in zip(config["encode_outputs"], task.output_objects, strict=True)
        ]
        task.wire_config = _pack(config)
