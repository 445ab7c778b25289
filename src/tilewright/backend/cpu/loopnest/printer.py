"""Verify a plan, print it as text, and summarize its decisions for `explain()`."""

from __future__ import annotations

from ....base.shapes import shape_text
from ....base.source import Span, where
from ....base.stage import Listing, ListingWriter
from ....ir.core import Op, Value
from ....ir.printer import attr_text
from ....ir.types import Elem, PtrType
from ...llvm.object import CpuTarget
from .buffers import interference
from .index import Axis, Index, Layout, Loop, NeedSplit, check_sizes, offset, panels, row_major
from .nodes import (
    AtomicPointer,
    AtomicView,
    Combine,
    Compute,
    ElementAccess,
    For,
    Get,
    If,
    JumpStmt,
    Literal,
    Matmul,
    Nest,
    NestEffect,
    Operand,
    Plan,
    Position,
    Print,
    Put,
    Read,
    ReadBuffer,
    ReadPointer,
    ReadView,
    Reg,
    Repeat,
    ScalarStmt,
    ScopeStmt,
    SetVariable,
    SharedStmt,
    Stmt,
    TileBuffer,
    Transpose,
    Variable,
    WriteBuffer,
    WritePointer,
    WriteView,
    buffers_of,
    operands_of,
    span_of,
    walk,
    writes_of,
)
from .optimize import block_of, nontemporal_stores, prefetched_reads

# --- verify a well-formed plan before code is generated from it --------------------------------


class InvalidPlan(Exception):  # noqa: N818 - names the thing, as InvalidIR does
    """A plan that breaks its own rules: a bug in the planner."""


def verify_plan(plan: Plan) -> None:
    """Reject a plan that is not well formed."""
    for statement in walk(plan.body):
        match statement:
            case Nest():
                _verify_nest(statement)
            case Matmul():
                _verify_matmul(statement)
            case Transpose():
                _transpose(statement)
            case SharedStmt():
                _verify_shared(statement)
            case _:
                pass
    _places(plan)


def _need(ok: bool, message: str) -> None:
    if not ok:
        raise InvalidPlan(message)


def _verify_nest(nest: Nest) -> None:
    lane, step = nest.lane_loop, nest.lanes * nest.unroll
    _need(lane is None or lane.size % step == 0, "lanes do not divide the last loop")
    jammed = nest.loops[-2].size if len(nest.loops) > 1 else 1
    _need(jammed % nest.jam == 0, "steps side by side do not divide their loop")
    known: set[Reg] = set()
    for read in nest.reads:
        _operands(read, known)
        _index(read, nest.loops)
        known.add(read.result)
        _need(read.result.loops <= set(nest.loops), "a register depends on a foreign loop")
    for effect in nest.effects:
        _operands(effect, known)
        _index(effect, nest.loops)


def _operands(statement: Read | NestEffect, known: set[Reg]) -> None:
    for operand in operands_of(statement):
        unset = isinstance(operand, Reg) and operand not in known
        _need(not unset, f"{type(statement).__name__} reads a register before it is set")


def _index(statement: object, loops: tuple[Loop, ...]) -> None:
    match statement:
        case ReadBuffer():
            _fits(statement.index, statement.buffer.layout, statement.buffer)
        case WriteBuffer() if statement.part is None:
            _fits(statement.index, statement.buffer.layout, statement.buffer)
        case ReadView() | WriteView():
            check_sizes(statement.index, statement.access.view.tile)
        case Combine():
            _need(set(statement.loops) <= set(loops), "a reduction over foreign loops")
        case AtomicPointer() if isinstance(statement.target, TileBuffer):
            _fits(statement.index, statement.target.layout, statement.target)
        case _:
            pass


def _fits(index: Index, layout: Layout, buffer: TileBuffer) -> None:
    try:
        check_sizes(index, buffer.shape)
        offset(index, layout)
    except (NeedSplit, ValueError, IndexError) as error:
        raise InvalidPlan(f"{buffer.name}: {error}") from None


