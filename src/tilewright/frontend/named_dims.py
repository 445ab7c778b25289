"""TypeVars of annotations as values of a body: `N` of `tl.Tensor[f32, N]`, `S` of `*S`.

A name that a compilation fixes is a constant; another stands for extents of the launch.
"""

from __future__ import annotations

import ast
import typing
from collections.abc import Sequence
from contextlib import suppress

from ..ir.core import Value
from ..ir.signature import OutputSpec, TensorSpec
from .emit import Emitter
from .frame import Frame
from .parameters import Parameter
from .sources import FunctionSource, KernelSource

KINDS = (typing.TypeVar, typing.TypeVarTuple)


def bind_extents(em: Emitter, frame: Frame, kernel: KernelSource, params: Sequence[Value]) -> None:
    """Bind each linked name that the body reads, and that is no constant, to its extents."""
    read = _names_read(kernel.source)
    parameters = {p.name: p for p in kernel.parameters}
    for spec, value in zip(em.signature.params, params, strict=True):
        if not isinstance(spec, TensorSpec | OutputSpec):
            continue
        # One of the arguments that `*xs` stands for is called `xs_3`.
        parameter = parameters.get(spec.name) or parameters[spec.name.rpartition("_")[0]]
        for name, axes in _linked(parameter, len(spec.shape)):
            if name not in read or name in frame.names:
                continue
            if isinstance(axes, int):
                frame.bind(name, _extent(em, value, axes))
            else:
                frame.bind(name, tuple(_extent(em, value, axis) for axis in axes))


def _names_read(source: FunctionSource) -> set[str]:
    """The names that a body reads, but for those that stand for something else outside of it."""
    nodes = [node for statement in source.body for node in ast.walk(statement)]
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return {n for n in names if _may_be_linked(source, n)}


def _may_be_linked(source: FunctionSource, name: str) -> bool:
    if name in source.cells:
        with suppress(ValueError):  # not bound yet
            return isinstance(source.cells[name].cell_contents, KINDS)
    return name not in source.globals or isinstance(source.globals[name], KINDS)


def _linked(parameter: Parameter, rank: int) -> list[tuple[str, int | range]]:
    """The linked names among the dims of a parameter, with their axes."""
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


def _extent(em: Emitter, tensor: Value, axis: int) -> int | Value:
    known = tensor.tensor.shape[axis]
    return em.emit("extent", tensor, axis=axis) if known is None else known
