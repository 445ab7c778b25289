"""A small builder of LLVM functions: values with operators in, instruction text out.

A `Value` knows its element type and its number of lanes; with one lane it is a scalar, not a vector
of one. Python numbers mix with values and become constants of the value's type.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

INTEGER = {"float": "i32", "double": "i64"}
"""The integer type that holds the bits of a float type."""
FLOAT = {"i32": "float", "i64": "double"}
FRACTION_BITS = {"float": 23, "double": 52}
BIAS = {"float": 127, "double": 1023}
MANGLED = {"float": "f32", "double": "f64"}


def vector(elem: str, lanes: int) -> str:
    """Return the LLVM type of that many lanes; one lane is the element type itself.

    >>> vector("float", 8), vector("i32", 1)
    ('<8 x float>', 'i32')
    """
    return elem if lanes == 1 else f"<{lanes} x {elem}>"


def literal(elem: str, number: float) -> str:
    """Return a constant of an element type, exactly as its bits."""
    if elem == "float":
        number = struct.unpack("<f", struct.pack("<f", number))[0]
    if elem in INTEGER:
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    return str(int(number))


@dataclass(slots=True)
class FunctionBody:
    """The instructions of one function, and what it needs beside itself."""

    lines: list[str] = field(default_factory=list[str])
    declarations: set[str] = field(default_factory=set[str])
    helpers: dict[str, str] = field(default_factory=dict[str, str])
    block: str = "entry"
    count: int = 0
    scales: bool = False
    """Whether the target multiplies vectors by powers of two with one instruction."""

    def fresh(self, prefix: str) -> str:
        """Return a name not used in this function yet."""
        self.count += 1
        return f"{prefix}{self.count}"

    def emit(self, instruction: str, elem: str, lanes: int) -> Vec:
        """Append an instruction; return its result."""
        name = self.fresh("%v")
        self.lines.append(f"  {name} = {instruction}")
        return Vec(self, name, elem, lanes)

    def constant(self, elem: str, lanes: int, number: float) -> Vec:
        """Return a constant with the same number in every lane."""
        text = literal(elem, number)
        return Vec(self, text if lanes == 1 else f"splat ({elem} {text})", elem, lanes)

    def label(self, name: str) -> None:
        """Begin a block; the one before must have ended with a branch."""
        self.lines.append(f"{name}:")
        self.block = name

    def jump(self, target: str) -> None:
        """End the block."""
        self.lines.append(f"  br label %{target}")


@dataclass(frozen=True, slots=True)
class Vec:
    """The result of an instruction, or a constant."""

    body: FunctionBody
    name: str
    elem: str
    lanes: int

    @property
    def type(self) -> str:
        """Its LLVM type."""
        return vector(self.elem, self.lanes)

    @property
    def is_float(self) -> bool:
        """Whether float instructions apply."""
        return self.elem in INTEGER

    def __str__(self) -> str:
        return f"{self.type} {self.name}"

    def like(self, other: Operand) -> Vec:
        """Convert a number to a constant of this value's type; check a value."""
        if not isinstance(other, Vec):
            return self.body.constant(self.elem, self.lanes, other)
        if other.type != self.type:
            raise TypeError(f"operands differ: {self.type} and {other.type}")
        return other

    def binary(self, instruction: str, other: Operand) -> Vec:
        """Return any two-operand instruction, by name."""
        text = f"{instruction} {self}, {self.like(other).name}"
        return self.body.emit(text, self.elem, self.lanes)

    def compare(self, of_floats: str, of_ints: str, other: Operand) -> Vec:
        """Return a comparison; the predicate depends on the kind of the operands."""
        text = f"fcmp {of_floats}" if self.is_float else f"icmp {of_ints}"
        return self.body.emit(f"{text} {self}, {self.like(other).name}", "i1", self.lanes)

    def cast(self, instruction: str, elem: str) -> Vec:
        """Return any conversion instruction, by name."""
        text = f"{instruction} {self} to {vector(elem, self.lanes)}"
        return self.body.emit(text, elem, self.lanes)

    def __add__(self, other: Operand) -> Vec:
        return self.binary("fadd" if self.is_float else "add", other)

    def __sub__(self, other: Operand) -> Vec:
        return self.binary("fsub" if self.is_float else "sub", other)

    def __mul__(self, other: Operand) -> Vec:
        return self.binary("fmul" if self.is_float else "mul", other)

    def __truediv__(self, other: Operand) -> Vec:
        return self.binary("fdiv", other)

    def __radd__(self, other: float) -> Vec:
        return self.like(other) + self

    def __rsub__(self, other: float) -> Vec:
        return self.like(other) - self

    def __rmul__(self, other: float) -> Vec:
        return self.like(other) * self

    def __rtruediv__(self, other: float) -> Vec:
        return self.like(other) / self

    def __neg__(self) -> Vec:
        if self.is_float:
            return self.body.emit(f"fneg {self}", self.elem, self.lanes)
        return 0 - self

    def __and__(self, other: Operand) -> Vec:
        return self.binary("and", other)

    def __or__(self, other: Operand) -> Vec:
        return self.binary("or", other)

    def __xor__(self, other: Operand) -> Vec:
        return self.binary("xor", other)

    def __lshift__(self, other: Operand) -> Vec:
        return self.binary("shl", other)

    def lshr(self, other: Operand) -> Vec:
        """Shift right, zeros coming in."""
        return self.binary("lshr", other)

    def ashr(self, other: Operand) -> Vec:
        """Shift right, the sign coming in."""
        return self.binary("ashr", other)

    # Float comparisons are false for NaN, except `ne`.
    def __lt__(self, other: Operand) -> Vec:
        return self.compare("olt", "slt", other)

    def __gt__(self, other: Operand) -> Vec:
        return self.compare("ogt", "sgt", other)

    def __ge__(self, other: Operand) -> Vec:
        return self.compare("oge", "sge", other)

    def eq(self, other: Operand) -> Vec:
        """Return whether lanes are equal; false for NaN."""
        return self.compare("oeq", "eq", other)

    def ne(self, other: Operand) -> Vec:
        """Return whether lanes differ; true for NaN."""
        return self.compare("une", "ne", other)

    def is_nan(self) -> Vec:
        """Return a mask of the lanes that are NaN."""
        return self.body.emit(f"fcmp uno {self}, {self.name}", "i1", self.lanes)

    def frozen(self) -> Vec:
        """Return the value with poison replaced by some number (`freeze`).

        What is undefined may be taken for whatever suits, at each of its uses for something else:
        a test for zero does not hold for the division behind it.
        """
        if not self.name.startswith("%"):
            return self
        return self.body.emit(f"freeze {self}", self.elem, self.lanes)

    def bits(self) -> Vec:
        """Return the bits of a float, as an integer."""
        return self.cast("bitcast", INTEGER[self.elem])

    def as_float(self) -> Vec:
        """Return the float with these bits."""
        return self.cast("bitcast", FLOAT[self.elem])

    def extend(self) -> Vec:
        """Convert float to double, exactly."""
        return self.cast("fpext", "double")

    def truncate(self) -> Vec:
        """Convert double to float, rounded."""
        return self.cast("fptrunc", "float")

    def intrinsic(self, name: str, *others: Operand) -> Vec:
        """Call an intrinsic whose operands and result all have this type."""
        operands = [self, *(self.like(other) for other in others)]
        suffix = MANGLED.get(self.elem, self.elem)
        symbol = f"@llvm.{name}.{suffix if self.lanes == 1 else f'v{self.lanes}{suffix}'}"
        types = ", ".join(operand.type for operand in operands)
        self.body.declarations.add(f"declare {self.type} {symbol}({types})")
        text = f"call {self.type} {symbol}({', '.join(map(str, operands))})"
        return self.body.emit(text, self.elem, self.lanes)


