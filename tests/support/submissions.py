"""Building submissions by hand: what a client would send, in one line each."""

from __future__ import annotations

from attrs import Factory, define

from rain.base.attempts import Attempts
from rain.base.constraints import Constraints
from rain.base.exchange import EXCHANGE, LISTED
from rain.base.ids import FIRST_NUMBER, KindId, ObjectId, SessionId, TaskId, pack
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.near import Near
from rain.base.resources import Resources
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.submission import Submission


@define
class Draft:
    """Counts ids as a client does and collects one submission after the other."""

    session: SessionId
    number: int = FIRST_NUMBER
    submission: Submission = Factory(lambda self: Submission(self.session), takes_self=True)
    object_kind: KindId | None = None
    lists: KindId | None = None
    task_kinds: dict[tuple[object, ...], KindId] = Factory(dict)
    uploaded: dict[ObjectId, int] = Factory(dict)  # constants that went ahead, and their lengths

    def next_id(self) -> int:
        self.number += 1
        return pack(self.session, self.number - 1)

    def blob_kind(self) -> KindId:
        if self.object_kind is None:
            self.object_kind = KindId(self.next_id())
            self.submission.object_kinds.append(ObjectKind(self.object_kind, "blob"))
        return self.object_kind

    def list_kind(self) -> KindId:
        """Of what exchanges make."""
        if self.lists is None:
            self.lists = KindId(self.next_id())
            self.submission.object_kinds.append(ObjectKind(self.lists, "list", LISTED))
        return self.lists

    def task_kind(
        self,
        outputs: int,
        cpus: int,
        gpus: int = 0,
        constraints: Constraints | None = None,
        tries: int | Attempts = 1,
        priority: int = 0,
        *,
        idempotent: bool = False,
        task_type: str = "py/",
        near: tuple[Near, ...] = (),
    ) -> KindId:
        key = (outputs, cpus, gpus, constraints, tries, priority, idempotent, task_type, near)
        kind = self.task_kinds.get(key)
        if kind is None:
            made = self.list_kind() if task_type == EXCHANGE else self.blob_kind()
            kind = self.task_kinds[key] = KindId(self.next_id())
            resources = Resources.of({"cpus": cpus, "gpus": gpus})
            self.submission.task_kinds.append(
                TaskKind(
                    kind,
                    task_type,
                    "work",
                    resources,
                    (),
                    (made,) * outputs,
                    constraints=constraints,
                    attempts=tries if isinstance(tries, Attempts) else Attempts(tries),
                    priority=priority,
                    idempotent=idempotent,
                    near=near,
                )
            )
        return kind

    def constant(
        self, data: bytes = b"data", *, keep: bool = False, digest: bytes = b""
    ) -> ObjectId:
        object_id = ObjectId(self.next_id())
        constants = self.submission.constants
        constants.kinds.append(self.blob_kind())
        constants.ids.append(object_id)
        if len(data) > INLINE_LIMIT:
            self.uploaded[object_id] = len(data)
            if digest:
                self.submission.digests.ids.append(object_id)
                self.submission.digests.digests.append(digest)
        constants.data.append(data if object_id not in self.uploaded else b"")
        if keep:
            self.submission.kept.append(object_id)
        return object_id

    def task(
        self,
        *inputs: ObjectId,
        outputs: int = 1,
        cpus: int = 1,
        gpus: int = 0,
        keep: bool = False,
        tries: int | Attempts = 1,
        config: bytes = b"",
        constraints: Constraints | None = None,
        priority: int = 0,
        idempotent: bool = False,
        task_type: str = "py/",
        near: tuple[Near, ...] = (),
    ) -> tuple[TaskId, list[ObjectId]]:
        kind = self.task_kind(
            outputs,
            cpus,
            gpus,
            constraints,
            tries,
            priority,
            idempotent=idempotent,
            task_type=task_type,
            near=near,
        )
        task_id = TaskId(self.next_id())
        made = [ObjectId(self.next_id()) for _ in range(outputs)]
        columns = self.submission.tasks
        columns.ids.append(task_id)
        columns.kinds.append(kind)
        columns.configs.append(config)
        columns.input_counts.append(len(inputs))
        columns.inputs.extend(inputs)
        columns.outputs.extend(made)
        if keep:
            self.submission.kept.extend(made)
        return task_id, made

    def contain(self, holder: int, *objects: ObjectId) -> None:
        """A new task or constant has futures of these inside."""
        contents = self.submission.contents
        contents.holders.append(holder)
        contents.counts.append(len(objects))
        contents.objects.extend(objects)

    def key(self, holder: int, key: bytes, *objects: ObjectId) -> None:
        """A new task or constant has a key, to which those of these objects belong."""
        keys = self.submission.keys
        keys.holders.append(holder)
        keys.keys.append(key)
        keys.counts.append(len(objects))
        keys.objects.extend(objects)

    def fill(self, submission: Submission) -> Submission:
        """Puts in the sizes, as the server's border does."""
        constants = submission.constants
        constants.sizes = [
            self.uploaded.get(object_id, len(data))
            for object_id, data in zip(constants.ids, constants.data, strict=True)
        ]
        return submission

    def take(self) -> Submission:
        """The submission so far; the next one starts empty."""
        taken, self.submission = self.submission, Submission(self.session)
        return taken


def timed(
    draft: Draft, seconds: float, *inputs: ObjectId, priority: int = 0, tries: int = 1
) -> tuple[TaskId, ObjectId]:
    """A task whose duration is known."""
    task, (made,) = draft.task(*inputs)
    kind = KindId(draft.next_id())
    draft.submission.task_kinds.append(
        TaskKind(
            kind,
            "py/",
            f"takes {seconds}",
            outputs=(draft.blob_kind(),),
            duration_hint=seconds,
            priority=priority,
            attempts=Attempts(tries),
        )
    )
    draft.submission.tasks.kinds[-1] = kind
    return task, made
