"""Facts about a function that planning uses: definitions, uses, segments, memory effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ....base.shapes import Shape
from ....ir.attrs import Ordering
from ....ir.core import Block, Func, Op, Value
from ....ir.opdef import CARRIES, Effect, Trait
from ....ir.ops.elementwise import PACK, UNPACK
from ....ir.ops.layout import BROADCAST, EXTRACT, PERMUTE, RESHAPE
from ....ir.ops.memory import (
    ATOMIC_RED_VIEW,
    INT_TO_PTR,
    LOAD_PTR,
    LOAD_VIEW,
    STORE_PTR,
    STORE_VIEW,
)
from ....ir.types import TileType
from .nodes import TileBuffer

# -------------------------------------------------------------------------------------------------
# Definitions, uses, segments, kinds and costs of ops.
#
# A segment is a straight run of ops between two ops with bodies. Tiles are lazy within one segment;
# only cheap ones are rematerialized in another.

READS = (LOAD_VIEW, LOAD_PTR)
NIBBLES = (PACK, UNPACK)


def is_lazy_op(op: Op) -> bool:
    """Return whether a tile is computed in the loops that use it, instead of at its op."""
    return op.has(Trait.ELEMENTWISE) or is_transparent(op) or op.is_a(*READS, *NIBBLES)


def is_transparent(op: Op) -> bool:
    """Return whether an op is always rematerialized, because it costs nothing by itself."""
    return op.has(Trait.REMATERIALIZABLE)


CHEAP = 3
"""An expression of at most this cost is computed again rather than kept in memory."""
FOREVER = 1000


@dataclass(frozen=True, slots=True)
class Home:
    """The location of an op: its block, its segment there, its position in the block."""

    block: Block
    segment: int
    position: int


@dataclass(slots=True)
class PlanFacts:
    """Facts about a function that planning uses."""

    definition: dict[Value, Op] = field(default_factory=dict[Value, Op])
    users: dict[Value, list[Op]] = field(default_factory=dict[Value, list[Op]])
    home: dict[Op, Home] = field(default_factory=dict[Op, Home])
    costs: dict[Value, int] = field(default_factory=dict[Value, int])
    has_pointers: bool = False

    def users_of(self, value: Value) -> list[Op]:
        """Return the ops that use a value."""
        return self.users.get(value, [])

    def is_lazy(self, value: Value) -> bool:
        """Return whether a tile has no memory unless it is materialized."""
        op = self.definition.get(value)
        return op is not None and is_tile(value) and is_lazy_op(op)

    def cost(self, value: Value) -> int:
        """Return the cost of computing one element, from tiles that are in memory."""
        if not is_tile(value):
            return 0
        if value not in self.costs:
            self.costs[value] = self._cost(value)
        return self.costs[value]

    def _cost(self, value: Value) -> int:
        op = self.definition.get(value)
        if op is None or not is_lazy_op(op):
            return 1
        scattered = op.is_a(LOAD_PTR) or (op.is_a(LOAD_VIEW) and not reads_in_order(op))
        total = (FOREVER if scattered else op.defn.cost) + sum(self.cost(v) for v in op.operands)
        return min(total, FOREVER)


def collect(func: Func) -> PlanFacts:
    """Walk the function once."""
    facts = PlanFacts()
    _block(func.body, facts)
    facts.has_pointers = has_pointers(func)
    return facts


def has_pointers(func: Func) -> bool:
    """Return whether a function may touch memory that no parameter names."""
    given = any(isinstance(v.type, TileType) and v.type.is_pointer for v in func.params)
    return given or any(op.is_a(INT_TO_PTR) for op in func.walk())


def _block(block: Block, facts: PlanFacts) -> None:
    segment = 0
    for position, op in enumerate(block.ops):
        facts.home[op] = Home(block, segment, position)
        facts.definition.update(dict.fromkeys(op.results, op))
        for value in {*op.operands, *captured(op)}:
            facts.users.setdefault(value, []).append(op)
        for value in op.results:
            facts.cost(value)
        if op.has(CARRIES):
            segment += 1
            for region in op.regions:
                _block(region, facts)


def captured(op: Op) -> list[Value]:
    """Return the values from outside that the body of a reduction uses."""
    if op.has(CARRIES) or not op.regions:
        return []
    (body,) = op.regions
    inside = {*body.args, *(v for inner in body.ops for v in inner.results)}
    return [v for inner in body.ops for v in inner.operands if v not in inside]


def is_regroupable(op: Op) -> bool:
    """Return whether a scan combines by one associative op."""
    (body,) = op.regions
    first, *others = body.ops
    if not first.has(Trait.ASSOCIATIVE) or len(others) != 1:
        return False
    return set(first.operands) == set(body.args) and others[0].operands == first.results


def is_tile(value: Value) -> bool:
    """Return whether a value is a tile with axes: not a scalar, a tensor or a view."""
    return isinstance(value.type, TileType) and value.type.rank > 0


def is_scalar(value: Value) -> bool:
    """Return whether a value is a rank-0 tile."""
    return isinstance(value.type, TileType) and value.type.rank == 0


SMALLEST_TURN = 8
"""A tile whose last axis is moved is turned in memory from this extent on."""


def is_turned(op: Op, facts: PlanFacts) -> bool:
    """Return whether a permutation is a separate transpose: else lanes would be gathered."""
    (arg,) = op.operands
    order: tuple[int, ...] = op.attrs["order"]
    shape = arg.tile.shape
    last = len(order) - 1
    if order[last] == last or min(shape[last], shape[order[last]]) < SMALLEST_TURN:
        return False
    return bool(facts.users_of(op.result)) and _fills(arg, (last, order[last]), facts)


def _fills(value: Value, axes: tuple[int, int], facts: PlanFacts) -> bool:
    """Return whether a tile comes from memory that differs along both axes."""
    seen: set[Value] = set()
    todo = [value]
    while todo:
        current = todo.pop()
        if current in seen or not is_tile(current):
            continue
        seen.add(current)
        if not facts.is_lazy(current):
            return True
        op = facts.definition[current]
        if op.is_a(*READS, RESHAPE, PERMUTE, EXTRACT, *NIBBLES):
            return True
        spread = op.is_a(BROADCAST)
        if not (spread and 1 in (op.operands[0].tile.shape[k] for k in axes)):
            todo += op.operands
    return False


def is_ordered(op: Op) -> bool:
    """Return whether a load or store through pointers is seen by other blocks in an order."""
    return op.is_a(LOAD_PTR, STORE_PTR) and op.attrs["ordering"] is not Ordering.WEAK


def reads_in_order(op: Op) -> bool:
    """Return whether a load walks memory along its last axis, so that a second read is cheap."""
    view = op.one("view").view
    if view.sparse is not None or view.tensor.param is None:
        return False
    if view.rank == 0:
        return True
    inner = max((k for k in range(view.rank) if view.tile[k] > 1), default=view.rank - 1)
    return view.tensor.strides[view.dim_map[inner]] == 1


def is_read_only(op: Op, facts: PlanFacts) -> bool:
    """Return whether a load reads memory that the kernel does not write."""
    tensor = op.one("view").view.tensor
    return tensor.param is not None and not (tensor.mutable or facts.has_pointers)


# -------------------------------------------------------------------------------------------------
# Memory locations of ops, and aliasing.


@dataclass(frozen=True, slots=True)
class Location:
    """A parameter, a loop's buffer, or (both None) whatever a raw pointer points to."""

    param: str | None = None
    buffer: TileBuffer | None = None


