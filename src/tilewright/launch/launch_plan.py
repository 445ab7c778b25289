"""What launches of one kernel over one grid have in common, as words for native code.

Of launches whose work Python does, the core knows no more than that (`CalledPlan`): it borrows,
orders and begins them like all others, and calls `start` where others are enqueued. So kernels are
interpreted, noted by the null device, and enqueued where there is no native way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from operator import getitem
from struct import Struct
from types import FunctionType, ModuleType
from typing import Any, cast

from ..base.dtypes import AnyDType
from ..devices.native_records import FUNCTION_KEYS, PLAN_WORDS, PlanWord, Words, new_words
from ..frontend.capture.sources import Absent, Captured, there_or_absent
from .arguments import Arg, OutputArg, PointerArg, TensorArg
from .scalars import packing_of, slot_of

Places = ctypes.Array[ctypes.c_int64]


class LaunchPlan:
    """Launches of one kernel over one grid: addresses and numbers go in."""

    __slots__ = ("_dtypes", "_kept", "_pack", "_watches", "_words", "given", "packing")

    def __init__(
        self,
        places: Places,
        written: int,
        numbers: Sequence[tuple[int, int, AnyDType]],
        keep: object = None,
    ) -> None:
        """Plan launches; `places` are where addresses go in a record, outputs first.

        `numbers` are a place in the record, the index of the number, and its type. `keep` lives as
        long as this.
        """
        self._dtypes = [(which, dtype) for _, which, dtype in numbers]
        self.packing = b"".join([packing_of(which, dtype) for which, dtype in self._dtypes])
        """How the core makes parameters of numbers."""
        self._pack = Struct(f"{len(numbers)}Q").pack
        given = (ctypes.c_int64 * len(numbers))(*[place for place, _, _ in numbers])
        words = self._words = new_words(PLAN_WORDS)
        words[PlanWord.TENSORS] = len(places)
        words[PlanWord.TENSOR_PLACES] = ctypes.addressof(places)
        words[PlanWord.NUMBERS] = len(numbers)
        words[PlanWord.NUMBER_PLACES] = ctypes.addressof(given)
        words[PlanWord.WRITTEN] = written
        self.given = ctypes.addressof(words)
        """Where its words are, for native code."""
        self._kept = (places, given, keep)
        self._watches: tuple[object, Words] = (), new_words(0)

    def check_numbers(self) -> None:
        """Submit only numbers that the code is known to accept."""
        self._words[PlanWord.CHECKS_NUMBERS] = 1

    def watch(self, captured: Sequence[Captured]) -> None:
        """Submit only while names that the kernel captured are what they were."""
        watches = new_words(3 * len(captured))
        watches[:] = [word for one in captured for word in _words_of(one)]
        self._watches = captured, watches
        self._words[PlanWord.WATCHED] = len(captured)
        self._words[PlanWord.WATCHES] = ctypes.addressof(watches)

    def packed(self, numbers: Sequence[Any]) -> bytes:
        """Return the numbers of a launch as words, where the core cannot pack them."""
        return self._pack(*[slot_of(dtype, numbers[i]) for i, dtype in self._dtypes])


class CalledPlan(LaunchPlan):
    """Launches of one kernel over one grid that Python enqueues, or runs."""

    __slots__ = ()

    def __init__(self, count: int, written: int) -> None:
        """Plan launches that use `count` pieces of memory, of which they write the first."""
        super().__init__((ctypes.c_int64 * count)(), written, ())


def called_plan(args: Sequence[Arg]) -> CalledPlan:
    """Return the plan of launches with such arguments."""
    written = sum(isinstance(arg, OutputArg | PointerArg) for arg in args)
    return CalledPlan(written + sum(isinstance(arg, TensorArg) for arg in args), written)


def _words_of(captured: Captured) -> tuple[int, int, int]:
    """Return a watch as words; for a name that must be absent, the value is 0."""
    read: Any = captured.read
    if captured.value is Absent and isinstance(read, partial) and read.func is there_or_absent:
        namespace, name = read.args
        return id(namespace), id(name), 0
    return (*_place_of(captured), id(captured.value))


def _place_of(captured: Captured) -> tuple[int, int]:
    """Return where a value is read from, as `PlanWord.WATCHED` says; the capture keeps it alive.

    Names of modules are in their dictionaries, unless the module defines attribute access.
    """
    read: Any = captured.read
    func, args = (read.func, read.args) if isinstance(read, partial) else (None, ())
    if len(args) == 2 and not read.keywords:
        owner: Any = args[0]
        name: Any = args[1]
        if func is getitem and type(owner) is dict:
            return id(cast("object", owner)), id(name)
        if func is getattr and type(owner) is ModuleType and name in vars(owner):
            return id(vars(owner)), id(name)
        if func is getattr and type(owner) is FunctionType and name in FUNCTION_KEYS:
            return id(owner), FUNCTION_KEYS[name]
    return id(captured.read), 0
