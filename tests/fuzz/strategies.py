"""Hypothesis strategies for programs, exact and rounded."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fuzz.graph import Node, Program, Shape
from tilewright.base.dtypes import AnyDType, bf16, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u32

LIMIT: dict[AnyDType, float] = {f64: 2.0**50, f32: 2.0**23, f16: 2.0**10, bf16: 2.0**7}
"""Up to here whole numbers and their sums are exact."""

EXACT_DTYPES = (f32, f32, f16, bf16, f64, i32, i32, i8, i16, i64, u8, u32)
ROUNDED_DTYPES = (f32, f32, f32, f64, f16, bf16)


def _extent(draw: Any, tile: int) -> int:
    """Boundary sizes first: 1, tile - 1, tile, tile + 1, a prime."""
    return max(1, draw(st.sampled_from([tile, tile - 1, tile + 1, 1, 7, 2 * tile])))


def _start(draw: Any, dtypes: tuple[AnyDType, ...]) -> Program:
    dims = st.sampled_from([4, 8, 1, 2, 16])
    tile = (draw(dims), draw(dims))
    extents = (_extent(draw, tile[0]), _extent(draw, tile[1]))
    dtype = draw(st.sampled_from(dtypes))
    inputs = [dtype] * draw(st.integers(1, 3))
    program = Program(tile, extents, inputs)
    program.n = draw(st.integers(0, 3))
    program.seed = draw(st.integers(0, 2**32 - 1))
    bound = 8.0
    program.nodes = [Node("load", (), d, tile, bound, k) for k, d in enumerate(inputs)]
    return program


class Grower:
    """Adds nodes to a program; gives up silently where a rule does not apply."""

    def __init__(self, draw: Any, program: Program) -> None:
        self.draw = draw
        self.program = program

    def pick(self, accepts: Any) -> int | None:
        found = [k for k, node in enumerate(self.program.nodes) if accepts(node)]
        return self.draw(st.sampled_from(found)) if found else None

    def node(self, k: int) -> Node:
        return self.program.nodes[k]

    def add(self, op: str, args: tuple[int, ...], dtype: AnyDType, shape: Shape, bound: float = 0.0,
            param: Any = None) -> None:  # fmt: skip
        if dtype in LIMIT and bound > LIMIT[dtype]:
            return
        self.program.nodes.append(Node(op, args, dtype, shape, bound, param))

    def partner(self, k: int) -> int | None:
        first = self.node(k)
        return self.pick(lambda n: n.dtype is first.dtype and _fits(n.shape, first.shape))


def _fits(a: Shape, b: Shape) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(a, b, strict=True))


def _widens(a: Shape, b: Shape) -> bool:
    return _fits(a, b) and _joined(a, b) == b


def _joined(a: Shape, b: Shape) -> Shape:
    return (max(a[0], b[0]), max(a[1], b[1]))


def _is_number(node: Node) -> bool:
    return node.dtype is not bool_


def _binary(
    g: Grower, ops: list[str], accepts: Any, bounds: dict[str, Any], to: Any = None
) -> None:
    a = g.pick(accepts)
    b = None if a is None else g.partner(a)
    if a is None or b is None:
        return
    op = g.draw(st.sampled_from(ops))
    x, y = g.node(a), g.node(b)
    bound = bounds.get(op, max)(x.bound, y.bound)
    g.add(op, (a, b), to or x.dtype, _joined(x.shape, y.shape), bound)


SUMS = {"add": lambda x, y: x + y, "sub": lambda x, y: x + y, "mul": lambda x, y: x * y}


def arithmetic(g: Grower) -> None:
    _binary(g, ["add", "sub", "mul", "maximum", "minimum"], _is_number, SUMS)


def integer(g: Grower) -> None:
    ops = ["and", "or", "xor", "lshift", "rshift", "floordiv", "mod"]
    _binary(g, ops, lambda n: n.dtype.is_int, {})


def comparison(g: Grower) -> None:
    _binary(g, ["lt", "le", "eq", "ne"], _is_number, {}, bool_)


def logic(g: Grower) -> None:
    _binary(g, ["and", "or", "xor"], lambda n: n.dtype is bool_, {})


def where(g: Grower) -> None:
    c = g.pick(lambda n: n.dtype is bool_)
    a = None if c is None else g.pick(lambda n: _is_number(n) and _fits(n.shape, g.node(c).shape))
    if a is None or c is None:
        return
    shape = _joined(g.node(c).shape, g.node(a).shape)
    b = g.pick(lambda n: n.dtype is g.node(a).dtype and _fits(n.shape, shape))
    if b is not None:
        bound = max(g.node(a).bound, g.node(b).bound)
        g.add("where", (c, a, b), g.node(a).dtype, _joined(shape, g.node(b).shape), bound)


def unary(g: Grower) -> None:
    a = g.pick(_is_number)
    if a is None:
        return
    node = g.node(a)
    ops = ["neg", "abs", "floor", "ceil"] if node.dtype.is_float else ["invert"]
    if node.dtype.kind == "i":
        ops += ["neg", "abs"]
    g.add(g.draw(st.sampled_from(ops)), (a,), node.dtype, node.shape, node.bound)


def constant(g: Grower) -> None:
    a = g.pick(_is_number)
    if a is not None:
        node = g.node(a)
        value = g.draw(st.integers(0, 7))
        g.add(
            "constant",
            (),
            node.dtype,
            node.shape,
            7,
            float(value) if node.dtype.is_float else value,
        )


def cast(g: Grower) -> None:
    a = g.pick(lambda n: n.dtype.is_float or n.dtype is bool_)
    if a is None:
        return
    to = g.draw(st.sampled_from([f32, f64, i32, i64, i16]))
    node = g.node(a)
    if (to is i16 and node.bound > 2**15 - 1) or (to is i32 and node.bound > 2**31 - 1):
        return
    if to is not node.dtype:
        g.add("cast", (a,), to, node.shape, max(node.bound, 1.0))


def transpose(g: Grower) -> None:
    a = g.pick(lambda n: True)
    if a is not None:
        node = g.node(a)
        g.add("transpose", (a,), node.dtype, node.shape[::-1], node.bound)


def reduce(g: Grower) -> None:
    a = g.pick(_is_number)
    if a is None:
        return
    node, axis = g.node(a), g.draw(st.integers(0, 1))
    shape = (1, node.shape[1]) if axis == 0 else (node.shape[0], 1)
    op = g.draw(st.sampled_from(["sum", "max", "min"]))
    bound = node.bound * node.shape[axis] if op == "sum" else node.bound
    g.add(op, (a,), node.dtype, shape, bound, axis)


def scan(g: Grower) -> None:
    a = g.pick(_is_number)
    if a is not None:
        node, axis = g.node(a), g.draw(st.integers(0, 1))
        g.add("scan", (a,), node.dtype, node.shape, node.bound * node.shape[axis], axis)


def matmul(g: Grower) -> None:
    a = g.pick(lambda n: n.dtype in (f32, f64, f16, bf16))
    if a is None:
        return
    x = g.node(a)
    b = g.pick(lambda n: n.dtype is x.dtype and n.shape[0] == x.shape[1])
    if b is not None:
        y = g.node(b)
        to = f64 if x.dtype is f64 else f32
        g.add("matmul", (a, b), to, (x.shape[0], y.shape[1]), x.bound * y.bound * x.shape[1])


def loop(g: Grower) -> None:
    a = g.pick(_is_number)
    if a is None:
        return
    x = g.node(a)
    b = g.pick(lambda n: n.dtype is x.dtype and _widens(n.shape, x.shape))
    if b is not None:
        step = g.draw(st.sampled_from(["add", "sub", "maximum"]))
        trips = g.draw(st.sampled_from(["n", 0, 1, 2, 3]))
        bound = x.bound + 3 * g.node(b).bound
        g.add("loop", (a, b), x.dtype, x.shape, bound, (step, trips))


def branch(g: Grower) -> None:
    a = g.pick(lambda n: True)
    if a is None:
        return
    x = g.node(a)
    b = g.pick(lambda n: n.dtype is x.dtype and n.shape == x.shape)
    if b is not None:
        bound = max(x.bound, g.node(b).bound)
        g.add("if", (a, b), x.dtype, x.shape, bound, g.draw(st.integers(-1, 3)))


EXACT_RULES = [arithmetic, arithmetic, arithmetic, integer, comparison, logic, where, unary,
               constant, cast, transpose, reduce, scan, matmul, loop, branch]  # fmt: skip


def _finish(g: Grower) -> Program:
    """Bring the last node to the shape and dtype of the output."""
    program = g.program
    last = max(k for k in range(len(program.nodes)) if _ends(program, k))
    node = program.nodes[last]
    if node.shape != program.tile:
        g.add("broadcast", (last,), node.dtype, program.tile, node.bound)
    else:
        del program.nodes[last + 1 :]
    return program


def _ends(program: Program, k: int) -> bool:
    node = program.nodes[k]
    return _is_number(node) and _widens(node.shape, program.tile)


@st.composite
def exact_programs(draw: Any) -> Program:
    """Programs in which every operation is exact, with control flow."""
    program = _start(draw, EXACT_DTYPES)
    grower = Grower(draw, program)
    for _ in range(draw(st.integers(1, 10))):
        draw(st.sampled_from(EXACT_RULES))(grower)
    return _finish(grower)


# --- rounded ---------------------------------------------------------------------------------

FUNCTIONS = [
    "exp", "exp2", "expm1", "sin", "cos", "tanh", "sinh", "cosh", "erf", "log", "log1p", "log2",
    "sqrt", "rsqrt", "cbrt",
]  # fmt: skip
POSITIVE_ONLY = ("log", "log1p", "log2", "sqrt", "rsqrt")


def function(g: Grower) -> None:
    """A function of math; those of positive numbers only directly after abs of an input."""
    name = g.draw(st.sampled_from(FUNCTIONS))
    if name in POSITIVE_ONLY:
        a = g.pick(lambda n: n.op == "load")
        assert a is not None
        node = g.node(a)
        g.program.nodes.append(Node("abs", (a,), node.dtype, node.shape, node.bound))
        g.program.nodes.append(Node(name, (len(g.program.nodes) - 1,), node.dtype, node.shape, 1.0))
        return
    a = g.pick(lambda n: n.bound <= 4)
    if a is not None:
        g.add(name, (a,), g.node(a).dtype, g.node(a).shape, 60.0)


def sign(g: Grower) -> None:
    a = g.pick(lambda n: True)
    assert a is not None
    op = g.draw(st.sampled_from(["neg", "abs"]))
    g.add(op, (a,), g.node(a).dtype, g.node(a).shape, g.node(a).bound)


def division(g: Grower) -> None:
    """Division by an input, which is far from zero wherever it is not padding."""
    a = g.pick(lambda n: True)
    assert a is not None
    b = g.pick(lambda n: n.op == "load" and n.dtype is g.node(a).dtype)
    if b is not None and _fits(g.node(a).shape, g.node(b).shape):
        shape = _joined(g.node(a).shape, g.node(b).shape)
        g.add("div", (a, b), g.node(a).dtype, shape, g.node(a).bound * 2)


ROUNDED_RULES = [arithmetic, arithmetic, function, function, division, sign, transpose, reduce,
                 matmul, constant]  # fmt: skip


@st.composite
def rounded_programs(draw: Any) -> Program:
    """Programs on reals: no comparison, cast or index after rounding."""
    program = _start(draw, ROUNDED_DTYPES)
    program.nodes = [Node("load", n.args, n.dtype, n.shape, 2.0, n.param) for n in program.nodes]
    grower = Grower(draw, program)
    for _ in range(draw(st.integers(1, 8))):
        draw(st.sampled_from(ROUNDED_RULES))(grower)
    return _finish(grower)
