"""Private copies of accumulators: filled with the identity, and combined into memory at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ....base.dtypes import AnyDType
from ....ir.attrs import AtomicMode
from ...llvm.builder import Vec, repeat, where
from ..loopnest.nodes import PrivateCopy
from .access import alignment, load_stretch, perform_if, store_stretch
from .atomics import combined, update, update_stretch
from .emitter import LlvmEmitter, TensorPointer, memory_type

WORTH = 4
"""Updates of each element in a run of blocks from which on a copy is worth its filling."""


@dataclass(frozen=True, slots=True)
class Private:
    """A copy at run time."""

    copy: PrivateCopy
    is_used: Vec
    """Whether this run of blocks uses it: a scalar."""
    count: Vec
    """The elements of the accumulator."""
    tensor: TensorPointer
    """The accumulator itself."""

    @property
    def dtype(self) -> AnyDType:
        """The element type."""
        return self.copy.op.operands[0].tile.dtype


def begin(emitter: LlvmEmitter) -> None:
    """Decide which copies are used, fill them, and let them stand for the accumulators."""
    for value, copy in emitter.plan.private.items():
        tensor = emitter.tensors[value]
        count, strides = emitter.integer(1), list[Vec]()
        for extent in reversed(tensor.extents):
            strides.insert(0, count)
            count = count * extent
        is_used = _is_worth(emitter, copy, tensor, count)
        emitter.tensors[value] = TensorPointer(
            where(is_used, _start(emitter, copy), tensor.address),
            tensor.extents,
            tuple(where(is_used, a, b) for a, b in zip(strides, tensor.strides, strict=True)),
        )
        emitter.private[value] = Private(copy, is_used, count, tensor)
        _fill(emitter, emitter.private[value])


def end(emitter: LlvmEmitter) -> None:
    """Combine what the copies have into the accumulators."""
    for private in emitter.private.values():
        _flush(emitter, private)


def _is_worth(emitter: LlvmEmitter, copy: PrivateCopy, tensor: TensorPointer, count: Vec) -> Vec:
    blocks = Vec(emitter.body, "%end", "i64", 1) - Vec(emitter.body, "%begin", "i64", 1)
    # Extents that fit are so small that the product of several does not overflow.
    fits = [number < copy.capacity + 1 for number in (*tensor.extents, count)]
    return emitter.any_of([*fits, blocks * copy.updates >= count * WORTH])


def _fill(emitter: LlvmEmitter, private: Private) -> None:
    empty = _empty(emitter, private)
    align = alignment(private.dtype)
    _each(emitter, private, lambda at, number: emitter.store(empty, at, align))


def _flush(emitter: LlvmEmitter, private: Private) -> None:
    op, dtype, empty = private.copy.op, private.dtype, _empty(emitter, private)

    def combine(at: Vec, number: Vec) -> None:
        found = emitter.load(at, memory_type(dtype), align=alignment(dtype))

        def act() -> None:
            update(emitter, op, dtype, _place(emitter, private, number), found)

        perform_if(emitter, _bits(found).ne(_bits(empty)), act)

    _each(emitter, private, combine)


def change(emitter: LlvmEmitter, private: Private, address: Vec, value: Vec) -> None:
    """Combine a value into an element."""
    op, dtype = private.copy.op, private.dtype

    def mine() -> None:
        old = emitter.load(address, memory_type(dtype), align=alignment(dtype))
        new = combined(emitter, op.attrs["mode"], dtype, old, value)
        emitter.store(new, address, alignment(dtype))

    def theirs() -> None:
        update(emitter, op, dtype, address, value)

    _either(emitter, private, mine, theirs)


def change_stretch(
    emitter: LlvmEmitter, private: Private, address: Vec, low: Vec, high: Vec, value: Vec
) -> None:
    """Combine lanes low .. high - 1 into neighbouring elements."""
    op, dtype = private.copy.op, private.dtype

    def mine() -> None:
        padding = emitter.body.constant(memory_type(dtype), value.lanes, 0)
        old = load_stretch(emitter, address, low, high, padding, dtype)
        new = combined(emitter, op.attrs["mode"], dtype, old, value)
        store_stretch(emitter, new, address, low, high, dtype)

    def theirs() -> None:
        update_stretch(emitter, op, dtype, address, low, high, value)

    _either(emitter, private, mine, theirs)


def _either(
    emitter: LlvmEmitter, private: Private, mine: Callable[[], None], theirs: Callable[[], None]
) -> None:
    """Emit an ordinary update of the copy, and an atomic one of the accumulator."""
    own, shared, after = (emitter.label(word) for word in ("private", "shared", "updated"))
    emitter.branch(private.is_used, own, shared)
    for label, act in ((own, mine), (shared, theirs)):
        emitter.body.label(label)
        act()
        emitter.body.jump(after)
    emitter.body.label(after)


def identity(mode: AtomicMode, dtype: AnyDType) -> float:
    """Return the number that changes nothing."""
    match mode:
        case AtomicMode.ADD:
            return -0.0 if dtype.is_float else 0
        case AtomicMode.OR | AtomicMode.XOR:
            return 0
        case AtomicMode.AND:
            return -1
        case AtomicMode.MAX:
            return int(np.iinfo(dtype.np).min)
        case AtomicMode.MIN:
            return int(np.iinfo(dtype.np).max)
        case _:
            raise ValueError(f"{mode.value} has no identity")


def _empty(emitter: LlvmEmitter, private: Private) -> Vec:
    number = identity(private.copy.op.attrs["mode"], private.dtype)
    return emitter.literal(private.dtype, number, 1)


def _start(emitter: LlvmEmitter, copy: PrivateCopy) -> Vec:
    scratch = Vec(emitter.body, "%scratch", "ptr", 1)
    return emitter.shifted(scratch, emitter.integer(copy.offset), "i8")


def _bits(x: Vec) -> Vec:
    return x.bits() if x.elem in ("float", "double") else x


def _each(emitter: LlvmEmitter, private: Private, act: Callable[[Vec, Vec], None]) -> None:
    """Do something with each element of a copy that is used: its address and its number."""
    start, kind = _start(emitter, private.copy), memory_type(private.dtype)

    def step(number: Vec) -> tuple[Vec, list[Vec]]:
        act(emitter.shifted(start, number, kind), number)
        following = number + 1
        return following < private.count, [following]

    def run() -> None:
        repeat([emitter.integer(0)], step)

    perform_if(emitter, private.is_used & (private.count > 0), run)


def _place(emitter: LlvmEmitter, private: Private, number: Vec) -> Vec:
    """Return the address of an element of the accumulator, by its row-major number."""
    tensor, offset = private.tensor, emitter.integer(0)
    for extent, stride in zip(reversed(tensor.extents), reversed(tensor.strides), strict=True):
        offset = offset + number.binary("urem", extent) * stride
        number = number.binary("udiv", extent)
    return emitter.shifted(tensor.address, offset, memory_type(private.dtype))
