"""Rules of SIMT kernels: threads, slices, shared memory, warps, inline PTX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ...base.dtypes import AnyDType, i32, u32
from ...base.errors import Code
from ...base.shapes import is_power_of_two, size
from ...ir.attrs import WARP_SIZE, ShuffleMode, ThreadCoordinate, VoteMode
from ...ir.core import Value
from ...ir.launch_expr import LaunchCheck, show
from ..semantics import promotion
from ..semantics.builder import SemanticBuilder
from ..semantics.launch_exprs import expression
from ..semantics.operands import inside, parts, place_in_run, run_at, stored_element
from ..semantics.simt import (
    along,
    place_in,
    place_in_tile,
    tile_at,
    tile_by_number,
    tiles_across,
    width_expression,
)
from ..semantics.values import (
    Cut,
    ElementRef,
    ElementsRef,
    RunRef,
    RunsRef,
    SharedRef,
    SliceRef,
    TileRef,
    TilesRef,
    describe,
)

# -------------------------------------------------------------------------------------------------
# Rules of the threads family: witnesses, and coordinates of a thread.


def _index_1d(em: SemanticBuilder) -> Value:
    _require_domain(em, "index_1d", 1)
    index = em.emit("index_1d")
    em.witnesses[index] = None
    return index


def _index_2d(em: SemanticBuilder, width: Any) -> Value:
    _require_domain(em, "index_2d", 2)
    value = em.index(width, "the width")
    known = expression(em, value)
    if known is None:
        em.fail(
            Code.WITNESS,
            "the width of an index must be uniform: the same in all threads",
            expected="a constant, a scalar parameter, or computed from those and from len(...)",
            got=describe(width),
            hint="pass the width as an argument of the kernel",
        )
    index = em.emit("index_2d", value)
    em.witnesses[index] = known
    return index


def _require_domain(em: SemanticBuilder, word: str, axes: int) -> None:
    """Reject an index that every launch of this kernel would make invalid."""
    em.require_threads(f"simt.{word}()")
    domain = len(em.signature.block or ())
    if domain != axes:
        em.fail(
            Code.WITNESS,
            f"simt.{word}() is not supported in a kernel of domain {domain}",
            expected=f"a kernel declared with @simt.kernel(domain={axes})",
            got=f"domain={domain}",
        )


def _row(em: SemanticBuilder, self: Any) -> Value:
    return _along(em, self, 1, "row")


def _col(em: SemanticBuilder, self: Any) -> Value:
    return _along(em, self, 0, "col")


def _along(em: SemanticBuilder, index: Value, axis: int, what: str) -> Value:
    if em.witnesses[index] is None:
        em.fail(
            Code.ATTRIBUTE,
            f"a witness of index_1d() has no `{what}`",
            expected="a witness of simt.index_2d(width)",
            got="one of simt.index_1d()",
        )
    return along(em, axis)


def _number(em: SemanticBuilder, what: ThreadCoordinate, axis: int) -> Value:
    return em.emit("place", what=what, axis=axis)


def _place(name: str, what: ThreadCoordinate) -> Callable[..., Value | int]:
    def rule(em: SemanticBuilder, axis: Any = 0) -> Value | int:
        em.require_threads(f"simt.{name}()")
        number = em.static_int(axis, "axis")
        if not 0 <= number < 3:
            em.fail(
                Code.RANK,
                f"threads have no axis {number}",
                expected="0 for x, 1 for y or 2 for z",
                got=str(number),
            )
        if what is ThreadCoordinate.BLOCK_SIZE and em.signature.exact_block:
            return em.signature.block_dims[number]
        return _number(em, what, number)

    return rule


# -------------------------------------------------------------------------------------------------
# Rules of the slices family: any index may read an element, only a witness may write one.

SINGLE = Cut()
"""The initial meaning of a witness: an element."""


def _read_slice(em: SemanticBuilder, self: SliceRef, index: Any) -> Value:
    """Return any element, checked."""
    at = em.index(index, f"an index of `{self.name}`")
    return em.emit("load_slice", self.value, at, inside(em, self, at))


def _read_own(em: SemanticBuilder, self: SliceRef, index: Any) -> Value:
    at = _witness(em, self, index, "read")
    return em.emit("load_slice", self.value, at, inside(em, self, at))


def _write_own(em: SemanticBuilder, self: SliceRef, index: Any, value: Any) -> None:
    if not self.mutable:
        _read_only(em, self)
    at = _witness(em, self, index, "written")
    stored = stored_element(em, self.name, self.type.dtype, value)
    em.op("store_slice", stored, self.value, at, inside(em, self, at))


def _elements(em: SemanticBuilder, self: SliceRef) -> ElementsRef:
    return ElementsRef(self)


def _read_any(em: SemanticBuilder, self: ElementsRef, index: Any) -> Value:
    em.require_unsafe(f"reading {describe(self)}")
    return _read_slice(em, self.slice, index)


def _write_any(em: SemanticBuilder, self: ElementsRef, index: Any, value: Any) -> None:
    em.require_unsafe(f"writing {describe(self)}")
    at = em.index(index, f"an index of `{self.name}`")
    stored = stored_element(em, self.name, self.slice.type.dtype, value)
    em.op("store_slice", stored, self.slice.value, at, inside(em, self.slice, at))


def _slice_at(em: SemanticBuilder, self: ElementsRef, index: Any) -> ElementRef:
    return ElementRef(self.slice, (em.index(index, f"an index of `{self.name}`"),))


def _runs(em: SemanticBuilder, self: SliceRef, size: Any) -> RunsRef:
    number = em.static_int(size, "the size of a run")
    if number < 1:
        em.fail(Code.SHAPE, "a run has at least one element", expected="1 or more", got=str(number))
    return RunsRef(self, number)


def _run(em: SemanticBuilder, self: RunsRef, index: Any) -> RunRef:
    if self.slice.mutable:
        witness = _witness(em, self.slice, index, "cut into runs", Cut((self.size,)))
        return run_at(em, self, witness)
    return run_at(em, self, em.index(index, f"an index of the runs of `{self.name}`"))


def _read_of_run(em: SemanticBuilder, self: RunRef, index: Any) -> Value:
    at, there = place_in_run(em, self, index)
    return em.emit("load_slice", self.runs.slice.value, at, there)


def _write_to_run(em: SemanticBuilder, self: RunRef, index: Any, value: Any) -> None:
    ref = self.runs.slice
    stored = _to_store(em, ref, value)
    at, there = place_in_run(em, self, index)
    em.op("store_slice", stored, ref.value, at, there)


def _tiles(em: SemanticBuilder, self: SliceRef, shape: Any, width: Any) -> TilesRef:
    numbers = [em.static_int(n, "an extent of a tile") for n in parts(shape)]
    if len(numbers) != 2 or min(numbers) < 1:
        em.fail(
            Code.SHAPE,
            "a tile of a slice has at least one row and one column",
            expected="two constants, 1 or more: (rows, columns)",
            got=describe(shape),
        )
    rows, columns = numbers
    value = em.index(width, "the width")
    known = expression(em, value)
    if known is None:
        em.fail(
            Code.WITNESS,
            "the width of a slice's rows must be uniform: the same in all threads",
            expected="a constant, a scalar parameter, or computed from those and from len(...)",
            got=describe(width),
            hint="pass the width as an argument of the kernel",
        )
    # Rows of nothing, or less, have no tiles.
    whole = em.emit("maxi", value, em.number(0, i32))
    return TilesRef(self, (rows, columns), whole, Cut((rows, columns), known))


def _width(em: SemanticBuilder, self: TilesRef) -> Value:
    return tiles_across(em, self)


def _tile(em: SemanticBuilder, self: TilesRef, index: Any) -> TileRef:
    if self.slice.mutable:
        witness = _witness(em, self.slice, index, "cut into tiles", self.cut)
        return tile_by_number(em, self, _of_tiles(em, self, witness))
    pair = parts(index)
    if len(pair) == 2:
        row, column = (em.index(n, f"an index of the tiles of `{self.name}`") for n in pair)
        return tile_at(em, self, row, column)
    at = em.index(index, f"an index of the tiles of `{self.name}`")
    return tile_by_number(em, self, _of_tiles(em, self, at))


def _of_tiles(em: SemanticBuilder, ref: TilesRef, index: Value) -> Value:
    """Return the number of a tile; the width of a 2D witness must be the tiles per row."""
    width = em.witnesses.get(index)
    if width is not None and width != (own := width_expression(em, ref)):
        em.fail(
            Code.WITNESS,
            f"{describe(ref)} are indexed by a witness of another width",
            expected=f"simt.index_2d({show(own)}), the `width` of the tiles",
            got=f"simt.index_2d({show(width)})",
        )
    return index


def _slice_shape(em: SemanticBuilder, self: TilesRef | TileRef) -> tuple[int, int]:
    return (self if isinstance(self, TilesRef) else self.tiles).shape


def _read_of_tile(em: SemanticBuilder, self: TileRef, index: Any) -> Value:
    at, there = place_in_tile(em, self, index)
    return em.emit("load_slice", self.tiles.slice.value, at, there)


def _write_to_tile(em: SemanticBuilder, self: TileRef, index: Any, value: Any) -> None:
    ref = self.tiles.slice
    stored = _to_store(em, ref, value)
    at, there = place_in_tile(em, self, index)
    em.op("store_slice", stored, ref.value, at, there)


def _to_store(em: SemanticBuilder, ref: SliceRef, value: Any) -> Value:
    """Convert a value for an element of a slice, after a check that it may be written."""
    if not ref.mutable:
        _read_only(em, ref)
    return stored_element(em, ref.name, ref.type.dtype, value)


def _read_only(em: SemanticBuilder, ref: SliceRef) -> NoReturn:
    em.fail(
        Code.READ_ONLY,
        f"{describe(ref)} is read-only",
        expected="a simt.DisjointSlice",
        got="a simt.Slice",
        hint="annotate the parameter simt.DisjointSlice and pass z.borrow_mut()",
    )


def _witness(em: SemanticBuilder, ref: SliceRef, index: Any, verb: str, cut: Cut = SINGLE) -> Value:
    if not isinstance(index, Value) or index not in em.witnesses:
        em.fail(
            Code.WITNESS,
            f"{describe(ref)} is {verb} at an index that is not a witness",
            expected="the result of simt.index_1d() or simt.index_2d(width), unchanged",
            got=describe(index),
            hint="each thread owns the element at its witness; read a simt.Slice at any index, or"
            f" use {ref.name}.elements in unsafe code",
        )
    known = em.cuts.setdefault(ref.name, cut)
    if known != cut:
        em.fail(
            Code.WITNESS,
            f"{describe(ref)} is divided in two ways, so threads could access the same element",
            expected=f"{known}, as before",
            got=str(cut),
        )
    width = em.witnesses[index]
    if width is not None:
        _same_width(em, ref, width)
    return index


def _same_width(em: SemanticBuilder, ref: SliceRef, width: Any) -> None:
    """Require one width of all witnesses: with two, two threads could have one index."""
    known = em.widths.setdefault(ref.name, width)
    if known != width:
        em.fail(
            Code.WITNESS,
            f"{describe(ref)} is indexed by witnesses of two widths",
            expected=f"simt.index_2d({show(known)})",
            got=f"simt.index_2d({show(width)})",
        )


def _slice_dtype(em: SemanticBuilder, self: SliceRef) -> Any:
    return self.type.dtype


# -------------------------------------------------------------------------------------------------
# Rules of the shared family: memory of a block, its elements, the barrier.


def shared(em: SemanticBuilder, dtype: Any, shape: Any) -> SharedRef:
    """Return an array of the block's own memory."""
    _require(em, "shared")
    elem = em.static_dtype(dtype)
    _refuse_varying(em, parts(shape))
    dims = tuple(em.static_int(n, f"shape[{k}]") for k, n in enumerate(parts(shape)))
    if not dims or min(dims) < 1:
        em.fail(
            Code.SHAPE,
            "shared memory has at least one element along each axis",
            expected="positive extents",
            got=str(dims),
        )
    number = em.shared_arrays
    em.shared_arrays += 1
    return SharedRef(em.emit("shared", number=number, dtype=elem, shape=dims))


