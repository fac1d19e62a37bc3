"""What a client has sent of a submission that is not whole yet: uploaded bytes, and parts. Pure.

A submission is applied whole or not at all, so its parts are kept here until the last one has
come, and then joined. What one client may have pending is bounded. When it sends more, all that is
pending is dropped, and everything up to the last part of that submission is refused with the same
reason: the client has sent it all without waiting, and none of it may be taken for another one.
"""

from collections.abc import Sequence

from attrs import define, field

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId, SessionId, spell
from rain.base.wire import ConstantColumns, Submission, TaskColumns

PENDING_LIMIT = 4 * 1024**3
"""Bytes of one client's submissions that are not whole yet."""

TASK_COST = 64
"""Bytes that a task counts beside its config."""


@define(eq=False)
class PendingSubmission:
    """The submission that one client is sending."""

    limit: int = PENDING_LIMIT
    held: int = 0
    refusal: str = ""  # why the rest of this submission is refused, "" if it is not
    _uploads: dict[ObjectId, list[bytes]] = field(init=False, factory=dict)
    _lengths: dict[ObjectId, int] = field(init=False, factory=dict)
    _joined: Submission | None = field(init=False, default=None)

    def upload(self, object_id: ObjectId, offset: int, piece: bytes) -> str:
        """Keeps a piece of a constant; gives the reason if it is refused."""
        if not self._holds(len(piece)):
            return self.refusal
        length = self._lengths.get(object_id, 0)
        if offset != length:
            raise ProtocolError(
                f"the upload of {spell(object_id)} goes on at {offset} instead of {length}"
            )
        self._uploads.setdefault(object_id, []).append(piece)
        self._lengths[object_id] = length + len(piece)
        return ""

    def add(self, part: Submission, uploaded: Sequence[ObjectId]) -> str:
        """Keeps a part, the uploaded bytes put in; gives the reason if it is refused."""
        cost = sum(map(len, part.tasks.configs)) + TASK_COST * len(part.tasks.ids)
        if not self._holds(cost + sum(map(len, part.constants.data))):
            return self.refusal
        self._fill(part.constants, uploaded)
        if self._joined is None:
            self._joined = part
        elif part.session != self._joined.session:
            raise ProtocolError("the parts of one submission name different sessions")
        else:
            _append(self._joined, part)
        return ""

    def take(self) -> Submission | str:
        """The whole submission, or why it is refused; whatever comes next belongs to another."""
        whole: Submission | str = self._joined or Submission(SessionId(0))
        if self.refusal:
            whole = self.refusal
        self._drop()
        self.refusal = ""
        return whole

    def _holds(self, more: int) -> bool:
        """Whether there is room for more bytes; if not, this submission is lost."""
        if not self.refusal and self.held + more > self.limit:
            self._drop()
            self.refusal = (
                f"the submission is larger than {self.limit} bytes, which is as much as the"
                " server takes at once: submit in smaller steps"
            )
        self.held += 0 if self.refusal else more
        return not self.refusal

    def _drop(self) -> None:
        self._uploads.clear()
        self._lengths.clear()
        self._joined = None
        self.held = 0

    def _fill(self, constants: ConstantColumns, uploaded: Sequence[ObjectId]) -> None:
        """Puts uploaded bytes where the columns left them out."""
        if not uploaded:
            return
        places = {object_id: place for place, object_id in enumerate(constants.ids)}
        for object_id in uploaded:
            place = places.get(object_id)
            pieces = self._uploads.pop(object_id, None)
            if place is None or pieces is None or constants.data[place]:
                raise ProtocolError(f"nothing fits to the uploaded constant {spell(object_id)}")
            del self._lengths[object_id]
            constants.data[place] = b"".join(pieces)


def _append(whole: Submission, part: Submission) -> None:
    whole.task_kinds += part.task_kinds
    whole.object_kinds += part.object_kinds
    whole.kept += part.kept
    _append_tasks(whole.tasks, part.tasks)
    whole.constants.ids += part.constants.ids
    whole.constants.kinds += part.constants.kinds
    whole.constants.data += part.constants.data


def _append_tasks(whole: TaskColumns, part: TaskColumns) -> None:
    whole.ids += part.ids
    whole.kinds += part.kinds
    whole.configs += part.configs
    whole.input_counts += part.input_counts
    whole.inputs += part.inputs
    whole.outputs += part.outputs
