"""Sending a submission: large constants go ahead over a stream, long columns as several parts.

Everything is encoded before anything is sent, so a value that cannot be sent leaves nothing behind
on the server; and once it is being sent nobody stops it half-way.
"""

import asyncio
from collections.abc import Container, Sequence

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId
from rain.base.wire import INLINE_LIMIT, ConstantColumns, Submission
from rain.rpc.codec.requests import SubmitPart, write_request
from rain.rpc.codec.split import split_submission
from rain.stream.errors import UnreachableError
from rain.stream.reading import StreamReader

Upload = tuple[ObjectId, bytes]


def encode_submission(
    number: int, submission: Submission, wanted: Sequence[ObjectId] = ()
) -> tuple[list[bytes], list[Upload]]:
    """The messages of a submission, and what is to be uploaded before them.

    It is answered as a wait for all objects that are wanted, unless something is to be uploaded.
    Raises `RefusedError` when it cannot be sent.
    """
    uploads = _large(submission.constants) if submission.constants.ids else []
    gone_ahead = dict(uploads)
    if gone_ahead:
        submission, wanted = _without(submission, gone_ahead), ()
    messages: list[bytes] = []
    try:
        parts = split_submission(submission)
        for part in parts:
            is_last = part is parts[-1]
            part.fails_alone = submission.fails_alone
            uploaded: Sequence[ObjectId] = ()
            if gone_ahead:
                uploaded = [one for one in part.constants.ids if one in gone_ahead]
            request = SubmitPart(part, uploaded, is_last, wanted if is_last else ())
            messages.append(write_request(number, request))
        return messages, uploads
    except ProtocolError as error:
        raise RefusedError(f"{error}: pass large data as constants of their own") from None
    except UnicodeEncodeError as error:
        raise RefusedError(f"the submission holds text that is not UTF-8: {error}") from None


def _large(constants: ConstantColumns) -> list[Upload]:
    return [
        (object_id, data)
        for object_id, data in zip(constants.ids, constants.data, strict=True)
        if len(data) > INLINE_LIMIT
    ]


def _without(submission: Submission, gone_ahead: Container[ObjectId]) -> Submission:
    """The submission with empty data in place of what is uploaded."""
    constants = submission.constants
    data = [
        b"" if object_id in gone_ahead else entry
        for object_id, entry in zip(constants.ids, constants.data, strict=True)
    ]
    return Submission(
        submission.session,
        submission.task_kinds,
        submission.object_kinds,
        submission.tasks,
        ConstantColumns(constants.ids, constants.kinds, data),
        submission.kept,
        submission.fails_alone,
    )


async def upload_all(reader: StreamReader, key: bytes, uploads: list[Upload]) -> bool:
    """Sends constants ahead, in a thread; False when the server refuses one of them.

    It then refuses the last part of the submission, too, with the reason.
    """

    def send() -> None:
        for object_id, data in uploads:
            reader.upload(key, object_id, data)

    try:
        await asyncio.to_thread(send)
    except RefusedError:
        return False
    except UnreachableError as error:
        raise RefusedError(f"the constants cannot be uploaded: {error}") from None
    return True