def _verify_matmul(step: Matmul) -> None:
    lhs, rhs, result = step.lhs, step.rhs, step.result
    _need(lhs.elem == rhs.elem == result.elem, "a multiply of mixed element types")
    _need(lhs.shape[-1] == rhs.shape[-2], "a multiply whose inner extents differ")
    wanted = (*lhs.shape[:-1], rhs.shape[-1])
    _need(result.shape == wanted, f"a multiply into {result.shape}, expected {wanted}")
    for name, buffer in (("left side", lhs), ("result", result)):
        plain = buffer.layout == row_major(buffer.shape)
        _need(plain, f"a multiply whose {name} {buffer.name} is not row-major")
    width = rhs.layout[-1][-1].size
    packed = rhs.layout == panels(rhs.shape, width)
    _need(packed, f"a multiply whose right side {rhs.name} is neither row-major nor in panels")


def _transpose(step: Transpose) -> None:
    source, target = step.source, step.target
    _need(source.layout == row_major(source.shape), "a tile that is turned is not row-major")
    wanted = tuple(source.shape[k] for k in step.order)
    _need(target.shape == wanted, f"a tile turned into {target.shape}, expected {wanted}")
    _need(source.elem == target.elem, "a tile that is turned changes its element type")


def _verify_shared(step: SharedStmt) -> None:
    _need(step.buffer.copies % step.sets == 0, "copies of a tile that rows do not share evenly")
    _need(step.number in step.key, "a tile whose copy is chosen by what it does not depend on")
    wanted = (step.buffer.copies, 1 + len(step.key))
    _need(step.tags.shape == wanted, f"tags of {step.tags.shape}, expected {wanted}")
    filled = any(step.buffer in writes_of(inner) for inner in step.body)
    _need(filled, f"{step.buffer.name} is shared and not filled")


def _places(plan: Plan) -> None:
    for buffer, at in plan.offsets.items():
        inside = at >= 0 and _end(plan, buffer) <= plan.scratch_bytes
        _need(inside, f"{buffer.name} is not inside the scratch memory")
    graph = interference(plan.body, lambda nest, written, read: False)
    for buffer, others in graph.items():
        for other in others:
            apart = _end(plan, buffer) <= plan.offsets[other]
            apart = apart or _end(plan, other) <= plan.offsets[buffer]
            _need(apart, f"{buffer.name} and {other.name} overlap while both are in use")


def _end(plan: Plan, buffer: TileBuffer) -> int:
    return plan.offsets[buffer] + buffer.bytes


# -------------------------------------------------------------------------------------------------
# The summary: which tiles were fused, and which are in memory and why.

SHOWN = 12
"""How many ops of a nest are named."""


def decisions(plan: Plan, cpu: CpuTarget) -> list[str]:
    """Return one line per nest, multiply, buffer and streamed output."""
    lines: list[str] = []
    for statement in walk(plan.body):
        match statement:
            case Nest() if statement.loops:
                lines.append(_nest(statement))
            case Matmul():
                lines.append(_matmul(statement, cpu))
            case SharedStmt():
                lines.append(_shared(statement))
            case Transpose():
                lines.append(f"transpose {shape_text(statement.source.shape)} by {statement.order}")
            case _:
                pass
    for buffer in buffers_of(plan):
        shape = shape_text(buffer.shape)
        lines.append(
            f"materialize {shape} in {buffer.bytes} bytes: {buffer.why}{where(buffer.span)}"
        )
    for name in dict.fromkeys(write.access.view.tensor.param for write in nontemporal_stores(plan)):
        lines.append(f"non-temporal stores to {name} if outputs are large")
    for name in dict.fromkeys(read.access.view.tensor.param for read in prefetched_reads(plan)):
        lines.append(f"prefetch {name} for the next block")
    for tensor, copy in plan.private.items():
        lines.append(
            f"combine into a copy of {tensor.name} per worker, if it has at most {copy.capacity}"
            " elements"
        )
    if plan.grouping is not None:
        lines.append(f"order blocks in groups of {plan.grouping.rows} rows, column by column")
    if plan.joined is not None:
        lines.append(f"coarsen adjacent blocks along axis {plan.joined.axis} into one loop")
    lines.append(f"scratch {plan.scratch_bytes} bytes per worker")
    return lines


