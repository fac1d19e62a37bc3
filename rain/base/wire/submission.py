"""A submission: the tasks and objects that one `submit` of a client adds to its session."""

from collections.abc import MutableSequence, Sized

from attrs import Factory, define, field

from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.columns import check_counts, outputs_of_nobody, uneven


@define
class TaskColumns:
    """New tasks of a submission. Inputs are flat; outputs are flat, counted by the task's kind."""

    ids: MutableSequence[TaskId] = field(factory=list, eq=list)
    kinds: MutableSequence[KindId] = field(factory=list, eq=list)
    configs: list[bytes] = Factory(list)
    input_counts: MutableSequence[int] = field(factory=list, eq=list)
    inputs: MutableSequence[ObjectId] = field(factory=list, eq=list)
    outputs: MutableSequence[ObjectId] = field(factory=list, eq=list)

    def check(self) -> None:
        ids, kinds, configs, counts = self.ids, self.kinds, self.configs, self.input_counts
        if not len(ids) == len(kinds) == len(configs) == len(counts):
            raise uneven("submitted tasks", ids, kinds, configs, counts)
        check_counts("submitted tasks: the input counts", self.input_counts, self.inputs)
        if self.outputs and not ids:
            raise outputs_of_nobody("submitted tasks")


@define
class ConstantColumns:
    """New data objects whose bytes come from the client.

    The server adds the sizes: an entry of `data` that is shorter was uploaded ahead of this.
    """

    ids: MutableSequence[ObjectId] = field(factory=list, eq=list)
    kinds: MutableSequence[KindId] = field(factory=list, eq=list)
    data: list[bytes] = Factory(list)
    sizes: list[int] = Factory(list)

    def check(self) -> None:
        if not len(self.ids) == len(self.kinds) == len(self.data):
            raise uneven("submitted constants", self.ids, self.kinds, self.data)
        if self.sizes and len(self.sizes) != len(self.ids):
            raise uneven("submitted constants", self.ids, self.sizes)

    def lengths(self) -> list[int]:
        """How many bytes each has, wherever these are."""
        return self.sizes or [len(data) for data in self.data]


@define
class GivenConstants(ConstantColumns):
    """Those of a client before it sends them: what it has in files goes ahead of the message."""

    files: dict[ObjectId, Sized] = Factory(dict)


@define
class ContentColumns:
    """The objects of the futures inside of new tasks and constants."""

    holders: MutableSequence[int] = field(factory=list, eq=list)  # tasks and constants
    counts: MutableSequence[int] = field(factory=list, eq=list)
    objects: MutableSequence[ObjectId] = field(factory=list, eq=list)  # flat: `counts`

    def check(self) -> None:
        if len(self.holders) != len(self.counts):
            raise uneven("contents", self.holders, self.counts)
        check_counts("contents: the counts", self.counts, self.objects)


@define
class KeyColumns:
    """The keys of new tasks and constants of a durable session: they are equal in another run.

    `objects` are those whose own keys belong to the key: what the arguments of a task stand for.
    """

    holders: MutableSequence[int] = field(factory=list, eq=list)  # tasks and constants
    keys: list[bytes] = Factory(list)
    counts: MutableSequence[int] = field(factory=list, eq=list)
    objects: MutableSequence[ObjectId] = field(factory=list, eq=list)  # flat: `counts`

    def check(self) -> None:
        if not len(self.holders) == len(self.keys) == len(self.counts):
            raise uneven("keys", self.holders, self.keys, self.counts)
        check_counts("keys: the counts", self.counts, self.objects)


@define
class DigestColumns:
    """Digests of new constants whose bytes are sent ahead, if a task submits them."""

    ids: MutableSequence[ObjectId] = field(factory=list, eq=list)
    digests: list[bytes] = Factory(list)

    def check(self) -> None:
        if len(self.ids) != len(self.digests):
            raise uneven("digests", self.ids, self.digests)


@define
class Submission:
    """What one `submit` of a client adds to its session, whole or not at all."""

    session: SessionId
    task_kinds: list[TaskKind] = Factory(list)
    object_kinds: list[ObjectKind] = Factory(list)
    tasks: TaskColumns = Factory(TaskColumns)
    constants: ConstantColumns = Factory(ConstantColumns)
    kept: MutableSequence[ObjectId] = field(factory=list, eq=list)
    fails_alone: bool = False  # what fails of it does not end its session, whatever that's rule is
    contents: ContentColumns = Factory(ContentColumns)
    keys: KeyColumns = Factory(KeyColumns)
    digests: DigestColumns = Factory(DigestColumns)

    def check(self) -> None:
        self.tasks.check()
        self.constants.check()
        self.contents.check()
        self.keys.check()
        self.digests.check()