Operand: TypeAlias = Vec | float


def fma(a: Vec, b: Operand, c: Operand) -> Vec:
    """Compute a * b + c, rounded once. Without the instruction it would be a library call."""
    return a.intrinsic("fma", b, c)


def floor(x: Vec) -> Vec:
    """Return the greatest integer not above x."""
    return x.intrinsic("floor")


def absolute(x: Vec) -> Vec:
    """Return the absolute value."""
    return x.intrinsic("fabs")


def copysign(magnitude: Vec, sign: Vec) -> Vec:
    """Return the magnitude of one, the sign of the other."""
    return magnitude.intrinsic("copysign", sign)


def signed(result: Vec, sign: Vec) -> Vec:
    """Return a double rounded to float, with the sign it has already, taken from a float.

    LLVM moves a later rounding to half onto the operand that gives the sign; for one double that
    would be a library call.
    """
    return copysign(result.truncate(), sign)


def where(condition: Vec, yes: Vec, no: Operand) -> Vec:
    """Select one or the other, lane by lane."""
    text = f"select {condition}, {yes}, {yes.type} {yes.like(no).name}"
    return yes.body.emit(text, yes.elem, yes.lanes)


def constant(like: Vec, number: float) -> Vec:
    """Return a constant of a value's type."""
    return like.like(number)


