"""Lists what a snapshot does not have of the state, with the reasons, and what it has under other
names.
"""

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

PARTS: Mapping[type, Mapping[str, Mapping[str, str]]] = {
    State: {
        "back_off": {"last": "rests", "until": "resting"},
        "durable": {"by_name": "durable"},
        "fetches": {},
        "infeasible": {"deadlines": "infeasible"},
        "later": {"waiting": "later", "due": "later_due"},
        "metering": {"is_on": "meters"},
        "nested": {"of_runs": "nested"},
        "succession": {},
        "usage": {},
    }
}
"""Fields whose objects belong to one owner. What they contain is saved as fields of the owner, some
of it under another name: so nouns can be found in the state without a new format."""

ALWAYS_THERE: Mapping[type, Sequence[object]] = {Handles: (NOBODY,), LastWords: (NOTHING_LEFT,)}
"""Objects that all nodes share, or that are compared by identity. They are the first rows of their
tables, and not written. Others can be added only with a new number of the format."""
