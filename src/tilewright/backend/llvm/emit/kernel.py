"""Writes a whole module: the kernel by the native calling convention, and the functions it uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....base.cpu_abi import LaunchWord
from ....base.tables import merged
from ....ir.core import Op, Value
from ....ir.types import PtrType, TensorType, TileType
from ..functions.text import Value as Vec
from ..plan.nodes import (
    For,
    Get,
    If,
    Jump,
    Matmul,
    Plan,
    Print,
    Put,
    Repeat,
    Scalar,
    Scope,
    Shared,
    Stmt,
    Transpose,
)
from ..plan.prefetch import prefetched_reads
from ..plan.statements import Nest
from ..target import CpuTarget
from . import (
    arithmetic,
    assembly,
    atomics,
    bitwise,
    comparison,
    control,
    conversion,
    creation,
    debug,
    grid,
    layout,
    math,
    matmul,
    memory,
    nontemporal,
    packed_tile_reuse,
    pointer,
    reduction,
    shared,
    slices,
    threads,
    warps,
)  # fmt: skip
from .access import from_memory
from .emitter import Compute, Emitter, Tensor
from .nest import NestWriter
from .reduction import Reducer
from .transpose import transpose
from .types import memory_type

COMPUTE: dict[str, Compute] = {
    **arithmetic.TABLE, **math.TABLE, **comparison.TABLE, **bitwise.TABLE, **conversion.TABLE,
    **pointer.COMPUTE,
}  # fmt: skip
"""Elementwise ops, for any number of lanes."""
SCALARS: dict[str, Callable[[Emitter, Op], None]] = {
    **grid.TABLE,
    **{name: memory.TABLE[name]
       for name in ("extent", "make_tensor", "make_view", "num_tiles", "check")},
    **{name: layout.TABLE[name] for name in ("reshape", "broadcast", "permute", "extract")},
    "constant": creation.TABLE["constant"],
    "assert": debug.TABLE["assert"],
    **threads.TABLE,
    **slices.TABLE,
    **shared.TABLE,
    **warps.TABLE,
    **assembly.TABLE,
}  # fmt: skip
"""Ops on scalars, tensors and views that are not elementwise."""
FAMILIES: dict[str, Mapping[str, Callable[..., object]]] = {
    "arithmetic": arithmetic.TABLE, "math": math.TABLE, "comparison": comparison.TABLE,
    "bitwise": bitwise.TABLE, "conversion": conversion.TABLE, "creation": creation.TABLE,
    "layout": layout.TABLE, "reduction": reduction.TABLE, "matmul": matmul.TABLE,
    "memory": memory.TABLE, "pointer": pointer.TABLE, "atomics": atomics.TABLE,
    "grid": grid.TABLE, "debug": debug.TABLE, "control": control.TABLE, "threads": threads.TABLE,
    "slices": slices.TABLE, "shared": shared.TABLE, "warps": warps.TABLE,
    "assembly": assembly.TABLE,
}  # fmt: skip
TABLE = merged(FAMILIES)
"""How every op is written."""
NESTS = NestWriter(TABLE, dict(COMPUTE), Reducer(COMPUTE, SCALARS))


def run(emitter: Emitter, statement: Stmt) -> None:
    """Write one statement of a plan."""
    match statement:
        case Scalar(op):
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
        case Shared():
            packed_tile_reuse.shared(emitter, statement)
        case For() | Repeat() | If() | Scope() | Jump() | Print():
            TABLE[_word(statement)](emitter, statement)


def _word(statement: For | Repeat | If | Scope | Jump | Print) -> str:
    words = {For: "for", Repeat: "loop", If: "if", Scope: "scope", Print: "print"}
    return statement.kind if isinstance(statement, Jump) else words[type(statement)]


def scalar(emitter: Emitter, op: Op) -> None:
    """An op on scalars."""
    if op.name in COMPUTE:
        args = [emitter.scalar(v) for v in op.operands]
        emitter.names[op.result] = COMPUTE[op.name](emitter, op, args)
    else:
        SCALARS[op.name](emitter, op)


def emit_module(plan: Plan, cpu: CpuTarget) -> str:
    """The LLVM text of a kernel."""
    emitter = Emitter(plan, cpu, run)
    _prologue(emitter)
    _blocks(emitter)
    return module_text(emitter)


def _prologue(emitter: Emitter) -> None:
    """What holds for all blocks: arguments, buffers."""
    read_parameters(emitter)
    scratch = Vec(emitter.body, "%scratch", "ptr", 1)
    for buffer, at in emitter.plan.offsets.items():
        emitter.buffers[buffer] = emitter.shifted(scratch, emitter.integer(at), "i8")
    emitter.tiles = dict(emitter.buffers)
    nontemporal.begin(emitter)
    packed_tile_reuse.begin(emitter)


def read_parameters(emitter: Emitter) -> None:
    """Read all parameters from their slots."""
    slot = 0
    for param in emitter.plan.params:
        slot = _parameter(emitter, param, slot)


def _argument(emitter: Emitter, slot: int, kind: str) -> Vec:
    place = emitter.body.emit(f"getelementptr i64, ptr %args, i64 {slot}", "ptr", 1)
    return emitter.load(place, kind, align=8)


def _parameter(emitter: Emitter, param: Value, slot: int) -> int:
    """Read a parameter from its slots; give the next slot."""
    match param.type:
        case TensorType(shape=shape, strides=strides):
            rank = len(shape)
            numbers = [_argument(emitter, slot + 1 + i, "i64") for i in range(2 * rank)]
            known = [
                emitter.integer(n) if n is not None else given
                for n, given in zip((*shape, *strides), numbers, strict=True)
            ]
            address = _argument(emitter, slot, "ptr")
            emitter.tensors[param] = Tensor(address, tuple(known[:rank]), tuple(known[rank:]))
            return slot + 1 + 2 * rank
        case TileType(elem=PtrType()):
            emitter.names[param] = _argument(emitter, slot, "i64")
            return slot + 1
        case TileType(elem=elem):
            emitter.names[param] = from_memory(_argument(emitter, slot, memory_type(elem)), elem)
            return slot + 1
        case _:
            raise TypeError(f"not a parameter: {param.type}")


def _blocks(emitter: Emitter) -> None:
    """The loop over blocks; each starts only if nobody cancelled."""
    body = emitter.body
    sizes = [grid.grid_axis(emitter, k) for k in range(emitter.plan.func.signature.grid_rank)]
    cancel = grid.launch_word(emitter, LaunchWord.CANCEL)
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
    emitter.linear_block, emitter.block_ids = grid.place(emitter, number, sizes)
    if prefetched_reads(emitter.plan):
        _, following = grid.place(emitter, number + 1, sizes)
        emitter.to_next = [b - a for a, b in zip(emitter.block_ids, following, strict=True)]
    if emitter.plan.joined is not None:
        emitter.blocks = grid.neighbours(emitter, emitter.plan.joined.axis, number, sizes)
    emitter.statements(emitter.plan.body)
    body.label(emitter.next_block)
    emitter.store(emitter.load(counter, "i64") + emitter.blocks, counter)
    body.jump(head)
    body.label(done)
    nontemporal.end(emitter)
    emitter.do("ret void")


def module_text(emitter: Emitter, attributes: str = "") -> str:
    """The module around what was written; the kernel may have attributes of its own."""
    declarations = sorted(emitter.body.declarations | emitter.library.declarations())
    params = "ptr noalias %args, ptr %launch, i64 %begin, i64 %end, ptr noalias %scratch"
    kernel = [
        f'define void @"{emitter.plan.name}"({params}) nounwind "no-builtins"{attributes} {{',
        "entry:",
        *emitter.slots,
        *emitter.body.lines,
        "}",
    ]
    parts = [*declarations, emitter.library.definitions(), *emitter.helpers.values()]
    return "\n".join([*parts, *kernel, *nontemporal.metadata(emitter), ""])
