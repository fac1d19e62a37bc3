"""The codec of submissions: the new tasks, objects and kinds of a client, whole or in parts."""

from collections.abc import Sequence

from attrs import frozen

from rain.base.ids import ObjectId
from rain.base.wire.submission import (
    ConstantColumns,
    ContentColumns,
    DigestColumns,
    KeyColumns,
    Submission,
    TaskColumns,
)
from rain.rpc.codec.border import check_ours, filled, with_columns
from rain.rpc.codec.kinds import check_sendable, read_kinds, write_kinds
from rain.rpc.codec.record import columns, packed
from rain.rpc.interface import Fields

_TASKS = columns(TaskColumns, {"configs": b""})
_CONTENTS = columns(ContentColumns)
_KEYS = columns(KeyColumns)


@frozen
class SubmitPart:
    """A part of a submission; its last part stands for the whole."""

    part: Submission
    uploaded: Sequence[ObjectId]  # constants of the part whose bytes went ahead
    last: bool  # that it fails alone is said with it
    wanted: Sequence[ObjectId] = ()  # if any, it is answered as a wait for all of these


def write_submit(submit: SubmitPart) -> Fields:
    """`RefusedError` or `UnicodeEncodeError` when its kinds are such as no server would read."""
    part = submit.part
    check_ours(part)
    check_sendable(part.task_kinds, part.object_kinds)
    fields = write_kinds(part.task_kinds, part.object_kinds)
    fields["session"] = part.session
    if part.constants.ids or submit.uploaded or part.digests.ids:
        fields["constants"] = _write_constants(part.constants, submit.uploaded, part.digests)
    if part.tasks.ids:
        fields["tasks"] = _TASKS.write(part.tasks)
    if part.kept:
        fields["keep"] = part.kept
    if part.contents.holders:
        fields["contents"] = _CONTENTS.write(part.contents)
    if part.keys.holders:
        fields["keys"] = _KEYS.write(part.keys)
    if submit.last:
        fields["last"] = True
        fields["failsAlone"] = part.fails_alone
    if submit.wanted:
        fields["wanted"] = submit.wanted
    return fields


def read_submit(fields: Fields) -> SubmitPart:
    task_kinds, object_kinds = read_kinds(fields)
    part = Submission(
        fields["session"],
        task_kinds,
        object_kinds,
        kept=packed(fields["keep"]),
        fails_alone=fields["failsAlone"],
    )
    tasks, constants, contents, keys = map(fields.get, ("tasks", "constants", "contents", "keys"))
    uploaded: list[ObjectId] = []
    if tasks is not None:
        part.tasks = _TASKS.read(tasks)
    if constants is not None:
        part.constants = _read_constants(constants)
        part.digests = DigestColumns(constants["compared"], constants["digests"])
        uploaded = constants["uploaded"]
    if contents is not None:
        part.contents = _CONTENTS.read(contents)
    if keys is not None:
        part.keys = _KEYS.read(keys)
    part.check()
    return SubmitPart(part, uploaded, fields["last"], fields["wanted"])


def _write_constants(
    constants: ConstantColumns, uploaded: Sequence[ObjectId], digests: DigestColumns
) -> Fields:
    data = constants.data
    if uploaded:
        gone_ahead = frozenset(uploaded)
        data = [
            b"" if object_id in gone_ahead else content
            for object_id, content in zip(constants.ids, data, strict=True)
        ]
    fields = with_columns({"ids": constants.ids, "kinds": constants.kinds}, data=data)
    if uploaded:
        fields["uploaded"] = uploaded
    if digests.ids:
        fields["compared"], fields["digests"] = digests.ids, digests.digests
    return fields


def _read_constants(fields: Fields) -> ConstantColumns:
    return ConstantColumns(
        packed(fields["ids"]),
        packed(fields["kinds"]),
        filled(fields["data"], len(fields["ids"]), b""),
    )
