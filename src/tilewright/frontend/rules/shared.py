"""Rules of the shared family: memory of a block, its elements, the barrier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.dtypes import AnyDType
from ...base.errors import Code
from ...ir.core import Value
from ...ir.launch_expr import LaunchCheck
from ..describe import describe
from ..elements import stored_element
from ..emit import Emitter
from ..operands import parts
from ..shared import place_in
from ..values import ElementRef, SharedRef


def shared(em: Emitter, dtype: Any, shape: Any) -> SharedRef:
    """An array of the block's own memory."""
    _require(em, "shared")
    elem = em.static_dtype(dtype)
    _refuse_varying(em, parts(shape))
    dims = tuple(em.static_int(n, f"shape[{k}]") for k, n in enumerate(parts(shape)))
    if not dims or min(dims) < 1:
        em.fail(
            Code.SHAPE,
            "shared memory has at least one element along each axis",
            expected="positive extents",
            got=str(dims),
        )
    number = em.shared_arrays
    em.shared_arrays += 1
    return SharedRef(em.emit("shared", number=number, dtype=elem, shape=dims))


def _refuse_varying(em: Emitter, extents: Sequence[Any]) -> None:
    varying = [n for n in extents if isinstance(n, Value)]
    if varying:
        em.fail(
            Code.NOT_STATIC,
            "the extents of shared memory must be compile-time constants",
            expected="constants",
            got=describe(varying[0]),
            hint="simt.block_dim() is a constant if the kernel declares its block, as in"
            " @simt.kernel(block=256); otherwise use simt.dynamic_shared",
        )


def dynamic_shared(em: Emitter, dtype: Any, *, offset: Any = 0) -> SharedRef:
    """The memory that the launch asked for."""
    _require(em, "dynamic_shared")
    elem = em.static_dtype(dtype)
    if isinstance(offset, int) and (offset < 0 or offset % elem.itemsize):
        em.fail(
            Code.SHAPE,
            f"an array of {elem.name} cannot begin at byte {offset}",
            expected=f"a multiple of {elem.itemsize}",
            got=str(offset),
        )
    _require_room(em, elem, offset)
    start = em.index(offset, "the offset in bytes")
    return SharedRef(em.emit("dynamic_shared", start, dtype=elem))


def _require_room(em: Emitter, elem: AnyDType, offset: Any) -> None:
    """Let launches that leave no room for a single element be refused."""
    asked = em.signature.shared_bytes
    needed = (offset if isinstance(offset, int) else 0) + elem.itemsize
    if asked < needed:
        message = f"there is no room for simt.dynamic_shared({elem.name})"
        expr = ("ge", ("given", "shared_mem_bytes", asked), ("const", needed))
        em.require_at_launch(LaunchCheck(expr, message, em.span))


def sync_threads(em: Emitter) -> None:
    """The barrier of a block."""
    _require(em, "sync_threads")
    em.op("sync_threads")


def _require(em: Emitter, word: str) -> None:
    em.require_threads(f"simt.{word}()")
    em.require_unsafe(f"`simt.{word}`")


def _read(em: Emitter, self: SharedRef, index: Any) -> Value:
    em.require_unsafe("reading shared memory")
    return em.emit("load_shared", self.value, place_in(em, self, index))


def _write(em: Emitter, self: SharedRef, index: Any, value: Any) -> None:
    em.require_unsafe("writing shared memory")
    stored = stored_element(em, self.name, self.type.dtype, value)
    em.op("store_shared", stored, self.value, place_in(em, self, index))


def _at(em: Emitter, self: SharedRef, *index: Any) -> ElementRef:
    return ElementRef(self, place_in(em, self, index))


def _shape(em: Emitter, self: SharedRef) -> tuple[int, ...]:
    shape = self.type.shape
    known = tuple(n for n in shape if n is not None)
    if len(known) != len(shape):
        em.fail(
            Code.NOT_STATIC,
            f"the extent of {describe(self)} is known only at launch",
            hint=f"use len({self.name})",
        )
    return known


def _dtype(em: Emitter, self: SharedRef) -> Any:
    return self.type.dtype


RULES: dict[str, Callable[..., Any]] = {
    "shared": shared,
    "dynamic_shared": dynamic_shared,
    "sync_threads": sync_threads,
    "Shared.__getitem__": _read,
    "Shared.__setitem__": _write,
    "Shared.at": _at,
    "Shared.shape": _shape,
    "Shared.dtype": _dtype,
}
PROPERTIES: frozenset[str] = frozenset(("Shared.shape", "Shared.dtype"))
