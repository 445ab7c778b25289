"""One tiny kernel for each op and element type, as IR: operands loaded, results stored.

A probe is a function of the IR whose parameters are raw pointers, so that it needs nothing but the
op itself, loads, stores and conversions to what memory can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.base.dtypes import AnyDType, f4e2m1fn, f4e2m1fnx2, f32, i32, tf32
from tilewright.ir.builder import Builder
from tilewright.ir.core import Block, Func, Value
from tilewright.ir.signature import PointerSpec, Signature
from tilewright.ir.types import PtrType, TileType
from tilewright.ir.verify import verify


@dataclass(frozen=True)
class Probe:
    """A kernel that is about one op."""

    name: str
    func: Func
    since: int = 80
    """The first architecture that has its types."""


@dataclass
class Bench:
    """A function in the making."""

    builder: Builder = field(default_factory=lambda: Builder(Block()))
    specs: list[PointerSpec] = field(default_factory=list)
    params: list[Value] = field(default_factory=list)

    def pointer(self, dtype: AnyDType) -> Value:
        """A new parameter."""
        name = f"p{len(self.params)}"
        self.specs.append(PointerSpec(name, dtype))
        self.params.append(Value(TileType(PtrType(dtype)), name))
        return self.params[-1]

    def pointers(self, dtype: AnyDType, shape: tuple[int, ...]) -> Value:
        """Pointers to neighbouring elements of new memory."""
        b, base = self.builder, self.pointer(dtype)
        if not shape:
            return base
        count = TileType(i32, shape).size
        ones = b.emit("reshape", base, shape=(1,) * len(shape))
        spread = b.emit("broadcast", ones, shape=shape)
        places = b.emit("reshape", b.emit("iota", size=count, dtype=i32), shape=shape)
        return b.emit("offset", spread, places)

    def load(self, kind: TileType) -> Value:
        """A tile of fresh numbers."""
        b, dtype = self.builder, kind.elem
        if isinstance(dtype, PtrType):
            return self.pointers(dtype.to, kind.shape)
        if dtype is f4e2m1fn:
            half = (*kind.shape[:-1], kind.shape[-1] // 2)
            return b.emit("unpack", b.emit("load_ptr", self.pointers(f4e2m1fnx2, half)))
        held = f32 if dtype is tf32 else dtype
        loaded = b.emit("load_ptr", self.pointers(held, kind.shape))
        return b.emit("ftof", loaded, to=tf32) if dtype is tf32 else loaded

    def keep(self, value: Value) -> None:
        """Store a result, so that it is not dead."""
        b, dtype = self.builder, value.tile.elem
        if isinstance(dtype, PtrType):
            value = b.emit("ptr_to_int", value)
        elif dtype is f4e2m1fn:
            value = b.emit("pack", value)
        elif dtype is tf32:
            value = b.emit("ftof", value, to=f32)
        b.op("store_ptr", self.pointers(value.tile.dtype, value.tile.shape), value)

    def func(self, name: str) -> Func:
        self.builder.op("return")
        signature = Signature(tuple(self.specs))
        made = Func(name, signature, tuple(self.params), self.builder.block)
        verify(made, name)
        return made


def probe(
    name: str,
    op: str,
    kinds: Sequence[TileType | Sequence[TileType] | None],
    body: Callable[..., Sequence[Value]] | None = None,
    since: int = 80,
    **attrs: Any,
) -> Probe:
    """A probe of one op on fresh operands; `body` fills its only region."""
    bench = Bench()
    operands: list[Any] = []
    for kind in kinds:
        if kind is None:
            operands.append(None)
        elif isinstance(kind, TileType):
            operands.append(bench.load(kind))
        else:
            operands.append([bench.load(k) for k in kind])
    regions = [region(bench.builder, operands[0], body)] if body is not None else []
    made = bench.builder.op(op, *operands, regions=regions, **attrs)
    for result in made.results:
        bench.keep(result)
    return Probe(name, bench.func(name), since)


def region(b: Builder, inputs: Sequence[Value], body: Callable[..., Sequence[Value]]) -> Block:
    """The body of a reduction: pairs of an element and an accumulator."""
    args = [Value(TileType(v.tile.dtype)) for v in inputs for _ in range(2)]
    block = Block(tuple(args))
    with b.at(block):
        b.op("yield", list(body(b, *args)))
    return block


def packed(probes: Sequence[Probe], count: int) -> Iterator[list[Probe]]:
    """The probes in groups, each of one file."""
    for start in range(0, len(probes), count):
        yield list(probes[start : start + count])
