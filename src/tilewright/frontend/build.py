"""Builds the IR of a kernel for one signature: the front end's way in."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..base.errors import Code
from ..ir.core import Block, Func, Value
from ..ir.launch_expr import LaunchCheck
from ..ir.signature import (
    GlobalSpec,
    OutputSpec,
    ParamSpec,
    PointerSpec,
    ScalarSpec,
    Signature,
    TensorSpec,
)
from ..ir.types import PtrType, TensorType, TileType
from ..lang.device_global import Global
from .calls import call
from .captured import Captured
from .emit import Emitter
from .expressions import EXPRESSIONS
from .frame import Frame
from .interpret import Flow, Interpreter
from .lint_unwritten_outputs import warn_unwritten_outputs
from .mapped_indices import reject_overlapping_loops
from .named_dims import bind_extents
from .parameters import item_name
from .preconditions import require
from .shared import refuse_large_shared
from .sources import KernelSource
from .statements import STATEMENTS
from .threads import refuse_tiles
from .values import AccumulatorRef, MappedRef, OutputRef, SliceRef, TensorRef


@dataclass(frozen=True, slots=True)
class Built:
    """The IR, and the names from outside that it depends on."""

    func: Func
    captured: tuple[Captured, ...]


def build(kernel: KernelSource, signature: Signature) -> Func:
    """The IR of a kernel for one signature."""
    return build_captured(kernel, signature).func


def build_captured(kernel: KernelSource, signature: Signature) -> Built:
    """The IR together with what it captured."""
    em = Emitter(signature, unsafe=kernel.unsafe, checked=not kernel.terms.unchecked_accesses)
    for check in kernel.terms.preconditions:
        require(kernel.name, check, signature)
        em.require_at_launch(check)
    frame = Frame(kernel.source)
    it = Interpreter(em, frame, EXPRESSIONS, STATEMENTS)
    em.inline = lambda function, values: call(it, function, values, {})
    params = tuple(_param(spec) for spec in signature.params)
    found = {
        spec.name: _reference(spec, value, simt=em.is_simt)
        for spec, value in zip(signature.params, params, strict=True)
    }
    for p in kernel.parameters:
        # What a launch leaves out is None, a constant; see launch.variants.
        frame.bind(p.name, _items(p.name, found) if p.variadic else found.get(p.name))
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


def _items(name: str, found: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a variadic parameter stands for."""
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


def _used(em: Emitter, body: Block) -> list[tuple[GlobalSpec, Value]]:
    """The globals that are in the IR: a loop that was compiled again may have dropped one."""
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
    """A loop body is compiled more than once until its types settle; its checks count once."""
    return tuple({(c.expr, c.message): c for c in checks}.values())
