"""Matrix multiply on buffers: packed panels and a register-blocked microkernel, as in BLIS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....base.errors import InternalError
from ...llvm.builder import FunctionBody, Vec, vector
from ...llvm.object import CpuTarget
from ..loopnest.nodes import Matmul, TileBuffer
from ..loopnest.optimize import RegisterBlock, block_of, row_blocks
from .access import mangled
from .emitter import LlvmEmitter, memory_type

# -------------------------------------------------------------------------------------------------
# Functions of plain loops over memory, which matrix products and transposes share.

BYTES = {"i8": 1, "i16": 2, "i32": 4, "float": 4}
"""Bytes of an element; all others take 8."""


class LoopWriter:
    """A function under construction, on elements of one LLVM type."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.body = FunctionBody()

    def number(self, n: int) -> Vec:
        """Return a constant."""
        return self.body.constant("i64", 1, n)

    def pointer(self, name: str) -> Vec:
        """Return a parameter."""
        return Vec(self.body, name, "ptr", 1)

    def at(self, address: Vec, offset: Vec) -> Vec:
        """Return an address some elements further on."""
        return self.body.emit(f"getelementptr {self.kind}, {address}, {offset}", "ptr", 1)

    def loop(self, count: int, inner: Callable[[Vec], None]) -> None:
        """Run `inner` for 0 .. count - 1."""
        if count == 0:
            return
        if count == 1:
            inner(self.number(0))
            return
        body = self.body
        before, head, after = body.block, body.fresh("loop"), body.fresh("after")
        body.jump(head)
        body.label(head)
        place = len(body.lines)
        i = body.emit("", "i64", 1)
        inner(i)
        following = i + 1
        text = f"phi i64 [ 0, %{before} ], [ {following.name}, %{body.block} ]"
        body.lines[place] = f"  {i.name} = {text}"
        more = following.compare("", "ult", count)
        body.lines.append(f"  br {more}, label %{head}, label %{after}")
        body.label(after)

    def load(self, address: Vec, lanes: int) -> Vec:
        """Load adjacent elements."""
        text = f"load {vector(self.kind, lanes)}, {address}, align {BYTES.get(self.kind, 8)}"
        return self.body.emit(text, self.kind, lanes)

    def store(self, value: Vec, address: Vec) -> None:
        """Store adjacent elements."""
        self.body.lines.append(f"  store {value}, {address}, align {BYTES.get(self.kind, 8)}")

    def function(self, symbol: str, parameters: tuple[str, ...]) -> str:
        """Return the text of the whole function."""
        given = ", ".join(f"ptr noalias {name}" for name in parameters)
        lines = "\n".join(self.body.lines)
        return (
            # One function per shape, not inlined: kernels with many products of one shape stay
            # small. `no-builtins` keeps LLVM from turning the loops into library calls.
            f'define internal void {symbol}({given}) noinline nounwind "no-builtins" {{\n'
            f"entry:\n{lines}\n  ret void\n}}\n"
        )


# -------------------------------------------------------------------------------------------------
# The microkernel: a block of rows times a panel of columns, with all sums in registers.
#
# One function per shape walks the panels, then the row blocks. The innermost loop runs along K:
# each multiply-add takes one vector of the right side and one broadcast element of the left side.
# See Van Zee and van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS Functionality"
# (2015).


@dataclass(frozen=True, slots=True)
class MatmulShape:
    """The sizes and strides (in elements) of one multiply."""

    kind: str
    batch: int
    m: int
    n: int
    k: int
    block: RegisterBlock
    """Its vectors make a panel."""
    row_step: int
    """From one row of the right side to the next."""
    panel_step: int
    """From one panel of the right side to the next."""
    pairs: str = ""
    """The instruction that adds two products of 16-bit integers per lane, if there is one."""

    @property
    def symbol(self) -> str:
        """The function's name."""
        sizes = (self.batch, self.m, self.n, self.k, self.row_step, self.panel_step)
        return f"@tw_matmul_{mangled(self.kind, self.lanes)}_{'_'.join(map(str, sizes))}"

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.block.lanes

    @property
    def vectors(self) -> int:
        """Vectors of a panel."""
        return self.block.vectors

    @property
    def width(self) -> int:
        """Columns of a panel."""
        return self.lanes * self.vectors


