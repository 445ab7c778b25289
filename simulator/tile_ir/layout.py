"""Creation and rearrangement of tiles."""

from __future__ import annotations

import numpy as np

from tilewright.backend.tileir.bytecode.program import Bounded, DivBy, Instr, Same

from .machine import BlockFrame, Results, Rule, number_of
from .values import (
    POINTER,
    Array,
    TensorValue,
    UndefinedError,
    constant,
    integers,
    signed,
    tile_kind,
)


def _constant(frame: BlockFrame, instr: Instr) -> Results:
    data = instr.attrs["value"]
    assert isinstance(data, bytes), "a constant is its bytes"
    return (constant(data, tile_kind(instr.result.kind)),)


def _iota(frame: BlockFrame, instr: Instr) -> Results:
    kind = tile_kind(instr.result.kind)
    if len(kind.shape) != 1 or kind.size > 1 << kind.scalar.width:
        frame.fail(f"{kind} cannot count")
    return (integers(np.arange(kind.size), kind.scalar),)


def _reshape(frame: BlockFrame, instr: Instr) -> Results:
    (source,) = frame.arrays(instr)
    kind = tile_kind(instr.result.kind)
    if source.size != kind.size:
        frame.fail(f"{source.size} elements as {kind}")
    return (source.reshape(kind.shape),)


def _broadcast(frame: BlockFrame, instr: Instr) -> Results:
    (source,) = frame.arrays(instr)
    shape = tile_kind(instr.result.kind).shape
    if len(shape) != source.ndim or any(
        n not in (1, m) for n, m in zip(source.shape, shape, strict=True)
    ):
        frame.fail(f"{source.shape} does not repeat to {shape}")
    return (np.broadcast_to(source, shape),)


def _permute(frame: BlockFrame, instr: Instr) -> Results:
    (source,) = frame.arrays(instr)
    order = instr.attrs["permutation"]
    assert isinstance(order, tuple), "a permutation is a tuple"
    return (np.transpose(source, [n for n in order if isinstance(n, int)]),)


def _cat(frame: BlockFrame, instr: Instr) -> Results:
    return (np.concatenate(frame.arrays(instr), axis=number_of(instr, "dim")),)


def _places(
    frame: BlockFrame, whole: tuple[int, ...], part: tuple[int, ...], index: list[int]
) -> tuple[slice, ...]:
    """Return the slices of one part of a tile that is cut into equal parts."""
    for n, m, i in zip(whole, part, index, strict=True):
        if n % m or not 0 <= i < n // m:
            frame.fail(f"part {index} of {whole} cut into {part}")
    return tuple(slice(i * m, (i + 1) * m) for m, i in zip(part, index, strict=True))


def _extract(frame: BlockFrame, instr: Instr) -> Results:
    source, *index = instr.operands
    array, part = frame.array(source), tile_kind(instr.result.kind).shape
    places = _places(frame, array.shape, part, [frame.scalar(i) for i in index])
    return (array[places],)


def _insert(frame: BlockFrame, instr: Instr) -> Results:
    source, destination, *index = instr.operands
    part, whole = frame.array(source), frame.array(destination).copy()
    whole[_places(frame, whole.shape, part.shape, [frame.scalar(i) for i in index])] = part
    return (whole,)


def _select(frame: BlockFrame, instr: Instr) -> Results:
    condition, a, b = frame.arrays(instr)
    if not frame.by_lanes and not condition.shape == a.shape == b.shape:
        frame.fail(f"its operands have the shapes {condition.shape}, {a.shape}, {b.shape}")
    return (np.where(condition, a, b).astype(a.dtype, copy=False),)


# --- assumptions ---------------------------------------------------------------------------------


def _assume(frame: BlockFrame, instr: Instr) -> Results:
    value = frame.values[instr.operands[0]]
    array = value.base if isinstance(value, TensorValue) else frame.array(instr.operands[0])
    numbers = array["address"] if array.dtype == POINTER else signed(array)
    match instr.attrs["predicate"]:
        case DivBy(divisor):
            held = bool(np.all(numbers % divisor == 0))
        case Bounded(low, high):
            above = low is None or bool(np.all(numbers >= low))
            held = above and (high is None or bool(np.all(numbers <= high)))
        case Same(runs):
            held = _has_runs(numbers, runs)
        case other:
            frame.fail(f"{other!r} is no predicate")
    if not held:
        raise UndefinedError(f"{instr.attrs['predicate']} does not hold for {_some(numbers)}")
    return (value,)


def _has_runs(numbers: Array, runs: tuple[int, ...]) -> bool:
    for axis, run in enumerate(runs):
        first = np.repeat(np.take(numbers, range(0, numbers.shape[axis], run), axis), run, axis)
        if not np.array_equal(first, numbers):
            return False
    return True


def _some(numbers: Array) -> str:
    return ", ".join(str(n) for n in np.asarray(numbers).reshape(-1)[:4])


RULES: dict[str, Rule] = {
    "constant": _constant, "iota": _iota, "reshape": _reshape, "broadcast": _broadcast,
    "permute": _permute, "cat": _cat, "extract": _extract, "insert": _insert, "select": _select,
    "assume": _assume,
}  # fmt: skip
