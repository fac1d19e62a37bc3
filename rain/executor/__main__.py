"""`python -m rain.executor`: started by a governor, never by hand."""

import os
import sys

from rain.base import executor_protocol as protocol


def main() -> int:
    """Runs calls until the governor has ended."""
    if protocol.SOCKET_FD not in os.environ:
        print(  # noqa: T201 # there is no log yet
            f"rain.executor is started by a governor; its environment lacks {protocol.SOCKET_FD}",
            file=sys.stderr,
        )
        return 1
    from rain.executor.executor import Executor  # noqa: PLC0415 # not needed for the error above

    if "RAIN_PROFILE" in os.environ:
        from rain.daemon.sampling import start_if_asked  # noqa: PLC0415 # seldom used

        start_if_asked("executor")
    Executor.from_environment().run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