def shape_of(step: Matmul, cpu: CpuTarget) -> MatmulShape:
    """Return the division of a multiply into panels."""
    kind = memory_type(step.result.elem)
    *batch, m, n = step.result.shape
    k = step.lhs.shape[-1]
    block = block_of(step, cpu)
    row_step, panel_step = _steps(step.rhs, block.lanes * block.vectors)
    # 8-bit operands widened to 16 bits: `pmaddwd` multiplies and adds two of them per lane, which
    # doubles the throughput.
    pairs = _pairs(block.lanes, cpu) if kind == "i32" and k % 2 == 0 else ""
    return MatmulShape(kind, batch[0] if batch else 1, m, n, k, block, row_step, panel_step, pairs)


PAIRS = {
    4: ("sse2.pmadd.wd", "+sse2"), 8: ("avx2.pmadd.wd", "+avx2"),
    16: ("avx512.pmaddw.d.512", "+avx512bw"),
}  # fmt: skip
"""By lanes: the instruction, and the feature it comes with."""


def _pairs(lanes: int, cpu: CpuTarget) -> str:
    """Return the instruction that adds products of pairs: 8-bit factors never overflow it."""
    name, feature = PAIRS.get(lanes, ("", ""))
    return name if name and cpu.is_x86 and cpu.has(feature) else ""


def _steps(rhs: TileBuffer, width: int) -> tuple[int, int]:
    """Return the distances between rows and between panels of `width` columns in the right side."""
    rows, columns = rhs.layout[-2:]
    if len(columns) == 1:
        # It is not packed: a panel is the next columns of the same row.
        return rows[0].stride, width
    panels, column = columns
    if column.size != width:
        raise InternalError(f"{rhs.name} is in panels of {column.size} columns, expected {width}")
    return rows[0].stride, panels.stride


def _matmul(emitter: LlvmEmitter, step: Matmul) -> None:
    shape = shape_of(step, emitter.cpu)
    emitter.helper(shape.symbol, lambda: _function(emitter, shape))
    buffers = (step.lhs, step.rhs, step.result)
    args = ", ".join(str(emitter.buffers[b]) for b in buffers)
    emitter.do(f"call void {shape.symbol}({args})")


