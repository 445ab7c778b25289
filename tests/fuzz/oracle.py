"""What a program must give: values by NumPy, block by block, with a bound on each one's error.

In exact programs every operation is exact, so the bound is zero. In rounded programs values are
computed in f64 and the bound follows from the error bounds of the operations (see Numbers).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.graph import Node, Program
from tilewright.base.dtypes import AnyDType, bf16, f16, f32, f64

Array = np.ndarray[Any, Any]
HALF_ULP: dict[AnyDType, float] = {f64: 2.0**-52, f32: 2.0**-24, f16: 2.0**-11, bf16: 2.0**-8}
"""Of f64 twice as much: what is expected was computed in f64, and is rounded, too."""
TINY: dict[AnyDType, float] = {f64: 5e-324, f32: 1.5e-45, f16: 6e-8, bf16: 1e-40}
FUNCTION_ULPS = 2.0


def inputs_of(program: Program, *, exact: bool) -> list[Array]:
    """Fresh random inputs: small integers where results must be exact, reals otherwise."""
    rng = np.random.default_rng(program.seed)
    made = []
    for dtype in program.inputs:
        if exact or not dtype.is_float:
            low = 0 if dtype.kind == "u" else -8
            values = rng.integers(low, 9, program.extents)
        else:
            values = rng.uniform(0.5, 2.0, program.extents) * rng.choice([-1, 1], program.extents)
        made.append(values.astype(dtype.np))
    return made


def blocks(program: Program) -> list[tuple[slice, slice]]:
    rows, columns, _ = program.grid
    (h, w) = program.tile
    return [
        (slice(i * h, (i + 1) * h), slice(j * w, (j + 1) * w))
        for i in range(rows)
        for j in range(columns)
    ]


def padded(array: Array, where: tuple[slice, slice], tile: tuple[int, int]) -> Array:
    part = array[where]
    full = np.zeros(tile, array.dtype)
    full[: part.shape[0], : part.shape[1]] = part
    return full


# --- exact -----------------------------------------------------------------------------------

Rule = Callable[..., Array]

EXACT: dict[str, Rule] = {
    "neg": lambda a: -a, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "invert": lambda a: ~a,
    "transpose": lambda a: a.T, "add": np.add, "sub": np.subtract, "mul": np.multiply,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": lambda a, b: np.left_shift(a, b & 15) if a.dtype.itemsize > 2 else _shift(a, b),
    "rshift": lambda a, b: _shift_right(a, b),
    "maximum": np.maximum, "minimum": np.minimum, "lt": np.less, "le": np.less_equal,
    "eq": np.equal, "ne": np.not_equal, "where": np.where,
    "floordiv": lambda a, b: np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b))),
    "mod": lambda a, b: np.where(b == 0, a, np.remainder(a, np.where(b == 0, 1, b))),
}  # fmt: skip


def _shift(a: Array, b: Array) -> Array:
    amount = (b & 15).astype(np.int64)
    wide = a.astype(np.int64) << amount
    return np.where(amount < a.dtype.itemsize * 8, wide, 0).astype(a.dtype)


def _shift_right(a: Array, b: Array) -> Array:
    """By the width or more gives the sign, and of what has none 0: as of a number that is wider."""
    return (a.astype(np.int64) >> (b & 15).astype(np.int64)).astype(a.dtype)


def exact(program: Program, inputs: list[Array]) -> Array:
    """The output, every operation being exact."""
    result = np.zeros(program.extents, program.out.dtype.np)
    for where in blocks(program):
        values: list[Array] = []
        with np.errstate(all="ignore"):
            for node in program.nodes:
                value = _exact(program, node, values, inputs, where)
                values.append(np.broadcast_to(value, node.shape).astype(node.dtype.np))
        part = result[where]
        part[...] = values[-1][: part.shape[0], : part.shape[1]]
    return result


def _exact(program: Program, node: Node, values: list[Array], inputs: list[Array],
           where: tuple[slice, slice]) -> Array:  # fmt: skip
    args = [values[a] for a in node.args]
    if node.op == "load":
        return padded(inputs[node.param], where, program.tile)
    if node.op == "loop":
        step, trips = node.param
        for _ in range(program.n if trips == "n" else trips):
            args[0] = EXACT[step](*args).astype(node.dtype.np)
        return args[0]
    if node.op == "if":
        return args[0] if program.n > node.param else args[1]
    return STRUCTURAL.get(node.op, lambda n, a: EXACT[n.op](*a))(node, args)


STRUCTURAL: dict[str, Callable[[Node, list[Array]], Array]] = {
    "constant": lambda node, args: np.full(node.shape, node.param),
    "cast": lambda node, args: args[0].astype(node.dtype.np),
    "broadcast": lambda node, args: np.broadcast_to(args[0], node.shape),
    "reshape": lambda node, args: args[0].reshape(node.shape),
    "sum": lambda node, args: _wide(args[0]).sum(node.param, keepdims=True),
    "max": lambda node, args: args[0].max(node.param, keepdims=True),
    "min": lambda node, args: args[0].min(node.param, keepdims=True),
    "scan": lambda node, args: _wide(args[0]).cumsum(node.param),
    "matmul": lambda node, args: args[0].astype(np.float64) @ args[1].astype(np.float64),
}


def _wide(a: Array) -> Array:
    return a.astype(np.float64) if a.dtype.kind not in "iu" else a.astype(np.int64)


# --- rounded ---------------------------------------------------------------------------------

Pair = tuple[Array, Array]
"""Values in f64, and how far off a correct implementation may be."""

DERIVATIVES: dict[str, tuple[Rule, Rule]] = {
    # A function, and a bound of its slope between a - e and a + e.
    "exp": (np.exp, lambda a, e: np.exp(a + e)),
    "exp2": (np.exp2, lambda a, e: np.log(2) * np.exp2(a + e)),
    "expm1": (np.expm1, lambda a, e: np.exp(a + e)),
    "erf": (np.vectorize(math.erf, [float]), lambda a, e: np.full_like(a, 2 / math.sqrt(math.pi))),
    "log1p": (np.log1p, lambda a, e: 1 / _away(1 + a, e)),
    "cbrt": (np.cbrt, lambda a, e: _away(a, e) ** (-2 / 3) / 3),
    "log": (np.log, lambda a, e: 1 / _away(a, e)),
    "log2": (np.log2, lambda a, e: 1.4427 / _away(a, e)),
    "sqrt": (np.sqrt, lambda a, e: 0.5 / np.sqrt(_away(a, e))),
    "rsqrt": (lambda a: 1 / np.sqrt(a), lambda a, e: 0.5 * _away(a, e) ** -1.5),
    "sin": (np.sin, lambda a, e: np.ones_like(a)),
    "cos": (np.cos, lambda a, e: np.ones_like(a)),
    "tanh": (np.tanh, lambda a, e: np.ones_like(a)),
    "sinh": (np.sinh, lambda a, e: np.cosh(np.abs(a) + e)),
    "cosh": (np.cosh, lambda a, e: np.cosh(np.abs(a) + e)),
}


def _away(a: Array, e: Array) -> Array:
    return np.maximum(np.abs(a) - e, 1e-300)


def _rounding(dtype: AnyDType, value: Array, halves: float) -> Array:
    return np.abs(value) * HALF_ULP[dtype] * halves * 1.01 + TINY[dtype] * halves


def rounded(program: Program, inputs: list[Array]) -> Pair:
    """The output in f64 and the greatest error that each element may have."""
    value = np.zeros(program.extents)
    error = np.zeros(program.extents)
    for where in blocks(program):
        pairs: list[Pair] = []
        with np.errstate(all="ignore"):
            for node in program.nodes:
                v, e = _rounded(program, node, pairs, inputs, where)
                pairs.append((np.broadcast_to(v, node.shape), np.broadcast_to(e, node.shape)))
        part = value[where]
        h, w = part.shape
        value[where], error[where] = pairs[-1][0][:h, :w], pairs[-1][1][:h, :w]
    return value, error


def _rounded(program: Program, node: Node, pairs: list[Pair], inputs: list[Array],
             where: tuple[slice, slice]) -> Pair:  # fmt: skip
    args = [pairs[a] for a in node.args]
    if node.op == "load":
        tile = padded(inputs[node.param], where, program.tile).astype(np.float64)
        return tile, np.zeros_like(tile)
    if node.op in DERIVATIVES:
        (a, e) = args[0]
        function, slope = DERIVATIVES[node.op]
        v = function(a)
        return v, slope(a, e) * e + _rounding(node.dtype, v, 2 * FUNCTION_ULPS)
    return ROUNDED[node.op](node, args)


def _add(node: Node, args: list[Pair], sign: int = 1) -> Pair:
    (a, ea), (b, eb) = args
    v = a + sign * b
    return v, ea + eb + _rounding(node.dtype, v, 1) + HALF_ULP[node.dtype] * (ea + eb)


def _mul(node: Node, args: list[Pair]) -> Pair:
    (a, ea), (b, eb) = args
    e = np.abs(a) * eb + np.abs(b) * ea + ea * eb
    return a * b, e + _rounding(node.dtype, np.abs(a * b) + e, 1)


def _div(node: Node, args: list[Pair]) -> Pair:
    (a, ea), (b, eb) = args
    v = a / b
    e = (ea + np.abs(v) * eb) / _away(b, eb)
    return v, e + _rounding(node.dtype, np.abs(v) + e, 2 * FUNCTION_ULPS)


def _sum(node: Node, args: list[Pair]) -> Pair:
    (a, ea), axis = args[0], node.param
    v, e = a.sum(axis, keepdims=True), ea.sum(axis, keepdims=True)
    total = (np.abs(a) + ea).sum(axis, keepdims=True)
    return v, e + _rounding(node.dtype, total, a.shape[axis])


def _extreme(name: str) -> Callable[[Node, list[Pair]], Pair]:
    def rule(node: Node, args: list[Pair]) -> Pair:
        (a, ea) = args[0]
        pick = getattr(np, name)
        return pick(a, axis=node.param, keepdims=True), ea.max(node.param, keepdims=True)

    return rule


def _matmul(node: Node, args: list[Pair]) -> Pair:
    (a, ea), (b, eb) = args
    e = np.abs(a) @ eb + ea @ np.abs(b) + ea @ eb
    total = (np.abs(a) + ea) @ (np.abs(b) + eb)
    return a @ b, e + _rounding(node.dtype, total, 2 * a.shape[1])


def _either(node: Node, args: list[Pair]) -> Pair:
    (a, ea), (b, eb) = args
    pick = np.maximum if node.op == "maximum" else np.minimum
    return pick(a, b), np.maximum(ea, eb)


ROUNDED: dict[str, Callable[[Node, list[Pair]], Pair]] = {
    "add": _add,
    "sub": lambda node, args: _add(node, args, -1),
    "mul": _mul,
    "div": _div,
    "sum": _sum,
    "max": _extreme("amax"),
    "min": _extreme("amin"),
    "matmul": _matmul,
    "maximum": _either,
    "minimum": _either,
    "neg": lambda node, args: (-args[0][0], args[0][1]),
    "abs": lambda node, args: (np.abs(args[0][0]), args[0][1]),
    "transpose": lambda node, args: (args[0][0].T, args[0][1].T),
    "broadcast": lambda node, args: args[0],
    "constant": lambda node, args: (np.full(node.shape, float(node.param)), np.zeros(node.shape)),
}
