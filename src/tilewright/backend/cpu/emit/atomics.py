"""Atomic updates, one element at a time, on CPUs and on GPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ....base.dtypes import AnyDType, f32, f64
from ....ir.attrs import AtomicMode, Ordering, Scope
from ....ir.core import Op
from ...llvm.builder import Vec, branch, repeat, vector, where
from ..loopnest.nodes import AtomicPointer, PrivateCopy, TileBuffer
from .access import (
    alignment,
    as_pointer,
    from_memory,
    load_stretch,
    perform_if,
    store_stretch,
    to_memory,
)
from .elementwise import NARROW
from .emitter import CUDA, LlvmEmitter, TensorPointer, memory_type
from .frame import NestFrame
from .layout import write_element

# -------------------------------------------------------------------------------------------------
# Atomics of GPUs, in the requested order and scope.
#
# LLVM's `atomicrmw` loses both on its way to PTX, so the instruction is inline assembly. 16-bit
# sums, which PTX lacks in these forms, use a CAS loop, which LLVM lowers correctly.

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
    """Return whether GPUs update elements of a type by one instruction."""
    return dtype.bits in (32, 64)


def update_on_gpu(emitter: LlvmEmitter, op: Op, dtype: AnyDType, address: Vec, value: Vec) -> Vec:
    """Combine a value into memory; return the old one."""
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
    """Return the spelling of an element type in the instruction."""
    if mode in SIGNLESS:
        return f"b{dtype.bits}"
    if dtype in KINDS:
        return KINDS[dtype]
    signed = dtype.is_signed and mode is not AtomicMode.ADD
    return f"{'s' if signed else 'u'}{dtype.bits}"


def swap_order(op: Op) -> str:
    """Return the order and the scope of a compare-and-swap, as LLVM spells them."""
    return f"{SYNC_SCOPES.get(op.attrs['scope'], '')}{SWAP_ORDERS[op.attrs['ordering']]}"


# -------------------------------------------------------------------------------------------------
# Atomics of CPUs, sequentially consistent; floats without an instruction use a CAS loop on their
# bits.

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


INTEGER_COMBINE: dict[AtomicMode, tuple[str, str]] = {
    AtomicMode.ADD: ("add", "add"), AtomicMode.AND: ("and", "and"), AtomicMode.OR: ("or", "or"),
    AtomicMode.XOR: ("xor", "xor"), AtomicMode.MAX: ("smax", "umax"),
    AtomicMode.MIN: ("smin", "umin"),
}  # fmt: skip
"""The instruction or the intrinsic for signed and for unsigned integers."""


def combined(emitter: LlvmEmitter, mode: AtomicMode, dtype: AnyDType, old: Vec, value: Vec) -> Vec:
    """Return what an update makes of the old value."""
    if dtype in NARROW:
        wide = [emitter.convert(x, dtype, f32) for x in (old, value)]
        return emitter.convert(FLOAT_COMBINE[mode](*wide), f32, dtype)
    if dtype.is_float:
        return FLOAT_COMBINE[mode](old, value)
    word = INTEGER_COMBINE[mode][0 if dtype.is_signed else 1]
    extreme = mode in (AtomicMode.MAX, AtomicMode.MIN)
    return old.intrinsic(word, value) if extreme else old.binary(word, value)


def update(emitter: LlvmEmitter, op: Op, dtype: AnyDType, address: Vec, value: Vec) -> Vec:
    """Combine a value into memory; return the old one."""
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
    emitter: LlvmEmitter, mode: AtomicMode, dtype: AnyDType, address: Vec, value: Vec, order: str
) -> Vec:
    if mode is AtomicMode.ADD and dtype not in NARROW:
        text = f"atomicrmw fadd {address}, {value} seq_cst, align {alignment(dtype)}"
        return emitter.body.emit(text, value.elem, 1)

    def combine(bits: Vec) -> Vec:
        new = combined(emitter, mode, dtype, _from_bits(bits, value.elem), value)
        return _to_bits(new, bits.elem)

    kind = f"i{dtype.bits}"
    text = f"load atomic {kind}, {address} {order.split()[-1]}, align {alignment(dtype)}"
    first = emitter.body.emit(text, kind, 1)

    def attempt(old: Vec) -> tuple[Vec, list[Vec]]:
        seen, done = exchange(emitter, address, old, combine(old), alignment(dtype), order)
        return done ^ 1, [seen]

    (old,) = repeat([first], attempt)
    return _from_bits(old, value.elem)


WIDE = 16
"""Bytes that one compare-and-swap changes at most."""


def update_stretch(
    emitter: LlvmEmitter, op: Op, dtype: AnyDType, address: Vec, low: Vec, high: Vec, value: Vec
) -> None:
    """Combine lanes low .. high - 1 into neighbouring elements, each atomically."""
    kind = memory_type(dtype)
    lanes = emitter.slot(kind, value.lanes)
    emitter.store(to_memory(value, dtype), lanes)
    begin = low.intrinsic("smax", 0)
    end = high.intrinsic("smin", value.lanes)
    together = WIDE // dtype.itemsize
    is_wide = (
        op.attrs["mode"] is AtomicMode.ADD and kind in ("float", "double")
        and emitter.cpu.has("+cx16") and value.lanes >= together
    )  # fmt: skip

    def one(at: Vec) -> Vec:
        given = emitter.load(emitter.shifted(lanes, at, kind), kind, align=alignment(dtype))
        update(emitter, op, dtype, emitter.shifted(address, at, kind), given)
        return at + 1

    def several(at: Vec) -> Vec:
        given = emitter.load(
            emitter.shifted(lanes, at, kind), kind, together, align=alignment(dtype)
        )
        _add_wide(emitter, emitter.shifted(address, at, kind), given)
        return at + together

    def step(at: Vec) -> tuple[Vec, list[Vec]]:
        if not is_wide:
            following = one(at)
            return following < end, [following]
        place = emitter.shifted(address, at, kind)
        aligned = (emitter.body.emit(f"ptrtoint {place} to i64", "i64", 1) & (WIDE - 1)).eq(0)
        fits = aligned & (end >= at + together)
        slot = emitter.slot("i64")
        all_, single, after = (emitter.label(word) for word in ("together", "single", "combined"))
        emitter.branch(fits, all_, single)
        for label, act in ((all_, several), (single, one)):
            emitter.body.label(label)
            emitter.store(act(at), slot)
            emitter.body.jump(after)
        emitter.body.label(after)
        following = emitter.load(slot, "i64")
        return following < end, [following]

    def run() -> None:
        repeat([begin], step)

    perform_if(emitter, begin < end, run)


def _add_wide(emitter: LlvmEmitter, address: Vec, value: Vec) -> None:
    """Add floats to aligned neighbours by one compare-and-swap."""
    halves: list[Vec] = []
    for number in range(2):
        place = emitter.shifted(address, emitter.integer(number), "i64")
        text = f"load atomic i64, {place} monotonic, align 8"
        halves.append(emitter.body.emit(text, "i64", 1).cast("zext", "i128"))
    first = halves[0] | halves[1].binary("shl", 64)

    def attempt(old: Vec) -> tuple[Vec, list[Vec]]:
        kind = vector(value.elem, value.lanes)
        numbers = emitter.body.emit(f"bitcast {old} to {kind}", value.elem, value.lanes)
        total = numbers + value
        new = emitter.body.emit(f"bitcast {total} to i128", "i128", 1)
        seen, done = exchange(emitter, address, old, new, WIDE, STRONGEST)
        return done ^ 1, [seen]

    repeat([first], attempt)


def _from_bits(bits: Vec, kind: str) -> Vec:
    return bits if bits.elem == kind else bits.cast("bitcast", kind)


def exchange(
    emitter: LlvmEmitter, address: Vec, expected: Vec, value: Vec, align: int, order: str
) -> tuple[Vec, Vec]:
    """Compare and swap integers; return the old value, and whether it was swapped."""
    text = f"cmpxchg {address}, {expected}, {value} {order}, align {align}"
    pair = emitter.body.emit(text, "", 1).name
    kind = f"{{ {expected.type}, i1 }}"
    seen = emitter.body.emit(f"extractvalue {kind} {pair}, 0", expected.elem, 1)
    return seen, emitter.body.emit(f"extractvalue {kind} {pair}, 1", "i1", 1)


def _atomic_rmw(frame: NestFrame, effect: AtomicPointer) -> None:
    op, emitter = effect.op, frame.emitter
    dtype = op.result.tile.dtype

    def act(address: Vec, value: Vec) -> Vec:
        return update(emitter, op, dtype, address, value)

    _guarded(frame, effect, emitter.literal(dtype, 0, 1), act)


def _atomic_cas(frame: NestFrame, effect: AtomicPointer) -> None:
    def act(address: Vec, compare: Vec, value: Vec) -> Vec:
        return compare_and_swap(frame.emitter, effect.op, address, compare, value)

    _guarded(frame, effect, frame.value(effect.values[0], 1), act)


def compare_and_swap(emitter: LlvmEmitter, op: Op, address: Vec, compare: Vec, value: Vec) -> Vec:
    """Store a value where memory equals `compare` bit for bit; return the old one."""
    dtype = op.result.tile.dtype
    kind = memory_type(dtype)
    order = swap_order(op) if emitter.record is CUDA else STRONGEST
    bits = f"i{8 * dtype.itemsize}"
    expected, new = (_to_bits(to_memory(x, dtype), bits) for x in (compare, value))
    seen, _ = exchange(emitter, address, expected, new, alignment(dtype), order)
    return from_memory(_from_bits(seen, kind), dtype)


def _to_bits(x: Vec, bits: str) -> Vec:
    return x if x.elem == bits else x.cast("bitcast", bits)


def _guarded(
    frame: NestFrame, effect: AtomicPointer, missing: Vec, act: Callable[..., Vec]
) -> None:
    """Apply the operation where the mask holds; the old value, or `missing`, goes to the target."""
    emitter = frame.emitter
    address = as_pointer(emitter, frame.value(effect.address, 1))
    values = [frame.value(v, 1) for v in effect.values]
    if effect.mask is None:
        old = act(address, *values)
    else:
        (old,) = branch(frame.value(effect.mask, 1), [missing], lambda: [act(address, *values)])
    if isinstance(effect.target, TileBuffer):
        write_element(frame, effect.target, effect.index, old)
    elif effect.target is not None:
        emitter.put(effect.target, old)


Table = dict[str, Callable[[NestFrame, AtomicPointer], None]]
TABLE: Table = {"atomic_rmw": _atomic_rmw, "atomic_cas": _atomic_cas}

# -------------------------------------------------------------------------------------------------
# Private copies of accumulators: filled with the identity, and combined into memory at the end.


WORTH = 4
"""Updates of each element in a run of blocks from which on a copy is worth its filling."""


@dataclass(frozen=True, slots=True)
class Private:
    """A copy at run time."""

    copy: PrivateCopy
    is_used: Vec
    """Whether this run of blocks uses it: a scalar."""
    count: Vec
    """The elements of the accumulator."""
    tensor: TensorPointer
    """The accumulator itself."""

    @property
    def dtype(self) -> AnyDType:
        """The element type."""
        return self.copy.op.operands[0].tile.dtype


def begin_private_copies(emitter: LlvmEmitter) -> None:
    """Decide which copies are used, fill them, and let them stand for the accumulators."""
    for value, copy in emitter.plan.private.items():
        tensor = emitter.tensors[value]
        count, strides = emitter.integer(1), list[Vec]()
        for extent in reversed(tensor.extents):
            strides.insert(0, count)
            count = count * extent
        is_used = _is_worth(emitter, copy, tensor, count)
        emitter.tensors[value] = TensorPointer(
            where(is_used, _start(emitter, copy), tensor.address),
            tensor.extents,
            tuple(where(is_used, a, b) for a, b in zip(strides, tensor.strides, strict=True)),
        )
        emitter.private[value] = Private(copy, is_used, count, tensor)
        _fill(emitter, emitter.private[value])


def end_private_copies(emitter: LlvmEmitter) -> None:
    """Combine what the copies have into the accumulators."""
    for private in emitter.private.values():
        _flush(emitter, private)


def _is_worth(emitter: LlvmEmitter, copy: PrivateCopy, tensor: TensorPointer, count: Vec) -> Vec:
    blocks = Vec(emitter.body, "%end", "i64", 1) - Vec(emitter.body, "%begin", "i64", 1)
    # Extents that fit are so small that the product of several does not overflow.
    fits = [number < copy.capacity + 1 for number in (*tensor.extents, count)]
    return emitter.any_of([*fits, blocks * copy.updates >= count * WORTH])


def _fill(emitter: LlvmEmitter, private: Private) -> None:
    empty = _empty(emitter, private)
    align = alignment(private.dtype)
    _each(emitter, private, lambda at, number: emitter.store(empty, at, align))


def _flush(emitter: LlvmEmitter, private: Private) -> None:
    op, dtype, empty = private.copy.op, private.dtype, _empty(emitter, private)

    def combine(at: Vec, number: Vec) -> None:
        found = emitter.load(at, memory_type(dtype), align=alignment(dtype))

        def act() -> None:
            update(emitter, op, dtype, _place(emitter, private, number), found)

        perform_if(emitter, _bits(found).ne(_bits(empty)), act)

    _each(emitter, private, combine)


def update_private(emitter: LlvmEmitter, private: Private, address: Vec, value: Vec) -> None:
    """Combine a value into an element."""
    op, dtype = private.copy.op, private.dtype

    def mine() -> None:
        old = emitter.load(address, memory_type(dtype), align=alignment(dtype))
        new = combined(emitter, op.attrs["mode"], dtype, old, value)
        emitter.store(new, address, alignment(dtype))

    def theirs() -> None:
        update(emitter, op, dtype, address, value)

    _either(emitter, private, mine, theirs)


def update_private_stretch(
    emitter: LlvmEmitter, private: Private, address: Vec, low: Vec, high: Vec, value: Vec
) -> None:
    """Combine lanes low .. high - 1 into neighbouring elements."""
    op, dtype = private.copy.op, private.dtype

    def mine() -> None:
        padding = emitter.body.constant(memory_type(dtype), value.lanes, 0)
        old = load_stretch(emitter, address, low, high, padding, dtype)
        new = combined(emitter, op.attrs["mode"], dtype, old, value)
        store_stretch(emitter, new, address, low, high, dtype)

    def theirs() -> None:
        update_stretch(emitter, op, dtype, address, low, high, value)

    _either(emitter, private, mine, theirs)


def _either(
    emitter: LlvmEmitter, private: Private, mine: Callable[[], None], theirs: Callable[[], None]
) -> None:
    """Emit an ordinary update of the copy, and an atomic one of the accumulator."""
    own, shared, after = (emitter.label(word) for word in ("private", "shared", "updated"))
    emitter.branch(private.is_used, own, shared)
    for label, act in ((own, mine), (shared, theirs)):
        emitter.body.label(label)
        act()
        emitter.body.jump(after)
    emitter.body.label(after)


def identity(mode: AtomicMode, dtype: AnyDType) -> float:
    """Return the number that changes nothing."""
    match mode:
        case AtomicMode.ADD:
            return -0.0 if dtype.is_float else 0
        case AtomicMode.OR | AtomicMode.XOR:
            return 0
        case AtomicMode.AND:
            return -1
        case AtomicMode.MAX:
            return int(np.iinfo(dtype.np).min)
        case AtomicMode.MIN:
            return int(np.iinfo(dtype.np).max)
        case _:
            raise ValueError(f"{mode.value} has no identity")


def _empty(emitter: LlvmEmitter, private: Private) -> Vec:
    number = identity(private.copy.op.attrs["mode"], private.dtype)
    return emitter.literal(private.dtype, number, 1)


def _start(emitter: LlvmEmitter, copy: PrivateCopy) -> Vec:
    scratch = Vec(emitter.body, "%scratch", "ptr", 1)
    return emitter.shifted(scratch, emitter.integer(copy.offset), "i8")


def _bits(x: Vec) -> Vec:
    return x.bits() if x.elem in ("float", "double") else x


def _each(emitter: LlvmEmitter, private: Private, act: Callable[[Vec, Vec], None]) -> None:
    """Do something with each element of a copy that is used: its address and its number."""
    start, kind = _start(emitter, private.copy), memory_type(private.dtype)

    def step(number: Vec) -> tuple[Vec, list[Vec]]:
        act(emitter.shifted(start, number, kind), number)
        following = number + 1
        return following < private.count, [following]

    def run() -> None:
        repeat([emitter.integer(0)], step)

    perform_if(emitter, private.is_used & (private.count > 0), run)


def _place(emitter: LlvmEmitter, private: Private, number: Vec) -> Vec:
    """Return the address of an element of the accumulator, by its row-major number."""
    tensor, offset = private.tensor, emitter.integer(0)
    for extent, stride in zip(reversed(tensor.extents), reversed(tensor.strides), strict=True):
        offset = offset + number.binary("urem", extent) * stride
        number = number.binary("udiv", extent)
    return emitter.shifted(tensor.address, offset, memory_type(private.dtype))
