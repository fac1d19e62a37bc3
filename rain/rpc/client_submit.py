"""Sending a submission: large constants go ahead in pieces, long columns as several parts.

Everything is encoded before anything is sent, so a value that cannot be sent leaves nothing behind
on the server; and once it is being sent nobody stops it half-way.
"""

import asyncio
from collections import deque

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId
from rain.base.wire import PIECE, PIECES_IN_FLIGHT, ConstantColumns, Submission
from rain.rpc.client_calls import Calls
from rain.rpc.codec.border import Capability, check_length
from rain.rpc.codec.split import split_submission
from rain.rpc.codec.submission import write_submission
from rain.rpc.running import Promise

PARTS_IN_FLIGHT = 8


async def send_submission(calls: Calls, submission: Submission) -> list[Promise]:
    """Sends it all; what the last calls answer tells whether it was accepted.

    Raises `RefusedError` when it cannot be sent, or the server takes no more of it.
    """
    uploads = [
        (object_id, data)
        for object_id, data in zip(submission.constants.ids, submission.constants.data, strict=True)
        if len(data) > PIECE
    ]
    gone_ahead = {object_id for object_id, _ in uploads}
    requests = await _encode(calls.service, _without(submission, gone_ahead), gone_ahead)
    refused = False
    for object_id, data in uploads:
        refused = refused or await _upload(calls, object_id, data)
    if refused:
        # The server refuses everything up to the last part, which says so once more.
        requests = requests[-1:]
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


async def _upload(calls: Calls, object_id: ObjectId, data: bytes) -> bool:
    """Sends a constant in pieces, a few in flight; True when the server refuses more."""
    view = memoryview(data)
    sent: deque[Promise] = deque()
    for offset in range(0, len(data), PIECE):
        if len(sent) >= PIECES_IN_FLIGHT and await _is_refused(calls, sent.popleft()):
            break
        call = calls.service.upload(
            object=object_id, offset=offset, data=view[offset : offset + PIECE]
        )
        sent.append(asyncio.ensure_future(call))
    refusals = [await _is_refused(calls, call) for call in sent]
    return any(refusals)


async def _is_refused(calls: Calls, call: Promise) -> bool:
    try:
        await calls.answer(call)
    except RefusedError:
        return True
    return False
