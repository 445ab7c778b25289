"""Pointers: accesses, masks, memory order, and device globals."""

from __future__ import annotations

from typing import Any, cast

from ...base.dtypes import AnyDType, i32, i64, int_range
from ...base.errors import Code
from ...base.shapes import Shape, is_power_of_two, size
from ...ir.attrs import Ordering, Scope
from ...ir.core import Value
from ...ir.signature import GlobalSpec
from ...ir.types import PtrType, TileType
from ...lang.device_global import Global
from .builder import SemanticBuilder
from .operands import word
from .values import describe, is_pointer

# -------------------------------------------------------------------------------------------------
# Common parts of pointer accesses and atomics: pointers, masks, values, memory order.

LOAD_ORDERS = (Ordering.WEAK, Ordering.RELAXED, Ordering.ACQUIRE)
STORE_ORDERS = (Ordering.WEAK, Ordering.RELAXED, Ordering.RELEASE)
ATOMIC_ORDERS = (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL)


def as_pointers(em: SemanticBuilder, x: Any, what: str = "pointers") -> Value:
    """Return a tile of pointers, rejected otherwise."""
    if is_pointer(x):
        return cast("Value", x)
    em.fail(
        Code.TYPE,
        f"{what} must be a pointer",
        expected="a tl.Ptr parameter or pointers made from one",
        got=describe(x),
    )


def only_pointer(em: SemanticBuilder, x: Any) -> Value:
    """Return the pointer of a tile that has one."""
    value = as_pointers(em, x, "the argument")
    if value.tile.size != 1:
        em.fail(Code.SHAPE, "more than one pointer", expected="one", got=describe(value))
    return em.emit("reshape", value, shape=()) if value.tile.rank else value


def moved(em: SemanticBuilder, pointer: Value, by: Any, *, back: bool = False) -> Value:
    """Return `pointer + by` or `pointer - by`, in unsafe code."""
    em.require_unsafe("pointer arithmetic")
    if back and is_pointer(by):
        em.fail(
            Code.TYPE,
            "cannot subtract pointers",
            expected="an integer or a tile of integers",
            got=describe(by),
            hint="subtract addresses: tl.ptr_to_int(p) - tl.ptr_to_int(q)",
        )
    amount = _amount(em, by)
    return add_pointer(em, pointer, em.emit("negi", _signed(em, amount)) if back else amount)


def _signed(em: SemanticBuilder, amount: Value) -> Value:
    """Convert to a signed integer that holds every value, so that it can be negated."""
    return em.cast(amount, i64)


def pointee(value: Value) -> AnyDType:
    """Return the element type that pointers point to."""
    elem = value.tile.elem
    assert isinstance(elem, PtrType)
    return elem.to


def add_pointer(em: SemanticBuilder, pointer: Value, by: Any) -> Value:
    """Return pointers moved by `by` elements; both sides broadcast."""
    amount = _amount(em, by)
    a, b = pointer.tile.shape, amount.tile.shape
    problem = f"pointers of shape {a} and offsets of shape {b} do not broadcast"
    shape = em.common_shape(a, b, problem)
    moved = em.broadcast_to(amount, shape)
    return em.emit("offset", em.broadcast_to(pointer, shape), moved)


def _amount(em: SemanticBuilder, by: Any) -> Value:
    if type(by) is int:
        low, high = int_range(i32)
        return em.number(by, i32 if low <= by <= high else i64)
    value = em.numbers(by, "offset")
    if not value.tile.dtype.is_int:
        em.fail(
            Code.DTYPE,
            "an offset counts elements",
            expected="an integer or a tile of integers",
            got=describe(value),
            hint="convert it: x.astype(tw.i32)",
        )
    return value


def mask_for(em: SemanticBuilder, mask: Any, shape: Shape) -> Value | None:
    """Return a mask in the pointers' shape; None means everywhere."""
    if mask is None or mask is True:
        return None
    value = em.numbers(mask, "mask")
    if not value.tile.dtype.is_bool:
        em.fail(
            Code.DTYPE,
            "a mask is made of booleans",
            expected="a bool tile",
            got=describe(value),
            hint="compare: x != 0",
        )
    return em.broadcast_to(value, shape)


def value_for(em: SemanticBuilder, x: Any, pointer: Value, what: str) -> Value:
    """Return a value of the pointee type: Python numbers are weak, tiles must fit exactly."""
    dtype = pointee(pointer)
    value = em.tile(x, dtype, what) if not isinstance(x, Value) else em.numbers(x, what)
    if value.tile.dtype is not dtype:
        em.fail(
            Code.DTYPE,
            f"{what} must have the element type of the pointers",
            expected=dtype.name,
            got=describe(value),
            hint=f"convert it: x.astype(tw.{dtype.__name__})",
        )
    return em.broadcast_to(value, pointer.tile.shape)


def memory_order(
    em: SemanticBuilder, ordering: Any, scope: Any, accepted: tuple[Ordering, ...]
) -> dict[str, Any]:
    """Return the attributes for the order and the scope of an access."""
    return {
        "ordering": word(em, ordering, Ordering, "ordering", accepted),
        "scope": word(em, scope, Scope, "scope"),
    }


# -------------------------------------------------------------------------------------------------
# Device globals in a kernel: a hidden pointer parameter for each, and pointers to its elements.


def address_of(em: SemanticBuilder, x: Any) -> Value:
    """Return a pointer to a global's first element, in unsafe code."""
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


def _name(em: SemanticBuilder, x: Global[Any]) -> str:
    """Return the global's name, made distinct from the names of parameters."""
    taken = {p.name for p in em.signature.params} | {spec.name for spec, _ in em.hidden.values()}
    name = wanted = em.global_names.get(x, "unnamed")
    count = 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name


def elements_of(em: SemanticBuilder, x: Any) -> Value:
    """Return pointers to all elements of a global, in its shape."""
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


def _numbered(em: SemanticBuilder, shape: Shape) -> Value:
    """Return the row-major number of each element."""
    flat = em.emit("iota", size=size(shape), dtype=i32)
    return flat if len(shape) == 1 else em.emit("reshape", flat, shape=shape)
