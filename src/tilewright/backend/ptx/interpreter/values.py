"""The values of registers: element types, operands as arrays with an element for each thread."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from ....base.dtypes import bf16
from .program import Instr, Number, Operand, PtxError, Register, Sink, Special, Symbol

if TYPE_CHECKING:
    from .layout import Layout
    from .threads import Threads

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Lanes: TypeAlias = "slice | Array"
"""The threads that run an instruction: their numbers, or `ALL`."""
Action: TypeAlias = "Callable[[Threads, Lanes], None]"
Reader: TypeAlias = "Callable[[Threads, Lanes], Array]"
Maker: TypeAlias = "Callable[[Layout, Instr], Action]"
"""Makes of an instruction what it does; raises PtxError for a form that is not known."""

Compute: TypeAlias = (
    Callable[[Array], Array]
    | Callable[[Array, Array], Array]
    | Callable[[Array, Array, Array], Array]
    | Callable[[Array, Array, Array, Array], Array]
)
"""Computes a result of operands, each of them an array with an element for each thread."""

ALL = slice(None)
TYPES: dict[str, np.dtype[Any]] = {
    **{f"{letter}{bits}": np.dtype(f"uint{bits}") for letter in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    "bf16": np.dtype(bf16.np),
    "pred": np.dtype(np.bool_),
}
BITS = {1: np.dtype(np.bool_), **{bits: TYPES[f"b{bits}"] for bits in (8, 16, 32, 64)}}
"""How registers of so many bits are kept."""


class UndefinedError(Exception):
    """What an instruction does is not defined; `which` of the threads that run it is at fault."""

    def __init__(self, what: str, which: int | None = None) -> None:
        super().__init__(what)
        self.which = which


def first(wrong: Array) -> int:
    """Return the first of those at fault."""
    return int(np.flatnonzero(wrong)[0])


def unknown(instr: Instr) -> NoReturn:
    """Refuse an instruction."""
    raise PtxError(f"the interpreter does not know the instruction of {instr}")


def form(instr: Instr, pattern: str, operands: int) -> re.Match[str]:
    """Match a whole opcode, and the number of operands."""
    match = re.fullmatch(pattern, instr.opcode)
    if match is None or len(instr.operands) != operands:
        unknown(instr)
    return match


def bits_of(kind: str) -> int:
    """Return how many bits a type has."""
    return 1 if kind == "pred" else 8 * TYPES[kind].itemsize


def reader(
    layout: Layout, instr: Instr, operand: Operand, kind: str, *, wide: bool = False
) -> Reader:
    """Read an operand as a type; with `wide`, the low bits of a register that has more."""
    dtype, bits = TYPES[kind], bits_of(kind)
    if isinstance(operand, Register):
        return _register_reader(instr, operand, dtype, bits, wide=wide)
    if isinstance(operand, Special):
        name = operand.name
        return lambda threads, lanes: _taken(threads.special(name), lanes).view(dtype)
    if isinstance(operand, Number):
        constant = _number(instr, operand, dtype, bits)
    elif isinstance(operand, Symbol):
        constant = np.asarray(layout.address(operand.name), np.uint64).astype(TYPES[f"u{bits}"])
    else:
        raise PtxError(f"{instr} cannot have the operand {operand}")
    return lambda threads, lanes: constant


def _taken(array: Array, lanes: Lanes) -> Array:
    taken: Array = array[lanes]
    return taken


def _register_reader(
    instr: Instr, register: Register, dtype: np.dtype[Any], bits: int, *, wide: bool
) -> Reader:
    if register.bits == bits:
        return lambda threads, lanes: threads.read(register, lanes).view(dtype)
    if not wide or register.bits < bits or bits == 1:
        raise PtxError(f"{instr}: {register.name} has {register.bits} bits, not {bits}")
    narrow = BITS[bits]
    return lambda threads, lanes: threads.read(register, lanes).astype(narrow).view(dtype)


def _number(instr: Instr, number: Number, dtype: np.dtype[Any], bits: int) -> Array:
    if bits == 1:
        return np.asarray(bool(number.value))
    if number.float_bits not in (0, bits):
        raise PtxError(f"{instr}: a float of {number.float_bits} bits among those of {bits}")
    return np.asarray(number.value & ((1 << bits) - 1), BITS[bits]).view(dtype)


def writer(
    instr: Instr, operand: Operand, kind: str, *, wide: bool = False
) -> Callable[[Threads, Lanes, Array], None]:
    """Write a register as a type; with `wide`, extended to a register that has more bits."""
    bits = bits_of(kind)
    if isinstance(operand, Sink):
        return lambda threads, lanes, value: None
    if not isinstance(operand, Register):
        raise PtxError(f"{instr} cannot write {operand}")
    if operand.bits == bits:
        stored = BITS[bits]
        return lambda threads, lanes, value: threads.write(operand, lanes, value.view(stored))
    if not wide or operand.bits < bits or bits == 1:
        raise PtxError(f"{instr}: {operand.name} has {operand.bits} bits, not {bits}")
    full = BITS[operand.bits]
    extended = TYPES[f"s{operand.bits}"] if kind.startswith("s") else full
    return lambda threads, lanes, value: threads.write(
        operand, lanes, value.astype(extended).view(full)
    )


def pure(
    layout: Layout, instr: Instr, result: str, given: tuple[str, ...], function: Compute
) -> Action:
    """Return an instruction that computes its first operand of the others."""
    write = writer(instr, instr.operands[0], result)
    dtype = TYPES[result]
    pairs = zip(instr.operands[1:], given, strict=True)
    reads = [reader(layout, instr, operand, kind) for operand, kind in pairs]

    compute: Callable[..., Array] = function

    def act(threads: Threads, lanes: Lanes) -> None:
        made = compute(*[read(threads, lanes) for read in reads])
        write(threads, lanes, np.asarray(made, dtype))

    return act
