"""Sending a submission: large constants go ahead over a stream, long columns as several parts.

Everything is encoded before anything is sent, so a value that cannot be sent leaves nothing behind
on the server; and once it is being sent nobody stops it half-way.
"""

import asyncio
from collections import deque

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId
from rain.base.wire import INLINE_LIMIT, ConstantColumns, Submission
from rain.rpc.client_calls import Calls
from rain.rpc.codec.border import Capability, check_length
from rain.rpc.codec.split import split_submission
from rain.rpc.codec.submission import write_submission
from rain.rpc.running import Promise
from rain.stream.errors import UnreachableError
from rain.stream.reading import StreamReader

PARTS_IN_FLIGHT = 8

Upload = tuple[ObjectId, bytes]


async def send_submission(
    calls: Calls, reader: StreamReader, submission: Submission
) -> list[Promise]:
    """Sends it all; what the last calls answer tells whether it was accepted.

    Raises `RefusedError` when it cannot be sent, or the server takes no more of it.
    """
    uploads = [
        (object_id, data)
        for object_id, data in zip(submission.constants.ids, submission.constants.data, strict=True)
        if len(data) > INLINE_LIMIT
    ]
    gone_ahead = {object_id for object_id, _ in uploads}
    requests = await _encode(calls.service, _without(submission, gone_ahead), gone_ahead)
    if uploads and await _upload(calls, reader, uploads):
        # The last part alone is refused with the reason, and what was uploaded before it goes.
        await calls.answer(requests[-1].send())
        raise RefusedError("the server takes no constants, and does not say why")
    sent: deque[Promise] = deque()
    for request in requests:
        if len(sent) >= PARTS_IN_FLIGHT:
            await calls.answer(sent.popleft())
        sent.append(asyncio.ensure_future(request.send()))
    return list(sent)


def _without(submission: Submission, gone_ahead: set[ObjectId]) -> Submission:
    """The submission with empty data in place of what is uploaded."""
    if not gone_ahead:
        return submission
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
    )


async def _encode(
    service: Capability, submission: Submission, gone_ahead: set[ObjectId]
) -> list[Promise]:
    parts = split_submission(submission)
    requests: list[Promise] = []
    for part in parts:
        request = service.submit_request()
        request.last = part is parts[-1]
        uploaded = [object_id for object_id in part.constants.ids if object_id in gone_ahead]
        try:
            write_submission(request.init("part"), part, uploaded)
            check_length("a part of the submission", request)
        except ProtocolError as error:
            raise RefusedError(f"{error}: pass large data as constants of their own") from None
        except UnicodeEncodeError as error:
            raise RefusedError(f"the submission holds text that is not UTF-8: {error}") from None
        requests.append(request)
        if part is not parts[-1]:
            await asyncio.sleep(0)  # answers to others are read meanwhile
    return requests


async def _upload(calls: Calls, reader: StreamReader, uploads: list[Upload]) -> bool:
    """Sends constants ahead, in a thread; True when the server refuses one of them."""

    def send() -> None:
        for object_id, data in uploads:
            reader.upload(calls.key, object_id, data)

    try:
        await asyncio.to_thread(send)
    except RefusedError:
        return True
    except UnreachableError as error:
        raise RefusedError(f"the constants cannot be uploaded: {error}") from None
    return False
