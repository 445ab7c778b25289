"""PTX as data: functions of basic blocks, instructions as they are written, variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ....base.errors import InternalError


class PtxError(InternalError):
    """PTX that is invalid, that the interpreter does not know, or whose behaviour is undefined."""


@dataclass(frozen=True, slots=True)
class Register:
    """A register of a function: its number in the module, its bits (1 for a predicate)."""

    number: int
    name: str
    bits: int


@dataclass(frozen=True, slots=True)
class Number:
    """An immediate integer, or the bits of a float and how many there are."""

    value: int
    float_bits: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """A special register, `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """The name of a variable or a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a part of a vector that is not used."""


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`."""

    base: Register | Symbol | Number
    offset: int


Scalar: TypeAlias = Register | Number | Special | Symbol | Sink
Operand: TypeAlias = Scalar | Address | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate under which an instruction runs."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class Instr:
    """One instruction; `line` is that of the text."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    targets: tuple[str, ...] = ()
    """The labels of a branch; the function of a call."""
    results: tuple[str, ...] = ()
    """The parameters that take the results of a call; its arguments are symbols."""

    def __str__(self) -> str:
        return f"line {self.line}: `{self.opcode}`"


@dataclass(slots=True)
class Variable:
    """A variable: where it lies, its bytes, its alignment, what it holds at first."""

    name: str
    space: str
    nbytes: int
    align: int
    initial: bytes | None = None


@dataclass(slots=True)
class Function:
    """A kernel or a function: parameters, results, its own variables, and code with labels."""

    name: str
    is_entry: bool
    params: list[Variable] = field(default_factory=list[Variable])
    results: list[Variable] = field(default_factory=list[Variable])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    registers: list[Register] = field(default_factory=list[Register])
    code: list[Instr] = field(default_factory=list[Instr])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    """The number of the instruction behind each label."""
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The labels of indexed branches."""
    required_block: tuple[int, ...] | None = None


@dataclass(slots=True)
class Module:
    """A file of PTX."""

    target: str
    functions: dict[str, Function]
    variables: dict[str, Variable]
    registers: int
    """How many registers all functions have."""
