"""Build the IR of a kernel for one signature: the entry point of the front end."""

from __future__ import annotations

import ast
import sys
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...base.errors import Code, UnwrittenWarning
from ...ir.attrs import DebugEvent
from ...ir.core import Block, Func, Value
from ...ir.launch_expr import LaunchCheck
from ...ir.opdef import Effect
from ...ir.ops.control import DEBUG_OPS
from ...ir.ops.memory import MAKE_VIEW
from ...ir.ops.simt import SLICE_POINTER
from ...ir.signature import (
    GlobalSpec,
    OutputSpec,
    ParamSpec,
    PointerSpec,
    ScalarSpec,
    Signature,
    TensorSpec,
)
from ...ir.types import PtrType, TensorType, TileType
from ...lang.device_global import Global
from ..capture.parameters import Parameter, item_name, require
from ..capture.sources import Captured, FunctionSource, KernelSource
from ..semantics.builder import SemanticBuilder
from ..semantics.mapped import reject_overlapping_loops
from ..semantics.simt import refuse_large_shared, refuse_tiles
from ..semantics.values import AccumulatorRef, MappedRef, OutputRef, SliceRef, TensorRef
from .calls import call
from .debug_events import tell, tell_line
from .expressions import EXPRESSIONS, STATEMENTS
from .interpreter import CallFrame, Flow, Interpreter

# -------------------------------------------------------------------------------------------------
# TypeVars of annotations as values of a body: `N` of `tl.Tensor[f32, N]`, `S` of `*S`.
#
# A name that the signature fixes is a constant; another one is an extent that the launch knows.

KINDS = (typing.TypeVar, typing.TypeVarTuple)


def bind_extents(
    em: SemanticBuilder, frame: CallFrame, kernel: KernelSource, params: Sequence[Value]
) -> None:
    """Bind each linked name that the body reads, and that is no constant, to its extents."""
    read = _names_read(kernel.source)
    parameters = {p.name: p for p in kernel.parameters}
    for spec, value in zip(em.signature.params, params, strict=True):
        if not isinstance(spec, TensorSpec | OutputSpec):
            continue
        # One of the arguments that `*xs`, or a tuple, stands for is called `xs_3`.
        parameter = parameters.get(spec.name)
        if parameter is None:
            name, _, number = spec.name.rpartition("_")
            parameter = parameters[name].member(int(number))
        for name, axes in _linked(parameter, len(spec.shape)):
            if name not in read or name in frame.names:
                continue
            if isinstance(axes, int):
                frame.bind(name, _extent(em, value, axes))
            else:
                frame.bind(name, tuple(_extent(em, value, axis) for axis in axes))


def _names_read(source: FunctionSource) -> set[str]:
    """Return the names that a body reads, except those that are bound to something else outside."""
    nodes = [node for statement in source.body for node in ast.walk(statement)]
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return {n for n in names if _may_be_linked(source, n)}


def _may_be_linked(source: FunctionSource, name: str) -> bool:
    if name in source.cells:
        with suppress(ValueError):  # not bound yet
            return isinstance(source.cells[name].cell_contents, KINDS)
    return name not in source.globals or isinstance(source.globals[name], KINDS)


def _linked(parameter: Parameter, rank: int) -> list[tuple[str, int | range]]:
    """Return the linked names among the dims of a parameter, with their axes."""
    dims = parameter.dims or ()
    found: list[tuple[str, int | range]] = []
    axis = 0
    for dim in dims:
        taken = rank - len(dims) + 1 if isinstance(dim, tuple) else 1
        if isinstance(dim, tuple):
            found.append((dim[1], range(axis, axis + taken)))
        elif isinstance(dim, str):
            found.append((dim, axis))
        axis += taken
    return found


def _extent(em: SemanticBuilder, tensor: Value, axis: int) -> int | Value:
    known = tensor.tensor.shape[axis]
    return em.emit("extent", tensor, axis=axis) if known is None else known


