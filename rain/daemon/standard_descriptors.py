"""Opens the descriptors 0, 1 and 2 if the program was started without one of them, for instance by
`<&-`.
"""

import os

LAST = 2


def fill_standard_descriptors() -> None:
    """Opens nothing for those that are closed.

    Otherwise pipes get these numbers, and processes that are started have their own input and
    output in the place of them.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= LAST:
        pass
    os.close(descriptor)