def horner(x: Vec, coefficients: Sequence[float]) -> Vec:
    """Return the polynomial with these coefficients, lowest first."""
    result = constant(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = fma(result, x, coefficient)
    return result


def power_of_two(exponent: Vec) -> Vec:
    """Return the float 2^exponent, for integers in the range of normal numbers."""
    elem = FLOAT[exponent.elem]
    return ((exponent + BIAS[elem]) << FRACTION_BITS[elem]).as_float()


def round_to_integer(x: Vec) -> tuple[Vec, Vec]:
    """Return the nearest integer, as a float and as an integer; |x| < 2^(fraction bits - 1).

    Adding 1.5 * 2^(fraction bits) leaves the integer in the low bits. Unlike a conversion
    instruction this is defined for every input: NaN stays NaN, and its integer is arbitrary.
    """
    magic = 1.5 * 2.0 ** FRACTION_BITS[x.elem]
    shifted = x + magic
    return shifted - magic, shifted.bits() - constant(shifted, magic).bits()


def float_of(n: Vec) -> Vec:
    """Return a small integer as a float, by the same trick."""
    magic = n.body.constant(FLOAT[n.elem], n.lanes, 1.5 * 2.0 ** FRACTION_BITS[FLOAT[n.elem]])
    return (n + magic.bits()).as_float() - magic


def any_lane(mask: Vec) -> Vec:
    """Return whether the condition holds in some lane: a scalar."""
    if mask.lanes == 1:
        return mask
    symbol = f"@llvm.vector.reduce.or.v{mask.lanes}i1"
    mask.body.declarations.add(f"declare i1 {symbol}({mask.type})")
    return mask.body.emit(f"call i1 {symbol}({mask})", "i1", 1)


def branch(
    condition: Vec, otherwise: Sequence[Vec], then: Callable[[], Sequence[Vec]]
) -> list[Vec]:
    """Return the values of `then` if the scalar condition holds, else the given ones (phis)."""
    body = condition.body
    before, inside, after = body.block, body.fresh("then"), body.fresh("after")
    body.lines.append(f"  br {condition}, label %{inside}, label %{after}")
    body.label(inside)
    computed = then()
    last = body.block
    body.jump(after)
    body.label(after)
    return [
        body.emit(f"phi {n.type} [ {n.name}, %{before} ], [ {y.name}, %{last} ]", n.elem, n.lanes)
        for n, y in zip(otherwise, computed, strict=True)
    ]


def repeat(initial: Sequence[Vec], step: Callable[..., tuple[Vec, Sequence[Vec]]]) -> list[Vec]:
    """Run `step` on the values, again on its results, while the scalar it gives is true."""
    body = initial[0].body
    before, inside, after = body.block, body.fresh("loop"), body.fresh("after")
    body.jump(inside)
    body.label(inside)
    place = len(body.lines)
    carried = [body.emit("", value.elem, value.lanes) for value in initial]
    more, results = step(*carried)
    for i, (phi, first, again) in enumerate(zip(carried, initial, results, strict=True)):
        sources = f"[ {first.name}, %{before} ], [ {again.name}, %{body.block} ]"
        body.lines[place + i] = f"  {phi.name} = phi {phi.type} {sources}"
    body.lines.append(f"  br {more}, label %{inside}, label %{after}")
    body.label(after)
    return list(results)


def define(
    symbol: str, parameters: Sequence[str], lanes: int, write: Writer, *, scales: bool = False
) -> tuple[str, FunctionBody]:
    """Write a whole function of parameters of these element types."""
    body = FunctionBody(scales=scales)
    values = [Vec(body, f"%a{i}", elem, lanes) for i, elem in enumerate(parameters)]
    result = write(*values)
    head = f"define internal {result.type} {symbol}({', '.join(map(str, values))})"
    lines = [f"{head} alwaysinline nounwind {{", "entry:", *body.lines, f"  ret {result}", "}"]
    return "\n".join(lines) + "\n", body


Writer: TypeAlias = Callable[..., Vec]


@dataclass(frozen=True, slots=True)
class LlvmFunction:
    """An elementary function: how it is written and its greatest error in ulp, by dtype."""

    arity: int
    write: dict[str, Writer]
    bound: dict[str, float]