# -------------------------------------------------------------------------------------------------
# Warnings about outputs that a kernel never writes: they keep their old contents.
#
# There is no warning if a branch was left out at compile time, since other constants may take it,
# nor for kernels that print or assert and write nothing at all.


def warn_unwritten_outputs(
    it: Interpreter, kernel: KernelSource, body: Block, params: tuple[Value, ...]
) -> None:
    """Warn at the first output that is never written to, once for each kernel."""
    if it.em.left_out or kernel.warned:
        return
    names = _unwritten(body, it.em.signature, params)
    args = [a for a in ast.walk(kernel.source.node.args) if isinstance(a, ast.arg)]
    for arg in args:
        if arg.arg in names:
            kernel.warned.add(arg.arg)
            it.mark(arg)
            it.em.warn(
                f"`{kernel.name}` never writes to its output `{arg.arg}`",
                hint=WRITE[kernel.dialect].format(arg.arg) + ", or take it as an input",
                code=Code.UNWRITTEN,
                category=UnwrittenWarning,
            )
            return


WRITE = {"tile": "write {}.store(tile)", "simt": "write {}[i] = x"}


def _unwritten(body: Block, signature: Signature, params: tuple[Value, ...]) -> set[str]:
    """Return the names of outputs that no op writes to."""
    tensor_of: dict[Value, Value] = {}
    written: set[Value] = set()
    telling = False
    for op in body.walk():
        telling |= op.is_a(*DEBUG_OPS)
        if op.is_a(MAKE_VIEW):
            tensor_of[op.result] = op.operands[0]
        # Accesses through a pointer are not tracked.
        elif op.is_a(SLICE_POINTER) or op.defn.effects & Effect.WRITE:
            written.update(tensor_of.get(v, v) for v in op.operands)
    if telling and not written:
        return set()
    named = zip(signature.params, params, strict=True)
    return {s.name for s, v in named if isinstance(s, OutputSpec) and v not in written}


# -------------------------------------------------------------------------------------------------
# The entry point: IR of a kernel for one signature.


@dataclass(frozen=True, slots=True)
class Built:
    """The IR, and the names from outside that it depends on."""

    func: Func
    captured: tuple[Captured, ...]


def build(kernel: KernelSource, signature: Signature) -> Func:
    """Return the IR of a kernel for one signature."""
    return build_captured(kernel, signature).func


def build_captured(kernel: KernelSource, signature: Signature, *, stepped: bool = False) -> Built:
    """Return the IR of a captured kernel, and the outside values that it read.

    If it is `stepped`, it has an event for each statement, for a debugger.
    """
    em = SemanticBuilder(
        signature, unsafe=kernel.unsafe, checked=not kernel.terms.unchecked_accesses
    )
    for check in kernel.terms.preconditions:
        require(kernel.name, check, signature)
        em.require_at_launch(check)
    frame = CallFrame(kernel.source)
    it = Interpreter(em, frame, EXPRESSIONS, STATEMENTS, tell_line)
    it.stepped = stepped
    em.inline = partial(_inlined, it)
    try:
        return _interpret(it, kernel)
    finally:
        it.release()


