"""Rain: distributed task graphs for Python.

Programs start at `rain.client`; `rain.Client` and its other names are the same ones. They are
imported when they are asked for: every executor imports this file before its first task.
"""

TYPE_CHECKING = False  # that of typing, without loading it
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> "Any":
    if not name.startswith("_"):
        from importlib import import_module  # noqa: PLC0415 # not for executors

        client = import_module("rain.client")
        if name in client.__all__:
            return getattr(client, name)
    raise AttributeError(f"module 'rain' has no attribute {name!r}")
