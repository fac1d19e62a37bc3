"""The gpus of a call, in the environment where CUDA looks for them."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager

_VISIBLE = "CUDA_VISIBLE_DEVICES"


@contextmanager
def visible_gpus(gpus: Sequence[str]) -> Generator[None, None, None]:
    """While it lasts, CUDA finds these gpus and no others; then it is as it was before."""
    before = os.environ.get(_VISIBLE)
    os.environ[_VISIBLE] = ",".join(gpus)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_VISIBLE, None)
        else:
            os.environ[_VISIBLE] = before
