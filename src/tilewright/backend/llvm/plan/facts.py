"""Facts about a function that planning asks for: definitions, uses, segments, kinds, costs.

A segment is a straight run of ops between two ops with bodies; tiles are computed lazily within
one segment, and only cheap ones are computed again in another.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ....ir.attrs import Ordering
from ....ir.core import Block, Func, Op, Value
from ....ir.ops import FAMILIES
from ....ir.types import TileType

REGIONS = ("for", "loop", "if", "scope")
LAYOUT = ("reshape", "broadcast", "permute", "extract")
SOURCES = ("constant", "iota")
READS = ("load_view", "load_ptr")
NIBBLES = ("pack", "unpack")
POINTER_MATH = ("offset", "ptr_to_int", "int_to_ptr", "ptr_to_ptr")
ELEMENTWISE_FAMILIES = ("arithmetic", "math", "comparison", "bitwise", "conversion")

ELEMENTWISE = frozenset(
    op.name for family in ELEMENTWISE_FAMILIES for op in FAMILIES[family]
) - set(NIBBLES) | set(POINTER_MATH)
LAZY = ELEMENTWISE | {*LAYOUT, *SOURCES, *READS, *NIBBLES}
"""Ops whose tile is not computed where it stands, but in the loops that use it."""
TRANSPARENT = frozenset((*LAYOUT, *SOURCES))
"""Lazy ops that are always worth computing again: they cost nothing by themselves."""

CHEAP = 3
"""An expression of at most this cost is computed again rather than kept in memory."""
FOREVER = 1000
WEIGHTS = {
    "divf": 8, "divi": 30, "remi": 30, "remf": 30, "sqrt": 8, "ftof": 2, "pack": 8, "unpack": 8,
    "iota": 1, "load_ptr": FOREVER, **dict.fromkeys((*LAYOUT, "constant"), 0),
    **{op.name: 20 for op in FAMILIES["math"] if op.name not in ("ceil", "floor", "sqrt")},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Home:
    """Where an op stands: its block, its segment there, its place in the block."""

    block: Block
    segment: int
    position: int


@dataclass(slots=True)
class Facts:
    """What is known about a function before planning."""

    definition: dict[Value, Op] = field(default_factory=dict[Value, Op])
    users: dict[Value, list[Op]] = field(default_factory=dict[Value, list[Op]])
    home: dict[Op, Home] = field(default_factory=dict[Op, Home])
    costs: dict[Value, int] = field(default_factory=dict[Value, int])
    has_pointers: bool = False

    def users_of(self, value: Value) -> list[Op]:
        """The ops that use a value."""
        return self.users.get(value, [])

    def is_lazy(self, value: Value) -> bool:
        """Whether a tile has no place of its own unless it is given one."""
        op = self.definition.get(value)
        return op is not None and is_tile(value) and op.name in LAZY

    def cost(self, value: Value) -> int:
        """What computing one element takes, from tiles that are in memory."""
        if not is_tile(value):
            return 0
        if value not in self.costs:
            self.costs[value] = self._cost(value)
        return self.costs[value]

    def _cost(self, value: Value) -> int:
        op = self.definition.get(value)
        if op is None or op.name not in LAZY:
            return 1
        own = 1
        if op.name == "load_view":
            own = 1 if reads_in_order(op) else FOREVER
        total = WEIGHTS.get(op.name, own) + sum(self.cost(v) for v in op.operands)
        return min(total, FOREVER)


def collect(func: Func) -> Facts:
    """Walk the function once."""
    facts = Facts()
    _block(func.body, facts)
    facts.has_pointers = has_pointers(func)
    return facts


def has_pointers(func: Func) -> bool:
    """Whether a function may touch memory that no parameter names."""
    given = any(isinstance(v.type, TileType) and v.type.is_pointer for v in func.params)
    return given or any(op.name == "int_to_ptr" for op in func.walk())


def _block(block: Block, facts: Facts) -> None:
    segment = 0
    for position, op in enumerate(block.ops):
        facts.home[op] = Home(block, segment, position)
        facts.definition.update(dict.fromkeys(op.results, op))
        for value in {*op.operands, *captured(op)}:
            facts.users.setdefault(value, []).append(op)
        for value in op.results:
            facts.cost(value)
        if op.name in REGIONS:
            segment += 1
            for region in op.regions:
                _block(region, facts)


def captured(op: Op) -> list[Value]:
    """The values from outside that the body of a reduction uses."""
    if op.name in REGIONS or not op.regions:
        return []
    (body,) = op.regions
    inside = {*body.args, *(v for inner in body.ops for v in inner.results)}
    return [v for inner in body.ops for v in inner.operands if v not in inside]


REGROUPABLE = frozenset((
    "addf", "addi", "mulf", "muli", "maxf", "maxi", "minf", "mini", "andi", "ori", "xori",
))  # fmt: skip
"""Ops that may combine neighbours before what stands left of them."""


def is_regroupable(op: Op) -> bool:
    """Whether a scan combines by one op whose terms may be grouped in any way."""
    (body,) = op.regions
    first, *others = body.ops
    if first.name not in REGROUPABLE or len(others) != 1:
        return False
    return set(first.operands) == set(body.args) and others[0].operands == first.results


def is_tile(value: Value) -> bool:
    """Whether a value is a tile with axes: not a scalar, a tensor or a view."""
    return isinstance(value.type, TileType) and value.type.rank > 0


def is_scalar(value: Value) -> bool:
    """Whether a value is a rank-0 tile."""
    return isinstance(value.type, TileType) and value.type.rank == 0


SMALLEST_TURN = 8
"""A tile whose last axis is moved is turned in memory from this extent on."""


def is_turned(op: Op, facts: Facts) -> bool:
    """Whether a permutation is done by itself: lanes would have to be gathered otherwise."""
    (arg,) = op.operands
    order: tuple[int, ...] = op.attrs["order"]
    shape = arg.tile.shape
    last = len(order) - 1
    if order[last] == last or min(shape[last], shape[order[last]]) < SMALLEST_TURN:
        return False
    return bool(facts.users_of(op.result)) and _fills(arg, (last, order[last]), facts)


def _fills(value: Value, axes: tuple[int, int], facts: Facts) -> bool:
    """Whether a tile comes from memory that differs along both axes."""
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
        if op.name in READS or op.name in ("reshape", "permute", "extract", *NIBBLES):
            return True
        spread = op.name == "broadcast"
        if not (spread and 1 in (op.operands[0].tile.shape[k] for k in axes)):
            todo += op.operands
    return False


def is_ordered(op: Op) -> bool:
    """Whether a load or store through pointers is seen by other blocks in an order."""
    return op.name in ("load_ptr", "store_ptr") and op.attrs["ordering"] is not Ordering.WEAK


def reads_in_order(op: Op) -> bool:
    """Whether a load walks memory along its last axis, so that reading twice costs little."""
    view = op.one("view").view
    if view.sparse is not None or view.tensor.param is None:
        return False
    if view.rank == 0:
        return True
    inner = max((k for k in range(view.rank) if view.tile[k] > 1), default=view.rank - 1)
    return view.tensor.strides[view.dim_map[inner]] == 1


def is_read_only(op: Op, facts: Facts) -> bool:
    """Whether a load reads memory that nothing writes while the kernel runs."""
    tensor = op.one("view").view.tensor
    return tensor.param is not None and not (tensor.mutable or facts.has_pointers)
