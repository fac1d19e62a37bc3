"""Specs and infos as JSON text for the event log.

The text is formatted by hand, because a submission has tens of thousands of tasks and building
dictionaries first would cost several times as much. Everything but our own numbers goes through
`json`. Empty values are left out; an id is the pair [session, number].
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import islice
from typing import NoReturn

from attrs import Factory, define

from rain.base.ids import NUMBER_MASK, KindId
from rain.base.kinds import ObjectKind, TaskKind
from rain.server.core.happenings import ClientSubmit, TaskNotes

SECONDS = "(julianday(timestamp) - 2440587.5) * 86400.0"
"""The timestamp of a row as seconds since 1970, in SQL."""

_OF_PYTHON = "py/"  # tasks whose config is not JSON


def quoted(text: str) -> str:
    """Encodes a text as a JSON string."""
    return json.dumps(text)


def identity(packed: int) -> str:
    """A packed id as its pair."""
    return f"[{packed >> 32},{packed & NUMBER_MASK}]"


def identities(packed: list[int] | tuple[int, ...]) -> str:
    """A list of ids."""
    return "[" + ",".join([identity(one) for one in packed]) + "]"


def embedded(text: str | bytes) -> str:
    """Checks and compacts foreign JSON; invalid JSON becomes a string."""
    try:
        return _compact(json.loads(text, parse_constant=_no_constant))
    except (ValueError, RecursionError):
        return quoted(text if isinstance(text, str) else text.decode("utf-8", "replace"))


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def timestamp(seconds: float) -> str:
    """Seconds since 1970 as RFC 3339 with milliseconds: texts of equal length that sort by time."""
    return datetime.fromtimestamp(int(seconds * 1000) / 1000, UTC).isoformat(
        timespec="milliseconds"
    )


@define
class Timestamps:
    """`timestamp` for many close moments; it reuses most of the text."""

    _seconds: int = -1
    _text: str = ""

    def of(self, seconds: float) -> str:
        whole, milliseconds = divmod(int(seconds * 1000), 1000)
        if whole != self._seconds:
            self._seconds = whole
            self._text = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._text}.{milliseconds:03}+00:00"


def task_info(
    governor: str,
    start: str = "",
    duration: float | None = None,
    error: str = "",
    notes: TaskNotes | None = None,
) -> str:
    """The events of one task."""
    parts = [
        f'"error":{quoted(error)}' if error else "",
        f'"start_time":"{start}"' if start else "",
        f'"duration":{duration:.3f}' if duration is not None else "",
        f'"governor":{quoted(governor)}',
        f'"user":{embedded(notes.user)}' if notes and notes.user else "",
        f'"debug":{quoted(notes.debug)}' if notes and notes.debug else "",
        f'"logs":{quoted(notes.logs)}' if notes and notes.logs else "",
        f'"cache":{quoted(notes.cache)}' if notes and notes.cache else "",
    ]
    return "{" + ",".join([part for part in parts if part]) + "}"


def object_info(size: int, content_type: str, user: str) -> str:
    """The info of a finished data object."""
    parts = [
        f'"size":{size}',
        f'"content_type":{quoted(content_type)}' if content_type else "",
        f'"user":{embedded(user)}' if user else "",
    ]
    return "{" + ",".join([part for part in parts if part]) + "}"


def session_spec(name: str, user: str) -> str:
    """The spec of a session."""
    parts = [
        f'"name":{quoted(name)}' if name else "",
        f'"user":{embedded(user)}' if user else "",
    ]
    return "{" + ",".join([part for part in parts if part]) + "}"


@define
class _TaskForm:
    """The shared parts of all specs of one kind."""

    head: str
    tail: str
    labels: list[str]  # one per input, or none
    outputs: list[str]  # the text after the id in the spec of each output
    has_json_config: bool

    @staticmethod
    def of(kind: TaskKind, object_tails: dict[KindId, str]) -> _TaskForm:
        tail = f',"resources":{_compact(kind.resources.as_dict())}'
        if kind.name:
            tail += f',"name":{quoted(kind.name)}'
        if kind.user:
            tail += f',"user":{embedded(kind.user)}'
        if kind.attempts.tries != 1:
            tail += f',"tries":{kind.attempts.tries}'
        if kind.priority:
            tail += f',"priority":{kind.priority}'
        return _TaskForm(
            f',"task_type":{quoted(kind.task_type)}',
            tail + "}",
            [f',"label":{quoted(label)}}}' if label else "}" for label in kind.input_labels],
            [object_tails[output] for output in kind.outputs],
            not kind.task_type.startswith(_OF_PYTHON),
        )


def _object_tail(kind: ObjectKind) -> str:
    tail = f',"label":{quoted(kind.label)}' if kind.label else ""
    if kind.content_type:
        tail += f',"content_type":{quoted(kind.content_type)}'
    tail += f',"data_type":"{kind.data_type.value}"'
    if kind.user:
        tail += f',"user":{embedded(kind.user)}'
    return tail + "}"


@define
class _Specs:
    """Writes the specs of one submission."""

    submit: ClientSubmit
    tasks: list[str] = Factory(list)
    objects: list[str] = Factory(list)
    _object_tails: dict[KindId, str] = Factory(dict)
    _forms: dict[KindId, _TaskForm] = Factory(dict)
    _configs: dict[bytes, str] = Factory(dict)  # a cache, because many tasks share a config

    def write(self) -> None:
        """Writes all specs."""
        submit, columns = self.submit, self.submit.tasks
        for object_id, kind in zip(submit.constants, submit.constant_kinds, strict=True):
            self.objects.append(f'{{"id":{identity(object_id)}{self._object_tail(kind)}')
        inputs, outputs = iter(columns.inputs), iter(columns.outputs)
        for task_id, kind, config, count in zip(
            columns.ids, columns.kinds, columns.configs, columns.input_counts, strict=True
        ):
            form = self._form(kind)
            mine = [identity(output) for output in islice(outputs, len(form.outputs))]
            self.tasks.append(
                f'{{"id":{identity(task_id)}{form.head}'
                f"{self._config(config) if config and form.has_json_config else ''}"
                f"{_inputs(list(islice(inputs, count)), form.labels) if count else ''}"
                f"{_outputs(mine) if mine else ''}{form.tail}"
            )
            self.objects += [
                f'{{"id":{output}{tail}' for output, tail in zip(mine, form.outputs, strict=True)
            ]

    def _form(self, kind: KindId) -> _TaskForm:
        form = self._forms.get(kind)
        if form is None:
            known = self.submit.task_kinds[kind]
            tails = {output: self._object_tail(output) for output in known.outputs}
            form = self._forms[kind] = _TaskForm.of(known, tails)
        return form

    def _object_tail(self, kind: KindId) -> str:
        tail = self._object_tails.get(kind)
        if tail is None:
            tail = self._object_tails[kind] = _object_tail(self.submit.object_kinds[kind])
        return tail

    def _config(self, config: bytes) -> str:
        text = self._configs.get(config)
        if text is None:
            text = self._configs[config] = f',"config":{embedded(config)}'
        return text


def _inputs(inputs: list[int], labels: list[str]) -> str:
    ends = labels or ["}"] * len(inputs)
    entries = [f'{{"id":{identity(one)}{end}' for one, end in zip(inputs, ends, strict=True)]
    return f',"inputs":[{",".join(entries)}]'


def _outputs(outputs: list[str]) -> str:
    return f',"outputs":[{",".join(outputs)}]'


def submission(submit: ClientSubmit) -> str:
    """The event of a submission: its tasks, its constants and its outputs."""
    specs = _Specs(submit)
    specs.write()
    return (
        f'{{"type":"ClientSubmit","tasks":[{",".join(specs.tasks)}]'
        f',"dataobjs":[{",".join(specs.objects)}]}}'
    )
