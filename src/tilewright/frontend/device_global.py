"""Device globals in a kernel: a hidden pointer parameter for each, and pointers to its elements."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import i32
from ..base.errors import Code
from ..base.shapes import Shape, is_power_of_two, size
from ..ir.core import Value
from ..ir.signature import GlobalSpec
from ..ir.types import PtrType, TileType
from ..lang.device_global import Global
from .describe import describe
from .emit import Emitter
from .pointers import add_pointer


def address_of(em: Emitter, x: Any) -> Value:
    """A pointer to a global's first element, in unsafe code."""
    em.require_unsafe("a device global")
    if not isinstance(x, Global):
        em.fail(
            Code.TYPE,
            "only a device global has an address in a kernel",
            expected="a tl.Global, made outside the kernel",
            got=describe(x),
            hint="take memory of the host as a parameter: p: tl.Ptr[...]",
        )
    memory = x.memory
    if memory not in em.hidden:
        spec = GlobalSpec(_name(em, x), memory.dtype, memory.shape, memory)
        em.hidden[memory] = spec, Value(TileType(PtrType(spec.dtype)), spec.name)
    return em.hidden[memory][1]


def _name(em: Emitter, x: Global[Any]) -> str:
    """The name it was found by, made different from those of other parameters."""
    taken = {p.name for p in em.signature.params} | {spec.name for spec, _ in em.hidden.values()}
    name = wanted = em.global_names.get(x, "unnamed")
    count = 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name


def elements_of(em: Emitter, x: Any) -> Value:
    """Pointers to all elements of a global, in its shape."""
    first = address_of(em, x)
    shape: Shape = x.shape
    if not shape:
        return first
    if not all(is_power_of_two(n) for n in shape):
        em.fail(
            Code.POWER_OF_TWO,
            f"a global of shape {shape} cannot be a tile",
            expected="extents that are powers of two",
            got=describe(x),
            hint="access single elements: tl.gather(tl.get_global(g), offsets, mask)",
        )
    return add_pointer(em, first, _numbered(em, em.static_shape(shape)))


def _numbered(em: Emitter, shape: Shape) -> Value:
    """The row-major number of each element."""
    flat = em.emit("iota", size=size(shape), dtype=i32)
    return flat if len(shape) == 1 else em.emit("reshape", flat, shape=shape)
