"""Pickles large frames and series of polars column by column, so that they are mapped like arrays.

Polars itself pickles a frame as one piece of bytes, which each reader decodes into memory of its
own. As a table of Arrow it has a buffer for each column, on both ways without a copy. What is read
is rebuilt by polars and Arrow alone, so any unpickler can do it.

Polars' own pickle is used if Arrow does not know one of the types, if the types would change on the
way, or if pyarrow is not installed. It is also used for a frame whose buffers are much larger than
its values: a slice or a selection of strings still refers to all of them.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections import ChainMap
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import polars as pl

from rain.common.pickles import LARGE, REDUCERS

_VIEW = 16
"""Bytes of the view of a text or of bytes; the size that polars tells leaves them out."""

_polars: Any = pl  # where its types are those of Arrow, which has none
_rebuilt: Callable[[Any], Any] = partial(_polars.from_arrow, rechunk=False)


def _reduced(frame: pl.DataFrame) -> tuple[Any, ...] | str:
    """How a frame is pickled."""
    table = _as_table(frame) if frame.estimated_size() >= LARGE else None
    return frame.__reduce_ex__(pickle.HIGHEST_PROTOCOL) if table is None else (_rebuilt, (table,))


def _reduced_series(series: pl.Series) -> tuple[Any, ...] | str:
    """How a series is pickled: as the only column of a frame."""
    if series.estimated_size() < LARGE:
        return series.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    return pl.DataFrame.to_series, (series.to_frame(),)


def _as_table(frame: Any) -> Any:
    """The frame as a table of Arrow with the same buffers; None if it should not travel so."""
    if find_spec("pyarrow") is None:
        return None
    pa: Any = import_module("pyarrow")  # it is not annotated
    try:
        table = frame.to_arrow(compat_level=pl.CompatLevel.newest())
    except (pa.ArrowException, pl.exceptions.PolarsError):  # a type that Arrow does not know
        return None
    most = 2 * (frame.estimated_size() + _VIEW * frame.height * frame.width)
    if table.get_total_buffer_size() > most or _rebuilt(table[:0]).schema != frame.schema:
        return None
    return table


_OTHERS: dict[type, Any] = copyreg.dispatch_table  # those of the program

if hasattr(pl, "CompatLevel"):  # since 1.0
    REDUCERS.update({pl.DataFrame: _reduced, pl.Series: _reduced_series})


def dumps(
    value: Any,
    protocol: int,
    buffer_callback: Callable[[pickle.PickleBuffer], Any] | None = None,
) -> bytes:
    """What `pickle.dumps` does, with polars' frames by their columns."""
    with io.BytesIO() as target:
        pickler = pickle.Pickler(target, protocol, buffer_callback=buffer_callback)
        pickler.dispatch_table = ChainMap(REDUCERS, _OTHERS)
        pickler.dump(value)
        return target.getvalue()
