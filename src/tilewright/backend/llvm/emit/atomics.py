"""Atomic updates, one element at a time, in the strongest order; floats that the CPU cannot update
by themselves go through compare-and-swap on their bits."""

from __future__ import annotations

from collections.abc import Callable

from ....base.dtypes import AnyDType, f32
from ....ir.attrs import AtomicMode
from ....ir.core import Op
from ..functions.text import Value as Vec
from ..functions.text import branch, repeat
from ..plan.statements import AtomicPointer
from ..plan.values import Buffer
from .access import alignment, as_pointer, from_memory, to_memory
from .emitter import Emitter
from .floats import NARROW
from .frame import Frame
from .gpu_atomics import has_update, swap_order, update_on_gpu
from .layout import write_element
from .record import CUDA
from .types import memory_type

INTEGER_WORDS = {
    AtomicMode.ADD: ("add", "add"), AtomicMode.AND: ("and", "and"), AtomicMode.OR: ("or", "or"),
    AtomicMode.XOR: ("xor", "xor"), AtomicMode.MAX: ("max", "umax"),
    AtomicMode.MIN: ("min", "umin"), AtomicMode.XCHG: ("xchg", "xchg"),
}  # fmt: skip
"""The instruction's word for signed and for unsigned integers."""
STRONGEST = "seq_cst seq_cst"
FLOAT_COMBINE: dict[AtomicMode, Callable[[Vec, Vec], Vec]] = {
    AtomicMode.ADD: lambda old, value: old + value,
    AtomicMode.MAX: lambda old, value: old.intrinsic("maximum", value),
    AtomicMode.MIN: lambda old, value: old.intrinsic("minimum", value),
}


def update(emitter: Emitter, op: Op, dtype: AnyDType, address: Vec, value: Vec) -> Vec:
    """Combine a value into memory; give the old one."""
    mode, order = op.attrs["mode"], STRONGEST
    if emitter.record is CUDA:
        if has_update(dtype):
            return update_on_gpu(emitter, op, dtype, address, value)
        order = swap_order(op)
    if dtype.is_float and mode in FLOAT_COMBINE:
        return _update_float(emitter, mode, dtype, address, value, order)
    word = INTEGER_WORDS[mode][0 if dtype.is_signed else 1]
    stored = to_memory(value, dtype)
    text = f"atomicrmw {word} {address}, {stored} seq_cst, align {alignment(dtype)}"
    return from_memory(emitter.body.emit(text, stored.elem, 1), dtype)


def _update_float(
    emitter: Emitter, mode: AtomicMode, dtype: AnyDType, address: Vec, value: Vec, order: str
) -> Vec:
    if mode is AtomicMode.ADD and dtype not in NARROW:
        text = f"atomicrmw fadd {address}, {value} seq_cst, align {alignment(dtype)}"
        return emitter.body.emit(text, value.elem, 1)

    def combine(bits: Vec) -> Vec:
        old, other = _from_bits(bits, value.elem), value
        if dtype in NARROW:
            old, other = emitter.convert(old, dtype, f32), emitter.convert(value, dtype, f32)
            return emitter.convert(FLOAT_COMBINE[mode](old, other), f32, dtype)
        return FLOAT_COMBINE[mode](old, other).cast("bitcast", bits.elem)

    kind = f"i{dtype.bits}"
    text = f"load atomic {kind}, {address} {order.split()[-1]}, align {alignment(dtype)}"
    first = emitter.body.emit(text, kind, 1)

    def attempt(old: Vec) -> tuple[Vec, list[Vec]]:
        seen, done = exchange(emitter, address, old, combine(old), alignment(dtype), order)
        return done ^ 1, [seen]

    (old,) = repeat([first], attempt)
    return _from_bits(old, value.elem)


def _from_bits(bits: Vec, kind: str) -> Vec:
    return bits if bits.elem == kind else bits.cast("bitcast", kind)


def exchange(
    emitter: Emitter, address: Vec, expected: Vec, value: Vec, align: int, order: str
) -> tuple[Vec, Vec]:
    """Compare and swap integers: what was there, and whether it was swapped."""
    text = f"cmpxchg {address}, {expected}, {value} {order}, align {align}"
    pair = emitter.body.emit(text, "", 1).name
    kind = f"{{ {expected.type}, i1 }}"
    seen = emitter.body.emit(f"extractvalue {kind} {pair}, 0", expected.elem, 1)
    return seen, emitter.body.emit(f"extractvalue {kind} {pair}, 1", "i1", 1)


def _atomic_rmw(frame: Frame, effect: AtomicPointer) -> None:
    op, emitter = effect.op, frame.emitter
    dtype = op.result.tile.dtype

    def act(address: Vec, value: Vec) -> Vec:
        return update(emitter, op, dtype, address, value)

    _guarded(frame, effect, emitter.literal(dtype, 0, 1), act)


def _atomic_cas(frame: Frame, effect: AtomicPointer) -> None:
    def act(address: Vec, compare: Vec, value: Vec) -> Vec:
        return compare_and_swap(frame.emitter, effect.op, address, compare, value)

    _guarded(frame, effect, frame.value(effect.values[0], 1), act)


def compare_and_swap(emitter: Emitter, op: Op, address: Vec, compare: Vec, value: Vec) -> Vec:
    """Store a value where memory equals `compare` bit for bit; give the old one."""
    dtype = op.result.tile.dtype
    kind = memory_type(dtype)
    order = swap_order(op) if emitter.record is CUDA else STRONGEST
    bits = f"i{8 * dtype.itemsize}"
    expected, new = (_to_bits(to_memory(x, dtype), bits) for x in (compare, value))
    seen, _ = exchange(emitter, address, expected, new, alignment(dtype), order)
    return from_memory(_from_bits(seen, kind), dtype)


def _to_bits(x: Vec, bits: str) -> Vec:
    return x if x.elem == bits else x.cast("bitcast", bits)


def _guarded(frame: Frame, effect: AtomicPointer, missing: Vec, act: Callable[..., Vec]) -> None:
    """Act where the mask holds; the old value, or `missing`, goes to the target."""
    emitter = frame.emitter
    address = as_pointer(emitter, frame.value(effect.address, 1))
    values = [frame.value(v, 1) for v in effect.values]
    if effect.mask is None:
        old = act(address, *values)
    else:
        (old,) = branch(frame.value(effect.mask, 1), [missing], lambda: [act(address, *values)])
    if isinstance(effect.target, Buffer):
        write_element(frame, effect.target, effect.index, old)
    elif effect.target is not None:
        emitter.put(effect.target, old)


Table = dict[str, Callable[[Frame, AtomicPointer], None]]
TABLE: Table = {"atomic_rmw": _atomic_rmw, "atomic_cas": _atomic_cas}
