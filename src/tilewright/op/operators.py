"""Operators of Python that what lives on a device does not have: each of them says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

IDENTITY = {"equal": False, "not_equal": True}
"""Comparisons with arrays, which are never what lives on a device."""


class WithoutOperators:
    """Mixin that refuses arithmetic, with the error that `_no_arithmetic` gives.

    Type checkers do not see it: for them these uses are plain errors.
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        def _refuse(self, *others: object) -> NoReturn:
            raise self._no_arithmetic()

        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = _refuse
        __matmul__ = __pow__ = __lshift__ = __rshift__ = __and__ = __or__ = __xor__ = _refuse
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = _refuse
        __rmatmul__ = __rpow__ = __rlshift__ = __rrshift__ = __rand__ = __ror__ = _refuse
        __rxor__ = __neg__ = __pos__ = __abs__ = __invert__ = _refuse
        __lt__ = __le__ = __gt__ = __ge__ = _refuse

        def __array_ufunc__(self, ufunc: Any, method: str, *given: object, **named: object) -> bool:
            """Refuse `array + x` and `np.sum(x)` as `x + 1` is refused; compare by identity."""
            if ufunc.__name__ in IDENTITY:
                return IDENTITY[ufunc.__name__]
            raise self._no_arithmetic()
