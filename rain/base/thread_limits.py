"""Limits the threads of numerical libraries to the cpus of a task.

By default such libraries use all cpus of the machine. If several tasks do so at once, they mostly
wait for each other. The libraries read these environment variables when they are loaded.
"""

from collections.abc import Container

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def thread_limits(cpus: int, *said: Container[str]) -> dict[str, str]:
    """The variables for a task with these cpus; none if one of them is already set.

    Most libraries read several of them and prefer their own. So a single variable that the user has
    set could be overridden by the others.
    """
    if any(name in names for names in said for name in THREAD_VARIABLES):
        return {}
    return dict.fromkeys(THREAD_VARIABLES, str(max(cpus, 1)))