def _refuse_varying(em: SemanticBuilder, extents: Sequence[Any]) -> None:
    varying = [n for n in extents if isinstance(n, Value)]
    if varying:
        em.fail(
            Code.NOT_STATIC,
            "the extents of shared memory must be compile-time constants",
            expected="constants",
            got=describe(varying[0]),
            hint="simt.block_dim() is a constant if the kernel declares its block, as in"
            " @simt.kernel(block=256); otherwise use simt.dynamic_shared",
        )


def dynamic_shared(em: SemanticBuilder, dtype: Any, *, offset: Any = 0) -> SharedRef:
    """Return the shared memory whose size the launch configuration sets."""
    _require(em, "dynamic_shared")
    elem = em.static_dtype(dtype)
    if isinstance(offset, int) and (offset < 0 or offset % elem.itemsize):
        em.fail(
            Code.SHAPE,
            f"an array of {elem.name} cannot begin at byte {offset}",
            expected=f"a multiple of {elem.itemsize}",
            got=str(offset),
        )
    _require_room(em, elem, offset)
    start = em.index(offset, "the offset in bytes")
    return SharedRef(em.emit("dynamic_shared", start, dtype=elem))


def _require_room(em: SemanticBuilder, elem: AnyDType, offset: Any) -> None:
    """Reject launches that leave no space for a single element."""
    asked = em.signature.shared_bytes
    needed = (offset if isinstance(offset, int) else 0) + elem.itemsize
    if asked < needed:
        message = f"there is no room for simt.dynamic_shared({elem.name})"
        expr = ("ge", ("given", "shared_mem_bytes", asked), ("const", needed))
        em.require_at_launch(LaunchCheck(expr, message, em.span))


