"""Kernels built by hand: a builder that knows parameters, source lines and tile accesses."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tilewright.backend.reference.interpreter import Outcome, run
from tilewright.base.dtypes import AnyDType, bool_, i32
from tilewright.base.source import SourceFile, Span
from tilewright.ir.builder import Builder, make_op
from tilewright.ir.core import Block, Func, Value
from tilewright.ir.signature import (
    OutputSpec,
    ParamSpec,
    PointerSpec,
    ScalarSpec,
    Signature,
    TensorSpec,
)
from tilewright.ir.types import PtrType, TensorType, TileType, Type
from tilewright.ir.verify import verify

Array = np.ndarray[Any, np.dtype[Any]]
Extents = Sequence[int | None] | int


def span_of(line: int, text: str = "", name: str = "kernel.py") -> Span:
    """The span of a whole line of a made-up file."""
    return Span(SourceFile(name, text, line), line, 0, line, len(text))


class Kernel(Builder):
    """A function under construction; parameters are declared first, `finish` verifies it.

    >>> k = Kernel()
    >>> x, z = k.tensor("x", f32, 1), k.output("z", f32, 1, (4,))
    >>> k.store(k.load(x, (4,), k.block_id(0)), z, k.block_id(0), tile=(4,))
    >>> func = k.finish()
    """

    def __init__(self, name: str = "kernel", *, grid_rank: int = 3) -> None:
        super().__init__(Block())
        self.name = name
        self.grid_rank = grid_rank
        self.params: list[Value] = []
        self.specs: list[ParamSpec] = []

    def tensor(self, name: str, dtype: AnyDType, shape: Extents) -> Value:
        """Declare a read-only tensor, by its rank or by its extents (None: known at launch)."""
        extents = _extents(shape)
        strides = (None,) * len(extents)
        self.specs.append(TensorSpec(name, dtype, extents, strides))
        return self._param(name, TensorType(dtype, extents, strides, False, name))

    def output(self, name: str, dtype: AnyDType, shape: Extents, tile: Sequence[int] = ()) -> Value:
        """Declare a mutable tensor."""
        extents = _extents(shape)
        strides = (None,) * len(extents)
        self.specs.append(OutputSpec(name, dtype, extents, strides, tuple(tile)))
        return self._param(name, TensorType(dtype, extents, strides, True, name))

    def scalar(self, name: str, dtype: AnyDType) -> Value:
        """Declare a scalar."""
        self.specs.append(ScalarSpec(name, dtype))
        return self._param(name, TileType(dtype))

    def pointer(self, name: str, dtype: AnyDType) -> Value:
        """Declare a raw pointer."""
        self.specs.append(PointerSpec(name, dtype))
        return self._param(name, TileType(PtrType(dtype)))

    def _param(self, name: str, kind: Type) -> Value:
        self.params.append(Value(kind, name))
        return self.params[-1]

    def line(self, number: int, text: str = "") -> None:
        """Ops made from here on stand on this source line."""
        self.span = span_of(number, text)

    def block_id(self, axis: int = 0) -> Value:
        """The block's index along an axis."""
        return self.emit("block_id", axis=axis)

    def i32(self, value: int) -> Value:
        """An i32 constant."""
        return self.constant(value, i32)

    def true(self) -> Value:
        """The constant true."""
        return self.constant(True, bool_)

    def view(self, tensor: Value, tile: Sequence[int], **attrs: Any) -> Value:
        """A view of a tensor; axes in order unless `dim_map` says otherwise."""
        attrs.setdefault("dim_map", tuple(range(len(tile))))
        return self.emit("make_view", tensor, tile=tuple(tile), **attrs)

    def load(
        self, tensor: Value, tile: Sequence[int], *index: Value | int,
        guard: Value | None = None, **attrs: Any,
    ) -> Value:  # fmt: skip
        """Load a tile; missing indices are 0."""
        return self.emit(
            "load_view", self.view(tensor, tile, **attrs), self._index(tile, index), guard
        )

    def store(
        self, value: Value, tensor: Value, *index: Value | int, tile: Sequence[int] | None = None,
        guard: Value | None = None, **attrs: Any,
    ) -> None:  # fmt: skip
        """Store a tile; missing indices are 0."""
        shape = value.tile.shape if tile is None else tile
        self.op(
            "store_view", value, self.view(tensor, shape, **attrs), self._index(shape, index), guard
        )

    def _index(self, tile: Sequence[int], index: Sequence[Value | int]) -> list[Value]:
        full = [*index, *[0] * (len(tile) - len(index))]
        return [self.i32(i) if isinstance(i, int) else i for i in full]

    def broadcast(self, scalar: Value, shape: Sequence[int]) -> Value:
        """A tile whose elements all are a scalar."""
        flat = self.emit("reshape", scalar, shape=(1,) * len(shape))
        return self.emit("broadcast", flat, shape=tuple(shape))

    def pointers(self, base: Value, count: int) -> Value:
        """Pointers to the first `count` elements."""
        return self.emit(
            "offset", self.broadcast(base, (count,)), self.emit("iota", size=count, dtype=i32)
        )

    @contextmanager
    def region(self, *types: Type) -> Generator[Block]:
        """Build a region with block arguments of these types."""
        with self.at(Block(tuple(Value(t) for t in types))) as block:
            yield block

    def finish(self) -> Func:
        """The function; a return is added where none stands."""
        if not self.block.ops or not self.block.terminator.defn.terminator:
            self.block.ops.append(make_op("return"))
        signature = Signature(tuple(self.specs), grid_rank=self.grid_rank)
        func = Func(self.name, signature, tuple(self.params), self.block)
        verify(func, "test")
        return func


def _extents(shape: Extents) -> tuple[int | None, ...]:
    return (None,) * shape if isinstance(shape, int) else tuple(shape)


def poisoned(dtype: AnyDType, shape: Sequence[int]) -> Array:
    """An array full of bytes that no test expects."""
    raw = np.full((*shape, dtype.itemsize), 0xA5, np.uint8)
    return raw.view(dtype.np).reshape(tuple(shape))


def checked(func: Func, arguments: Sequence[Any], grid: Sequence[int] = (1,)) -> Outcome:
    """Run a function that must neither fail nor have problems."""
    outcome = run(func, arguments, grid)
    assert outcome.failure is None
    assert outcome.problems == (), f"seed {outcome.seed}"
    return outcome


def apply(
    name: str, *operands: tuple[AnyDType, Any], regions: Sequence[Block] = (), **attrs: Any
) -> Any:
    """Run one op on whole arrays in the reference; gives its result, or a tuple of them."""
    k = Kernel()
    arrays = [np.asarray(a, dtype.np) for dtype, a in operands]
    params = [
        k.tensor(f"x{i}", dtype, a.ndim)
        for i, ((dtype, _), a) in enumerate(zip(operands, arrays, strict=True))
    ]
    tiles = [k.load(p, a.shape) for p, a in zip(params, arrays, strict=True)]
    variadic = name in ("reduce", "scan")
    op = k.op(name, *([tiles] if variadic else tiles), regions=regions, **attrs)
    outputs = [poisoned(v.tile.dtype, v.tile.shape) for v in op.results]
    for i, value in enumerate(op.results):
        k.store(value, k.output(f"z{i}", value.tile.dtype, value.tile.rank), tile=value.tile.shape)
    checked(k.finish(), [*arrays, *outputs])
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
