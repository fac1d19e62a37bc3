"""Methods of public classes that only modules of the library call: users are not promised them.

The pages of the API leave them out (docs/site_hooks.py), and tests hold no docstring of them to the
rules for public names.
"""

from __future__ import annotations

import re

INNER = {
    "AsyncClient": "open_futures",
    "Client": "end_session open_futures over",
    "FutureSession": "open_futures",
    "DataObject": "expect_blob expect_dir settle",
    "Future": (
        "deliver failure forget input is_done is_here note_cancelled note_failed"
        " note_finished object_id reference take_data want when_done"
    ),
    "Input": "bound",
    "InputBase": "bound",
    "InputDir": "bound",
    "Output": "merged shape",
    "OutputBase": "merged shape",
    "OutputDir": "merged shape",
    "Remote": "new_task",
    "Session": (
        "add_object add_task add_tasks asking drop drop_member drop_pending drop_task"
        " is_interrupted_here leave let_inputs_go note_contents note_key note_refusal refusals"
        " submit_by submits_slowly"
    ),
    "Task": "let_inputs_go settle",
}

_SHOWN = re.compile(r"^(::: rain\.client\.(?:\w+\.)*(\w+)\n)(    options:\n)?", re.MULTILINE)


def without_inner(markdown: str) -> str:
    """A page of the API whose classes are shown without these methods."""

    def filtered(shown: re.Match[str]) -> str:
        names = INNER.get(shown[2], "").split()
        if not names:
            return shown[0]
        filters = ", ".join(f'"{rule}"' for rule in ("!^_", *(f"!^{name}$" for name in names)))
        return f"{shown[1]}    options:\n      filters: [{filters}]\n"

    return _SHOWN.sub(filtered, markdown)
