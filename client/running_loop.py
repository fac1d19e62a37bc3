"""Whether a loop of asyncio or trio runs in this thread. Loads neither of them."""

import sys


def is_trio() -> bool:
    """Whether this is called in a task of trio."""
    trio = sys.modules.get("trio")
    return trio is not None and trio.lowlevel.in_trio_run()


def is_in_loop() -> bool:
    """Whether what takes long here holds up a loop."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            return True
    return is_trio()
