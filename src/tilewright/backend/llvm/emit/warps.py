"""What lanes of a GPU do together. On a CPU they are those of vectors: `backend.llvm.lanes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.dtypes import AnyDType
from ....ir.attrs import WARP_SIZE, ShuffleMode, VoteMode
from ....ir.core import Op
from ..functions.text import Value as Vec
from .access import from_memory, to_memory
from .emitter import Emitter
from .types import memory_type

ALL_LANES = -1
LAST_LANE = WARP_SIZE - 1
WORDS = {
    ShuffleMode.IDX: "idx", ShuffleMode.UP: "up", ShuffleMode.DOWN: "down",
    ShuffleMode.XOR: "bfly",
}  # fmt: skip


def _mask(emitter: Emitter, op: Op) -> Vec:
    mask = op.maybe("mask")
    return emitter.integer(ALL_LANES, "i32") if mask is None else emitter.scalar(mask)


def _call(emitter: Emitter, name: str, kind: str, args: Sequence[Vec]) -> Vec:
    symbol = f"@llvm.nvvm.{name}"
    emitter.body.declarations.add(f"declare {kind} {symbol}({', '.join(a.type for a in args)})")
    return emitter.call(symbol, kind, args, 1)


def _sync_warp(emitter: Emitter, op: Op) -> None:
    symbol = "@llvm.nvvm.bar.warp.sync"
    emitter.body.declarations.add(f"declare void {symbol}(i32)")
    emitter.do(f"call void {symbol}({_mask(emitter, op)})")


def _bits(value: Vec, dtype: AnyDType) -> Vec:
    """A value's bits, as an integer of 32 or 64."""
    stored, width = to_memory(value, dtype), f"i{8 * dtype.itemsize}"
    bits = stored if stored.elem == width else stored.cast("bitcast", width)
    return bits.cast("zext", "i32") if dtype.itemsize < 4 else bits


def _value(bits: Vec, dtype: AnyDType) -> Vec:
    """The value with these bits."""
    width, kind = f"i{8 * dtype.itemsize}", memory_type(dtype)
    narrow = bits if bits.elem == width else bits.cast("trunc", width)
    return from_memory(narrow if kind == width else narrow.cast("bitcast", kind), dtype)


def _shuffle(emitter: Emitter, op: Op) -> None:
    dtype = op.result.tile.dtype
    bits = _bits(emitter.scalar(op.one("value")), dtype)
    mask, by, clamp = _mask(emitter, op), _steps(emitter, op), _clamp(emitter, op)

    def take(part: Vec) -> Vec:
        word = WORDS[op.attrs["mode"]]
        return _call(emitter, f"shfl.sync.{word}.i32", "i32", [mask, part, by, clamp])

    if bits.elem == "i32":
        emitter.names[op.result] = _value(take(bits), dtype)
        return
    halves = [take(half.cast("trunc", "i32")) for half in (bits, bits.lshr(32))]
    low, high = (half.cast("zext", "i64") for half in halves)
    emitter.names[op.result] = _value(low | (high << 32), dtype)


def _steps(emitter: Emitter, op: Op) -> Vec:
    """By how much, or to which lane; the instruction looks at five bits."""
    given: Vec = emitter.scalar(op.one("lane"))
    if op.attrs["mode"] in (ShuffleMode.UP, ShuffleMode.DOWN):
        return given.intrinsic("umin", WARP_SIZE)
    width: int = op.attrs["width"]
    return given & (width - 1)


def _clamp(emitter: Emitter, op: Op) -> Vec:
    """The neighbours of a lane, and the last of them that it may take from."""
    last = 0 if op.attrs["mode"] is ShuffleMode.UP else LAST_LANE
    return emitter.integer((WARP_SIZE - op.attrs["width"]) << 8 | last, "i32")


def _vote(emitter: Emitter, op: Op) -> None:
    word = "all" if op.attrs["mode"] is VoteMode.ALL else "any"
    args = [_mask(emitter, op), emitter.scalar(op.one("cond"))]
    emitter.names[op.result] = _call(emitter, f"vote.{word}.sync", "i1", args)


def _ballot(emitter: Emitter, op: Op) -> None:
    args = [_mask(emitter, op), emitter.scalar(op.one("cond"))]
    emitter.names[op.result] = _call(emitter, "vote.ballot.sync", "i32", args)


def _match(emitter: Emitter, op: Op) -> None:
    value = op.one("value")
    bits = _bits(emitter.scalar(value), value.tile.dtype)
    args = [_mask(emitter, op), bits]
    emitter.names[op.result] = _call(emitter, f"match.any.sync.{bits.elem}", "i32", args)


TABLE: dict[str, Callable[[Emitter, Op], None]] = {
    "sync_warp": _sync_warp,
    "shuffle": _shuffle,
    "vote": _vote,
    "ballot": _ballot,
    "match": _match,
}