def sync_threads(em: SemanticBuilder) -> None:
    """Emit the barrier of a block."""
    _require(em, "sync_threads")
    em.op("sync_threads")


def _require(em: SemanticBuilder, word: str) -> None:
    em.require_threads(f"simt.{word}()")
    em.require_unsafe(f"`simt.{word}`")


def _read_shared(em: SemanticBuilder, self: SharedRef, index: Any) -> Value:
    em.require_unsafe("reading shared memory")
    return em.emit("load_shared", self.value, place_in(em, self, index))


def _write(em: SemanticBuilder, self: SharedRef, index: Any, value: Any) -> None:
    em.require_unsafe("writing shared memory")
    stored = stored_element(em, self.name, self.type.dtype, value)
    em.op("store_shared", stored, self.value, place_in(em, self, index))


def _shared_at(em: SemanticBuilder, self: SharedRef, *index: Any) -> ElementRef:
    return ElementRef(self, place_in(em, self, index))


def _shared_shape(em: SemanticBuilder, self: SharedRef) -> tuple[int, ...]:
    shape = self.type.shape
    known = tuple(n for n in shape if n is not None)
    if len(known) != len(shape):
        em.fail(
            Code.NOT_STATIC,
            f"the extent of {describe(self)} is known only at launch",
            hint=f"use len({self.name})",
        )
    return known


