"""How many threads numerical libraries may use for a task: as many as it has cpus.

Libraries take all cpus of the machine unless they are told otherwise. When each of several tasks
does so, they wait for each other most of the time. The libraries read these variables when they are
loaded.
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
    """The variables for a task with these cpus; none if somebody has said one of them already.

    Most libraries read several of them and prefer their own. So a single one that the user has set
    would be overruled by the others.
    """
    if any(name in names for names in said for name in THREAD_VARIABLES):
        return {}
    return dict.fromkeys(THREAD_VARIABLES, str(max(cpus, 1)))
