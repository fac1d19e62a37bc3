"""Sends a submission: large constants first, over a stream, and long columns in several
messages.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import ExitStack, suppress
from functools import partial

from attrs import evolve

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.requests import Submit
from rain.base.wire.submission import ConstantColumns, GivenConstants, Submission
from rain.rpc.client_calls import ClientCalls, PendingCall
from rain.rpc.codec.requests import read_wait_answer
from rain.rpc.codec.split import split_submission
from rain.rpc.codec.submission import SubmitPart, write_submit
from rain.rpc.interface import Fields
from rain.stream.errors import UnreachableError
from rain.stream.reading import StreamReader
from rain.stream.sockets import Note
from rain.stream.staged import STAGED_FROM, Staged, stage
from rain.stream.watching import Direction, TransferWatch, watched

Upload = tuple[ObjectId, bytes | Staged]


class SubmissionCalls:
    """Makes the calls of submissions.

    A submission is encoded as a whole before any of it is sent, so a value that cannot be sent
    leaves nothing behind on the server.
    """

    def __init__(
        self, calls: ClientCalls, reader: StreamReader, watch: TransferWatch | None = None
    ) -> None:
        self._calls = calls
        self._reader = reader
        self._watch = watch

    def prepare(self, submit: Submit) -> PendingCall[WaitAnswer | None]:
        """The call of a submission, with what is to be uploaded before it.

        It is answered as a wait for all objects that are wanted, unless something is uploaded: then
        as soon as it is accepted. Raises `RefusedError` when it cannot be sent.
        """
        submission, wanted = submit.submission, submit.wanted
        read = read_wait_answer if wanted else _nothing
        uploads = _large(submission.constants) if submission.constants.ids else []
        gone_ahead = dict(uploads)
        if gone_ahead:
            submission, wanted = _without(submission, gone_ahead), ()
        try:
            parts = encode_parts(submission, gone_ahead, wanted)
            asked = self._calls.prepare("submit", parts, read)
        except ProtocolError as error:
            raise RefusedError(f"{error}: pass large data as constants of their own") from None
        except UnicodeEncodeError as error:
            raise RefusedError(f"the submission holds text that is not UTF-8: {error}") from None
        if uploads:
            asked.upload = partial(self._upload, uploads)
            asked.calls[-1].ahead = partial(self._upload_again, uploads)
        return asked

    def _upload(self, uploads: Sequence[Upload]) -> bool:
        """Sends constants ahead; False when the server refuses one of them.

        It then refuses the last part of the submission, too, with the reason.
        """
        with ExitStack() as watching:  # all from now on, so that watchers know the sum
            notes = [
                watching.enter_context(watched(self._watch, Direction.SENDING, len(data)))
                for _, data in uploads
            ]
            return self._upload_noting(uploads, notes)

    def _upload_noting(self, uploads: Sequence[Upload], notes: Sequence[Note | None]) -> bool:
        while True:
            key = self._calls.key
            try:
                for (object_id, data), note in zip(uploads, notes, strict=True):
                    self._reader.upload(key, object_id, self._written(data), note)
            except RefusedError:
                if key == self._calls.key:
                    return False
            except UnreachableError as error:
                if not self._calls.was_cut() and key == self._calls.key:
                    raise RefusedError(f"the constants cannot be uploaded: {error}") from None
            else:
                if key == self._calls.key:  # else they went over a connection that was lost
                    return True

    def _upload_again(self, uploads: Sequence[Upload]) -> None:
        """Sends constants ahead of a submission that is made again. `UnreachableError`: not yet."""
        for object_id, data in uploads:
            with suppress(RefusedError):  # it is there; whatever else is wrong the submission says
                self._reader.upload(self._calls.key, object_id, self._written(data))

    def _written(self, data: bytes | Staged) -> bytes | Staged:
        """Bytes as a file that the server takes over, if it is on this machine."""
        folder = self._calls.upload_folder
        if isinstance(data, Staged) or len(data) < STAGED_FROM or not folder:
            return data
        return stage(folder, [data]) or data


def _nothing(_: Fields) -> None:
    """A submission that wants no objects is only accepted."""


def encode_parts(
    submission: Submission, gone_ahead: Container[ObjectId], wanted: Sequence[ObjectId]
) -> list[Fields]:
    """The parts of a submission, as the fields of calls."""
    parts: list[Fields] = []
    split = split_submission(submission)
    for part in split:
        is_last = part is split[-1]
        part.fails_alone = submission.fails_alone
        uploaded = [one for one in part.constants.ids if one in gone_ahead]
        parts.append(write_submit(SubmitPart(part, uploaded, is_last, wanted if is_last else ())))
    return parts


def _large(constants: ConstantColumns) -> list[Upload]:
    large: list[Upload] = [
        (object_id, data)
        for object_id, data in zip(constants.ids, constants.data, strict=True)
        if len(data) > INLINE_LIMIT
    ]
    files = constants.files if isinstance(constants, GivenConstants) else {}
    for object_id, file in files.items():
        assert isinstance(file, Staged)
        large.append((object_id, file))
    return large


def _without(submission: Submission, gone_ahead: Container[ObjectId]) -> Submission:
    """The submission with empty data in place of what is uploaded."""
    constants = submission.constants
    data = [
        b"" if object_id in gone_ahead else entry
        for object_id, entry in zip(constants.ids, constants.data, strict=True)
    ]
    slim = ConstantColumns(constants.ids, constants.kinds, data, constants.sizes)
    return evolve(submission, constants=slim)
