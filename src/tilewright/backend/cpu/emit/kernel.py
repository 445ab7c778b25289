"""Emit a module: the kernel by the native calling convention, and its cached packed tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....base.config import current
from ....base.cpu_abi import CpuLaunchWord
from ....ir.core import Op, Value
from ....ir.opdef import merged
from ....ir.types import PtrType, TensorType, TileType
from ...llvm.builder import Vec, repeat
from ...llvm.debug_locations import DebugLocations
from ...llvm.object import CpuTarget
from ..loopnest.nodes import (
    For,
    Get,
    If,
    JumpStmt,
    Matmul,
    Nest,
    Plan,
    Print,
    Put,
    Repeat,
    ScalarStmt,
    ScopeStmt,
    SharedStmt,
    Stmt,
    Transpose,
    span_of,
    walk,
)
from ..loopnest.optimize import prefetched_reads
from . import atomics, control, elementwise, layout, matmul, memory, reduction
from .access import from_memory, perform_if
from .emitter import Compute, LlvmEmitter, TensorPointer, memory_type
from .layout import transpose
from .nest import NestWriter
from .reduction import Reducer

# -------------------------------------------------------------------------------------------------
# Packed tiles that adjacent blocks reuse: the first block of a worker fills them.

FILLED = 1
"""The first word of the tags of a copy that holds a tile; the key follows."""


def begin(emitter: LlvmEmitter) -> None:
    """Mark all copies as empty: other kernels have used the memory since."""
    for statement in walk(emitter.plan.body):
        if isinstance(statement, SharedStmt):
            _forget(emitter, statement)


def _forget(emitter: LlvmEmitter, statement: SharedStmt) -> None:
    copies, words = statement.tags.shape

    def forget(copy: Vec) -> tuple[Vec, list[Vec]]:
        emitter.store(emitter.integer(0), _state_word(emitter, statement, copy * words), 8)
        following = copy + 1
        return following < copies, [following]

    repeat([emitter.integer(0)], forget)


def _state_word(emitter: LlvmEmitter, statement: SharedStmt, number: Vec) -> Vec:
    return emitter.shifted(emitter.buffers[statement.tags], number, "i64")


def shared(emitter: LlvmEmitter, statement: SharedStmt) -> None:
    """Choose the copy; fill it unless it holds the tile."""
    copy = _copy(emitter, statement)
    buffer, words = statement.buffer, statement.tags.shape[-1]
    emitter.buffers[buffer] = emitter.shifted(emitter.tiles[buffer], copy * buffer.tile_bytes, "i8")
    wanted = [emitter.integer(FILLED), *(_wide(emitter, number) for number in statement.key)]
    places = [_state_word(emitter, statement, copy * words + n) for n in range(words)]
    differs = [
        emitter.load(place, "i64", align=8).ne(value)
        for place, value in zip(places, wanted, strict=True)
    ]

    def fill() -> None:
        for place, value in zip(places, wanted, strict=True):
            emitter.store(value, place, 8)
        emitter.statements(statement.body)

    perform_if(emitter, emitter.any_of(differs, "or"), fill)


def _copy(emitter: LlvmEmitter, statement: SharedStmt) -> Vec:
    """Return the number of a copy: one per iteration; the last one serves all later ones."""
    per_set = statement.buffer.copies // statement.sets
    count = emitter.scalar(statement.number).cast("sext", "i64")
    copy = count.intrinsic("umin", per_set - 1)
    if not statement.rows:
        return copy
    which = emitter.integer(0)
    for row in statement.rows:
        which = which * row.size + _wide(emitter, row.number).binary("urem", row.size)
    return which * per_set + copy


def _wide(emitter: LlvmEmitter, number: Value) -> Vec:
    """Extend a number of the key to 64 bits."""
    value = emitter.scalar(number)
    return value if value.elem == "i64" else value.cast("zext", "i64")


# -------------------------------------------------------------------------------------------------
# The module: the kernel by the native calling convention, and the functions it calls.

COMPUTE: dict[str, Compute] = {**elementwise.TABLE, **memory.COMPUTE}
"""Elementwise ops, for any number of lanes."""
SCALARS: dict[str, Callable[[LlvmEmitter, Op], None]] = {
    **control.GRID_TABLE,
    **{name: memory.MEMORY_TABLE[name]
       for name in ("extent", "make_tensor", "make_view", "num_tiles", "check")},
    **{name: layout.LAYOUT_TABLE[name] for name in ("reshape", "broadcast", "permute", "extract")},
    "constant": layout.CREATION_TABLE["constant"],
    "assert": control.DEBUG_TABLE["assert"],
}  # fmt: skip
"""Ops on scalars, tensors and views that are not elementwise."""
FAMILIES: dict[str, Mapping[str, Callable[..., object]]] = {
    "elementwise": elementwise.TABLE,
    "layout": layout.TABLE,
    "reduction": reduction.TABLE,
    "matmul": matmul.TABLE,
    "memory": {**memory.TABLE, **atomics.TABLE},
    "control": control.TABLE,
}
TABLE = merged(FAMILIES)
"""How every op is written."""
NESTS = NestWriter(TABLE, dict(COMPUTE), Reducer(COMPUTE, SCALARS))


def run(emitter: LlvmEmitter, statement: Stmt) -> None:
    """Write one statement of a plan."""
    with emitter.body.coming_from(span_of(statement)):
        _write(emitter, statement)


def _write(emitter: LlvmEmitter, statement: Stmt) -> None:
    match statement:
        case ScalarStmt(op):
            scalar(emitter, op)
        case Nest():
            NESTS.write(emitter, statement)
        case Put():
            emitter.put(statement.variable, emitter.scalar(statement.value))
        case Get():
            emitter.names[statement.result] = emitter.get(statement.variable)
        case Matmul():
            TABLE["mmaf"](emitter, statement)
        case Transpose():
            transpose(emitter, statement)
        case SharedStmt():
            shared(emitter, statement)
        case For() | Repeat() | If() | ScopeStmt() | JumpStmt() | Print():
            TABLE[_statement_name(statement)](emitter, statement)


def _statement_name(statement: For | Repeat | If | ScopeStmt | JumpStmt | Print) -> str:
    words = {For: "for", Repeat: "loop", If: "if", ScopeStmt: "scope", Print: "print"}
    return statement.kind if isinstance(statement, JumpStmt) else words[type(statement)]


def scalar(emitter: LlvmEmitter, op: Op) -> None:
    """Emit an op on scalars."""
    if op.name in COMPUTE:
        args = [emitter.scalar(v) for v in op.operands]
        emitter.names[op.result] = COMPUTE[op.name](emitter, op, args)
    else:
        SCALARS[op.name](emitter, op)


def emit_module(plan: Plan, cpu: CpuTarget) -> str:
    """Return the LLVM text of a kernel."""
    emitter = LlvmEmitter(plan, cpu, run)
    _prologue(emitter)
    _blocks(emitter)
    return module_text(emitter)


def _prologue(emitter: LlvmEmitter) -> None:
    """Emit the code that all blocks share: arguments, buffers."""
    read_parameters(emitter)
    scratch = Vec(emitter.body, "%scratch", "ptr", 1)
    for buffer, at in emitter.plan.offsets.items():
        emitter.buffers[buffer] = emitter.shifted(scratch, emitter.integer(at), "i8")
    emitter.tiles = dict(emitter.buffers)
    memory.begin(emitter)
    atomics.begin_private_copies(emitter)
    begin(emitter)


def read_parameters(emitter: LlvmEmitter) -> None:
    """Read all parameters from their slots."""
    slot = 0
    for param in emitter.plan.params:
        slot = _parameter(emitter, param, slot)


def _argument(emitter: LlvmEmitter, slot: int, kind: str) -> Vec:
    place = emitter.body.emit(f"getelementptr i64, ptr %args, i64 {slot}", "ptr", 1)
    return emitter.load(place, kind, align=8)


def _parameter(emitter: LlvmEmitter, param: Value, slot: int) -> int:
    """Read a parameter from its slots; return the next slot."""
    match param.type:
        case TensorType(shape=shape, strides=strides):
            rank = len(shape)
            numbers = [_argument(emitter, slot + 1 + i, "i64") for i in range(2 * rank)]
            known = [
                emitter.integer(n) if n is not None else given
                for n, given in zip((*shape, *strides), numbers, strict=True)
            ]
            address = _argument(emitter, slot, "ptr")
            emitter.tensors[param] = TensorPointer(
                address, tuple(known[:rank]), tuple(known[rank:])
            )
            return slot + 1 + 2 * rank
        case TileType(elem=PtrType()):
            emitter.names[param] = _argument(emitter, slot, "i64")
            return slot + 1
        case TileType(elem=elem):
            emitter.names[param] = from_memory(_argument(emitter, slot, memory_type(elem)), elem)
            return slot + 1
        case _:
            raise TypeError(f"not a parameter: {param.type}")


def _blocks(emitter: LlvmEmitter) -> None:
    """Emit the loop over blocks; each starts only if the launch is not cancelled."""
    body = emitter.body
    sizes = [control.grid_axis(emitter, k) for k in range(emitter.plan.func.signature.grid_rank)]
    cancel = control.launch_word(emitter, CpuLaunchWord.CANCEL)
    counter = emitter.slot("i64")
    emitter.store(Vec(body, "%begin", "i64", 1), counter)
    head, start, inside, done = (emitter.label(w) for w in ("block", "start", "run", "exit"))
    emitter.next_block = emitter.label("next")
    body.jump(head)
    body.label(head)
    number = emitter.load(counter, "i64")
    emitter.branch(number < Vec(body, "%end", "i64", 1), start, done)
    body.label(start)
    cancelled = body.emit(f"load atomic i64, {cancel} monotonic, align 8", "i64", 1)
    emitter.branch(cancelled.eq(0), inside, done)
    body.label(inside)
    emitter.linear_block, emitter.block_ids = control.place(emitter, number, sizes)
    if prefetched_reads(emitter.plan):
        _, following = control.place(emitter, number + 1, sizes)
        emitter.to_next = [b - a for a, b in zip(emitter.block_ids, following, strict=True)]
    if emitter.plan.joined is not None:
        emitter.blocks = control.neighbours(emitter, emitter.plan.joined.axis, number, sizes)
    emitter.statements(emitter.plan.body)
    body.label(emitter.next_block)
    emitter.store(emitter.load(counter, "i64") + emitter.blocks, counter)
    body.jump(head)
    body.label(done)
    atomics.end_private_copies(emitter)
    memory.end(emitter)
    emitter.do("ret void")


def module_text(emitter: LlvmEmitter, attributes: str = "") -> str:
    """Return the module around the body; the kernel may have attributes."""
    declarations = sorted(emitter.body.declarations | emitter.library.declarations())
    params = "ptr noalias %args, ptr %launch, i64 %begin, i64 %end, ptr noalias %scratch"
    head = f'define void @"{emitter.plan.name}"({params}) nounwind "no-builtins"{attributes}'
    parts = [*declarations, emitter.library.definitions(), *emitter.helpers.values()]
    return "\n".join([*parts, *function_text(emitter, head), *memory.metadata(emitter), ""])


def function_text(emitter: LlvmEmitter, head: str) -> list[str]:
    """Return the lines of the kernel's function, with debug locations where they are wanted."""
    body = emitter.body
    if not current().line_info:
        return [f"{head} {{", "entry:", *emitter.slots, *body.lines, "}"]
    locations = DebugLocations(emitter.plan.name)
    lines = locations.located(body.lines, body.origins)
    function = [f"{head} {locations.subprogram} {{", "entry:", *emitter.slots, *lines, "}"]
    return [*function, *locations.metadata()]
