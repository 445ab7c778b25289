"""One running tile block: its values, and the execution of regions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from tilewright.backend.tileir.bytecode.enums import MemoryOrdering
from tilewright.backend.tileir.bytecode.program import Instr, InstructionRegion, Val
from tilewright.backend.tileir.bytecode.types import Kind, TileValueType
from tilewright.base.errors import InternalError

from .storage import DeviceMemory, OrderedAccesses
from .values import Array, TensorValue, TokenValue, UndefinedError, Value, ViewValue, dtype_of

MOST_INSTRUCTIONS = 20_000_000
"""Instructions of one block after which it counts as one that does not end."""


class TileIRError(InternalError):
    """A Tile IR program that is invalid, or whose behaviour is undefined."""


@dataclass(frozen=True, slots=True)
class RegionExit:
    """The end of a region: the name of its last instruction, and the values that it passes on."""

    name: str
    values: tuple[Value, ...]


@dataclass(slots=True)
class TileLaunch:
    """The state that all blocks of a launch share."""

    memory: DeviceMemory
    grid: tuple[int, int, int]
    rules: Mapping[str, Rule]


@dataclass(slots=True)
class BlockFrame:
    """The state of one block."""

    launch: TileLaunch
    block: tuple[int, int, int]
    values: dict[Val, Value]
    accesses: OrderedAccesses = field(default_factory=OrderedAccesses)
    by_lanes: bool = False
    """Whether scalars are arrays: the body of a reduction runs for many elements at once."""
    count: int = 0
    """The instructions that were run."""
    instr: Instr | None = None
    """The instruction that is being run."""

    def run(self, region: InstructionRegion, args: Sequence[Value] = ()) -> RegionExit:
        """Run a region up to its terminator, or to one that leaves it from inside."""
        self.values.update(zip(region.args, args, strict=True))
        for instr in region.code:
            self.instr = instr
            self._count()
            rule = self.launch.rules.get(instr.op.name)
            if rule is None:
                self.fail("the interpreter has no rule for it")
            try:
                made = rule(self, instr)
            except UndefinedError as error:
                self.fail(str(error))
            if isinstance(made, RegionExit):
                return made
            self._bind(instr, made)
        raise TileIRError("a region ends without a terminator")

    def _count(self) -> None:
        self.count += 1
        if self.count > MOST_INSTRUCTIONS:
            self.fail(f"the block does not end within {MOST_INSTRUCTIONS} instructions")

    def _bind(self, instr: Instr, made: Sequence[Value]) -> None:
        for result, value in zip(instr.results, made, strict=True):
            if not _fits(value, result.kind, by_lanes=self.by_lanes):
                self.fail(f"{_described(value)} as a result of type {result.kind}")
            self.values[result] = value

    # --- operands ------------------------------------------------------------------------------

    def array(self, value: Val) -> Array:
        """Return the tile that a value is."""
        found = self.values[value]
        assert not isinstance(found, TensorValue | ViewValue | TokenValue), f"{value.kind}"
        return found

    def arrays(self, instr: Instr) -> list[Array]:
        """Return the operands of an instruction that takes tiles alone."""
        return [self.array(value) for value in instr.operands]

    def group(self, instr: Instr, name: str) -> tuple[Val, ...]:
        """Return the operands of an instruction under one declared name."""
        at = 0
        for slot, count in zip(instr.op.slots, instr.sizes, strict=True):
            if slot.name == name:
                return instr.operands[at : at + count]
            at += count
        raise KeyError(name)

    def maybe(self, instr: Instr, name: str) -> Array | None:
        """Return an optional tile."""
        found = self.group(instr, name)
        return self.array(found[0]) if found else None

    def scalar(self, value: Val) -> int:
        """Return a rank-0 integer, read as signed."""
        return int(self.array(value))

    def token(self, instr: Instr) -> TokenValue:
        """Return the token that an access waits for; an empty one where it waits for none."""
        found = self.group(instr, "token")
        made = self.values[found[0]] if found else TokenValue()
        assert isinstance(made, TokenValue), f"{made} is no token"
        return made

    # --- complaints ----------------------------------------------------------------------------

    def fail(self, what: str) -> NoReturn:
        """Raise for an instruction that has no meaning with its operands."""
        name = self.instr.op.name if self.instr is not None else "kernel"
        raise TileIRError(f"`{name}` in block {self.block}: {what}")

    def check_order(self, instr: Instr, *allowed: MemoryOrdering) -> MemoryOrdering:
        """Return the memory order of an access: one it may have, with a scope unless it is weak."""
        code, scope = instr.attrs["memory_ordering_semantics"], instr.attrs["memory_scope"]
        assert isinstance(code, int), "an enum is its code"
        order = MemoryOrdering(code)
        if order not in allowed:
            self.fail(f"its memory order is {order.name}")
        if (scope is None) != (order is MemoryOrdering.WEAK):
            self.fail(f"a {order.name} access {'without' if scope is None else 'with'} a scope")
        return order


Results: TypeAlias = Sequence[Value] | RegionExit
Rule: TypeAlias = Callable[[BlockFrame, Instr], Results]
"""The implementation of an instruction: return its results, or how the region ends."""


def number_of(instr: Instr, name: str) -> int:
    """Return an attribute that is a number, an enum or a flag."""
    value = instr.attrs.get(name)
    if value is None:  # an older version does not have it
        value = next(f.otherwise for f in instr.op.fields if f.name == name)
    assert isinstance(value, int), f"{name} of {instr.op.name} is {value!r}"
    return value


def _fits(value: Value, kind: Kind, *, by_lanes: bool) -> bool:
    if isinstance(value, TensorValue | ViewValue):
        return value.kind == kind
    if isinstance(value, TokenValue) or not isinstance(kind, TileValueType):
        return isinstance(value, TokenValue) and not isinstance(kind, TileValueType)
    same_shape = value.shape == kind.shape or (by_lanes and not kind.shape)
    return same_shape and value.dtype == dtype_of(kind.elem)


def _described(value: Value) -> str:
    if isinstance(value, TensorValue | ViewValue):
        return str(value.kind)
    return "a token" if isinstance(value, TokenValue) else f"{value.dtype}{list(value.shape)}"
