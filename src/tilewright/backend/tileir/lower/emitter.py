"""Emit instructions of Tile IR, and map values of the IR to lowered ones."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from ....analysis.bounds.check_placement import is_guarded_check
from ....analysis.dataflow import Constants, constants
from ....analysis.ranges import Ranges, ranges
from ....analysis.structure import Structure, structure
from ....base.errors import Code, CompileError
from ....base.shapes import Shape
from ....base.source import Span
from ....ir.artifact import REPORTING
from ....ir.core import Block, Func, Op, Value
from ....ir.opdef import Effect
from ....ir.ops.memory import CHECK
from ..bytecode.enums import ComparisonCode, Version, version_text
from ..bytecode.opcodes import OPCODES
from ..bytecode.program import Identity, Instr, InstructionRegion, Val
from ..bytecode.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    I1,
    I64,
    INDEX,
    TF32,
    TOKEN,
    Kind,
    ScalarType,
    TileValueType,
    kind_of,
)
from ..heuristics import Decisions
from ..target import TileTarget

# -------------------------------------------------------------------------------------------------
# Encodings of numbers in constants and identities.

FLOATS: dict[ScalarType, Any] = {
    F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64, TF32: np.float32,
    F8E4M3FN: ml_dtypes.float8_e4m3fn, F8E5M2: ml_dtypes.float8_e5m2,
    F8E8M0FNU: ml_dtypes.float8_e8m0fnu, F4E2M1FN: ml_dtypes.float4_e2m1fn,
}  # fmt: skip
TF32_DROPPED = 13
"""Low bits of an f32 that tf32 does not have."""


def number_bits(value: float | int | bool, kind: ScalarType) -> int:
    """Return the bit pattern of a number that is exact in its type."""
    if kind.is_int:
        return int(value) & ((1 << kind.width) - 1)
    raw = np.asarray(value, np.float64).astype(FLOATS[kind])
    bits = int.from_bytes(raw.tobytes(), "little")
    return bits >> TF32_DROPPED if kind is TF32 else bits


def bits_of(bits: int, kind: ScalarType) -> bytes:
    """Return the bytes of one element of a constant with the given bits."""
    if kind is I1:  # all elements alike are all ones or all zeros
        return b"\xff" if bits else b"\0"
    return bits.to_bytes(kind.nbytes, "little")


def constant_bytes(value: float | int | bool, kind: ScalarType) -> bytes:
    """Return the bytes of one element of a constant tile."""
    return bits_of(number_bits(value, kind), kind)


# -------------------------------------------------------------------------------------------------
# The emitter: it appends instructions and maps each IR value to its lowered value.

Given: TypeAlias = "Val | Sequence[Val] | None"


@dataclass(frozen=True, slots=True)
class TensorMemory:
    """A tensor: its address, and its extents and strides as far as they are not static."""

    base: Val
    extents: tuple[Val | int, ...]
    strides: tuple[Val | int, ...]
    width: ScalarType
    """The integer type of the extents and strides that are values."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """A reduction: what it gave, the shape of what it was given, and the axis that is gone."""

    result: Val
    given: Shape
    axis: int


@dataclass(frozen=True, slots=True)
class CheckedIndex:
    """A check: whether it has failed, with what, and what reports the first failure of several."""

    failed: Val
    op: Op
    index: Val
    extent: Val
    report: Callable[[Sequence[CheckedIndex]], None]


class TileEmitter:
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
        self.memory: dict[Value, TensorMemory] = {}
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
        self.failures: list[CheckedIndex] = []
        """Checks of this region that are still to be reported."""
        self.makers: dict[Val, Instr] = {}
        """The instruction that each value is a result of."""
        self.streamed: set[Instr] = set()
        """Loads of loops whose latency is our choice."""
        self.vectors: dict[Instr, int] = {}
        """The elements that loads by addresses take at once, where they are several."""
        self.loop_sizes: dict[InstructionRegion, int] = {}
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
        regions: Sequence[InstructionRegion | None] = (),
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

    def number(self, value: float | int | bool, kind: TileValueType) -> Val:
        """Return a tile of one number."""
        return self.one("constant", kind, value=constant_bytes(value, kind.scalar))

    def bits(self, bits: int, kind: TileValueType) -> Val:
        """Emit a constant tile whose elements have the given bits."""
        return self.one("constant", kind, value=bits_of(bits, kind.scalar))

    @staticmethod
    def zero_identity(kind: ScalarType) -> tuple[Identity, ...]:
        """Return the initial value of a sum of integers."""
        return (Identity(kind, 0),)

    def index(self, value: int) -> Val:
        """Return a 32-bit scalar."""
        return self.number(value, INDEX)

    def compare(self, predicate: ComparisonCode, lhs: Val, rhs: Val, *, signed: bool = True) -> Val:
        """Compare integers."""
        kind = tile(lhs).of(I1)
        return self.one("cmpi", kind, lhs, rhs, comparison_predicate=predicate, signedness=signed)

    def spread(self, value: Val, shape: tuple[int, ...]) -> Val:
        """Return a scalar repeated in a shape."""
        if not shape:
            return value
        ones = self.one("reshape", tile(value).shaped((1,) * len(shape)), value)
        return ones if set(shape) == {1} else self.one("broadcast", tile(value).shaped(shape), ones)

    def widened(self, value: Val, to: ScalarType = I64, *, signed: bool = True) -> Val:
        """Return an integer as a wider one; itself where it is wide already."""
        if tile(value).elem == to:
            return value
        return self.one("exti", tile(value).of(to), value, signedness=signed)

    # --- regions -------------------------------------------------------------------------------

    @contextmanager
    def inside(self, region: InstructionRegion) -> Generator[InstructionRegion, None, None]:
        """Append to a region for a while."""
        outer, self.code = self.code, region.code
        try:
            yield region
        finally:
            self.code = outer

    def region(self, block: Block) -> InstructionRegion:
        """Return a region of the IR, lowered."""
        region = InstructionRegion(tuple(Val(kind_of_value(a)) for a in block.args))
        self.bind(block.args, region.args)
        with self.inside(region):
            self.ops(block.ops)
        return region

    def ops(self, ops: Sequence[Op]) -> None:
        """Lower ops into the current region."""
        outer, self.failures = self.failures, []
        for op in ops:
            if self._waits_for_reports(op):
                self.report()
            self.plain_ops([op])
        self.report()
        self.failures = outer

    def plain_ops(self, ops: Sequence[Op]) -> None:
        """Lower ops into the current region, among others."""
        for op in ops:
            self.span = op.span
            self.bind(op.results, self._rules[op.name](self, op))

    def is_guarded_check(self, op: Op) -> bool:
        """Return whether an op is a check that may fail under a condition alone."""
        return is_guarded_check(op, self.known)

    def _waits_for_reports(self, op: Op) -> bool:
        """Return whether failures so far are reported before an op: control flow, or a report."""
        effects = op.defn.effects
        is_report = bool(effects & REPORTING) and not op.is_a(CHECK)
        is_control = bool(effects & Effect.CONTROL) or op.defn.terminator
        return is_report or (is_control and not self.is_guarded_check(op))

    def report(self) -> None:
        """Emit one branch for all failures of checks that this region has not reported yet."""
        found, self.failures = self.failures, []
        if found:
            failed = found[0].failed
            for other in found[1:]:
                failed = self.same("ori", failed, other.failed)
            self.branch(failed, partial(found[0].report, found))

    def only_if(
        self, condition: Val, token: Val | None, access: Callable[[], Sequence[Val]]
    ) -> Sequence[Val]:
        """Emit a write that happens only if a condition holds; return the token after it."""
        before = token or self.one("make_token", TOKEN)
        then, otherwise = InstructionRegion(), InstructionRegion()
        with self.inside(then):
            self.op("yield", (), access())
        with self.inside(otherwise):
            self.op("yield", (), [before])
        return self.op("if", [TOKEN], condition, regions=(then, otherwise))

    def either(
        self, condition: Val, ways: tuple[Callable[[], Sequence[Val]], Callable[[], Sequence[Val]]]
    ) -> tuple[Val, ...]:
        """Return the value of the first branch if a condition holds, else of the second."""
        regions, results = (InstructionRegion(), InstructionRegion()), list[Sequence[Val]]()
        for region, way in zip(regions, ways, strict=True):
            with self.inside(region):
                results.append(way())
                self.op("yield", (), results[-1])
        return self.op("if", [v.kind for v in results[0]], condition, regions=regions)

    def branch(self, condition: Val, then: Callable[[], None]) -> None:
        """Emit code that runs only if a condition holds."""
        region = InstructionRegion()
        with self.inside(region):
            then()
            self.op("yield", ())
        self.op("if", (), condition, regions=(region, None))

    # --- values --------------------------------------------------------------------------------

    def bind(self, old: Sequence[Value], new: Sequence[Val]) -> None:
        """Bind values of the IR to lowered ones; memory and views are bound elsewhere."""
        self.values.update(zip(old, new, strict=False))

    def get(self, value: Value) -> Val:
        """Return the lowered form of an IR value."""
        return self.values[value]

    def all(self, op: Op) -> list[Val]:
        """Return the lowered operands of an op."""
        return [self.values[v] for v in op.operands]

    def constant_of(self, value: Value) -> float | int | bool | None:
        """Return the number a value provably is."""
        return self.known.get(value)

    def token_of(self, op: Op) -> Val | None:
        """Return the token an access waits for."""
        if not any(slot.name == "token" for slot in op.defn.operands):
            return None
        token = op.maybe("token")
        return None if token is None else self.get(token)

    def last_read(self, tile_read: tuple[Value, ...]) -> Val | None:
        """Return the token of the last load of a tile in this region, by view and index."""
        return self._read.get((id(self.code), tile_read))

    def note_read(self, tile_read: tuple[Value, ...], token: Val) -> None:
        """Note that a tile has been loaded in this region."""
        self._read[id(self.code), tile_read] = token

    def _tensor(self, op: Op) -> Value:
        maker = self.nesting.definer(op.one("view"))
        assert maker is not None, "views are made by make_view"
        return maker.one("tensor")

    # --- complaints ----------------------------------------------------------------------------

    def fail(self, message: str, *, expected: str, got: str, hint: str) -> CompileError:
        """Return an error that points at the op being lowered."""
        return CompileError(
            message, expected=expected, got=got, hint=hint, span=self.span, code=Code.DTYPE
        )

    def fail_version(self, what: str, since: Version) -> None:
        """Reject an instruction that the installed assembler does not have."""
        raise CompileError(
            f"{what} needs a newer tileiras",
            expected=f"one that reads Tile IR {version_text(since)}",
            got=f"one that reads Tile IR up to {version_text(self.version)}",
            hint="pip install --upgrade nvidia-cuda-tileiras",
            span=self.span,
            code=Code.TARGET,
        )


Rule: TypeAlias = Callable[[TileEmitter, Op], Sequence[Val]]
"""The lowering of an op: return the lowered results."""


def tile(value: Val) -> TileValueType:
    """Return the type of a value known to be a tile."""
    assert isinstance(value.kind, TileValueType), f"expected a tile, got {value.kind}"
    return value.kind


def kind_of_value(value: Value) -> Kind:
    """Return the type that a value of the IR has here."""
    return kind_of(value.type)


def _group(given: Given) -> tuple[Val, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, Val) else tuple(given)
