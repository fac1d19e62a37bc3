"""`python -m rain.executor`: started by a governor, never by hand."""

import os
import sys

from rain.base import executor_protocol as protocol
from rain.base.shortage import is_shortage


def main() -> int:
    """Runs calls until the governor has ended."""
    if protocol.SOCKET_FD not in os.environ:
        print(  # noqa: T201 # there is no log yet
            f"rain.executor is started by a governor; its environment lacks {protocol.SOCKET_FD}",
            file=sys.stderr,
        )
        return 1
    connected = int(os.environ[protocol.SOCKET_FD])
    try:
        _run()
    # What a task raises is its answer, so this is of our own part of the work.
    except (OSError, RuntimeError) as error:
        if not is_shortage(error):
            raise
        os.write(connected, protocol.lacks_frame(str(error)))
        return 1
    return 0


def _run() -> None:
    # Their modules are files, too.
    from rain.common.joblib_backend import register_with_joblib  # noqa: PLC0415
    from rain.executor.by_multiprocessing import send_by_value  # noqa: PLC0415
    from rain.executor.executor import Executor  # noqa: PLC0415

    register_with_joblib()
    send_by_value()

    if "RAIN_PROFILE" in os.environ:
        from rain.daemon.sampling import start_if_asked  # noqa: PLC0415 # seldom used

        start_if_asked("executor")
    Executor.from_environment().run()


if __name__ == "__main__":
    sys.exit(main())
