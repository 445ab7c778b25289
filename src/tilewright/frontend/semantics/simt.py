"""SIMT kernels at compile time: rows of slices, shared memory, and forbidden ops."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import i32
from ...base.errors import Code
from ...ir.attrs import Rounding, ThreadCoordinate
from ...ir.core import Block, Op, Value
from ...ir.opdef import Trait
from ...ir.types import DYNAMIC, SharedType, TileType
from .builder import SemanticBuilder
from .launch_exprs import expression
from .operands import parts, stored_element
from .values import ElementRef, SharedRef, TileRef, TilesRef, describe

# -------------------------------------------------------------------------------------------------
# Slices as rows of a matrix, divided into tiles: their number, and where one begins.


def along(em: SemanticBuilder, axis: int) -> Value:
    """Return a thread's number along an axis of the launch."""
    block, size, thread = (
        em.emit("place", what=what, axis=axis)
        for what in (ThreadCoordinate.BLOCK, ThreadCoordinate.BLOCK_SIZE, ThreadCoordinate.THREAD)
    )
    return em.emit("addi", em.emit("muli", block, size), thread)


def tiles_across(em: SemanticBuilder, ref: TilesRef) -> Value:
    """Return the number of full tiles in a row of tiles."""
    return _divided(em, ref.columns, em.number(ref.shape[1], i32))


def tiles_down(em: SemanticBuilder, ref: TilesRef) -> Value:
    """Return the number of full tiles in a column of tiles."""
    rows = _divided(em, em.emit("length", ref.slice.value), ref.columns)
    return _divided(em, rows, em.number(ref.shape[0], i32))


def tiles_in(em: SemanticBuilder, ref: TilesRef) -> Value:
    """Return the number of full tiles."""
    return em.emit("muli", tiles_down(em, ref), tiles_across(em, ref))


def _divided(em: SemanticBuilder, a: Value, b: Value) -> Value:
    return em.emit("divi", a, b, rounding=Rounding.NEG_INF)


def tile_by_number(em: SemanticBuilder, ref: TilesRef, index: Value) -> TileRef:
    """Return a tile by its number, counted along the rows, with one check for all elements."""
    there = em.emit("check_index", index, tiles_in(em, ref), slice=ref.name)
    across = tiles_across(em, ref)
    if em.witnesses.get(index) is not None:  # its rows are as long as those of tiles
        return _tile(em, ref, along(em, 1), along(em, 0), there)
    row = _divided(em, index, across)
    column = em.emit("subi", index, em.emit("muli", row, across))
    return _tile(em, ref, row, column, there)


def tile_at(em: SemanticBuilder, ref: TilesRef, row: Value, column: Value) -> TileRef:
    """Return a tile by its row and its column."""
    there = [
        em.emit("check_index", index, count, slice=ref.name)
        for index, count in ((row, tiles_down(em, ref)), (column, tiles_across(em, ref)))
    ]
    return _tile(em, ref, row, column, em.emit("andi", *there))


def _tile(em: SemanticBuilder, ref: TilesRef, row: Value, column: Value, there: Value) -> TileRef:
    rows, columns = (em.number(n, i32) for n in ref.shape)
    above = em.emit("muli", em.emit("muli", row, rows), ref.columns)
    return TileRef(ref, em.emit("addi", above, em.emit("muli", column, columns)), there)


def place_in_tile(em: SemanticBuilder, ref: TileRef, index: Any) -> tuple[Value, Value]:
    """Return an element of a tile: its index in the slice, and whether it is there."""
    numbers = parts(index)
    if len(numbers) != 2:
        em.fail(
            Code.RANK,
            f"{describe(ref)} has rows and columns",
            expected=f"two indices: {ref.name}[row, column]",
            got=describe(index),
        )
    there = ref.there
    places: list[Value] = []
    for number, size, axis in zip(numbers, ref.tiles.shape, ("row", "column"), strict=True):
        if isinstance(number, int) and not 0 <= number < size:
            em.fail(
                Code.INDEX,
                f"{describe(ref)} has no {axis} {number}",
                expected=f"0 to {size - 1}",
                got=str(number),
            )
        places.append(em.index(number, f"a {axis} of `{ref.name}`"))
        if not isinstance(number, int):
            inner = em.emit("check_index", places[-1], em.number(size, i32), slice=ref.name)
            there = em.emit("andi", there, inner)
    below = em.emit("muli", places[0], ref.tiles.columns)
    return em.emit("addi", em.emit("addi", ref.start, below), places[1]), there


