"""Lists the parts of the state that are not in a snapshot, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rain.graph import Client, DataObject, Governor, Graph, Session, Task
from rain.graph.handles import NOBODY, Handles
from rain.graph.run import NOTHING_LEFT, LastWords
from rain.server.core.growing import Growing
from rain.server.core.state import State

_SCHEDULERS = "the scheduler's own: a new one is made after a restart"
_INDEX = "looks into the tables of the sessions, and is made anew"
_SENT = "empty between two turns"

LEFT_OUT: Mapping[type, Mapping[str, str]] = {
    Client: {"sched": _SCHEDULERS},
    DataObject: {"sched": _SCHEDULERS},
    Governor: {"sched": _SCHEDULERS},
    Graph: {"sched": _SCHEDULERS, "tasks": _INDEX, "objects": _INDEX},
    Growing: {"parts": "the parts that were read are read again"},
    Session: {"sched": _SCHEDULERS, "stored": "counted anew from the objects"},
    State: {
        "happenings": "the event log gets them from a process of its own",
        "_effects": _SENT,
        "_again": _SENT,
        "_orders": _SENT,
    },
    Task: {"sched": _SCHEDULERS},
}
"""Fields by their classes, with the reasons. Every other field is saved."""

ALWAYS_THERE: Mapping[type, Sequence[object]] = {Handles: (NOBODY,), LastWords: (NOTHING_LEFT,)}
"""Objects that all nodes share, or that are compared by identity. They are the first rows of their
tables, and not written. Others can be added only with a new number of the format."""
