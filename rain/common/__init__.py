"""The types and helpers that user programs, clients and executors share.

Every module here is imported on first use: an executor imports this package before its first task,
and most tasks need only a small part of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rain.common import attributes as attributes
    from rain.common import comm as comm
    from rain.common import content_type as content_type
    from rain.common import data_instance as data_instance
    from rain.common import data_type as data_type
    from rain.common import errors as errors
    from rain.common import fs as fs
    from rain.common import ids as ids
    from rain.common import labeled_list as labeled_list
    from rain.common import utils as utils
    from rain.common.data_instance import DataInstance as DataInstance
    from rain.common.data_type import DataType as DataType
    from rain.common.errors import RainException as RainException
    from rain.common.errors import RainWarning as RainWarning
    from rain.common.errors import SessionException as SessionException
    from rain.common.errors import TaskException as TaskException
    from rain.common.ids import ID as ID
    from rain.common.labeled_list import LabeledList as LabeledList

_HOMES = {
    "DataInstance": "data_instance",
    "DataType": "data_type",
    "ID": "ids",
    "LabeledList": "labeled_list",
    "RainException": "errors",
    "RainWarning": "errors",
    "SessionException": "errors",
    "TaskException": "errors",
}
_MODULES = frozenset(
    {
        "attributes",
        "comm",
        "content_type",
        "data_instance",
        "data_type",
        "errors",
        "fs",
        "ids",
        "labeled_list",
        "utils",
    }
)


def __getattr__(name: str) -> object:
    """Imports a name or a submodule on first use and caches it."""
    if name in _HOMES:
        value: object = getattr(import_module(f"rain.common.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"rain.common.{name}")
    raise AttributeError(f"module 'rain.common' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_HOMES, *_MODULES})
