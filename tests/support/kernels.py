"""Builds the IR of kernels written in tests, without host arrays or launches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tilewright.backend.reference import interpreter as reference
from tilewright.base.dtypes import AnyDType, f32
from tilewright.frontend.capture.annotations import capture
from tilewright.frontend.interp.build import build
from tilewright.ir.core import Func
from tilewright.ir.printer import print_func
from tilewright.ir.signature import (
    OutputSpec,
    ParamSpec,
    PointerSpec,
    ScalarSpec,
    Signature,
    TensorSpec,
)
from tilewright.ir.verify import verify


def out(tile: tuple[int, ...], dtype: AnyDType = f32, shape: Any = None) -> OutputSpec:
    """An output cut into `tile`; the extents are known at launch only unless given."""
    return OutputSpec("", dtype, shape or (None,) * len(tile), _strides(len(tile)), tile)


def tensor(rank: int, dtype: AnyDType = f32, shape: Any = None) -> TensorSpec:
    return TensorSpec("", dtype, shape or (None,) * rank, _strides(rank))


def scalar(dtype: AnyDType = f32) -> ScalarSpec:
    return ScalarSpec("", dtype)


def pointer(dtype: AnyDType = f32) -> PointerSpec:
    return PointerSpec("", dtype)


def _strides(rank: int) -> tuple[int | None, ...]:
    return (None,) * (rank - 1) + (1,) if rank else ()


def ir_of(
    function: Callable[..., Any], *specs: ParamSpec, unsafe: bool = False, **constants: Any
) -> Func:
    """The verified IR of a kernel; specs are given their parameters' names."""
    kernel = capture(function, unsafe=unsafe, frame_locals=sys._getframe(1).f_locals)
    names = [p.name for p in kernel.parameters]
    named = tuple(
        type(s)(n, *[getattr(s, f) for f in s.__slots__ if f != "name"])
        for s, n in zip(specs, names, strict=True)
    )
    func = build(kernel, Signature(named, tuple(constants.items())))
    verify(func, "frontend")
    return func


def text_of(function: Callable[..., Any], *specs: ParamSpec, **constants: Any) -> str:
    """The printed IR of a kernel."""
    return print_func(ir_of(function, *specs, **constants))


def run(func: Func, *arguments: Any, grid: tuple[int, ...] = (1, 1, 1)) -> reference.Outcome:
    """Run a function on the reference interpreter; nothing may be wrong with it."""
    outcome = reference.run(func, arguments, grid)
    assert not outcome.problems, outcome.problems
    return outcome