def _shared_dtype(em: SemanticBuilder, self: SharedRef) -> Any:
    return self.type.dtype


# -------------------------------------------------------------------------------------------------
# Rules of the warps family: shuffles, votes, matches, barriers of lanes.

ALL_LANES = (1 << WARP_SIZE) - 1


def whole_warps(em: SemanticBuilder, width: Any = WARP_SIZE) -> None:
    """Require blocks of this many threads, or of a multiple of it."""
    em.require_threads("simt.whole_warps()")
    lanes, threads = _lanes(em, width), size(em.signature.block_dims)
    if threads % lanes == 0:
        return
    message = f"the blocks must consist of complete groups of {lanes} lanes"
    if em.signature.exact_block:
        got = f"{threads} threads"
        em.fail(Code.SHAPE, message, expected=f"a multiple of {lanes} threads", got=got)
    rest = ("mod", ("given", "threads of a block", threads), ("const", lanes))
    em.require_at_launch(LaunchCheck(("eq", rest, ("const", 0)), message, em.span))


def _lanes(em: SemanticBuilder, width: Any) -> int:
    """Return the number of adjacent lanes that work together."""
    lanes = em.static_int(width, "width")
    if not (is_power_of_two(lanes) and lanes <= WARP_SIZE):
        em.fail(
            Code.POWER_OF_TWO,
            f"lanes cooperate in groups of 1, 2, 4, 8, 16 or {WARP_SIZE} adjacent lanes",
            expected=f"a power of two up to {WARP_SIZE}",
            got=str(lanes),
        )
    return lanes


