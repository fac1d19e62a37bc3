"""What cannot be sent, and what to do instead."""

import pickle

UNPICKLABLE = (TypeError, AttributeError, pickle.PicklingError, RecursionError)
"""What pickle raises of things that it cannot handle."""


def advice(error: BaseException) -> str:
    """What to write instead; "" if nothing is known."""
    if "generator" in str(error):
        return " A generator stays where it was made: make a list of it."
    if "lock" in str(error) or "socket" in str(error) or "TextIOWrapper" in str(error):
        return " Locks, connections and open files stay where they are: make them in the function."
    return ""
