"""The names of signals."""

import signal


def signal_name(number: int) -> str:
    """The name of a signal, as "SIGSEGV"."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
