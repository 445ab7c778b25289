"""State of code generation: the current function, LLVM types of elements, names of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ....analysis.needed_precision import Forms
from ....base import cpu_abi, cuda_abi
from ....base.dtypes import AnyDType, bool_, f4e2m1fnx2, f8e8m0fnu
from ....ir.core import Op, Value
from ....ir.types import Elem, PtrType
from ...libm import Library
from ...libm.conversion import ELEMENT
from ...llvm.builder import FunctionBody, Vec, Writer, vector
from ...llvm.object import CpuTarget
from ..loopnest.nodes import Literal, Plan, Stmt, TileBuffer, Variable

if TYPE_CHECKING:
    from .atomics import Private

# -------------------------------------------------------------------------------------------------
# LLVM types of elements, in registers and in memory, and their constants.

REGISTER = ELEMENT | {f4e2m1fnx2.name: "i8"}
"""Small floats are their bits; bool is i1."""
REAL = ("float", "double")


def register_type(elem: Elem) -> str:
    """Return the LLVM type of one element in a register; pointers are addresses."""
    return "i64" if isinstance(elem, PtrType) else REGISTER[elem.name]


def memory_type(elem: Elem) -> str:
    """Return the LLVM type of one element in memory: a bool takes a byte."""
    return "i8" if elem is bool_ else register_type(elem)


def literal(body: FunctionBody, elem: Elem, value: float, lanes: int) -> Vec:
    """Return a constant in every lane."""
    kind = register_type(elem)
    if kind in REAL or isinstance(elem, PtrType):
        return body.constant(kind, lanes, value)
    return body.constant(kind, lanes, bits_of(elem, value))


def bits_of(dtype: AnyDType, value: float) -> int:
    """Return the bits of an integer, bool or small float, read as a signed integer."""
    if dtype is f8e8m0fnu and value == 0:
        return 0  # it has no zero: its least value stands for it
    if dtype.is_float:
        return int(np.asarray(value, np.float64).astype(dtype.np).view(f"u{dtype.itemsize}"))
    if dtype is bool_:
        return int(bool(value))
    width = dtype.bits
    bits = int(value) & ((1 << width) - 1)
    return bits - (1 << width) if bits >> (width - 1) else bits


# -------------------------------------------------------------------------------------------------
# Layouts of the launch record: on the CPU, and on CUDA devices.


@dataclass(frozen=True, slots=True)
class RecordWords:
    """Positions of 64-bit words; `cancel` and `buffer` are None if a record has none.

    Without `buffer`, print records follow the launch record at once.
    """

    taken: int
    site: int
    block: int
    index: int
    extent: int
    capacity: int
    used: int
    end: int
    cancel: int | None = None
    buffer: int | None = None


CPU = RecordWords(
    cpu_abi.CpuLaunchWord.ERROR_TAKEN, cpu_abi.CpuLaunchWord.ERROR_SITE,
    cpu_abi.CpuLaunchWord.ERROR_BLOCK,
    cpu_abi.CpuLaunchWord.ERROR_INDEX, cpu_abi.CpuLaunchWord.ERROR_EXTENT,
    cpu_abi.CpuLaunchWord.PRINT_CAPACITY, cpu_abi.CpuLaunchWord.PRINT_USED, cpu_abi.LAUNCH_WORDS,
    cpu_abi.CpuLaunchWord.CANCEL, cpu_abi.CpuLaunchWord.PRINT_BUFFER,
)  # fmt: skip
CUDA = RecordWords(
    cuda_abi.CudaLaunchWord.ERROR_TAKEN, cuda_abi.CudaLaunchWord.ERROR_SITE,
    cuda_abi.CudaLaunchWord.ERROR_BLOCK, cuda_abi.CudaLaunchWord.ERROR_INDEX,
    cuda_abi.CudaLaunchWord.ERROR_EXTENT, cuda_abi.CudaLaunchWord.PRINT_CAPACITY,
    cuda_abi.CudaLaunchWord.PRINT_USED, cuda_abi.LAUNCH_WORDS,
)  # fmt: skip


# -------------------------------------------------------------------------------------------------
# The emitter: the current function, and the registers of plan values.


@dataclass(frozen=True, slots=True)
class TensorPointer:
    """A tensor at run time: address, extents and strides (in elements), all i64 but the first."""

    address: Vec
    extents: tuple[Vec, ...]
    strides: tuple[Vec, ...]


@dataclass(frozen=True, slots=True)
class Area:
    """The start of shared memory, and a byte offset into its dynamic part."""

    base: Vec
    offset: Vec | None = None


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of the targets of jumps out of a loop or a scope."""

    again: str
    done: str