def _nest(nest: Nest) -> str:
    words = [word for statement in (*nest.reads, *nest.effects) for word in _words(statement)]
    shown = ", ".join(words[:SHOWN]) + (", ..." if len(words) > SHOWN else "")
    sizes = shape_text(tuple(loop.size for loop in nest.loops))
    return f"one loop nest {sizes}, {lanes_text(nest)} lanes: {shown}{where(nest.span)}"


def lanes_text(nest: Nest) -> str:
    """Return the lanes of a vector, and how many vectors an iteration takes."""
    return f"{nest.unroll} x {nest.lanes}" if nest.unroll > 1 else str(nest.lanes)


def _words(statement: object) -> list[str]:
    """Return a short description of a statement."""
    match statement:
        case Compute() | Combine() | AtomicPointer() | AtomicView():
            return [statement.op.name]
        case ReadView():
            return [f"load {statement.access.tensor.name}".rstrip()]
        case WriteView():
            return [f"store {statement.access.tensor.name}".rstrip()]
        case ReadBuffer() | ReadPointer():
            return ["read"]
        case WriteBuffer() | WritePointer():
            return ["write"]
        case _:
            return []


def _shared(statement: SharedStmt) -> str:
    buffer = statement.buffer
    whose = "the tiles that a block visits" if statement.visited else "blocks"
    tiles = f"{buffer.copies} tiles {shape_text(buffer.shape)}"
    return f"reuse up to {tiles} between {whose}{where(buffer.span)}"


def _matmul(step: Matmul, cpu: CpuTarget) -> str:
    m, n, k = *step.result.shape[-2:], step.lhs.shape[-1]
    block = block_of(step, cpu)
    columns = f"{block.vectors} x {block.lanes}" if block.vectors > 1 else str(block.lanes)
    size = f"{block.rows} rows by {columns} lanes"
    return f"multiply {m}x{n}x{k} from packed tiles, {size}{where(step.span)}"


# -------------------------------------------------------------------------------------------------
# The text: buffers with their offsets, then one statement per line.


def print_plan(plan: Plan) -> str:
    """Return the whole plan as text."""
    return list_plan(plan).text


def list_plan(plan: Plan) -> Listing:
    """Return the whole plan as text, with the places of its lines."""
    printer = _PlanPrinter()
    params = ", ".join(printer.name(p) for p in plan.params)
    printer.line(0, f"plan {plan.name}({params}), scratch {plan.scratch_bytes} bytes {{")
    if plan.joined is not None:
        printer.line(1, f"blocks along axis {plan.joined.axis} together")
    for buffer in buffers_of(plan):
        printer.line(1, _buffer(buffer, plan.offsets.get(buffer)), buffer.span)
    for tensor, copy in plan.private.items():
        words = f"up to {copy.capacity} elements at {copy.offset}"
        printer.line(1, f"private copy of {printer.name(tensor)}, {words}")
    if plan.grouping is not None:
        printer.line(1, f"blocks in groups of {plan.grouping.rows} rows")
    printer.body(plan.body, 1)
    printer.line(0, "}")
    return printer.out.listing


