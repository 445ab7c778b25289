"""Features of a kernel that heuristics use: its products, reductions, tiles and rows.

Nothing is decided here, and nothing depends on the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ...analysis.structure import Structure, structure
from ...base.cuda_abi import POINTER_ALIGNMENT
from ...ir.core import Func, Op, Value
from ...ir.opdef import Effect, OpDef, Trait
from ...ir.ops.control import BLOCK_ID, FOR, TILE_INDEX
from ...ir.ops.layout import PERMUTE, RESHAPE
from ...ir.ops.matmul import MMAF, PRODUCTS
from ...ir.ops.reduction import REDUCE, SCAN
from ...ir.signature import OutputSpec, TensorSpec
from ...ir.types import TileType, ViewType

REDUCTIONS = (REDUCE, SCAN)
ANEW = (*REDUCTIONS, *PRODUCTS)
"""Ops whose results lie in threads as they will, wherever their operands lay."""
ACCESSES = ("load_view", "store_view", "atomic_red_view")
MEMORY = Effect.READ | Effect.WRITE
ANY = -1
"""Stands for any grid axis."""


def plain(op: Op) -> str:
    """Return the name of an op without the suffix of its variant with tokens."""
    return op.name.removesuffix("_tko")


class Traits:
    """The features of one kernel that heuristics depend on; most are computed on demand."""

    def __init__(self, func: Func) -> None:
        self.func = func
        self.nesting: Structure = structure(func)
        self.products = [op for op in func.walk() if op.is_a(*PRODUCTS)]
        self.accesses = [op for op in func.walk() if plain(op) in ACCESSES]
        self.loads = [op for op in self.accesses if plain(op) == "load_view"]

    # --- products ------------------------------------------------------------------------------

    @cached_property
    def accumulator(self) -> int:
        """The elements of the largest product that are in registers at once."""
        return max(op.result.tile.size * _accumulators(op) for op in self.products)

    @cached_property
    def chain(self) -> int:
        """The elements of all products of one iteration, if there are several; else 0."""
        return max((sum(sizes) for sizes in self._rounds() if len(sizes) > 1), default=0)

    def _rounds(self) -> list[list[int]]:
        """Return the sizes of the products that are computed together, as in one iteration."""
        sizes: dict[Op | None, list[int]] = {}
        for op in self.products:
            sizes.setdefault(self.nesting.parent.get(op), []).append(op.result.tile.size)
        return list(sizes.values())

    @cached_property
    def loops_around_products(self) -> int:
        """The number of loops around the innermost product."""
        return max(map(self.loops_around, self.products), default=0)

    def loops_around(self, op: Op) -> int:
        """Return the number of loops around an op."""
        return sum(outer.has(Trait.LOOP) for outer in self.nesting.ancestors(op))

    @cached_property
    def computes_operands(self) -> bool:
        """Whether an operand of a product in a loop is computed there, such as a converted one."""
        values = [v for op in self.products for v in (op.one("lhs"), op.one("rhs"))]
        return any(self._is_computed(value) for value in values)

    def _is_computed(self, value: Value) -> bool:
        maker = self.nesting.definer(value)
        while maker is not None and maker.is_a(PERMUTE, RESHAPE):
            maker = self.nesting.definer(maker.operands[0])
        if maker is None or plain(maker) in ("load_view", "load_ptr"):
            return False
        return self.loops_around(maker) > 0

    # --- rows ----------------------------------------------------------------------------------

    @cached_property
    def reductions(self) -> int:
        """How many reductions and scans there are."""
        return sum(op.is_a(*REDUCTIONS) for op in self.func.walk())

    @cached_property
    def remakes(self) -> bool:
        """Whether a tile is loaded or converted more than once, as `rematerialize` makes it."""
        ops = [op for op in self.func.body.ops if plain(op) in ("load_view", "ftof", "itof")]
        made = [(op.operands[0], op.all("index") if len(op.operands) > 1 else ()) for op in ops]
        return len(set(made)) < len(made)

    @cached_property
    def largest_tile(self) -> int:
        """The most elements that are loaded or stored at once."""
        return max((kind.size for kind in self._tile_types()), default=0)

    @cached_property
    def largest_bytes(self) -> int:
        """The bytes in memory of the largest tile that is loaded or stored at once."""
        return max((kind.size * kind.dtype.itemsize for kind in self._tile_types()), default=0)

    @cached_property
    def has_rows(self) -> bool:
        """Whether a largest tile has several rows."""
        most = self.largest_tile
        return any(kind.shape[-1] < most for kind in self._tile_types() if kind.size == most)

    def _tile_types(self) -> list[TileType]:
        """Return the types of all tiles that are loaded or stored."""
        values = [v for op in self.accesses for v in (*op.results, *op.operands)]
        return [v.type for v in values if isinstance(v.type, TileType)]

    # --- memory --------------------------------------------------------------------------------

    @cached_property
    def loaded_bytes(self) -> int | None:
        """The bytes that a block loads in all; None if it loads in a loop.

        Windows of one tensor, such as the neighbours in a stencil, count once: they overlap, so
        that most elements of all but one come from the cache.
        """
        loads = [op for op in self.func.walk() if plain(op) in ("load_view", "load_ptr")]
        if any(map(self.loops_around, loads)):
            return None
        tiles = {_window(op) or op: op.results[0].tile for op in loads}
        return sum(tile.size * tile.dtype.itemsize for tile in tiles.values())

    @cached_property
    def stored_bytes(self) -> int:
        """The bytes of all tiles that are stored, each once."""
        stores = [op for op in self.func.walk() if plain(op) in ("store_view", "store_ptr")]
        tiles = [op.one("value").tile for op in stores]
        return sum(tile.size * tile.dtype.itemsize for tile in tiles)

    @cached_property
    def load_depth(self) -> int:
        """The most loads of which each needs the result of the one before, such as an index."""
        depths: dict[Value, int] = {}
        most = 0
        for op in self.func.walk():
            before = max((depths.get(v, 0) for v in op.operands), default=0)
            here = before + (plain(op) in ("load_view", "load_ptr"))
            depths.update(dict.fromkeys(op.results, here))
            most = max(most, here)
        return max(most, 1)

    @cached_property
    def is_bulk(self) -> bool:
        """Whether bulk copies bring all that is multiplied: rows must begin at 16 bytes.

        What is loaded for the result alone, such as a scale of each row, does not matter.
        """
        return all(
            self.is_aligned(op) and op.one("view").view.sparse is None for op in self.multiplied
        )

    @cached_property
    def multiplied(self) -> frozenset[Op]:
        """The loads whose elements reach an operand of a product, through whatever computes it."""
        operands = [v for op in self.products for v in (op.one("lhs"), op.one("rhs"))]
        return self._loads_behind(operands, PRODUCTS)

    def is_aligned(self, op: Op) -> bool:
        """Return whether all rows of an access begin at multiples of 16 bytes."""
        spec = self.spec_of(op)
        return spec is not None and _is_aligned(spec)

    def is_in_vectors(self, op: Op) -> bool:
        """Return whether all rows of an access begin and end at multiples of 16 bytes."""
        spec = self.spec_of(op)
        if spec is None or not _is_aligned(spec):
            return False
        known, vector = spec.facts.extents, POINTER_ALIGNMENT // spec.dtype.itemsize
        return bool(known) and known[-1] >= vector

    def spec_of(self, op: Op) -> TensorSpec | OutputSpec | None:
        """Return the parameter that an access is of; None for memory of other origin."""
        name: str | None = op.one("view").view.tensor.param
        found = [spec for spec in self.func.signature.params if spec.name == name]
        return next((s for s in found if isinstance(s, TensorSpec | OutputSpec)), None)

    @cached_property
    def reshaped_loads(self) -> frozenset[Op]:
        """The loads whose tiles are reshaped as they are, beyond axes of extent 1, or may be."""
        reshapes = [op for op in self.func.walk() if op.is_a(RESHAPE) and _rearranges(op)]
        return self._loads_behind([op.operands[0] for op in reshapes], ANEW)

    @cached_property
    def gathering(self) -> frozenset[Op]:
        """The loads of places along a row, from where single elements are loaded."""
        places: list[Value] = []
        for op in self.loads:
            view: ViewType = op.one("view").view
            sparse = view.sparse
            if sparse is not None and view.tensor.strides[view.dim_map[sparse]] == 1:
                places.append(op.all("index")[sparse])
        return self._loads_behind(places, ANEW)

    def _loads_behind(self, values: Sequence[Value], ends: Sequence[OpDef]) -> frozenset[Op]:
        """Return the loads that values are computed from, without a look behind `ends`."""
        pending = list(values)
        seen, found = set[Value](), set[Op]()
        while pending:
            value = pending.pop()
            maker = self.nesting.owner.get(value)
            if value in seen or maker is None:
                continue
            seen.add(value)
            if plain(maker) == "load_view":
                found.add(maker)
            elif not maker.is_a(*ends):
                pending += _given(maker)
        return frozenset(found)

    # --- the grid ------------------------------------------------------------------------------

    @cached_property
    def nearest_axis(self) -> int | None:
        """The grid axis along which blocks access what is side by side in memory, if all do.

        None also if an index depends on memory: what gathers read again is rather in the cache if
        blocks first take the same part of each row.
        """
        touching = [op for op in self.func.walk() if op.defn.effects & MEMORY]
        if any(plain(op) not in ACCESSES for op in touching):
            return None
        found = {self._nearest_axis(op) for op in self.accesses} - {ANY}
        return found.pop() if len(found) == 1 else None

    def _nearest_axis(self, op: Op) -> int | None:
        """Return the grid axis along which an access moves least; ANY if it has less than two."""
        view: ViewType = op.one("view").view
        strides = view.tensor.strides
        found = [self._blocks_behind(index) for index in op.all("index")]
        behind = [axes for axes in found if axes is not None]
        if len(behind) < len(found) or view.sparse is not None or 1 not in strides:
            return None
        axes = dict(zip(view.dim_map, behind, strict=True))
        if view.frame is not None:  # the frames of an output are those of the grid
            axes = {axis: blocks | {axis} for axis, blocks in axes.items()}
        if len(frozenset[int]().union(*axes.values())) < 2:
            return ANY
        # From the axis with neighbours outwards, as if the tensor were in row-major order.
        inner = strides.index(1)
        order = sorted(axes, key=lambda axis: (axis != inner, -axis))
        nearest = next(axes[axis] for axis in order if axes[axis])
        return min(nearest) if len(nearest) == 1 else None

    def _blocks_behind(self, index: Value) -> frozenset[int] | None:
        """Return the grid axes that an index depends on; None if also on memory, or a mapping."""
        pending, seen, found = [index], set[Value](), set[int]()
        while pending:
            value = pending.pop()
            maker = self.nesting.owner.get(value)
            if value in seen or maker is None:
                continue
            seen.add(value)
            if maker.is_a(BLOCK_ID):
                found.add(maker.attrs["axis"])
            elif maker.is_a(TILE_INDEX) or maker.defn.effects & MEMORY:
                return None
            counts = maker.is_a(FOR) and value is maker.regions[0].args[0]
            pending += maker.operands[:3] if counts else _given(maker)
        return frozenset(found)

    @cached_property
    def block_axes(self) -> tuple[int, ...]:
        """The grid axes that the kernel looks at."""
        found = {op.attrs["axis"] for op in self.func.walk() if op.is_a(BLOCK_ID)}
        return tuple(sorted(found))


def _accumulators(product: Op) -> int:
    """Return how many accumulators a product has.

    The tensor cores of Hopper add products of 8-bit floats with few bits. Exact sums are made of
    short ones, which have an accumulator of their own.
    """
    dtype = product.one("lhs").tile.dtype
    is_exact = product.is_a(MMAF) and not product.attrs["fast_acc"]
    return 2 if is_exact and dtype.is_float and dtype.bits == 8 else 1


def _given(op: Op) -> list[Value]:
    """Return what the results of an op, and the arguments of its regions, are computed from."""
    inner = [each for region in op.regions for each in region.walk()]
    exits = [each for each in inner if each.defn.terminator]
    return [v for each in (op, *exits) for v in each.operands]


def _window(load: Op) -> tuple[object, ...] | None:
    """Return the common form of windows that are tiles of one tensor at any place."""
    if plain(load) != "load_view":
        return None
    view: ViewType = load.one("view").view
    if view.sparse is not None or not view.step or set(view.step) != {1}:
        return None
    return view.tensor, view.tile


def _rearranges(reshape: Op) -> bool:
    """Return whether axes are joined or cut."""
    before, after = (
        [n for n in v.tile.shape if n != 1] for v in (reshape.operands[0], reshape.result)
    )
    return before != after


def _is_aligned(spec: TensorSpec | OutputSpec) -> bool:
    size, facts = spec.dtype.itemsize, spec.facts
    steps = [
        stride is None and k < len(facts.strides) and facts.strides[k] * size >= POINTER_ALIGNMENT
        for k, stride in enumerate(spec.strides)
        if stride != 1
    ]
    return facts.alignment >= POINTER_ALIGNMENT and all(steps)
