"""Makes the backend known to joblib, which is imported only then."""

import sys
from typing import Any


def register_with_loaded_joblib() -> None:
    """The same if the program has loaded joblib; it is cheap, and loads nothing else."""
    if "joblib" in sys.modules:
        register_joblib()


def register_joblib() -> None:
    """Lets joblib know the backend "rain"; twice is once.

    Importing `rain.client` does so by itself when joblib is imported already.

    After it, `with joblib.parallel_config(backend="rain", client=client)` runs every
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
    from rain.client.for_joblib.backend import NAME, RainBackend  # noqa: PLC0415 # as above

    register: Any = joblib.register_parallel_backend  # pyright: ignore[reportUnknownMemberType] # not annotated
    register(NAME, RainBackend)
