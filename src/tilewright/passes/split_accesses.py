"""Split accesses of tiles whose parts are used apart, into accesses of the parts.

Goals: to take a tile apart, or to join two, threads exchange all elements through shared memory.
Loads and stores of the parts need no exchange. For targets with threads; before tokens, which
the new accesses get as all others.

Non-goals: parts at an index known at run time; views with overlapping tiles, with frames, or of
rows by their numbers; tiles that something else uses whole.

Rules (%i counts tiles; parts are half as long, so there are twice as many of them):

1. A loaded tile of which only parts are used, converted or not.
       %t = load_view %v, %i; %a = extract %t, 0; %b = extract %t, 1
    -> %a = load_view %w, 2 * %i; %b = load_view %w, 2 * %i + 1
2. A stored tile that was joined of two, and converted or not.
       %t = cat %a, %b; store_view %t, %v, %i
    -> store_view %a, %w, 2 * %i; store_view %b, %w, 2 * %i + 1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..analysis.structure import Structure, structure, use_counts
from ..base.dtypes import i32, int_range
from ..base.shapes import Shape
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Func, Op, Value
from ..ir.ops.elementwise import FTOF
from ..ir.ops.layout import CAT, CONSTANT, EXTRACT
from ..ir.ops.memory import LOAD_VIEW, STORE_VIEW
from ..ir.types import ViewType

LEAST_BYTES = 64
"""The least bytes of a row of a part: shorter rows waste a part of each memory transaction."""


def split_accesses(func: Func) -> Func:
    """Split accesses wherever the rules above allow."""
    return rewrite(func, _AccessSplitter(func).visit)


class _AccessSplitter:
    def __init__(self, func: Func) -> None:
        self.nesting: Structure = structure(func)
        self.uses = use_counts(func)
        self.users: dict[Value, list[Op]] = {}
        for op in func.walk():
            for value in op.operands:
                self.users.setdefault(value, []).append(op)
        self.loads = {
            op: shape
            for op in func.walk()
            if op.is_a(LOAD_VIEW) and (shape := self.part_of(op)) is not None
        }
        """The shape of the parts of each tile that is loaded in parts."""
        self.converted: dict[Value, Op] = {}
        """The load of each tile that is only converted before parts of it are used."""
        for op in self.loads:
            self.converted[op.result] = op
            self.converted.update((made.result, op) for made in self.conversions(op.result))

    # --- which accesses ------------------------------------------------------------------------

    def part_of(self, load: Op) -> Shape | None:
        """Return the shape of the parts that alone are used of a loaded tile, or None."""
        ends = [user for made in self.tiles(load.result) for user in self.users.get(made, [])]
        parts = [user for user in ends if user.is_a(EXTRACT)]
        shapes = {user.result.tile.shape for user in parts}
        if len(shapes) != 1 or any(not user.is_a(EXTRACT, FTOF) for user in ends):
            return None
        (shape,) = shapes
        if any(self.number(index) is None for user in parts for index in user.all("index")):
            return None
        return shape if _can_be_cut(load.one("view").view, shape) else None

    def tiles(self, value: Value) -> list[Value]:
        """Return a loaded tile, and what it is converted to."""
        return [value, *(op.result for op in self.conversions(value))]

    def conversions(self, value: Value) -> list[Op]:
        """Return the conversions of a tile to other floats."""
        return [op for op in self.users.get(value, []) if op.is_a(FTOF)]

    def number(self, value: Value) -> int | None:
        """Return a constant, or None."""
        maker = self.nesting.definer(value)
        if maker is None or not maker.is_a(CONSTANT):
            return None
        return int(maker.attrs["value"])

    def joined(self, store: Op) -> Op | None:
        """Return what joined a stored tile of two alike, if that alone uses it."""
        value = store.one("value")
        maker = self.nesting.definer(value)
        if maker is not None and maker.is_a(FTOF) and self.uses[value] == 1:
            value = maker.operands[0]
            maker = self.nesting.definer(value)
        if maker is None or not maker.is_a(CAT) or self.uses[value] != 1:
            return None
        lhs, rhs = maker.operands
        if lhs.type != rhs.type or self.nesting.block[maker] is not self.nesting.block[store]:
            return None
        return maker if _can_be_cut(store.one("view").view, lhs.tile.shape) else None

    # --- the rewriting -------------------------------------------------------------------------

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        """Append accesses of parts for an access of a tile."""
        if op.is_a(EXTRACT) and op.operands[0] in self.converted:
            return (self.load(r, op, self.converted[op.operands[0]]),)
        if op in self.loads or (op.is_a(FTOF) and op.operands[0] in self.converted):
            return op.results
        if op.is_a(STORE_VIEW):
            cat = self.joined(op)
            return None if cat is None else self.store(r, op, cat)
        return None

    def load(self, r: Rewriter, part: Op, load: Op) -> Value:
        """Append the load of one part, and its conversion."""
        shape = part.result.tile.shape
        places = [self.number(index) or 0 for index in part.all("index")]
        view, index = self.place(r, load, shape, places)
        rest = [] if load.maybe("guard") is None else [r.get(load.one("guard"))]
        loaded = r.op("load_view", view, index, rest, **load.attrs).result
        source = part.operands[0]
        if source is load.result:
            return loaded
        maker = self.nesting.definer(source)
        assert maker is not None, "a tile that is not loaded is converted"
        return r.op("ftof", loaded, **maker.attrs).result

    def store(self, r: Rewriter, store: Op, cat: Op) -> Sequence[Value]:
        """Append two stores for one."""
        maker = self.nesting.definer(store.one("value"))
        axis = cat.attrs["axis"]
        for k, half in enumerate(r.many(cat.operands)):
            value = half
            if maker is not None and maker.is_a(FTOF):
                value = r.op("ftof", half, **maker.attrs).result
            places = [k if at == axis else 0 for at in range(half.tile.rank)]
            view, index = self.place(r, store, half.tile.shape, places)
            rest = [] if store.maybe("guard") is None else [r.get(store.one("guard"))]
            r.op("store_view", value, view, index, rest, **store.attrs)
        return ()

    def place(
        self, r: Rewriter, access: Op, shape: Shape, places: Sequence[int]
    ) -> tuple[Value, list[Value]]:
        """Append the view in which parts are tiles, and the index of one part."""
        given = access.one("view")
        view: ViewType = given.view
        maker = self.nesting.definer(given)
        assert maker is not None, "views are made by make_view"
        attrs: dict[str, Any] = {**maker.attrs, "tile": shape}
        made = r.op("make_view", r.get(maker.one("tensor")), **attrs)
        index: list[Value] = []
        for whole, length, each, part in zip(
            view.tile, shape, access.all("index"), places, strict=True
        ):
            index.append(_index(r, r.get(each), whole // length, part))
        return made.result, index


def _index(r: Rewriter, index: Value, parts: int, part: int) -> Value:
    """Append the index of a part: of a tile beyond any tensor, one that is as well."""
    if parts == 1:
        return index
    most = r.constant(int_range(i32)[1] // parts - 1, i32)
    first = r.emit("muli", r.emit("mini", index, most), r.constant(parts, i32))
    return first if part == 0 else r.emit("addi", first, r.constant(part, i32))


def _can_be_cut(view: ViewType, shape: Shape) -> bool:
    """Return whether parts of tiles are tiles of another view."""
    if view.frame is not None or view.sparse is not None or view.step not in (None, view.tile):
        return False
    if view.tensor.dtype.itemsize * shape[-1] < LEAST_BYTES:
        return False
    # Of a tile of two elements or more in each part, none begins at the last integer.
    return all(whole == part or part > 1 for whole, part in zip(view.tile, shape, strict=True))
