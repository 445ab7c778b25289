"""Rules of the slices family: elements read by any index, written by a witness alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...base.dtypes import i32
from ...base.errors import Code
from ...ir.core import Value
from ...ir.launch_expr import show
from ..describe import describe
from ..elements import inside, place_in_run, run_at, stored_element
from ..emit import Emitter
from ..launch_expr_builder import expression
from ..matrix import place_in_tile, tile_at, tile_by_number, tiles_across, width_expression
from ..operands import parts
from ..values import Cut, ElementRef, ElementsRef, RunRef, RunsRef, SliceRef, TileRef, TilesRef

SINGLE = Cut()
"""What a witness stands for at first: an element."""


def _read(em: Emitter, self: SliceRef, index: Any) -> Value:
    """Any element, checked."""
    at = em.index(index, f"an index of `{self.name}`")
    return em.emit("load_slice", self.value, at, inside(em, self, at))


def _read_own(em: Emitter, self: SliceRef, index: Any) -> Value:
    at = _witness(em, self, index, "read")
    return em.emit("load_slice", self.value, at, inside(em, self, at))


def _write_own(em: Emitter, self: SliceRef, index: Any, value: Any) -> None:
    if not self.mutable:
        _read_only(em, self)
    at = _witness(em, self, index, "written")
    stored = stored_element(em, self.name, self.type.dtype, value)
    em.op("store_slice", stored, self.value, at, inside(em, self, at))


def _elements(em: Emitter, self: SliceRef) -> ElementsRef:
    return ElementsRef(self)


def _read_any(em: Emitter, self: ElementsRef, index: Any) -> Value:
    em.require_unsafe(f"reading {describe(self)}")
    return _read(em, self.slice, index)


def _write_any(em: Emitter, self: ElementsRef, index: Any, value: Any) -> None:
    em.require_unsafe(f"writing {describe(self)}")
    at = em.index(index, f"an index of `{self.name}`")
    stored = stored_element(em, self.name, self.slice.type.dtype, value)
    em.op("store_slice", stored, self.slice.value, at, inside(em, self.slice, at))


def _at(em: Emitter, self: ElementsRef, index: Any) -> ElementRef:
    return ElementRef(self.slice, (em.index(index, f"an index of `{self.name}`"),))


def _runs(em: Emitter, self: SliceRef, size: Any) -> RunsRef:
    number = em.static_int(size, "the size of a run")
    if number < 1:
        em.fail(Code.SHAPE, "a run has at least one element", expected="1 or more", got=str(number))
    return RunsRef(self, number)


def _run(em: Emitter, self: RunsRef, index: Any) -> RunRef:
    if self.slice.mutable:
        witness = _witness(em, self.slice, index, "cut into runs", Cut((self.size,)))
        return run_at(em, self, witness)
    return run_at(em, self, em.index(index, f"an index of the runs of `{self.name}`"))


def _read_of_run(em: Emitter, self: RunRef, index: Any) -> Value:
    at, there = place_in_run(em, self, index)
    return em.emit("load_slice", self.runs.slice.value, at, there)


def _write_to_run(em: Emitter, self: RunRef, index: Any, value: Any) -> None:
    ref = self.runs.slice
    stored = _to_store(em, ref, value)
    at, there = place_in_run(em, self, index)
    em.op("store_slice", stored, ref.value, at, there)


def _tiles(em: Emitter, self: SliceRef, shape: Any, width: Any) -> TilesRef:
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


def _width(em: Emitter, self: TilesRef) -> Value:
    return tiles_across(em, self)


def _tile(em: Emitter, self: TilesRef, index: Any) -> TileRef:
    if self.slice.mutable:
        witness = _witness(em, self.slice, index, "cut into tiles", self.cut)
        return tile_by_number(em, self, _of_tiles(em, self, witness))
    pair = parts(index)
    if len(pair) == 2:
        row, column = (em.index(n, f"an index of the tiles of `{self.name}`") for n in pair)
        return tile_at(em, self, row, column)
    at = em.index(index, f"an index of the tiles of `{self.name}`")
    return tile_by_number(em, self, _of_tiles(em, self, at))


def _of_tiles(em: Emitter, ref: TilesRef, index: Value) -> Value:
    """A number of a tile; a witness of rows and columns has as many columns as there are tiles."""
    width = em.witnesses.get(index)
    if width is not None and width != (own := width_expression(em, ref)):
        em.fail(
            Code.WITNESS,
            f"{describe(ref)} are indexed by a witness of another width",
            expected=f"simt.index_2d({show(own)}), the `width` of the tiles",
            got=f"simt.index_2d({show(width)})",
        )
    return index


def _shape(em: Emitter, self: TilesRef | TileRef) -> tuple[int, int]:
    return (self if isinstance(self, TilesRef) else self.tiles).shape


def _read_of_tile(em: Emitter, self: TileRef, index: Any) -> Value:
    at, there = place_in_tile(em, self, index)
    return em.emit("load_slice", self.tiles.slice.value, at, there)


def _write_to_tile(em: Emitter, self: TileRef, index: Any, value: Any) -> None:
    ref = self.tiles.slice
    stored = _to_store(em, ref, value)
    at, there = place_in_tile(em, self, index)
    em.op("store_slice", stored, ref.value, at, there)


def _to_store(em: Emitter, ref: SliceRef, value: Any) -> Value:
    """A value for an element of a slice, which must be one that may be written."""
    if not ref.mutable:
        _read_only(em, ref)
    return stored_element(em, ref.name, ref.type.dtype, value)


def _read_only(em: Emitter, ref: SliceRef) -> NoReturn:
    em.fail(
        Code.READ_ONLY,
        f"{describe(ref)} is read-only",
        expected="a simt.DisjointSlice",
        got="a simt.Slice",
        hint="annotate the parameter simt.DisjointSlice and pass z.borrow_mut()",
    )


def _witness(em: Emitter, ref: SliceRef, index: Any, verb: str, cut: Cut = SINGLE) -> Value:
    if not isinstance(index, Value) or index not in em.witnesses:
        em.fail(
            Code.WITNESS,
            f"{describe(ref)} is {verb} at an index that is no witness",
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


def _same_width(em: Emitter, ref: SliceRef, width: Any) -> None:
    """Two threads may have one index if their rows have different widths."""
    known = em.widths.setdefault(ref.name, width)
    if known != width:
        em.fail(
            Code.WITNESS,
            f"{describe(ref)} is indexed by witnesses of two widths",
            expected=f"simt.index_2d({show(known)})",
            got=f"simt.index_2d({show(width)})",
        )


def _dtype(em: Emitter, self: SliceRef) -> Any:
    return self.type.dtype


RULES: dict[str, Callable[..., Any]] = {
    "Slice.__getitem__": _read,
    "Slice.__setitem__": _write_own,
    "DisjointSlice.__getitem__": _read_own,
    "DisjointSlice.__setitem__": _write_own,
    "DisjointSlice.elements": _elements,
    "Elements.__getitem__": _read_any,
    "Elements.__setitem__": _write_any,
    "Elements.at": _at,
    "Slice.runs": _runs,
    "DisjointSlice.runs": _runs,
    "Runs.__getitem__": _run,
    "Run.__getitem__": _read_of_run,
    "Run.__setitem__": _write_to_run,
    "Slice.tiles": _tiles,
    "DisjointSlice.tiles": _tiles,
    "Tiles.width": _width,
    "Tiles.shape": _shape,
    "Tiles.__getitem__": _tile,
    "TileView.shape": _shape,
    "TileView.__getitem__": _read_of_tile,
    "TileView.__setitem__": _write_to_tile,
    "Slice.dtype": _dtype,
    "DisjointSlice.dtype": _dtype,
}
PROPERTIES: frozenset[str] = frozenset((
    "Slice.dtype", "DisjointSlice.dtype", "DisjointSlice.elements",
    "Tiles.width", "Tiles.shape", "TileView.shape",
))  # fmt: skip
