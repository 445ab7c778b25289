"""Atomic updates of GPUs, in the order and the scope they were asked for.

LLVM's own updates lose both on their way to PTX, so the instruction is written as it is. What it
does not have, sums of 16 bits, goes through compare-and-swap, which LLVM writes right.
"""

from __future__ import annotations

from ....base.dtypes import AnyDType, f32, f64
from ....ir.attrs import AtomicMode, Ordering, Scope
from ....ir.core import Op
from ..functions.text import Value as Vec
from .emitter import Emitter

SCOPES = {Scope.TILE_BLOCK: "cta", Scope.DEVICE: "gpu", Scope.SYSTEM: "sys"}
SYNC_SCOPES = {Scope.TILE_BLOCK: 'syncscope("block") ', Scope.DEVICE: 'syncscope("device") '}
"""How LLVM spells whom an order is for; the whole system has no word."""
SPACES = {"ptr addrspace(1)": ".global", "ptr addrspace(3)": ".shared"}
WORDS = {AtomicMode.XCHG: "exch"}
KINDS: dict[AnyDType, str] = {f32: "f32", f64: "f64"}
REGISTERS = {"float": "f", "double": "d", "i32": "r", "i64": "l"}
SWAP_ORDERS = {
    Ordering.RELAXED: "monotonic monotonic", Ordering.ACQUIRE: "acquire acquire",
    Ordering.RELEASE: "release monotonic", Ordering.ACQ_REL: "acq_rel acquire",
}  # fmt: skip
"""If it is swapped, and if not."""
SIGNLESS = (AtomicMode.AND, AtomicMode.OR, AtomicMode.XOR, AtomicMode.XCHG)


def has_update(dtype: AnyDType) -> bool:
    """Whether GPUs update elements of a type by one instruction."""
    return dtype.bits in (32, 64)


def update_on_gpu(emitter: Emitter, op: Op, dtype: AnyDType, address: Vec, value: Vec) -> Vec:
    """Combine a value into memory; give the old one."""
    mode = op.attrs["mode"]
    order, scope = op.attrs["ordering"].value, SCOPES[op.attrs["scope"]]
    space = SPACES.get(address.elem, "")
    word = WORDS.get(mode, mode.value)
    text = f"atom.{order}.{scope}{space}.{word}.{_kind(mode, dtype)} $0, [$1], $2;"
    where = address.cast("ptrtoint", "i64")
    bits = value
    if mode is AtomicMode.XCHG and dtype.is_float:
        bits = value.bits()
    register = REGISTERS[bits.elem]
    asm = f'asm sideeffect "{text}", "={register},l,{register},~{{memory}}"'
    old = emitter.body.emit(f"call {bits.type} {asm}({where}, {bits})", bits.elem, 1)
    return old if bits is value else old.as_float()


def _kind(mode: AtomicMode, dtype: AnyDType) -> str:
    """How the instruction spells an element type."""
    if mode in SIGNLESS:
        return f"b{dtype.bits}"
    if dtype in KINDS:
        return KINDS[dtype]
    signed = dtype.is_signed and mode is not AtomicMode.ADD
    return f"{'s' if signed else 'u'}{dtype.bits}"


def swap_order(op: Op) -> str:
    """The order and the scope of a compare-and-swap, as LLVM spells them."""
    return f"{SYNC_SCOPES.get(op.attrs['scope'], '')}{SWAP_ORDERS[op.attrs['ordering']]}"
