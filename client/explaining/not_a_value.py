"""The error when a program uses a future in the place of its value."""

from typing import TYPE_CHECKING, NoReturn

from rain.client.explaining.other_systems import METHODS_OF_OTHER_FUTURES
from rain.client.explaining.tracebacks import hide_frames


class NotAValue:
    """Refuses operations that only the value supports, and says how to get the value.

    Type checkers do not see these methods, so that they still find `future + 1`.
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        def _refuse(self, *_: object) -> NoReturn:
            error = TypeError(
                f"this is a 'Future', and not yet its value: write .result(), or give {self!r}"
                " to client.submit as an argument"
            )
            try:
                raise error
            except TypeError:
                hide_frames(error, TypeError)
                raise

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _refuse
        __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refuse
        __neg__ = __pos__ = __abs__ = __int__ = __float__ = __round__ = _refuse
        __lt__ = __le__ = __gt__ = __ge__ = _refuse
        __len__ = __getitem__ = __setitem__ = _refuse  # `for` asks for the first item, too

        def __bool__(self) -> bool:
            return True  # `if future:` asks whether there is one, as for other futures

        def __format__(self, spec: str) -> str:
            return self._refuse() if spec else str(self)

        def __getattr__(self, name: str) -> NoReturn:
            text = f"'{type(self).__name__}' object has no attribute {name!r}"
            if name in METHODS_OF_OTHER_FUTURES:
                text += f": write {METHODS_OF_OTHER_FUTURES[name]}"
            if not name.startswith("_"):
                text += f"; if its value has one, write .result().{name}"
            raise AttributeError(text, name=name, obj=self)
