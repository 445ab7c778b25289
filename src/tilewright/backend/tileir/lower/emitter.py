"""Puts instructions one after the other, and knows what each value of the IR became."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from ....analysis.constants import Constants, constants
from ....analysis.ranges import Ranges, ranges
from ....analysis.structure import Structure, structure
from ....base.errors import Code, CompileError
from ....base.shapes import Shape
from ....base.source import Span
from ....ir.core import Block, Func, Op, Value
from ..encoding.enums import Comparison
from ..encoding.opcodes import OPCODES
from ..encoding.versions import Version, version_text
from ..heuristics import Decisions
from ..program.core import Identity, Instr, Region, Val
from ..program.types import I1, I64, INDEX, TOKEN, Kind, Scalar, Tile, kind_of
from ..target import TileTarget
from .bits import bits_of, constant_bytes

Given: TypeAlias = "Val | Sequence[Val] | None"


@dataclass(frozen=True, slots=True)
class Memory:
    """A tensor: its address, and its extents and strides as far as they are not static."""

    base: Val
    extents: tuple[Val | int, ...]
    strides: tuple[Val | int, ...]
    width: Scalar
    """The integer type of the extents and strides that are values."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """A reduction: what it gave, the shape of what it was given, and the axis that is gone."""

    result: Val
    given: Shape
    axis: int


class Emitter:
    """One function on its way to Tile IR."""

    def __init__(
        self, func: Func, target: TileTarget, decisions: Decisions, rules: Mapping[str, Rule]
    ) -> None:
        self.func = func
        self.target = target
        self.decisions = decisions
        self.known: Constants = constants(func)
        self.ranges: Ranges = ranges(func, self.known)
        self.nesting: Structure = structure(func)
        self.code: list[Instr] = []
        self.span: Span | None = None
        self.values: dict[Value, Val] = {}
        self.memory: dict[Value, Memory] = {}
        self.views: dict[tuple[Value, Kind], Val] = {}
        """Views of Tile IR, by what they are a view of and their type."""
        self.tensor_of: dict[Value, Value] = {}
        """The tensor of each view."""
        self.viewed = {self._tensor(op) for op, a in decisions.accesses.items() if a.view}
        """The tensors that need a view of Tile IR."""
        self.block: tuple[Val, ...] = ()
        """This block's logical index."""
        self.grid: tuple[Val, ...] = ()
        """The logical grid."""
        self.record: Val | None = None
        """The address of the launch record."""
        self.whole: bool | None = None
        """Whether the tiles of this way through the kernel lie inside; None where each is asked."""
        self.least: dict[tuple[Value, int], int] = {}
        """What extents are at least on this way, by their tensor and axis."""
        self.reduced: dict[int, Reduced] = {}
        """The last reduction of each region, by the identity of its code."""
        self.converted: dict[tuple[int, Value], Reduced | None] = {}
        """What was converted in each region, and the last reduction before."""
        self.makers: dict[Val, Instr] = {}
        """The instruction that each value is a result of."""
        self.loop_sizes: dict[Region, int] = {}
        """The instructions of loops with all their copies, by their bodies."""
        self.notes: list[str] = []
        """What was decided on the way, for `explain()`."""
        self._read: dict[tuple[int, tuple[Value, ...]], Val] = {}
        self._rules = rules

    @property
    def version(self) -> Version:
        """The version of the bytecode."""
        return self.target.version

    # --- instructions --------------------------------------------------------------------------

    def op(
        self,
        name: str,
        kinds: Sequence[Kind],
        *operands: Given,
        regions: Sequence[Region | None] = (),
        **attrs: Any,
    ) -> tuple[Val, ...]:
        """Append an instruction; operands in declared order, a sequence for `*`."""
        opcode = OPCODES[name]
        if opcode.since > self.version:
            self.fail_version(f"`{name}`", opcode.since)
        groups = [_group(given) for given in operands]
        groups += [()] * (len(opcode.slots) - len(groups))
        sizes = tuple(len(group) for group in groups)
        results = tuple(Val(kind) for kind in kinds)
        flat = tuple(v for group in groups for v in group)
        made = Instr(opcode, results, flat, sizes, attrs, tuple(regions), self.span)
        self.code.append(made)
        self.makers.update(dict.fromkeys(results, made))
        return results

    def one(self, name: str, kind: Kind, *operands: Given, **attrs: Any) -> Val:
        """Append an instruction with one result."""
        (result,) = self.op(name, [kind], *operands, **attrs)
        return result

    def same(self, name: str, *operands: Val, **attrs: Any) -> Val:
        """Append an instruction whose result is of its operands' type."""
        return self.one(name, operands[0].kind, *operands, **attrs)

    def number(self, value: float | int | bool, kind: Tile) -> Val:
        """A tile of one number."""
        return self.one("constant", kind, value=constant_bytes(value, kind.scalar))

    def bits(self, bits: int, kind: Tile) -> Val:
        """A tile of one number given by its bits."""
        return self.one("constant", kind, value=bits_of(bits, kind.scalar))

    @staticmethod
    def zero_identity(kind: Scalar) -> tuple[Identity, ...]:
        """What a sum of integers starts with."""
        return (Identity(kind, 0),)

    def index(self, value: int) -> Val:
        """A 32-bit scalar."""
        return self.number(value, INDEX)

    def compare(self, predicate: Comparison, lhs: Val, rhs: Val, *, signed: bool = True) -> Val:
        """Compare integers."""
        kind = tile(lhs).of(I1)
        return self.one("cmpi", kind, lhs, rhs, comparison_predicate=predicate, signedness=signed)

    def spread(self, value: Val, shape: tuple[int, ...]) -> Val:
        """A scalar repeated in a shape."""
        if not shape:
            return value
        ones = self.one("reshape", tile(value).shaped((1,) * len(shape)), value)
        return ones if set(shape) == {1} else self.one("broadcast", tile(value).shaped(shape), ones)

    def widened(self, value: Val, to: Scalar = I64, *, signed: bool = True) -> Val:
        """An integer as a wider one; itself where it is wide already."""
        if tile(value).elem == to:
            return value
        return self.one("exti", tile(value).of(to), value, signedness=signed)

    # --- regions -------------------------------------------------------------------------------

    @contextmanager
    def inside(self, region: Region) -> Generator[Region, None, None]:
        """Append to a region for a while."""
        outer, self.code = self.code, region.code
        try:
            yield region
        finally:
            self.code = outer

    def region(self, block: Block) -> Region:
        """A region of the IR, lowered."""
        region = Region(tuple(Val(kind_of_value(a)) for a in block.args))
        self.bind(block.args, region.args)
        with self.inside(region):
            self.ops(block.ops)
        return region

    def ops(self, ops: Sequence[Op]) -> None:
        """Lower ops into the current region."""
        for op in ops:
            self.span = op.span
            self.bind(op.results, self._rules[op.name](self, op))

    def only_if(
        self, condition: Val, token: Val | None, access: Callable[[], Sequence[Val]]
    ) -> Sequence[Val]:
        """A write that happens only if a condition holds; gives the token behind it."""
        before = token or self.one("make_token", TOKEN)
        then, otherwise = Region(), Region()
        with self.inside(then):
            self.op("yield", (), access())
        with self.inside(otherwise):
            self.op("yield", (), [before])
        return self.op("if", [TOKEN], condition, regions=(then, otherwise))

    def either(
        self, condition: Val, ways: tuple[Callable[[], Sequence[Val]], Callable[[], Sequence[Val]]]
    ) -> tuple[Val, ...]:
        """What the first way gives if a condition holds, else what the second does."""
        regions, results = (Region(), Region()), list[Sequence[Val]]()
        for region, way in zip(regions, ways, strict=True):
            with self.inside(region):
                results.append(way())
                self.op("yield", (), results[-1])
        return self.op("if", [v.kind for v in results[0]], condition, regions=regions)

    def branch(self, condition: Val, then: Callable[[], None]) -> None:
        """Do something only if a condition holds."""
        region = Region()
        with self.inside(region):
            then()
            self.op("yield", ())
        self.op("if", (), condition, regions=(region, None))

    # --- values --------------------------------------------------------------------------------

    def bind(self, old: Sequence[Value], new: Sequence[Val]) -> None:
        """Say what values of the IR became; memory and views are kept elsewhere."""
        self.values.update(zip(old, new, strict=False))

    def get(self, value: Value) -> Val:
        """What a value of the IR became."""
        return self.values[value]

    def all(self, op: Op) -> list[Val]:
        """What the operands of an op became."""
        return [self.values[v] for v in op.operands]

    def constant_of(self, value: Value) -> float | int | bool | None:
        """The number a value surely is."""
        return self.known.get(value)

    def token_of(self, op: Op) -> Val | None:
        """The token an access waits for."""
        if not any(slot.name == "token" for slot in op.defn.operands):
            return None
        token = op.maybe("token")
        return None if token is None else self.get(token)

    def last_read(self, tile_read: tuple[Value, ...]) -> Val | None:
        """The token of the last load of a tile in this region, given by its view and index."""
        return self._read.get((id(self.code), tile_read))

    def note_read(self, tile_read: tuple[Value, ...], token: Val) -> None:
        """A tile has been loaded in this region."""
        self._read[id(self.code), tile_read] = token

    def _tensor(self, op: Op) -> Value:
        maker = self.nesting.definer(op.one("view"))
        assert maker is not None, "views are made by make_view"
        return maker.one("tensor")

    # --- complaints ----------------------------------------------------------------------------

    def fail(self, message: str, *, expected: str, got: str, hint: str) -> CompileError:
        """An error that points at the op being lowered."""
        return CompileError(
            message, expected=expected, got=got, hint=hint, span=self.span, code=Code.DTYPE
        )

    def fail_version(self, what: str, since: Version) -> None:
        """Refuse what the installed assembler does not know."""
        raise CompileError(
            f"{what} needs a newer tileiras",
            expected=f"one that reads Tile IR {version_text(since)}",
            got=f"one that reads Tile IR up to {version_text(self.version)}",
            hint="pip install --upgrade nvidia-cuda-tileiras",
            span=self.span,
            code=Code.TARGET,
        )


Rule: TypeAlias = Callable[[Emitter, Op], Sequence[Val]]
"""Lowers an op: gives what its results became."""


def tile(value: Val) -> Tile:
    """The type of a value known to be a tile."""
    assert isinstance(value.kind, Tile), f"expected a tile, got {value.kind}"
    return value.kind


def kind_of_value(value: Value) -> Kind:
    """The type that a value of the IR has here."""
    return kind_of(value.type)


def _group(given: Given) -> tuple[Val, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, Val) else tuple(given)
