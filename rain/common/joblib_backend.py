"""Registers Rain's backend with joblib, in programs and in tasks, as soon as joblib is imported.

An executor does this when it starts, so this module imports nothing that an executor has not loaded
anyway.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

NAME = "rain"

BACKEND = "rain.client.for_joblib.backend"
"""The module of the backend, by its name: an executor loads a client only when a task uses one."""


def register_with_joblib() -> None:
    """The same as soon as the program has loaded joblib; until then it loads nothing."""
    if "joblib" in sys.modules:
        register_joblib()
    else:
        sys.meta_path.insert(0, _Expecting())


def register_joblib() -> None:
    """Registers the joblib backend "rain". Further calls do nothing.

    Importing `rain.client` does so by itself, before joblib is imported or after it.

    With it, `with joblib.parallel_config(backend="rain", client=client)` runs every
    `joblib.Parallel` inside on the cluster of that client, which may be those of scikit-learn.

    >>> import joblib
    >>> from rain.client import Client, register_joblib
    >>> register_joblib()
    >>> with Client(cpus=2) as client, joblib.parallel_config(backend="rain", client=client):
    ...     joblib.Parallel()(joblib.delayed(pow)(i, 2) for i in range(4))
    [0, 1, 4, 9]
    """
    try:
        import joblib  # noqa: PLC0415 # an extra
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "register_joblib needs the package joblib: pip install 'rain-tasks[joblib]'"
        ) from error
    register: Any = joblib.register_parallel_backend  # pyright: ignore[reportUnknownMemberType] # not annotated
    register(NAME, _new_backend)


def _new_backend(**options: Any) -> Any:
    """The backend, which is loaded when it is used for the first time: it needs joblib."""
    return import_module(BACKEND).RainBackend(**options)


class _Expecting:
    """A finder that waits for the import of joblib, and finds nothing else."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Asked by the import system."""
        if name != "joblib":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Registering(spec.loader))
        return spec


class _Registering:
    """A loader that loads joblib as usual, and then registers the backend."""

    def __init__(self, loader: "Loader") -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        register_joblib()
