"""Collects the parts of a submission until it is complete. Pure.

A submission is applied as a whole or not at all, so its parts are kept here until the last one has
come, and then joined. The bytes that one client may have pending are limited. When it sends more,
all that is pending is dropped, and everything up to the last part of that submission is refused
with the same reason: the client has sent it all without waiting, and none of it must be taken for
another submission.
"""

from collections.abc import Callable, Sequence

from attrs import define, field

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId, SessionId, spell
from rain.base.wire.submission import ConstantColumns, Submission, TaskColumns
from rain.rpc.codec.kinds import weight

PENDING_LIMIT = 4 * 1024**3
"""Bytes of one client's submissions that are not whole yet."""

TASK_COST = 64
"""Bytes that a task counts beside its config."""

REFERENCE_COST = 8
"""And a future inside of a task or a constant."""

KIND_COST = 500
"""And a kind beside those that it takes in a message."""


@define(eq=False)
class PendingSubmission:
    """The incomplete submission of one client."""

    size_of: Callable[[ObjectId], int]  # the length of what was uploaded ahead
    limit: int = PENDING_LIMIT
    held: int = 0
    refusal: str = ""  # why the rest of this submission is refused, "" if it is not
    _uploaded: list[ObjectId] = field(init=False, factory=list)
    _joined: Submission | None = field(init=False, default=None)

    def add(self, part: Submission, uploaded: Sequence[ObjectId]) -> None:
        """Keeps a part, whose columns were checked, unless the submission is refused."""
        tasks, constants = part.tasks, part.constants
        cost = sum(map(len, tasks.configs)) + TASK_COST * len(tasks.ids)
        if constants.ids or uploaded:
            cost += sum(map(len, constants.data))
        if part.contents.objects:
            cost += REFERENCE_COST * len(part.contents.objects)
        if part.keys.holders:
            cost += sum(map(len, part.keys.keys)) + REFERENCE_COST * len(part.keys.objects)
        if part.task_kinds or part.object_kinds:
            weights = [*map(weight, part.task_kinds), *map(weight, part.object_kinds)]
            cost += sum(weights) + KIND_COST * len(weights)
        if self.refusal or self.held + cost > self.limit:
            self._refuse()
            return
        self.held += cost
        if constants.ids or uploaded:
            self._fill(constants, uploaded)
        if self._joined is None:
            self._joined = part
        elif part.session != self._joined.session:
            raise ProtocolError("the parts of one submission name different sessions")
        else:
            _append(self._joined, part)
            self._joined.fails_alone = part.fails_alone

    def take(self) -> tuple[Submission | str, list[ObjectId]]:
        """The whole submission, or why it is refused, and what was uploaded for it.

        Whatever comes next belongs to another.
        """
        whole: Submission | str = self.refusal or self._joined or Submission(SessionId(0))
        uploaded = self._uploaded
        self._joined, self._uploaded, self.held, self.refusal = None, [], 0, ""
        return whole, uploaded

    def clear(self) -> None:
        """Drops everything: the client has gone."""
        self._joined, self._uploaded, self.held = None, [], 0

    def _refuse(self) -> None:
        """Refuses the whole submission, because it has more bytes than may be pending."""
        self._joined, self.held = None, 0
        self.refusal = (
            f"the submission is larger than {self.limit} bytes, which is as much as the"
            " server takes at once: submit in smaller steps"
        )

    def _fill(self, constants: ConstantColumns, uploaded: Sequence[ObjectId]) -> None:
        """Puts in the sizes, which only the server knows of what was uploaded."""
        constants.sizes = [len(data) for data in constants.data]
        if not uploaded:
            return
        places = {object_id: place for place, object_id in enumerate(constants.ids)}
        for object_id in uploaded:
            place = places.get(object_id)
            if place is None or constants.data[place]:
                raise ProtocolError(f"nothing fits to the uploaded constant {spell(object_id)}")
            constants.sizes[place] = self.size_of(object_id)
        self._uploaded += uploaded


def _append(whole: Submission, part: Submission) -> None:
    whole.task_kinds += part.task_kinds
    whole.object_kinds += part.object_kinds
    whole.kept.extend(part.kept)
    _append_tasks(whole.tasks, part.tasks)
    whole.constants.ids.extend(part.constants.ids)
    whole.constants.kinds.extend(part.constants.kinds)
    whole.constants.data += part.constants.data
    whole.constants.sizes += part.constants.sizes
    whole.contents.holders.extend(part.contents.holders)
    whole.contents.counts.extend(part.contents.counts)
    whole.contents.objects.extend(part.contents.objects)
    whole.keys.holders.extend(part.keys.holders)
    whole.keys.keys += part.keys.keys
    whole.keys.counts.extend(part.keys.counts)
    whole.keys.objects.extend(part.keys.objects)
    whole.digests.ids.extend(part.digests.ids)
    whole.digests.digests += part.digests.digests


def _append_tasks(whole: TaskColumns, part: TaskColumns) -> None:
    whole.ids.extend(part.ids)
    whole.kinds.extend(part.kinds)
    whole.configs += part.configs
    whole.input_counts.extend(part.input_counts)
    whole.inputs.extend(part.inputs)
    whole.outputs.extend(part.outputs)
