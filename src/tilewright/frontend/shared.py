"""Shared memory of SIMT kernels while they are compiled: places, updates, how much there is."""

from __future__ import annotations

from typing import Any

from ..base.errors import Code
from ..ir.core import Block, Value
from ..ir.types import DYNAMIC, SharedType
from .describe import describe
from .elements import stored_element
from .emit import Emitter
from .operands import parts
from .values import ElementRef, SharedRef

MOST_STATIC = 48 << 10
"""Bytes of arrays in a block's memory; what a launch asks for may be more."""


def place_in(em: Emitter, ref: SharedRef, index: Any) -> tuple[Value, ...]:
    """The index of an element, one number for each axis; constant ones are inside."""
    given, shape = parts(index), ref.type.shape
    if len(given) != len(shape):
        em.fail(
            Code.RANK,
            f"{describe(ref)} has {len(shape)} axes",
            expected=f"{len(shape)} indices",
            got=str(len(given)),
        )
    for k, (i, n) in enumerate(zip(given, shape, strict=True)):
        if isinstance(i, int) and n is not None and not 0 <= i < n:
            em.fail(
                Code.INDEX,
                f"{describe(ref)} has no element {i} along axis {k}",
                expected=f"0 to {n - 1}",
                got=str(i),
            )
    return tuple(em.index(i, f"an index of `{ref.name}`") for i in given)


def length_of(em: Emitter, ref: SharedRef) -> int | Value:
    """The extent along the first axis."""
    first = ref.type.shape[0]
    return em.emit("shared_length", ref.value) if first is None else first


def update_element(
    em: Emitter, element: ElementRef, values: tuple[Any, ...], mask: Any, op: str, **attrs: Any
) -> Value:
    """An atomic update of an element; the old value."""
    if mask is not None:
        em.fail(
            Code.TYPE,
            "atomics on shared memory take no mask",
            expected="None",
            got=describe(mask),
            hint="write `if condition:` around it",
        )
    memory = element.memory
    assert isinstance(memory, SharedRef), "elements of slices are pointed to"
    given = [stored_element(em, memory.name, memory.type.dtype, value) for value in values]
    return em.emit(op, memory.value, *given, element.index, **attrs)


def refuse_large_shared(em: Emitter, body: Block) -> None:
    """Refuse arrays that together have no room in a block's memory."""
    arrays: dict[int, SharedType] = {}
    total = 0
    for op in body.walk():
        for result in op.results:
            kind = result.type
            if not isinstance(kind, SharedType) or kind.number in (DYNAMIC, *arrays):
                continue
            arrays[kind.number] = kind
            total += kind.nbytes
            if total > MOST_STATIC:
                em.fail(
                    Code.RESOURCES,
                    "the arrays in shared memory are too large",
                    span=op.span,
                    expected=f"at most {MOST_STATIC} bytes in all",
                    got=f"{total} bytes with `{result.name or 'this one'}`",
                    hint="use simt.dynamic_shared(dtype) and"
                    " .launch_config(shared_mem_bytes=...), which may ask for more",
                )
