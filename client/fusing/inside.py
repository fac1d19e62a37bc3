"""Makes the one task that is sent for the members of a unit (see rain/base/units.py).

The task has the id and the outputs of the last member. It reads all inputs of the members that come
from outside, and its config contains their configs. Parts that units of equal members share are
made once for a submission.
"""

from collections.abc import Sequence

import msgpack

from rain.base.units import BEFORE, FUNCTION_LABEL, UNIT
from rain.client.data import DataObject
from rain.client.handles import unit_task
from rain.client.shapes import ObjectShape, TaskShape
from rain.client.task import Task
from rain.client.unit import Unit, unit_name

_pack = msgpack.Packer().pack
_head = msgpack.Packer().pack_array_header
_MAP_OF_FOUR = b"\x84"  # the config is put together from packed parts

Labels = tuple[str | None, ...]


class _Form:
    """The parts that all units have in common whose members have the same shapes."""

    def __init__(self, shapes: Sequence[TaskShape]) -> None:
        self.name = unit_name([shape.name or "" for shape in shapes])
        hints = [shape.duration for shape in shapes]
        self._duration = sum(hints) if all(hints) else 0.0
        self._near = tuple(dict.fromkeys(near for shape in shapes for near in shape.near))
        self._first, self._last = shapes[0], shapes[-1]
        self._by_labels: dict[Labels, TaskShape] = {}
        objects: dict[ObjectShape, int] = {}
        kinds: dict[TaskShape, int] = {}
        self.kinds = [kinds.setdefault(shape, len(kinds)) for shape in shapes]
        rows = [_kind_row(shape, objects) for shape in kinds]
        self.head = b"".join(
            [_MAP_OF_FOUR, _pack("kinds"), _pack(rows), _pack("objects"), _pack(_rows(objects))]
        )

    def shape(self, labels: Labels) -> TaskShape:
        """The shape of the task of a unit whose inputs have these labels."""
        found = self._by_labels.get(labels)
        if found is None:
            first, last = self._first, self._last
            found = self._by_labels[labels] = TaskShape(
                UNIT,
                self.name,
                first.resources,
                labels,
                last.outputs,
                last.user,
                self._duration,
                first.constraints,
                first.attempts,
                first.priority,
                idempotent=first.idempotent,
                near=self._near,
            )
        return found


def _kind_row(shape: TaskShape, objects: dict[ObjectShape, int]) -> list[object]:
    outputs = [objects.setdefault(output, len(objects)) for output in shape.outputs]
    labels = [label or "" for label in shape.labels]
    return [shape.name or "", shape.resources, labels, outputs, shape.user]


def _rows(objects: dict[ObjectShape, int]) -> list[list[str]]:
    return [
        [shape.label or "", shape.content_type or "", shape.data_type, shape.user]
        for shape in objects
    ]


class UnitForms:
    """Those of one submission, by the identities of their shapes, which live as long."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], _Form] = {}

    def of(self, members: Sequence[Task]) -> _Form:
        shapes = [member.wire_shape for member in members]
        key = tuple(map(id, shapes))
        form = self._known.get(key)
        if form is None:
            form = self._known[key] = _Form(shapes)
        return form


class _Inputs:
    """The objects from outside that the members read, each one once: functions, then the rest."""

    def __init__(self, members: Sequence[Task]) -> None:
        self.places: dict[int, int] = {}
        self.objects: list[DataObject] = []
        for member in members:
            function = member.input_objects[0]
            if function.packed_id not in self.places:
                self._add(function)
        self.labels: list[str | None] = [FUNCTION_LABEL] * len(self.objects)

    def _add(self, obj: DataObject) -> int:
        place = self.places[obj.packed_id] = len(self.objects)
        self.objects.append(obj)
        return place

    def read(self, member: Task, before: int) -> list[int]:
        """The inputs of one member by their places; `before` is what the one before makes."""
        places: list[int] = []
        for index, obj in enumerate(member.input_objects):
            object_id = obj.packed_id
            if object_id == before:
                places.append(BEFORE)
                continue
            place = self.places.get(object_id)
            if place is None:
                place = self._add(obj)
                labels = member.wire_shape.labels
                self.labels.append(labels[index] if labels else None)
            places.append(place)
        return places


def stand_in(members: Sequence[Task], forms: UnitForms) -> tuple[Unit, Task]:
    """A unit of these tasks, and the one that is sent for them."""
    form = forms.of(members)
    inputs = _Inputs(members)
    configs: dict[bytes, int] = {}
    calls: list[bytes] = []  # packed, each as an InnerCall
    before = 0
    for member, kind in zip(members, form.kinds, strict=True):
        config = configs.setdefault(member.wire_config, len(configs))
        outputs = [obj.packed_id for obj in member.output_objects]
        row = member.packed_id, kind, config, inputs.read(member, before), outputs
        calls.append(_pack(row))
        before = outputs[0] if outputs else 0
    packed = b"".join(
        [
            form.head,
            _pack("configs"),
            _pack(list(configs)),
            _pack("calls"),
            _head(len(calls)),
            *calls,
        ]
    )
    shape = form.shape(tuple(inputs.labels))
    unit = Unit(form.name, tuple([member.packed_id for member in members]))
    return unit, unit_task(members[-1], shape, packed, tuple(inputs.objects))
