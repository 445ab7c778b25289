"""Pointers in kernels: loads, stores and atomics, and what is reported of wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.tile_ir.machine import TileIRError
from support.tile_ir import Built
from tilewright.backend.tileir.bytecode.enums import AtomicModeCode, MemoryOrdering, MemoryScope
from tilewright.backend.tileir.bytecode.types import (
    F16,
    F32,
    I1,
    I8,
    I32,
    I64,
    INDEX,
    TOKEN,
    Pointer,
    TileValueType,
)

RELAXED = {
    "memory_ordering_semantics": MemoryOrdering.RELAXED, "memory_scope": MemoryScope.DEVICE,
}  # fmt: skip


def pointers(built, base, offsets, scalar):
    """Addresses of elements, by their numbers."""
    count, kind = len(offsets), TileValueType(Pointer(scalar), (len(offsets),))
    ones = built.one("reshape", TileValueType(Pointer(scalar), (1,)), base)
    spread = ones if count == 1 else built.one("broadcast", kind, ones)
    return built.one("offset", kind, spread, built.number(offsets, I32, (count,)))


def copying(scalar, source, target, *, mask=None, padding=None):
    built = Built(TileValueType(Pointer(scalar)), TileValueType(Pointer(scalar)))
    count = len(source)
    flags = None
    if mask is not None:
        numbers = built.number(mask, I8, (count,))
        flags = built.one("trunci", TileValueType(I1, (count,)), numbers)
    rest = None if padding is None else built.number(padding, scalar, (count,))
    kind = TileValueType(scalar, (count,))
    given = pointers(built, built.args[0], source, scalar)
    tile, token = built.op("load_ptr_tko", [kind, TOKEN], given, flags, rest)
    into = pointers(built, built.args[1], target, scalar)
    built.op("store_ptr_tko", [TOKEN], into, tile, None, token)
    return built


def test_gather_and_scatter():
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    copying(F32, [1, 3, 3, 7], [0, 2, 4, 6]).run(x, out)
    assert out.tolist() == [1, 0, 3, 0, 3, 0, 7, 0]


def test_masks_and_padding():
    x, out = np.arange(4, dtype=np.float32), np.full(4, 9, np.float32)
    built = copying(F32, [0, 1, 2, 1000], [0, 1, 2, 3], mask=[1, 0, 1, 0], padding=[5.0] * 4)
    built.run(x, out)
    assert out.tolist() == [0, 5, 2, 5]


def test_any_byte_but_zero_is_true():
    x, out = np.array([0, 1, 2, 255], np.uint8), np.full(4, 7, np.uint8)
    copying(I1, [0, 1, 2, 3], [0, 1, 2, 3]).run(x, out)
    assert out.tolist() == [0, 1, 1, 1]


def test_accesses_outside_are_reported():
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    with pytest.raises(TileIRError, match=r"`load_ptr_tko` in block .0, 0, 0.: .*parameter 0"):
        copying(F32, [0, 4], [0, 1]).run(x, out)
    with pytest.raises(
        TileIRError, match=r"`store_ptr_tko`.*byte -4 from the start of parameter 1"
    ):
        copying(F32, [0, 1], [0, -1]).run(x, out)


def test_a_pointer_reaches_no_other_allocation():
    both = np.zeros(8, np.float32)
    x, out = both[:4], both[4:]
    with pytest.raises(TileIRError, match="16 bytes"):
        copying(F32, [0, 4], [0, 1]).run(x, out)


def test_a_span_is_what_a_parameter_reaches():
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    start = x.ctypes.data
    with pytest.raises(TileIRError, match="which has 8 bytes"):
        copying(F32, [2, 3], [0, 1]).run(x, out, spans={0: (start, start + 8)})


def test_misaligned_addresses_are_reported():
    built, x = Built(TileValueType(Pointer(I8))), np.zeros(8, np.uint8)
    moved = built.one("offset", TileValueType(Pointer(I8)), built.args[0], built.number(1, I32))
    words = built.one("ptr_to_ptr", TileValueType(Pointer(I32)), moved)
    built.op("load_ptr_tko", [INDEX, TOKEN], words)
    with pytest.raises(TileIRError, match="not a multiple of 4"):
        built.run(x)


def test_integers_become_pointers():
    built, x = Built(TileValueType(I64)), np.arange(4, dtype=np.int32)
    where = built.one("int_to_ptr", TileValueType(Pointer(I32)), built.args[0])
    back = built.one("ptr_to_int", TileValueType(I64), where)
    again = built.one("int_to_ptr", TileValueType(Pointer(I32)), back)
    built.op("store_ptr_tko", [TOKEN], again, built.number(7, I32))
    built.run(x)
    assert x[0] == 7


def test_memory_that_is_not_there():
    built = Built(TileValueType(I64))
    where = built.one("int_to_ptr", TileValueType(Pointer(I32)), built.args[0])
    built.op("load_ptr_tko", [INDEX, TOKEN], where)
    with pytest.raises(TileIRError, match="there is no memory at 0x40"):
        built.run(64)


def test_what_nobody_wrote_is_not_read():
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    flags = np.array([True] * 8 + [False] * 8)
    copying(F32, [0, 1], [0, 1]).run(x, out, written={0: flags})
    with pytest.raises(TileIRError, match=r"byte 8 .*was never written"):
        copying(F32, [1, 2], [0, 1]).run(x, out, written={0: flags})
    copying(F32, [0, 1], [2, 3]).run(out, x, written={1: flags})
    assert flags.all(), "a store writes"


def test_types_fit():
    built = Built(TileValueType(Pointer(F32)))
    built.op("load_ptr_tko", [INDEX, TOKEN], built.args[0])
    with pytest.raises(TileIRError, match="i32 at a pointer to f32"):
        built.run(np.zeros(1, np.float32))


@pytest.mark.parametrize(
    ("order", "scope"),
    [(MemoryOrdering.WEAK, MemoryScope.DEVICE), (MemoryOrdering.RELAXED, None),
     (MemoryOrdering.RELEASE, MemoryScope.DEVICE)],
)  # fmt: skip
def test_orders_that_loads_do_not_have(order, scope):
    built = Built(TileValueType(Pointer(I32)))
    built.op("load_ptr_tko", [INDEX, TOKEN], built.args[0], memory_ordering_semantics=order,
             memory_scope=scope)  # fmt: skip
    with pytest.raises(TileIRError, match=r"order|scope"):
        built.run(np.zeros(1, np.int32))


# --- atomics -------------------------------------------------------------------------------------

MODES = {
    AtomicModeCode.AND: 12 & 10, AtomicModeCode.OR: 12 | 10, AtomicModeCode.XOR: 12 ^ 10,
    AtomicModeCode.ADD: 22,
    AtomicModeCode.MAX: 12, AtomicModeCode.MIN: 10, AtomicModeCode.UMAX: 12,
    AtomicModeCode.UMIN: 10,
    AtomicModeCode.XCHG: 10,
}  # fmt: skip


def changing(scalar, offsets, values, mode, *, mask=None):
    """Change elements, and keep the old ones behind them."""
    built = Built(TileValueType(Pointer(scalar)), TileValueType(Pointer(scalar)))
    count, kind = len(offsets), TileValueType(scalar, (len(offsets),))
    flags = None
    if mask is not None:
        flags = built.one("trunci", TileValueType(I1, (count,)), built.number(mask, I8, (count,)))
    where = pointers(built, built.args[0], offsets, scalar)
    arg = built.number(values, scalar, (count,))
    old, _ = built.op("atomic_rmw_tko", [kind, TOKEN], where, arg, flags, mode=mode, **RELAXED)
    into = pointers(built, built.args[1], range(count), scalar)
    built.op("store_ptr_tko", [TOKEN], into, old)
    return built


@pytest.mark.parametrize("mode", MODES)
def test_updates(mode):
    x, old = np.array([12, 12], np.int32), np.zeros(2, np.int32)
    changing(I32, [0, 1], [10, 10], mode).run(x, old)
    assert x.tolist() == [MODES[mode]] * 2 and old.tolist() == [12, 12]


def test_signs_of_extremes():
    for mode, expected in ((AtomicModeCode.MAX, 1), (AtomicModeCode.UMAX, -1),
                           (AtomicModeCode.MIN, -1),
                           (AtomicModeCode.UMIN, 1)):  # fmt: skip
        x, old = np.array([-1], np.int32), np.zeros(1, np.int32)
        changing(I32, [0], [1], mode).run(x, old)
        assert x[0] == expected, mode


def test_elements_at_one_address_take_turns():
    x, old = np.zeros(1, np.float32), np.zeros(4, np.float32)
    changing(F32, [0, 0, 0, 0], [1, 2, 4, 8], AtomicModeCode.ADDF).run(x, old)
    assert x[0] == 15 and sorted(old) == [0, 1, 3, 7]


def test_masked_elements_stay():
    x, old = np.zeros(4, np.int32), np.zeros(4, np.int32)
    changing(I32, [0, 1, 2, 99], [5] * 4, AtomicModeCode.ADD, mask=[1, 0, 1, 0]).run(x, old)
    assert x.tolist() == [5, 0, 5, 0]
    assert old[1] == old[3] != 0, "what is unspecified is not 0"


@pytest.mark.parametrize(
    ("scalar", "mode"),
    [(F32, AtomicModeCode.ADD), (I32, AtomicModeCode.ADDF), (F16, AtomicModeCode.XCHG)],
)
def test_types_of_atomics(scalar, mode):
    x = np.zeros(1, np.float32 if scalar is F32 else np.int32)
    with pytest.raises(TileIRError, match=rf"{mode.name} of {scalar}"):
        changing(scalar, [0], [1], mode).run(x, x.copy())


def test_compare_and_swap():
    built = Built(TileValueType(Pointer(F32)), TileValueType(Pointer(F32)))
    kind = TileValueType(F32, (4,))
    where = pointers(built, built.args[0], range(4), F32)
    compare, new = built.number([1, 2, 0, 4], F32, (4,)), built.number([9] * 4, F32, (4,))
    mask = built.one("trunci", TileValueType(I1, (4,)), built.number([1, 1, 1, 0], I8, (4,)))
    old, _ = built.op("atomic_cas_tko", [kind, TOKEN], where, compare, new, mask, **RELAXED)
    built.op("store_ptr_tko", [TOKEN], pointers(built, built.args[1], range(4), F32), old)
    x, before = np.array([1, 3, -0.0, 4], np.float32), np.zeros(4, np.float32)
    built.run(x, before)
    assert x.tolist() == [9, 3, 0, 4] and np.signbit(x[2]), "bits are compared, not numbers"
    assert before.tolist() == [1, 3, 0, 4], "a masked one gives what it was compared with"
