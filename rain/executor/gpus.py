"""Sets the gpus of a call in the environment for CUDA."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager

_VISIBLE = "CUDA_VISIBLE_DEVICES"


@contextmanager
def visible_gpus(gpus: Sequence[str]) -> Generator[None, None, None]:
    """Makes only these gpus visible to CUDA in its scope, and restores the environment."""
    before = os.environ.get(_VISIBLE)
    os.environ[_VISIBLE] = ",".join(gpus)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_VISIBLE, None)
        else:
            os.environ[_VISIBLE] = before
