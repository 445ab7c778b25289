"""The kernels of the benchmark without data: arguments that only have shapes, to be compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tilewright as tw
from tilewright.base.shapes import Shape

from .. import kernels


@dataclass(frozen=True, slots=True)
class Call:
    """A kernel, and the shapes of what it is given."""

    kernel: Any
    out: Shape
    tile: Shape
    inputs: Sequence[Shape]
    numbers: Sequence[float] = ()
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    groups: Shape | None = None

    def arguments(self) -> tuple[Any, ...]:
        """What it is called with, in bf16."""
        output = tw.meta(self.out, tw.bf16).partition_mut(self.tile)
        given = [tw.meta(shape, tw.bf16) for shape in self.inputs]
        mapped = output if self.groups is None else output.map(self.groups, 132)
        return (mapped, *given, *self.numbers)


SQUARE, ODD, ROWS = (4096, 4096), (4095, 4095), (16384, 8192)
BATCH, HEADS, SHARED = (16, 1024, 1024), (64, 4096, 128), (8, 4096, 128)
QUERIES, KEYS = (512, 8, 128), (512, 4096, 128)
SCALE = 128**-0.5

CALLS: dict[str, Call] = {
    "add": Call(kernels.add, (1 << 28,), (1024,), [(1 << 28,)] * 2),
    "softmax": Call(kernels.softmax, ROWS, (1, 8192), [ROWS]),
    "rms_norm": Call(kernels.rms_norm, ROWS, (1, 8192), [ROWS, (8192,)], [1e-5]),
    "layer_norm": Call(kernels.layer_norm, ROWS, (1, 8192), [ROWS, (8192,), (8192,)], [1e-5]),
    "transpose": Call(kernels.transpose, (8192, 16384), (128, 128), [ROWS]),
    "GEMM": Call(kernels.gemm, SQUARE, (128, 256), [SQUARE] * 2),
    "GEMM of 4095": Call(kernels.gemm, ODD, (128, 256), [ODD] * 2),
    "GEMM, persistent": Call(
        kernels.persistent_gemm, SQUARE, (128, 256), [SQUARE] * 2, (), {"BK": 32}, (8, 1)
    ),
    "batched GEMM": Call(kernels.batch_gemm, BATCH, (1, 128, 256), [BATCH] * 2),
    "batched GEMM, persistent": Call(
        kernels.persistent_batch_gemm, BATCH, (1, 128, 256), [BATCH] * 2, (), {"BK": 32}, (1, 8, 1)
    ),
    "attention": Call(
        kernels.attention, HEADS, (1, 64, 128), [HEADS] * 3, [SCALE], {"BN": 128, "LAST": 128}
    ),
    "attention, causal": Call(
        kernels.attention, HEADS, (1, 64, 128), [HEADS] * 3, [SCALE], {"BN": 128, "CAUSAL": True}
    ),
    "attention, shared keys": Call(
        kernels.attention, HEADS, (1, 64, 128), [HEADS, SHARED, SHARED], [SCALE],
        {"BN": 128, "CAUSAL": True, "GROUP": 8},
    ),
    "decoding": Call(kernels.attention, QUERIES, (1, 16, 128), [QUERIES, KEYS, KEYS], [SCALE]),
}  # fmt: skip
"""One of each kernel, or more where the shapes lead to other code."""
