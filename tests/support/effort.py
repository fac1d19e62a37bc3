"""How many examples the costly property tests try: few in the suite, more with a longer profile."""

from hypothesis import settings

USUAL = 100
"""Examples of a test that asks for nothing, in the profile of the suite."""


def examples(count: int) -> int:
    """This number in the suite, and more or fewer as the profile has more or fewer than usual."""
    return max(1, count * settings().max_examples // USUAL)
