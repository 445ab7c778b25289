"""Pointers: arithmetic, loads, stores, and atomics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..encoding.enums import AtomicMode, MemoryOrdering
from ..program.core import Instr, Val
from ..program.types import Pointer, Scalar
from .machine import Frame, Results, Rule, number_of
from .memory import ANY, Piece, load, store, stored
from .values import POINTER, Array, TokenValue, garbage, signed, tile_kind, unsigned

LOADS = (MemoryOrdering.WEAK, MemoryOrdering.RELAXED, MemoryOrdering.ACQUIRE)
STORES = (MemoryOrdering.WEAK, MemoryOrdering.RELAXED, MemoryOrdering.RELEASE)
ATOMIC = tuple(order for order in MemoryOrdering if order is not MemoryOrdering.WEAK)


def pointee(value: Val) -> Scalar:
    """What a tile of pointers points to."""
    elem = tile_kind(value.kind).elem
    assert isinstance(elem, Pointer), f"{value.kind} holds no pointers"
    return elem.to


# --- addresses -----------------------------------------------------------------------------------


def _offset(frame: Frame, instr: Instr) -> Results:
    pointers, by = frame.arrays(instr)
    if pointers.shape != by.shape:
        frame.fail(f"its operands have the shapes {pointers.shape} and {by.shape}")
    itemsize = stored(pointee(instr.operands[0])).itemsize
    return (moved(pointers, signed(by).astype(np.int64) * itemsize),)


def moved(pointers: Array, nbytes: Array) -> Array:
    """Pointers so many bytes further on."""
    made = np.empty(np.broadcast_shapes(pointers.shape, nbytes.shape), POINTER)
    made["address"] = pointers["address"] + nbytes
    made["origin"] = pointers["origin"]
    return made


def _ptr_to_int(frame: Frame, instr: Instr) -> Results:
    (pointers,) = frame.arrays(instr)
    return (np.array(pointers["address"]),)


def _int_to_ptr(frame: Frame, instr: Instr) -> Results:
    (addresses,) = frame.arrays(instr)
    made = np.empty(addresses.shape, POINTER)
    made["address"], made["origin"] = addresses, ANY
    return (made,)


def _ptr_to_ptr(frame: Frame, instr: Instr) -> Results:
    return frame.arrays(instr)


# --- loads and stores ----------------------------------------------------------------------------


def note(
    frame: Frame, instr: Instr, pieces: list[Piece], order: MemoryOrdering, *, writes: bool
) -> TokenValue:
    """Note an access of the block, and give its token."""
    weak = order is MemoryOrdering.WEAK
    name, token = instr.op.name, frame.token(instr)
    return frame.accesses.note(pieces, name, token, writes=writes, weak=weak)


def _load(frame: Frame, instr: Instr) -> Results:
    order = frame.check_order(instr, *LOADS)
    (source,) = frame.group(instr, "source")
    mask, padding = frame.maybe(instr, "mask"), frame.maybe(instr, "padding")
    kind = tile_kind(instr.results[0].kind)
    _check_types(frame, kind.scalar, pointee(source))
    made = garbage(kind) if mask is None or padding is None else padding.copy()
    pieces = frame.launch.memory.pieces(frame.array(source), mask, kind.scalar)
    load(pieces, kind.scalar, made)
    return made, note(frame, instr, pieces, order, writes=False)


def _store(frame: Frame, instr: Instr) -> Results:
    order = frame.check_order(instr, *STORES)
    (destination,), (value,) = frame.group(instr, "destination"), frame.group(instr, "value")
    kind = tile_kind(value.kind)
    _check_types(frame, kind.scalar, pointee(destination))
    pointers, mask = frame.array(destination), frame.maybe(instr, "mask")
    pieces = frame.launch.memory.pieces(pointers, mask, kind.scalar)
    token = note(frame, instr, pieces, order, writes=True)
    store(pieces, kind.scalar, frame.array(value))
    return (token,)


def _check_types(frame: Frame, kind: Scalar, to: Scalar) -> None:
    if kind != to:
        frame.fail(f"{kind} at a pointer to {to}")


# --- atomics -------------------------------------------------------------------------------------

Update = Callable[[Array, Array], Array]
"""From what is in memory and the operand to what is put there."""
UPDATES: dict[AtomicMode, Update] = {
    AtomicMode.AND: np.bitwise_and, AtomicMode.OR: np.bitwise_or, AtomicMode.XOR: np.bitwise_xor,
    AtomicMode.ADD: np.add, AtomicMode.ADDF: np.add,
    AtomicMode.MAX: np.maximum, AtomicMode.MIN: np.minimum,
    AtomicMode.UMAX: lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
    AtomicMode.UMIN: lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
    AtomicMode.XCHG: lambda old, value: value,
}  # fmt: skip


def _check_mode(frame: Frame, mode: AtomicMode, kind: Scalar) -> None:
    if mode is AtomicMode.ADDF:
        fits = not kind.is_int and kind.width >= 16
    else:
        fits = kind.width in (32, 64) and (kind.is_int or mode is AtomicMode.XCHG)
    if not fits:
        frame.fail(f"{mode.name} of {kind}")


def _rmw(frame: Frame, instr: Instr) -> Results:
    (value,) = frame.group(instr, "arg")
    kind, mode = tile_kind(value.kind), AtomicMode(number_of(instr, "mode"))
    _check_mode(frame, mode, kind.scalar)
    update, arg = UPDATES[mode], frame.array(value)
    return _atomic(frame, instr, garbage(kind), lambda old, at: update(old, arg.reshape(-1)[at]))


def _cas(frame: Frame, instr: Instr) -> Results:
    (compare,), (value,) = frame.group(instr, "cmp"), frame.group(instr, "val")
    kind = tile_kind(value.kind).scalar
    if kind.width not in (32, 64):
        frame.fail(f"compare and swap of {kind}")
    wanted, new = frame.array(compare).reshape(-1), frame.array(value).reshape(-1)
    word = np.dtype(f"u{new.dtype.itemsize}")

    def swap(old: Array, at: Array) -> Array:
        same = old.view(word) == wanted[at].view(word)
        return np.where(same, new[at], old).astype(old.dtype)

    return _atomic(frame, instr, frame.array(compare).copy(), swap)


def _atomic(
    frame: Frame, instr: Instr, old: Array, update: Callable[[Array, Array], Array]
) -> Results:
    """Update elements one after the other where several are at one address, else all at once."""
    order = frame.check_order(instr, *ATOMIC)
    (pointers,), mask = frame.group(instr, "pointers"), frame.maybe(instr, "mask")
    kind = tile_kind(instr.results[0].kind).scalar
    _check_types(frame, kind, pointee(pointers))
    array = frame.array(pointers)
    pieces = frame.launch.memory.pieces(array, mask, kind)
    token = note(frame, instr, pieces, order, writes=True)
    for piece in pieces:
        for part in _apart(piece):
            load([part], kind, old)
            made = old.copy()
            made.reshape(-1)[part.lanes] = update(old.reshape(-1)[part.lanes], part.lanes)
            store([part], kind, made)
    return old, token


def _apart(piece: Piece) -> list[Piece]:
    """A piece in parts whose elements have addresses of their own."""
    if len(np.unique(piece.index)) == len(piece.index):
        return [piece]
    return [
        Piece(piece.allocation, piece.number, piece.lanes[i : i + 1], piece.index[i : i + 1],
              piece.itemsize)
        for i in range(len(piece.index))
    ]  # fmt: skip


RULES: dict[str, Rule] = {
    "offset": _offset, "ptr_to_int": _ptr_to_int, "int_to_ptr": _int_to_ptr,
    "ptr_to_ptr": _ptr_to_ptr, "load_ptr_tko": _load, "store_ptr_tko": _store,
    "atomic_rmw_tko": _rmw, "atomic_cas_tko": _cas,
}  # fmt: skip