def sync_warp(em: SemanticBuilder, *, mask: Any = None) -> None:
    """Emit the barrier of a warp."""
    _require(em, "sync_warp")
    em.op("sync_warp", _mask(em, mask))


def _shuffle(
    em: SemanticBuilder, mode: ShuffleMode, value: Any, by: tuple[str, Any], width: Any, mask: Any
) -> Value:
    word = "shuffle" if mode is ShuffleMode.IDX else f"shuffle_{mode.value}"
    _require(em, word)
    what, number = by
    lanes = _lanes(em, width)
    given, lane = _scalar(em, value, "value"), em.index(number, what)
    return em.emit("shuffle", given, lane, _mask(em, mask), mode=mode, width=lanes)


def shuffle(
    em: SemanticBuilder, value: Any, lane: Any, *, width: Any = WARP_SIZE, mask: Any = None
) -> Value:
    """Return the value of a lane by its number."""
    return _shuffle(em, ShuffleMode.IDX, value, ("lane", lane), width, mask)


def shuffle_up(
    em: SemanticBuilder, value: Any, delta: Any, *, width: Any = WARP_SIZE, mask: Any = None
) -> Value:
    """Return the value of a lane below."""
    return _shuffle(em, ShuffleMode.UP, value, ("delta", delta), width, mask)


def shuffle_down(
    em: SemanticBuilder, value: Any, delta: Any, *, width: Any = WARP_SIZE, mask: Any = None
) -> Value:
    """Return the value of a lane above."""
    return _shuffle(em, ShuffleMode.DOWN, value, ("delta", delta), width, mask)


def shuffle_xor(
    em: SemanticBuilder, value: Any, bits: Any, *, width: Any = WARP_SIZE, mask: Any = None
) -> Value:
    """Return the value of the lane with flipped bits."""
    return _shuffle(em, ShuffleMode.XOR, value, ("bits", bits), width, mask)


def vote_all(em: SemanticBuilder, condition: Any, *, mask: Any = None) -> Value:
    """Return whether all lanes say yes."""
    _require(em, "vote_all")
    return em.emit("vote", em.condition(condition), _mask(em, mask), mode=VoteMode.ALL)


def vote_any(em: SemanticBuilder, condition: Any, *, mask: Any = None) -> Value:
    """Return whether any lane says yes."""
    _require(em, "vote_any")
    return em.emit("vote", em.condition(condition), _mask(em, mask), mode=VoteMode.ANY)


def ballot(em: SemanticBuilder, condition: Any, *, mask: Any = None) -> Value:
    """Return a word with a bit for each lane whose predicate is true."""
    _require(em, "ballot")
    return em.emit("ballot", em.condition(condition), _mask(em, mask))


def match_any(em: SemanticBuilder, value: Any, *, mask: Any = None) -> Value:
    """Return a word with a bit for each lane that has the same value."""
    _require(em, "match_any")
    return em.emit("match", _scalar(em, value, "value"), _mask(em, mask))


def _warp_place(word: str, what: ThreadCoordinate) -> Callable[..., Value]:
    def rule(em: SemanticBuilder) -> Value:
        em.require_threads(f"simt.{word}()")
        return em.emit("place", what=what)

    return rule


def _scalar(em: SemanticBuilder, x: Any, what: str) -> Value:
    value = em.numbers(x, what)
    if value.tile.rank:
        em.fail(Code.TYPE, f"{what} must be a scalar", expected="a number", got=str(value.type))
    return value


def _mask(em: SemanticBuilder, mask: Any) -> Value | None:
    """Return the lanes that take part; None means all."""
    if mask is None or mask == ALL_LANES:
        return None
    given = em.number(mask, u32) if promotion.is_weak(mask) else mask
    return em.scalar(given, u32, "mask")


# -------------------------------------------------------------------------------------------------
# Rules of the assembly family: inline PTX.

PLACE = re.compile(r"\$(\d+|\$)?")
BITS = (16, 32, 64)