def width_expression(em: SemanticBuilder, ref: TilesRef) -> Any:
    """Return the number of tiles in a row of tiles, as a launch expression."""
    return expression(em, tiles_across(em, ref))


# -------------------------------------------------------------------------------------------------
# Shared memory: element addresses, updates, total size.

MOST_STATIC = 48 << 10
"""Bytes of arrays in a block's memory; what a launch asks for may be more."""


def place_in(em: SemanticBuilder, ref: SharedRef, index: Any) -> tuple[Value, ...]:
    """Return the index of an element, one number for each axis; constant ones are inside."""
    given, shape = parts(index), ref.type.shape
    if len(given) != len(shape):
        em.fail(
            Code.RANK,
            f"{describe(ref)} has {len(shape)} axes",
            expected=f"{len(shape)} indices",
            got=str(len(given)),
        )
    for k, (i, n) in enumerate(zip(given, shape, strict=True)):
        if isinstance(i, int) and n is not None and not 0 <= i < n:
            em.fail(
                Code.INDEX,
                f"{describe(ref)} has no element {i} along axis {k}",
                expected=f"0 to {n - 1}",
                got=str(i),
            )
    return tuple(em.index(i, f"an index of `{ref.name}`") for i in given)


def length_of(em: SemanticBuilder, ref: SharedRef) -> int | Value:
    """Return the extent along the first axis."""
    first = ref.type.shape[0]
    return em.emit("shared_length", ref.value) if first is None else first


def update_element(
    em: SemanticBuilder,
    element: ElementRef,
    values: tuple[Any, ...],
    mask: Any,
    op: str,
    **attrs: Any,
) -> Value:
    """Emit an atomic update of an element; return the old value."""
    if mask is not None:
        em.fail(
            Code.TYPE,
            "atomics on shared memory take no mask",
            expected="None",
            got=describe(mask),
            hint="write `if condition:` around it",
        )
    memory = element.memory
    assert isinstance(memory, SharedRef), "elements of slices are pointed to"
    given = [stored_element(em, memory.name, memory.type.dtype, value) for value in values]
    return em.emit(op, memory.value, *given, element.index, **attrs)


def refuse_large_shared(em: SemanticBuilder, body: Block) -> None:
    """Reject arrays that together have no room in a block's memory."""
    arrays: dict[int, SharedType] = {}
    total = 0
    for op in body.walk():
        for result in op.results:
            kind = result.type
            if not isinstance(kind, SharedType) or kind.number in (DYNAMIC, *arrays):
                continue
            arrays[kind.number] = kind
            total += kind.nbytes
            if total > MOST_STATIC:
                em.fail(
                    Code.RESOURCES,
                    "the arrays in shared memory are too large",
                    span=op.span,
                    expected=f"at most {MOST_STATIC} bytes in all",
                    got=f"{total} bytes with `{result.name or 'this one'}`",
                    hint="use simt.dynamic_shared(dtype) and"
                    " .launch_config(shared_mem_bytes=...), which may ask for more",
                )


# -------------------------------------------------------------------------------------------------
# Ops that a SIMT kernel must not contain: those of tile kernels.


def refuse_tiles(em: SemanticBuilder, body: Block) -> None:
    """Reject the first op that is not about one thread."""
    for op in body.walk():
        if not op.has(Trait.OF_THREAD):
            em.fail(
                Code.CALL,
                f"`{op.name}` is not supported in a SIMT kernel",
                span=op.span,
                expected="operations of one thread: scalars, and elements of slices",
                got="an operation of tile kernels",
                hint="write a tile kernel: @tw.entry",
            )
        if any(_is_tile(op, i) for i in range(len(op.results))):
            em.fail(
                Code.CALL,
                "a SIMT kernel has no tiles",
                span=op.span,
                expected="scalars",
                got=str(op.results[0].type),
                hint="each thread works on its own element; or write a tile kernel: @tw.entry",
            )


def _is_tile(op: Op, number: int) -> bool:
    kind = op.results[number].type
    return isinstance(kind, TileType) and kind.rank > 0