def _interpret(it: Interpreter, kernel: KernelSource) -> Built:
    """Run the body of a kernel on its parameters."""
    em, frame, signature = it.em, it.frame, it.em.signature
    params = tuple(_param(spec) for spec in signature.params)
    found = {
        spec.name: _reference(spec, value, simt=em.is_simt)
        for spec, value in zip(signature.params, params, strict=True)
    }
    for p in kernel.parameters:
        # What a launch leaves out is None, a constant; see launch.variants.
        is_several = p.variadic or p.kind == "tuple"
        frame.bind(p.name, _items(p.name, found) if is_several else found.get(p.name))
    for p in kernel.constants:
        if p.name in found:
            frame.bind(p.name, found[p.name])
    for spec, value in zip(signature.params, params, strict=True):
        if isinstance(spec, ScalarSpec):
            em.scalars[value] = spec.name
    for name, constant in signature.constants:
        frame.bind(name, constant)
        if isinstance(constant, Global):
            em.global_names[constant] = name
    if not em.is_simt:
        bind_extents(em, frame, kernel, params)
    body = em.block
    node = kernel.source.node
    assert isinstance(node, ast.FunctionDef)
    it.mark(node)
    tell(it, DebugEvent.CALL)
    if _run(it, node.body) is Flow.NEXT:
        it.mark(node)
        em.op("return")
    reject_overlapping_loops(em, body)
    warn_unwritten_outputs(it, kernel, body, params)
    if em.is_simt:
        refuse_tiles(em, body)
        refuse_large_shared(em, body)
    checks = _distinct(em.launch_checks)
    hidden = _used(em, body)
    signature = _with_hidden(signature, [spec for spec, _ in hidden])
    # A loop body is compiled more than once until its types settle.
    obligations = tuple({o.key: o for o in em.obligations}.values())
    values = (*params, *[v for _, v in hidden])
    func = Func(kernel.name, signature, values, body, checks, obligations)
    return Built(func, tuple(it.captured.values()))


def _inlined(it: Interpreter, function: Any, values: Sequence[Any]) -> Any:
    """Run a function in the region of an op, as of a reduction: no debugger stops there."""
    stepped, it.stepped = it.stepped, False
    try:
        return call(it, function, values, {})
    finally:
        it.stepped = stepped


def _items(name: str, found: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values of a variadic parameter, or of a tuple."""
    items = list[Any]()
    while item_name(name, len(items)) in found:
        items.append(found[item_name(name, len(items))])
    return tuple(items)


def _run(it: Interpreter, body: list[ast.stmt]) -> Flow:
    """Run a body; an integer too long to be shown is an error of the kernel like others."""
    try:
        return it.run(body)
    except ValueError as error:
        if TOO_LONG not in str(error):
            raise
        most = sys.get_int_max_str_digits()
        it.em.fail(
            Code.LITERAL,
            "an integer is too long for a kernel",
            expected="a number that fits an element type",
            got=f"one of more than {most} digits",
        )


TOO_LONG = "integer string conversion"
"""What Python says of an integer of whose digits it gives none."""


def _used(em: SemanticBuilder, body: Block) -> list[tuple[GlobalSpec, Value]]:
    """Return the globals that are in the IR: recompiling a loop may have dropped one."""
    read = {v for op in body.walk() for v in op.operands}
    return [(spec, value) for spec, value in em.hidden.values() if value in read]


def _with_hidden(signature: Signature, hidden: Sequence[GlobalSpec]) -> Signature:
    if not hidden:
        return signature
    return replace(signature, params=(*signature.params, *hidden), hidden=len(hidden))


def _param(spec: ParamSpec) -> Value:
    if isinstance(spec, TensorSpec | OutputSpec):
        mutable = isinstance(spec, OutputSpec)
        return Value(
            TensorType(spec.dtype, spec.shape, spec.strides, mutable, spec.name), spec.name
        )
    elem = PtrType(spec.dtype) if isinstance(spec, PointerSpec) else spec.dtype
    return Value(TileType(elem), spec.name)


def _reference(spec: ParamSpec, value: Value, *, simt: bool) -> Any:
    if simt and isinstance(spec, OutputSpec | TensorSpec):
        return SliceRef(value, spec.name, isinstance(spec, OutputSpec))
    if isinstance(spec, OutputSpec) and spec.groups is not None:
        return MappedRef(value, spec.name, spec.tile, spec.groups)
    if isinstance(spec, OutputSpec) and spec.shared:
        return AccumulatorRef(value, spec.name)
    if isinstance(spec, OutputSpec):
        return OutputRef(value, spec.name, spec.tile, spec.partial)
    return TensorRef(value, spec.name) if isinstance(spec, TensorSpec) else value


def _distinct(checks: Sequence[LaunchCheck]) -> tuple[LaunchCheck, ...]:
    """Return each check once: a loop body is compiled several times until its types converge."""
    return tuple({(c.expr, c.message): c for c in checks}.values())
