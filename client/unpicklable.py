"""Values that cannot be sent, and advice about them."""

import pickle

UNPICKLABLE = (TypeError, AttributeError, pickle.PicklingError, RecursionError)
"""The exceptions of pickle for values that it cannot handle."""


def advice(error: BaseException) -> str:
    """Advice what to write instead; "" for none."""
    if "generator" in str(error):
        return " A generator stays where it was made: make a list of it."
    if "lock" in str(error) or "socket" in str(error) or "TextIOWrapper" in str(error):
        return " Locks, connections and open files stay where they are: make them in the function."
    return ""