def _buffer(buffer: TileBuffer, at: int | None) -> str:
    shape = "x".join([*map(str, buffer.shape), _elem(buffer.elem)])
    split = [k for k, parts in enumerate(buffer.layout) if len(parts) > 1]
    panels = "".join(f", axis {k} in panels of {buffer.layout[k][-1].size}" for k in split)
    place = f" at {at}" if at is not None else ""
    place += f", {buffer.copies} copies" if buffer.copies > 1 else ""
    return f"buffer {buffer.name}: {shape}{panels}{place} ; {buffer.why}"


def _elem(elem: Elem) -> str:
    return str(elem) if isinstance(elem, PtrType) else elem.name


def _attrs(op: Op) -> str:
    shown = [
        f"{a.name}={attr_text(op.attrs[a.name])}"
        for a in op.defn.attrs
        if a.name != "types" and op.attrs[a.name] != a.default
    ]
    return f" {{{', '.join(shown)}}}" if shown else ""


class _PlanPrinter:
    def __init__(self) -> None:
        self.names: dict[Value | Reg, str] = {}
        self.taken: set[str] = set()
        self.out = ListingWriter()

    def line(self, depth: int, text: str, span: Span | None = None) -> None:
        self.out.add("  " * depth + text, span)

    def name(self, value: Value | Reg) -> str:
        if value not in self.names:
            label = value.name if isinstance(value, Value) else ""
            label = label or str(len(self.names))
            if label in self.taken:
                label = f"{label}_{len(self.names)}"
            self.taken.add(label)
            self.names[value] = f"%{label}"
        return self.names[value]

    def operand(self, operand: Operand | TileBuffer | Variable | None) -> str:
        match operand:
            case None:
                return "none"
            case Literal():
                return attr_text(operand.value)
            case TileBuffer() | Variable():
                return operand.name
            case _:
                return self.name(operand)

    def operands(self, operands: tuple[Operand | TileBuffer | Variable, ...]) -> str:
        return ", ".join(map(self.operand, operands))

    def axis(self, axis: Axis) -> str:
        fields: list[str] = []
        for field in axis:
            source = field.source
            name = source.name if isinstance(source, Loop) else (
                str(source) if isinstance(source, int) else self.name(source)
            )  # fmt: skip
            part = "" if isinstance(source, Loop) else f"%{field.size}"
            fields.append(name + (f"/{field.divide}" if field.divide > 1 else "") + part)
        return ":".join(fields) if fields else "0"

    def index(self, index: Index) -> str:
        return f"[{', '.join(map(self.axis, index))}]"

    def access(self, access: ElementAccess, row: Operand | None) -> str:
        where = ", ".join(map(self.name, access.where))
        guard = f" if {self.name(access.guard)}" if access.guard is not None else ""
        rows = f" row {self.operand(row)}" if row is not None else ""
        return f"{self.name(access.tensor)} {access.view.tile}({where}){rows}{guard}"

    # Statements.

    def body(self, body: list[Stmt], depth: int) -> None:
        for statement in body:
            self.statement(statement, depth)

    def block(self, head: str, body: list[Stmt], depth: int, span: Span | None = None) -> None:
        self.line(depth, f"{head} {{", span)
        self.body(body, depth + 1)

    def statement(self, statement: Stmt, depth: int) -> None:
        match statement:
            case Nest():
                self.nest(statement, depth)
            case For():
                bounds = " ".join(map(self.name, statement.op.operands[:3]))
                head = f"for {self.name(statement.iv)} = {bounds}"
                self.block(head, statement.body, depth, statement.op.span)
                self.line(depth, "}")
            case SharedStmt():
                key = ", ".join(map(self.name, statement.key))
                head = f"share {statement.buffer.name} by {key}"
                self.block(head, statement.body, depth, span_of(statement))
                self.line(depth, "}")
            case Repeat() | ScopeStmt():
                kind = "loop" if isinstance(statement, Repeat) else "scope"
                self.block(kind, statement.body, depth, span_of(statement))
                self.line(depth, "}")
            case If():
                self.block(f"if {self.name(statement.cond)}", statement.then, depth, statement.span)
                self.block("} else", statement.orelse, depth)
                self.line(depth, "}")
            case _:
                self.line(depth, self.simple(statement), span_of(statement))

    def simple(
        self, statement: ScalarStmt | Matmul | Transpose | Print | Put | Get | JumpStmt
    ) -> str:
        match statement:
            case ScalarStmt(op):
                operands = ", ".join(map(self.name, op.operands))
                results = ", ".join(map(self.name, op.results))
                head = f"{results} = {op.name}" if results else op.name
                return head + (f" {operands}" if operands else "") + _attrs(op)
            case Matmul():
                return f"{statement.result.name} += {statement.lhs.name} @ {statement.rhs.name}"
            case Transpose():
                return f"{statement.target.name} = {statement.source.name} turned {statement.order}"
            case Print():
                return f"print {self.operands(statement.args)}{_attrs(statement.op)}"
            case Put():
                return f"{statement.variable.name} := {self.name(statement.value)}"
            case Get():
                return f"{self.name(statement.result)} = {statement.variable.name}"
            case JumpStmt():
                return statement.kind

    def nest(self, nest: Nest, depth: int) -> None:
        loops = [f"{loop.name} < {loop.size}" for loop in nest.loops]
        lanes = f" by {lanes_text(nest)}" if nest.loops else ""
        lanes += f", {nest.jam} of {nest.loops[-2].name} at once" if nest.jam > 1 else ""
        down = " downwards" if nest.descending else ""
        head = " ".join(["nest", ", ".join(loops) + lanes + down]).rstrip() + " {"
        self.line(depth, head, nest.span)
        for read in nest.reads:
            text = f"{self.name(read.result)} = {self.read(read)}"
            self.line(depth + 1, text, span_of(read) or nest.span)
        for effect in nest.effects:
            self.line(depth + 1, self.effect(effect), span_of(effect) or nest.span)
        self.line(depth, "}")

    def read(self, read: Read) -> str:
        match read:
            case Compute():
                return f"{read.op.name} {self.operands(read.args)}{_attrs(read.op)}"
            case Position():
                return f"position {self.axis(read.axis)} : {_elem(read.result.elem)}"
            case ReadBuffer():
                return f"{read.buffer.name}{self.index(read.index)}"
            case ReadView():
                more = ", the next block's too" if read.prefetch is not None else ""
                return f"load {self.access(read.access, read.row)} {self.index(read.index)}{more}"
            case ReadPointer():
                return f"load at {self.operand(read.address)} if {self.operand(read.mask)}"

    def effect(self, effect: NestEffect) -> str:
        match effect:
            case WriteBuffer():
                shift = f" + {effect.shift}" if effect.shift else ""
                place = f"{effect.buffer.name}{self.index(effect.index)}{shift}"
                return f"{place} = {self.operand(effect.value)}"
            case WriteView():
                place = f"{self.access(effect.access, effect.row)} {self.index(effect.index)}"
                word = "stream" if effect.nontemporal else "store"
                return f"{word} {place} = {self.operand(effect.value)}"
            case WritePointer():
                value = self.operand(effect.value)
                address = self.operand(effect.address)
                return f"store at {address} = {value} if {self.operand(effect.mask)}"
            case SetVariable():
                return f"{effect.variable.name} := {self.operand(effect.value)}"
            case Combine():
                targets = self.operands(effect.targets)
                loops = ", ".join(loop.name for loop in effect.loops)
                return f"{targets} = {effect.op.name} {self.operands(effect.values)} over {loops}"
            case AtomicPointer():
                values = self.operands(effect.values)
                target = self.operand(effect.target)
                return f"{target} = {effect.op.name} at {self.operand(effect.address)}: {values}"
            case AtomicView():
                place = f"{self.access(effect.access, effect.row)} {self.index(effect.index)}"
                return f"{effect.op.name} {place} with {self.operand(effect.value)}"