def inline_ptx(em: SemanticBuilder, text: Any, *values: Any, result: Any = None) -> Any:
    """Emit inline PTX; return its results."""
    em.require_threads("simt.inline_ptx()")
    em.require_unsafe("`simt.inline_ptx`")
    if not isinstance(text, str):
        em.fail(Code.NOT_STATIC, "PTX must be a constant text", got=describe(text))
    dtypes = () if result is None else tuple(em.static_dtype(t) for t in parts(result))
    given = [_value(em, value) for value in values]
    for dtype in dtypes:
        _accept(em, dtype)
    _check_places(em, text, len(dtypes) + len(given))
    made = em.op("inline_ptx", given, text=text, dtypes=dtypes).results
    return made if isinstance(result, tuple | list) else made[0] if made else None


def _value(em: SemanticBuilder, x: Any) -> Value:
    value = em.numbers(x, "a value")
    _accept(em, value.tile.dtype)
    return value


def _accept(em: SemanticBuilder, dtype: AnyDType) -> None:
    if dtype.is_bool or dtype.bits not in BITS:
        em.fail(
            Code.DTYPE,
            f"inline PTX has no register class for {dtype.name}",
            expected="numbers of 16, 32 or 64 bits",
            got=dtype.name,
            hint="convert it: tw.i32(...)",
        )


def _check_places(em: SemanticBuilder, text: str, count: int) -> None:
    """Reject PTX whose operands the assembler would not find."""
    for found in PLACE.finditer(text):
        number = found.group(1)
        if number is None or (number != "$" and int(number) >= count):
            em.fail(
                Code.CALL,
                f"`{found.group()}` in this PTX refers to no operand",
                expected=f"$0 to ${count - 1}, results first" if count else "no operands",
                got=found.group(),
                hint="write $$ for a dollar",
            )


RULES: dict[str, Callable[..., Any]] = {
    "index_1d": _index_1d,
    "index_2d": _index_2d,
    "thread_idx": _place("thread_idx", ThreadCoordinate.THREAD),
    "block_idx": _place("block_idx", ThreadCoordinate.BLOCK),
    "block_dim": _place("block_dim", ThreadCoordinate.BLOCK_SIZE),
    "grid_dim": _place("grid_dim", ThreadCoordinate.GRID_SIZE),
    "Index.row": _row,
    "Index.col": _col,
    "Slice.__getitem__": _read_slice,
    "Slice.__setitem__": _write_own,
    "DisjointSlice.__getitem__": _read_own,
    "DisjointSlice.__setitem__": _write_own,
    "DisjointSlice.elements": _elements,
    "Elements.__getitem__": _read_any,
    "Elements.__setitem__": _write_any,
    "Elements.at": _slice_at,
    "Slice.runs": _runs,
    "DisjointSlice.runs": _runs,
    "Runs.__getitem__": _run,
    "Run.__getitem__": _read_of_run,
    "Run.__setitem__": _write_to_run,
    "Slice.tiles": _tiles,
    "DisjointSlice.tiles": _tiles,
    "Tiles.width": _width,
    "Tiles.shape": _slice_shape,
    "Tiles.__getitem__": _tile,
    "TileView.shape": _slice_shape,
    "TileView.__getitem__": _read_of_tile,
    "TileView.__setitem__": _write_to_tile,
    "Slice.dtype": _slice_dtype,
    "DisjointSlice.dtype": _slice_dtype,
    "shared": shared,
    "dynamic_shared": dynamic_shared,
    "sync_threads": sync_threads,
    "Shared.__getitem__": _read_shared,
    "Shared.__setitem__": _write,
    "Shared.at": _shared_at,
    "Shared.shape": _shared_shape,
    "Shared.dtype": _shared_dtype,
    "whole_warps": whole_warps,
    "sync_warp": sync_warp,
    "shuffle": shuffle,
    "shuffle_up": shuffle_up,
    "shuffle_down": shuffle_down,
    "shuffle_xor": shuffle_xor,
    "vote_all": vote_all,
    "vote_any": vote_any,
    "ballot": ballot,
    "match_any": match_any,
    "lane_id": _warp_place("lane_id", ThreadCoordinate.LANE),
    "warp_id": _warp_place("warp_id", ThreadCoordinate.WARP),
    "inline_ptx": inline_ptx,
}
