"""Runs a program everywhere: on the reference as the front end leaves it, and on devices."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from fuzz.graph import Program
from support import tiers
from tilewright.backend.reference import interpreter as reference
from tilewright.base import dtypes
from tilewright.base.errors import PaddingWarning
from tilewright.frontend.capture.annotations import capture
from tilewright.frontend.capture.sources import execute
from tilewright.frontend.interp.build import build
from tilewright.ir.signature import OutputSpec, ScalarSpec, Signature, TensorSpec
from tilewright.ir.verify import verify

Array = np.ndarray[Any, Any]
DEVICE = os.environ.get("TILEWRIGHT_DEVICE", "cpu")
"""Where programs run beside the reference; `--on` names another one."""
NAMES = {t.__name__: t for t in dtypes.ALL} | {"tl": tl}


def examples(most: int) -> int:
    """How many programs to try: fewer in the quick tier, and where each takes an assembler."""
    wanted = tiers.count(quick=most // 15, full=most)
    return wanted if DEVICE == "cpu" else wanted // 5


def function_of(program: Program) -> Callable[..., None]:
    function: Callable[..., None] = execute(program.source(), dict(NAMES))["kernel"]
    return function


def poisoned(program: Program) -> Array:
    """An output full of bytes that no program stores."""
    dtype = program.out.dtype.np
    bytes_ = np.full((*program.extents, dtype.itemsize), 0xA5, np.uint8)
    return bytes_.view(dtype).reshape(program.extents)


def run_raw(program: Program, inputs: list[Array]) -> Array:
    """The reference on IR as it leaves the front end."""
    any_, strides = (None, None), (None, 1)
    specs = [TensorSpec(f"x{k}", d, any_, strides) for k, d in enumerate(program.inputs)]
    out = OutputSpec("out", program.out.dtype, any_, strides, program.tile)
    signature = Signature((out, *specs, ScalarSpec("n", dtypes.i32)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PaddingWarning)
        func = build(capture(function_of(program)), signature)
    verify(func, "frontend")
    result = poisoned(program)
    outcome = reference.run(func, [result, *inputs, program.n], program.grid)
    assert outcome.failure is None
    assert not outcome.problems
    return result


def run_on(device: str, program: Program, inputs: list[Array]) -> Array:
    """A device, through the public interface."""
    kernel = tw.entry(function_of(program))
    with warnings.catch_warnings(), tw.device(device):
        warnings.simplefilter("ignore", PaddingWarning)
        z = tw.from_numpy(poisoned(program)).sync()
        kernel(z.partition_mut(program.tile), *inputs, program.n).sync()
        return z.to_numpy()
