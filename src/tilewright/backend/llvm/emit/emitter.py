"""What code generation carries along: the function being written, and the names of plan values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ....base.dtypes import AnyDType
from ....ir.core import Op, Value
from ....ir.types import Elem
from ..functions import Library
from ..functions.text import Body, vector
from ..functions.text import Value as Vec
from ..plan.nodes import Plan, Stmt
from ..plan.values import Buffer, Literal, Variable
from ..target import CpuTarget
from .record import CPU, RecordWords
from .types import literal, register_type


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor at run time: address, extents and strides (in elements), all i64 but the first."""

    address: Vec
    extents: tuple[Vec, ...]
    strides: tuple[Vec, ...]


@dataclass(frozen=True, slots=True)
class Area:
    """Where shared memory begins, and at which byte of what the launch asked for."""

    base: Vec
    offset: Vec | None = None


@dataclass(frozen=True, slots=True)
class Labels:
    """Where jumps out of a loop or a scope go."""

    again: str
    done: str


class Emitter:
    """Writes the body of one kernel."""

    def __init__(self, plan: Plan, cpu: CpuTarget, run: Callable[[Emitter, Stmt], None]) -> None:
        self.plan = plan
        self.cpu = cpu
        self.run = run
        self.body = Body()
        self.library = Library(scales=cpu.scales)
        self.record: RecordWords = CPU
        self.helpers: dict[str, str] = {}
        self.slots: list[str] = []
        self.names: dict[Value, Vec] = {}
        self.tensors: dict[Value, Tensor] = {}
        self.areas: dict[Value, Area] = {}
        """Shared memory of GPUs."""
        self.buffers: dict[Buffer, Vec] = {}
        self.tiles: dict[Buffer, Vec] = {}
        """Where the first copy is of buffers that have several."""
        self.variables: dict[Variable, Vec] = {}
        self.loops: list[Labels] = []
        self.scopes: list[str] = []
        self.block_ids: list[Vec] = []
        self.linear_block: Vec = self.integer(0)
        self.next_block = ""
        self.to_next: list[Vec] = []
        """By how much each index of the next block differs from this one's."""
        self.blocks: Vec = self.integer(1)
        """How many neighbouring blocks run as one; more than 1 only where the plan allows it."""
        self.patience: Vec | None = None
        """How many rounds loops go on until they look up; None: there is none that does."""
        self.unseen = 0
        """Rounds of loops in what is being written that are over before anybody looks up."""
        self.cached: Vec | None = None
        """All ones, or zero in a launch that streams; None where no store can be streamed."""

    # Words.

    def integer(self, number: int, kind: str = "i64") -> Vec:
        """A scalar constant."""
        return self.body.constant(kind, 1, number)

    def literal(self, elem: Elem, value: float, lanes: int) -> Vec:
        """A constant of an element type in every lane."""
        return literal(self.body, elem, value, lanes)

    def call(self, symbol: str, elem: str, args: Sequence[Vec], lanes: int | None = None) -> Vec:
        """Call a function that gives a value."""
        width = args[0].lanes if lanes is None else lanes
        text = f"call {vector(elem, width)} {symbol}({', '.join(map(str, args))})"
        return self.body.emit(text, elem, width)

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.body.lines.append(f"  {text}")

    def slot(self, elem: str, lanes: int = 1) -> Vec:
        """Memory on the stack for one value; it becomes a register when LLVM is done."""
        name = self.body.fresh("%slot")
        self.slots.append(f"  {name} = alloca {vector(elem, lanes)}, align 64")
        return Vec(self.body, name, "ptr", 1)

    def load(self, address: Vec, elem: str, lanes: int = 1, align: int = 1) -> Vec:
        """Read from memory."""
        text = f"load {vector(elem, lanes)}, {address}, align {align}"
        return self.body.emit(text, elem, lanes)

    def store(self, value: Vec, address: Vec, align: int = 1) -> None:
        """Write to memory."""
        self.do(f"store {value}, {address}, align {align}")

    def shifted(self, address: Vec, elements: Vec, kind: str) -> Vec:
        """An address some elements further on."""
        return self.body.emit(f"getelementptr {kind}, {address}, {elements}", "ptr", 1)

    def splat(self, value: Vec, lanes: int) -> Vec:
        """A scalar in every lane."""
        if value.lanes == lanes:
            return value
        if not value.name.startswith("%"):
            return Vec(self.body, f"splat ({value})", value.elem, lanes)
        kind = vector(value.elem, lanes)
        first = self.body.emit(f"insertelement {kind} poison, {value}, i64 0", value.elem, lanes)
        order = f"<{lanes} x i32> zeroinitializer"
        text = f"shufflevector {first}, {kind} poison, {order}"
        return self.body.emit(text, value.elem, lanes)

    def lanes_of(self, kind: str, lanes: int, step: int = 1) -> Vec:
        """0, step, 2 * step, ... in the lanes."""
        if lanes == 1:
            return self.body.constant(kind, 1, 0)
        items = ", ".join(f"{kind} {i * step}" for i in range(lanes))
        return Vec(self.body, f"<{items}>", kind, lanes)

    def any_of(self, flags: Sequence[Vec], word: str = "and") -> Vec:
        """All (or any) of some scalar conditions."""
        result = flags[0]
        for flag in flags[1:]:
            result = result.binary(word, flag)
        return result

    # Conversions.

    def convert(self, x: Vec, source: AnyDType, target: AnyDType) -> Vec:
        """Convert to a float type, rounded once."""
        if source is target:
            return x
        symbol = self.library.convert(source.name, target.name, x.lanes)
        return self.call(symbol, register_type(target), [x])

    # Plan values.

    def scalar(self, value: Value) -> Vec:
        """The register of a plan scalar."""
        return self.names[value]

    def operand(self, operand: Value | Literal, lanes: int) -> Vec:
        """A scalar or a constant in every lane."""
        if isinstance(operand, Literal):
            return self.literal(operand.elem, operand.value, lanes)
        return self.splat(self.names[operand], lanes)

    def variable(self, variable: Variable) -> Vec:
        """The address of a variable."""
        if variable not in self.variables:
            self.variables[variable] = self.slot(register_type(variable.elem))
        return self.variables[variable]

    def put(self, variable: Variable, value: Vec) -> None:
        """Set a variable."""
        self.store(value, self.variable(variable))

    def get(self, variable: Variable) -> Vec:
        """The value of a variable."""
        return self.load(self.variable(variable), register_type(variable.elem))

    def statements(self, statements: Sequence[Stmt]) -> None:
        """Write a run of statements."""
        for statement in statements:
            self.run(self, statement)

    # Control flow.

    def label(self, word: str) -> str:
        """A new label."""
        return self.body.fresh(word)

    def branch(self, condition: Vec, yes: str, no: str) -> None:
        """End the block by one of two ways."""
        self.do(f"br {condition}, label %{yes}, label %{no}")

    def helper(self, symbol: str, text: Callable[[], str]) -> str:
        """A function of the module, written once."""
        if symbol not in self.helpers:
            self.helpers[symbol] = text()
        return symbol


Compute: TypeAlias = Callable[[Emitter, Op, Sequence[Vec]], Vec]
"""How an elementwise op is written, for any number of lanes."""