class LlvmEmitter:
    """The emitter of one kernel's body."""

    def __init__(
        self, plan: Plan, cpu: CpuTarget, run: Callable[[LlvmEmitter, Stmt], None]
    ) -> None:
        self.plan = plan
        self.cpu = cpu
        self.run = run
        self.body = FunctionBody()
        self.library = Library(scales=cpu.scales)
        self.forms: Forms[Writer] = {}
        """The approximate forms of functions that the target has."""
        self.notes: dict[str, None] = {}
        """What was approximated, line by line."""
        self.record: RecordWords = CPU
        self.helpers: dict[str, str] = {}
        self.slots: list[str] = []
        self.names: dict[Value, Vec] = {}
        self.tensors: dict[Value, TensorPointer] = {}
        self.private: dict[Value, Private] = {}
        """Copies of accumulators."""
        self.areas: dict[Value, Area] = {}
        """Shared memory of GPUs."""
        self.buffers: dict[TileBuffer, Vec] = {}
        self.tiles: dict[TileBuffer, Vec] = {}
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
        """The countdown to the next poll; None if no loop polls."""
        self.unseen = 0
        """The iterations of enclosing loops that end before the first poll."""
        self.cached: Vec | None = None
        """All ones, or zero in a launch that streams; None where no store can be streamed."""

    # Words.

    def integer(self, number: int, kind: str = "i64") -> Vec:
        """Return a scalar constant."""
        return self.body.constant(kind, 1, number)

    def literal(self, elem: Elem, value: float, lanes: int) -> Vec:
        """Return a constant of an element type in every lane."""
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
        """Return memory on the stack for one value; it becomes a register when LLVM is done."""
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
        """Return an address some elements further on."""
        return self.body.emit(f"getelementptr {kind}, {address}, {elements}", "ptr", 1)

    def splat(self, value: Vec, lanes: int) -> Vec:
        """Return a scalar in every lane."""
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
        """Return 0, step, 2 * step, ... in the lanes."""
        if lanes == 1:
            return self.body.constant(kind, 1, 0)
        items = ", ".join(f"{kind} {i * step}" for i in range(lanes))
        return Vec(self.body, f"<{items}>", kind, lanes)

    def any_of(self, flags: Sequence[Vec], word: str = "and") -> Vec:
        """Return all (or any) of some scalar conditions."""
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
        """Return the register of a plan scalar."""
        return self.names[value]

    def operand(self, operand: Value | Literal, lanes: int) -> Vec:
        """Return a scalar or a constant in every lane."""
        if isinstance(operand, Literal):
            return self.literal(operand.elem, operand.value, lanes)
        return self.splat(self.names[operand], lanes)

    def variable(self, variable: Variable) -> Vec:
        """Return the address of a variable."""
        if variable not in self.variables:
            self.variables[variable] = self.slot(register_type(variable.elem))
        return self.variables[variable]

    def put(self, variable: Variable, value: Vec) -> None:
        """Set a variable."""
        self.store(value, self.variable(variable))

    def get(self, variable: Variable) -> Vec:
        """Return the value of a variable."""
        return self.load(self.variable(variable), register_type(variable.elem))

    def statements(self, statements: Sequence[Stmt]) -> None:
        """Write a run of statements."""
        for statement in statements:
            self.run(self, statement)

    # Control flow.

    def label(self, word: str) -> str:
        """Return a new label."""
        return self.body.fresh(word)

    def branch(self, condition: Vec, yes: str, no: str) -> None:
        """End the block by one of two ways."""
        self.do(f"br {condition}, label %{yes}, label %{no}")

    def helper(self, symbol: str, text: Callable[[], str]) -> str:
        """Return a function of the module, written once."""
        if symbol not in self.helpers:
            self.helpers[symbol] = text()
        return symbol


Compute: TypeAlias = Callable[[LlvmEmitter, Op, Sequence[Vec]], Vec]
"""How an elementwise op is written, for any number of lanes."""