ANYWHERE = Location()


def location_of(op: Op) -> Location:
    """Return the memory a load or a store touches."""
    if op.is_a(LOAD_VIEW, STORE_VIEW, ATOMIC_RED_VIEW):
        return Location(param=op.one("view").view.tensor.param)
    return ANYWHERE


def may_alias(a: Location, b: Location) -> bool:
    """Return whether two locations may share bytes; launches reject aliased outputs."""
    if a.buffer is not None or b.buffer is not None:
        return a.buffer is b.buffer
    return a.param is None or b.param is None or a.param == b.param


def is_write(op: Op) -> bool:
    """Return whether memory may differ after an op: it writes, or acquires other writes."""
    return bool(op.defn.effects & Effect.WRITE) or is_ordered(op)


@dataclass(frozen=True, slots=True)
class Pull:
    """A read that an expression does when it is computed.

    `exact` tells that element i of the expression needs element i of what is read, and no other.
    """

    location: Location
    exact: bool
    load: Op | None = None


def squeezed(shape: Shape) -> Shape:
    """Return a shape without its axes of length 1."""
    return tuple(n for n in shape if n > 1)


def pulls(
    value: Value,
    facts: PlanFacts,
    carried: Mapping[Value, TileBuffer],
    kept: Mapping[Value, object],
) -> Iterator[Pull]:
    """Yield the reads of memory that may change, done when a lazy tile is computed.

    `carried` are the tiles that loops overwrite; `kept` tiles have been read before.
    """
    seen: set[tuple[Value, bool]] = set()
    todo = [(value, True)]
    while todo:
        item = todo.pop()
        if item in seen:
            continue
        seen.add(item)
        current, exact = item
        if current in carried:
            yield Pull(Location(buffer=carried[current]), exact)
        if current in kept or not facts.is_lazy(current):
            continue
        op = facts.definition[current]
        if op.is_a(*READS):
            yield Pull(location_of(op), exact, op)
        todo += [(v, exact and keeps_places(op, v)) for v in op.operands if is_tile(v)]


def keeps_places(op: Op, operand: Value) -> bool:
    """Return whether element i of the result needs element i of the operand only."""
    if op.is_a(PERMUTE, EXTRACT, BROADCAST):
        return False
    return squeezed(operand.tile.shape) == squeezed(op.result.tile.shape)


def same_place(load: Op, store: Op) -> bool:
    """Return whether a load reads exactly the elements that a store writes."""
    if not load.is_a(LOAD_VIEW) or not store.is_a(STORE_VIEW):
        return False
    a, b = load.one("view").view, store.one("view").view
    cut = (a.tensor.param, a.tile, a.dim_map, a.step, a.frame, a.sparse)
    if a.tensor.param is None or a.sparse is not None:
        return False
    same_cut = cut == (b.tensor.param, b.tile, b.dim_map, b.step, b.frame, b.sparse)
    return same_cut and load.all("index") == store.all("index")
