"""What an op says when it is used like the value it has not computed yet."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn, Self

from .place import Location, place_of

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


TENSOR_WORDS = (
    "shape", "dtype", "strides", "ndim", "size", "nbytes", "num_bytes", "device", "T",
    "is_contiguous", "device_pointer", "partition_mut", "borrow_mut", "grid", "tile", "copy_from",
    "permute", "transpose", "prefix", "tensor",
)  # fmt: skip
"""Attributes people ask of a tensor; for these the message speaks of the tensor."""

VALUE_WORDS = (
    "item", "tolist", "numpy", "cpu", "astype", "copy", "flatten", "ravel", "squeeze", "sum",
    "mean", "min", "max", "any", "all", "keys", "values", "items", "append", "count", "index",
    "split", "strip", "real", "imag",
)  # fmt: skip
"""Attributes people ask of other results."""


SHOWING_TASKS = ("asyncio.base_tasks",)
"""Modules that ask whether a task has a coroutine by its truth, as asyncio does to show one since
Python 3.12. An op may be what a task runs; what it gives is not asked for there."""


class _Word:
    """An attribute of what an op gives, asked of the op.

    Not `__getattr__`: a class that has one is looked up slowly, and each launch is an op.
    """

    def __init__(self, name: str, result: str) -> None:
        self._name, self._result = name, result

    def __get__(self, op: Any, owner: type) -> Self:
        if op is None:
            return self
        raise AttributeError(
            f"`{op.name}` is a DeviceOp that has not run;"
            f" call .sync() to get {self._result}, then .{self._name}"
        )


class MisuseHints(WithoutOperators):
    """Mixin of DeviceOp. Type checkers do not see it: for them these uses are plain errors."""

    if not TYPE_CHECKING:

        def __iter__(self) -> NoReturn:
            advice = "call .sync() (or await it) before unpacking, or .unzip() to split it lazily"
            raise _not_run(self, advice)

        def __getitem__(self, key: object) -> NoReturn:
            raise _not_run(self, "call .sync() before indexing its result")

        def __len__(self) -> NoReturn:
            raise _not_run(self, "call .sync() before taking the length of its result")

        def __bool__(self) -> bool:
            if sys._getframe(1).f_globals.get("__name__") in SHOWING_TASKS:
                return True
            raise _not_run(self, "call .sync() before testing the truth value of its result")

        def __float__(self) -> NoReturn:
            raise _not_run(self, "call .sync() before making a number of its result")

        __int__ = __index__ = __complex__ = __float__

        def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
            raise _not_run(self, "end with .to_numpy().sync() to get an array")

        def _no_arithmetic(self) -> TypeError:
            return _not_run(
                self, "call .sync() first; and compute in a kernel, not with host operators"
            )

        def __reduce__(self) -> NoReturn:
            raise TypeError(
                f"`{self.name}` is a DeviceOp and cannot be pickled or copied:"
                " an op is used once, by the process that built it"
            )


for _words, _result in ((TENSOR_WORDS, "the tensor"), (VALUE_WORDS, "its result")):
    for _name in _words:
        setattr(MisuseHints, _name, _Word(_name, _result))


def _not_run(op: MisuseHints, advice: str) -> TypeError:
    name: str = getattr(op, "name", "op")
    built: Location = getattr(op, "_built", None)
    return TypeError(f"`{name}` has not run: {advice}\n  built: {place_of(built)}")