class _MatmulWriter(LoopWriter):
    """The writer of the function of one shape."""

    def __init__(self, shape: MatmulShape) -> None:
        super().__init__(shape.kind)
        self.shape = shape
        self.step = 2 if shape.pairs else 1
        """How far a step along K goes."""

    def splat(self, x: Vec) -> Vec:
        lanes = self.shape.lanes
        if lanes == 1:
            return x
        wide = vector(x.elem, lanes)
        first = self.body.emit(f"insertelement {wide} poison, {x}, i64 0", x.elem, lanes)
        text = f"shufflevector {first}, {wide} poison, <{lanes} x i32> zeroinitializer"
        return self.body.emit(text, x.elem, lanes)

    def joined(self, low: Vec, high: Vec) -> Vec:
        """Return two integers of 16 bits in one place."""
        return (low & 0xFFFF) | (high << 16)

    def multiply_add(self, a: Vec, b: Vec, c: Vec) -> Vec:
        if self.shape.pairs:
            return c + self.pair_products(a, b)
        if self.shape.kind in ("float", "double"):
            return a.intrinsic("fma", b, c)
        return c + a * b

    def pair_products(self, a: Vec, b: Vec) -> Vec:
        """Return the sum of two products in each lane."""
        halves = vector("i16", 2 * a.lanes)
        symbol = f"@llvm.x86.{self.shape.pairs}"
        self.body.declarations.add(f"declare {a.type} {symbol}({halves}, {halves})")
        x, y = (self.body.emit(f"bitcast {v} to {halves}", "i16", 2 * a.lanes) for v in (a, b))
        return self.body.emit(f"call {a.type} {symbol}({x}, {y})", a.elem, a.lanes)

    # The loops.

    def whole(self) -> None:
        """Emit all batches, panels and row blocks."""
        shape = self.shape

        def batch(index: Vec) -> None:
            lhs = self.at(self.pointer("%lhs"), index * (shape.m * shape.k))
            rhs = self.at(self.pointer("%rhs"), index * (shape.k * shape.n))
            out = self.at(self.pointer("%out"), index * (shape.m * shape.n))
            # Panels outside, row blocks inside: a panel of the right side stays in the L1 cache
            # while all rows pass over it.
            self.loop(shape.n // shape.width, lambda j: self.panel(lhs, rhs, out, j))

        self.loop(shape.batch, batch)

    def panel(self, lhs: Vec, rhs: Vec, out: Vec, j: Vec) -> None:
        """Emit one panel of columns against all rows."""
        shape = self.shape
        right = self.at(rhs, j * shape.panel_step)
        columns = self.at(out, j * shape.width)

        def block(row: Vec, rows: int) -> None:
            left = self.at(lhs, row * shape.k)
            self.block(left, right, self.at(columns, row * shape.n), rows)

        together = shape.block.rows
        # The remainder of the rows is unrolled with its own, smaller block.
        count, last = row_blocks(shape.m, together)
        self.loop(count, lambda i: block(i * together, together))
        at = count * together
        for rows in last:
            block(self.number(at), rows)
            at += rows

    def block(self, left: Vec, right: Vec, out: Vec, rows: int) -> None:
        """Emit a block of rows times a panel (the microkernel)."""
        shape = self.shape
        places = [
            self.at(out, self.number(r * shape.n + v * shape.lanes))
            for r in range(rows)
            for v in range(shape.vectors)
        ]
        # The sums are loaded once, updated along K in registers, and stored once.
        sums = self.along_k(left, right, [self.load(p, shape.lanes) for p in places])
        for place, value in zip(places, sums, strict=True):
            self.store(value, place)

    def along_k(self, left: Vec, right: Vec, sums: list[Vec]) -> list[Vec]:
        """Return the innermost loop."""
        shape, body = self.shape, self.body
        before, head, after = body.block, body.fresh("k"), body.fresh("after")
        body.jump(head)
        body.label(head)
        place = len(body.lines)
        k = body.emit("", "i64", 1)
        # The lines of the phis are reserved here and filled in below, when the new values have
        # names.
        carried = [body.emit("", s.elem, s.lanes) for s in sums]
        new = self.products(left, right, k, carried)
        following = k + self.step
        phis = [
            (k, "0", following),
            *((c, s.name, n) for c, s, n in zip(carried, sums, new, strict=True)),
        ]
        for i, (phi, first, again) in enumerate(phis):
            sources = f"[ {first}, %{before} ], [ {again.name}, %{head} ]"
            body.lines[place + i] = f"  {phi.name} = phi {phi.type} {sources}"
        more = following.compare("", "ult", shape.k)
        body.lines.append(f"  br {more}, label %{head}, label %{after}")
        body.label(after)
        return new

    def products(self, left: Vec, right: Vec, k: Vec, sums: list[Vec]) -> list[Vec]:
        """Return one step along K for every sum."""
        shape = self.shape
        row = self.at(right, k * shape.row_step)
        columns = [self.taken(row, v * shape.lanes, shape.row_step, shape.lanes)
                   for v in range(shape.vectors)]  # fmt: skip
        new: list[Vec] = []
        for r in range(len(sums) // shape.vectors):
            # A broadcast load; it is used for every vector of the panel.
            factor = self.splat(self.taken(self.at(left, k), r * shape.k, 1, 1))
            for v, column in enumerate(columns):
                new.append(self.multiply_add(factor, column, sums[r * shape.vectors + v]))
        return new

    def taken(self, address: Vec, offset: int, apart: int, lanes: int) -> Vec:
        """Load the operand of a step along K: one element per lane, or a pair that is `apart`."""
        parts = [
            self.load(self.at(address, self.number(offset + n * apart)), lanes)
            for n in range(self.step)
        ]
        return parts[0] if len(parts) == 1 else self.joined(*parts)


def _function(emitter: LlvmEmitter, shape: MatmulShape) -> str:
    writer = _MatmulWriter(shape)
    writer.whole()
    emitter.body.declarations |= writer.body.declarations
    return writer.function(shape.symbol, ("%lhs", "%rhs", "%out"))


TABLE: dict[str, Callable[[LlvmEmitter, Matmul], None]] = {
    "mmaf": _matmul,
    "mmai": _matmul,
    "mmaf_scaled": _matmul,
}
